"""Step 2: say what the attributes are."""

from typing import Any

from nicegui import ui

from shoal.app.choices import ROLES, TYPES
from shoal.app.view import View

_MEANINGS = (
    "Masked: what somebody outside may know of a person or business, such as age or town. Confidential: what nobody is "
    "to learn of them; it stays as it is, hidden among the group. Dropped: names and numbers that identify."
)


def show(view: View) -> None:
    """List the attributes with their formats; roles and types are changed by a click."""
    view.heading("What are the attributes?", _MEANINGS)
    with ui.element("div").classes("shoal-scroll"), ui.element("table").classes("shoal-table"):
        with ui.element("thead"), ui.element("tr"):
            for title in ("Attribute", "Format", "Missing", "Role", "Type", "Weight", ""):
                with ui.element("th").props('scope="col"'):
                    ui.label(title)
        with ui.element("tbody"):
            for profile in view.work.profiles:
                _row(view, profile)
    ui.label(
        "Formats: 9 is a digit, A and a are letters. Weight: how much an attribute counts when records are compared."
    ).classes("text-secondary text-caption")
    for profile in view.work.profiles:
        if profile["doubt"]:
            ui.label(f"{profile['doubt']}; here it is taken for {profile['type']}.").classes("text-negative")
    with ui.row():
        ui.button("Next: protection", on_click=lambda: view.go(2)).props("no-caps")


def _row(view: View, profile: dict[str, Any]) -> None:
    """Draw one attribute."""
    choices, name = view.work.choices, profile["name"]

    def chosen(field: dict[str, Any], value: Any) -> None:
        field[name] = value
        view.work.changed()
        levels.set_visibility(choices.types[name] == "ordinal" and not profile["numeric"])
        weight.set_visibility(choices.roles[name] == "quasi")

    def weighs(value: float | None) -> None:
        choices.attribute_weights.pop(name, None)
        if value is not None and value != 1:
            choices.attribute_weights[name] = value
        view.work.changed()

    with ui.element("tr"):
        with ui.element("th").props('scope="row"'):
            ui.label(name)
        with ui.element("td"):
            ui.label(profile["format"]).style("font-family: monospace")
        with ui.element("td"):
            ui.label(f"{profile['missing']:,}" if profile["missing"] else "")
        with ui.element("td"):
            role = ui.select(ROLES, value=choices.roles[name], on_change=lambda e: chosen(choices.roles, e.value))
            role.props(f'dense options-dense outlined aria-label="Role of {_quoted(name)}"').style("min-width: 13rem")
        with ui.element("td"):
            type_ = ui.select([*TYPES], value=choices.types[name], on_change=lambda e: chosen(choices.types, e.value))
            type_.props(f'dense options-dense outlined aria-label="Type of {_quoted(name)}"').style("min-width: 9rem")
        with ui.element("td"):
            weight = ui.number(
                value=choices.attribute_weights.get(name, 1), min=0, step=1, on_change=lambda e: weighs(e.value)
            )
            weight.props(f'dense outlined aria-label="Weight of {_quoted(name)}"').style("width: 5rem")
        with ui.element("td"):
            levels = ui.input(
                placeholder="levels in order, by commas",
                value=choices.levels.get(name, ""),
                on_change=lambda e: chosen(choices.levels, e.value),
            ).props(f'dense outlined aria-label="Levels of {_quoted(name)}"')
    levels.set_visibility(choices.types[name] == "ordinal" and not profile["numeric"])
    weight.set_visibility(choices.roles[name] == "quasi")


def _quoted(name: str) -> str:
    """Give a name that may stand in a property."""
    return name.replace('"', "'").replace("\\", "/")
