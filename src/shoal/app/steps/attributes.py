"""Step 2: say what the attributes are."""

from typing import Any

from nicegui import ui

from shoal.app.form import ROLES, TYPES
from shoal.app.view import View

_MEANINGS = (
    "Masked: what an outsider may know of a person or business, such as age or town. Confidential: what must not be "
    "learned of them; it is released unchanged, hidden within the group. Dropped: names and numbers that identify."
)
_IN_ORDER = 'levels in order: low, "middle, or so", high'
_ON_SCREEN = 50  # attributes at a time: a browser is slow with thousands of fields


def show(view: View) -> None:
    """List the attributes with their formats; roles and types are changed by a click."""
    view.heading("What are the attributes?", _MEANINGS)
    columns = view.work.columns
    screens = -(-len(columns) // _ON_SCREEN)
    view.screen = min(view.screen, screens)
    shown = columns[(view.screen - 1) * _ON_SCREEN : view.screen * _ON_SCREEN]
    with ui.element("div").classes("shoal-scroll"), ui.element("table").classes("shoal-table"):
        with ui.element("thead"), ui.element("tr"):
            for title in ("Attribute", "Format", "Missing", "Role", "Type", "Weight"):
                with ui.element("th").props('scope="col"'):
                    ui.label(title)
        with ui.element("tbody"):
            for column in shown:
                _row(view, column)
    if screens > 1:
        _screens(view, screens)
    ui.label(
        "Formats: 9 is a digit, A and a are letters, * is any other. Weight: how much an attribute counts when "
        "records are compared."
    ).classes("text-secondary text-caption")
    with ui.row():
        ui.button("Next: protection", on_click=lambda: view.go(2)).props("no-caps")


def _screens(view: View, screens: int) -> None:
    """Let turn to the other attributes."""

    def turn(to: int) -> None:
        view.screen = to
        view.seen = -1  # of this window alone

    with ui.row().classes("items-center"):
        pages = ui.pagination(1, screens, value=view.screen, direction_links=True, on_change=lambda e: turn(e.value))
        pages.props('max-pages=7 aria-label="Screens of attributes"')
        ui.label(f"{len(view.work.columns):,} attributes, {_ON_SCREEN} at a time")


def _row(view: View, column: dict[str, Any]) -> None:
    """Draw one attribute: what is proposed, why, and what to look at."""
    choices, name = view.work.choices, column["column"]
    known = choices.known_levels.get(name)

    def chosen(field: dict[str, Any], value: Any) -> None:
        field[name] = value
        view.work.changed()
        suit()

    def weighs(value: float | None) -> None:
        choices.attribute_weights.pop(name, None)
        if value is not None and value != 1:
            choices.attribute_weights[name] = value
        view.work.changed()

    def suit() -> None:
        """Ask for what goes with the role and the type, and for nothing else."""
        levels.set_visibility(choices.types[name] == "ordinal" and not column["numeric"])
        weight.set_visibility(choices.roles[name] == "quasi")

    with ui.element("tr"):
        with ui.element("th").props('scope="row"'):
            ui.label(name).classes("shoal-name")
        with ui.element("td"):
            ui.label(column["shape"]).style("font-family: monospace")
        with ui.element("td"):
            ui.label(f"{column['missing']:,}" if column["missing"] else "").classes("shoal-missing")
            if name in choices.missing_codes:
                codes = ui.input(
                    "codes for missing",
                    value=choices.missing_codes[name],
                    on_change=lambda e: chosen(choices.missing_codes, e.value),
                )
                _named(codes, f"Missing-value codes of {name}", "min-width: 8rem")
        with ui.element("td"):
            role = ui.select(ROLES, value=choices.roles[name], on_change=lambda e: chosen(choices.roles, e.value))
            _named(role, f"Role of {name}", "min-width: 13rem")
            ui.label(column["reason"]).classes("text-caption text-secondary").style("max-width: 18rem")
            if column["warning"]:
                ui.label(column["warning"]).classes("text-caption text-negative").style("max-width: 18rem")
        with ui.element("td"):
            type_ = ui.select([*TYPES], value=choices.types[name], on_change=lambda e: chosen(choices.types, e.value))
            _named(type_, f"Type of {name}", "min-width: 9rem")
            levels = ui.input(
                placeholder=f"{len(known)} levels in the order of their words" if known else _IN_ORDER,
                value=choices.levels.get(name, ""),
                on_change=lambda e: chosen(choices.levels, e.value),
            )
            _named(levels, f"Levels of {name}", "min-width: 13rem")
        with ui.element("td"):
            weight = ui.number(
                value=choices.attribute_weights.get(name, 1), min=0, step=1, on_change=lambda e: weighs(e.value)
            )
            _named(weight, f"Weight of {name}", "width: 5rem").tooltip("Weight")
    suit()


def _named(field: ui.element, label: str, style: str) -> ui.element:
    """Set the name that a screen reader announces for a field; it may hold any character."""
    field.props("dense options-dense outlined").style(style)
    field.props["aria-label"] = label
    return field
