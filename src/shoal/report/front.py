"""Page one of the internal report: what a data protection officer reads before signing."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal import __version__
from shoal.pipeline.manifest import sha256_of
from shoal.pipeline.save import plan_beside
from shoal.plan import Plan
from shoal.plan.commands import file_name
from shoal.report.attention import Vanished, heavy_text, is_heavy
from shoal.report.figures import treatments
from shoal.text import counted

if TYPE_CHECKING:
    from shoal.release import Release

Summary = Mapping[str, Any]


class Figure(NamedTuple):
    """A figure of page one: what it is, how much, of what, and whether it must catch the eye."""

    what: str
    figure: str
    meaning: str
    bad: bool = False


def worst(plan: Plan, summary: Summary) -> list[Figure]:
    """List the worst that was measured: of all that strangers may know, not of the masked attributes alone."""
    risk = summary["risk"]
    file, records = risk["file"], summary["records"]
    counts, k = plan.counts, file["k"]
    found = []
    if (seen := file.get("with_masked")) is not None:
        sizes = [risk[where]["smallest"] for where in ("after", "strata") if where in risk]
        smallest = min([seen["smallest"], *sizes])
        alone = seen.get("alone", seen["uniques"])
        found += [
            Figure(
                "Smallest group",
                counted(smallest, counts),
                f"that share all that strangers may know; k = {k:,}",
                smallest < k,
            ),
            Figure(
                "In groups below k",
                _of(seen["below_k"], records),
                f"records of which fewer than k {counts}s share all that strangers may know",
                seen["below_k"] > 0,
            ),
            Figure(
                "Singled out",
                _of(alone, records),
                "records unlike those of any other unit" if plan.unit else "records unlike any other",
                alone > 0,
            ),
            Figure(
                f"Chance to pick the right {counts}",
                f"{seen['reidentification']:.1f} %",
                "in a group, on average, by an intruder who knows these columns as published",
                seen["reidentification"] > 100 / k,
            ),
        ]
    found += _sensitive(file)
    if "dominance" in risk:
        failing = sum(int(each["failing"]) for each in risk["dominance"].values())
        found.append(Figure("Dominated groups", f"{failing:,}", "in which a contributor stands out", failing > 0))
    return found


def _sensitive(file: Mapping[str, Any]) -> list[Figure]:
    """Return the sensitive column of which most groups give a value away."""
    if not file["shared"] or not file["groups"]:
        return []
    name, row = max(file["shared"].items(), key=lambda item: (item[1]["all"], item[1]["most"]))
    meaning = f"groups in which all known values of '{name}' are the same"
    return [Figure("Sensitive value disclosed", _of(row["all"], file["groups"]), meaning, row["all"] > 0)]


def _of(number: int, whole: int) -> str:
    return f"{number:,} of {whole:,}"


def columns(release: "Release", summary: Summary, gone: Mapping[str, Vanished]) -> list[dict[str, Any]]:
    """List every column of the input with its treatment, the reason for it, and what must catch the eye."""
    losses = summary.get("loss", {}).get("attributes", {})
    return [
        {
            **row,
            "why": _reason(row["role"], release.plan),
            "flags": [
                *_of_change(losses.get(row["name"]), gone.get(row["name"])),
                *_of_risk(row["name"], summary["risk"]["file"]),
            ],
        }
        for row in treatments(release)
    ]


def _reason(role: str, plan: Plan) -> str:
    asked = [f"{name} = {value:g}" for name, value in (("l", plan.l), ("t", plan.t)) if value is not None]
    diverse = ", ".join(asked) if asked else "no l or t asked for"
    unit = f"k counts {plan.counts}s by it"
    return {
        "identifier": "may name a person or firm",
        "unit": unit,
        "household": "shows who lives together",
        "quasi-identifier": "strangers may know it",
        "confidential": "sensitive, new values" if plan.draws else f"sensitive; {diverse}",
        "stratum": "groups stay within it",
        "survey weight": "analyses need it",
        "published": "the plan publishes it",
    }[role]


def _of_change(row: Mapping[str, Any] | None, gone: Vanished | None) -> list[str]:
    if row is None:
        return []
    found = [heavy_text(row)] if is_heavy(row) else []
    if gone is not None:
        found.append(f"{row['categories_vanished']:,} of {row['categories_before']:,} levels vanished: {gone}")
    return found


def _of_risk(name: str, file: Mapping[str, Any]) -> list[str]:
    found = [f"follows from {', '.join(each['by'])}" for each in file["determined"] if each["column"] == name]
    row = file["unchanged"].get(name)
    if row is None:
        return found
    alone = row.get("alone", row["uniques"])
    if row["role"] != "confidential" and row["below_k"]:
        what = f"singles out {alone:,}" if alone else f"{row['below_k']:,} below k"
        found.append(f"{what} by itself")
    if (shared := file["shared"].get(name, {})).get("all"):
        found.append(f"one value in {shared['all']:,} groups")
    return found


class Source(NamedTuple):
    """Something that a release comes from: what it is, its name, its size, and its checksum."""

    what: str
    name: str
    size: str = ""
    sha256: str = ""


def provenance(release: "Release", saved: Path | None, made: datetime.date | None) -> list[Source]:
    """List where the release comes from.

    The checksum of the input is for its keeper: anyone who guesses the input could test the guess with it. It is left
    out with epsilon, where all of a report may be published.
    """
    plan, names = release.plan, release.published.names
    kept = [name for name in names if name not in plan.dropped]
    left_out = f", {release.suppressed:,} left out" if release.suppressed else ""
    asked = None if plan.input is None or plan.epsilon is not None else Path(plan.input)
    read = f"{counted(release.records + release.suppressed, 'record')}, {counted(len(names), 'column')}"
    size = f"{counted(release.records, 'record')}{left_out}, {counted(len(kept), 'column')}"
    return [
        Source("Input", "a table in memory" if plan.input is None else file_name(plan.input), read, _checksum(asked)),
        Source("Published", name_of(plan, saved) or "not saved", size, _checksum(saved)),
        Source("Plan", "under What was asked" if saved is None else plan_beside(saved).name),
        Source("Made by", f"Shoal {__version__}, engine {release.published.engine}"),
        *([] if made is None else [Source("Date", made.isoformat())]),
    ]


def name_of(plan: Plan, saved: Path | None) -> str:
    """Return the name of the published file, if it has one."""
    target = plan.output if saved is None else str(saved)
    return "" if target is None else file_name(target)


def _checksum(path: Path | None) -> str:
    """Return the SHA-256 of a file; none of a folder, nor of what lies on another machine."""
    return "" if path is None or not path.is_file() else sha256_of(path)


def earlier_rows(found: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Describe what earlier releases reveal together with this one."""
    return [
        {
            "against": " and ".join(each["against"]),
            "smallest": each["smallest"],
            "below": each["below"],
            "uniques": each["uniques"],
            "counts": "unit" if "counts" in each else "record",
        }
        for each in found or []
    ]
