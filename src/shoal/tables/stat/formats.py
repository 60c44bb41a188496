"""How packages show numbers: which formats have no decimals, and which format a column is written with.

SPSS and SAS have one type of number. Whether an attribute is an integer shows in its format alone, so a column of
integers is written with a format without decimals, and a column of floats never is: a file that is read again gives the
same types, and masked values that are no longer whole are shown as they are.
"""

import re

import numpy as np
import pyarrow as pa

from shoal.tables.arrow import Array
from shoal.tables.stat.dates import Moment, Package, arrow_numbers, moment_of, moments, type_moment
from shoal.tables.stat.labels import Labels

_WHOLE: dict[Package, str] = {
    "spss": r"(F|N|COMMA|DOT|DOLLAR)(\d+)(\.0)?",
    "sas": r"(F|Z|COMMA|DOLLAR)?(\d+)(\.0)?",
    "stata": r"(%-?0?)(\d+)\.0fc?",
}
_MOMENTS: dict[Package, dict[Moment, str]] = {
    "spss": {"date": "DATE11", "datetime": "DATETIME20", "time": "TIME8"},
    "sas": {"date": "DATE9", "datetime": "DATETIME20", "time": "TIME8"},
    "stata": {"date": "%td", "datetime": "%tc", "time": "%tcHH:MM:SS"},
}
_WIDEST = 32  # characters of a number, in all packages


def is_whole(display: str | None, package: Package) -> bool:
    """Whether a format shows whole numbers only."""
    return display is not None and re.fullmatch(_WHOLE[package], display) is not None


def display_of(column: Array, labels: Labels, package: Package) -> str | None:
    """Choose the format that a column is written with: its own, unless that would give it another type."""
    own = labels.format if labels.package == package else None
    moment = type_moment(column.type)
    if moment is not None:
        return own if moment_of(own, package) == moment else _MOMENTS[package][moment]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return None
    if _reads_as_moment(column, own, package):
        own = None
    if pa.types.is_int32(column.type):  # Stata's own type of integers, whatever the format
        return own
    if pa.types.is_integer(column.type):
        return own if is_whole(own, package) else _whole_display(column, package)
    return _with_decimals(own, package) if is_whole(own, package) else own


def _reads_as_moment(column: Array, display: str | None, package: Package) -> bool:
    moment = moment_of(display, package)
    return moment is not None and moments(arrow_numbers(column), moment, package) is not None


def _whole_display(column: Array, package: Package) -> str:
    numbers = arrow_numbers(column)
    digits = len(f"{np.nanmin(numbers, initial=0):.0f}"), len(f"{np.nanmax(numbers, initial=0):.0f}")
    width = max(8, *digits)
    return f"%{width}.0f" if package == "stata" else f"F{width}.0"


def _with_decimals(display: str | None, package: Package) -> str | None:
    if package == "stata":
        return None  # its own default shows what there is
    match = re.fullmatch(_WHOLE[package], display or "")
    return f"F{min(int(match[2]) + 3, _WIDEST)}.2" if match else None
