"""Hybrid data for a table: confidential attributes made anew, and what a user should know of it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.aggregation.hybrid import Rule, constrained, microhybrid, redraw
from shoal.aggregation.ipso import refuse_fewer
from shoal.encoding import encode_all, space_of
from shoal.errors import DataError, PlanError
from shoal.grouping import Confidential, partitions
from shoal.hybrid_checks import SAME, Claim
from shoal.masking.ms import muralidhar_sarathy
from shoal.measures import MOST_RECORDS, distance_linkage
from shoal.measures.hybrid import preservation, subdomains
from shoal.partitioning import ACCEPTS
from shoal.plan import Plan
from shoal.publishing import representatives
from shoal.record_blocks import Blocking
from shoal.scaling import Matrix
from shoal.space import Space
from shoal.strata import Strata
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import NUMBERS, Attribute, Codes
from shoal.words import counted, listed
from shoal.work import Progress

Labels = NDArray[np.int64]

_SUBDOMAINS, _SHARE = 5, 0.1  # how many random subdomains are compared, and their share of the records


class Hybrid(NamedTuple):
    """What is published of hybrid data, and what is known of it."""

    columns: dict[str, Array]
    labels: Labels  # the groups in which means and covariances are kept
    blocking: Blocking | None
    claim: Claim
    constraints: dict[str, dict[str, Any]]  # what it cost to keep to them
    notes: list[str]


class _Parts(NamedTuple):
    """The attributes of a table by what hybrid data make of them."""

    synthetic: list[Attribute]  # X: confidential numbers and dates
    dealt: list[Attribute]  # confidential categories, dealt out anew
    others: list[Attribute]  # Y: numbers and dates among the quasi-identifiers, if they are published as they are
    quasi: list[Attribute]


class _Made(NamedTuple):
    """New values of X, in the groups that they were made in."""

    values: Matrix
    unchanged: NDArray[np.bool_]
    labels: Labels
    blocking: Blocking | None = None
    fused: int = 0


def hybrid_data(
    attributes: list[Attribute], strata: Strata, plan: Plan, rng: np.random.Generator, progress: Progress
) -> Hybrid:
    """Make the confidential attributes anew: by R-microhybrid, or with the noise of Muralidhar and Sarathy.

    Parameters
    ----------
    attributes
        All that the plan uses, quasi-identifiers and confidential ones, without missing values.
    strata
        Which records never share a group.
    plan
        A settled plan.
    rng
        All random numbers come from here.
    progress
        Follows the partition.

    Raises
    ------
    PlanError, DataError
        Nothing is published that would be somebody's own value, but for constants, which the notes tell.
    """
    parts = _parts(attributes, plan)
    _refuse(parts, plan)
    if plan.method == "ms":
        made = _noisy(parts, plan, rng)
    else:
        made = _synthetic(parts, space_of(attributes, plan), strata, plan, rng, progress)
    notes = _on_unchanged(parts, made, plan)
    codes, costs = _constrained(parts.synthetic, made.values, plan)
    if parts.dealt:
        codes |= _named(parts.dealt, redraw(_matrix(parts.dealt), made.labels, rng))
    columns = {each.name: each.decode(codes[each.name]) for each in (*parts.synthetic, *parts.dealt)}
    if plan.mask_quasi:
        averages = representatives(parts.quasi, space_of(parts.quasi, plan), [made.labels], plan, None)
        columns |= {
            each.name: each.decode(average, whole=plan.round)
            for each, average in zip(parts.quasi, averages, strict=True)
        }
    claim = Claim(
        labels=made.labels,
        kept=[attribute.name for attribute in parts.synthetic if _is_exact(attribute, plan)],
        others=[attribute.name for attribute in parts.others],
        dealt=[attribute.name for attribute in parts.dealt],
        rules=plan.constraints,
        types=plan.types,
        levels=plan.levels,
    )
    notes = [*_notes(parts, claim, plan, made.fused), *notes, *_on_constraints(costs)]
    return Hybrid(columns, made.labels, made.blocking, claim, costs, notes)


def _parts(attributes: list[Attribute], plan: Plan) -> _Parts:
    quasi = [attribute for attribute in attributes if attribute.name in plan.masked]
    confidential = [attribute for attribute in attributes if attribute.name in plan.confidential]
    return _Parts(
        synthetic=[attribute for attribute in confidential if attribute.type in NUMBERS],
        dealt=[attribute for attribute in confidential if attribute.type not in NUMBERS],
        others=[] if plan.mask_quasi else [attribute for attribute in quasi if attribute.type in NUMBERS],
        quasi=quasi,
    )


def _matrix(attributes: Sequence[Attribute], records: int = 0) -> Matrix:
    return np.column_stack([each.codes for each in attributes]) if attributes else np.empty((records, 0))


def _xy(parts: _Parts) -> tuple[Matrix, Matrix]:
    records = len((*parts.synthetic, *parts.dealt)[0].codes)
    return _matrix(parts.synthetic, records), _matrix(parts.others, records)


def _named(attributes: Sequence[Attribute], values: Matrix) -> dict[str, Codes]:
    return {attribute.name: column for attribute, column in zip(attributes, values.T, strict=True)}


def _refuse(parts: _Parts, plan: Plan) -> None:
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
        rules, x = plan.constraints.get(attribute.name, []), attribute.codes
        for rule, wrong in (("non-negative", x < 0), ("integer", x != np.rint(x))):
            if rule in rules and wrong.any():
                raise DataError(
                    f"column '{attribute.name}' is itself not {rule} in {counted(int(wrong.sum()), 'record')}, so that "
                    "it cannot be asked to be; leave the constraint out"
                )


def _synthetic(
    parts: _Parts, space: Space, strata: Strata, plan: Plan, rng: np.random.Generator, progress: Progress
) -> _Made:
    """R-microhybrid: partition by quasi-identifiers and confidential attributes together, then IPSO in each group."""
    together = Plan(k=plan.k, quasi=plan.used, method="mdav")
    nothing = Confidential([], None, None, [])
    found = partitions(space, strata.rows, together, nothing, progress)
    X, Y = _xy(parts)
    labels = found.labels[0].copy()
    values, unchanged = X.copy(), np.zeros(X.shape, dtype=bool)
    fused = groups = 0
    for rows in strata.rows if parts.synthetic else []:  # a group that must grow stays within its stratum
        try:
            result = microhybrid(X[rows], Y[rows], labels[rows], rng)
        except ValueError as error:
            raise DataError(str(error)) from None
        values[rows], unchanged[rows], labels[rows] = result.values, result.unchanged, result.labels + groups
        groups += int(result.labels.max()) + 1
        fused += result.fused
    return _Made(values, unchanged, labels, found.blocking, fused)


def _noisy(parts: _Parts, plan: Plan, rng: np.random.Generator) -> _Made:
    """Muralidhar-Sarathy: all records at once, as one group."""
    X, Y = _xy(parts)
    alpha: Any = plan.alpha
    if isinstance(alpha, dict):
        alpha = [alpha[attribute.name] for attribute in parts.synthetic]
    try:
        values = muralidhar_sarathy(X, Y, alpha, rng)
    except ValueError as error:
        raise DataError(" ".join(str(error).split())) from None  # a matrix that is offered takes several lines
    unchanged = np.abs(values - X) <= SAME * np.maximum(np.abs(X), X.std(axis=0))
    return _Made(values, unchanged, np.zeros(len(X), dtype=np.int64))


def _on_unchanged(parts: _Parts, made: _Made, plan: Plan) -> list[str]:
    """Refuse what would be published as it is; where all members of a group have the same value, say so."""
    notes, problems = [], []
    for j, attribute in enumerate((*parts.synthetic, *parts.dealt)):
        equal = _all_equal(attribute.codes, made.labels)
        if j < len(parts.synthetic) and (count := int((made.unchanged[:, j] & ~equal).sum())):
            problems.append(_given_away(attribute.name, count, parts, plan))
        if equal.any():
            groups = counted(len(np.unique(made.labels[equal])), "group")
            notes.append(
                f"'{attribute.name}' is the same for all members in {groups} and is published as it is there: "
                f"{counted(int(equal.sum()), 'record')}"
            )
    if problems:
        raise DataError("\n".join(problems))
    return notes


def _given_away(name: str, count: int, parts: _Parts, plan: Plan) -> str:
    what = f"'{name}' would be published as it is in {counted(count, 'record')}"
    if not parts.others:
        return f"{what}, differing too little within groups; take a larger k"
    ways = "take a larger k, mask the quasi-identifiers too with mask_quasi = true, or " if plan.k else ""
    return (
        f"{what}: the quasi-identifiers that are published as they are give it away, adding up to it or singling the "
        f"record out; {ways}drop one of {listed([each.name for each in parts.others])} with identifiers"
    )


def _all_equal(x: Codes, labels: Labels) -> NDArray[np.bool_]:
    """Say of each record whether all members of its group have the same value."""
    low, high = np.full(int(labels.max()) + 1, np.inf), np.full(int(labels.max()) + 1, -np.inf)
    np.minimum.at(low, labels, x)
    np.maximum.at(high, labels, x)
    equal: NDArray[np.bool_] = high - low <= SAME * np.maximum(np.abs(low), np.abs(high))
    return equal[labels]


def _constrained(
    attributes: list[Attribute], values: Matrix, plan: Plan
) -> tuple[dict[str, Codes], dict[str, dict[str, Any]]]:
    """Make values keep to the plan's constraints; say how many moved, and how far the moments of the file."""
    if not plan.constraints:
        return _named(attributes, values), {}
    kept = constrained(values, [_rule(attribute.name, plan) for attribute in attributes])
    costs = {
        attribute.name: {
            "rules": plan.constraints[attribute.name],
            "moved": int(kept.moved[j]),
            "mean": float(kept.means[j]),
            "covariance": float(np.abs(kept.covariances[j]).max()),
            "own": int((kept.values[:, j] == attribute.codes).sum()),
        }
        for j, attribute in enumerate(attributes)
        if attribute.name in plan.constraints
    }
    return _named(attributes, kept.values + 0.0), costs  # what was rounded to -0 is 0


def _rule(name: str, plan: Plan) -> Rule:
    asked = plan.constraints.get(name, [])
    return Rule(low=0.0 if "non-negative" in asked else -np.inf, whole="integer" in asked)


def _is_exact(attribute: Attribute, plan: Plan) -> bool:
    """Whether values are published as they were computed, neither rounded nor moved."""
    short = pa.types.is_float16(attribute.stored) or pa.types.is_float32(attribute.stored)
    return attribute.type == "continuous" and not short and attribute.name not in plan.constraints


def _notes(parts: _Parts, claim: Claim, plan: Plan, fused: int) -> list[str]:
    """Say what is preserved, what is not, and what must stay secret."""
    where = "in the file" if plan.method == "ms" else "in the file and in each group"
    found = []
    if claim.kept:
        beside = f", and their covariances with {', '.join(claim.others)}" if claim.others else ""
        found.append(f"preserved: means and covariances of {', '.join(claim.kept)}{beside}, {where}")
    if rounded := [a.name for a in parts.synthetic if a.name not in (*claim.kept, *plan.constraints)]:
        found.append(f"preserved up to the rounding of their types: means and covariances of {', '.join(rounded)}")
    if claim.dealt:
        found.append(f"dealt out anew in each group, each on its own, keeping its marginals: {', '.join(claim.dealt)}")
    if parts.quasi and not plan.mask_quasi:
        masked = "; mask_quasi = true masks them too" if plan.method == "hybrid" else ""
        found.append(f"the quasi-identifiers are published as they are, so that no k-anonymity is promised{masked}")
        if odd := [a.name for a in parts.quasi if a.type not in NUMBERS]:
            found.append(f"no covariances are kept with what is not a number: {', '.join(odd)}")
    if fused:
        found.append(
            f"{counted(fused, 'group')} went into others, because the quasi-identifiers singled out a record there"
        )
    return found


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


def _on_constraints(costs: dict[str, dict[str, Any]]) -> list[str]:
    return [
        f"'{name}' is {' and '.join(cost['rules'])}: {counted(cost['moved'], 'value')} moved, its mean by "
        f"{cost['mean']:.2g} and its covariances by up to {cost['covariance']:.2g} standard deviations; "
        f"by chance, {counted(cost['own'], 'record')} publish their own value"
        for name, cost in costs.items()
    ]


def evidence(original: Table, published: Table, plan: Plan, hybrid: Hybrid) -> dict[str, Any]:
    """Measure what hybrid data preserve, for the keeper of the data: it comes from the original.

    Returns
    -------
    dict
        ``groups``, their ``count`` and the ``smallest`` and ``largest``; ``preserved`` as in
        `shoal.measures.hybrid.preservation`; ``subdomains`` as in `shoal.measures.hybrid.subdomains`; ``linkage``, how
        many records an intruder links right who knows the confidential numbers (`shoal.measures.distance_linkage`);
        ``constraints``, how many values each ``moved``, by how many standard deviations the ``mean`` and at most a
        ``covariance``, and how many values are by chance their ``own``; ``dealt``, the categories dealt out anew.
    """
    parts = _parts(encode_all(original, plan), plan)
    sizes = np.bincount(hybrid.labels)
    found: dict[str, Any] = {
        "groups": {"count": len(sizes), "smallest": int(sizes.min()), "largest": int(sizes.max())},
        "constraints": hybrid.constraints,
        "dealt": [attribute.name for attribute in parts.dealt],
    }
    if parts.synthetic:
        X, Y = _xy(parts)
        after = np.column_stack([each.read(published.column(each.name)) for each in parts.synthetic])
        names = [attribute.name for attribute in parts.synthetic]
        share = min(max(_SHARE, plan.k / len(X)), 0.5)  # of at least k records, like a group, but never of all
        found["preserved"] = preservation(X, after, Y, hybrid.labels, names)
        found["subdomains"] = subdomains(X, after, names, _SUBDOMAINS, share)
        found["linkage"] = distance_linkage(X, after, records=MOST_RECORDS)
    return found
