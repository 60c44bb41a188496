"""The pages: four steps from a file to its release, and a page for each command that looks at files."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import FileResponse
from nicegui import app, ui

from shoal.app import command_page
from shoal.app.commands import CommandPage
from shoal.app.fields import label_options
from shoal.app.security.responses import KEEP, refusal
from shoal.app.sessions import Store, Work
from shoal.app.steps import attributes, protection, release
from shoal.app.steps import file as opening
from shoal.app.style import STYLE
from shoal.app.view import View

STEPS = {
    "File": opening.show,
    "Attributes": attributes.show,
    "Protection": protection.show,
    "Release": release.show,
}


def register(store: Store, *, limit: int, files: Sequence[Path] = (), commands: Sequence[CommandPage] = ()) -> None:
    """Make the pages and their downloads known to NiceGUI.

    Parameters
    ----------
    store : Store
        What each session works on.
    limit : int
        The most bytes of an upload.
    files : list of paths
        Files that may be opened without an upload.
    commands : list of CommandPage
        The commands that have a page of their own.
    """
    for each in commands:
        label_options({asked.spelling: asked.title for asked in each.options if asked.spelling})
    menu = {"": "Protect a file", **{each.path: each.title for each in commands}}

    @ui.page("/", title="Protect a file - Shoal", language="en-US", response_timeout=30)
    def page(request: Request) -> None:
        store.prepare()
        _draw(store.work(request.state.shoal_session), limit, files, menu, "", _steps)

    for each in commands:
        _register_command(store, each, limit, files, menu)

    @app.get("/download/{what}")
    async def download(request: Request, what: str) -> Response:
        work = store.work(request.state.shoal_session)
        entered = work.entered.get(what.removesuffix(".json"))
        if entered is not None and entered.found is not None:
            named = {"Content-Disposition": f'attachment; filename="{what}"'}
            return Response(entered.found["json"], media_type="application/json", headers=named)
        path = work.downloads().get(what)
        if path is None:
            return refusal(404, "no-such-download")
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def _register_command(
    store: Store, command: CommandPage, limit: int, files: Sequence[Path], menu: dict[str, str]
) -> None:
    @ui.page(f"/{command.path}", title=f"{command.title} - Shoal", language="en-US", response_timeout=30)
    def page(request: Request) -> None:
        store.prepare()
        work = store.work(request.state.shoal_session)
        _draw(work, limit, files, menu, command.path, lambda view: command_page.show(view, command))


def _draw(
    work: Work,
    limit: int,
    files: Sequence[Path],
    menu: dict[str, str],
    where: str,
    contents: Callable[[View], None],
) -> None:
    """Draw a page: the menu, and what is at hand, drawn again whenever there is something new."""
    ui.colors(primary="#0b6b74", secondary="#525b64", negative="#a02c1c")
    ui.add_css(STYLE)
    ui.add_body_html(KEEP)
    view = View(work, limit, files)
    with ui.header(fixed=False).classes("items-center q-py-sm"):
        ui.html("<h1>Shoal</h1>", sanitize=False)
        ui.label("makes microdata safe to publish").classes("gt-sm")
        ui.space()
        ui.button("Erase everything", on_click=_asking(view).open).props("flat color=white no-caps")
    if len(menu) > 1:
        _menu(menu, where)
    if not where:
        view.follow_history()
    drawn = ui.refreshable(_contents)  # of this window alone
    with ui.element("div").classes("shoal-page w-full"):  # within NiceGUI's own main
        drawn(view, where, contents)
    ui.timer(0.1, lambda: drawn.refresh() if view.is_old() else None)


def _menu(menu: dict[str, str], where: str) -> None:
    """Draw links to the pages."""
    with ui.element("nav").classes("shoal-menu").props('aria-label="Pages"'):
        for path, title in menu.items():
            link = ui.link(title, f"/{path}")
            if path == where:
                link.props('aria-current="page"')


def _asking(view: View) -> ui.dialog:
    """Ask before everything is erased."""

    def erase() -> None:
        view.work.start_over()
        dialog.close()

    with ui.dialog().props('aria-label="Erase everything?"') as dialog, ui.card():
        ui.label("Erase all files, choices and results of this session?")
        with ui.row():
            ui.button("Erase", on_click=erase).props("no-caps color=negative")
            ui.button("Keep", on_click=dialog.close).props("no-caps outline")
    return dialog


def _contents(view: View, where: str, contents: Callable[[View], None]) -> None:
    """Draw what is at hand, or how the work goes."""
    work = view.work
    view.seen = work.version
    busy = work.job is not None and work.job.active
    if not where:
        _step_buttons(view, busy)
    with ui.card().classes("w-full"):
        if busy:
            view.progress()
        else:
            contents(view)


def _step_buttons(view: View, busy: bool) -> None:
    """Draw the buttons that lead to the steps."""
    work = view.work
    view.turn_to_step()
    with ui.element("nav").classes("row q-gutter-xs q-mb-sm").props('aria-label="Steps"'):
        for number, name in enumerate(STEPS):
            button = ui.button(f"{number + 1}  {name}", on_click=lambda _, to=number: view.go(to))
            button.props("no-caps " + ("unelevated aria-current=step" if number == work.step else "outline"))
            button.set_enabled(number <= view.furthest() and not busy)
            if number == view.furthest() == 3 and not busy:  # until something else is chosen
                button.bind_enabled_from(work, "release", lambda release: release is not None)


def _steps(view: View) -> None:
    """Draw the step that is at hand."""
    view.outcome()
    STEPS[list(STEPS)[view.work.step]](view)
