"""A button that takes a small file: a plan, rules, a policy."""

from collections.abc import Callable
from pathlib import Path

from nicegui import events, ui

from shoal.app.view import View
from shoal.errors import ShoalError
from shoal.messages import Message

_LARGEST = 10_000_000  # bytes


def upload_button(view: View, label: str, endings: str, take: Callable[[Path], None]) -> ui.button:
    """Draw a button that opens the browser's file chooser; what is wrong with the file is said on the page.

    Parameters
    ----------
    view : View
        The window.
    label, endings : str
        Of the button, and of the files that it takes, such as ``.toml``.
    take : callable
        Called with the path of the file in the session's folder.
    """

    async def uploaded(event: events.UploadEventArguments) -> None:
        try:
            take(await view.work.receive(event.file.name, event.file.save))
        except ShoalError as error:
            view.say(*error.messages)
        else:
            view.redraw()

    refused = Message("file-not-taken", limit=f"{_LARGEST // 10**6} MB", kinds=endings.split(","))
    upload = ui.upload(
        label=label,
        on_upload=uploaded,
        on_rejected=lambda: view.say(refused),
        auto_upload=True,
        max_files=1,
        max_file_size=_LARGEST,
    )
    upload.props(f'accept="{endings}"').style("display: none")
    button = ui.button(label).props("outline no-caps")
    button.on("click", js_handler=f"() => runMethod({upload.id}, 'pickFiles', [])")
    return button
