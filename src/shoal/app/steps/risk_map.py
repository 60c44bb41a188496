"""The choice of k, on a map of what every k would cost and risk."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

from shoal.app.view import View
from shoal.errors import PlanError
from shoal.evidence.limits import Limits
from shoal.plan.policy import Policy

_ACCENT, _INK, _QUIET, _LIMIT = "#0b6b74", "#1d2329", "#9aa3ab", "#a8481c"


def draw_k(view: View, changed: Callable[[], None], draw_map: Callable[[], None]) -> ui.element:
    """Draw the choice of k: on the map if it has been drawn, else as a number, which is returned."""
    choices, found = view.work.choices, view.work.map

    def set_k(value: float | None) -> None:
        choices.values.pop("k", None)
        if value is not None:
            choices.k = int(value)
        changed()

    with ui.row().classes("items-center"):
        number = ui.number("k", value=choices.k or None, min=2, step=1, precision=0)
        number.props("outlined dense").style("width: 6rem")
        if found is None:
            view.action("Draw the risk-utility map", draw_map, main=False)
            ui.label("what every k would cost and risk").classes("text-secondary")
    if found is None:
        number.on_value_change(lambda e: set_k(e.value))
        return number
    sizes = [row["k"] for row in found["rows"]]
    chart = ui.echart(_chart(found, choices.k), on_point_click=lambda e: move(sizes[e.data_index])).classes("w-full")
    chart.style("height: 20rem").props(f'role="img" aria-label="{_described(found)}"')
    slider = ui.slider(min=0, max=len(sizes) - 1, step=1, value=_nearest(sizes, choices.k))
    slider.props('aria-label="Move along the map" snap markers')
    said = ui.label().props('role="status" aria-live="polite"')
    office = _office_limits(view)
    with ui.row().classes("items-center"):
        most = {
            name: ui.number(label, value=getattr(office, name), min=0, max=100)
            .props("outlined dense clearable")
            .style("width: 11rem")
            for name, label in (("max_risk", "Risk at most (%)"), ("max_loss", "Loss at most (%)"))
        }
        meets = ui.label().props('role="status" aria-live="polite"')
    _table(found)

    def limit() -> None:
        try:
            limits = Limits(**{name: each.value for name, each in most.items()}, min_k=office.min_k)
        except PlanError:
            meets.set_text("Limits must be percentages from 0 to 100.")
            return
        chart.options["series"][0]["markLine"] = _limit_lines(limits)
        chart.update()
        meets.set_text(limits.verdict(found["rows"]) if limits else "")

    for each in most.values():
        each.on_value_change(limit)
    limit()

    def move(k: int) -> None:
        set_k(k or None)
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
    return number


def _office_limits(view: View) -> Limits:
    """Return the limits of the policy that the map can show: of risk, of loss and of k."""
    path = view.work.choices.policy_file
    if path is None:
        return Limits()
    policy = Policy.load(path)
    risks = [limit for limit in (policy.linkage, policy.unique_records) if limit is not None]
    return Limits(min(risks, default=None), policy.loss, policy.k)


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
        return f"k = {k} is not on the map. The release will show its loss."
    row = rows[0]
    return (
        f"k = {k} loses {row['IL'] or 0:.2f} % of the information. An intruder who knows all original masked "
        f"attributes links {row['linked']:.1f} % of the records correctly; {row['unique']:.1f} % are unique in "
        "all released columns except the sensitive ones."
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
        ).props("dense flat wrap-cells").classes("w-full")
