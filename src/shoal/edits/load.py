"""Rules from a file or a list, in either language."""

import codecs
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from shoal.edits.expressions import Rule
from shoal.edits.messages import Location, gathered, with_unique_names
from shoal.edits.plain_text import parse_rule
from shoal.errors import FileError, PlanError
from shoal.tables.atomic import read_small

_LARGEST = 10_000_000  # bytes of a file of rules
_ENDS = re.compile(r"\r\n|\r|\n")
_NO_TEXT = re.compile(r"\s*(?:#.*)?", re.DOTALL)
# byte order marks, and the zeros of UTF-16
_BEFORE_MARKUP = codecs.BOM_UTF8 + codecs.BOM_UTF16 + b"\xfe\xff\0 \t\r\n"


def read_rules(source: str | os.PathLike[str] | Sequence[str]) -> list[Rule]:
    """Read rules from a file, or from a list of rules in plain text.

    A file is Schematron if it ends in ``.sch`` or ``.xml`` or begins with ``<``, and otherwise plain text in UTF-8, one
    rule a line. All rules that cannot be read are named. No two have the same name.
    """
    if isinstance(source, str | os.PathLike):
        return _from_file(os.fspath(source))
    if not isinstance(source, Sequence) or not all(isinstance(each, str) for each in source):
        raise PlanError("not-rules", field="edits")
    return _from_lines(source)


def _from_file(path: str) -> list[Rule]:
    data = read_small(Path(path), "file of rules", _LARGEST, "single rules are given by --edit, or as a list in Python")
    if path.lower().endswith((".sch", ".xml")) or data.lstrip(_BEFORE_MARKUP).startswith(b"<"):
        from shoal.edits.schematron import read_schematron  # with a parser of XPath: slow to load

        return read_schematron(data, path)
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n|\r|\n", data[: error.start])) + 1
        raise FileError("not-utf8", line=line, file=Path(path).name) from None
    return _from_lines(_ENDS.split(text), Path(path).name)


def _from_lines(lines: Sequence[str], file: str = "") -> list[Rule]:
    """Read rules line by line, those of a file without showing them in messages."""
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if not _NO_TEXT.fullmatch(line)]
    if not numbered:
        raise PlanError("no-rules", field="edits", file=file)
    readings = (
        partial(parse_rule, line, Location(line=number, file=file) if file else Location(number), shown=not file)
        for number, line in numbered
    )
    return with_unique_names(gathered(readings))
