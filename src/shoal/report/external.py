"""The external report: what users of the data need, and nothing that helps an intruder.

All that it may say is gathered here, from the plan, from what is published, and from losses over all records. It never
looks at `Release.risk`, the verification, the notes of a release or its suppressed records. What is left out, and why,
is in `docs/howto/read-a-report.md`.
"""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import __version__
from shoal.pipeline.manifest import sha256_of
from shoal.pipeline.notes import MUCH, preserved
from shoal.plan import Plan
from shoal.plan.commands import file_name
from shoal.report.attention import is_heavy, vanished
from shoal.report.figures import Masked, least, treatments
from shoal.tables.attributes import NUMBERS, Attribute, Codes
from shoal.text import counted

if TYPE_CHECKING:
    from shoal.release import Release

_SOME = 5.0  # percent: what changed less has changed little
_UTILITY = ("loss", "analyses", "published")  # limits of a policy that are about users, not intruders
_PAPERS = {
    "hybrid": "J. Domingo-Ferrer and Ú. González-Nicolás (2010), Hybrid microdata using microaggregation, Information "
    "Sciences 180",
    "ms": "K. Muralidhar and R. Sarathy (2008), Generating sufficiency-based non-synthetic perturbed data, "
    "Transactions on Data Privacy 1",
    "insensitive": "J. Soria-Comas, J. Domingo-Ferrer, D. Sánchez and S. Martínez (2014), Enhancing data utility in "
    "differential privacy via microaggregation-based k-anonymity, The VLDB Journal 23",
}
_PAPER = (
    "J. Domingo-Ferrer and J. M. Mateo-Sanz (2002), Practical data-oriented microaggregation for statistical "
    "disclosure control, IEEE Transactions on Knowledge and Data Engineering 14"
)


class Told(NamedTuple):
    """What is told of the loss of an attribute; texts, rounded."""

    name: str
    type: str
    change: str  # in a word
    heavy: bool = False
    IL: str = ""
    mean: str = ""
    variance: str = ""
    correlation: str = ""
    changed: str = ""


def external_figures(
    release: "Release", masked: Masked, saved: Path | None, made: datetime.date | None
) -> dict[str, Any]:
    """Gather what the external report shows, beside its charts."""
    plan = release.plan
    told = told_losses(release, masked)
    gone = {name: str(each) for name, each in vanished(release, masked).items()}
    return {
        "plan": plan,
        "records": release.records,
        "columns": _columns(release, told, gone),
        "dropped": [name for name in release.published.names if name in plan.dropped],
        "told": told,
        "total": _total(release, told),
        "gone": gone,
        "how": _how(plan),
        "holds": _holds(release),
        "care": _care(plan, told, _unchanged(release)),
        "measured": _measured(release, told),
        "noise": None if release.privacy is None else release.privacy["noise"],
        "file": _file(plan, saved),
        "cited": _cited(release, saved, made),
        "paper": _PAPERS.get(plan.method, _PAPER),
        "version": __version__,
    }


def told_losses(release: "Release", masked: Masked) -> list[Told]:
    """Round the loss of each attribute, and withhold what shows how few records have changed.

    Nothing is told of confidential attributes, nor with epsilon, nor of fewer than twice max(k, 10) records. Of levels,
    IL follows from the number of records that changed. So it is withheld together with that number if fewer than
    max(k, 10) changed, or fewer than that did not.
    """
    plan, fewest = release.plan, least(release.plan)
    if plan.epsilon is not None or masked.one_each.sum() < 2 * fewest:
        return []
    rows = release.loss()["attributes"]
    pairs = masked.pairs([name for name in rows if name not in plan.confidential])
    return [_told(each, published, masked.one_each, rows[each.name], fewest, plan) for each, published in pairs]


def _told(
    attribute: Attribute,
    published: Codes,
    one_each: NDArray[np.bool_],
    row: Mapping[str, Any],
    fewest: int,
    plan: Plan,
) -> Told:
    name, kind = attribute.name, attribute.type
    number = kind in NUMBERS
    same = (attribute.codes == published) | (np.isnan(attribute.codes) & np.isnan(published))
    changed, kept = int((~same & one_each).sum()), int((same & one_each).sum())
    if same.all():
        return Told(name, kind, "none", IL="0 %", changed="" if number else "0 %")
    if changed < fewest:  # of different units, if k counts those
        return Told(name, kind, "few records")
    if not number and 0 < kept < fewest:
        return Told(name, kind, "nearly all records", heavy=True)
    if row["IL"] is None:
        return Told(name, kind, "none")
    measured = row["IL"] if number else row["changed"]
    heavy = is_heavy(row)
    word = "heavy" if heavy else "some" if measured > _SOME else "little"
    if not number:
        return Told(name, kind, word, heavy, f"{row['IL']:.1f} %", changed=f"{row['changed']:.1f} %")
    ratio, mean, moved = row["variance_ratio"], row["mean_change"], row["correlation_change"]
    return Told(
        *(name, kind, word, heavy, f"{row['IL']:.1f} %"),
        mean="" if mean is None else f"{round(mean, 2) + 0.0:.2f} sd",
        variance="" if ratio is None else f"{100 * ratio:.0f} %",
        correlation="" if moved is None or plan.draws else f"{moved:.2f}",
    )


def _total(release: "Release", told: list[Told]) -> str:
    """Return the loss of all attributes; nothing if that of one is withheld, which could be computed from it."""
    il = release.loss()["IL"] if told else None
    whole = len(told) == len(release.loss()["attributes"]) and all(each.IL for each in told)
    return f"{il:.1f} %" if il is not None and whole else ""


def _columns(release: "Release", told: list[Told], gone: Mapping[str, str]) -> list[dict[str, Any]]:
    """List the published columns, and what was done to each in general terms."""
    plan = release.plan
    change = {each.name: each for each in told}
    found = []
    for row in treatments(release):
        name = row["name"]
        if name in plan.dropped:
            continue
        flags = [f"changed heavily: more than {MUCH:.0f} %"] if name in change and change[name].heavy else []
        flags += [f"vanished: {gone[name]}"] if name in gone else []
        done = row["done"].replace(
            "of its group", f"of a group of at least {plan.k:,} {plan.counts}s" if plan.k else ""
        )
        found.append({"name": name, "type": row["type"], "done": done, "flags": flags})
    return found


def _how(plan: Plan) -> list[str]:
    """Explain what was done in general; the figures are those that protect by being known."""
    masked = not plan.draws or plan.mask_quasi
    found = []
    if plan.method == "mic1d":
        found.append("Values were replaced by means of parts of the sorted values of the whole table (mic1d).")
    elif masked and plan.k:
        within = f", within each {' and '.join(plan.strata)}" if plan.strata else ""
        found.append(
            f"Similar records were put into groups of at least k = {plan.k:,} {plan.counts}s{within} ({plan.method}); "
            "each group publishes one value in place of those of its records."
        )
    if plan.draws:
        found.append(f"Sensitive numbers were replaced by new values ({plan.method}).")
    if plan.given_blocks:
        blocks = "; ".join(", ".join(block) for block in plan.given_blocks)
        found.append(f"Groups were formed for each block of columns by itself: {blocks}.")
    if plan.household_attributes:
        found.append(f"Masked once per household: {', '.join(plan.household_attributes)}.")
    if plan.only is not None:
        found.append("Only records with rare combinations of values were masked.")
    asked = [f"{name} = {value:g}" for name, value in (("l", plan.l), ("t", plan.t)) if value is not None]
    if asked:
        found.append(f"Sensitive values differ within every group ({', '.join(asked)}).")
    if plan.epsilon is not None:
        found.append(f"Noise was added to the means of groups: differential privacy with epsilon = {plan.epsilon:g}.")
    if _leaves_out(plan):
        found.append("Records that could not be masked, if any, were left out; totals are those of the published ones.")
    return found


def _leaves_out(plan: Plan) -> bool:
    """Whether the plan allows records to be left out; whether any were is not told."""
    return "suppress" in (plan.missing, plan.small_strata) or plan.edits_original == "exclude"


def _unchanged(release: "Release") -> list[str]:
    return [row["name"] for row in treatments(release) if row["done"] == "unchanged"]


def _holds(release: "Release") -> list[str]:
    """List what analyses of the file can rely on."""
    plan, masker = release.plan, release.published.masker
    unchanged, found = _unchanged(release), []
    if not plan.draws and plan.method != "mic1d":
        whole = [name for name, kind in masker.types.items() if pa.types.is_integer(kind)]
        whole = [name for name in whole if plan.types[name] == "continuous"]
        said = preserved(plan, None if masker.edits is None else masker.edits.kept, whole)
        found.append(str(said))
    if plan.method == "hybrid":
        found.append("Preserved: means and covariances of the new values, in the file and in each group.")
    if unchanged:
        exact = "Whatever is computed from these alone is exact."
        if _leaves_out(plan):
            exact = "Whatever is computed from these alone is exact for the published records."
        found.append(f"Released unchanged: {', '.join(unchanged)}. {exact}")
    if release.edits:
        rules = "The rule that the data must obey holds" if len(release.edits) == 1 else "All rules hold"
        excused = ", except where the original broke them" if plan.edits_original == "keep" else ""
        found.append(f"{rules} in every published record{excused}.")
    return found


def _care(plan: Plan, told: list[Told], unchanged: list[str]) -> list[str]:
    """List what analyses of the file cannot rely on."""
    heavy = [each.name for each in told if each.heavy]
    found = [f"Columns that changed heavily: {', '.join(heavy)}."] if heavy else []
    if plan.epsilon is not None:
        found.append("Small differences of means: they may be noise.")
    if any(each.type in NUMBERS for each in told) or plan.epsilon is not None:
        found.append("The smallest and largest values, and quantiles near them: extremes are averaged with others.")
        if not plan.restore_variance:
            found.append("Standard errors: they come out too small, because values within a group do not vary.")
    if told or plan.epsilon is not None:
        found.append("Small subgroups: the value of a group may come mostly from records outside the subgroup.")
        if unchanged:
            found.append("Relations between masked and unchanged columns: they come out weaker than they are.")
    return [*found, "Linking to other files, record by record: masked values are not those of a person or firm."]


def _measured(release: "Release", told: list[Told]) -> list[dict[str, Any]]:
    """Return the limits of the policy that are about users: regressions, published figures, the loss if it is told."""
    if release.verdict is None:
        return []
    rows = release.verdict.as_json()["limits"]
    shown = _UTILITY if _total(release, told) else [name for name in _UTILITY if name != "loss"]
    return [row for row in rows if row["limit"] in shown and row["figure"] is not None]


def _file(plan: Plan, saved: Path | None) -> dict[str, str]:
    target = plan.output if saved is None else str(saved)
    name = "" if target is None else file_name(target)
    return {"name": name, "sha256": sha256_of(saved) if saved is not None and saved.is_file() else ""}


def _cited(release: "Release", saved: Path | None, made: datetime.date | None) -> str:
    """Return a citation to be completed by the publisher."""
    plan = release.plan
    name = _file(plan, saved)["name"]
    year = "[year]" if made is None else str(made.year)
    k = f", k = {plan.k:,}" if plan.k else ""
    how = f"{plan.method}{k}" if plan.draws or plan.method == "mic1d" else f"microaggregation ({plan.method}{k})"
    what = f"Protected file {name}, " if name else "Protected file, "
    size = counted(release.records, "record")
    return f"[Publisher] ({year}). [Title of the data]. {what}{size}, masked by {how} with Shoal {__version__}."
