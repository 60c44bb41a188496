"""What the columns of a table look like: counts and formats that add up over pieces, from which roles are guessed.

A profile holds facts of a whole column. Values that it must remember, such as extremes or the few values of a code,
stay inside: nothing here is printed.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.plan import AttributeType
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import plain_values, without_declared
from shoal.tables.dtypes import has_text, inner, is_number, is_text
from shoal.tables.stat.labels import Labels
from shoal.tables.table import Table
from shoal.tables.text_values import MISSING, NUMBER

Hashes = NDArray[np.uint64]

FEW = 200  # different values of which each is counted
_SKETCH = 1 << 16  # hashes that are kept to count different values
_ALMOST = 1.01  # beyond 65,536 pairs both counts are estimates
_SHAPED = 10_000  # different values of a piece whose shapes and formats are compared
_LONGEST = 18  # characters of a shape
# Numbers that surveys use for 'no answer'. What is beyond them is the range of the answers.
CODES = frozenset(
    sign * float(number)
    for sign in (1, -1)
    for number in (
        *(7, 8, 9, 77, 88, 96, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998, 9999),
        *(88888, 99997, 99998, 99999, 999999, 9999999, 99999999, 999999999),
    )
) | {-1.0, -2.0, -3.0}
# Every character by its kind, so that a shape holds nothing of a value.
_KINDS = [(r"\p{N}", "9"), (r"[\p{Ll}\p{Lm}\p{Lo}]", "a"), (r"[\p{Lu}\p{Lt}]", "A"), (r"[^\x20-\x7e]", "*")]
_STREETS = (
    "street|st|road|rd|avenue|ave|lane|drive|stra(?:ss|ß)e|str|weg|platz|gasse|allee|rue|boulevard|bd|calle|avenida"
    "|plaza|via|viale|piazza|corso|carrer|avinguda|pla[cç]a"
)
FORMATS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.\p{L}{2,}$",
    "web addresses": r"^(?:https?://|www\.)\S+$",
    "IP addresses": r"^\d{1,3}(?:\.\d{1,3}){3}$",
    "account numbers (IBAN)": r"^[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7} ?[A-Z0-9]{0,4}$",
    "universal identifiers (UUID)": r"^(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    "phone numbers": (
        r"^(?:(?:\+|00)\d[\d ()/.-]{6,18}|\(?0\d{1,4}\)?[ /-][\d -]{5,14}|\(?\d{3}\)?[ .-]{1,2}\d{3}[ .-]\d{4})$"
    ),
    "personal numbers": (
        r"^(?:\d{3}-\d{2}-\d{4}|\d{6}[-+A]\d{3}[\dA-Z]|\d{8}-?[A-Z]|[XYZ]-?\d{7}-?[A-Z]|[A-Z]{2} ?(?:\d{2} ?){3}[A-D]"
        r"|[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]|756\.\d{4}\.\d{4}\.\d{2}|(?:\d{4}[ -]){3}\d{2,4})$"
    ),
    "street addresses": rf"(?i)(?:^\d+\w? .*\b(?:{_STREETS})\b|(?:\b|\p{{L}})(?:{_STREETS})\b\.?.* \d+)",
    "post codes": r"^(?:0\d{4}|\d{5}-\d{4}|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4} ?[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d)$",
    "dates": r"^(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{2}|\d{4})|\d{4}[./-]\d{1,2}[./-]\d{1,2})(?:[T ].*)?$",
    "names of people": r"^(?:\p{Lu}[\p{L}'\x{2019}.-]*,? ){1,3}\p{Lu}[\p{L}'\x{2019}-]+$",
}


@dataclass(frozen=True, eq=False)
class Distinct:
    """How many values are different: the smallest hashes that occur (Bar-Yossef et al. 2002, k minimum values).

    Exact up to 65,536, and then right to about half a percent. The hashes do not depend on pieces or on their order.
    """

    hashes: Hashes = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)

    @classmethod
    def of(cls, hashes: Hashes) -> "Distinct":
        """Keep the smallest of some hashes; sorting them takes a tenth of the time of `numpy.unique`."""
        ordered = np.sort(hashes)
        is_new = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
        return cls(ordered[is_new][:_SKETCH])

    def __add__(self, other: "Distinct") -> "Distinct":
        return Distinct.of(np.concatenate([self.hashes, other.hashes]))

    @property
    def is_exact(self) -> bool:
        """Whether the count is no estimate."""
        return len(self.hashes) < _SKETCH

    @property
    def count(self) -> int:
        """How many are different."""
        if self.is_exact:
            return len(self.hashes)
        return round((_SKETCH - 1) / (float(self.hashes[-1]) / 2.0**64))


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """What some records show of a column; the profiles of two pieces add up.

    Attributes
    ----------
    name, stored, labels
        Of the column, with what a statistics package notes on it.
    inferred, doubt
        The type that the column is taken for when none is given; or why that is not clear.
    records, missing
        How many there are, and how many have no value.
    distinct
        How many different values there are.
    counts
        How often each value occurs, where there are few; else None.
    numbers, whole
        Records that hold a number, stored as such or as text, and a whole number.
    low, high, total, squares
        Of the numbers; of dates, `low` and `high` in days.
    codes
        How often numbers occur that may stand for a missing value.
    core_low, core_high
        The range of all other numbers.
    compared, formats
        Of how many records texts were compared with `FORMATS`, and how many look like each.
    stand_ins
        How often words occur that mean a missing value, such as NA.
    words
        Of all texts that were compared.
    shapes
        The commonest forms: 9 for a digit, A and a for letters, * for characters beyond ASCII.
    """

    name: str
    stored: pa.DataType
    labels: Labels = field(default_factory=Labels)
    inferred: AttributeType | None = None
    doubt: str = ""
    records: int = 0
    missing: int = 0
    distinct: Distinct = field(default_factory=Distinct)
    counts: Mapping[Any, int] | None = field(default_factory=dict, repr=False)
    numbers: int = 0
    whole: int = 0
    low: float | None = field(default=None, repr=False)
    high: float | None = field(default=None, repr=False)
    total: float = field(default=0.0, repr=False)
    squares: float = field(default=0.0, repr=False)
    codes: Counter[float] = field(default_factory=Counter, repr=False)
    core_low: float | None = field(default=None, repr=False)
    core_high: float | None = field(default=None, repr=False)
    compared: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    stand_ins: Counter[str] = field(default_factory=Counter)
    words: int = 0
    shapes: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "ColumnProfile") -> "ColumnProfile":
        merged = {each.name: _merged(each.name, self, other) for each in fields(self)}
        return ColumnProfile(**merged)

    @property
    def present(self) -> int:
        """How many records have a value."""
        return self.records - self.missing

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers, stored as such or as text."""
        return 0 < self.present == self.numbers

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        return 0 < self.present == self.whole

    @property
    def is_textual(self) -> bool:
        """Whether values are texts, and most of them no numbers."""
        return is_text(inner(self.stored)) and 2 * self.numbers < self.present

    @property
    def is_temporal(self) -> bool:
        """Whether values are dates or moments."""
        kind = inner(self.stored)
        return pa.types.is_date(kind) or pa.types.is_timestamp(kind)

    @property
    def is_simple(self) -> bool:
        """Whether values are numbers, texts, dates or booleans, and not lists, bytes and the like."""
        return has_text(self.stored) and not pa.types.is_nested(inner(self.stored))

    def looks_like(self, name: str) -> bool:
        """Whether at least half of the texts have one of `FORMATS`."""
        return 0 < self.compared <= 2 * self.formats[name]

    @property
    def mean(self) -> float:
        """Of the numbers."""
        return self.total / self.numbers if self.numbers else 0.0

    @property
    def variation(self) -> float:
        """The standard deviation of the numbers relative to their mean."""
        variance = self.squares / self.numbers - self.mean * self.mean if self.numbers else 0.0  # which never overflows
        return float(np.sqrt(max(variance, 0.0))) / abs(self.mean) if self.mean else 0.0

    @property
    def shape(self) -> str:
        """The most common shape of a value."""
        return min(self.shapes, key=lambda shape: (-self.shapes[shape], shape), default="")


_LEAST, _MOST = ("low", "core_low"), ("high", "core_high")
_SAME = ("name", "stored", "labels", "inferred", "doubt")


def _merged(what: str, one: ColumnProfile, two: ColumnProfile) -> Any:
    """Merge one fact of two pieces."""
    left, right = getattr(one, what), getattr(two, what)
    if what in _SAME:
        return left
    if what in (*_LEAST, *_MOST):
        known = [each for each in (left, right) if each is not None]
        return (min if what in _LEAST else max)(known, default=None)
    if what == "counts":
        if left is None or right is None:
            return None
        both = Counter(left) + Counter(right)
        return dict(both) if len(both) <= FEW else None
    return left + right


@dataclass(frozen=True)
class Profiles:
    """The profiles of the columns of some records."""

    columns: Mapping[str, ColumnProfile]

    def __add__(self, other: "Profiles") -> "Profiles":
        return Profiles({name: each + other.columns[name] for name, each in self.columns.items()})


def profile_piece(piece: pa.Table, start: int | None = None) -> Profiles:
    """Profile the columns of some records; where they stand in the table (`start`) does not matter."""
    table = Table(piece)
    return Profiles({name: profile_column(table, name) for name in piece.column_names})


def profile_column(table: Table, name: str) -> ColumnProfile:
    """Profile one column of a table; values that the file declares to be missing are missing."""
    stored, labels = table.column(name).type, table.labels(name)
    if not (has_text(stored) and not pa.types.is_nested(inner(stored))):
        column = table.column(name)
        return ColumnProfile(name, stored, labels, records=len(column), missing=column.null_count, counts=None)
    column = plain_values(without_declared(table, name))
    found = pc.value_counts(column.drop_null())
    values, times = found.field(0), found.field(1).to_numpy(zero_copy_only=False)
    facts: dict[str, Any] = {"counts": None}
    if len(values) <= FEW:
        facts["counts"] = dict(zip(values.to_pylist(), times.tolist(), strict=True))
    if is_number(values.type) or pa.types.is_boolean(values.type):
        facts |= _numbers(values, times)
    elif pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        days = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64()).to_numpy(zero_copy_only=False) / 86_400
        facts |= {"low": float(days.min()), "high": float(days.max())} if len(days) else {}
    elif is_text(values.type):
        facts |= _texts(values.cast(pa.large_string()), times)
    return ColumnProfile(
        name,
        stored,
        labels,
        records=len(column),
        missing=column.null_count,
        distinct=Distinct.of(_hashes(values)),
        shapes=_shapes(values, times),
        **facts,
    )


def _hashes(values: Array) -> Hashes:
    """Return a hash of each value: equal values have equal ones on every machine."""
    if is_text(values.type) or not (is_number(values.type) or pa.types.is_temporal(values.type)):
        texts = values.cast(pa.large_string()).to_pylist()
        digests = b"".join(hashlib.blake2b(str(text).encode(), digest_size=8).digest() for text in texts)
        return np.frombuffer(digests, np.uint64)
    if pa.types.is_integer(values.type) or pa.types.is_temporal(values.type):
        is_short = pa.types.is_date32(values.type) or pa.types.is_time32(values.type)
        whole = values.cast(pa.int32()) if is_short else values
        bits = whole.cast(pa.int64(), safe=False).to_numpy(zero_copy_only=False).view(np.uint64)
    else:
        bits = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).view(np.uint64)
    return _mixed(bits)


def _mixed(bits: Hashes) -> Hashes:
    """Spread the bits of integers: splitmix64 (Steele, Lea & Flood 2014)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)  # wraps around, as it must
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def _numbers(values: Array, times: NDArray[Any]) -> dict[str, Any]:
    floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    finite = np.isfinite(floats)
    floats, times = floats[finite], times[finite]
    if not len(floats):
        return {}
    is_code = np.isin(floats, list(CODES))
    core = floats[~is_code]
    with np.errstate(all="ignore"):  # the largest numbers have no finite sum
        total, squares = float((floats * times).sum()), float((floats**2 * times).sum())
    return {
        "numbers": int(times.sum()),
        "whole": int(times[floats == np.rint(floats)].sum()),
        "low": float(floats.min()),
        "high": float(floats.max()),
        "total": total,
        "squares": squares,
        "codes": _tally(floats[is_code].tolist(), times[is_code]),
        "core_low": float(core.min()) if len(core) else None,
        "core_high": float(core.max()) if len(core) else None,
    }


def _texts(texts: Array, times: NDArray[Any]) -> dict[str, Any]:
    plain = pc.utf8_trim_whitespace(texts)
    some, often = plain.slice(0, _SHAPED), times[:_SHAPED]
    shaped = {name: _matching(some, often, pattern) for name, pattern in FORMATS.items()}
    figures = pc.match_substring_regex(plain, pattern=NUMBER).to_numpy(zero_copy_only=False)
    found = _numbers(plain.filter(pa.array(figures)).cast(pa.float64()), times[figures])
    words = pc.add(pc.count_substring_regex(some, pattern=r"\s+"), 1).to_numpy(zero_copy_only=False)
    absent = pc.match_substring_regex(plain, pattern=MISSING).to_numpy(zero_copy_only=False)
    return {
        **found,
        "formats": Counter({name: count for name, count in shaped.items() if count}),
        "stand_ins": _tally(plain.filter(pa.array(absent)).to_pylist(), times[absent]),
        "words": int((words * often).sum()),
        "compared": int(often.sum()),
    }


def _tally(values: Iterable[Any], times: NDArray[Any]) -> Counter[Any]:
    """Count values; texts that differ by blanks alone come several times."""
    found: Counter[Any] = Counter()
    for value, often in zip(values, times.tolist(), strict=True):
        found[value] += often
    return found


def _matching(texts: Array, times: NDArray[Any], pattern: str) -> int:
    flags = pc.match_substring_regex(texts, pattern=pattern).to_numpy(zero_copy_only=False)
    return int(times[flags].sum())


def _shapes(values: Array, times: NDArray[Any]) -> Counter[str]:
    """Count the commonest shapes of values."""
    texts = values.slice(0, _SHAPED).cast(pa.large_string())
    for kind, character in _KINDS[:1] if pa.types.is_integer(values.type) else _KINDS:  # digits and signs alone
        texts = pc.replace_substring_regex(texts, pattern=kind, replacement=character)
    found: Counter[str] = Counter()
    for text, count in zip(map(str, texts.to_pylist()), times[:_SHAPED].tolist(), strict=True):
        found[text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"] += count
    return Counter(dict(found.most_common(FEW)))


@dataclass(frozen=True)
class Pairs:
    """How many different pairs of a unit and a value there are, by unit and column; with itself, how many units."""

    counts: Mapping[tuple[str, str], Distinct]

    def __add__(self, other: "Pairs") -> "Pairs":
        return Pairs({key: each + other.counts[key] for key, each in self.counts.items()})

    def constant_within(self, unit: str) -> int:
        """Return how many columns have one value in all records of nearly every unit."""
        units = self.counts[unit, unit].count
        return sum(
            each.count <= _ALMOST * units for (of, name), each in self.counts.items() if of == unit and name != unit
        )

    def shared_in(self, unit: str) -> list[str]:
        """Name the columns that have one value in all records of every unit, as far as that was counted exactly."""
        units = self.counts[unit, unit]
        return [
            name
            for (of, name), each in self.counts.items()
            if of == unit and name != unit and units.is_exact and each.is_exact and each.count == units.count
        ]


def pair_piece(piece: pa.Table, start: int | None, units: Sequence[str]) -> Pairs:
    """Count pairs of units and values in some records: as many as there are units if a column is constant within."""
    table = Table(piece)
    hashes = {name: _row_hashes(table, name) for name in piece.column_names}
    found = {}
    for unit in units:
        known = hashes[unit] != 0
        for name, values in hashes.items():
            pairs = hashes[unit] if name == unit else _mixed(hashes[unit] ^ (values << np.uint64(1)))
            found[unit, name] = Distinct.of(pairs[known])
    return Pairs(found)


def _row_hashes(table: Table, name: str) -> Hashes:
    """Return the hash of the value of each record; 0 where it is missing."""
    coded = plain_values(without_declared(table, name)).dictionary_encode()
    places = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    hashes = np.append(_hashes(coded.dictionary), np.uint64(0))
    return np.asarray(hashes[places], dtype=np.uint64)
