"""Resolving a plan: what it leaves to the table is filled in once, and what the table cannot give is refused."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.edits.apply import no_product, rules_of, with_blocks_of_rules, with_rules, with_tied_blocks
from shoal.edits.expressions import Rule
from shoal.edits.levels import (
    Levels,
    Texts,
    calculated_texts,
    compared_by_order,
    has_levels,
    refuse_incomparable,
    refuse_unordered_text,
    refuse_words,
    texts_in,
    with_labels,
)
from shoal.edits.passes import basis_of, columns_of
from shoal.edits.strategy import Strategy
from shoal.edits.whole import with_decimals
from shoal.errors import DataError, PlanError
from shoal.messages import Message
from shoal.partitioning.methods import ACCEPTS, Choice, choose
from shoal.pipeline.dominance import refuse_negative, with_magnitudes
from shoal.pipeline.doubts import (
    doubtful_profile,
    identifying_profile,
    may_identify,
    on_codes,
    on_default,
    on_identifying,
)
from shoal.pipeline.households import Households, with_households
from shoal.pipeline.notes import on_time_of_day, on_unused_codes
from shoal.pipeline.recoding import on_recoding, refuse_recoded_rules
from shoal.pipeline.records import Records
from shoal.pipeline.summary import MOST_CATEGORIES, Column, Flaw, Summary, flaw, summarize
from shoal.pipeline.totals import misplaced_domains
from shoal.pipeline.treatment import (
    numeric_attributes,
    recoded_numbers,
    refuse_other_columns,
    refuse_quoted_names,
    refuse_untreated,
)
from shoal.pipeline.unit_codes import UnitSummary
from shoal.plan import AttributeType, Plan
from shoal.plan.aggregates import AGGREGATES, aggregate_of
from shoal.plan.conflicts import ONE_ATTRIBUTE, misplaced_codes, misplaced_dimensions
from shoal.plan.resolved import ResolvedPlan
from shoal.plan.rounding import why_decimals
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import (
    CATEGORIES,
    NUMBERS,
    Attribute,
    attribute_of,
    infer_type,
    levels_missing,
    plain_values,
    without_declared,
)
from shoal.tables.dtypes import inner
from shoal.tables.numbers import misses

_BLOCK_SIZE = 3  # attributes in a chosen block, as in the experiments of Nin, Herranz & Torra


@dataclass(frozen=True)
class Resolved:
    """A plan that is resolved against its table.

    Attributes
    ----------
    plan
        With every choice filled in.
    attributes
        Those that the method looks at; their codes are empty.
    summary
        What a pass over all records has shown.
    rules, strategy
        The rules, and how they are kept; none and None if there are none.
    levels
        Of the attributes that rules compare by order.
    notes
        What was chosen, and why.
    households
        The households of the table; None if the plan names none.
    """

    plan: ResolvedPlan
    attributes: list[Attribute]
    summary: Summary
    rules: list[Rule]
    strategy: Strategy | None
    levels: Mapping[str, Levels]
    notes: list[Message]
    households: Households | None = None


def resolve(plan: Plan, records: Records) -> Resolved:
    """Fill in roles, types, aggregates, the strategy for rules and the method, by a pass over all records.

    Parameters
    ----------
    plan
        What is asked for.
    records
        Of the table.

    Raises
    ------
    PlanError, DataError
        The plan asks for what does not suit the table, or the table cannot be masked as asked; all mistakes at once
        where that is possible.
    """
    rules = rules_of(plan)
    refuse_other_columns(plan, records.outline)
    refuse_quoted_names(plan, records.outline)
    refuse_recoded_rules(plan, rules)
    refuse_unordered_text(rules, records.outline, plan.levels)
    _refuse_unused_levels(plan, rules)
    # With epsilon, nothing may be learned from the records here; what has no noise is refused by its name.
    if plan.epsilon is None:
        refuse_untreated(plan, records)
    resolved = with_attributes(plan, records.outline)
    problems = [*misplaced_codes(resolved), *misplaced_dimensions(resolved)]
    if problems := [*problems, *_nominal_dimensions(resolved), *misplaced_domains(resolved)]:
        raise PlanError(*problems)
    if resolved.epsilon is not None:
        _refuse_unprotected(resolved, records.outline)
    # Once without the records, so that what cannot be is refused before they are read.
    _refuse_types(resolved, records.outline)
    if resolved.blocks == "edits":
        resolved = with_blocks_of_rules(resolved, rules, _block_size(resolved))
    elif isinstance(resolved.blocks, str):
        resolved = with_tied_blocks(_with_blocks(resolved, records), rules)
    strategy = None
    if rules:
        resolved, strategy = with_rules(resolved, records.outline.names, rules)
    resolved = with_magnitudes(resolved)
    inferred = [name for name in resolved.used if name not in {**plan.types, **plan.levels, **plan.classes}]
    summary = _summary(resolved, records, strategy, rules, inferred)
    refuse_negative(resolved, records, summary)
    attributes = _described(resolved, records, summary, strategy, inferred)
    resolved, households, found = with_households(resolved, attributes, records)
    levels = _levels(resolved, records, summary, rules)
    _refuse_words(records, rules)
    resolved = resolved.decided(decimals=_decimals(resolved, attributes, strategy))
    method = chosen(resolved, attributes, summary)
    notes = [Message("method-chosen", method=method.method, why=method.why)] if plan.method == "auto" else []
    notes += on_time_of_day(resolved, attributes)
    notes += summary.units.notes(str(resolved.unit)) if summary.units is not None else []
    notes += on_recoding(resolved, records)
    notes += on_unused_codes(resolved, {*resolved.used} - {*summary.with_gaps(resolved.used)})
    looked_at = (summary.profiles.get(name) for name in resolved.changed)
    profiles = [profile for profile in looked_at if profile is not None]
    by_default = () if plan.masked or plan.draws else resolved.masked
    doubts = [*(on_default(profiles) if by_default else []), *on_codes(profiles, by_default)]
    doubts += on_identifying({each: summary.columns[each] for each in resolved.masked if each in inferred})
    resolved = _with_method(resolved, attributes, summary, method.method)
    return Resolved(resolved, attributes, summary, rules, strategy, levels, [*doubts, *found, *notes], households)


def with_attributes(plan: Plan, table: Table) -> ResolvedPlan:
    """Fill in which attributes are masked, and their types."""
    resolved = ResolvedPlan.of(plan)
    if not plan.draws:  # else the confidential attributes are masked, and there may be no others
        # With epsilon the attributes are those that have bounds: which columns hold numbers is up to the records.
        default = plan.masked or [*plan.bounds] or numeric_attributes(table, plan.named, recoded_numbers(plan))
        resolved = resolved.decided(quasi=default)
    if plan.publish == "rest":
        resolved = resolved.decided(publish=[name for name in table.names if name not in resolved.named])
    resolved = resolved.decided(levels={**plan.levels, **plan.classes})
    compared = [*resolved.used, *(plan.confidential if plan.l is not None or plan.t is not None else [])]
    ordinal = {*plan.levels, *(name for name in plan.classes if name in compared)}
    types: dict[str, AttributeType] = {**plan.types, **dict.fromkeys(sorted(ordinal), "ordinal")}
    problems: list[Message] = []
    for name in resolved.used:
        if name in types:
            continue
        try:
            types[name] = infer_type(table, name)
        except DataError as error:
            problems += error.messages
    if problems:
        raise DataError(*problems)
    return resolved.decided(types=types)


def _refuse_unused_levels(plan: Plan, rules: Sequence[Rule]) -> None:
    """Report levels of attributes that are neither masked nor compared by rules, nor sensitive where types count."""
    diverse = plan.confidential if plan.l is not None or plan.t is not None or plan.draws else []
    used = {*plan.masked, *diverse, *compared_by_order(rules)}
    unused = [name for name in plan.levels if name not in used]
    if rules and plan.masked and unused:
        raise PlanError(*(Message("levels-unused", field="levels", column=name) for name in unused))


def _refuse_unprotected(plan: Plan, table: Table) -> None:
    """Report everything that would be published without noise."""
    problems = [
        Message("epsilon-unmasked", field="epsilon", column=name)
        for name in table.names
        if name not in (*plan.masked, *plan.identifiers)
    ]
    problems += [
        Message("epsilon-for-numbers", field="epsilon", column=name, type=plan.types[name])
        for name in plan.masked
        if plan.types[name] != "continuous"
    ]
    if problems:
        raise PlanError(*problems)


def _refuse_types(plan: Plan, table: Table) -> None:
    """Report what does not suit the types of the attributes."""
    if plan.standardize != "zscore" and not any(plan.types[name] in NUMBERS for name in plan.used):
        raise PlanError("no-number-masked", field="standardize", distances=True)
    all_numbers = all(plan.types[name] in NUMBERS for name in plan.used)
    if plan.distance is not None and all_numbers and plan.missing not in ("group", "impute"):
        raise PlanError("distance-of-numbers", field="distance")
    _refuse_aggregates(plan)
    whole = [
        name
        for name in plan.masked
        if plan.types[name] == "continuous" and pa.types.is_integer(table.column(name).type)
    ]
    if plan.round and not whole:
        raise PlanError("no-number-masked", field="round", whole=True)
    if plan.restore_variance and not any(plan.types[name] in NUMBERS for name in plan.masked):
        raise PlanError("no-number-masked", field="restore_variance")


def _refuse_aggregates(plan: Plan) -> None:
    """Report every attribute whose type does not know the aggregate that was asked for."""
    problems = []
    for name in plan.masked:
        how, kind = aggregate_of(name, plan), plan.types[name]
        if how not in AGGREGATES[kind]:
            problems.append(
                Message(
                    "aggregate-not-for-type",
                    field="aggregate",
                    aggregate=how,
                    column=name,
                    type=kind,
                    aggregates=AGGREGATES[kind],
                )
            )
        if plan.preserve is not None and kind == "continuous" and how != "mean":
            problems.append(Message("needs-the-mean", field="preserve", column=name))
    if plan.preserve is not None and not any(plan.types[name] == "continuous" for name in plan.masked):
        problems.append(Message("no-number-masked", field="preserve", totals=True))
    if problems:
        raise PlanError(*problems)


def _summary(
    plan: ResolvedPlan,
    records: Records,
    strategy: Strategy | None,
    rules: Sequence[Rule],
    inferred: Collection[str] = (),
) -> Summary:
    """Look at all records once; numbers whose type is `inferred` may be codes, and are looked at more closely."""
    types: dict[str, AttributeType] = {name: plan.types[name] for name in plan.used}
    if plan.weights is not None:
        types[plan.weights] = "continuous"
    types |= {name: "ordinal" for name in _in_levels(plan, records.outline, rules) if name not in types}
    doubted = [name for name in plan.changed if name in inferred and plan.types[name] == "continuous"]
    texts = [name for name in plan.confidential if name not in plan.changed and may_identify(records.outline, name)]
    if plan.epsilon is not None:  # no message may depend on the records
        doubted, texts = [], []
    look = partial(
        _look,
        types=types,
        strategy=strategy,
        decimal=records.outline.decimal,
        doubted=doubted,
        texts=texts,
        unit=None if plan.unit is None else (plan.unit, plan.k),
    )
    names = list(dict.fromkeys([*types, *columns_of(rules), *texts, *plan.roles["unit"]]))
    return records.fold(look, [name for name in names if name in records.outline.names], "scan")


def _look(
    piece: pa.Table,
    start: int | None,
    types: Mapping[str, AttributeType],
    strategy: Strategy | None,
    decimal: str,
    doubted: Sequence[str],
    texts: Sequence[str],
    unit: tuple[str, int] | None,
) -> Summary:
    table = Table(piece)
    profiles = {name: doubtful_profile(table, name) for name in doubted}
    profiles |= {name: identifying_profile(table, name) for name in texts}
    edits = None if strategy is None else basis_of(strategy, piece)
    units = None if unit is None else UnitSummary.of(table, *unit, start)
    return Summary(summarize(piece, types, start, decimal).columns, edits, profiles, units)


def _described(
    plan: ResolvedPlan,
    records: Records,
    summary: Summary,
    strategy: Strategy | None,
    inferred: Collection[str],
) -> list[Attribute]:
    """Describe the attributes by what a pass over all records has shown; refuse those that cannot be masked."""
    attributes: list[Attribute] = []
    problems: list[Message] = []
    for name in plan.used:
        column = summary.columns[name]
        try:
            _refuse_column(name, column, plan, strategy, inferred)
            attributes.append(_attribute(name, plan, records, column))
        except DataError as error:
            problems += error.messages
    if plan.weights is not None:
        problems += _weight_problems(plan.weights, summary.columns[plan.weights])
    if summary.units is not None and (problem := summary.units.problem(str(plan.unit), plan.k)):
        problems.append(problem)
    if problems:
        raise DataError(*problems)
    _refuse_large_k(plan, summary.records)
    return attributes


def _decimals(plan: Plan, attributes: Sequence[Attribute], strategy: Strategy | None) -> dict[str, str]:
    """Return the changed attributes that do not stay whole, and why: by the plan, or so that rules can be kept."""
    ruled: dict[str, str] = {}
    if strategy is not None and plan.round is None:
        # Groups of hybrid data are not repaired by rounding, so that rounding any of them could break a rule.
        whole = [each.name for each in attributes if each.name in plan.masked and each.is_whole and not plan.draws]
        ruled = with_decimals(strategy, whole)
    found: dict[str, str] = {}
    for name in plan.changed:
        why = why_decimals(name, plan)
        if why is None and name in ruled and name not in plan.constraints:
            why = Message("rounding-breaks-rule", rule=ruled[name])
        found |= {} if why is None else {name: why}
    return found


def _refuse_column(name: str, column: Column, plan: Plan, strategy: Strategy | None, inferred: Collection[str]) -> None:
    if not column.present:
        raise DataError("empty-column", column=name)
    if name in inferred and 1 < len(column.categories) == column.present and plan.types[name] != "boolean":
        raise DataError("many-categories", column=name)
    if len(column.categories) > MOST_CATEGORIES:
        raise DataError("many-categories", column=name, most=MOST_CATEGORIES)
    if column.infinite.count:
        raise DataError("infinite-values", column=name, **_located(column.infinite))
    if column.inexact.count:
        raise DataError("inexact-integers", column=name, record=column.inexact.first)
    if name in plan.masked and column.not_positive.count and aggregate_of(name, plan) == "geometric_mean":
        wrong = column.not_positive
        rule = None if strategy is None else no_product(name, strategy)
        raise DataError("not-positive", column=name, records=wrong.count, first=wrong.first, rule=rule)
    if plan.missing == "error" and column.missing.count:
        raise DataError(misses(name, column.missing.first, column.missing.count))


def _attribute(name: str, plan: Plan, records: Records, column: Column) -> Attribute:
    """Describe an attribute; where its values are not of its type, say so with the first record that shows it."""
    type_, stored = plan.types[name], records.outline.column(name).type
    if type_ in NUMBERS:
        moments = (int(column.low or 0), int(column.high or 0), column.tick) if type_ != "continuous" else (0, 0, 1)
        return attribute_of(name, type_, stored, moments=moments)
    kind = plain_values(pa.array([], inner(stored))).type
    found = pa.array(sorted(column.categories), kind)
    own = None if column.dictionary is None else pa.array(column.dictionary, kind)
    if type_ == "ordinal" and name not in plan.levels and column.orders:
        raise DataError("levels-in-different-orders", column=name)
    labels = records.outline.labels(name)
    attribute = attribute_of(name, type_, stored, found, plan.levels.get(name), dictionary=own, labels=labels)
    if attribute.levels is None:
        return attribute
    missing = levels_missing(found, attribute.levels)
    if missing is not None:
        raise DataError("unknown-level", column=name, **_located(_having(name, missing, records)))
    return attribute


def _located(found: Flaw) -> dict[str, Any]:
    """Return the first record that has a flaw, and how many have it if they are several."""
    return {"first": found.first, "records": found.count if found.count > 1 else None}


def _having(name: str, levels: Array, records: Records) -> Flaw:
    """Find the records that have some levels."""

    def look(piece: pa.Table, start: int | None) -> Flaw:
        values = plain_values(without_declared(Table(piece), name))
        return flaw(pc.is_in(values, value_set=levels).to_numpy(zero_copy_only=False), start)

    return records.fold(look, [name], "scan")


def _in_levels(plan: Plan, table: Table, rules: Sequence[Rule]) -> list[str]:
    """List the attributes that rules compare by the order of their levels."""
    numbers = {name for name in plan.masked if plan.types.get(name) == "continuous"}
    names = [name for name in compared_by_order(rules) if name in table.names and name not in numbers]
    return [name for name in names if has_levels(name, table.column(name).type, table.labels(name), rules, plan.levels)]


def _levels(plan: ResolvedPlan, records: Records, summary: Summary, rules: Sequence[Rule]) -> dict[str, Levels]:
    """Return the levels by which rules compare attributes; refuse what is not among them."""
    found = {}
    as_levels = plan.decided(types={**plan.types, **dict.fromkeys(compared_by_order(rules), "ordinal")})
    for name in _in_levels(plan, records.outline, rules):
        values = _attribute(name, as_levels, records, summary.columns[name]).levels
        if values is not None:
            found[name] = with_labels(values, records.outline.labels(name))
    refuse_incomparable(rules, records.outline, found)
    return found


def _refuse_words(records: Records, rules: Sequence[Rule]) -> None:
    """Refuse rules that calculate with text in which no record has a number."""
    if names := calculated_texts(rules, records.outline):
        refuse_words(rules, records.fold(partial(_texts, names=names), names, "scan"))


def _texts(piece: pa.Table, start: int | None, names: Sequence[str]) -> Texts:
    return texts_in(piece, names)


def _weight_problems(name: str, column: Column) -> list[Message]:
    """Report weights that are not positive numbers."""
    flaws = {"missing": column.missing, "infinite": column.infinite, "zero or negative": column.not_positive}
    return [
        Message("wrong-weight", column=name, wrong=what, records=wrong.count, first=wrong.first)
        for what, wrong in flaws.items()
        if wrong.count
    ][:1]


def _nominal_dimensions(plan: ResolvedPlan) -> Iterator[Message]:
    """Attributes to divide by whose values are unordered."""
    for name in (plan.scale and plan.scale.dimensions) or []:
        if plan.types.get(name) in CATEGORIES:
            yield Message("dimension-without-range", field="scale.dimensions", column=name, type=plan.types[name])


def _refuse_large_k(plan: Plan, records: int) -> None:
    if plan.method != "mic1d":
        if (plan.k or 0) > records:
            raise DataError("k-too-large", k=plan.k, number=records, counts="record")
    elif plan.k > (values := records * len(plan.masked)):
        raise DataError("k-too-large", k=plan.k, number=values, counts="value")


def _with_method(plan: ResolvedPlan, attributes: Sequence[Attribute], summary: Summary, method: str) -> ResolvedPlan:
    """Refuse what the method cannot take."""
    if plan.draws:
        return plan
    if method == "univariate" and max(len(block) for block in plan.in_blocks) > 1:
        raise PlanError(ONE_ATTRIBUTE, field="method")
    alone = [name for block in plan.in_blocks if len(block) == 1 for name in block if name in plan.attribute_weights]
    if alone:
        raise PlanError("attribute-alone-in-block", field="attribute_weights", column=alone[0])
    problems = [
        Message(
            "type-not-for-method",
            field="method",
            method=method,
            column=each.name,
            type=each.type,
            instead="--method=best",
        )
        for each in attributes
        if each.type not in ACCEPTS[method]
    ]
    gaps = summary.with_gaps(plan.masked) if plan.missing == "group" else []
    if gaps and "nominal" not in ACCEPTS[method]:
        problems.append(Message("missing-not-for-method", field="method", method=method, column=gaps[0]))
    problems += _search_problems(plan, attributes, summary, method)
    if problems:
        raise PlanError(*problems)
    return plan.decided(method=method)


def _search_problems(plan: Plan, attributes: Sequence[Attribute], summary: Summary, method: str) -> list[Message]:
    """Report every option of a search that would have no effect on these attributes."""
    seams = plan.scale is not None and plan.scale.seams
    odd = {each.name: each.type for each in attributes if each.type not in NUMBERS}
    gaps = summary.with_gaps(plan.masked) if plan.missing in ("group", "impute") else []
    if odd or gaps:
        # Imputed, records with missing values join the groups that a search has found.
        seams = seams and not (plan.missing == "impute" and is_plain(plan, attributes, summary))
        name = next(iter([*odd, *gaps]))
        return [Message("needs-numbers", field="scale.seams", column=name, type=odd.get(name))] if seams else []
    if method == "univariate" and not plan.bound:
        searched = {"refine": plan.refine is not False, "budget": plan.budget is not None}
        return [Message("one-attribute-optimal", field=field) for field, given in searched.items() if given]
    return []


def chosen(plan: Plan, attributes: Sequence[Attribute], summary: Summary) -> Choice:
    """Choose a method where the plan leaves it open, and say why."""
    if plan.draws:
        return Choice(plan.method, "")
    if plan.epsilon is not None:
        return Choice("insensitive", Message("chosen-for-epsilon"))
    n = 0 if plan.scale is not None and plan.scale.block_size is not None else summary.records
    searched = {"budget": plan.budget is not None and not plan.bound, "refine": plan.refine is not False}
    widest = max(len(block) for block in plan.in_blocks)
    limited = plan.l is not None or plan.t is not None or plan.unit is not None
    return choose(plan.method, widest, n, plain=is_plain(plan, attributes, summary), limited=limited, **searched)


def is_plain(plan: Plan, attributes: Sequence[Attribute], summary: Summary) -> bool:
    """Whether the method sees nothing but numbers and dates: what every partition method can take."""
    gaps = plan.missing == "group" and summary.with_gaps(plan.masked)
    return not gaps and all(attribute.type in NUMBERS for attribute in attributes)


def _with_blocks(plan: ResolvedPlan, records: Records) -> ResolvedPlan:
    """Choose attribute blocks by correlation."""
    from shoal.partitioning.attribute_blocks import blocks_by_correlation

    size = _block_size(plan)
    summary = _summary(plan.decided(weights=None), records, None, [])
    if any(plan.types[name] not in NUMBERS for name in plan.masked) or summary.with_gaps(plan.masked):
        raise PlanError("correlation-needs-numbers", field="blocks")
    attributes = _described(plan.decided(weights=None), records, summary, None, ())
    correlations = correlations_of(attributes, records, summary)
    blocks = [[plan.masked[j] for j in block] for block in blocks_by_correlation(correlations, size, str(plan.blocks))]
    # one block of all is no blocks
    return plan.decided(blocks=blocks if len(blocks) > 1 else None, block_size=None)


def _block_size(plan: Plan) -> int:
    """Return how many attributes a chosen block has; refuse more than there are."""
    size = plan.block_size or min(_BLOCK_SIZE, len(plan.masked))
    if size > len(plan.masked):
        raise PlanError("block-size-too-large", field="block_size", attributes=len(plan.masked))
    return size


def correlations_of(attributes: Sequence[Attribute], records: Records, summary: Summary) -> np.ndarray:
    """Return Pearson's correlations of numbers by a pass over all records."""
    from shoal.kernels.standardize import Scale
    from shoal.pipeline.loss import Losses
    from shoal.pipeline.prepare import extents_of

    scales = {
        attribute.name: Scale(0.0, 1.0, extent.exponent)
        for attribute, extent in zip(attributes, extents_of(attributes, summary), strict=True)
    }
    losses = Losses(attributes, scales)

    def look(piece: pa.Table, start: int | None) -> np.ndarray:
        table = Table(piece)
        codes = np.column_stack([each.read(without_declared(table, each.name)) for each in attributes])
        return losses.measure(codes, codes)

    return losses.correlations(records.fold(look, [each.name for each in attributes], "scan"))
