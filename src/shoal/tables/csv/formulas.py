"""Text cells of a CSV file that a spreadsheet may run as formulas: found, counted, and quoted by an apostrophe.

Formulas begin with a sign. Spreadsheets differ in what they pass over before it: OWASP names tabs and line ends, and
the full-width forms of the signs. Here blanks of any kind, controls and characters without width are passed over: a
warning too many does no harm.

Quoting loses nothing: a cell that begins with apostrophes before such a text gets one more, so that removing one gives
every cell back.
"""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from shoal.errors import DataError
from shoal.tables.arrow import Array, pc
from shoal.tables.csv.dialect import Dialect
from shoal.tables.dataframes import rebuild
from shoal.tables.dtypes import is_text
from shoal.tables.table import Table
from shoal.tables.text_values import FIGURE, decoded, one_chunk

# Patterns for Arrow (RE2) and Spark (Java) alike. A sign alone is no formula.
_UNSEEN = r"\p{Z}\p{Cc}\p{Cf}"
_BLANK = f"[{_UNSEEN}]"
FORMULA = rf"^'*{_BLANK}*[=+\-@\x{{FF1D}}\x{{FF0B}}\x{{FF0D}}\x{{FF20}}]{_BLANK}*[^{_UNSEEN}]"
PLAIN_NUMBER = rf"^'*{_BLANK}*(?:{FIGURE}){_BLANK}*\z"


def is_formula(text: Array, words: Sequence[str] = ()) -> Array:
    """Whether a spreadsheet may run each text as a formula: numbers, and `words` for missing values, are none."""
    found: Array = pc.match_substring_regex(text, FORMULA)
    if not pc.any(found).as_py():
        return found
    found = pc.and_(found, pc.invert(pc.match_substring_regex(text, PLAIN_NUMBER)))
    if words:
        found = pc.and_(found, pc.invert(pc.is_in(pc.utf8_trim_whitespace(text), pa.array(words, text.type))))
    return found


def formulas_in(table: pa.Table, dialect: Dialect) -> dict[str, int]:
    """Count the text cells of each column that a spreadsheet may run as formulas; columns without any are left out."""
    texts = {name: decoded(one_chunk(table.column(name))) for name in table.column_names}
    counts = {
        name: pc.sum(is_formula(text, dialect.missing)).as_py() for name, text in texts.items() if is_text(text.type)
    }
    return {name: int(count) for name, count in counts.items() if count}


def formula_names(names: Sequence[str]) -> list[str]:
    """Return the names of columns that a spreadsheet may run as formulas."""
    found = is_formula(pa.array(names, pa.string())).to_pylist()
    return [name for name, is_one in zip(names, found, strict=True) if is_one]


def with_apostrophes(column: Array, words: Sequence[str] = ()) -> Array:
    """Put an apostrophe before every text that a spreadsheet may run as a formula."""
    text = decoded(column)
    if not is_text(text.type):
        return column
    found = is_formula(text, words)
    if not pc.any(found).as_py():
        return column
    quote = pa.scalar("'", text.type)
    changed: Array = pc.if_else(found, pc.binary_join_element_wise(quote, text, pa.scalar("", text.type)), text)
    return changed


def without_apostrophes(column: Array, words: Sequence[str] = ()) -> Array:
    """Undo `with_apostrophes`; a column in which formulas are left without one was not quoted, and stays."""
    text = decoded(column)
    if not is_text(text.type) or not pc.any(begins := pc.starts_with(text, "'")).as_py():
        return column
    found = is_formula(text, words)
    if not pc.any(found).as_py() or pc.any(pc.and_not(found, begins)).as_py():
        return column
    plain: Array = pc.if_else(found, pc.utf8_slice_codeunits(text, 1), text)
    return plain.dictionary_encode() if isinstance(column, pa.DictionaryArray) else plain


def unquoted(table: Table) -> Table:
    """Return a table without the apostrophes before formulas."""
    words = () if table.dialect is None else table.dialect.missing
    columns = {}
    for name in table.names:
        try:
            column = table.column(name)
        except DataError:  # Python objects, which are refused where they are used
            continue
        if (plain := without_apostrophes(column, words)) is not column:
            columns[name] = plain
    spelling = {name: without_apostrophes(text, words) for name, text in table.spelling.items()}
    if not columns:
        return replace(table, spelling=spelling)
    return replace(table, native=rebuild(table.native, columns, ()), spelling=spelling)


def unquoted_piece(piece: pa.Table, words: Sequence[str]) -> pa.Table:
    """Return some records of a CSV file without the apostrophes before formulas."""
    return pa.table({name: without_apostrophes(one_chunk(piece.column(name)), words) for name in piece.column_names})
