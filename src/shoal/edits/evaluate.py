"""Whether rules hold in records, whole columns at a time.

Numbers follow IEEE 754 and the functions of XPath 1.0: nothing overflows with an error, a division by zero is infinite
or not a number, and what is not a number is equal to nothing. What two values are compared as follows from the two:

- for ``<``, ``<=``, ``>`` and ``>=`` by the places of levels, where one is an attribute with levels;
- as numbers, wherever one of them is a number for certain: a constant, arithmetic, or ``number(...)``;
- as moments, where one is a column of dates or times and the other one too, or a text such as 2024-02-29;
- for ``==`` and ``!=`` as texts, where a constant text is compared with a column, or a column of text with another;
- otherwise as numbers, as XPath 1.0 does with ``<`` even on texts.

An exact comparison, which is one of XPath, sees what is written in a file: two columns are equal if their texts are, a
missing one being the empty text, and neither dates nor truths are numbers or moments.

Constants stay scalars until the end, so that they cost nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from operator import and_, or_
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.edits.columns import Records, parsed, read_moment
from shoal.edits.expressions import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    Function,
    InOriginal,
    Integral,
    Member,
    Missing,
    Not,
    Number,
    Or,
    Rule,
    Text,
    Truth,
    Value,
    Variable,
    attributes_of,
)
from shoal.edits.levels import Levels, levels_between
from shoal.tables.arrow import Array, pc
from shoal.tables.dtypes import is_text

__all__ = ["TOLERANCE", "Records", "each_broken", "holds", "near", "value"]

Numbers: TypeAlias = NDArray[np.float64] | np.float64
Truths: TypeAlias = NDArray[np.bool_] | np.bool_

# the part of its largest term by which a sum of doubles may be off, where a rule is not meant to the last bit
TOLERANCE = 1e-9


def holds(condition: Condition, records: Records, *, rounding: bool = False) -> NDArray[np.bool_]:
    """Return in which records a condition holds; with `rounding`, no comparison is exact."""
    with np.errstate(all="ignore"):
        return np.array(np.broadcast_to(_truth(condition, records, rounding), len(records)))


def value(of: Value, records: Records) -> NDArray[np.float64]:
    """Return a value of each record as a number; read only."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(_number(of, records), len(records))


def each_broken(rules: Iterable[Rule], records: Records) -> Iterator[tuple[Rule, NDArray[np.bool_]]]:
    """Yield for each rule which records break it: the answers of ten thousand rules need not fit in memory at once."""
    for rule in rules:
        yield rule, ~holds(rule.condition, records)


def near(rule: Rule, records: Records) -> NDArray[np.bool_]:
    """Return which records break a rule by rounding only: it would hold if no comparison were exact."""
    return ~holds(rule.condition, records) & holds(rule.condition, records, rounding=True)


def _truth(condition: Condition, records: Records, rounding: bool) -> Truths:
    """Return where a condition holds; with `rounding`, no comparison is exact."""
    match condition:
        case Truth(truth):
            return np.bool_(truth)
        case Comparison():
            return _compared(condition, records, rounding)
        case Member():
            return _is_member(condition, records)
        case InOriginal():
            return _is_in_original(condition, records)
        case Integral(of):
            return _is_whole(_number(of, records))
        case Missing(name):
            return records.missing(name)
        case Not(of):
            return ~_truth(of, records, rounding)
        case And(parts):
            return reduce(and_, (_truth(part, records, rounding) for part in parts), np.bool_(True))
        case Or(parts):
            return reduce(or_, (_truth(part, records, rounding) for part in parts), np.bool_(False))


def _is_whole(number: Numbers) -> Truths:
    whole: Truths = np.isfinite(number) & (number == np.floor(number))
    return whole


def _round(x: Numbers) -> Numbers:
    """Round halves upwards; ``floor(x + 0.5)`` would take 0.49999999999999994 to 1 and odd numbers over 2**52 up."""
    down = np.floor(x)
    rounded: Numbers = np.copysign(down + (x - down >= 0.5), x)  # from below, XPath comes to a negative zero
    return rounded


_ARITHMETIC: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}
_FUNCTIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "abs": np.abs,
    "round": _round,
    "floor": np.floor,
    "ceiling": np.ceil,
}
_COMPARISONS: dict[str, Callable[[Numbers, Numbers], Truths]] = {
    "==": np.equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _number(of: Value, records: Records) -> Numbers:
    match of:
        case Number(number):
            return np.float64(number)
        case Text(text):
            return np.float64(parsed(pa.array([text]))[0])
        case Variable(name):
            return records.number(name)
        case Arithmetic(sign, left, right):
            return _ARITHMETIC[sign](_number(left, records), _number(right, records))
        case Function(name, inside):
            return _FUNCTIONS[name](_number(inside, records))


def _compared(comparison: Comparison, records: Records, rounding: bool) -> Truths:
    sign, left, right = comparison.sign, comparison.left, comparison.right
    if sign == "!=":
        return ~_compared(replace(comparison, sign="=="), records, rounding)
    if (levels := levels_between(comparison, records.levels)) is not None:
        return _COMPARISONS[sign](_place(left, levels, records), _place(right, levels, records))
    seen = records.as_written if comparison.exact else records
    moments = _as_moments(left, right, seen)
    if moments is None and sign == "==" and _are_texts(left, right, seen, written=comparison.exact):
        found = _is_same_text(left, right, seen)
    else:
        found = _COMPARISONS[sign](*(moments or (_number(left, seen), _number(right, seen))))
    is_number = moments is None and not _are_texts(left, right, seen, written=False)
    may_be_close = (rounding or not comparison.exact) and is_number
    if not may_be_close or sign in ("<", ">") or found.all():
        return found
    return found | _is_close(left, right, seen)


def _place(of: Value, levels: Levels, records: Records) -> Numbers:
    """Return the place of a value among levels; NaN for what is none of them."""
    if isinstance(of, Variable):
        return records.place(of.name)
    return np.float64(levels.place(of.value)) if isinstance(of, Text | Number) else np.float64(np.nan)


def _is_close(left: Value, right: Value, records: Records) -> Truths:
    """Return where two sums differ by a billionth of their largest term at most; nothing is close to infinity.

    Columns of fewer than 64 bits hold no billionth: there it is what they hold.
    """
    precision = max(map(records.precision, [*attributes_of(left), *attributes_of(right)]), default=0.0)
    size = np.maximum(_size(left, records), _size(right, records))
    gap = np.abs(_number(left, records) - _number(right, records))
    return np.isfinite(size) & (gap <= max(TOLERANCE, precision) * size)


def _size(of: Value, records: Records) -> Numbers:
    """Return the size of the largest term of a sum: what it was rounded to on the way, however small the sum."""
    match of:
        case Arithmetic("+" | "-", left, right):
            return np.maximum(_size(left, records), _size(right, records))
        case Function("abs", inside):
            return _size(inside, records)
    return np.abs(_number(of, records))


def _as_moments(left: Value, right: Value, records: Records) -> tuple[Numbers, Numbers] | None:
    """Return both sides in seconds where one is a column of dates or timestamps, the other one too or such a text."""
    if isinstance(left, Text) and isinstance(right, Text):
        return None
    one = _seconds(left, records)
    two = None if one is None else _seconds(right, records)
    return None if one is None or two is None else (one, two)


def _seconds(of: Value, records: Records) -> Numbers | None:
    if isinstance(of, Text):
        return read_moment(of.value)
    return records.seconds(of.name) if isinstance(of, Variable) and not of.number else None


def _are_texts(left: Value, right: Value, records: Records, *, written: bool) -> bool:
    """Return whether two values are compared as texts."""
    if not (_is_untyped(left) and _is_untyped(right)):
        return False
    if written or isinstance(left, Text) or isinstance(right, Text):
        return True
    return _is_text(left, records) and _is_text(right, records)


def _is_untyped(of: Value) -> bool:
    return isinstance(of, Text) or (isinstance(of, Variable) and not of.number)


def _is_text(of: Value, records: Records) -> bool:
    return isinstance(of, Variable) and not of.number and is_text(records.kind(of.name))


def _is_same_text(left: Value, right: Value, records: Records) -> Truths:
    same = pc.fill_null(pc.equal(_text(left, records), _text(right, records)), False)
    return np.bool_(same.as_py()) if isinstance(same, pa.Scalar) else same.to_numpy(zero_copy_only=False)


def _text(of: Value, records: Records) -> Any:
    """Return an untyped value as text: a scalar for a constant."""
    if isinstance(of, Variable):
        return records.text(of.name)
    return pa.scalar(of.value, pa.large_string()) if isinstance(of, Text) else None


def _is_member(member: Member, records: Records) -> Truths:
    """Return where a value equals some constant, each compared as ``==`` would."""
    of = member.of
    texts = [each for each in member.among if isinstance(each, str)]
    numbers = [each for each in member.among if not isinstance(each, str)]
    found = np.isin(_number(of, records), numbers) if numbers else np.False_
    if not texts:
        return found
    seconds = _seconds(of, records) if isinstance(of, Variable) else None
    if seconds is not None:
        return found | np.isin(seconds, [moment for moment in map(read_moment, texts) if moment is not None])
    if _is_untyped(of):
        return found | _is_text_in(of, pa.array(texts, pa.large_string()), records)
    return found | np.isin(_number(of, records), parsed(pa.array(texts)))


def _is_in_original(condition: InOriginal, records: Records) -> Truths:
    """Return where a value equals some value of an original column, compared as ``==`` would two columns."""
    of, among, original = condition.of, Variable(condition.attribute), records.original
    here, there = _seconds(of, records), _seconds(among, original)
    if here is not None and there is not None:
        return np.isin(here, there)
    if isinstance(of, Text) or (_is_text(of, records) and _is_text(among, original)):
        return _is_text_in(of, original.text(among.name), records)
    return np.isin(_number(of, records), original.number(among.name))


def _is_text_in(of: Value, among: Array, records: Records) -> Truths:
    found = pc.is_in(_text(of, records), value_set=among, skip_nulls=True)
    return np.bool_(found.as_py()) if isinstance(found, pa.Scalar) else found.to_numpy(zero_copy_only=False)
