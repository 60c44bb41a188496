"""Step 1: open a file, and load a plan if there is one."""

from importlib.util import find_spec

from nicegui import events, ui

from shoal.app.fields import fields_of
from shoal.app.form import step_of
from shoal.app.inputs import GRID, Inputs
from shoal.app.uploads import upload_button
from shoal.app.view import View
from shoal.errors import ShoalError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.tables.files import KINDS

# Quasar's own header has a button without a name, with the input in it.
_DROP = '<div class="q-pa-md full-width">or drop it here<q-uploader-add-trigger /></div>'


def show(view: View) -> None:
    """Offer an upload, the files named at the start, the demonstration's survey, a plan, and how to read the file."""
    view.heading(
        "Open the table to protect",
        "One row for each person or business. The file stays on this machine, in a folder that is erased at the end.",
    )

    async def uploaded(event: events.UploadEventArguments) -> None:
        try:
            view.work.open(await view.work.receive(event.file.name, event.file.save))
        except ShoalError as error:
            view.say(*error.messages)

    above = ui.row()
    upload = (
        ui.upload(
            on_upload=uploaded,
            on_rejected=lambda: _rejected(view),
            auto_upload=True,
            max_files=1,
            max_file_size=view.limit,
        )
        .props(f'accept="{",".join(KINDS)}" flat bordered')
        .classes("w-full shoal-drop")
    )
    upload.add_slot("header", _DROP)
    label = "setTimeout(() => document.querySelector('.shoal-drop input')?.setAttribute('aria-label', 'File'), 50)"
    ui.run_javascript(label)
    upload.on("failed", lambda: _failed(view), args=[])
    with above:
        choose = view.action("Choose a file", lambda: None)
        choose.on("click", js_handler=f"() => runMethod({upload.id}, 'pickFiles', [])")
    ui.label(f"{', '.join(KINDS)}; at most {_size(view.limit)}.").classes("text-secondary text-caption")
    for path in view.files:
        view.action(f"Open {path.name}", lambda path=path: view.work.open(path), main=False)  # type: ignore[misc] # of lambdas mypy knows no defaults
    if find_spec("statsmodels"):
        view.action("Try it on a real survey of 6,366 records", lambda: _survey(view), main=False)
    _plan(view)
    _reading(view)
    if view.work.columns:
        ui.button("Next: attributes", on_click=lambda: view.go(1)).props("no-caps")


def _plan(view: View) -> None:
    """Offer to begin with a plan that was saved before, or that lies beside an earlier release."""
    ui.html("<h3>Begin with a plan</h3>", sanitize=False)
    if view.work.loaded is None:
        ui.label(
            "A plan that you saved here, or the .plan.toml file of an earlier release, fills in all steps."
        ).classes("text-secondary")
        upload_button(view, "Load a plan", ".toml", view.work.load_plan)
        return
    made_for = f", made for {view.work.loaded_for}" if view.work.loaded_for else ""
    state = "is applied to this file" if view.work.columns else "will be applied to the file that you open"
    with ui.row().classes("items-center"):
        ui.label(f"{view.work.loaded_name}{made_for}, {state}.").props('role="status"')
        ui.button("Do not apply it to other files", on_click=view.work.forget_plan).props("flat no-caps")


def _reading(view: View) -> None:
    """Offer the fields of the plan that say how a file is read."""
    work = view.work
    with view.part("How the file is read"):
        ui.label("Change these only if the attributes look wrong in the next step.").classes("text-secondary")
        inputs = Inputs(work.choices.values, [], lambda name: None)
        with ui.element("div").style(GRID):
            for name in fields_of(Plan):
                if step_of(name) == "file" and name != "input":
                    inputs.draw(name)
        if work.file is not None:
            ui.button("Read the file again", on_click=lambda: work.read_again()).props("outline no-caps")
            ui.label("Roles and types are then proposed again.").classes("text-caption text-secondary")
        else:
            ui.label("They apply to the file that you open.").classes("text-caption text-secondary")


def _survey(view: View) -> None:
    view.work.open(view.work.place("survey.csv"), "survey")


def _rejected(view: View) -> None:
    view.say(Message("file-not-taken", kinds=[*KINDS], limit=_size(view.limit), table=True))


def _failed(view: View) -> None:
    view.say(Message("file-lost", large=True))


def _size(limit: int) -> str:
    """Write a number of bytes for people."""
    for unit, size in {"GB": 10**9, "MB": 10**6, "kB": 10**3}.items():
        if limit >= size:
            return f"{limit / size:.3g} {unit}"
    return f"{limit} bytes"
