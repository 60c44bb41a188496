"""The order of levels: rules compare 'low' and 'high' by the places of the levels, never by their letters.

Levels come from the plan, from an ordered categorical column, or, as the labels of codes, from a file of a statistics
package. Text whose order is not known is refused, and so is a constant that is no level: a comparison that is false in
every record would certify rules that no record obeys.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.edits.columns import floats, parsed
from shoal.edits.expressions import (
    Comparison,
    Expression,
    Member,
    Number,
    Rule,
    Text,
    Value,
    Variable,
    attributes_of,
    within,
)
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import in_levels, plain_values
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.stat.labels import Labels
from shoal.tables.text_values import one_chunk

_ORDERS = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Levels:
    """The levels of an attribute, in their order."""

    values: Array
    labels: Mapping[str, Any] = field(default_factory=dict)  # what a statistics package calls a level

    @cached_property
    def are_numbers(self) -> bool:
        """Whether these are numbers in their own order, which need no places to be compared."""
        return is_number(self.values.type) and bool((np.diff(floats(self.values)) > 0).all())

    def places(self, column: Array) -> NDArray[np.float64]:
        """Return the place of each record's level; NaN where it is missing."""
        return floats(pc.index_in(plain_values(column).cast(self.values.type), value_set=self.values))

    def place(self, constant: float | str) -> float:
        """Return the place of a constant, which is a level or the label of one; NaN if it is neither."""
        if is_number(self.values.type):
            known, levels = [constant, self.labels.get(str(constant))], floats(self.values).tolist()
            known = [float(parsed(pa.array([each]))[0]) if isinstance(each, str) else each for each in known]
        else:
            known, levels = [constant, self.labels.get(str(constant))], self.values.to_pylist()
        return next((float(levels.index(each)) for each in known if each is not None and each in levels), math.nan)


def order_comparisons(rule: Rule) -> Iterator[Comparison]:
    """Go through the comparisons of a rule that ask for an order."""
    for each in within(rule.condition):
        if isinstance(each, Comparison) and each.sign in _ORDERS:
            yield each


def compared_by_order(rules: Sequence[Rule]) -> list[str]:
    """List the attributes that rules compare by order."""
    return list(
        dict.fromkeys(name for rule in rules for each in order_comparisons(rule) for name in attributes_of(each))
    )


def levels_between(comparison: Comparison, levels: Mapping[str, Levels]) -> Levels | None:
    """Return the levels by which two values are compared; None where they are compared in another way."""
    sides = (comparison.left, comparison.right)
    own = [levels[side.name] for side in sides if _is_plain(side) and side.name in levels]
    if comparison.sign not in _ORDERS or not own:
        return None
    as_numbers = all(each.are_numbers for each in own) and not any(isinstance(side, Text) for side in sides)
    return None if as_numbers else own[0]


def has_levels(name: str, stored: pa.DataType, labels: Labels, rules: Sequence[Rule], given: Mapping[str, Any]) -> bool:
    """Return whether an attribute has levels in an order of their own, which rules must know."""
    if name in given or (isinstance(stored, pa.DictionaryType) and stored.ordered):
        return True
    return is_number(inner(stored)) and bool(labels.values) and name in _compared_with_text(rules)


def _has_levels(table: Table, name: str, rules: Sequence[Rule], given: Mapping[str, Any]) -> bool:
    return has_levels(name, table.column(name).type, table.labels(name), rules, given)


def _compared_with_text(rules: Sequence[Rule]) -> set[str]:
    pairs = [(each.left, each.right) for rule in rules for each in order_comparisons(rule)]
    both = [*pairs, *(pair[::-1] for pair in pairs)]
    return {one.name for one, other in both if isinstance(one, Variable) and isinstance(other, Text)}


def with_labels(values: Array, labels: Labels) -> Levels:
    """Return levels with the labels that a statistics package has for them."""
    return Levels(values, {label: value for value, label in labels.values.items()})


def levels_of(table: Table, rules: Sequence[Rule], given: Mapping[str, Sequence[Any]]) -> dict[str, Levels]:
    """Return the levels by which rules compare attributes of a table in memory; refuse what has no order.

    `given` are levels by the name of their attribute; they go before those of a categorical column.
    """
    refuse_unordered_text(rules, table, given)
    texts = [name for name in calculated_texts(rules, table) if not _has_levels(table, name, rules, given)]
    refuse_words(rules, texts_in(pa.table({name: table.column(name) for name in texts}), texts))
    found = {}
    for name in compared_by_order(rules):
        if name in table.names and _has_levels(table, name, rules, given):
            values = in_levels(table, name, "ordinal", given.get(name)).levels
            if values is not None:
                found[name] = with_labels(values, table.labels(name))
    return found


def with_unused(rules: Sequence[Rule], levels: Mapping[str, Levels], known: Collection[str]) -> dict[str, Levels]:
    """Return levels in which two compared attributes share the longer list, if the shorter is a part of it in order.

    A masked file lists the levels that its records have, and these may differ between two attributes; not of those
    whose levels are all `known`.
    """
    found = dict(levels)
    for comparison in (each for rule in rules for each in order_comparisons(rule)):
        names = [name for name in attributes_of(comparison) if name in found]
        longest = max((found[name] for name in names), key=lambda each: len(each.values), default=None)
        for name in names:
            if name not in known and longest is not None and _is_part(found[name], longest):
                found[name] = longest
    return found


def _is_part(some: Levels, levels: Levels) -> bool:
    part = some.values.to_pylist()
    return [each for each in levels.values.to_pylist() if each in part] == part


def refuse_unordered_text(rules: Sequence[Rule], table: Table, given: Mapping[str, Any]) -> None:
    """Refuse comparisons by order of text whose order is not known."""
    kinds = {name: table.column(name).type for name in compared_by_order(rules) if name in table.names}
    unordered = {
        name
        for name, stored in kinds.items()
        if is_text(inner(stored)) and not has_levels(name, stored, table.labels(name), rules, given)
    }
    _refuse(
        [
            Message("text-without-order", field="edits", rule=rule.name, column=side.name)
            for rule in rules
            for each in order_comparisons(rule)
            for side in (each.left, each.right)
            if _is_plain(side) and side.name in unordered
        ]
    )


@dataclass(frozen=True)
class Texts:
    """The columns of text in which some record has a number, and those in which some has a word."""

    numbers: frozenset[str]
    words: frozenset[str]

    def __add__(self, other: "Texts") -> "Texts":
        return Texts(self.numbers | other.numbers, self.words | other.words)


def texts_in(piece: pa.Table, names: Sequence[str]) -> Texts:
    """Look at columns of text in some records."""
    seen = {name: parsed(plain_values(one_chunk(piece[name])).drop_null().cast(pa.large_string())) for name in names}
    numbers = frozenset(name for name, values in seen.items() if not np.isnan(values).all())
    return Texts(numbers, frozenset(name for name, values in seen.items() if np.isnan(values).any()))


def calculated_texts(rules: Sequence[Rule], table: Table) -> list[str]:
    """List the columns of text that rules turn into numbers to compare them by order."""
    names = (name for rule in rules for each in order_comparisons(rule) for name in _calculated(each))
    return [name for name in dict.fromkeys(names) if name in table.names and is_text(inner(table.column(name).type))]


def refuse_words(rules: Sequence[Rule], seen: Texts) -> None:
    """Refuse to calculate with words: what governs a rule would be false in every record, and the rule unchecked."""
    _refuse(
        [
            Message("words-as-numbers", field="edits", rule=rule.name, column=name)
            for rule in rules
            for each in order_comparisons(rule)
            for name in _calculated(each)
            if name in seen.words - seen.numbers
        ]
    )


def _calculated(comparison: Comparison) -> Iterator[str]:
    """Go through the attributes that a comparison does not take as they are."""
    sides = (comparison.left, comparison.right)
    yield from (name for side in sides if not _is_plain(side) for name in attributes_of(side))


def refuse_incomparable(rules: Sequence[Rule], table: Table, levels: Mapping[str, Levels]) -> None:
    """Refuse comparisons of levels with what is not among them, and of numbers with text that is no number."""
    by_order = [
        problem for rule in rules for each in order_comparisons(rule) for problem in _wrong(rule, each, table, levels)
    ]
    _refuse([*by_order, *(problem for rule in rules for problem in _never_equal(rule, table))])


def _never_equal(rule: Rule, table: Table) -> Iterator[Message]:
    """Yield what is wrong with constants that no record can equal: labels of codes, and words where numbers are.

    '' is a missing value. In Schematron other words may stand for one too, and are compared.
    """
    for each in within(rule.condition):
        name, constants = _equated(each)
        if name is None or name not in table.names:
            continue
        words = [constant for constant in constants if isinstance(constant, str) and _is_word(Text(constant))]
        labels = table.labels(name).values
        if any(word in labels.values() and word not in labels for word in words):
            yield Message("label-of-a-code", field="edits", rule=rule.name, column=name)
        elif words == constants != [""] and _is_number(name, table) and not getattr(each, "exact", False):
            yield Message("number-compared-with-text", field="edits", rule=rule.name, column=name)


def _equated(condition: Expression) -> tuple[str | None, list[float | str]]:
    """Return the attribute and the constants that it is equal to, or not; None for other conditions."""
    match condition:
        case Comparison("==" | "!=", Variable(name, False), Text(text)):
            return name, [text]
        case Comparison("==" | "!=", Text(text), Variable(name, False)):
            return name, [text]
        case Member(Variable(name, False), among):
            return name, [*among]
    return None, []


def _wrong(rule: Rule, comparison: Comparison, table: Table, levels: Mapping[str, Levels]) -> Iterator[Message]:
    sides = (comparison.left, comparison.right)
    for name in _calculated(comparison):
        if name in levels and not levels[name].are_numbers:
            yield Message("words-as-numbers", field="edits", rule=rule.name, column=name, ordered=True)
    by = levels_between(comparison, levels)
    names = [side.name for side in sides if _is_plain(side)]
    if by is not None:
        if len(names) == 2 and any(name not in levels or levels[name].values != by.values for name in names):
            yield Message("different-levels", field="edits", rule=rule.name, column=names[0], other=names[1])
        if any(isinstance(side, Text | Number) and np.isnan(by.place(side.value)) for side in sides):
            yield Message("constant-not-a-level", field="edits", rule=rule.name, column=names[0])
    elif any(_is_word(side) for side in sides) and any(_is_number(name, table) for name in names):
        yield Message("number-compared-with-text", field="edits", rule=rule.name, column=names[0], order=True)


def _is_number(name: str, table: Table) -> bool:
    return name in table.names and is_number(inner(table.column(name).type))


def _is_word(side: Value) -> bool:
    return isinstance(side, Text) and bool(np.isnan(parsed(pa.array([side.value]))[0]))


def _is_plain(side: Value) -> TypeGuard[Variable]:
    """Whether a value is an attribute as it is."""
    return isinstance(side, Variable) and not side.number


def _refuse(problems: Sequence[Message]) -> None:
    if problems:
        raise PlanError(*dict.fromkeys(problems))
