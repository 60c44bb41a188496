"""The page of a command: its files, the options that most need, the others one click away, and what it found."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from nicegui import events, ui

from shoal.app.commands import Asked, CommandPage
from shoal.app.view import View
from shoal.errors import PlanError, ShoalError
from shoal.messages import Message
from shoal.tables.files import KINDS, is_workbook
from shoal.text import visible

_SMALL = 10_000_000  # bytes of a file that is no table
_OTHERS = {  # by option: the kinds of files that are no tables
    "policy": ".toml",
    "manifest": ".json",
    "edits": ".sch,.xml,.txt",
    "published": ".csv,.json,.toml",
}


def show(view: View, page: CommandPage) -> None:
    """Draw the page of a command from what was entered on it."""
    entered = view.work.entered_on(page)
    view.heading(page.title, page.purpose, file=False)
    view.outcome(page)
    for each in page.options:
        if each.required and each.kind in ("file", "files"):
            _file(view, page, each)
    if not entered.columns:
        ui.label("Choose the file first. What can be chosen of its columns follows.").classes("text-secondary")
        _sheet(view, page)
        return
    _options(view, page)
    with ui.row():
        view.action(page.action, lambda: _run(view, page))
    if entered.found is not None:
        _result(view, page)


def _sheet(view: View, page: CommandPage) -> None:
    """Ask for the sheet of a workbook that could not be read, perhaps because several have data."""
    if any(map(is_workbook, view.work.entered_on(page).files.get(page.options[0].name, []))):
        _field(view, page, next(each for each in page.options if each.name == "sheet"))
        ui.button("Read the file again", on_click=lambda: view.work.look_for(page)).props("outline no-caps")


def _run(view: View, page: CommandPage) -> None:
    """Run the command, unless something is missing."""
    try:
        view.work.run(page)
    except PlanError as error:
        _say(view, page, *error.messages)


def _file(view: View, page: CommandPage, asked: Asked) -> None:
    """Show the files of an option, and take another."""
    files = view.work.entered_on(page).files.get(asked.name, [])
    with ui.column().classes("w-full gap-1").props(f'role="group" aria-label="{asked.title}"'):
        ui.label(asked.title).classes("text-weight-medium")
        for path in files:
            with ui.row().classes("items-center gap-2"):
                ui.label(path.name).classes("shoal-file")
                if not asked.required or asked.kind == "files":
                    ui.button(
                        "Remove", on_click=lambda _, path=path: view.work.leave_out(page, asked.name, path)
                    ).props(f'flat dense no-caps aria-label="Remove {asked.title}"')
        with ui.row().classes("items-center gap-2"):
            _upload(view, page, asked, bool(files))
            for path in _at_hand(view, asked):
                if path.name not in [each.name for each in files]:
                    view.action(f"Use {path.name}", lambda path=path: _take(view, page, asked, path), main=False)  # type: ignore[misc] # of lambdas mypy knows no defaults
        ui.label(asked.help).classes("text-secondary text-caption")


def _at_hand(view: View, asked: Asked) -> Iterator[Path]:
    """Yield files that need no upload: those named at the start, the one opened in step 1, and those of the release."""
    downloads = view.work.downloads()
    if asked.name == "manifest":
        yield from [downloads["manifest"]] if "manifest" in downloads else []
    elif asked.name not in _OTHERS:
        yield from view.files
        if view.work.file is not None and view.work.file not in view.files:
            yield view.work.file
        yield from [downloads["masked"]] if "masked" in downloads else []


def _take(view: View, page: CommandPage, asked: Asked, path: Path, *, uploaded: bool = False) -> None:
    try:
        view.work.take(page, asked.name, path, uploaded=uploaded)
    except ShoalError as error:
        _say(view, page, *error.messages)


def _say(view: View, page: CommandPage, *problems: Message) -> None:
    view.work.entered_on(page).problems = list(problems)
    view.redraw()


def _upload(view: View, page: CommandPage, asked: Asked, again: bool) -> None:
    """Create the button that asks for a file."""
    kinds = _OTHERS.get(asked.name, ",".join(KINDS))

    async def uploaded(event: events.UploadEventArguments) -> None:
        try:
            path = await view.work.receive(event.file.name, event.file.save)
        except ShoalError as error:
            _say(view, page, *error.messages)
        else:
            _take(view, page, asked, path, uploaded=True)

    upload = ui.upload(
        on_upload=uploaded,
        on_rejected=lambda: _say(view, page, Message("file-not-taken", kinds=kinds.split(","))),
        auto_upload=True,
        max_files=1,
        max_file_size=_SMALL if asked.name in _OTHERS else view.limit,
    ).props(f'accept="{kinds}"')
    upload.classes("hidden")  # the button opens it
    upload.on("failed", lambda: _say(view, page, Message("file-lost")), args=[])
    label = "Choose another file" if again else "Choose a file"
    button = view.action(label, lambda: None, main=not again and asked.required)
    button.props(f'aria-label="{label}: {asked.title}"')
    button.on("click", js_handler=f"() => runMethod({upload.id}, 'pickFiles', [])")


def _options(view: View, page: CommandPage) -> None:
    """Show the few options that most need, and the others by the groups of the command's help."""
    arguments = [each for each in page.options if each.required and each.kind in ("file", "files")]
    front = [each for name in page.front for each in page.options if each.name == name]
    with ui.element("div").classes("shoal-fields"):
        for each in front:
            _field(view, page, each)
    others = [each for each in page.options if each not in arguments and each not in front]
    with view.part("More options"):
        for panel, group in groupby(others, key=lambda each: each.panel):
            ui.html(f"<h3>{panel}</h3>", sanitize=False)
            with ui.element("div").classes("shoal-fields"):
                for each in group:
                    _field(view, page, each)


def _field(view: View, page: CommandPage, asked: Asked) -> None:
    """Create the field of an option."""
    entered = view.work.entered_on(page)
    value = entered.values.get(asked.name)

    def enter(given: object) -> None:
        entered.values[asked.name] = given

    with ui.column().classes("gap-1"):
        match asked.kind:
            case "file" | "files":
                _file(view, page, asked)
                return
            case "switch":
                ui.switch(asked.title, value=bool(value), on_change=lambda e: enter(e.value))
            case "column" | "columns":
                several = asked.kind == "columns"
                known = [name for name in value or [] if name in entered.columns] if several else value
                field = ui.select(
                    {name: visible(name) for name in entered.columns},
                    label=asked.title,
                    value=known if several or known in entered.columns else None,
                    multiple=several,
                    with_input=True,
                    clearable=True,
                    on_change=lambda e: enter(e.value),
                )
                field.props("outlined dense options-dense" + (" use-chips" if several else "")).classes("w-full")
            case "lines":
                lines = ui.textarea(
                    f"{asked.title}, one per line", value=value or "", on_change=lambda e: enter(e.value)
                )
                lines.props("outlined dense autogrow").classes("w-full")
            case "text":
                text = ui.input(asked.title, value=value or "", on_change=lambda e: enter(e.value))
                text.props("outlined dense").classes("w-full")
        ui.label(asked.help).classes("text-secondary text-caption")


def _result(view: View, page: CommandPage) -> None:
    """Show what the command found, as it shows it itself, and how to run it without the page."""
    entered = view.work.entered_on(page)
    found = entered.found or {}
    ui.separator()
    with ui.element("section").props('aria-labelledby="result"').classes("w-full"):
        ui.html('<h3 id="result" tabindex="-1">Result</h3>', sanitize=False)
        ui.html(found["html"], sanitize=False).classes("shoal-result")
        with ui.row().classes("items-center"):
            save = ui.button("Result as JSON", on_click=lambda: ui.navigate.to(f"/download/{page.path}.json"))
            save.props("no-caps outline")
        ui.label("The same on the command line:").classes("text-secondary q-mt-sm")
        view.code(entered.ran, "the command line")
