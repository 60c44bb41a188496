"""How a CSV file is written: delimiter, quote, escape, decimal sign, line end. Found by looking, unless given.

Words that mean a missing value are never found by looking: only what was given is one.
"""

import contextlib
import csv as pycsv
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import duckdb

from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan import Csv
from shoal.tables.csv.quoting import in_records
from shoal.tables.duck import cursor

DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 1 << 20
_BACKSLASH = "\\"
_NOTHING = "(empty)"  # of DuckDB, where it found no such character


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None  # before a quote inside quotes in the input; None if it is doubled, as in every output
    decimal: Literal[".", ","] = "."
    newline: str = "\n"  # how lines end
    # Words that mean a missing value, beside the empty cell; the first is written where a masked column has none.
    missing: tuple[str, ...] = ()
    quotes_formulas: bool = False  # whether an apostrophe is written before text that looks like a formula

    def as_csv(self) -> Csv:
        """Return the options that make `open_table` read what `write_table` wrote in this dialect."""
        return Csv(
            delimiter=self.delimiter,
            quote=self.quote,
            decimal=self.decimal,
            encoding="utf-8",
            missing=list(self.missing),
        )


def dialect_for(path: Path, source: Dialect | None, quotes_formulas: bool) -> Dialect:
    """Choose the dialect of an output: that of the input, but a .tsv file has tabs between its cells."""
    dialect = replace(source or Dialect(), quotes_formulas=quotes_formulas)
    return replace(dialect, delimiter="\t") if path.suffix.lower() == ".tsv" else dialect


def check_options(csv: Csv) -> None:
    """Refuse options that no CSV file can have, all of them at once."""
    problems = []
    for field, value in (("delimiter", csv.delimiter), ("quote", csv.quote)):
        if value is not None and (not value.isascii() or value in "\r\n\0"):
            problems.append(Message("not-one-character", field=f"csv.{field}"))
    if csv.quote is not None and csv.quote == csv.delimiter:
        problems.append(Message("quote-is-delimiter", field="csv.quote"))
    problems += _wrong_words(csv.missing)
    if problems:
        raise PlanError(*problems)


def _wrong_words(words: list[str]) -> Iterator[Message]:
    if not all(words):
        yield Message("bad-missing-word", field="csv.missing", empty=True)
    if any(word != word.strip() for word in words):
        yield Message("bad-missing-word", field="csv.missing", blanks=True)
    if not all(word.isprintable() for word in words):
        yield Message("bad-missing-word", field="csv.missing", unprintable=True)
    for word in sorted({word for word in words if words.count(word) > 1 and word.isprintable()}):
        yield Message("names-twice", field="csv.missing", column=word)


def find_dialect(head: bytes, csv: Csv, blocks: Callable[[], Iterable[bytes]]) -> Dialect:
    """Find how a CSV file is written; DuckDB looks, the options overrule, the header has the last word.

    The decimal sign is left at its default: it shows in the cells, not in the structure.
    """
    sample = _sample(head)
    bare = re.sub(rb'"[^"]*"', b"", sample).lstrip(b"\r\n").decode(errors="replace")
    header = re.split(r"[\r\n]", bare, maxsplit=1)[0]
    sniffed = _sniff(sample, csv)
    delimiter = csv.delimiter or _delimiter(sniffed.get("Delimiter", ","), header)
    quote = csv.quote or _quote(sniffed.get("Quote", '"'), blocks, sample, delimiter)
    is_escaped = sniffed.get("Escape") == _BACKSLASH
    if not is_escaped or not any(stray for _, stray in in_records(blocks(), delimiter, quote, None)):
        return Dialect(delimiter, quote, newline=_newline(bare), missing=tuple(csv.missing))
    return Dialect(delimiter, quote, _BACKSLASH, newline=_newline(bare), missing=tuple(csv.missing))


def _sample(data: bytes) -> bytes:
    """Take the start of the file, cut between records as far as that can be seen."""
    if len(data) <= _SAMPLE:
        return data
    end = data.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE
    for _ in range(100):
        if data.count(b'"', 0, end) % 2 == 0:
            break
        end = data.rfind(b"\n", 0, end - 1) + 1 or _SAMPLE
    return data[:end]


def _sniff(sample: bytes, csv: Csv) -> dict[str, str]:
    """Ask DuckDB; what it did not find is left out. A file that it cannot make sense of gives nothing at all."""
    options = {"delim": csv.delimiter, "quote": csv.quote}
    given = {name: value for name, value in options.items() if value}
    arguments = ", ".join(["?", "skip = 0", "header = true", "all_varchar = true", *(f"{name} = ?" for name in given)])
    query = f"SELECT Delimiter, Quote, Escape FROM sniff_csv({arguments})"  # noqa: S608 (no text from outside)
    # the names of files may hold DuckDB's wildcards and the text may have been recoded, so DuckDB sees a copy
    try:
        with _nameless(sample) as copy, cursor() as connection:
            row = connection.execute(query, [copy, *given.values()]).fetchone()
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    except (duckdb.Error, OSError):
        return {}
    found = zip(("Delimiter", "Quote", "Escape"), row or (), strict=False)
    return {name: value for name, value in found if value not in (_NOTHING, "")}


@contextlib.contextmanager
def _nameless(content: bytes) -> Iterator[str]:
    """Yield a path to read the content from that is in no folder, so that nothing of it stays behind after a crash.

    Systems other than Linux have no such files; there it lies in a temporary folder for as long as it is read.
    """
    if sys.platform == "linux":
        with os.fdopen(os.memfd_create("sample"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
            path = Path(folder, "sample.csv")
            path.write_bytes(content)
            yield str(path)


def _delimiter(sniffed: str, header: str) -> str:
    """Overrule a delimiter that the header does not have: ragged files mislead the sniffer."""
    if sniffed in header:
        return sniffed
    best = max(DELIMITERS, key=header.count)
    return best if best in header else sniffed


def _quote(sniffed: str, blocks: Callable[[], Iterable[bytes]], sample: bytes, delimiter: str) -> str:
    """Take an apostrophe for a quote only where all names have it or rows come apart without it.

    It may be part of a text, as in 's-Gravenhage or dogs', and must never join two records: no line may end within.
    """
    if sniffed == '"':
        return '"'
    pieces = in_records(blocks(), delimiter, sniffed, None)
    if any(_quotes_a_line_end(piece, delimiter, sniffed) for piece, _ in pieces):
        return '"'
    text = sample.decode(errors="replace")
    header = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    cell = f"{sniffed}[^{sniffed}]+{sniffed}"
    named = re.fullmatch(f"{cell}(?:{re.escape(delimiter)}{cell})*", header) is not None
    needed = named or not _is_even(text, delimiter, '"')
    return sniffed if needed and _is_even(text, delimiter, sniffed) else '"'


def _quotes_a_line_end(data: bytes, delimiter: str, quote: str) -> bool:
    edge = f"[^{re.escape(delimiter)}\r\n]"
    cell = f"(?<!{edge}){quote}((?:[^{quote}]|{quote}{quote})*+)(?:{quote}(?!{edge})|$)"
    return any(re.search(rb"[\r\n]", found[1]) for found in re.finditer(cell.encode(), data))


def _is_even(text: str, delimiter: str, quote: str) -> bool:
    """Whether all rows have as many cells as the first."""
    try:
        rows = pycsv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
        return len({len(row) for row in rows if row}) == 1
    except pycsv.Error:
        return False


def _newline(bare: str) -> str:
    end = re.search(r"\r?\n", bare)
    return end.group() if end else "\n"
