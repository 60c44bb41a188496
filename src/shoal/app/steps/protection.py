"""Step 3: choose k by moving along the risk-utility map, and how groups are formed."""

from collections.abc import Callable
from typing import Any

from nicegui import events, ui

from shoal.app.form import ENDINGS, METHODS, sentences
from shoal.app.view import View
from shoal.errors import PlanError, ShoalError
from shoal.evidence.limits import Limits
from shoal.plan import Plan

_ACCENT, _INK, _QUIET, _LIMIT = "#0b6b74", "#1d2329", "#9aa3ab", "#a8481c"
_RULES = 10_000_000  # bytes of a file of rules


def show(view: View) -> None:
    """Offer the map, k, the method and what else may be asked for."""
    view.heading(
        "How much protection?",
        "Records are put into groups of at least k similar ones, and each group publishes one representative. A larger "
        "k is safer and costs more.",
    )
    with ui.column().classes("w-full") as view.place_of_k:
        _k(view)
    _options(view)
    with ui.row().classes("items-center"):
        view.action("Protect", lambda: _begin(view, view.work.protect))
        ui.select(
            ENDINGS, value=view.work.choices.ending, label="Write as", on_change=lambda e: _set(view, "ending", e.value)
        ).props("dense outlined").style("min-width: 8rem")


def _begin(view: View, work: Callable[[], None]) -> None:
    """Begin some work, unless the plan itself is wrong."""
    try:
        Plan(**view.work.choices.options())
    except PlanError as error:
        view.say(*sentences(error))
    else:
        work()


def _set(view: View, name: str, value: Any) -> None:
    """Take down a choice; what was measured of another is no longer true."""
    setattr(view.work.choices, name, value)
    view.work.release = None
    if name not in ("k", "ending") and view.work.map is not None:
        view.work.map = None
        view.place_of_k.clear()
        with view.place_of_k:
            _k(view)


def _k(view: View) -> None:
    """Choose k: on the map if it has been drawn, else as a number."""
    choices, found = view.work.choices, view.work.map
    with ui.row().classes("items-center"):
        number = (
            ui.number("k", value=choices.k, min=2, step=1, precision=0).props("outlined dense").style("width: 6rem")
        )
        if found is None:
            view.action("Draw the risk-utility map", lambda: _begin(view, view.work.draw_map), main=False)
            ui.label("what every k would cost and risk").classes("text-secondary")
    if found is None:
        number.on_value_change(lambda e: _set(view, "k", int(e.value or 0)))
        return
    sizes = [row["k"] for row in found["rows"]]
    chart = ui.echart(_chart(found, choices.k), on_point_click=lambda e: move(sizes[e.data_index])).classes("w-full")
    chart.style("height: 20rem").props(f'role="img" aria-label="{_described(found)}"')
    slider = ui.slider(min=0, max=len(sizes) - 1, step=1, value=_nearest(sizes, choices.k))
    slider.props('aria-label="Move along the map" snap markers')
    said = ui.label().props('role="status" aria-live="polite"')
    with ui.row().classes("items-center"):
        most = {
            name: ui.number(label, min=0, max=100).props("outlined dense clearable").style("width: 11rem")
            for name, label in (("max_risk", "Risk at most (%)"), ("max_loss", "Loss at most (%)"))
        }
        meets = ui.label().props('role="status" aria-live="polite"')
    _table(found)

    def limit() -> None:
        try:
            limits = Limits(**{name: each.value for name, each in most.items()})
        except PlanError:
            meets.set_text("Limits must be percentages from 0 to 100.")
            return
        chart.options["series"][0]["markLine"] = _limit_lines(limits)
        chart.update()
        meets.set_text(limits.verdict(found["rows"]) if limits else "")

    for each in most.values():
        each.on_value_change(limit)

    def move(k: int) -> None:
        _set(view, "k", k)
        if number.value != k:
            number.set_value(k)
        chart.options["series"][1]["data"] = _chosen(found, k)
        chart.update()
        said.set_text(_meaning(found, k))
        if k in sizes:
            slider.set_value(sizes.index(k))

    number.on_value_change(lambda e: move(int(e.value or 0)))
    slider.on_value_change(lambda e: move(sizes[int(e.value)]) if sizes[int(e.value)] != choices.k else None)
    said.set_text(_meaning(found, choices.k))


def _nearest(sizes: list[int], k: int) -> int:
    return min(range(len(sizes)), key=lambda at: abs(sizes[at] - k))


def _point(row: dict[str, Any]) -> list[float]:
    return [round(row["IL"] or 0.0, 3), round(row["risk"], 3)]


def _chosen(found: dict[str, Any], k: int) -> list[list[float]]:
    return [_point(row) for row in found["rows"] if row["k"] == k]


def _chart(found: dict[str, Any], k: int) -> dict[str, Any]:
    """Draw loss against risk, a point for every k; the chosen one in a ring."""
    points = [{"value": _point(row), "name": f"k = {row['k']}"} for row in found["rows"]]
    axis = {"nameLocation": "middle", "nameTextStyle": {"color": _INK}, "axisLabel": {"color": _INK}, "type": "value"}
    return {
        "animation": False,
        "grid": {"left": 60, "right": 30, "top": 20, "bottom": 50},
        "tooltip": {"trigger": "item", "formatter": "{b}"},
        "xAxis": {**axis, "name": "loss, IL (%)", "nameGap": 28},
        "yAxis": {**axis, "name": "measured risk (%)", "nameGap": 40},
        "series": [
            {
                "type": "line",
                "data": points,
                "symbol": "circle",
                "symbolSize": 11,
                "lineStyle": {"color": _QUIET},
                "itemStyle": {"color": _ACCENT},
                "label": {"show": True, "formatter": "{b}", "position": "right", "color": _INK},
                "labelLayout": {"hideOverlap": True},
            },
            {
                "type": "scatter",
                "data": _chosen(found, k),
                "symbol": "circle",
                "symbolSize": 24,
                "silent": True,
                "itemStyle": {"color": "transparent", "borderColor": _INK, "borderWidth": 2},
            },
        ],
    }


def _limit_lines(limits: Limits) -> dict[str, Any]:
    """Draw limits as dashed lines."""
    lines = [{"yAxis": limits.max_risk, "name": "risk limit"}, {"xAxis": limits.max_loss, "name": "loss limit"}]
    return {
        "symbol": "none",
        "silent": True,
        "lineStyle": {"color": _LIMIT, "type": "dashed"},
        "label": {"formatter": "{b}", "position": "insideEndTop", "color": _LIMIT},
        "data": [line for line in lines if None not in line.values()],
    }


def _described(found: dict[str, Any]) -> str:
    sizes = [row["k"] for row in found["rows"]]
    return f"Loss against risk for k from {sizes[0]} to {sizes[-1]}; the table below has the figures."


def _meaning(found: dict[str, Any], k: int) -> str:
    """Describe what a k would cost and risk."""
    rows = [row for row in found["rows"] if row["k"] == k]
    if not rows:
        return f"k = {k} is not on the map; the release will tell what it costs."
    row = rows[0]
    return (
        f"k = {k} loses {row['IL'] or 0:.2f} % of the information. An intruder who knows all masked attributes as they "
        f"were links {row['linked']:.1f} % of the records rightly; {row['unique']:.1f} % are unique in all released "
        "columns but the sensitive ones."
    )


def _table(found: dict[str, Any]) -> None:
    """Show the map as a table of figures."""
    sample = (
        f", on a sample of {found['records']:,} records; the whole file loses less, as a rule"
        if found["sampled"]
        else ""
    )
    with ui.expansion(f"The map as a table (by {found['rows'][0]['method']}{sample})").classes("w-full"):
        columns = {"k": "k", "IL": "loss, IL (%)", "linked": "linked (%)", "unique": "unique (%)", "groups": "groups"}
        ui.table(
            columns=[{"name": name, "label": label, "field": name} for name, label in columns.items()],
            rows=[
                {name: round(row[name], 3) if isinstance(row[name], float) else row[name] for name in columns}
                for row in found["rows"]
            ],
        ).props("dense flat")


def _options(view: View) -> None:
    """Offer what few need."""
    choices, kept = view.work.choices, view.work.choices.kept

    def select(label: str, field: str, options: Any, *, several: bool = False) -> ui.select:
        chosen = ui.select(
            options,
            label=label,
            value=_offered(getattr(choices, field), options),
            multiple=several,
            on_change=lambda e: _set(view, field, e.value),
        ).props("outlined dense options-dense" + (" use-chips" if several else ""))
        return chosen.classes("col-12 col-sm-5")

    def number(label: str, field: str, least: float, most: float | None = None, step: float = 1) -> None:
        ui.number(
            label, value=getattr(choices, field), min=least, max=most, step=step,
            on_change=lambda e: _set(view, field, e.value),
        ).props("outlined dense clearable").classes("col-12 col-sm-5")  # fmt: skip

    with view.part("Method, missing values"), ui.element("div").classes("row q-gutter-sm"):
        select("Method", "method", METHODS)
        budget = ui.input(
            "Budget of best, such as 60s or 5000000 steps", value=choices.budget,
            on_change=lambda e: _set(view, "budget", _steps(e.value)),
        ).props("outlined dense").classes("col-12 col-sm-5")  # fmt: skip
        budget.bind_visibility_from(choices, "method", value="best")
        select("Missing values", "missing", _MISSING)
        ui.checkbox("Whole numbers stay whole", value=choices.round, on_change=lambda e: _set(view, "round", e.value))
    with view.part("Blocks, strata, weights, diversity"), ui.element("div").classes("row q-gutter-sm"):
        select("Attribute blocks", "blocks", _BLOCKS)
        select("Strata: never mixed in a group", "strata", kept, several=True)
        select("Strata below k", "small_strata", _SMALL)
        select("Survey weights", "weights", {"": "none"} | {name: name for name in kept})
        select("Mask", "only", {"": "all records", "at_risk": "only records at risk"})
        ui.number(
            "l: different confidential values in a group", value=choices.l, min=2, step=1,
            on_change=lambda e: _set(view, "l", None if e.value is None else int(e.value)),
        ).props("outlined dense clearable").classes("col-12 col-sm-5")  # fmt: skip
        number("t: how far groups may be from the file", "t", 0, 1, 0.05)
    with view.part("Units, households, totals"), ui.element("div").classes("row q-gutter-sm"):
        if choices.having("unit"):
            select("Unit numbers are", "unit_as", _NUMBERS)
        dropped = choices.having("identifier")
        select("Household numbers", "household", {"": "none"} | {name: name for name in dropped})
        numbers = select("Household numbers are", "household_as", _NUMBERS)
        numbers.bind_visibility_from(choices, "household", backward=bool)
        number("p % rule: %, such as 10", "p_percent", 0, 100)
        ui.input(
            "Dominance: n, %, such as 1, 60", value=choices.dominance,
            on_change=lambda e: _set(view, "dominance", e.value),
        ).props("outlined dense").classes("col-12 col-sm-5")  # fmt: skip
        select("Totals to keep, in each value of", "keep_totals", kept, several=True)
    with view.part("Rules that the data must go on obeying"):
        _rules(view)


_MISSING = {
    "error": "refuse them",
    "group": "a value of their own",
    "impute": "fill them from the nearest group",
    "suppress": "leave such records out",
}
_BLOCKS = {
    "": "none: all attributes together",
    "correlated": "correlated attributes",
    "uncorrelated": "uncorrelated ones",
    "edits": "the attributes of each rule",
}
_NUMBERS = {"drop": "dropped", "pseudonym": "replaced by random numbers"}
_SMALL = {"error": "refuse", "merge": "merge", "suppress": "leave out"}
_BROKEN = {"fail": "refuse", "keep": "publish all the same", "exclude": "leave out"}


def _offered(chosen: Any, options: Any) -> Any:
    """Return the choices that are still offered: roles may have changed since."""
    if isinstance(chosen, list):
        return [each for each in chosen if each in options]
    return chosen if chosen in options else ""


def _steps(text: str) -> str:
    """Take 'steps' for what it says: a bare number."""
    return text.removesuffix("steps").strip()


def _rules(view: View) -> None:
    """Take rules as lines, or as a file."""
    choices = view.work.choices

    async def uploaded(event: events.UploadEventArguments) -> None:
        try:
            view.work.take_rules(await view.work.receive(event.file.name, event.file.save))
        except ShoalError as error:
            view.say(str(error))
        else:
            view.say()

    def without() -> None:
        view.work.take_rules(None)
        view.redraw()

    if choices.edits_file is not None:
        with ui.row().classes("items-center"):
            ui.label(f"Rules of {choices.edits_file.name}")
            ui.button("Without it", on_click=without).props("flat no-caps")
    else:
        ui.textarea(
            "One rule a line, such as wages + other == costs, or age is integer",
            value=choices.edits,
            on_change=lambda e: _set(view, "edits", e.value),
        ).props("outlined autogrow").classes("w-full")
        ui.upload(
            label="or a file of rules (Schematron, text)",
            on_upload=uploaded,
            on_rejected=lambda: view.say("The rules were not taken: it must be one file, .sch, .xml or .txt."),
            auto_upload=True,
            max_files=1,
            max_file_size=_RULES,
        ).props('accept=".sch,.xml,.txt" flat bordered')
    ui.select(
        _BROKEN, label="Original records that break a rule", value=choices.edits_original,
        on_change=lambda e: _set(view, "edits_original", e.value),
    ).props("outlined dense").style("min-width: 16rem")  # fmt: skip
