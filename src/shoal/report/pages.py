"""Pages: evidence, sentences and pictures put into their templates, and written to a file."""

import datetime
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import FileError, MissingExtra
from shoal.pipeline.certify import bounded_groups
from shoal.pipeline.manifest import software
from shoal.pipeline.notes import MUCH
from shoal.plan.commands import plan_text, protect_command, sweep_command
from shoal.report import text as wording
from shoal.report.attention import is_heavy, vanished
from shoal.report.charts import correlations_chart, distribution_chart, loss_chart, map_chart, sizes_chart, svg
from shoal.report.distributions import coarse
from shoal.report.external import external_figures
from shoal.report.figures import (
    Masked,
    at_risk,
    correlation_change,
    distributions,
    group_sizes,
    least,
    others,
)
from shoal.report.front import columns, earlier_rows, name_of, provenance, worst
from shoal.tables.atomic import refuse_unwritable, written_whole
from shoal.tables.attributes import NUMBERS
from shoal.text import counted, visible

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ImportError:
    raise MissingExtra("a report", "report") from None

if TYPE_CHECKING:
    from shoal.evidence.sweep import Sweep
    from shoal.release import Release


def release_report(
    release: "Release",
    *,
    records_at_risk: bool = False,
    saved: Path | None = None,
    made: datetime.date | None = None,
    earlier: Sequence[dict[str, Any]] | None = None,
) -> str:
    """Write the internal report of a release: one file of HTML that needs nothing else, with a page one to sign.

    No original value of an identifying or confidential attribute is in it, and of the others nothing but shares of at
    least max(k, 10) records.

    Parameters
    ----------
    release : Release
    records_at_risk : bool
        Whether the records at most risk are named, by their positions in the published file.
    saved : path, optional
        The file that the release was saved to, whose SHA-256 is to be in the report.
    made : date, optional
        The date to be in the report.
    earlier : list of dict, optional
        What earlier releases reveal together with this one: see `shoal.evidence.composition.intersected`.

    Returns
    -------
    str
        The text of an HTML file; see `write_report`.
    """
    plan, summary, masked = release.plan, release.summary(), Masked.of(release)
    shown, hidden = distributions(plan, masked)
    moved = correlation_change(release)
    listed = columns(release, summary, vanished(release, masked))
    flags = {row["name"]: row["flags"] for row in listed}
    page = _release_figures(release, summary) | {
        "why": wording.why_chosen(plan, summary["records"], plain=_is_plain(release)),
        "worst": worst(plan, summary),
        "columns": listed,
        "name": name_of(plan, saved),
        "provenance": provenance(release, saved, made),
        "earlier": earlier_rows(earlier),
        "toml": plan_text(plan),
        "command": protect_command(plan),
        "least": least(plan),
        "bounded": bounded_groups(summary["plan"]),
        "distributions": [(_drawn(distribution_chart(each)), flags[each.name]) for each in shown],
        "hidden": hidden,
        "correlations": None if moved is None else _drawn(correlations_chart(*moved)),
        "at_risk": at_risk(release) if records_at_risk else None,
        "not_promised": wording.not_promised(plan, others(release)),
        "on_repeating": wording.on_repeating(plan),
        "versions": software(),
    }
    return _rendered("release.html", page)


def external_report(release: "Release", *, saved: Path | None = None, made: datetime.date | None = None) -> str:
    """Write the external report of a release: what users of the data need, and nothing that helps an intruder.

    No risk, no count of fewer than max(k, 10) records, and no finding on sensitive values is in it: see
    `shoal.report.external`.

    Parameters
    ----------
    release : Release
    saved : path, optional
        The file that the release was saved to, whose SHA-256 is to be in the report.
    made : date, optional
        Its year is in the citation.

    Returns
    -------
    str
        The text of an HTML file; see `write_report`.
    """
    plan, masked = release.plan, Masked.of(release)
    page = external_figures(release, masked, saved, made)
    whole = {each.name for each in page["told"] if each.IL}  # bars would show what the others withhold
    shown = [
        coarse(each, release.records, least(plan)) for each in distributions(plan, masked)[0] if each.name in whole
    ]
    moved = correlation_change(release) if page["told"] and not plan.draws else None
    page |= {
        "least": least(plan),
        "loss_words": wording.loss_words({each.type for each in page["told"]}),
        "distributions": [_drawn(distribution_chart(each)) for each in shown],
        "correlations": None if moved is None else _drawn(correlations_chart(*moved)),
    }
    return _rendered("external.html", page)


def sweep_report(sweep: "Sweep") -> str:
    """Write the risk-utility map of a sweep as one page of HTML that needs nothing else."""
    page = _sweep_figures(sweep)
    sizes = list(dict.fromkeys(row["k"] for row in sweep.rows))
    page |= {
        "words": wording.SWEEP_WORDS,
        "toml": plan_text(sweep.plan),
        "command": sweep_command(sweep.plan, sizes, sweep.methods, sweep.to_dict()["limits"]),
        "versions": software(),
    }
    return _rendered("sweep.html", page)


def external_sweep_report(sweep: "Sweep") -> str:
    """Write what every k would cost users of the data, and nothing of risks, limits or the choice that follows them."""
    page = {
        "rows": [{"method": row["method"], "k": row["k"], "loss": _percent(row["IL"], 1)} for row in sweep.rows],
        "chart": _drawn(loss_chart(sweep)) if _can_be_drawn(sweep) else None,
        "words": {"IL": wording.LOSS_WORDS["IL"]},
    }
    return _rendered("sweep_external.html", page)


def release_html(release: "Release") -> str:
    """Show a release in a notebook: the verdict, what it risks and what it costs."""
    return _rendered("release_cell.html", _release_figures(release, release.summary()))


def before_and_after(release: "Release") -> list[str]:
    """Draw every masked attribute before and after, as SVG; nothing but shares of at least max(k, 10) records."""
    shown, _ = distributions(release.plan, Masked.of(release))
    return [svg(distribution_chart(each)) for each in shown]


def sweep_html(sweep: "Sweep") -> str:
    """Show a sweep in a notebook: the map and its table."""
    return _rendered("sweep_cell.html", _sweep_figures(sweep))


def _release_figures(release: "Release", summary: dict[str, Any]) -> dict[str, Any]:
    """Gather what both the report and a notebook show."""
    plan = release.plan
    types = {plan.types[name] for name in plan.changed if name in plan.types}
    return {
        "plan": plan,
        "summary": summary,
        "verdict": wording.verdict(plan, summary),
        "risk_rows": wording.risk_rows(plan),
        "loss_words": wording.loss_words(types),
        "sizes": [_drawn(sizes_chart(sizes, title, plan.k, plan.counts)) for title, sizes in group_sizes(release)],
    }


def _sweep_figures(sweep: "Sweep") -> dict[str, Any]:
    return {
        "rows": sweep.rows,
        "marked": sweep.chosen or sweep.nearest,
        "meets": sweep.chosen is not None,
        "verdict": sweep.verdict,
        "best": [row for row in sweep.best.values() if row["k"] > 1] if len(sweep.methods) > 1 else [],
        "notes": sweep.notes,
        "saved": [each.path.name for each in sweep.saved],
        "map": _drawn(map_chart(sweep)) if _can_be_drawn(sweep) else None,
    }


def _can_be_drawn(sweep: "Sweep") -> bool:
    return any(row["IL"] is not None for row in sweep.rows)


def _is_plain(release: "Release") -> bool:
    """Whether the method saw nothing but numbers: as in `shoal.pipeline.resolve.is_plain`."""
    published = release.published
    before = [before for before, _ in published.losses.missing(published.sums).values()]
    gaps = release.plan.missing == "group" and any(before)
    return not gaps and all(attribute.type in NUMBERS for attribute in published.masker.changed)


def _drawn(chart: Any) -> Markup:
    return Markup(svg(chart))  # noqa: S704 - made by the chart library, which escapes every text


def _rendered(template: str, page: dict[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        finalize=_readable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "percent": _percent,
        "fixed": _fixed,
        "figure": _figure,
    }
    environment.globals |= {"counted": counted, "much": f"{MUCH:.0f}"}
    environment.tests["heavy"] = is_heavy
    return environment.get_template(template).render(page)


def _readable(value: Any) -> Any:
    """Show characters that a browser obeys or hides by their codes; lines stay lines, and markup is our own."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join(visible(line) for line in value.split("\n"))


def _percent(value: float | None, digits: int = 2, nothing: str = "constant") -> str:
    return nothing if value is None else f"{value:.{digits}f} %"


def _fixed(value: float | None, digits: int = 3) -> str:
    # Adding zero turns a rounded -0.000 into 0.000.
    return "" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def _figure(value: float, name: str) -> str:
    """Write a figure of the table of risks."""
    if name == "reidentification":
        return _percent(value, 1)
    return f"{value:,.2f}" if name == "real_k" else f"{int(value):,}"


def write_report(text: str, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write the text of a report; a file under its name is complete or does not exist.

    Parameters
    ----------
    text : str
        What `shoal.report.release_report` or `shoal.report.sweep_report` returned.
    path : path
        The file; its name ends in .html.
    overwrite : bool
        Whether a file that exists already is replaced.
    """
    path = Path(path)
    refuse_report(path, overwrite)
    with written_whole(path, overwrite) as partial:
        partial.write_text(text, encoding="utf-8")


def refuse_report(path: Path, overwrite: bool) -> None:
    """Refuse a path that a report cannot be written to, before any work is done."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise FileError("report-not-html", path=str(path))
    refuse_unwritable(path, overwrite)
