"""Inputs for the fields of a plan, drawn by NiceGUI: one for each kind of `shoal.app.fields.Field`."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from pydantic import BaseModel

from shoal.app.fields import Field, as_list, as_text, fields_of
from shoal.plan import Plan
from shoal.plan.options import listed_or_table
from shoal.text import visible

GRID = "display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1rem; width: 100%"
_DENSE = "outlined dense options-dense"
_BY_HAND = "chosen by hand"
Set = Callable[[Any], None]


class Inputs:
    """The inputs of a form, each with its help, and below it what is wrong with its value.

    Attributes
    ----------
    values : dict
        What was typed or chosen, by the names of fields; what is left at its default is not in it. As on the command
        line, numbers may be texts: the plan reads them and reports all mistakes together.
    columns : list of str
        The attributes to choose from.
    changed : callable
        Called with the name of a field whose value has changed.
    """

    def __init__(
        self,
        values: dict[str, Any],
        columns: Sequence[str],
        changed: Callable[[str], None] = lambda name: None,
        model: type[BaseModel] = Plan,
    ) -> None:
        self.values = values
        self.columns = list(columns)
        self.changed = changed
        self._known = fields_of(model)
        self._drawn: dict[str, tuple[ui.element, ui.label]] = {}

    @property
    def drawn(self) -> list[str]:
        """The names of the fields that are on the screen."""
        return [*self._drawn]

    def watch(self, name: str, element: ui.element) -> None:
        """Show what is wrong with a field below an input that was drawn elsewhere."""
        problem = ui.label().classes("text-caption text-negative")
        problem.set_visibility(False)
        self._drawn[name] = element, problem

    def draw(self, field: Field | str, labels: Mapping[str, str] | None = None) -> ui.element:
        """Draw the input of a field, by its name if it is the plan's; `labels` explain the words to choose from."""
        field = self._known[field] if isinstance(field, str) else field
        with ui.column().classes("gap-0 w-full no-wrap"):
            element = _DRAW[field.kind](self, field, labels or {})
            ui.label(field.help).classes("text-caption text-secondary").props(f'id="{_id(field, "help")}"')
            problem = ui.label().classes("text-caption text-negative").props(f'id="{_id(field, "problem")}"')
            problem.set_visibility(False)
        element.props(f'aria-describedby="{_id(field, "help")} {_id(field, "problem")}"')
        self._drawn[field.name] = element, problem
        return element

    def show(self, problems: Mapping[str, str]) -> None:
        """Show what is wrong beside each field, and nothing beside the others; see `shoal.app.fields.beside`."""
        for name, (element, label) in self._drawn.items():
            label.set_text(problems.get(name, ""))
            label.set_visibility(name in problems)
            element.props("error no-error-icon" if name in problems else "", remove="" if name in problems else "error")
            element.props("hide-bottom-space")

    def value(self, field: Field) -> Any:
        """Return the value of a field."""
        return self.values.get(field.name, field.default)

    def set(self, field: Field, value: Any) -> None:
        """Note the value of a field; one that is empty or the default is left out."""
        if value in (None, "", [], {}) or (value == field.default and type(value) is type(field.default)):
            self.values.pop(field.name, None)
        else:
            self.values[field.name] = value
        self.changed(field.name)


def _id(field: Field, what: str) -> str:
    return f"{field.name.replace('.', '-')}-{what}"


def _switch(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    return ui.checkbox(field.label, value=bool(inputs.value(field)), on_change=lambda e: inputs.set(field, e.value))


def _open_switch(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    return _select(field.label, {True: "yes", False: "no"}, inputs.value(field), lambda each: inputs.set(field, each))


def _choice(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    words = {word: labels.get(word, word) for word in field.choices}
    return _select(
        field.label, words, inputs.value(field), lambda each: inputs.set(field, each), clearable=field.is_open
    )


def _text(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    value = inputs.value(field)
    return _input(field.label, "" if value is False else as_text(value), lambda text: inputs.set(field, text.strip()))


def _column(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    return _select(field.label, inputs.columns, inputs.value(field), lambda each: inputs.set(field, each))


def _columns(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    return _several(field.label, inputs.columns, inputs.value(field) or [], lambda each: inputs.set(field, each))


def _words(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    element = _input(field.label, as_text(inputs.value(field)), lambda text: inputs.set(field, as_list(text)))
    return element.props('placeholder="with commas between them"')


def _lines(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    value = inputs.value(field)
    return ui.textarea(
        f"{field.label}, one per line",
        value="\n".join(value) if isinstance(value, list) else "",
        on_change=lambda e: inputs.set(field, [line.strip() for line in (e.value or "").splitlines() if line.strip()]),
    ).props("outlined autogrow").classes("w-full")  # fmt: skip


def _pairs(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    value = inputs.value(field)
    return _table(inputs, field, dict(value) if isinstance(value, dict) else {}, lambda each: inputs.set(field, each))


def _text_or_pairs(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    """Offer one value for all attributes, or one for each of some."""
    value = inputs.value(field)
    of_each = dict(value) if isinstance(value, dict) else {}

    def set_all(one: Any) -> None:
        inputs.set(field, _number_list(one) if isinstance(one, str) else one)

    def set_each(pairs: dict[str, Any]) -> None:
        inputs.set(field, pairs or for_all.value)  # type: ignore[attr-defined] # of inputs and selects
        for_all.set_enabled(not pairs)  # type: ignore[attr-defined]

    for_all = _value(
        f"{field.label}, for all attributes", field.choices, None if of_each else value, set_all, clearable=True
    )
    _table(inputs, field, of_each, set_each)
    for_all.set_enabled(not of_each)  # type: ignore[attr-defined]
    return for_all


def _blocks(inputs: Inputs, field: Field, labels: Mapping[str, str]) -> ui.element:
    """Offer ways to choose blocks, and blocks that are chosen by hand."""
    value = inputs.value(field)
    by_hand: list[list[str]] = [list(block) for block in value] if isinstance(value, list) else []

    def choose(word: str | None) -> None:
        place.set_visibility(word == _BY_HAND)
        inputs.set(field, [each for each in by_hand if each] if word == _BY_HAND else word)

    def change(at: int, names: list[str]) -> None:
        by_hand[at] = names
        inputs.set(field, [each for each in by_hand if each])

    def add() -> None:
        by_hand.append([])
        draw()

    def draw() -> None:
        place.clear()
        with place:
            for at, block in enumerate(by_hand):
                _several(f"Block {at + 1}", inputs.columns, block, lambda names, at=at: change(at, names))  # type: ignore[misc] # of lambdas mypy knows no defaults
            ui.button("Add a block", on_click=add).props("flat dense no-caps icon=add")

    words = {word: word for word in (*field.choices, _BY_HAND)}
    shown = _BY_HAND if by_hand else value
    element = _select(field.label, words, shown, choose)
    with ui.column().classes("w-full q-mt-xs gap-1") as place:
        pass
    place.set_visibility(bool(by_hand))
    draw()
    return element


def _table(
    inputs: Inputs, field: Field, pairs: dict[str, Any], changed: Callable[[dict[str, Any]], None]
) -> ui.element:
    """Offer a value for each of some attributes: a row for each, and a button for one more."""
    rows: list[list[Any]] = [[name, value] for name, value in pairs.items()]

    def note() -> None:
        changed({name: value for name, value in rows if name})

    def change(row: list[Any], at: int, value: Any) -> None:
        row[at] = value
        note()

    def remove(row: list[Any]) -> None:
        rows.remove(row)
        draw()
        note()

    def add() -> None:
        rows.append([None, [] if field.lists else ""])
        draw()

    def draw() -> None:
        place.clear()
        with place:
            for row in rows:
                with ui.row().classes("w-full items-center no-wrap gap-1"):
                    who = f"{field.label}: attribute {rows.index(row) + 1}"
                    _select(who, inputs.columns, row[0], lambda name, row=row: change(row, 0, name)).classes("col")  # type: ignore[misc]
                    what = f"{field.label}: value {rows.index(row) + 1}"
                    _value(what, field.choices, row[1], lambda value, row=row: change(row, 1, value), field.lists)  # type: ignore[misc]
                    button = ui.button(icon="close", on_click=lambda _, row=row: remove(row)).props("flat dense round")
                    button.props["aria-label"] = f"Remove {row[0] or 'this row'}"
            more = f"{field.label}: add an attribute"
            ui.button(more, on_click=add).props("flat dense no-caps icon=add align=left")

    with ui.column().classes("w-full gap-1") as place:
        draw()
    return place


def _value(
    label: str, choices: tuple[str, ...], value: Any, set_: Set, lists: bool = False, *, clearable: bool = False
) -> ui.element:
    """Offer one value, or a list of values."""
    if choices and lists:
        return _several(label, choices, value or [], set_).classes("col")
    if choices:
        return _select(label, choices, value, set_, clearable=clearable).classes("col")
    return _input(
        label, as_text(value), lambda text: set_(listed_or_table(text, as_list) if lists else text.strip())
    ).classes("col")


def _number_list(text: str) -> Any:
    """Read a list or a matrix of numbers; anything else stays a text, which the plan refuses."""
    try:
        return json.loads(text) if text.startswith("[") else text
    except ValueError:
        return text


def _input(label: str, value: str, set_: Set) -> ui.element:
    return ui.input(label, value=value, on_change=lambda e: set_(e.value or "")).props(_DENSE).classes("w-full")


def _select(
    label: str, options: Sequence[str] | dict[Any, str], value: Any, set_: Set, *, clearable: bool = True
) -> ui.element:
    offered = options if isinstance(options, dict) else {each: visible(each) for each in options}
    shown = value if value in options else None  # roles may have changed since
    element = ui.select(
        offered,
        label=label,
        value=shown,
        with_input=len(options) > 15,
        clearable=clearable,
        on_change=lambda e: set_(e.value),
    )
    return element.props(_DENSE).classes("w-full")


def _several(label: str, options: Sequence[str], value: Sequence[str], set_: Set) -> ui.element:
    shown = [each for each in value if each in options]
    element = ui.select(
        {each: visible(each) for each in options},
        label=label,
        value=shown,
        multiple=True,
        with_input=True,
        on_change=lambda e: set_(list(e.value)),
    )
    return element.props(f"{_DENSE} use-chips").classes("w-full")


_DRAW: dict[str, Callable[[Inputs, Field, Mapping[str, str]], ui.element]] = {
    "switch": _switch,
    "open switch": _open_switch,
    "choice": _choice,
    "text": _text,
    "column": _column,
    "columns": _columns,
    "words": _words,
    "pairs": _pairs,
    "text or pairs": _text_or_pairs,
    "blocks": _blocks,
    "rules": _lines,
}
