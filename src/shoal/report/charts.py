"""The pictures: Altair charts made of counts and shares, and their form on a page, SVG that needs no script.

A chart holds what it shows and nothing else, never the records.
"""

import html
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, MissingExtra, PlanError
from shoal.kernels.standardize import Matrix
from shoal.report.bins import size_edges, size_ranges
from shoal.report.distributions import Distribution, distribution
from shoal.report.figures import Masked, correlation_change, group_sizes, least
from shoal.report.home import some_home
from shoal.text import counted, visible

try:
    with some_home():  # altair asks for it, for a cache of data sets that is not used here
        import altair as alt
        import vl_convert
except ImportError:
    raise MissingExtra("a report or a plot", "report") from None

Row = dict[str, Any]

ACCENT, QUIET, INK, MUTED, OPPOSITE = "#0b6b74", "#c3c9cf", "#1d2329", "#525b64", "#a8481c"
FELL, ROSE = "#dfa07e", "#6fb0b6"  # pale enough to be written on
_COLOURS = [ACCENT, OPPOSITE, "#5b4b9a", "#7a6a00", "#a02c5d", "#2b6cb0", "#4d6b1f", "#555555"]  # one a method
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right"]
_NEEDLESS = re.compile(r'\s(?:xmlns(?::xlink)?|class|role|aria-[a-z]+)="[^"]*"')
GONE = "▲ vanished"  # beside a bar of which nothing is published
_WIDTH, _BAR = 290, 19  # pixels
_WRITTEN_OUT = 14  # attributes whose correlations are written into a heat map
_PALE = 0.2  # a change of correlation that gets full colour, or the largest if that is more
_NAMED = 8  # points of a curve that get a label
_LONG = 24  # characters of an axis label; the middle of a longer one is left out, for names often differ at their ends
_SHORTENED = (
    f"length(datum.label) > {_LONG} ? slice(datum.label, 0, {_LONG // 2 - 1}) + '…' + "
    f"slice(datum.label, -{_LONG // 2}) : datum.label"
)
_TITLE = 44  # characters of a title, likewise
RISKS = {
    "risk": "measured risk: records linked or unique, the higher (%)",
    "linked": "records linked by the distance used for masking (%)",
    "unique": "records unique in released columns except sensitive ones (%)",
}


class StaticChart(alt.LayerChart):
    """A chart that a notebook shows as an SVG picture; the chart library's own display loads a script from the web."""

    def _repr_mimebundle_(self, *args: Any, **kwds: Any) -> dict[str, str]:
        specification = self.to_dict()
        drawn = str(vl_convert.vegalite_to_svg(json.dumps(specification)))
        return {"image/svg+xml": drawn, "text/plain": specification["description"]}


def distribution_chart(shown: Distribution) -> StaticChart:
    """Draw the shares of an attribute: a wide bar before, a narrow one after."""
    bars = zip(shown.labels, shown.before, shown.after, strict=True)
    rows = [
        {"value": label, "when": when, "share": share}
        for label, *shares in bars
        for when, share in zip(("before", "after"), shares, strict=True)
    ]
    base = _chart(rows).encode(
        y=alt.Y("value:N", sort=shown.labels, title=None),
        x=alt.X("share:Q", title="% of records", axis=alt.Axis(tickCount=4)),
        color=alt.Color(
            "when:N",
            title=None,
            scale=alt.Scale(domain=["before", "after"], range=[QUIET, ACCENT]),
            legend=alt.Legend(orient="top", offset=2),
        ),
    )
    wide = base.transform_filter("datum.when === 'before'").mark_bar(height=_BAR - 4)
    narrow = base.transform_filter("datum.when === 'after'").mark_bar(height=(_BAR - 4) // 2)
    layers = [wide, narrow]
    if lost := [label for label, gone in zip(shown.labels, shown.gone, strict=True) if gone]:
        words = base.transform_filter(alt.FieldOneOfPredicate("value", lost)).transform_filter(
            "datum.when === 'before'"
        )
        layers.append(
            words.mark_text(align="left", dx=5, fontSize=11, fontWeight="bold").encode(
                text=alt.value(GONE), color=alt.value(OPPOSITE)
            )
        )
    return _styled(
        _layered(*layers).properties(
            width=_WIDTH,
            height=_BAR * len(shown.labels),
            title=_shortened(shown.name),
            description=distribution_text(shown),
        )
    )


def distribution_text(shown: Distribution) -> str:
    """Describe the chart of a distribution in words."""
    bars = zip(shown.labels, shown.before, shown.after, shown.gone, strict=True)
    shares = "; ".join(
        f"{label}: {before:.1f} %, {after:.1f} %{', vanished' * gone}" for label, before, after, gone in bars
    )
    return f"Shares of the records by {shown.name}, before and after. {shares}."


def sizes_chart(sizes: NDArray[np.int64], title: str = "", k: int | None = None, counts: str = "record") -> StaticChart:
    """Draw how many groups there are of each size; those of fewer than `k` records in another colour, with a mark."""
    labels, groups = size_ranges(sizes)
    thin = [k is not None and first < k for first in size_edges(sizes)[:-1]]
    rows = [
        {"size": label, "groups": count, "thin": few, "said": f"{'▲ ' * few}{count:,}"}
        for label, count, few in zip(labels, groups, thin, strict=True)
    ]
    angle = 0 if max(map(len, labels)) <= 4 else -35
    base = _chart(rows).encode(
        x=alt.X("size:N", sort=labels, title=f"{counts}s in a group", axis=alt.Axis(labelAngle=angle)),
        y=alt.Y("groups:Q", title="groups", axis=alt.Axis(tickCount=4, format=",d", tickMinStep=1)),
    )
    figures = base.mark_text(dy=-6, fontSize=10, color=INK).encode(text=alt.Text("said:N"))
    colour = alt.Color("thin:N", scale=alt.Scale(domain=[False, True], range=[ACCENT, OPPOSITE]), legend=None)
    return _styled(
        _layered(base.mark_bar().encode(color=colour), figures).properties(
            width=max(90, 34 * len(labels)), height=150, title=title, description=sizes_text(sizes, counts)
        )
    )


def sizes_text(sizes: NDArray[np.int64], counts: str = "record") -> str:
    """Describe the chart of group sizes in words."""
    bars = zip(*size_ranges(sizes), strict=True)
    parts = [f"{counted(count, 'group')} of {label}" for label, count in bars if count]
    return f"How many groups there are of each size: {'; '.join(parts)} {counts}s."


def correlations_chart(names: Sequence[str], change: Matrix) -> StaticChart:
    """Draw by how much the correlation of every pair moved: after minus before."""
    rows: list[Row] = [
        {"one": names[i], "two": names[j], "change": round(float(change[i, j]), 3) + 0.0}
        for i in range(len(names))
        for j in range(i)
    ]
    most = max(_PALE, *(abs(row["change"]) for row in rows))
    base = _chart(rows).encode(
        x=alt.X("two:N", sort=list(names), title=None, axis=alt.Axis(labelAngle=-35, labelExpr=_SHORTENED)),
        y=alt.Y("one:N", sort=list(names), title=None, axis=alt.Axis(labelExpr=_SHORTENED)),
    )
    scale = alt.Scale(domain=[-most, 0, most], range=[FELL, "#f4f5f6", ROSE], interpolate="rgb")
    cells = base.mark_rect(stroke="white").encode(color=alt.Color("change:Q", scale=scale, legend=None))
    figures = base.mark_text(fontSize=10, color=INK).encode(text=alt.Text("change:Q", format="+.2f"))
    side = 46 if len(names) <= _WRITTEN_OUT else max(8, 640 // len(names))
    layers = [cells, figures] if len(names) <= _WRITTEN_OUT else [cells]
    return _styled(
        _layered(*layers).properties(
            width=side * (len(names) - 1),
            height=min(side, 30) * (len(names) - 1),
            description=correlations_text(names, change),
        )
    )


def correlations_text(names: Sequence[str], change: Matrix) -> str:
    """Describe the chart of correlations in words."""
    i, j = np.unravel_index(int(np.argmax(np.abs(change))), change.shape)
    return (
        f"By how much the correlations of {counted(len(names), 'attribute')} moved, after minus before; the most: "
        f"{change[i, j]:+.2f}, of {names[int(i)]} with {names[int(j)]}."
    )


def map_chart(sweep: "Sweep", risk: str = "risk") -> StaticChart:
    """Draw the risk-utility map: loss against risk for every k, a line a method, limits dashed, the choice ringed."""
    marked, word = (sweep.chosen, "meets the limits") if sweep.chosen is not None else (sweep.nearest, "nearest")
    methods = list(dict.fromkeys(row["method"] for row in sweep.rows))
    shown = [row for row in sweep.rows if row["IL"] is not None]
    points = [{"method": row["method"], "loss": row["IL"], "risk": row[risk], "k": f"{row['k']:,}"} for row in shown]
    named = [point for point, row in zip(points, shown, strict=True) if row["k"] in _named(sweep.rows, marked)]
    ringed = [point for point, row in zip(points, shown, strict=True) if row is marked]
    order = alt.Order("loss:Q")
    x = alt.X("loss:Q", title="loss, IL (%)", axis=alt.Axis(tickCount=10))
    y = alt.Y("risk:Q", title=RISKS[risk], scale=alt.Scale(zero=True))
    several = len(methods) > 1
    legend = alt.Legend(title=None, orient="top") if several else None
    colour = alt.Color("method:N", scale=alt.Scale(domain=methods, range=_cycled(_COLOURS, methods)), legend=legend)
    shape = alt.Shape("method:N", scale=alt.Scale(domain=methods, range=_cycled(_SHAPES, methods)), legend=legend)
    base = _chart(points).encode(x=x, y=y, color=colour)
    layers = [
        *_limit_lines(sweep.limits.max_loss, sweep.limits.max_risk, x, y),
        base.mark_line(strokeWidth=1.5, opacity=0.6).encode(order=order),
        base.mark_point(filled=True, size=46, opacity=1).encode(shape=shape),
        _chart(named).mark_text(align="left", dx=7, dy=-7, fontSize=11, color=INK).encode(x=x, y=y, text="k:N"),
    ]
    if ringed:
        mark = _chart(ringed).encode(x=x, y=y)
        layers.append(mark.mark_point(size=330, strokeWidth=2, color=INK, filled=False))
        layers.append(
            mark.mark_text(align="right", dx=-12, dy=16, fontSize=12, fontWeight="bold", color=INK).encode(
                text=alt.value(word)
            )
        )
    return _styled(_layered(*layers).properties(width=540, height=320, description=map_text(sweep, risk)))


def loss_chart(sweep: "Sweep") -> StaticChart:
    """Draw the loss of every k, a line a method; nothing of risks."""
    rows = [row for row in sweep.rows if row["IL"] is not None]
    points = [{"method": row["method"], "k": row["k"], "loss": round(row["IL"], 1)} for row in rows]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    legend = alt.Legend(title=None, orient="top") if len(methods) > 1 else None
    base = _chart(points).encode(
        x=alt.X("k:Q", title="k", axis=alt.Axis(tickMinStep=1, format=",d"), scale=alt.Scale(zero=False)),
        y=alt.Y("loss:Q", title="loss, IL (%)", scale=alt.Scale(zero=True)),
        color=alt.Color("method:N", scale=alt.Scale(domain=methods, range=_cycled(_COLOURS, methods)), legend=legend),
    )
    shape = alt.Shape("method:N", scale=alt.Scale(domain=methods, range=_cycled(_SHAPES, methods)), legend=legend)
    layers = [base.mark_line(strokeWidth=1.5), base.mark_point(filled=True, size=46, opacity=1).encode(shape=shape)]
    said = f"The loss in percent for k from {points[0]['k']:,} to {points[-1]['k']:,}; the table has the figures."
    return _styled(_layered(*layers).properties(width=540, height=280, description=said))


def _limit_lines(most_loss: float | None, most_risk: float | None, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Draw limits as dashed lines, with their words."""
    style: dict[str, Any] = {"strokeDash": [5, 4], "color": OPPOSITE, "strokeWidth": 1.5}
    words: dict[str, Any] = {"fontSize": 11, "color": OPPOSITE}
    lines = []
    if most_loss is not None:
        at = _chart([{"loss": most_loss, "word": f"loss limit {most_loss:g} %"}]).encode(x=x)
        lines.append(at.mark_rule(**style))
        lines.append(at.mark_text(**words, align="right", dx=-4, y=8).encode(text="word:N"))
    if most_risk is not None:
        at = _chart([{"risk": most_risk, "word": f"risk limit {most_risk:g} %"}]).encode(y=y)
        lines.append(at.mark_rule(**style))
        lines.append(at.mark_text(**words, align="right", dx=-6, dy=-6, x="width").encode(text="word:N"))
    return lines


def map_text(sweep: "Sweep", risk: str = "risk") -> str:
    """Describe the risk-utility map in words."""
    sizes = [row["k"] for row in sweep.rows]
    methods = ", ".join(dict.fromkeys(row["method"] for row in sweep.rows))
    return (
        f"The loss in percent, against {RISKS[risk].replace(' (%)', ' in percent')}, for k from {min(sizes):,} to "
        f"{max(sizes):,} with {methods}; the table has the figures. {sweep.verdict}"
    )


def svg(chart: StaticChart) -> str:
    """Render a chart as SVG for a page, with a description for screen readers.

    Characters that XML does not know would abort the chart library, and the whole process with it.
    """
    return _svg(json.dumps(visible(chart.to_dict())))


@lru_cache(maxsize=256)  # the page shows the same pictures as the report
def _svg(specification: str) -> str:
    drawn = str(vl_convert.vegalite_to_svg(specification))
    # Inside HTML, SVG needs no namespace; all of it is one picture with one description.
    drawn = re.sub(r"<[^>]+>", lambda tag: _NEEDLESS.sub("", tag[0]), drawn)
    said = html.escape(json.loads(specification)["description"], quote=True)
    return drawn.replace("<svg", f'<svg role="img" aria-label="{said}"', 1)


def _chart(rows: Sequence[Row]) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)))  # type: ignore[no-untyped-call] # of the library


def _layered(*layers: alt.Chart) -> StaticChart:
    return StaticChart(layer=layers)


def _styled(chart: StaticChart) -> StaticChart:
    """Style a chart like the page: the reader's own fonts, quiet axes, and enough contrast."""
    styled: StaticChart = (
        chart.properties(padding={"left": 14, "right": 14, "top": 6, "bottom": 4})  # for fonts that are wider than ours
        .configure(font="system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif", background="#ffffff")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK, titleColor=MUTED, titleFontWeight="normal", labelFontSize=11, titleFontSize=11,
            gridColor="#e6e9ec", domainColor="#9aa3ab", tickColor="#9aa3ab", labelLimit=150, titlePadding=6,
        )
        .configure_title(anchor="start", color=INK, fontSize=13, offset=4, limit=_WIDTH + 100)
        .configure_legend(labelColor=INK, labelFontSize=11, symbolOpacity=1)
    )  # fmt: skip
    return styled


def _shortened(name: str) -> str:
    """Leave out the middle of a name that is too long for a title."""
    return name if len(name) <= _TITLE else f"{name[: _TITLE // 2 - 1]}…{name[-_TITLE // 2 :]}"


def _named(rows: Sequence[Row], marked: Row | None) -> set[int]:
    """Choose the k that are written at their points: the ends, some between, and the one that is marked."""
    sizes = sorted({row["k"] for row in rows})
    every = max(1, round(len(sizes) / _NAMED))
    return {*sizes[::every], sizes[-1], *([] if marked is None else [marked["k"]])}


def _cycled(given: Sequence[str], methods: Sequence[str]) -> list[str]:
    return [given[at % len(given)] for at in range(len(methods))]


if TYPE_CHECKING:
    from shoal.evidence.sweep import Sweep
    from shoal.release import Release


def plot_sizes(release: "Release", block: int = 1) -> StaticChart:
    """Draw how many groups of each size there are, of one of the attribute blocks, counted from 1."""
    found = group_sizes(release)
    if not found:
        raise DataError("no-group-sizes", method=release.plan.method)
    if not 1 <= block <= len(found):
        raise DataError("no-such-attribute-block", block=block, blocks=len(found))
    title, sizes = found[block - 1]
    return sizes_chart(sizes, title, release.plan.k, release.plan.counts)


def plot_distribution(release: "Release", name: str) -> StaticChart:
    """Draw a masked attribute before and after, in bars of at least max(k, 10) original records."""
    plan = release.plan
    if name not in plan.changed or name in plan.confidential:
        raise DataError("no-before-and-after", column=name)
    masked = Masked.of(release)
    [(attribute, published)] = masked.pairs([name])
    found = distribution(attribute, published, least(plan), masked.one_each)
    if found is None:
        raise DataError("too-few-for-bars", column=name, least=least(plan))
    return distribution_chart(found)


def plot_correlations(release: "Release") -> StaticChart:
    """Draw by how much the correlation of every pair of changed numbers moved."""
    found = correlation_change(release)
    if found is None:
        raise DataError("no-correlations")
    return correlations_chart(*found)


def plot_map(sweep: "Sweep", risk: str = "risk") -> StaticChart:
    """Draw the risk-utility map: loss against ``risk``, or one of its parts, ``linked`` or ``unique``."""
    if risk not in RISKS:
        raise PlanError("not-a-choice", field="risk", choices=[*RISKS])
    if all(row["IL"] is None for row in sweep.rows):
        raise DataError("nothing-to-draw")
    return map_chart(sweep, risk)
