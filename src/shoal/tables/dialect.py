"""How a CSV file is written: delimiter, quote, escape, decimal sign, line end. Found by looking, unless given."""

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import duckdb

from shoal.errors import PlanError
from shoal.plan import Csv
from shoal.tables.database import cursor
from shoal.tables.quoting import first_stray_quote

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 1 << 20
_NOTHING = "(empty)"  # what DuckDB says where it found no such character


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Attributes
    ----------
    delimiter, quote, decimal
        One character each.
    escape
        What stands before a quote inside quotes in the file that came in; none means that the quote is doubled, as it
        always is in a file that goes out.
    newline
        How lines end.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None
    decimal: Literal[".", ","] = "."
    newline: str = "\n"

    def as_csv(self) -> Csv:
        """Give the options that make `open_table` read what `write_table` wrote in this dialect."""
        return Csv(delimiter=self.delimiter, quote=self.quote, decimal=self.decimal, encoding="utf-8")


def dialect_for(path: Path, source: Dialect | None) -> Dialect:
    """Choose how a CSV file is to be written: like the one that came in, but a .tsv file has tabs between its cells."""
    dialect = source or Dialect()
    return replace(dialect, delimiter="\t") if path.suffix.lower() == ".tsv" else dialect


def check_options(csv: Csv) -> None:
    """Refuse options that no CSV file can have, all of them at once.

    Raises
    ------
    PlanError
        Naming each option that is wrong.
    """
    problems = []
    for field, value in (("delimiter", csv.delimiter), ("quote", csv.quote)):
        if value is not None and (not value.isascii() or value in "\r\n\0"):
            problems.append((f"csv.{field}", "must be an ASCII character that does not end a line"))
    if csv.quote is not None and csv.quote == csv.delimiter:
        problems.append(("csv.quote", "must differ from the delimiter"))
    if problems:
        raise PlanError(problems)


def find_dialect(data: bytes, csv: Csv) -> Dialect:
    """Find how a CSV file is written; DuckDB looks, the options overrule, the header has the last word.

    The decimal sign is left at its default: it shows in the cells, not in the structure.

    Parameters
    ----------
    data
        The file's text in UTF-8.
    csv
        What is known already.
    """
    sample = _sample(data)
    bare = re.sub(rb'"[^"]*"', b"", sample).lstrip(b"\r\n").decode(errors="replace")
    header = re.split(r"[\r\n]", bare, maxsplit=1)[0]
    sniffed = _sniff(sample, csv)
    delimiter = csv.delimiter or _delimiter(sniffed.get("Delimiter", ","), header)
    quote = csv.quote or _quote(sniffed.get("Quote", '"'), bare, delimiter)
    escape = sniffed.get("Escape", quote)
    if escape == quote or first_stray_quote(data, delimiter, quote, None) is None:
        return Dialect(delimiter, quote, newline=_newline(bare))
    return Dialect(delimiter, quote, escape, newline=_newline(bare))


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
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
            copy = Path(folder, "sample.csv")
            copy.write_bytes(sample)
            with cursor() as connection:
                row = connection.execute(query, [str(copy), *given.values()]).fetchone()
    except (duckdb.Error, OSError):
        return {}
    found = zip(("Delimiter", "Quote", "Escape"), row or (), strict=False)
    return {name: value for name, value in found if value not in (_NOTHING, "")}


def _delimiter(sniffed: str, header: str) -> str:
    """Overrule a delimiter that the header does not have: ragged files mislead the sniffer."""
    if sniffed in header:
        return sniffed
    best = max(_DELIMITERS, key=header.count)
    return best if best in header else sniffed


def _quote(sniffed: str, bare: str, delimiter: str) -> str:
    """Take an apostrophe for a quote only where the header has it or a cell needs it: it may be part of a text."""
    edge = f"[{re.escape(delimiter)}\r\n]"
    cells = re.finditer(f"{edge}{sniffed}([^{sniffed}]*){sniffed}(?={edge}|$)", bare)
    return sniffed if bare.startswith(sniffed) or any(re.search(edge, cell[1]) for cell in cells) else '"'


def _newline(bare: str) -> str:
    end = re.search(r"\r?\n", bare)
    return end.group() if end else "\n"
