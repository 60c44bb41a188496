"""Step 4: look at the release, before and after, and take it away."""

from typing import Any

from nicegui import ui

from shoal.app.stacked import stackable
from shoal.app.view import View

_DOWNLOADS = {
    "masked": ("Masked file", "the file to publish"),
    "report": ("Report", "to read, sign and keep"),
    "users": ("Report for users", "to publish with the file"),
    "plan": ("Plan", "repeats it: shoal protect --plan"),
    "manifest": ("Manifest", "lets anyone check the file later"),
}
_PICTURES = 12  # pictures that are drawn at once; of more attributes, the others follow a click


def show(view: View) -> None:
    """Show what the release costs and risks, and offer all files."""
    found = view.work.release
    if found is None:
        view.heading("No release yet", "Choose the protection first, then press Protect.")
        return
    written = "masked" in view.work.downloads()
    if written:
        view.heading("The release", f"{view.work.target.name} was verified before it was written.")
    else:
        view.heading("Not released", "The release fails the policy, so no file was written. Change the protection.")
    _downloads(view)
    ui.html(stackable(found["html"]), sanitize=False).classes("shoal-result")
    _before_and_after(view, found)
    _again(view, found["command"], found["code"])


def _downloads(view: View) -> None:
    """Draw a button for every file."""
    with ui.row().classes("w-full"):
        for what, path in view.work.downloads().items():
            label, meaning = _DOWNLOADS[what]
            with ui.column().classes("gap-0"):
                link = ui.button(label, on_click=lambda _, what=what: ui.navigate.to(f"/download/{what}"))
                link.props("no-caps" + ("" if what == "masked" else " outline")).tooltip(path.name)
                ui.label(meaning).classes("text-caption text-secondary")


def _before_and_after(view: View, found: dict[str, Any]) -> None:
    """Draw every masked attribute before and after, and how correlations moved."""
    if found["pictures"]:
        ui.html("<h3>Before and after</h3>", sanitize=False)
        ui.label(
            f"Wide bars are original values, narrow bars what is published. Every wide bar stands for at least "
            f"{found['least']:,} records. Where nothing is left, the bar is marked as vanished."
        ).classes("text-secondary")
        _pictures(view, found["pictures"])
    if found["correlations"] is not None:
        ui.html("<h3>Correlations, after minus before</h3>", sanitize=False)
        ui.html(found["correlations"], sanitize=False).classes("shoal-pictures shoal-scroll").props(
            'tabindex="0" role="region" aria-label="Correlations, after minus before"'
        )
        ui.label("0 is best. Blue-green: a correlation rose; brown: it fell.").classes("text-secondary text-caption")


def _pictures(view: View, pictures: list[str]) -> None:
    """Draw pictures; of many, the first ones until all are asked for."""
    everything = "pictures" in view.unfolded
    with ui.row().classes("shoal-pictures w-full"):
        for picture in pictures if everything else pictures[:_PICTURES]:
            ui.html(picture, sanitize=False)
    if len(pictures) > _PICTURES and not everything:

        def unfold() -> None:
            view.unfolded.add("pictures")
            view.seen = -1  # of this window alone

        view.action(f"Show all {len(pictures):,} attributes", unfold, main=False)


def _again(view: View, command: str, code: str) -> None:
    """Show how to do the same without the page."""
    with view.part("Do the same on the command line or in Python"):
        needed = "the original and the plan" if " --plan " in command else "the original"  # a plan is never overwritten
        ui.label(f"Put {needed}, and the file of rules if there is one, into an empty folder, and run there:")
        view.code(command, "the command line")
        view.code(code, "the Python code")
