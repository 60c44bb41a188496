"""Hybrid data: the confidential attributes of a block of records regenerated."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa

from shoal.edits.expressions import Comparison
from shoal.edits.expressions import Rule as Edit
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.kernels.standardize import Matrix, Scale
from shoal.masking.ipso import least_k, least_k_orthogonal
from shoal.masking.microhybrid import DrawForGroups, Rule, kept_to, microhybrid, redraw
from shoal.masking.muralidhar_sarathy import Gram, Mixture, Regression, gram, mix
from shoal.measures import MOST_RECORDS, distance_linkage
from shoal.measures.hybrid import preservation, subdomains
from shoal.messages import Message
from shoal.partitioning import ACCEPTS
from shoal.pipeline.aggregate import representatives
from shoal.pipeline.encode import space_of
from shoal.pipeline.hybrid_edits import sums_of, with_exact_sums
from shoal.pipeline.hybrid_noise import drift_of, moved_in_file, noisy, regression_of, standardized
from shoal.pipeline.hybrid_notes import (
    on_little_freedom,
    on_negative,
    on_orthogonal,
    on_own_values,
    on_preserved,
    on_unchanged,
    refuse_broken,
)
from shoal.pipeline.hybrid_parts import Labels, Made, Parts, in_names, matrix_of, parts_of, xy
from shoal.pipeline.hybrid_sums import HybridSums, sums_of_block
from shoal.pipeline.keeper import derived, group_bits, keepers_secret, normal, record_bits, uniform
from shoal.pipeline.moments import Extent
from shoal.pipeline.notes import on_repetition, on_rules, on_secret
from shoal.pipeline.verify_hybrid import Claim, all_equal, failures_in
from shoal.plan import Plan
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.attributes import NUMBERS, Attribute, Codes

_SUBDOMAINS, _SHARE, _LEAST = 5, 0.1, 20  # random subdomains that are compared, their share of the records, the least
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, counted from 1970


class HybridBlock(NamedTuple):
    """What a block publishes: the changed attributes, the groups in which moments are kept, and what it shows."""

    published: Matrix
    labels: Labels
    sums: HybridSums


@dataclass(frozen=True)
class Hybrid:
    """What a block must know of the whole to make hybrid data.

    Attributes
    ----------
    secret
        All random numbers come from it and from the values of the records that they are drawn for: the same data give
        the same values wherever they are, in any order, format and division into blocks. None once all is published.
    origin
        Where it came from: the plan's seed, the keeper's file, or such a file that was made just now.
    sums
        Equalities that hybrid data keep.
    units
        Bring numbers and dates near one.
    regression, mixture
        What the noise of Muralidhar-Sarathy needs to know of all records, as far as they were looked at.
    """

    secret: bytes | None = field(repr=False)
    origin: Literal["seed", "keeper", "new"]
    sums: list[Comparison]
    units: Mapping[str, Scale]
    regression: Regression | None = field(default=None, repr=False)
    mixture: Mixture | None = field(default=None, repr=False)

    def without_secret(self) -> "Hybrid":
        """Return the same for a release, which must not hold the secret: anyone who has it can take the noise off."""
        return replace(self, secret=None, mixture=None)

    def regressed(self, found: Gram, attributes: list[Attribute], plan: Plan, scales: Mapping[str, Scale]) -> "Hybrid":
        """Return the same with a regression, from what `products_of` adds up to over all records.

        Noise that two mixtures share can be solved for: it depends on all that the mixture does.
        """
        regression = regression_of(found, parts_of(attributes, plan), plan, scales)
        mixture = repr((found.records, found.products)).encode(), regression.own.astype("<f8").tobytes()
        return replace(self, regression=regression, secret=derived(self._secret, *mixture))

    def noise_of(self, attributes: list[Attribute], plan: Plan, scales: Mapping[str, Scale]) -> Gram:
        """Add up what the noise of some records is made from; they are in the order of their values."""
        if self.regression is None:
            raise ValueError("the regression comes first")
        parts = parts_of(attributes, plan)
        return gram(self.regression.columns(*standardized(parts, scales), self.drawn(attributes, parts)[0]))

    def mixed(self, found: Gram) -> "Hybrid":
        """Return the same with the mixture, from what `noise_of` adds up to over all records."""
        if self.regression is None:
            raise ValueError("the regression comes first")
        return replace(self, mixture=mix(self.regression, found))

    @property
    def _secret(self) -> bytes:
        if self.secret is None:
            raise ValueError("the secret of a release is kept nowhere")
        return self.secret

    def drawn(self, attributes: list[Attribute], parts: Parts) -> tuple[Matrix, Matrix]:
        """Draw for records, in the order of their values: normal numbers for new values, others to deal by."""
        records = np.column_stack([each.codes for each in sorted(attributes, key=lambda each: each.name)])
        p = len(parts.synthetic)
        bits = record_bits(self._secret, records, p + len(parts.dealt))
        return normal(bits[:, :p]), uniform(bits[:, p:])

    def _drawn_for_groups(self, rows: Labels, X: Matrix, Y: Matrix) -> DrawForGroups:
        """Return what draws normal numbers for the groups of some records, whatever their order.

        Residuals that are orthogonal to the original ones need noise that no other release has, unless it has the same
        groups and attributes. Where two share it, their difference is a combination of the original values: in other
        groups, beside other quasi-identifiers, or with independent residuals.
        """
        secret = derived(self._secret, b"orthogonal")

        def draw(labels: Labels) -> Matrix:
            numbers, values = np.empty(X.shape), np.hstack([X, Y])
            order = np.lexsort([*values.T[::-1], labels])
            for members in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
                numbers[members] = normal(group_bits(secret, values[members], X.shape[1]))
            return numbers

        return draw

    def publish(
        self,
        attributes: list[Attribute],
        homes: Sequence[Labels],
        labels: Labels,
        plan: ResolvedPlan,
        scales: Mapping[str, Scale],
        records: int,
    ) -> HybridBlock:
        """Make the confidential attributes of a block again: by R-microhybrid, or with the noise of Muralidhar-Sarathy.

        Parameters
        ----------
        attributes
            All that the plan uses, quasi-identifiers and confidential ones, with the codes of these records, which are
            in the order of their values.
        homes, labels
            Records that may share a group, and the groups.
        plan, scales
            Resolved for the table.
        records
            How many there are in all blocks.
        """
        parts = parts_of(attributes, plan)
        noise, deal = self.drawn(attributes, parts)
        if plan.ipso == "orthogonal":
            made = _synthetic(parts, homes, labels, self._drawn_for_groups, orthogonal=True)
        elif self.mixture is None:
            made = _synthetic(parts, homes, labels, lambda rows, X, Y: noise[rows])
        else:
            made = noisy(self.mixture, parts, scales, self.units, noise, records)
        rules = [_rule(attribute, plan) for attribute in parts.synthetic]
        kept = np.empty(made.values.shape)
        for j, rule in enumerate(rules):
            kept[:, j] = kept_to(rule, made.values[:, j]) + 0.0  # what was rounded to -0 is 0
        codes = with_exact_sums(self.sums, _named(parts.synthetic, kept), _by_name(parts.others))
        if parts.dealt:
            codes |= _named(parts.dealt, redraw(matrix_of(parts.dealt), made.labels, deal))
        if plan.mask_quasi:
            space = partial(space_of, parts.quasi, plan, scales)
            averages = representatives(parts.quasi, space, [made.labels], plan, None)
            codes |= {each.name: average for each, average in zip(parts.quasi, averages, strict=True)}
        changed = [attribute for attribute in attributes if attribute.name in plan.changed]
        read = {each.name: _as_read(each, codes[each.name], plan) for each in changed}
        drift = None if self.mixture is None else drift_of(parts, read, scales)
        sums = sums_of_block(parts, made, kept, read, rules, self.units, drift)
        if plan.method == "hybrid" and not sums.added["unchanged"].any():  # else it is refused, once all are counted
            pairs = {each.name: (each.codes, read.get(each.name, each.codes)) for each in attributes}
            failures = failures_in(pairs, claim_of(parts, made.labels, plan))
            sums = replace(sums, failures=tuple(failures))
        return HybridBlock(np.column_stack([codes[each.name] for each in changed]), made.labels, sums)

    def notes(
        self, attributes: list[Attribute], sums: HybridSums, plan: Plan, scales: Mapping[str, Scale]
    ) -> list[Message]:
        """List what a user should know of all blocks together; refuse what would be published as it is.

        Raises
        ------
        DataError
            Nothing is published that would be a person's own value, but for constants, which the notes tell.
        CheckFailed
            If verification found something in a block.
        """
        parts = parts_of(attributes, plan)
        claim = claim_of(parts, np.zeros(0, np.int64), plan)
        failures = list(sums.failures)
        if plan.method == "ms":
            sums = sums.of_one_group()
            drift = sums.added["drift"] / sums.count("records")
            failures += moved_in_file(drift, claim, parts, scales, self.units)
        refuse_broken(parts, sums, plan)
        unchanged = on_unchanged(parts, sums, plan)
        if failures:
            raise CheckFailed(failures)
        return [
            *on_preserved(parts, claim, plan, sums.count("fused")),
            *on_orthogonal(parts, plan),
            *unchanged,
            *on_little_freedom(parts, sums, plan),
            *on_rules(sums.costs(parts, plan)),
            *on_own_values(parts, sums),
            *on_negative(parts, sums),
            on_secret(self.origin),
            *on_repetition(plan),
        ]

    def nothing(self, attributes: list[Attribute], plan: Plan) -> HybridSums:
        """Return the sums of no records."""
        return HybridSums.none(parts_of(attributes, plan))

    def summary(self, attributes: list[Attribute], sums: HybridSums, plan: Plan) -> dict[str, Any]:
        """Describe hybrid data, wherever their records are.

        Returns
        -------
        dict
            ``groups``, their ``count`` and the ``smallest`` and ``largest``; ``constraints``, how many values each
            ``moved``, by how many standard deviations the ``mean``, at most a ``group_mean`` and at most a
            ``covariance``; ``dealt``, the categories permuted.
        """
        parts = parts_of(attributes, plan)
        if plan.method == "ms":
            sums = sums.of_one_group()
        return {
            "groups": sums.group_sizes(),
            "constraints": sums.costs(parts, plan),
            "dealt": [attribute.name for attribute in parts.dealt],
        }


def hybrid_of(plan: Plan, attributes: list[Attribute], rules: Sequence[Edit], extents: Mapping[str, Extent]) -> Hybrid:
    """Take the secret of a release, and refuse what the attributes do not allow the plan to ask for.

    Parameters
    ----------
    plan
        Resolved for the table, with its seed.
    attributes
        All that the plan uses, without codes.
    rules
        Edits that the data obeys and must go on obeying.
    extents
        The ranges of numbers and dates.
    """
    _refuse(parts_of(attributes, plan), plan)
    units = {}
    for name, extent in extents.items():
        low, high = (float(np.ldexp(end, -extent.exponent)) for end in (extent.low, extent.high))
        units[name] = Scale(low, high - low, extent.exponent)
    secret, created = (_of_seed(plan.seed), False) if plan.seed is not None else keepers_secret()
    origin: Literal["seed", "keeper", "new"] = "seed" if plan.seed is not None else "new" if created else "keeper"
    return Hybrid(secret, origin, sums_of(rules, plan), units)


def _of_seed(seed: int) -> bytes:
    """Return the secret of a seed."""
    return derived(b"seed", str(seed).encode())


def claim_of(parts: Parts, labels: Labels, plan: Plan) -> Claim:
    """Return what hybrid data in these groups claim."""
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


def _by_name(attributes: Sequence[Attribute]) -> dict[str, Codes]:
    return {attribute.name: attribute.codes for attribute in attributes}


def _as_read(attribute: Attribute, codes: Codes, plan: ResolvedPlan) -> Codes:
    return attribute.read(attribute.decode(codes, whole=plan.publishes_whole(attribute.name)))


def _refuse(parts: Parts, plan: Plan) -> None:
    """Report what the attributes do not allow the plan to ask for."""
    problems = [
        Message(
            "type-not-for-method",
            field="method",
            method=plan.method,
            column=attribute.name,
            type=attribute.type,
            instead="--method=hybrid",
        )
        for attribute in parts.dealt
        if attribute.type not in ACCEPTS[plan.method]
    ]
    problems += _partition_problems(parts, plan)
    for attribute in (*parts.synthetic, *parts.dealt):
        if attribute.name in plan.constraints and attribute.type != "continuous":
            name, type_ = attribute.name, attribute.type
            problems.append(Message("constraint-not-for-type", field="constraints", column=name, type=type_))
    if plan.method == "hybrid" and parts.synthetic:
        problems += _too_small(plan, len(parts.synthetic), len(parts.others))
    if problems:
        raise PlanError(*problems)


def _too_small(plan: Plan, sensitive: int, quasi: int) -> Iterator[Message]:
    """Report groups in which synthetic values cannot have the moments of the original ones."""
    least = (least_k_orthogonal if plan.ipso == "orthogonal" else least_k)(sensitive, quasi)
    if plan.k < least:
        counts: dict[str, Any] = {"records": plan.k, "sensitive": sensitive, "quasi": quasi, "least": least}
        yield Message("k-too-small-for-synthesis", field="k", maskable=quasi > 0, **counts)


def _partition_problems(parts: Parts, plan: Plan) -> list[Message]:
    """Report what the partition method cannot take."""
    if plan.method != "hybrid":
        return []
    used = [*parts.quasi, *parts.synthetic, *parts.dealt]
    problems = [
        Message(
            "type-not-for-method",
            field="partition",
            method=plan.grouping,
            column=each.name,
            type=each.type,
            instead="--partition=mdav",
        )
        for each in used
        if each.type not in ACCEPTS[plan.grouping]
    ]
    if plan.grouping == "univariate" and len(used) > 1:
        problems.append(Message("one-attribute-only", field="partition", instead="--partition=mdav"))
    if plan.refine is not False and (odd := [each for each in used if each.type not in NUMBERS]):
        problems.append(Message("needs-numbers", field="refine", column=odd[0].name, type=odd[0].type))
    return problems


def _synthetic(
    parts: Parts,
    homes: Sequence[Labels],
    given: Labels,
    noise: Callable[[Labels, Matrix, Matrix], Matrix | DrawForGroups],
    *,
    orthogonal: bool = False,
) -> Made:
    """R-microhybrid: IPSO in each group of records that are alike in quasi-identifiers and confidential attributes.

    `noise` is that of some rows, with their X and Y.
    """
    X, Y = xy(parts)
    values, unchanged, labels = X.copy(), np.zeros(X.shape, dtype=bool), given.copy()
    room, left = np.ones(len(X)), np.zeros(X.shape[1])
    fused = groups = 0
    for rows in homes if parts.synthetic else ():
        try:  # home by home: a group that must grow stays within its stratum
            drawn = noise(rows, X[rows], Y[rows])
            result = microhybrid(X[rows], Y[rows], given[rows], drawn, orthogonal=orthogonal)
        except DataError as error:
            raise DataError(*in_names(error, parts)) from None
        values[rows], unchanged[rows], labels[rows] = result.values, result.unchanged, result.labels + groups
        room[rows] = result.room
        left += result.left * len(rows) / len(X)
        groups += int(result.labels.max()) + 1
        fused += result.fused
    equal = [all_equal(each.codes, labels) for each in (*parts.synthetic, *parts.dealt)]
    return Made(values, unchanged, labels, room, left, equal, fused)


def _rule(attribute: Attribute, plan: Plan) -> Rule:
    if attribute.type != "continuous":
        return Rule(*_calendar(attribute))
    asked = plan.constraints.get(attribute.name, [])
    return Rule(low=0.0 if "non-negative" in asked else -np.inf, whole="integer" in asked)


def _calendar(attribute: Attribute) -> tuple[float, float]:
    """Return the ticks of the first and the last day that the attribute's column can hold, of the years 1 to 9999."""
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


def evidence(attributes: list[Attribute], published: Table, labels: Labels, plan: Plan) -> dict[str, Any]:
    """Measure what hybrid data in memory preserve, for the keeper of the data: it comes from the original.

    Returns
    -------
    dict
        Beside what `Hybrid.summary` gives everywhere: ``preserved`` as in `shoal.measures.hybrid.preservation`;
        ``subdomains`` as in `shoal.measures.hybrid.subdomains`; ``linkage``, records that an intruder links correctly
        who knows the confidential numbers (`shoal.measures.distance_linkage`). Subdomains have at least k records, and
        20; if these are more than half of the file, there are none.
    """
    parts = parts_of(attributes, plan)
    if not parts.synthetic:
        return {}
    X, Y = xy(parts)
    after = np.column_stack([each.read(published.column(each.name)) for each in parts.synthetic])
    names = [attribute.name for attribute in parts.synthetic]
    share = max(_SHARE, max(plan.k or 0, _LEAST) / len(X))
    return {
        "preserved": preservation(X, after, Y, labels, names),
        "subdomains": subdomains(X, after, names, _SUBDOMAINS, share) if share <= 0.5 else [],
        "linkage": distance_linkage(X, after, records=MOST_RECORDS),
    }
