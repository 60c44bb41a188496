"""Step 1: open a file."""

from importlib.util import find_spec
from pathlib import Path

from nicegui import events, ui

from shoal.app.view import View
from shoal.errors import ShoalError
from shoal.tables.files import KINDS


def show(view: View) -> None:
    """Offer an upload, the files named at the start, and the demonstration's survey."""
    view.heading(
        "Open the table to protect",
        "One row for each person or business. The file stays on this machine, in a folder that is erased at the end.",
    )

    async def uploaded(event: events.UploadEventArguments) -> None:
        try:
            view.work.open(await view.work.receive(event.file.name, event.file.save))
        except ShoalError as error:
            view.say(str(error))

    above = ui.row()
    upload = (
        ui.upload(
            label="or drop it here",
            on_upload=uploaded,
            on_rejected=lambda: _rejected(view),
            auto_upload=True,
            max_files=1,
            max_file_size=view.limit,
        )
        .props(f'accept="{",".join(KINDS)}" flat bordered')
        .classes("w-full")
    )
    upload.on("failed", lambda: _failed(view), args=[])
    with above:
        choose = view.action("Choose a file", lambda: None)
        choose.on("click", js_handler=f"() => runMethod({upload.id}, 'pickFiles', [])")
    ui.label(f"{', '.join(KINDS)}; at most {_size(view.limit)}.").classes("text-secondary text-caption")
    for path in view.files:
        view.action(f"Open {path.name}", lambda path=path: view.work.open(path), main=False)  # type: ignore[misc] # of lambdas mypy knows no defaults
    if find_spec("statsmodels"):
        view.action("Try it on a real survey of 6,366 records", lambda: _survey(view), main=False)
    if view.work.columns:
        ui.label(
            f"{Path(view.work.file or '').name}: {view.work.records:,} records, {len(view.work.columns)} attributes."
        )


def _survey(view: View) -> None:
    view.work.open(view.work.place("survey.csv"), "survey")


def _rejected(view: View) -> None:
    view.say(
        f"The file was not taken: it must be of a kind that is listed below, and have at most {_size(view.limit)}. "
        "Larger files are for the command line: shoal protect."
    )


def _failed(view: View) -> None:
    view.say("The file did not arrive; perhaps there is no room for it on the machine of the page. Try again.")


def _size(limit: int) -> str:
    """Write a number of bytes for people."""
    for unit, size in {"GB": 10**9, "MB": 10**6, "kB": 10**3}.items():
        if limit >= size:
            return f"{limit / size:.3g} {unit}"
    return f"{limit} bytes"
