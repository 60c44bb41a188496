"""Between the text of a cell and its value, whole columns at a time, in both directions."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa

from shoal.tables.arrow import Array, ChunkedArray, empty_text, pc
from shoal.tables.dtypes import is_number, is_text

_WHOLE = r"^[+-]?(?:0|[1-9][0-9]*)$"
_DECIMAL = r"^-?[0-9]{1,38}$"
NUMBER = r"^[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_ANY_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
# a leading zero makes a code, such as a post code, and no number
_CODE = r"^[+-]?0[0-9]+(?:[.,][0-9]*)?$"
# what a person would take for a number in some country, with or without marks between thousands
FIGURE = r"[+-]?(?:(?:[0-9]+|[0-9]{1,3}(?:[.,' ][0-9]{3})+)(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
_FIGURE = f"^(?:{FIGURE})$"
_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_BOOLEAN = r"^(?i:true|false)$"
MISSING = r"^(?i:nan|na|n/a|n\.a\.|#n/a|null|none|missing|\?|-|\.{1,2})$"
_INFINITE = r"^[+-]?(?i:inf|infinity)$"
_SAMPLE = 1000

# the types of cells, the first that holds all of a column is its own
_NUMBERS = (pa.int64(), pa.uint64(), pa.decimal128(38, 0), pa.float64())
_MOMENTS = (pa.date32(), *(pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("us", "ns")))
_WHOLE_TYPES: frozenset[pa.DataType] = frozenset(_NUMBERS)


def types_of(cells: Array, decimal: str) -> frozenset[pa.DataType] | None:
    """Types, other than text, that hold every cell of a text column; None if all cells are blank.

    Whether a type holds a cell depends on that cell alone: the types of a column are those that all its pieces have.
    """
    whole = _cast(cells, pa.int64())
    if whole is not None and whole.null_count < len(whole) and whole.cast(cells.type).equals(cells):
        return _WHOLE_TYPES if pc.min(whole).as_py() >= 0 else _WHOLE_TYPES - {pa.uint64()}
    plain = _without_blanks(cells)
    if plain.null_count == len(plain):
        return None
    pointed = _pointed(plain, decimal)
    if _all_match(pointed, NUMBER):
        return frozenset([pa.float64(), *_whole_types(pointed)])
    if _all_match(plain, _BOOLEAN):
        return frozenset({pa.bool_()})
    return frozenset(kind for kind in _MOMENTS if _cast(plain, kind) is not None)


def _whole_types(pointed: Array) -> Iterator[pa.DataType]:
    if _all_match(pointed, _WHOLE):
        bare = pc.utf8_ltrim(pointed, "+")
        # whole numbers that no integer can hold are decimals, which keep every digit
        if pc.all(pc.match_substring_regex(bare, _DECIMAL)).as_py():  # Arrow cuts longer ones without a word
            yield pa.decimal128(38, 0)
        yield from (kind for kind in (pa.int64(), pa.uint64()) if _cast(bare, kind) is not None)


def narrowest(types: Collection[pa.DataType]) -> pa.DataType | None:
    """Type that a column is read as, of those that hold all its cells; None if it is text."""
    return next((kind for kind in (*_NUMBERS, pa.bool_(), *_MOMENTS) if kind in types), None)


def as_type(cells: Array, kind: pa.DataType, decimal: str) -> Array:
    """Convert the text of cells to a type that holds them all; blank cells are missing values."""
    if (kind == pa.int64() or (kind == pa.float64() and decimal == ".")) and (found := _cast(cells, kind)) is not None:
        return found
    plain = _without_blanks(cells)
    if pa.types.is_boolean(kind):
        return cast("Array", pc.equal(pc.utf8_lower(plain), "true"))
    if is_number(kind):
        pointed = _pointed(plain, decimal)
        plain = pointed if pa.types.is_floating(kind) else pc.utf8_ltrim(pointed, "+")
    return plain.cast(kind)


def infer(cells: Array, decimal: str) -> Array:
    """Convert a text column to the type that holds for every record, or return the text as it is."""
    kind = narrowest(types_of(cells, decimal) or ())
    return cells if kind is None else as_type(cells, kind, decimal)


def find_decimal(pieces: Iterable[pa.Table]) -> Literal[".", ","]:
    """Find the decimal sign: a comma where some column of text is made of numbers with commas, in all its pieces.

    Commas that could all stand between thousands prove nothing.
    """
    is_proven: dict[str, bool] | None = None
    for piece in pieces:
        is_proven = dict.fromkeys(piece.column_names, False) if is_proven is None else is_proven
        for name in list(is_proven):
            plain = _without_blanks(one_chunk(piece.column(name)))
            if not _all_match(_pointed(plain, ","), NUMBER):
                del is_proven[name]
            elif not is_proven[name]:
                grouped = pc.or_(pc.match_substring_regex(plain, _THOUSANDS), pc.invert(pc.match_substring(plain, ",")))
                is_proven[name] = not pc.all(grouped).as_py()
        if not is_proven:
            break
    return "," if any((is_proven or {}).values()) else "."


def first_not_number(cells: Array, decimal: str, *, codes: bool = False) -> int | None:
    """Find the first record (from 1) of a text column that is not a number, nor a code where `codes` lets them pass."""
    for some in (cells.slice(0, _SAMPLE), cells):  # text shows at once
        plain = _without_blanks(some)
        good = pc.match_substring_regex(_pointed(plain, decimal), NUMBER)
        if codes:
            good = pc.or_(good, pc.match_substring_regex(plain, _CODE))
        at = pc.index(good, pa.scalar(False)).as_py()
        if at >= 0:
            return int(at) + 1
    return None


def first_where(flags: Array) -> int | None:
    """Find the first record (from 1) for which something holds."""
    at = pc.index(flags, pa.scalar(True)).as_py()
    return None if at < 0 else at + 1


def first_not_date(cells: Array) -> int | None:
    """Find the first record (from 1) of a text column that is no ISO date where at least half of its cells are."""
    plain = _without_blanks(cells)
    dates = pc.match_substring_regex(plain, _DATE)
    if not 2 * (pc.sum(dates).as_py() or 0) >= len(plain) - plain.null_count > 0:
        return None
    return first_where(pc.invert(dates))


def without_words(cells: Array, words: Sequence[str]) -> Array:
    """Make null of the cells of a text column that are one of some words; blanks around a cell do not count.

    A column without such a cell comes back as it is.
    """
    if not words:
        return cells
    found = pc.is_in(pc.utf8_trim_whitespace(cells), pa.array(words, cells.type))
    if not pc.any(found).as_py():
        return cells
    rest: Array = pc.if_else(found, pa.scalar(None, cells.type), cells)
    return rest


def looks_missing(cell: str) -> bool:
    """Whether a cell has a word for a missing value."""
    return re.match(MISSING, cell.strip()) is not None


def looks_infinite(cell: str) -> bool:
    """Whether a cell has a word for infinity."""
    return re.match(_INFINITE, cell.strip()) is not None


def may_be_value(name: str) -> bool:
    """Whether a name could be taken for a value: all other names, in a moment, could not."""
    return any(map(str.isdigit, name)) or "true" in name.lower() or "false" in name.lower()


def is_like_name(values: Array, name: str, decimal: str) -> bool:
    """Whether a column holds what its name looks like, so that a header could be taken for a record or be one."""
    if not may_be_value(name):
        return False
    head = pa.array([name], pa.large_string())
    if pc.match_substring_regex(_without_blanks(head), _FIGURE)[0].as_py():
        if is_text(values.type):
            cells = values.cast(pa.large_string())
            return 2 * count_figures(cells, codes=True) >= max(1, count_present(cells))
        return is_number(values.type)
    kind = infer(head, decimal).type
    if is_text(kind):
        return False
    return bool((infer(values, decimal) if is_text(values.type) else values).type.id == kind.id)


def count_figures(cells: Array, *, codes: bool = False) -> int:
    """Count the cells that a person would take for numbers; and codes, with `codes`."""
    values = pc.value_counts(cells)  # text repeats itself: look at each cell once
    plain, counts = _without_blanks(values.field("values")), values.field("counts")
    figures = pc.match_substring_regex(plain, _FIGURE)
    if not codes:
        figures = pc.and_(figures, pc.invert(pc.match_substring_regex(plain, _CODE)))
    return int(pc.sum(counts.filter(figures)).as_py() or 0)


def count_present(cells: Array) -> int:
    """Count the cells of a text column that are not blank."""
    return int(pc.sum(pc.not_equal(pc.utf8_trim_whitespace(cells), empty_text())).as_py() or 0)


def count_numbers(cells: Array, decimal: str) -> int:
    """Count the cells of a text column that are numbers."""
    found = pc.sum(pc.match_substring_regex(_pointed(_without_blanks(cells), decimal), NUMBER)).as_py()
    return int(found or 0)


def each_number(cells: Array, decimal: str) -> Array:
    """Convert cells to floats, each by itself: null is what is no number, and zeros in front do not matter."""
    pointed = _pointed(_without_blanks(cells), decimal)
    plain = pc.if_else(pc.match_substring_regex(pointed, _ANY_NUMBER), pointed, pa.scalar(None, pointed.type))
    return cast("Array", plain.cast(pa.float64()))


def render(values: Array, decimal: str) -> Array:
    """Write a column as text; floats as the shortest text that reads back as the same double, never as integers.

    Floats of any width are written as the doubles that they equal, because doubles is what a reader will take them
    for. Moments have all the digits of their unit: see `coarsest`.
    """
    kind: Any = values.type
    text: Array
    if isinstance(values, pa.DictionaryArray):
        return render(decoded(values), decimal)
    if pa.types.is_floating(kind):
        doubles = values.cast(pa.float64())
        doubles = pc.if_else(pc.is_nan(doubles), pa.scalar(None, pa.float64()), doubles)
        text = pc.replace_substring_regex(doubles.cast(pa.large_string()), r"^(-?[0-9]+)$", r"\1.0")
    else:
        text = values.cast(pa.large_string())
    if decimal != "." and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        text = pc.replace_substring(text, ".", decimal)
    return text


def coarsest(values: Array) -> Array:
    """Return moments in the coarsest unit that holds all of them; other columns stay as they are.

    To be called with a whole column: parts of it may need less.
    """
    kind: Any = values.type
    if isinstance(values, pa.DictionaryArray) and pa.types.is_timestamp(kind.value_type):
        return coarsest(decoded(values))
    if pa.types.is_timestamp(kind):
        for unit in ("s", "ms", "us"):
            found = _cast(values, pa.timestamp(unit, kind.tz))
            if found is not None:
                return found
    return values


def decoded(values: Array) -> Array:
    """Return the values behind a dictionary or run lengths, one a record."""
    if isinstance(values, pa.DictionaryArray):
        return decoded(without_views(values.dictionary).take(values.indices))
    return decoded(pc.run_end_decode(values)) if pa.types.is_run_end_encoded(values.type) else values


def without_views(values: Array) -> Array:
    """Return texts that are views as what they look at, in dictionaries too: Arrow can do little with views."""
    if isinstance(values, pa.DictionaryArray):
        whole = without_views(values.dictionary)
        return pa.DictionaryArray.from_arrays(values.indices, whole, ordered=values.type.ordered)
    for is_view, kind in ((pa.types.is_string_view, pa.large_string()), (pa.types.is_binary_view, pa.large_binary())):
        if is_view(values.type):
            return values.cast(kind)
    return values


def joined(*parts: Array | str, by: str = "") -> Array:
    """Join texts record by record; a part that is the same in every record is given once. Null where a part is."""
    texts = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, by)]
    whole: Array = pc.binary_join_element_wise(*texts)
    return whole


def all_text(lines: Array) -> memoryview:
    """Return the texts of a column of wide text without nulls as one: they lie one behind the other in memory."""
    _, offsets, text = (memoryview(buffer or b"") for buffer in lines.buffers())
    ends = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return text[int(ends[0]) : int(ends[-1])]


def one_chunk(column: Array | ChunkedArray) -> Array:
    """Join the chunks of a column; text of more than 2 GB needs the wider type."""
    if isinstance(column, pa.Array):
        return column
    if pa.types.is_string(column.type) and column.nbytes >= np.iinfo(np.int32).max:
        column = column.cast(pa.large_string())
    joined = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return cast("Array", joined)  # the stubs think that it may have chunks still


def _without_blanks(cells: Array) -> Array:
    plain = pc.utf8_trim_whitespace(cells)
    present: Array = pc.if_else(pc.equal(plain, empty_text()), pa.scalar(None, plain.type), plain)
    return present


def _pointed(plain: Array, decimal: str) -> Array:
    """Replace the decimal character by a point, and other points by something that no number contains."""
    if decimal == ".":
        return plain
    pointed: Array = pc.replace_substring(pc.replace_substring(plain, ".", "?"), decimal, ".")
    return pointed


def _all_match(plain: Array, pattern: str) -> bool:
    return all(pc.all(pc.match_substring_regex(some, pattern)).as_py() for some in _some_and_all(plain))


def _cast(cells: Array, kind: pa.DataType) -> Array | None:
    try:
        # Arrow goes on after the first cell that it cannot cast, at a microsecond for each
        return [some.cast(kind) for some in _some_and_all(cells)][-1]
    except pa.ArrowInvalid:
        return None


def _some_and_all(cells: Array) -> Iterator[Array]:
    """Yield cells from all over a long column, which tell at little cost what it is not, and then all cells."""
    if len(cells) > 2 * _SAMPLE:
        yield cells.take(np.linspace(0, len(cells) - 1, _SAMPLE).astype(np.int64))
    yield cells
