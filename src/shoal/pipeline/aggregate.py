"""Step 2 for a table: what every group publishes, attribute by attribute, and what a user should know of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.aggregation import Rescaling, aggregate, medoids, restore_variance
from shoal.edits.repair import righted
from shoal.edits.strategy import Keeping
from shoal.errors import DataError
from shoal.kernels.encoded import EncodedMatrix
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.arrow import compute as pc
from shoal.tables.attributes import NUMBERS, Attribute, Codes
from shoal.text import counted, listed

Labels = NDArray[np.int64]


def representatives(
    attributes: Sequence[Attribute], space: EncodedMatrix, partitions: list[Labels], plan: Plan, weights: Codes | None
) -> list[Codes]:
    """Give each attribute as it will be published: the representative of its group for every record."""
    found: dict[str, Codes] = {}
    for block, labels in zip(plan.in_blocks, partitions, strict=True):
        whole_records = [name for name in block if aggregate_of(name, plan) == "medoid"]
        if whole_records:
            part = space.columns([plan.masked.index(name) for name in whole_records])
            chosen = _medoids(part, labels, weights, fill=plan.missing == "impute")[labels]
            found |= {name: attributes[plan.masked.index(name)].codes[chosen] for name in whole_records}
        for attribute in attributes:
            how = aggregate_of(attribute.name, plan)
            if attribute.name in block and how != "medoid":
                found[attribute.name] = aggregate(
                    attribute.codes,
                    labels,
                    how,
                    trim=plan.trimmed,
                    weights=weights,
                    levels=0 if attribute.levels is None else len(attribute.levels),
                    fill=plan.missing == "impute",
                )
    return [found[attribute.name] for attribute in attributes]


def put_right(
    published: list[Codes], attributes: Sequence[Attribute], partitions: list[Labels], plan: Plan, edits: Keeping
) -> tuple[list[Codes], dict[str, float], list[str]]:
    """Put right what groups publish so that rules hold exactly.

    Returns
    -------
    tuple
        What is published of each attribute; how far each may be outside the range of its group; and what to know.
    """
    labels = {name: own for block, own in zip(plan.in_blocks, partitions, strict=True) for name in block}
    original = {attribute.name: attribute.codes for attribute in attributes}
    whole = {each.name for each in attributes if plan.round and pa.types.is_integer(each.stored)}
    found = {attribute.name: codes for attribute, codes in zip(attributes, published, strict=True)}
    right = righted(edits, original, found, labels, whole)
    said = []
    if right.own:
        said.append(
            f"published as one of their own records, no adjustment keeping all rules: {counted(right.own, 'group')}"
        )
    if right.misread:
        said.append(
            "an equality holds, but not to validators that add up the digits of numbers, such as lxml: "
            f"{counted(right.misread, 'group')}"
        )
    return [right.values[attribute.name] for attribute in attributes], right.slack, said


def _medoids(space: EncodedMatrix, labels: Labels, weights: Codes | None, *, fill: bool) -> Labels:
    """Find the medoid of each group; where gaps are to be filled, among the records that have none."""
    if not fill:
        return medoids(space, labels, weights)
    whole = np.flatnonzero(~np.isnan(space.values).any(axis=1))
    return whole[medoids(space.rows(whole), labels[whole], None if weights is None else weights[whole])]


def restored(
    masked: list[Codes], attributes: Sequence[Attribute], plan: Plan, weights: Codes | None
) -> tuple[list[Codes], dict[str, Rescaling]]:
    """Give numbers and dates their variance back where the plan asks for it."""
    if not plan.restore_variance:
        return masked, {}
    rescaled: dict[str, Rescaling] = {}
    changed = []
    for codes, attribute in zip(masked, attributes, strict=True):
        if attribute.type in NUMBERS:
            if _is_constant(codes) and not _is_constant(attribute.codes):
                raise DataError(
                    f"the variance of '{attribute.name}' cannot be restored: all records publish the same value"
                )
            rescaled[attribute.name] = restore_variance(codes, attribute.codes, weights)
            codes = _rescaled(codes, rescaled[attribute.name], attribute)
        changed.append(codes)
    return changed, rescaled


def _rescaled(codes: Codes, rescaling: Rescaling, attribute: Attribute) -> Codes:
    """Give a number or a date its variance back, as long as there are such numbers and dates."""
    with np.errstate(over="ignore"):
        changed = rescaling.apply(codes)
    column = attribute.decode(changed)  # which may have less room than a float64
    if np.isinf(changed).any() or (pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py()):
        raise DataError(
            f"the variance of '{attribute.name}' cannot be restored: it is too large; store it in another unit"
        )
    if attribute.type != "continuous":
        years = pc.year(column)
        if not pc.all(pc.and_(pc.greater(years, 0), pc.less(years, 10_000)), min_count=0).as_py():
            raise DataError(
                f"the variance of '{attribute.name}' cannot be restored: dates would leave the years 1 to 9999"
            )
    return changed


def _is_constant(codes: Codes) -> bool:
    present = codes[~np.isnan(codes)]
    return not len(present) or present.min() == present.max()


def notes(
    plan: Plan,
    original: Table,
    attributes: Sequence[Attribute],
    columns: dict[str, Array],
    edits: Keeping | None = None,
) -> list[str]:
    """Say what a user might not expect, or must know before publishing."""
    found = [] if plan.draws else [preserved(plan, edits)]
    found += [] if edits is None else _on_edits(edits)
    changed: dict[str, list[str]] = {}
    for name, column in columns.items():
        if column.type != original.column(name).type and not pa.types.is_dictionary(column.type):
            whole = pa.types.is_integer(original.column(name).type) and not plan.round
            how = "constraints = 'integer'" if plan.draws and name in plan.confidential else "round = true"
            hint = f", values not being whole ({how} keeps integers)" if whole else ""
            changed.setdefault(f"now of type {column.type}{hint}", []).append(name)
    found += [f"{what}: {', '.join(names)}" for what, names in changed.items()]
    found += _on_missing(plan, original, attributes, columns)
    roles = {*plan.masked, *plan.confidential, *plan.identifiers, *(plan.strata or [])}
    if plan.weights is not None:
        found.append(f"the survey weights in '{plan.weights}' are published as they are")
        roles.add(plan.weights)
    if others := [name for name in original.names if name not in roles]:
        found.append(f"published as they are, having no role: {', '.join(others)}")
    if original.has_index:
        found.append(
            "the table's index was kept; if it names anybody, drop it before you publish (files never hold it)"
        )
    searched = plan.method == "best" or plan.refine is not False
    if searched and plan.effort.seconds is not None:
        found.append(
            "the budget was a time, so that the plan may find other groups when it runs again; a number of steps as "
            "the budget gives the same"
        )
    if plan.seed is not None and not searched:
        found.append(f"the seed was not used: {plan.method} draws no random numbers")
    return found


def _on_edits(edits: Keeping) -> list[str]:
    """Say which rules nothing keeps by construction, and what was computed anew."""
    found = []
    if unsure := [demand.name for demand in edits.demands if not demand.promised]:
        found.append(f"verified, but not kept by construction, so that other data may break them: {listed(unsure)}")
    if edits.recomputed:
        names = listed([each.name for each in edits.recomputed])
        found.append(f"computed from what is published of others, not from the group: {names}")
    return found


def _on_missing(plan: Plan, original: Table, attributes: Sequence[Attribute], columns: dict[str, Array]) -> list[str]:
    """Say where values were missing before or after, and what became of codes that a file declares to be missing."""
    found = []
    for attribute in attributes:
        before, after = int(attribute.missing.sum()), columns[attribute.name].null_count
        if before or after:
            found.append(f"'{attribute.name}' is missing in {counted(after, 'record')}, where it was in {before:,}")
    coded = [attribute.name for attribute in attributes if original.labels(attribute.name).missing]
    if coded:
        found.append(f"codes declared to be missing count as missing, and are published as such: {', '.join(coded)}")
    return found


def unchanged(plan: Plan, masked: list[Codes], attributes: Sequence[Attribute]) -> list[str]:
    """Count what mic1d publishes as it was: the least and largest values of its parts may return to themselves."""
    if plan.method != "mic1d":
        return []
    X = np.column_stack([attribute.codes for attribute in attributes])
    same = np.isclose(np.column_stack(masked), X, rtol=1e-12, atol=0)
    percent = 100 * float(same.mean())
    if percent > 50:
        raise DataError(f"mic1d with k = {plan.k} leaves {percent:.0f} % of the values as they are; take a larger k")
    whole = counted(int(same.all(axis=1).sum()), "record")
    return [f"mic1d published {percent:.1f} % of the values as they are, and {whole} wholly so"]


def preserved(plan: Plan, edits: Keeping | None = None) -> str:
    """Say which moments a release keeps."""
    if plan.epsilon is not None:
        return "preserved: no moment exactly; groups publish their means with noise"
    if plan.method == "mic1d":
        return (
            "mic1d guarantees no group of k records: how many share a combination is in the risk, and may be one; "
            "no moment is preserved exactly"
        )
    numbers = [name for name in plan.masked if plan.types[name] in NUMBERS]
    anew = set() if edits is None else {each.name for each in edits.recomputed}
    if not numbers:
        return "preserved: no moment, there being no numbers among the masked attributes"
    rounded = plan.round or any(plan.types[name] != "continuous" for name in numbers)
    about = " up to rounding" if rounded or (edits is not None and (edits.sums or edits.whole)) else ""
    what = "every masked attribute" if len(numbers) == len(plan.masked) else "every masked number"
    weighted = "" if plan.weights is None else "weighted "
    if plan.restore_variance:
        return f"preserved{about}: the {weighted}mean and the {weighted}variance of {what}"
    if plan.missing in ("group", "impute"):
        about += ", where no value is missing"
    kept = [name for name in numbers if aggregate_of(name, plan) == "mean" and name not in anew]
    if len(kept) == len(numbers):
        return f"preserved{about}: the {weighted}mean of {what}, in the file and in each group"
    if kept:
        return f"preserved{about}: the {weighted}mean of {', '.join(kept)}, in the file and in each group"
    words = sorted({aggregate_of(name, plan).replace("_", " ") for name in numbers})
    return f"preserved: no moment exactly; groups publish their {' or '.join(words)}"


def on_rules(costs: dict[str, dict[str, Any]]) -> list[str]:
    """Say what it cost hybrid values to keep to their constraints, or dates to the calendar."""
    return [
        f"'{name}' is {' and '.join(cost['rules'])}: {counted(cost['moved'], 'value')} moved, its mean by "
        f"{cost['mean']:.2g}, that of a group by up to {cost['group_mean']:.2g} and its covariances by up to "
        f"{cost['covariance']:.2g} standard deviations"
        for name, cost in costs.items()
    ]


def on_seed(given: bool) -> str:
    """Say why the plan of a release holds no seed."""
    if given:
        return (
            "the seed is not in the plan of the release, for whoever has it can take the noise off again: keep it "
            "secret, and choose one that nobody can guess; without it, the plan gives other values"
        )
    return (
        "the random numbers came from a fresh secret seed, kept nowhere, for whoever had it could take the noise off "
        "again; the plan gives other values each time"
    )
