"""Step 2: the role and the type of every attribute."""

import html
from typing import Any

from nicegui import ui

from shoal.app.fields import fields_of, on_page, page_words
from shoal.app.form import NO_ROLE, ROLE_FIELDS, ROLES, TYPES
from shoal.app.listing import FILTERS, Listing
from shoal.app.view import View
from shoal.plan import Plan
from shoal.text import counted, visible

_MEANINGS = (
    "Quasi-identifiers are what an outsider may know of a person or business, such as age or town: they are masked. "
    "Sensitive attributes are what must not be learned; they are released unchanged, protected by their group. "
    "Identifiers, such as names, are dropped."
)
_STORED = {"": "as stored in the file"}


def show(view: View) -> None:
    """List the attributes with their formats; roles and types are changed by a click, one by one or together."""
    view.heading("What are the attributes?", _MEANINGS)
    _meanings(view)
    table = Attributes(view)
    table.draw()
    with ui.row().classes("items-center"):
        ui.button("Next: protection", on_click=lambda: view.go(2)).props("no-caps")


def _meanings(view: View) -> None:
    """Explain every role in the words of the plan."""
    with view.part("What the roles mean"), ui.element("dl").classes("shoal-roles"):
        for role, label in ROLES.items():
            with ui.element("dt"):
                ui.label(label).classes("text-weight-medium")
            with ui.element("dd"):
                ui.label(fields_of(Plan)[ROLE_FIELDS[role]].help).classes("text-secondary")


class Attributes:
    """The table of attributes in one window: parts of it are drawn again without the rest of the page."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.work = view.work
        self.choices = view.work.choices
        self.listing: Listing = view.listing
        self.rows = ui.refreshable(self._rows)
        self.bulk = ui.refreshable(self._bulk)

    def draw(self) -> None:
        """Draw the search, what can be done for several attributes, and the attributes."""
        listing = self.listing

        def search(text: str | None) -> None:
            listing.search, listing.page = text or "", 1
            self.rows.refresh()
            self.bulk.refresh()

        def filter_(word: str) -> None:
            listing.filter, listing.page = word, 1
            self.rows.refresh()
            self.bulk.refresh()

        with ui.row().classes("w-full items-center"):
            found = ui.input("Search attributes", value=listing.search, on_change=lambda e: search(e.value))
            found.props("outlined dense clearable debounce=250").style("width: 15rem; max-width: 100%")
            ui.select(
                FILTERS, label="Show", value=listing.filter, on_change=lambda e: filter_(e.value)
            ).props("outlined dense options-dense").style("width: 15rem; max-width: 100%")  # fmt: skip
        self.bulk()
        self.rows()
        ui.switch(
            "Show rare values and extremes in this session", value=self.work.shows_values, on_change=self._allow
        ).props("dense")  # fmt: skip
        ui.label(
            "Formats: 9 is a digit, A and a are letters, * is any other character. Distributions are of values and "
            "ranges that at least ten records share, unless you allow more."
        ).classes("text-secondary text-caption")

    def _allow(self, event: Any) -> None:
        self.work.show_values(event.value)
        self.rows.refresh()

    def _matching(self) -> list[dict[str, Any]]:
        return self.listing.matching(self.work.columns, self.choices)

    def _bulk(self) -> None:
        """Offer a role and a type for all attributes that are selected."""
        matching, selected = self._matching(), self.listing.selected

        def select(all_: bool) -> None:
            (selected.update if all_ else selected.difference_update)(each["column"] for each in matching)
            self.rows.refresh()
            self.bulk.refresh()

        def set_all(field: dict[str, str], value: str | None) -> None:
            if value is None:
                return
            field.update(dict.fromkeys(selected & {*field}, value))
            selected.clear()
            self.work.changed()
            self.rows.refresh()
            self.bulk.refresh()

        with ui.row().classes("w-full items-center"):
            chosen = {each["column"] for each in matching} <= selected and bool(matching)
            ui.checkbox(
                f"Select {'all' if len(matching) == len(self.work.columns) else 'the'} {len(matching):,} listed",
                value=chosen,
                on_change=lambda e: select(e.value),
            ).props("dense")
            if selected:
                ui.label(f"{counted(len(selected), 'attribute')} selected:").props('role="status"')
                for label, options, field in (
                    ("Set role", ROLES, self.choices.roles),
                    ("Set type", {each: each for each in TYPES} | _STORED, self.choices.types),
                ):
                    ui.select(
                        options, label=label, on_change=lambda e, field=field: set_all(field, e.value)
                    ).props("outlined dense options-dense").style("width: 12rem")  # fmt: skip

    def _rows(self) -> None:
        matching = self._matching()
        shown = self.listing.shown(matching)
        with ui.element("div").classes("shoal-scroll"), ui.element("table").classes("shoal-table shoal-attributes"):
            with ui.element("thead"), ui.element("tr"):
                for title in ("Select", "Attribute", "Role", "Type", "Details"):
                    with ui.element("th").props('scope="col"'):
                        ui.label(title)
            for column in shown:
                with ui.element("tbody"):
                    _Row(self, column).draw()
        if not matching:
            ui.label("No attribute matches.").props('role="status"')
        self._pages(matching)

    def _pages(self, matching: list[dict[str, Any]]) -> None:
        """Let turn to the other attributes."""
        pages = self.listing.pages(matching)
        if pages == 1:
            return

        def turn(to: int) -> None:
            self.listing.page = to
            self.rows.refresh()

        with ui.row().classes("items-center"):
            turner = ui.pagination(
                1, pages, value=self.listing.page, direction_links=True, on_change=lambda e: turn(e.value)
            )
            turner.props('max-pages=7 aria-label="Pages of attributes"')
            ui.label(f"{len(matching):,} attributes")


class _Row:
    """One attribute: what is proposed and why, and below it, if it was opened, its details."""

    def __init__(self, table: Attributes, column: dict[str, Any]) -> None:
        self.table, self.work, self.choices = table, table.work, table.choices
        self.column, self.name, self.shown = column, column["column"], visible(column["column"])

    def draw(self) -> None:
        """Draw the row."""
        column, name, choices = self.column, self.name, self.choices
        with ui.element("tr"):
            with ui.element("td"):
                chosen = ui.checkbox(
                    value=name in self.table.listing.selected, on_change=lambda e: self._select(e.value)
                )
                chosen.props["aria-label"] = f"Select {self.shown}"
            with ui.element("th").props('scope="row"'):
                ui.label(self.shown).classes("shoal-name")
                ui.label(column["shape"]).classes("text-caption").style("font-family: monospace; font-weight: 400")
                if gaps := self._gaps():
                    ui.label(gaps).classes("text-caption text-secondary").style("font-weight: 400")
            with ui.element("td"):
                roles = ROLES if choices.roles[name] else {"": NO_ROLE, **ROLES}
                role = ui.select(
                    roles, value=choices.roles[name], on_change=lambda e: self._set(choices.roles, e.value)
                )
                _named(role, f"Role of {self.shown}", "min-width: 14rem")
                ui.label(page_words(column["reason"])).classes("text-caption text-secondary").style("max-width: 20rem")
                if column["warning"]:
                    said = f"Warning: {page_words(column['warning'])}"
                    ui.label(said).classes("text-caption text-negative").style("max-width: 20rem")
            with ui.element("td"):
                types = ({} if choices.types[name] else _STORED) | {each: each for each in TYPES}
                type_ = ui.select(
                    types, value=choices.types[name], on_change=lambda e: self._set(choices.types, e.value)
                )
                _named(type_, f"Type of {self.shown}", "min-width: 9rem")
                ui.label(self._why_type()).classes("text-caption text-secondary").style("max-width: 14rem")
            with ui.element("td"):
                self.more = ui.button(icon="expand_more", on_click=lambda: self._open()).props("flat dense round")
                self.more.props["aria-label"] = f"Details of {self.shown}"
        with ui.element("tr").classes("shoal-details"), ui.element("td").props("colspan=5"):
            self.place = ui.column().classes("w-full")
        self._show_details()

    def _show_details(self) -> None:
        is_open = self.name in self.table.listing.opened
        self.more.props(f"aria-expanded={str(is_open).lower()} icon=expand_{'less' if is_open else 'more'}")
        if is_open:
            self._details()
        else:
            self.place.clear()

    def _gaps(self) -> str:
        """Say how many values are missing, and which codes stand for more."""
        found = []
        if self.column["missing"]:
            found.append(f"{self.column['missing']:,} missing")
        if codes := self.choices.missing_codes.get(self.name):
            found.append(f"codes for missing: {codes}")
        return "; ".join(found)

    def _why_type(self) -> str:
        if self.column["levels"]:
            return f"{len(self.column['levels'])} levels in the order of their words"
        return "guessed from the values" if self.column["guessed"] else "as stored in the file"

    def _select(self, selected: bool) -> None:
        (self.table.listing.selected.add if selected else self.table.listing.selected.discard)(self.name)
        self.table.bulk.refresh()

    def _set(self, field: dict[str, Any], value: Any) -> None:
        field[self.name] = value
        self.work.changed()
        if self.name in self.table.listing.opened:
            self._details()

    def _open(self) -> None:
        opened = self.table.listing.opened
        (opened.discard if self.name in opened else opened.add)(self.name)
        self._show_details()

    def _details(self) -> None:
        """Draw what goes with the role and the type, and how the values are distributed."""
        choices, name = self.choices, self.name
        role, fields = choices.roles[name], fields_of(Plan)
        self.place.clear()
        with self.place, ui.row().classes("w-full items-start q-pb-md"):
            with ui.column().style("width: 20rem; max-width: 100%"):
                if self._takes_levels():
                    known = choices.known_levels.get(name)
                    hint = f"{len(known)} levels in the order of their words" if known else fields["levels"].help
                    self._text("Levels", choices.levels, 'low, "middle, or so", high', hint)
                if role in ("quasi", "confidential"):
                    help_ = fields["missing_codes"].help
                    self._text("Missing-value codes", choices.missing_codes, "999, -9", help_)
                if role == "quasi":
                    self._text("Weight in distances", choices.attribute_weights, "1", fields["attribute_weights"].help)
            with ui.column().classes("col").style("min-width: min(100%, 18rem)") as place:
                _Look(self.work.look(name), self.shown, place).draw()

    def _takes_levels(self) -> bool:
        """Whether levels can be typed: numbers have an order of their own."""
        name, choices = self.name, self.choices
        wanted = (choices.uses(name) or choices.has_rules) and choices.types[name] in ("ordinal", "")
        return name in choices.levels or (wanted and not self.column["numeric"])

    def _text(self, label: str, field: dict[str, Any], example: str, help_: str) -> None:
        def note(text: str | None) -> None:
            field.pop(self.name, None)
            if text and text.strip():
                field[self.name] = text.strip()
            self.work.changed()

        typed = ui.input(label, value=str(field.get(self.name, "")), on_change=lambda e: note(e.value))
        typed.props("outlined dense").classes("w-full").props["placeholder"] = example
        typed.props["aria-label"] = f"{label} of {self.shown}"
        ui.label(help_).classes("text-caption text-secondary")


class _Look:
    """The distribution of an attribute; it is counted elsewhere, and drawn when that is done."""

    def __init__(self, job: Any, name: str, place: ui.element) -> None:
        self.job, self.name, self.place = job, name, place

    def draw(self) -> None:
        """Draw what was counted, or wait for it."""
        if self.job.active:
            with self.place:
                ui.label("Counting …").props('role="status"')
                ui.timer(0.2, self._again)
            return
        with self.place:
            for problem in self.job.problems:
                ui.label(on_page(problem)).classes("text-negative")
            if self.job.state == "done":
                ui.html(_bars(self.name, self.job.found), sanitize=False).classes("w-full")

    def _again(self) -> None:
        if not self.job.active:
            self.place.clear()
            self.draw()


def _bars(name: str, found: dict[str, Any]) -> str:
    """Return a frequency table with a bar in each row."""
    widest = max((share for _, share, _ in found["rows"]), default=0) or 1
    rows = "".join(
        f'<tr><th scope="row">{html.escape(visible(label))}</th>'
        f"<td>{share:g} %{'' if count is None else f' ({count:,})'}</td>"
        f'<td class="shoal-bar"><div style="width: {100 * share / widest:.0f}%"></div></td></tr>'
        for label, share, count in found["rows"]
    )
    caption = f"Distribution of {html.escape(name)}"
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in found["notes"])
    return f'<table class="shoal-bars"><caption>{caption}</caption><tbody>{rows}</tbody></table>{notes}'


def _named(field: ui.element, label: str, style: str) -> None:
    """Set the name that a screen reader announces for a field; it may hold any character."""
    field.props("dense options-dense outlined").style(style)
    field.props["aria-label"] = label
