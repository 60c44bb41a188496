"""Files of SPSS, Stata and SAS out: what the file can hold of a table (see `.limits`), with its labels.

The same table gives the same bytes: the headers of these files have a place for the time of writing, in which there is
always the same one.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, FileError, MissingExtra
from shoal.messages import Message
from shoal.tables.arrow import Array
from shoal.tables.dtypes import is_text
from shoal.tables.stat.dates import Package, arrow_numbers, to_package_numbers, type_moment
from shoal.tables.stat.formats import display_of
from shoal.tables.stat.labels import Code, Labels, labels_of, letters_of
from shoal.tables.stat.limits import HOLDERS, TITLES, StatisticsKind, held
from shoal.tables.text_values import one_chunk

_WRITERS: dict[StatisticsKind, dict[str, Any]] = {
    "sav": {"writer_format": "sav"},
    "zsav": {"writer_format": "sav", "compress": True},
    "por": {"writer_format": "por"},
    "dta": {"writer_format": "dta", "version": 15},
    "xpt": {"writer_format": "xport", "version": 8},
}
# the same moment in the words of each kind, and where it stands: so many bytes from the start, or behind these bytes
_STAMPS: dict[StatisticsKind, list[tuple[int | bytes, bytes]]] = {
    "sav": [(92, b"01 Jan 80"), (101, b"00:00:00")],
    "zsav": [(92, b"01 Jan 80"), (101, b"00:00:00")],
    "por": [(b"SPSSPORTA8/", b"198001016/000\r\n000")],
    "dta": [(b"<timestamp>\x11", b"01 Jan 1980 00:00")],
    "xpt": [(at, b"01JAN80:00:00:00") for at in (144, 160, 464, 480)],
}
_HEADER = 1024


def write_statistics(table: pa.Table, path: Path, kind: StatisticsKind) -> None:
    """Write a file of a statistics package, to exactly this path."""
    try:
        import polars as pl

        # the public functions are this one; but they write no value labels to portable files
        from pyreadstat._readstat_writer import writer_entry_point
    except ImportError:
        raise MissingExtra(f"writing {TITLES[kind]} files", "stat") from None
    path.open("wb").close()  # fails with a reason, which the library does not have
    ready = held(table, kind)
    package = HOLDERS[kind].package
    options = _options(ready, package)
    lettered = options["missing_user_values"]
    frame = pl.DataFrame([_series(pl, ready, name, name in lettered, package) for name in ready.column_names])
    options = {name: value for name, value in options.items() if value}
    try:
        writer_entry_point(frame, str(path), file_label="", **_WRITERS[kind], **options)
    except Exception as error:  # with values in its words, some of them
        if "Unable to write" in str(error):
            raise FileError("file-not-writable", path=str(path), reason=Message("disk-error", full=True)) from None
        raise DataError("labels-not-for-format", format=TITLES[kind]) from None
    _stamp(path, kind)


def _options(ready: pa.Table, package: Package) -> dict[str, dict[str, Any]]:
    """Gather labels and formats of the columns, by column, under the names that the library has for them."""
    options: dict[str, dict[str, Any]] = {
        "column_labels": {},
        "variable_value_labels": {},
        "missing_ranges": {},
        "missing_user_values": {},
        "variable_measure": {},
        "variable_display_width": {},
        "variable_format": {},
    }
    for field in ready.schema:
        labels, column = labels_of(field), one_chunk(ready.column(field.name))
        said = {
            "column_labels": labels.label,
            "variable_value_labels": {_raw(code, column, package): text for code, text in labels.values.items()},
            "missing_ranges": [
                {"lo": _raw(low, column, package), "hi": _raw(high, column, package)} for low, high in labels.missing
            ],
            "missing_user_values": _letters(column, labels),
            "variable_measure": labels.measure,
            "variable_display_width": labels.width if package == "spss" else None,
            "variable_format": display_of(column, labels, package),
        }
        for option, value in said.items():
            if value:
                options[option][field.name] = value
    return options


def _raw(code: Code, column: Array, package: Package) -> int | float | str:
    """Return a code as the package stores it."""
    moment = type_moment(column.type)
    if isinstance(code, str):
        return code
    if moment is not None:
        return float(to_package_numbers(np.array([code]), moment, package)[0])
    return int(code) if pa.types.is_int32(column.type) else float(code)


def _letters(column: Array, labels: Labels) -> list[str]:
    """List the extended missing values that a column holds or has labels for."""
    if is_text(column.type):
        return []
    letters = {code for code in labels.values if isinstance(code, str)}
    if pa.types.is_floating(column.type):
        found = np.unique(letters_of(column.to_numpy(zero_copy_only=False)))
        letters |= {chr(byte) for byte in found if byte}
    return sorted(letters)


def _series(pl: Any, ready: pa.Table, name: str, is_lettered: bool, package: Package) -> Any:
    """Convert a column for the library: text, integers of 32 bits or floats, or objects where there may be letters."""
    column = one_chunk(ready.column(name))
    if is_text(column.type):
        return pl.Series(name, column.fill_null(""), dtype=pl.String)
    if is_lettered:
        letters = letters_of(arrow_numbers(column))
        cells = [chr(byte) if byte else cell for byte, cell in zip(letters, column.to_pylist(), strict=True)]
        return pl.Series(name, cells, dtype=pl.Object)
    if pa.types.is_int32(column.type):
        return pl.Series(name, column, dtype=pl.Int32)
    numbers = arrow_numbers(column)
    moment = type_moment(column.type)
    if moment is not None:
        numbers = to_package_numbers(numbers, moment, package)
    return pl.Series(name, numbers, nan_to_null=True)


def _stamp(path: Path, kind: StatisticsKind) -> None:
    with path.open("rb+") as file:
        header = file.read(_HEADER)
        for place, stamp in _STAMPS[kind]:
            at = place if isinstance(place, int) else header.index(place) + len(place)
            file.seek(at)
            file.write(stamp)
