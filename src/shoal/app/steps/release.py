"""Step 4: look at the release, before and after, and take it away."""

from nicegui import ui

from shoal.app.view import View

_DOWNLOADS = {
    "masked": ("Masked file", "what you publish"),
    "report": ("Report", "one page to read, print and keep"),
    "plan": ("Plan", "does it again: shoal protect --plan"),
    "manifest": ("Manifest", "lets anyone check the file later"),
}


def show(view: View) -> None:
    """Show what the release costs and risks, and offer all files."""
    found = view.work.release
    if found is None:
        view.heading("Nothing here yet", "Choose the protection first, then press Protect.")
        return
    view.heading("The release", "It was verified before it was written.")
    with ui.row().classes("w-full"):
        for what, path in view.work.downloads().items():
            label, meaning = _DOWNLOADS[what]
            with ui.column().classes("gap-0"):
                link = ui.button(label, on_click=lambda _, what=what: ui.navigate.to(f"/download/{what}"))
                link.props("no-caps" + ("" if what == "masked" else " outline")).tooltip(path.name)
                ui.label(meaning).classes("text-caption text-secondary")
    ui.html(found["html"], sanitize=False).classes("shoal-result shoal-scroll")
    if not found["html"]:
        ui.label(
            "The file is too large for the memory that is free here, and was protected in blocks; of such files there "
            "is neither a report nor a picture."
        )
    if found["pictures"]:
        ui.html("<h3>Before and after</h3>", sanitize=False)
        with ui.row().classes("shoal-pictures w-full"):
            for picture in found["pictures"]:
                ui.html(picture, sanitize=False)
    _again(view, found["command"], found["code"])


def _again(view: View, command: str, code: str) -> None:
    """Show how to do the same without the page."""
    with ui.expansion("Do the same on the command line or in Python", value=False).classes("w-full"):
        ui.label("Put the original, the plan and a file of rules, if there is one, into the folder where you do it.")
        view.code(command, "the command line")
        view.code(code, "the Python code")
