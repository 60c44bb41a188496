"""The targets by name: what is fuzzed, where it starts from, and words that mutation may put in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fuzz import arrow_types, deep, readers, releases, requests, seeds, surface
from fuzz.oracle import SECRET, SECRET_NUMBER, own_folder


@dataclass(frozen=True)
class Target:
    """Something to fuzz.

    Attributes
    ----------
    tests
        Takes bytes, and raises if something happens that must not.
    start
        Gives inputs to begin with.
    words
        What a dictionary for mutation holds.
    """

    tests: Callable[[bytes], None]
    start: Callable[[], Iterable[bytes]]
    words: tuple[str, ...] = ()

    def run(self, data: bytes) -> None:
        """Test an input."""
        with own_folder():
            self.tests(data)


def _excel() -> list[bytes]:
    return [bytes([number]) + part for number, part in enumerate(seeds.workbook().values())]


def _random() -> list[bytes]:
    """Give bytes that make tables of 5 to 30 records, by each method and with each kind of column."""
    return [
        bytes((7 * i * i + 13 * start * i + start) % 251 for i in range(length))
        for start, length in enumerate((40, 80, 160, 240, 320, 400, 400, 400, 400, 400, 400, 400), start=3)
    ]


def _deep(data: bytes) -> None:
    deep.release(data)


_NUMBERS = ("1e308", "-1e309", "5e-324", "9007199254740993", "nan", "inf", "NA", str(SECRET_NUMBER), SECRET)
_TAGS = ("<Record>", "</Record>", "<V1>", "</V1>", "<V1/>", "<!DOCTYPE a", "<!ENTITY", "<![CDATA[", "]]>", "&#0;")
_TAGS += ("xmlns=",)
_XPATH = ("number(", "exists(", "index-of(", "document('a')", "$o", " div ", " mod ", " and ", "if (", " then ")
_XPATH += (" else ", "(:", ":)", "::", "..", "//", "not(", "string(", "round(", "true()", "V1", "''", "1e999")
_XPATH += ("every $x in ", " to ")
_RULES = ("if ", " then ", " else ", " and ", " or ", "not ", " in ", " is ", "missing", "integer", "original")
_RULES += ("abs(", "`")
_PLAN = ("k = ", "[csv]", "[scale]", "[types]", "true", "[[", "'''", "1979-05-27T07:32:00Z", "0x7f", "\\u0000")

TARGETS = {
    "csv": Target(
        readers.read_csv, lambda: seeds.texts(*seeds.CSV), (*_NUMBERS, '""', ";", "\t", "\r\n", "2020-01-01")
    ),
    "parquet": Target(readers.read_parquet, seeds.parquet, ("PAR1",)),
    "arrow": Target(readers.read_arrow, seeds.arrow, ("ARROW1",)),
    "xml": Target(readers.read_xml, lambda: seeds.texts(*seeds.XML), (*_NUMBERS, *_TAGS)),
    "excel": Target(
        readers.read_excel, _excel, (*_NUMBERS, '<c r="A1"', 't="s"', 't="inlineStr"', "<v>", "<row", "<f>")
    ),
    "schematron": Target(
        requests.read_schematron, lambda: seeds.texts(*seeds.SCHEMATRON), (*_TAGS, *_XPATH, "<let", "<assert", "test=")
    ),
    "xpath": Target(requests.read_xpath, lambda: seeds.texts(*seeds.XPATH), _XPATH),
    "rules": Target(requests.read_plain, lambda: seeds.texts(*seeds.RULES), _RULES),
    "plan": Target(requests.read_plan, lambda: seeds.texts(*seeds.PLANS), (*_NUMBERS, *_PLAN)),
    "types": Target(arrow_types.release, _random),
    "protect": Target(releases.release, _random),
    "deep": Target(_deep, _random),
    "functions": Target(surface.functions, _random),
    "command": Target(surface.command, _random),
}
