"""Rules from a file or a list, in either language."""

import codecs
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from shoal.edits.expressions import Rule
from shoal.edits.messages import gathered, with_unique_names
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
        raise PlanError([("edits", "must be the path of a file of rules, or a list of rules as texts")])
    return _from_lines(source, "rule", "the list", shown=True)


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
        raise FileError(f"line {line} of '{path}' is not text in UTF-8. Save the rules in that encoding") from None
    try:
        return _from_lines(_ENDS.split(text), "line", f"'{path}'", shown=False)
    except PlanError as error:
        of = rf"\1 of '{Path(path).name}'"
        raise PlanError([(field, re.sub(r"^(line \d+)", of, what)) for field, what in error.problems]) from None


def _from_lines(lines: Sequence[str], noun: str, where: str, *, shown: bool) -> list[Rule]:
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if not _NO_TEXT.fullmatch(line)]
    if not numbered:
        raise PlanError([("edits", f"There is no rule in {where}. Write one, or leave out --edits")])
    readings = (partial(parse_rule, line, f"{noun} {number}", shown=shown) for number, line in numbered)
    return with_unique_names(gathered(readings))
