"""Messages on a release: warnings to act on before publishing, and notes on what it preserves."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.blocking.blocks import PartBlocks, RecordBlocks
from shoal.edits.strategy import Strategy
from shoal.errors import DataError
from shoal.messages import Message, warning
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.plan.conflicts import refuses_l
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.attributes import NUMBERS, Attribute, Codes
from shoal.tables.csv.formulas import formula_names
from shoal.text import counted, listed


def notes(
    plan: ResolvedPlan,
    table: Table,
    types: Mapping[str, pa.DataType],
    missing: Mapping[str, tuple[int, int]],
    edits: Strategy | None = None,
) -> list[str]:
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
            found.append(f"'{name}' is missing in {counted(after, 'record')}, where it was in {before:,}")
    coded = [name for name in types if table.labels(name).missing or name in plan.missing_codes]
    if coded := [*coded, *(name for name in plan.missing_codes if name not in types)]:
        found.append(f"missing-value codes were read and published as missing: {', '.join(coded)}")
    if published := plan.roles["publish"]:
        found.append(warning(f"released unchanged and unprotected: {', '.join(published)}"))
    if plan.confidential and not plan.draws and plan.l is None and plan.t is None:
        other = refuses_l(plan)
        why = f"does not go with {other}" if other else "was not requested"
        found.append(warning(f"l-diversity {why}, so all members of a group may share a sensitive value."))
    searched = plan.grouping == "best" or plan.refine is not False
    if searched and plan.effort.seconds is not None:
        found.append(
            "the budget was a time, so running the plan again may give other groups. A number of steps as "
            "--budget gives the same groups"
        )
    if plan.seed is not None and not searched:
        found.append(f"--seed had no effect: {plan.method} draws no random numbers")
    return found


def _on_types(plan: ResolvedPlan, table: Table, types: Mapping[str, pa.DataType]) -> list[str]:
    """Name the columns that are of another type than before."""
    changed: dict[str, list[str]] = {}
    for name, kind in types.items():
        stored = table.column(name).type
        if kind != stored and not pa.types.is_dictionary(kind):
            why = f" (integers have decimals: {plan.decimals[name]})" if pa.types.is_integer(stored) else ""
            changed.setdefault(f"now of type {kind}{why}", []).append(name)
    return [f"{what}: {', '.join(names)}" for what, names in changed.items()]


def on_time_of_day(plan: ResolvedPlan, attributes: Sequence[Attribute]) -> list[str]:
    """Name whole days that get a time of day although the plan does not ask for it."""
    timed: dict[str, list[str]] = {}
    for each in attributes:
        if each.in_days and each.name in plan.decimals and plan.round is None:
            timed.setdefault(plan.decimals[each.name], []).append(each.name)
    return [f"whole days have a time of day ({why}): {', '.join(names)}" for why, names in timed.items()]


def on_unused_codes(plan: Plan, complete: Collection[str]) -> list[str]:
    """Warn of declared missing-value codes that no record has; `complete` are attributes that no record misses."""
    unused = [name for name in plan.missing_codes if name in complete]
    if not unused:
        return []
    return [warning(f"No record has a --missing-code of {', '.join(unused)}. Check how the file writes them.")]


def _on_edits(edits: Strategy) -> list[str]:
    """Name rules that nothing keeps by construction, and what was computed from others."""
    found = []
    if unsure := [requirement.name for requirement in edits.requirements if not requirement.promised]:
        found.append(f"verified, but not kept by construction, so other data may break them: {listed(unsure)}")
    if edits.recomputed:
        names = listed([each.name for each in edits.recomputed])
        found.append(f"computed from what is published of others, not from the group: {names}")
    return found


def on_headline(file: Mapping[str, Any]) -> list[Message]:
    """Return the headline of the risk of the whole file, if it is a warning."""
    found = file["headline"]
    return [found["text"]] if found["severity"] == "warning" else []


MUCH = 20.0  # percent: an attribute of which more has changed is named


def on_change(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Warn of levels and categories that changed much or vanished; `rows` are the attributes of a loss."""
    levels = {name: row for name, row in rows.items() if "categories_vanished" in row}
    much = [f"{name} ({row['changed']:.0f} %)" for name, row in levels.items() if row["changed"] > MUCH]
    found: list[str] = []
    if much:
        found.append(
            warning(
                f"More than {MUCH:.0f} % of the values changed in {', '.join(much)}. Use a smaller -k or a "
                "larger --attribute-weight to keep more of them."
            )
        )
    gone = [
        f"{row['categories_vanished']:,} of {row['categories_before']:,} in {name}"
        for name, row in levels.items()
        if row["categories_vanished"]
    ]
    if gone:
        found.append(warning(f"Levels or categories that no record publishes any more: {', '.join(gone)}."))
    return found


def on_repair(own: int, misread: int) -> list[str]:
    """Count groups in which keeping rules took more than an adjustment."""
    found: list[str] = []
    if own:
        found.append(
            warning(
                f"{counted(own, 'group')} published as one of their own records, because no adjustment satisfies all "
                "rules."
            )
        )
    if misread:
        found.append(
            "an equality holds, but not to validators that compare decimal digits, such as lxml: "
            f"{counted(misread, 'group')}"
        )
    return found


def on_order(plan: Plan) -> list[str]:
    """Warn that the order of records shows which of them belong to one unit or household."""
    name, what = (plan.unit, "records of a unit") if plan.household is None else (plan.household, "household members")
    if name is None or plan.pseudonym is not None or plan.epsilon is not None:
        return []
    return [
        warning(
            f"'{name}' was dropped, but records keep their order: {what} that stand together in the file can still be "
            "seen as one. Shuffle the records before they are protected."
        )
    ]


def on_only(found: Mapping[str, int] | None, plan: Plan) -> list[str]:
    """Count the records that were masked, where only those at risk are."""
    if found is None:
        return []
    at_risk, records = found["at_risk"], found["records"]
    note = (
        f"{at_risk:,} of {records:,} records were at risk, sharing their combination of quasi-identifiers with fewer "
        f"than k = {plan.k} {plan.counts}s: {found['changed']:,} have changed, and all others are unchanged"
    )
    if found["joined"]:
        note += (
            f". Where fewer than k {plan.counts}s are at risk, in the file or a stratum, each record takes on the "
            f"nearest combination that k {plan.counts}s have ({counted(found['joined'], 'record')}); means are not "
            "preserved there"
        )
    return [note]


def on_suppressed(suppressed: int, records: int) -> list[str]:
    """Warn that records were left out; `records` counts those that are published."""
    if not suppressed:
        return []
    whole = suppressed + records
    verb = "was" if suppressed == 1 else "were"
    share = f"{suppressed:,} of {whole:,} records {verb} left out ({100 * suppressed / whole:.3g} %)"
    return [warning(f"{share}, which the loss does not count.")]


def on_budget(hurried: int) -> list[str]:
    """Warn that a budget in seconds was too short for MDAV; `hurried` counts the partitions that began without it."""
    if not hurried:
        return []
    return [
        warning("The budget was too short for MDAV, so groups began as cells of a k-d tree. Use a longer --budget.")
    ]


def on_one_group(plan: Plan, sizes: Mapping[int, int] | None) -> list[str]:
    """Warn that all records are in one group; `sizes` counts how many groups have so many records."""
    if plan.epsilon is not None or plan.draws or sizes is None or sum(sizes.values()) > 1:
        return []
    ways = {"a larger -t": plan.t, "a smaller -l": plan.l, "a smaller -k": plan.k}
    advice = " or ".join(way for way in ways if ways[way] is not None)
    return [warning(f"All records are in one group, so each masked column holds one value. Use {advice}.")]


def on_blocks(plan: Plan, blocks: RecordBlocks | PartBlocks | None, *, by_data: bool) -> list[str]:
    """Count record blocks that were fused, or are larger than asked for; name options that one block has no use for.

    `by_data` says whether the size of blocks was left to the data.
    """
    scale = plan.scale
    if scale is None:
        return []
    if (blocks is None or len(blocks.sizes) == 1) and (scale.seams or scale.blocking != "kd"):
        asked = {"--seams": scale.seams, f"--blocking {scale.blocking}": scale.blocking != "kd"}
        unused = " and ".join(name for name in asked if asked[name])
        why = "all records are in one record block" + ("" if by_data else ". --block-records makes several")
        return [f"{unused} had no effect: {why}"]
    if blocks is None:
        return []
    found = []
    if blocks.fused:
        small = "interval" if scale.blocking in ("interval", "sorted") else "leaf of the 2^d-tree"
        small = counted(blocks.fused, small, "leaves of the 2^d-tree" if scale.blocking == "2^d" else None)
        found.append(
            f"{small} of fewer than k records merged with the nearest: {counted(len(blocks.sizes), 'block')} left"
        )
    if blocks.crowded:
        why = "records lie too unevenly" if scale.blocking == "interval" else "too many lie in one place to be divided"
        found.append(f"{counted(blocks.crowded, 'block')} of more than --block-records records: {why}")
    return found


def on_formulas(formulas: Mapping[str, int], names: Sequence[str], plan: Plan) -> list[str]:
    """Count text cells of a CSV file that spreadsheets may run as formulas, by column, and list such names."""
    found = _on_cells(formulas, plan) if formulas else []
    if called := formula_names(names):
        what = f"a spreadsheet may run these column names as formulas when it opens the file: {listed(called)}."
        found.append(warning(f"{what} Rename them."))
    return found


def _on_cells(formulas: Mapping[str, int], plan: Plan) -> list[str]:
    where = ", ".join(f"'{name}' ({count:,})" for name, count in formulas.items())
    if plan.quote_formulas:
        return [f"an apostrophe was written before text that a spreadsheet may run as a formula: {where}"]
    what = f"the file has text that a spreadsheet may run as a formula when it opens the file: {where}."
    return [warning(f"{what} Use --quote-formulas to write an apostrophe before each.")]


def unchanged(plan: Plan, masked: Sequence[Codes], attributes: Sequence[Attribute]) -> list[str]:
    """Count what mic1d publishes as it was: the least and largest values of its parts may return to themselves."""
    X = np.column_stack([attribute.codes for attribute in attributes])
    same = np.isclose(np.column_stack(list(masked)), X, rtol=1e-12, atol=0)
    percent = 100 * float(same.mean())
    if percent > 50 and not plan.allow_unchanged:
        raise DataError(
            f"mic1d with k = {plan.k} leaves {percent:.0f} % of the values unchanged. Use a larger -k, or add "
            "--allow-unchanged to release them."
        )
    whole = counted(int(same.all(axis=1).sum()), "record")
    return [warning(f"mic1d released {percent:.1f} % of the values unchanged, and {whole} with all values unchanged.")]


def preserved(plan: Plan, edits: Strategy | None = None, whole: Collection[str] = ()) -> str:
    """Describe which moments a release keeps; `whole` are attributes whose means are rounded to whole numbers."""
    if plan.epsilon is not None:
        return "preserved: no moment exactly; groups publish their means with noise"
    if plan.method == "mic1d":
        return warning("mic1d guarantees no groups of k records, and preserves no moment exactly.")
    numbers = [name for name in plan.masked if plan.types[name] in NUMBERS]
    anew = set() if edits is None else {each.name for each in edits.recomputed}
    if not numbers:
        return "preserved: no moment, because no masked attribute is a number"
    rounded = any(plan.types[name] != "continuous" or name in whole for name in numbers)
    about = " up to rounding" if rounded or (edits is not None and (edits.sums or edits.whole)) else ""
    about += " (whole numbers by 0.5 at most)" if whole and edits is None else ""
    what = "every masked attribute" if len(numbers) == len(plan.masked) else "every masked number"
    weighted = "" if plan.weights is None else "weighted "
    if plan.restore_variance:
        return f"preserved{about}: the {weighted}mean and the {weighted}variance of {what}"
    if plan.keep_totals is not None:
        domains = f"of {' and '.join(plan.keep_totals)}"
        return f"preserved: the {weighted}mean of every continuous attribute, in the file and in each value {domains}"
    if plan.missing in ("group", "impute"):
        about += ", where no value is missing"
    if any(name in plan.household_attributes for name in numbers):
        about += ", of household attributes over households"
    left_out = "suppress" in (plan.missing, plan.small_strata) or plan.edits_original == "exclude"
    where = "in the published records and in each group" if left_out else "in the file and in each group"
    kept = [name for name in numbers if aggregate_of(name, plan) == "mean" and name not in anew]
    if len(kept) == len(numbers):
        return f"preserved{about}: the {weighted}mean of {what}, {where}"
    if kept:
        return f"preserved{about}: the {weighted}mean of {', '.join(kept)}, {where}"
    words = sorted({aggregate_of(name, plan).replace("_", " ") for name in numbers})
    return f"preserved: no moment exactly; groups publish their {' or '.join(words)}"


def on_rules(costs: dict[str, dict[str, Any]]) -> list[str]:
    """Describe what it cost hybrid values to keep to their constraints, or dates to the calendar."""
    return [
        f"'{name}' is {' and '.join(cost['rules'])}: {counted(cost['moved'], 'value')} moved, its mean by "
        f"{cost['mean']:.2g}, that of a group by up to {cost['group_mean']:.2g} and its covariances by up to "
        f"{cost['covariance']:.2g} standard deviations"
        for name, cost in costs.items()
    ]


def on_repetition(plan: Plan) -> list[str]:
    """Warn that mixtures with noise are regenerated when anything that they depend on changes."""
    if plan.method != "ms":
        return []
    changes = "Another alpha, other attributes or units, or corrected records"
    return [warning(f"{changes} draw new noise, which averages out: such a release is a second sample. Make few.")]


def on_secret(origin: str) -> str:
    """Explain where random numbers came from, and what must stay secret."""
    if origin == "seed":
        return warning(
            "Keep the seed secret, and choose one that cannot be guessed: anyone who has it can remove the noise. "
            "It is not in the plan of the release, which gives other values without it."
        )
    if origin == "new":
        return warning(
            "This run created the keeper's secret (the file that SHOAL_SECRET names, else .config/shoal/secret in the "
            "home directory). Keep it: with another secret, a second release of the same data is a second sample."
        )
    return (
        "the random numbers came from the keeper's secret, which no release holds, because anyone who had it could "
        "remove the noise; the same data and plan give the same values again"
    )
