"""The page: four steps from a file to its release, drawn from what a session works on."""

from collections.abc import Sequence
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from nicegui import app, ui

from shoal.app.security.responses import KEEP
from shoal.app.sessions import Store, Work
from shoal.app.steps import attributes, protection, release
from shoal.app.steps import file as opening
from shoal.app.view import View

STEPS = {
    "File": opening.show,
    "Attributes": attributes.show,
    "Protection": protection.show,
    "Release": release.show,
}
_STYLE = """
body { font-family: system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; color: #1d2329; background: #f4f5f6 }
h1 { font-size: 1.25rem; font-weight: 600; line-height: 1.4; margin: 0 }
h2 { font-size: 1.15rem; font-weight: 600; line-height: 1.4; margin: 0 }
h3 { font-size: 1rem; font-weight: 600; line-height: 1.4; margin: 0 }
h2:focus { outline: none }
.shoal-page { max-width: 62rem; margin: 0 auto; padding: 0.5rem }
.shoal-table { width: 100%; border-collapse: collapse }
.shoal-table th { text-align: left; font-weight: 600 }
.shoal-table th, .shoal-table td { padding: 0.15rem 0.75rem 0.15rem 0 }
@media (max-width: 700px) {
  .shoal-table thead { display: none }
  .shoal-table tr { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; padding: 0.5rem 0 }
  .shoal-table tr > th { width: 100% }
  .shoal-table td { padding: 0 }
  .shoal-name { max-width: none }
  .shoal-missing:not(:empty)::after { content: " missing" }
}
.shoal-name { min-width: 9rem; max-width: 16rem; overflow-wrap: anywhere }
.shoal-scroll { width: 100%; overflow-x: auto }
.shoal-pictures svg { max-width: 100%; height: auto }
.shoal-result table { border-collapse: collapse; margin: 0.75rem 0 }
.shoal-result td, .shoal-result th { padding: 0.1rem 0.9rem 0.1rem 0; text-align: left; vertical-align: top }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important } }
:focus-visible { outline: 3px solid #a8481c; outline-offset: 2px }
"""


def register(store: Store, *, limit: int, files: Sequence[Path] = ()) -> None:
    """Make the page and its downloads known to NiceGUI.

    Parameters
    ----------
    store : Store
        What each session works on.
    limit : int
        The most bytes of an upload.
    files : list of paths
        Files that may be opened without an upload.
    """

    @ui.page("/", title="Shoal", response_timeout=30)
    def page(request: Request) -> None:
        store.prepare()
        _draw(store.work(request.state.shoal_session), limit, files)

    @app.get("/download/{what}")
    async def download(request: Request, what: str) -> Response:
        path = store.work(request.state.shoal_session).downloads().get(what)
        if path is None:
            return PlainTextResponse("There is no such file; protect a file first.", status_code=404)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def _draw(work: Work, limit: int, files: Sequence[Path]) -> None:
    ui.colors(primary="#0b6b74", secondary="#525b64", negative="#a02c1c")
    ui.add_css(_STYLE)
    ui.add_body_html(KEEP)
    view = View(work, limit, files)
    with ui.header(fixed=False).classes("items-center q-py-sm"):
        ui.html("<h1>Shoal</h1>", sanitize=False)
        ui.label("makes microdata safe to publish").classes("gt-xs")
        ui.space()
        ui.button("Erase everything", on_click=_asking(view).open).props("flat color=white no-caps")
    contents = ui.refreshable(_contents)  # of this window alone
    with ui.element("main").classes("shoal-page w-full"):
        contents(view)
    ui.timer(0.3, lambda: contents.refresh() if view.is_old() else None)


def _asking(view: View) -> ui.dialog:
    """Ask before everything is erased."""

    def erase() -> None:
        view.work.start_over()
        dialog.close()

    with ui.dialog() as dialog, ui.card():
        ui.label("Erase the file, all choices and all results of this session?")
        with ui.row():
            ui.button("Erase", on_click=erase).props("no-caps color=negative")
            ui.button("Keep", on_click=dialog.close).props("no-caps outline")
    return dialog


def _contents(view: View) -> None:
    """Draw the steps, and the one that is at hand."""
    work = view.work
    view.seen = work.version
    view.turn_to_step()
    busy = work.job is not None and work.job.active
    with ui.element("nav").classes("row q-gutter-xs q-mb-sm").props('aria-label="Steps"'):
        for number, name in enumerate(STEPS):
            button = ui.button(f"{number + 1}  {name}", on_click=lambda _, to=number: view.go(to))
            button.props("no-caps " + ("unelevated aria-current=step" if number == work.step else "outline"))
            button.set_enabled(number <= view.furthest() and not busy)
            if number == view.furthest() == 3 and not busy:  # until something else is chosen
                button.bind_enabled_from(work, "release", lambda release: release is not None)
    with ui.card().classes("w-full"):
        if busy:
            view.progress()
            return
        view.outcome()
        STEPS[list(STEPS)[work.step]](view)
