"""Hybrid data for a table: confidential attributes made anew."""

import hashlib
import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from shoal.blocking.record_blocks import Blocking
from shoal.edits.expressions import Rule as Edit
from shoal.errors import DataError, PlanError
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.standardize import Matrix
from shoal.masking.ipso import refuse_fewer
from shoal.masking.microhybrid import Rule, constrained, microhybrid, redraw
from shoal.masking.muralidhar_sarathy import freedom, muralidhar_sarathy
from shoal.measures import MOST_RECORDS, distance_linkage
from shoal.measures.hybrid import SAME, preservation, subdomains
from shoal.parallel import Progress, Task, side_by_side
from shoal.partitioning import ACCEPTS
from shoal.pipeline.aggregate import representatives
from shoal.pipeline.encode import space_of
from shoal.pipeline.hybrid_edits import sums_of, with_exact_sums
from shoal.pipeline.hybrid_notes import on_little_freedom, on_own_values, on_preserved, on_unchanged
from shoal.pipeline.hybrid_parts import Labels, Made, Parts, matrix_of, parts_of, xy
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.notes import on_rules
from shoal.pipeline.partition import Confidential, grouped
from shoal.pipeline.verify_hybrid import Claim, refuse_broken
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import Attribute, Codes

_SUBDOMAINS, _SHARE, _LEAST = 5, 0.1, 20  # random subdomains that are compared, their share of the records, the least
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, counted from 1970


class Hybrid(NamedTuple):
    """What is published of hybrid data, and what is known of it."""

    columns: dict[str, Array]
    labels: Labels  # the groups in which means and covariances are kept
    blocking: Blocking | None
    claim: Claim
    constraints: dict[str, dict[str, Any]]  # what it cost to keep to them
    notes: list[str]


def hybrid_data(
    attributes: list[Attribute],
    strata: Sequence[Labels],
    masker: BlockMasker,
    rules: Sequence[Edit],
    rng: np.random.Generator,
    progress: Progress,
) -> Hybrid:
    """Make the confidential attributes anew: by R-microhybrid, or with the noise of Muralidhar and Sarathy.

    Parameters
    ----------
    attributes
        All that the plan uses, quasi-identifiers and confidential ones, without missing values.
    strata
        The records of each stratum, which never share a group.
    masker
        The resolved plan, and the scales of attributes.
    rules
        Edits that the data obeys and must go on obeying.
    rng
        All random numbers come from here.
    progress
        Follows the partition.

    Raises
    ------
    PlanError, DataError
        Nothing is published that would be somebody's own value, but for constants, which the notes tell.
    """
    plan = masker.plan
    parts = parts_of(attributes, plan)
    _refuse(parts, plan)
    sums = sums_of(rules, plan)
    if plan.method == "ms":
        made = _noisy(parts, plan, rng)
    else:
        made = _synthetic(parts, space_of(attributes, plan, masker.scales), strata, plan, rng, progress)
    notes = [*on_unchanged(parts, made, plan), *on_little_freedom(parts, made, plan)]
    codes, costs = _constrained(parts, made, plan)
    codes = with_exact_sums(sums, codes, {attribute.name: attribute.codes for attribute in parts.others})
    if parts.dealt:
        codes |= _named(parts.dealt, redraw(matrix_of(parts.dealt), made.labels, rng))
    columns = {
        each.name: each.decode(codes[each.name], whole=plan.publishes_whole(each.name))
        for each in (*parts.synthetic, *parts.dealt)
    }
    notes += [*on_rules(costs), *on_own_values(parts, columns, made.labels)]
    if plan.mask_quasi:
        columns |= _averages(parts.quasi, made.labels, masker)
    claim = _claim(parts, made.labels, plan)
    notes = [*on_preserved(parts, claim, plan, made.fused), *notes]
    return Hybrid(columns, made.labels, made.blocking, claim, costs, notes)


def random_numbers(attributes: Sequence[Attribute], plan: Plan) -> np.random.Generator:
    """Start the random numbers of a plan with its seed; without one, fresh ones of the operating system.

    They depend on the plan and on the data as well: a seed that is used once more, for another alpha or attribute,
    gives other noise, or else the difference of two releases would be free of it.
    """
    if plan.seed is None:
        return np.random.default_rng()
    # What is left at its default plays no part: an option that plans will have one day changes no release of today.
    options = plan.model_dump(exclude_defaults=True, exclude={"seed", "input", "output", "csv"})
    asked = hashlib.sha256(json.dumps(options, sort_keys=True, default=str).encode())
    data = hashlib.sha256()
    for attribute in attributes:
        data.update(np.ascontiguousarray(attribute.codes + 0.0).tobytes())
    return np.random.default_rng([plan.seed, *(int.from_bytes(each.digest(), "big") for each in (asked, data))])


def _averages(quasi: list[Attribute], labels: Labels, masker: BlockMasker) -> dict[str, Array]:
    """Microaggregate the quasi-identifiers from the same groups."""
    plan = masker.plan
    averages = representatives(quasi, partial(space_of, quasi, plan, masker.scales), [labels], plan, None)
    return {each.name: each.decode(average, whole=plan.round) for each, average in zip(quasi, averages, strict=True)}


def _claim(parts: Parts, labels: Labels, plan: Plan) -> Claim:
    return Claim(
        labels=labels,
        kept=[attribute.name for attribute in parts.synthetic if _is_exact(attribute, plan)],
        others=[attribute.name for attribute in parts.others],
        dealt=[attribute.name for attribute in parts.dealt],
        rules=plan.constraints,
        types=plan.types,
        levels=plan.levels,
    )


def _named(attributes: Sequence[Attribute], values: Matrix) -> dict[str, Codes]:
    return {attribute.name: column for attribute, column in zip(attributes, values.T, strict=True)}


def _refuse(parts: Parts, plan: Plan) -> None:
    """Report what the attributes do not allow the plan to ask for."""
    problems = [
        ("method", f"'{plan.method}' cannot take '{attribute.name}', which is {attribute.type}; use 'hybrid'")
        for attribute in parts.dealt
        if attribute.type not in ACCEPTS[plan.method]
    ]
    for attribute in (*parts.synthetic, *parts.dealt):
        if attribute.name in plan.constraints and attribute.type != "continuous":
            problems.append(("constraints", f"do not apply to '{attribute.name}', which is {attribute.type}"))
    if plan.method == "hybrid" and parts.synthetic:
        try:
            refuse_fewer(plan.k, len(parts.synthetic), len(parts.others))
        except ValueError as error:
            hint = "; with mask_quasi = true, quasi-identifiers do not count" if parts.others else ""
            problems.append(("k", f"{error}{hint}"))
    if problems:
        raise PlanError(problems)
    for attribute in parts.synthetic:
        refuse_broken(attribute, plan.constraints.get(attribute.name, []))


def _synthetic(
    parts: Parts,
    space: EncodedMatrix,
    strata: Sequence[Labels],
    plan: Plan,
    rng: np.random.Generator,
    progress: Progress,
) -> Made:
    """R-microhybrid: partition by quasi-identifiers and confidential attributes together, then IPSO in each group."""
    together = Plan(k=plan.k, quasi=plan.used, method="mdav")
    nothing = Confidential([], None, None, [])
    tasks: list[Task[Labels]] = [partial(grouped, space.rows(rows), together, nothing) for rows in strata]
    X, Y = xy(parts)
    labels, formed = np.empty(len(X), dtype=np.int64), 0
    for rows, found in zip(strata, side_by_side(tasks, len(X), progress), strict=True):
        labels[rows] = found + formed
        formed += int(found.max()) + 1
    values, unchanged = X.copy(), np.zeros(X.shape, dtype=bool)
    room, left = np.ones(len(X)), np.zeros(X.shape[1])
    fused = groups = 0
    for rows in strata if parts.synthetic else []:  # a group that must grow stays within its stratum
        try:
            result = microhybrid(X[rows], Y[rows], labels[rows], rng)
        except ValueError as error:
            raise DataError(_by_name(error, parts)) from None
        values[rows], unchanged[rows], labels[rows] = result.values, result.unchanged, result.labels + groups
        room[rows] = result.room
        left += result.left * len(rows) / len(X)
        groups += int(result.labels.max()) + 1
        fused += result.fused
    return Made(values, unchanged, labels, room, left, None, fused)


def _noisy(parts: Parts, plan: Plan, rng: np.random.Generator) -> Made:
    """Muralidhar-Sarathy: all records at once, as one group."""
    X, Y = xy(parts)
    alpha: Any = plan.alpha
    if isinstance(alpha, dict):
        alpha = [alpha[attribute.name] for attribute in parts.synthetic]
    try:
        values = muralidhar_sarathy(X, Y, alpha, rng)
    except ValueError as error:
        raise DataError(_by_name(error, parts)) from None
    unchanged = np.abs(values - X) <= SAME * np.maximum(np.abs(X), np.ptp(X, axis=0))
    return Made(values, unchanged, np.zeros(len(X), dtype=np.int64), *freedom(X, Y))


def _by_name(error: ValueError, parts: Parts) -> str:
    """Say what is wrong with a matrix of the names of its columns, in one line: a matrix that is offered takes more."""
    said = " ".join(str(error).split())
    return re.sub(r"column (\d+) of X", lambda found: f"column '{parts.synthetic[int(found[1]) - 1].name}'", said)


def _constrained(parts: Parts, made: Made, plan: Plan) -> tuple[dict[str, Codes], dict[str, dict[str, Any]]]:
    """Make values keep to the plan's constraints and dates to the calendar; say what moved, and how far."""
    rules = [_rule(attribute, plan) for attribute in parts.synthetic]
    if all(rule == Rule() for rule in rules):
        return _named(parts.synthetic, made.values), {}
    kept = constrained(made.values, rules, xy(parts)[1], made.labels)
    costs = {
        attribute.name: {
            "rules": plan.constraints.get(attribute.name, ["in the calendar"]),
            "moved": int(kept.moved[j]),
            "mean": float(kept.means[j]),
            "group_mean": float(kept.group_means[j]),
            "covariance": float(np.abs(kept.covariances[j]).max()),
        }
        for j, attribute in enumerate(parts.synthetic)
        if attribute.name in plan.constraints or kept.moved[j]
    }
    return _named(parts.synthetic, kept.values + 0.0), costs  # what was rounded to -0 is 0


def _rule(attribute: Attribute, plan: Plan) -> Rule:
    if attribute.type != "continuous":
        return Rule(*_calendar(attribute))
    asked = plan.constraints.get(attribute.name, [])
    return Rule(low=0.0 if "non-negative" in asked else -np.inf, whole="integer" in asked)


def _calendar(attribute: Attribute) -> tuple[float, float]:
    """Give the ticks of the first and the last day that the attribute's column can hold, of the years 1 to 9999."""
    day = 1
    if not pa.types.is_date32(attribute.stored):
        unit = "ms" if pa.types.is_date64(attribute.stored) else cast("pa.TimestampType[Any]", attribute.stored).unit
        day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    most = 2**63 // day - 1  # whole days that can be counted
    first, last = (max(-most, min(most, each)) * day for each in (_FIRST_DAY, _LAST_DAY))
    low, high = (max(-most * day, min(most * day, each - attribute.origin)) for each in (first, last))
    return low / attribute.tick, high / attribute.tick


def _is_exact(attribute: Attribute, plan: Plan) -> bool:
    """Whether values are published as they were computed, neither rounded nor moved."""
    short = pa.types.is_float16(attribute.stored) or pa.types.is_float32(attribute.stored)
    return attribute.type == "continuous" and not short and attribute.name not in plan.constraints


def evidence(attributes: list[Attribute], published: Table, plan: Plan, hybrid: Hybrid) -> dict[str, Any]:
    """Measure what hybrid data preserve, for the keeper of the data: it comes from the original.

    Returns
    -------
    dict
        ``groups``, their ``count`` and the ``smallest`` and ``largest``; ``preserved`` as in
        `shoal.measures.hybrid.preservation`; ``subdomains`` as in `shoal.measures.hybrid.subdomains`; ``linkage``, how
        many records an intruder links right who knows the confidential numbers (`shoal.measures.distance_linkage`);
        ``constraints``, how many values each ``moved``, by how many standard deviations the ``mean``, at most a
        ``group_mean`` and at most a ``covariance``; ``dealt``, the categories dealt out anew. Subdomains have at least
        k records, and 20; if these are more than half of the file, there are none.
    """
    parts = parts_of(attributes, plan)
    sizes = np.bincount(hybrid.labels)
    found: dict[str, Any] = {
        "groups": {"count": len(sizes), "smallest": int(sizes.min()), "largest": int(sizes.max())},
        "constraints": hybrid.constraints,
        "dealt": [attribute.name for attribute in parts.dealt],
    }
    if parts.synthetic:
        X, Y = xy(parts)
        after = np.column_stack([each.read(published.column(each.name)) for each in parts.synthetic])
        names = [attribute.name for attribute in parts.synthetic]
        share = max(_SHARE, max(plan.k or 0, _LEAST) / len(X))
        found["preserved"] = preservation(X, after, Y, hybrid.labels, names)
        found["subdomains"] = subdomains(X, after, names, _SUBDOMAINS, share) if share <= 0.5 else []
        found["linkage"] = distance_linkage(X, after, records=MOST_RECORDS)
    return found
