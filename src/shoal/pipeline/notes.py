"""Messages on a release: warnings to act on before publishing, and notes on what it preserves."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.blocking.blocks import PartBlocks, RecordBlocks
from shoal.edits.strategy import Strategy
from shoal.errors import DataError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.plan.conflicts import refuses_l
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.attributes import NUMBERS, Attribute, Codes
from shoal.tables.csv.formulas import formula_names


def notes(
    plan: ResolvedPlan,
    table: Table,
    types: Mapping[str, pa.DataType],
    missing: Mapping[str, tuple[int, int]],
    edits: Strategy | None = None,
) -> list[Message]:
    """List what a user might not expect, or must know before publishing.

    Parameters
    ----------
    plan
        Resolved for the table.
    table
        The original, or a stand-in with its columns.
    types
        Of the columns that are published in place of changed ones.
    missing
        How many records miss each changed attribute, before and after.
    edits
        How rules are kept, if there are any.
    """
    whole = [name for name, kind in types.items() if pa.types.is_integer(kind) and plan.types[name] == "continuous"]
    found = [] if plan.draws else [preserved(plan, edits, whole)]
    found += [] if edits is None else _on_edits(edits)
    found += _on_types(plan, table, types)
    for name, (before, after) in missing.items():
        if before or after:
            found.append(Message("missing-before-and-after", column=name, before=before, after=after))
    coded = [name for name in types if table.labels(name).missing or name in plan.missing_codes]
    if coded := [*coded, *(name for name in plan.missing_codes if name not in types)]:
        found.append(Message("missing-codes-read", columns=coded))
    if published := plan.roles["publish"]:
        found.append(Message("released-unchanged", columns=published))
    if plan.confidential and not plan.draws and plan.l is None and plan.t is None:
        found.append(Message("no-l-diversity", other=refuses_l(plan)))
    searched = plan.grouping == "best" or plan.refine is not False
    if searched and plan.effort.seconds is not None:
        found.append(Message("budget-in-seconds"))
    if plan.seed is not None and not searched:
        found.append(Message("seed-unused", method=plan.method))
    return found


def _on_types(plan: ResolvedPlan, table: Table, types: Mapping[str, pa.DataType]) -> list[Message]:
    """Name the columns that are of another type than before."""
    changed: dict[tuple[str, str | None], list[str]] = {}
    for name, kind in types.items():
        stored = table.column(name).type
        if kind != stored and not pa.types.is_dictionary(kind):
            why = plan.decimals[name] if pa.types.is_integer(stored) else None
            changed.setdefault((str(kind), why), []).append(name)
    return [Message("now-of-type", type=kind, why=why, columns=names) for (kind, why), names in changed.items()]


def on_time_of_day(plan: ResolvedPlan, attributes: Sequence[Attribute]) -> list[Message]:
    """Name whole days that get a time of day although the plan does not ask for it."""
    timed: dict[str, list[str]] = {}
    for each in attributes:
        if each.in_days and each.name in plan.decimals and plan.round is None:
            timed.setdefault(plan.decimals[each.name], []).append(each.name)
    return [Message("time-of-day", why=why, columns=names) for why, names in timed.items()]


def on_unused_codes(plan: Plan, complete: Collection[str]) -> list[Message]:
    """Warn of declared missing-value codes that no record has; `complete` are attributes that no record misses."""
    unused = [name for name in plan.missing_codes if name in complete]
    return [Message("codes-unused", columns=unused)] if unused else []


def _on_edits(edits: Strategy) -> list[Message]:
    """Name rules that nothing keeps by construction, and what was computed from others."""
    found = []
    if unsure := [requirement.name for requirement in edits.requirements if not requirement.promised]:
        found.append(Message("rules-only-verified", rules=unsure))
    if edits.recomputed:
        found.append(Message("computed-from-others", columns=[each.name for each in edits.recomputed]))
    return found


def on_headline(file: Mapping[str, Any]) -> list[Message]:
    """Return the headline of the risk of the whole file, if it is a warning."""
    found = file["headline"]
    return [found["text"]] if found["severity"] == "warning" else []


MUCH = 20.0  # percent: an attribute of which more has changed is named


def on_change(rows: Mapping[str, Mapping[str, Any]]) -> list[Message]:
    """Warn of levels and categories that changed much or vanished; `rows` are the attributes of a loss."""
    levels = {name: row for name, row in rows.items() if "categories_vanished" in row}
    much = [
        Message("changed-in-column", column=name, percent=row["changed"])
        for name, row in levels.items()
        if row["changed"] > MUCH
    ]
    gone = [
        Message("vanished-in-column", column=name, vanished=row["categories_vanished"], before=row["categories_before"])
        for name, row in levels.items()
        if row["categories_vanished"]
    ]
    found = [Message("much-changed", much=MUCH, columns=much)] if much else []
    return [*found, *([Message("levels-vanished", columns=gone)] if gone else [])]


def on_repair(own: int, misread: int) -> list[Message]:
    """Count groups in which keeping rules took more than an adjustment."""
    found = [Message("groups-as-own-records", groups=own)] if own else []
    return [*found, *([Message("equality-not-in-digits", groups=misread)] if misread else [])]


def on_order(plan: Plan) -> list[Message]:
    """Warn that the order of records shows which of them belong to one unit or household."""
    name = plan.unit if plan.household is None else plan.household
    if name is None or plan.pseudonym is not None or plan.epsilon is not None:
        return []
    return [Message("order-shows-units", column=name, household=plan.household is not None)]


def on_only(found: Mapping[str, int] | None, plan: Plan) -> list[Message]:
    """Count the records that were masked, where only those at risk are."""
    if found is None:
        return []
    seen: dict[str, Any] = {name: found[name] for name in ("at_risk", "records", "changed", "joined")}
    return [Message("only-at-risk", k=plan.k, counts=plan.counts, **seen)]


def on_suppressed(suppressed: int, records: int) -> list[Message]:
    """Warn that records were left out; `records` counts those that are published."""
    if not suppressed:
        return []
    whole = suppressed + records
    return [Message("records-left-out", suppressed=suppressed, records=whole, percent=100 * suppressed / whole)]


def on_budget(hurried: int) -> list[Message]:
    """Warn that a budget in seconds was too short for MDAV; `hurried` counts the partitions that began without it."""
    return [Message("budget-too-short")] if hurried else []


def on_one_group(plan: Plan, sizes: Mapping[int, int] | None) -> list[Message]:
    """Warn that all records are in one group; `sizes` counts how many groups have so many records."""
    if plan.epsilon is not None or plan.draws or sizes is None or sum(sizes.values()) > 1:
        return []
    given = {"-t": plan.t, "-l": plan.l, "-k": plan.k}
    ways = [Message("other-value", option=name, larger=name == "-t") for name in given if given[name] is not None]
    return [Message("all-in-one-group", ways=ways)]


def on_blocks(plan: Plan, blocks: RecordBlocks | PartBlocks | None, *, by_data: bool) -> list[Message]:
    """Count record blocks that were fused, or are larger than asked for; name options that one block has no use for.

    `by_data` says whether the size of blocks was left to the data.
    """
    scale = plan.scale
    if scale is None:
        return []
    if (blocks is None or len(blocks.sizes) == 1) and (scale.seams or scale.blocking != "kd"):
        blocking = None if scale.blocking == "kd" else scale.blocking
        both = scale.seams and blocking is not None
        return [Message("one-record-block", seams=scale.seams, both=both, blocking=blocking, small=not by_data)]
    if blocks is None:
        return []
    found = []
    if blocks.fused:
        leaves = scale.blocking not in ("interval", "sorted")
        small: dict[str, Any] = {"leaves" if leaves else "intervals": blocks.fused}
        found.append(Message("blocks-fused", blocks=len(blocks.sizes), **small))
    if blocks.crowded:
        found.append(Message("blocks-crowded", crowded=blocks.crowded, intervals=scale.blocking == "interval"))
    return found


def on_formulas(formulas: Mapping[str, int], names: Sequence[str], plan: Plan) -> list[Message]:
    """Count text cells of a CSV file that spreadsheets may run as formulas, by column, and list such names."""
    found = []
    if formulas:
        where = [Message("column-and-count", column=name, number=count) for name, count in formulas.items()]
        found.append(Message("formulas-quoted" if plan.quote_formulas else "formula-cells", columns=where))
    if called := formula_names(names):
        found.append(Message("formula-names", columns=called))
    return found


def unchanged(plan: Plan, masked: Sequence[Codes], attributes: Sequence[Attribute]) -> list[Message]:
    """Count what mic1d publishes as it was: the least and largest values of its parts may return to themselves."""
    X = np.column_stack([attribute.codes for attribute in attributes])
    same = np.isclose(np.column_stack(list(masked)), X, rtol=1e-12, atol=0)
    percent = 100 * float(same.mean())
    if percent > 50 and not plan.allow_unchanged:
        raise DataError("mic1d-leaves-unchanged", k=plan.k, percent=percent)
    return [Message("mic1d-unchanged", percent=percent, records=int(same.all(axis=1).sum()))]


def preserved(plan: Plan, edits: Strategy | None = None, whole: Collection[str] = ()) -> Message:
    """Describe which moments a release keeps; `whole` are attributes whose means are rounded to whole numbers."""
    if plan.epsilon is not None:
        return Message("no-moment-preserved", aggregates=["means"], noise=True)
    if plan.method == "mic1d":
        return Message("mic1d-preserves-nothing")
    numbers = [name for name in plan.masked if plan.types[name] in NUMBERS]
    anew = set() if edits is None else {each.name for each in edits.recomputed}
    if not numbers:
        return Message("no-number-preserved")
    rounded = any(plan.types[name] != "continuous" or name in whole for name in numbers)
    about: dict[str, Any] = {
        "rounded": rounded or (edits is not None and bool(edits.sums or edits.whole)),
        "halves": bool(whole) and edits is None,
        "weighted": plan.weights is not None,
        "kind": "attribute" if len(numbers) == len(plan.masked) else "number",
    }
    if plan.restore_variance:
        return Message("variance-preserved", **about)
    if plan.keep_totals is not None:
        return Message("mean-in-domains", weighted=about["weighted"], domains=plan.keep_totals)
    kept = [name for name in numbers if aggregate_of(name, plan) == "mean" and name not in anew]
    if not kept:
        words = sorted({aggregate_of(name, plan).replace("_", " ") for name in numbers})
        return Message("no-moment-preserved", aggregates=words)
    return Message(
        "mean-preserved",
        **about,
        columns=[] if len(kept) == len(numbers) else kept,
        gaps=plan.missing in ("group", "impute"),
        households=any(name in plan.household_attributes for name in numbers),
        left_out="suppress" in (plan.missing, plan.small_strata) or plan.edits_original == "exclude",
    )


def on_rules(costs: dict[str, dict[str, Any]]) -> list[Message]:
    """Describe what it cost hybrid values to keep to their constraints, or dates to the calendar."""
    figures = ("rules", "moved", "mean", "group_mean", "covariance")
    return [
        Message("cost-of-constraint", column=name, **{each: cost[each] for each in figures})
        for name, cost in costs.items()
    ]


def on_repetition(plan: Plan) -> list[Message]:
    """Warn that mixtures with noise are regenerated when anything that they depend on changes."""
    return [Message("second-sample")] if plan.method == "ms" else []


def on_secret(origin: str) -> Message:
    """Explain where random numbers came from, and what must stay secret."""
    codes = {"seed": "seed-is-secret", "new": "secret-created"}
    return Message(codes.get(origin, "secret-used"))
