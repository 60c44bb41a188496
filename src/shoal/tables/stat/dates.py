"""Dates and times between statistics packages and Arrow.

A package stores a moment as a number of days, seconds or milliseconds from its own origin, and the display format of
the variable says that it is one. In Arrow, dates are date32, dates with a time timestamp[ms] (SPSS's seconds since 1582
are exact to some microseconds only) and times of the day time64[us]. What has no place there stays a number with its
format: durations over a day, years beyond 9999, fractions of a millisecond, weeks, months and quarters.
"""

import re
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.tables.arrow import Array

Package = Literal["spss", "stata", "sas"]
Moment = Literal["date", "datetime", "time"]

TYPES: dict[Moment, pa.DataType] = {"date": pa.date32(), "datetime": pa.timestamp("ms"), "time": pa.time64("us")}

_DAY = 86_400_000  # milliseconds
# the first day of a package, counted from 1 January 1970: 14 October 1582, and twice 1 January 1960
_FIRST_DAY: dict[Package, int] = {"spss": -141_428, "stata": -3_653, "sas": -3_653}
# Arrow's units in so many units of the package
_UNITS: dict[tuple[Package, Moment], tuple[int, int]] = {
    ("spss", "date"): (1, 86_400),
    ("spss", "datetime"): (1_000, 1),
    ("spss", "time"): (1_000_000, 1),
    ("sas", "date"): (1, 1),
    ("sas", "datetime"): (1_000, 1),
    ("sas", "time"): (1_000_000, 1),
    ("stata", "date"): (1, 1),
    ("stata", "datetime"): (1, 1),
    ("stata", "time"): (1_000, 1),
}
_YEARS = (-719_162, 2_932_896)  # days from the start of year 1 to the end of year 9999
LIMITS: dict[Moment, tuple[int, int]] = {
    "date": _YEARS,
    "datetime": (_YEARS[0] * _DAY, (_YEARS[1] + 1) * _DAY - 1),
    "time": (0, 1_000 * _DAY - 1),
}
# of a unit of Arrow, for what a float64 rounds away; days are exact
_SLACK: dict[Moment, float] = {"date": 0.0, "datetime": 0.1, "time": 0.01}

_SAS_DATE = r"(WEEKDATE|WEEKDATX|DATE|(MMDDYY|DDMMYY|YYMMDD)[BCDNPS]?|(IS|E|B)8601DA)"
_FORMATS: dict[tuple[Package, Moment], str] = {
    ("spss", "date"): r"[AEJS]?DATE\d*",
    ("spss", "datetime"): r"(DATETIME|YMDHMS)\d*(\.\d+)?",
    ("spss", "time"): r"TIME\d*(\.\d+)?",
    ("sas", "date"): rf"{_SAS_DATE}\d*",
    ("sas", "datetime"): r"(DATETIME|DATEAMPM|MDYAMPM|DTDATE|(IS|E|B)8601D[TN])\d*(\.\d+)?",
    ("sas", "time"): r"(TIME|HHMM|TOD|TIMEAMPM|(IS|E|B)8601TM)\d*(\.\d+)?",
    ("stata", "date"): r"%-?t?d.*",
    ("stata", "datetime"): r"%-?tc(?!HH:MM(:SS)?$).*",  # %tC counts leap seconds, which nothing else does
    ("stata", "time"): r"%-?tcHH:MM(:SS)?",
}


def moment_of(display: str | None, package: Package) -> Moment | None:
    """Find what a display format of a package makes of a number, if it is a date or a time."""
    for (owner, moment), pattern in _FORMATS.items():
        if owner == package and display is not None and re.fullmatch(pattern, display):
            return moment
    return None


def type_moment(kind: pa.DataType) -> Moment | None:
    """Find which moments an Arrow type holds, in any unit."""
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "datetime"
    return "time" if pa.types.is_time(kind) else None


def to_arrow_numbers(raw: NDArray[np.float64], moment: Moment, package: Package) -> NDArray[np.float64]:
    """Count in Arrow's units from Arrow's origin what a package stores; NaN and infinity stay what they are."""
    times, per = _UNITS[package, moment]
    return raw * times / per + _origin(moment, package)


def to_package_numbers(numbers: NDArray[np.float64], moment: Moment, package: Package) -> NDArray[np.float64]:
    """Count in the package's units from its origin what Arrow stores."""
    times, per = _UNITS[package, moment]
    return (numbers - _origin(moment, package)) * per / times


def _origin(moment: Moment, package: Package) -> int:
    return 0 if moment == "time" else _FIRST_DAY[package] * (1 if moment == "date" else _DAY)


def moments(raw: NDArray[np.float64], moment: Moment, package: Package) -> Array | None:
    """Return a package's numbers as Arrow's moments, NaN as null, or nothing where one has no place in the type."""
    with np.errstate(over="ignore"):  # what is too large does not fit
        exact = to_arrow_numbers(raw, moment, package)
    absent = np.isnan(exact)
    numbers = np.rint(np.where(absent, 0, exact))
    low, high = LIMITS[moment]
    with np.errstate(invalid="ignore"):
        is_near = np.abs(exact - numbers) <= _SLACK[moment]
    fits = absent | (is_near & (numbers >= low) & (numbers <= high))
    if not fits.all():
        return None
    storage = pa.int32() if moment == "date" else pa.int64()
    return pa.array(numbers.astype(np.int64), mask=absent).cast(storage).cast(TYPES[moment])


def arrow_numbers(column: Array) -> NDArray[np.float64]:
    """Return numbers, or the numbers that Arrow stores for moments, as float64; null is NaN."""
    moment = type_moment(column.type)
    if moment is not None:
        column = column.cast(TYPES[moment], safe=False).cast(pa.int32() if moment == "date" else pa.int64())
    floats: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats
