"""Rules as SQL: what is published is verified by DuckDB, not by the code that splits and repairs groups.

The two evaluators share the columns that they look at (`shoal.edits.columns`) and nothing of how values are compared:
levels, tolerances, sets and conditions are written here a second time. Their agreement is tested on random rules.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

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
    Sign,
    Text,
    Truth,
    Value,
    Variable,
    attributes_of,
)
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import plain_values
from shoal.tables.dtypes import is_number, is_text
from shoal.tables.duck import cursor

_AT_ONCE = 50  # rules in a query
_COMPUTED = 50  # rounded values after which a query takes no more rules: each is a query within the last
_TOLERANCE = 1e-9  # of the largest term of a sum, where a comparison is not exact
_SIGNS: dict[Sign, str] = {"==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_FUNCTIONS = {"abs": "abs", "floor": "floor", "ceiling": "ceil"}


def broken_in_sql(rules: Sequence[Rule], records: Records) -> Iterator[tuple[Rule, NDArray[np.bool_]]]:
    """Yield for each rule which records break it, as DuckDB finds it."""
    left = list(rules)
    while left:
        query, wrong = _Query(records), list[str]()
        while len(wrong) < min(_AT_ONCE, len(left)) and query.computed < _COMPUTED:
            wrong.append(f"NOT ({query.condition(left[len(wrong)].condition)}) AS b{len(wrong)}")
        some, left = left[: len(wrong)], left[len(wrong) :]
        with cursor() as database:
            for name, table in query.tables.items():
                database.register(name, table)
            found = database.execute(f"SELECT {', '.join(wrong)} FROM {query.source}").fetchnumpy()  # noqa: S608
        for number, rule in enumerate(some):
            yield rule, np.asarray(found[f"b{number}"], dtype=np.bool_)


@dataclass
class _Query:
    """Conditions as SQL on the columns that they need; numbers are NaN where there is none, conditions never null."""

    records: Records
    source: str = "records"  # what the conditions are selected from
    _columns: dict[str, Array] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)  # of the attributes, in the names of columns
    _domains: dict[tuple[str, str], Array] = field(default_factory=dict)
    _lets: dict[str, str] = field(default_factory=dict)  # columns that `source` adds, by how they are computed

    @property
    def computed(self) -> int:
        """How many columns `source` adds, each by a query of its own."""
        return len(self._lets)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that the query reads, by their names."""
        rows: Array = pa.array(np.zeros(len(self.records), dtype=np.int8))
        domains = {f"d{number}": pa.table({"v": values}) for number, values in enumerate(self._domains.values())}
        return {"records": pa.table({"row": rows, **self._columns}), **domains}

    def condition(self, condition: Condition) -> str:
        """Return a condition, which is true or false in every record."""
        match condition:
            case Truth(truth):
                return "true" if truth else "false"
            case Not(of):
                return f"(NOT {self.condition(of)})"
            case And(parts):
                return self._joined(parts, " AND ", "true")
            case Or(parts):
                return self._joined(parts, " OR ", "false")
            case Missing(name):
                return self._column("m", name, pa.array(self.records.missing(name)))
            case Integral(of):
                x = self._number(of, self.records)
                return f"(isfinite({x}) AND {x} = floor({x}))"
            case Member():
                return self._member(condition)
            case InOriginal():
                return self._in_original(condition)
            case Comparison():
                return self._comparison(condition)

    def _joined(self, parts: Sequence[Condition], word: str, none: str) -> str:
        return f"({word.join(map(self.condition, parts))})" if parts else none

    def _comparison(self, comparison: Comparison) -> str:
        sign, left, right, exact = comparison.sign, comparison.left, comparison.right, comparison.exact
        if sign == "!=":
            return f"(NOT {self._comparison(Comparison('==', left, right, exact))})"
        if sign != "==" and (by_level := self._levels(left, right)) is not None:
            return f"coalesce({by_level[0]} {_SIGNS[sign]} {by_level[1]}, false)"
        seen = self.records.as_written if exact else self.records
        one, two = self._moment(left, seen), self._moment(right, seen)
        constants = isinstance(left, Text) and isinstance(right, Text)
        if one is not None and two is not None and not constants:
            return _compared(sign, one, two)
        if sign == "==" and self._as_text(left, right, seen, written=exact):
            return f"coalesce({self._text(left, seen)} = {self._text(right, seen)}, false)"
        found = _compared(sign, self._number(left, seen), self._number(right, seen))
        if exact or sign in ("<", ">") or self._as_text(left, right, seen, written=False):
            return found
        return f"({found} OR {self._close(left, right, seen)})"

    def _levels(self, left: Value, right: Value) -> tuple[str, str] | None:
        """Return the places of two values in the levels of either; None where they are compared as they are."""
        known = self.records.levels
        own = [side for side in (left, right) if isinstance(side, Variable) and not side.number and side.name in known]
        if not own:
            return None
        levels = known[own[0].name]
        ascending = all(_ascend(known[side.name].values) for side in own)
        if ascending and not (isinstance(left, Text) or isinstance(right, Text)):
            return None
        listed = levels.values.to_pylist()
        return self._place(left, listed, levels.labels), self._place(right, listed, levels.labels)

    def _place(self, of: Value, levels: list[Any], labels: Mapping[str, Any]) -> str:
        numbers = not isinstance(levels[0], str) if levels else False
        if isinstance(of, Variable):
            values = plain_values(self.records.column(of.name))
            kind = pa.float64() if numbers else pa.large_string()
            column = self._column("v", of.name, values.cast(kind, safe=False))
            return f"list_position([{', '.join(_literal(level, numbers) for level in levels)}], {column})"
        if not isinstance(of, Text | Number):
            return "NULL"
        constant: Any = of.value
        if constant not in levels:
            constant = labels.get(str(constant), constant)
        if numbers and isinstance(constant, str):
            constant = float(parsed(pa.array([constant]))[0])
        return str(levels.index(constant) + 1) if constant in levels else "NULL"

    def _number(self, of: Value, seen: Records) -> str:
        match of:
            case Number(number):
                return _double(number)
            case Text(text):
                return _double(float(parsed(pa.array([text]))[0]))
            case Variable(name):
                return self._column("w" if seen is not self.records else "n", name, pa.array(seen.number(name)))
            case Arithmetic(sign, left, right):
                one, two = self._number(left, seen), self._number(right, seen)
                if sign == "%":
                    return f"coalesce({one} % {two}, {_double(math.nan)})"
                return f"({one} {sign} {two})"
            case Function("round", inside):
                x = self._let(self._number(inside, seen))
                return f"(floor({x}) + CASE WHEN {x} - floor({x}) >= 0.5 THEN 1 ELSE 0 END)"
            case Function(name, inside):
                return f"{_FUNCTIONS[name]}({self._number(inside, seen)})"

    def _let(self, value: str) -> str:
        """Compute a value once, as a column: within one another, rounded values would double and double again."""
        if value not in self._lets:
            number = len(self._lets)
            self.source = f"(SELECT *, {value} AS c{number} FROM {self.source}) AS s{number}"  # noqa: S608
            self._lets[value] = f"c{number}"
        return self._lets[value]

    def _close(self, left: Value, right: Value, seen: Records) -> str:
        """Return whether two numbers differ by rounding only: by a part of the largest term of their sums."""
        precision = max((seen.precision(name) for name in (*attributes_of(left), *attributes_of(right))), default=0.0)
        size = f"greatest({', '.join([*self._terms(left, seen), *self._terms(right, seen)])})"
        gap = f"abs({self._number(left, seen)} - {self._number(right, seen)})"
        return f"(isfinite({size}) AND {_compared('<=', gap, f'{_double(max(_TOLERANCE, precision))} * {size}')})"

    def _terms(self, of: Value, seen: Records) -> Iterator[str]:
        match of:
            case Arithmetic("+" | "-", left, right):
                yield from self._terms(left, seen)
                yield from self._terms(right, seen)
            case Function("abs", inside):
                yield from self._terms(inside, seen)
            case _:
                yield f"abs({self._number(of, seen)})"

    def _moment(self, of: Value, seen: Records) -> str | None:
        if isinstance(of, Text):
            moment = read_moment(of.value)
            return None if moment is None else _double(float(moment))
        if not isinstance(of, Variable) or of.number:
            return None
        seconds = seen.seconds(of.name)
        return None if seconds is None else self._column("s", of.name, pa.array(seconds))

    def _as_text(self, left: Value, right: Value, seen: Records, *, written: bool) -> bool:
        """Return whether two values, neither of which is a number for certain, are equal if their texts are."""
        for side in (left, right):
            if not (isinstance(side, Text) or (isinstance(side, Variable) and not side.number)):
                return False
        if written or isinstance(left, Text) or isinstance(right, Text):
            return True
        return all(is_text(seen.kind(name)) for name in (*attributes_of(left), *attributes_of(right)))

    def _text(self, of: Value, seen: Records) -> str:
        if isinstance(of, Text):
            return _quoted(of.value)
        (name,) = attributes_of(of)
        return self._column("x" if seen is not self.records else "t", name, seen.text(name))

    def _member(self, member: Member) -> str:
        of, seen = member.of, self.records
        texts = [each for each in member.among if isinstance(each, str)]
        numbers = [float(each) for each in member.among if not isinstance(each, str)]
        untyped = isinstance(of, Text) or (isinstance(of, Variable) and not of.number)
        moment = self._moment(of, seen) if isinstance(of, Variable) else None
        found = [self._is_in(self._number(of, seen), numbers)]
        if moment is not None:
            found.append(self._is_in(moment, [float(each) for each in map(read_moment, texts) if each is not None]))
        elif untyped and texts:
            found.append(f"coalesce({self._text(of, seen)} IN ({', '.join(map(_quoted, texts))}), false)")
        elif texts:
            found.append(self._is_in(self._number(of, seen), parsed(pa.array(texts)).tolist()))
        return f"({' OR '.join(found)})"

    def _is_in(self, number: str, among: Sequence[float]) -> str:
        listed = [_double(each) for each in among if not math.isnan(each)]
        return f"({number} IN ({', '.join(listed)}))" if listed else "false"

    def _in_original(self, condition: InOriginal) -> str:
        of, name, original = condition.of, condition.attribute, self.records.original
        here, there = self._moment(of, self.records), original.seconds(name)
        is_column = isinstance(of, Variable) and not of.number and is_text(self.records.kind(of.name))
        if here is not None and there is not None:
            return self._occurs(here, ("seconds", name), pa.array(there))
        if isinstance(of, Text) or (is_column and is_text(original.kind(name))):
            return self._occurs(self._text(of, self.records), ("text", name), original.text(name))
        return self._occurs(self._number(of, self.records), ("number", name), pa.array(original.number(name)))

    def _occurs(self, value: str, key: tuple[str, str], among: Array) -> str:
        """Return whether a value occurs in a column of the original; no number equals NaN."""
        known = among.drop_null()
        self._domains[key] = known.filter(pc.invert(pc.is_nan(known))) if is_number(known.type) else known
        at = [*self._domains].index(key)
        return f"coalesce({value} IN (SELECT v FROM d{at}), false)"  # noqa: S608 - no outside text

    def _column(self, kind: str, name: str, values: Array) -> str:
        """Return the name of a column of the query."""
        column = f"{kind}{self._numbers.setdefault(name, len(self._numbers))}"
        self._columns[column] = values
        return column


def _compared(sign: Sign, one: str, two: str) -> str:
    """Compare two numbers; what is not a number equals nothing, is above nothing and below nothing."""
    return f"({one} {_SIGNS[sign]} {two} AND NOT isnan({one}) AND NOT isnan({two}))"


def _ascend(values: Array) -> bool:
    numbers: list[Any] = values.to_pylist()
    return is_number(values.type) and all(one < two for one, two in pairwise(numbers))


def _literal(level: object, number: bool) -> str:
    return _double(float(str(level))) if number else _quoted(str(level))


def _double(number: float) -> str:
    if math.isnan(number):
        return "'NaN'::DOUBLE"
    return f"{'-' if number < 0 else ''}'Infinity'::DOUBLE" if math.isinf(number) else f"({number!r})::DOUBLE"


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
