"""Where tables come from and go to: a path or a dataframe in, a file out. The kind of a file follows from its name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import DataError, FileError, PlanError
from shoal.plan import Csv
from shoal.tables.atomic import in_words, no_such_file, not_complete
from shoal.tables.csv.writing import write_csv
from shoal.tables.dataframes import adopt
from shoal.tables.numbers import find_odd
from shoal.tables.stat.subprocess import read_apart
from shoal.tables.stat.writing import write_statistics
from shoal.tables.storage import STATISTICS, Kind, plain_dictionaries
from shoal.tables.table import Table

KINDS: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xml": "xml",
    ".sav": "sav",
    ".zsav": "zsav",
    ".por": "por",
    ".dta": "dta",
    ".xpt": "xpt",
    ".sas7bdat": "sas7bdat",
}


def kind_of(path: str | os.PathLike[str]) -> Kind:
    """Find the kind of a file from the ending of its name."""
    kind = KINDS.get(Path(path).suffix.lower())
    if kind is None:
        raise FileError("unknown-extension", path=str(path), extensions=[*KINDS])
    return kind


def writable_kind(path: str | os.PathLike[str]) -> Kind:
    """Find the kind of an output file from the ending of its name; some kinds can only be read."""
    kind = kind_of(path)
    if kind == "sas7bdat":
        raise FileError("read-only-format", path=str(path), extension=".sas7bdat", instead=".xpt")
    return kind


def open_table(source: Any, csv: Csv | None = None, sheet: str | None = None) -> Table:
    """Open a table: the path of a file, or a dataframe of pandas, Polars, PyArrow or anything that narwhals knows.

    What only streams Arrow (`__arrow_c_stream__`) comes back as a PyArrow table. How a CSV file is written is found by
    looking at it, as far as `csv` leaves it open. `sheet` names the one to read of an Excel workbook in which
    several have data.
    """
    csv = csv or Csv()
    refuse_sheet(source, sheet)
    if isinstance(source, str | os.PathLike):
        return _open_file(Path(source), csv, sheet)
    refuse_csv_options(csv)
    return _adopted(source)


def _open_file(path: Path, csv: Csv, sheet: str | None) -> Table:
    with readable(path):
        kind = readable_kind(path)
        if kind == "csv":
            from shoal.tables.csv.pieces import read_csv

            return read_csv(path, csv)
        refuse_csv_options(csv)
        if kind == "excel":
            from shoal.tables.excel.reading import read_workbook

            native, kinds = read_workbook(path, sheet)
            return replace(_adopted(native), kinds=kinds)
        return _adopted(_read(path, kind))


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Explain in one sentence what stands in the way of reading a file."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError("file-not-readable", path=str(path), reason=in_words(error)) from None


@contextmanager
def undamaged(path: Path, format_: str) -> Iterator[None]:
    """Explain in one sentence what is wrong with a file whose bytes are not of its kind."""
    with readable(path):
        try:
            yield
        except (FileError, DataError, MemoryError, PermissionError):
            raise
        except (pa.ArrowException, OSError, ValueError):
            raise not_complete(path, format_) from None


def _read(path: Path, kind: Kind) -> pa.Table:
    if kind in STATISTICS:
        return read_apart(path, kind)
    if kind == "xml":
        from shoal.tables.xml import read_xml

        return read_xml(path)
    return _read_parquet(path) if kind == "parquet" else _read_arrow(path)


def _adopted(source: Any) -> Table:
    native = adopt(source)
    spoiled, disguised = find_odd(native)
    return Table(native, spoiled=spoiled, disguised=disguised)


def refuse_csv_options(csv: Csv) -> None:
    """Refuse options of CSV files for anything else."""
    if csv != Csv():
        raise PlanError("only-for-format", field="csv", format="CSV")


def is_workbook(source: Any) -> bool:
    """Whether a table is the path of an Excel workbook."""
    return isinstance(source, str | os.PathLike) and KINDS.get(Path(source).suffix.lower()) == "excel"


def sheets_of(source: Any) -> list[str]:
    """Name the sheets with data of an Excel workbook; none of any other table."""
    if not is_workbook(source):
        return []
    from shoal.tables.excel.reading import filled_sheets

    path = Path(source)
    with readable(path):
        readable_kind(path)
        return filled_sheets(path)


def refuse_sheet(source: Any, sheet: str | None) -> None:
    """Refuse the name of a sheet for anything but an Excel workbook."""
    if sheet is not None and not is_workbook(source):
        raise PlanError("only-for-format", field="sheet", format="Excel")


def readable_kind(path: Path) -> Kind:
    """Find the kind of an input file; refuse folders, pipes and files that are not there."""
    if path.is_dir():
        raise FileError("folder-named", path=str(path), reading=True)
    kind = kind_of(path)
    if not path.exists():
        raise no_such_file(path)
    refuse_endless(path)
    return kind


def refuse_endless(path: Path) -> None:
    """Refuse pipes and devices: they cannot be read twice, and some never end."""
    if not path.is_file():
        raise FileError("pipe-or-device", path=str(path))


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq  # in functions: slow to load, and other kinds of files do not need it

    with path.open("rb") as file, undamaged(path, "Parquet"):
        return _valid(pq.ParquetFile(file, page_checksum_verification=True).read())


def _read_arrow(path: Path) -> pa.Table:
    """Read Arrow's file format, which Feather is a name for, or else its stream format."""
    data = path.read_bytes()
    opener = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
    with undamaged(path, "Arrow"):
        return _valid(opener(pa.py_buffer(data)).read_all())


def _valid(table: pa.Table) -> pa.Table:
    table.validate(full=True)
    return table


def write_table(table: Table, path: str | os.PathLike[str], kind: Kind) -> None:
    """Write a table to exactly this path, whatever its ending, over what is there."""
    path = Path(path)
    try:
        if kind == "csv":
            write_csv(table, path)
        elif kind == "parquet":
            _write_parquet(table.to_arrow(), path)
        elif kind == "arrow":
            _write_arrow(table.to_arrow(), path)
        elif kind == "excel":
            from shoal.tables.excel.writing import write_excel

            write_excel(table.to_arrow(), path)
        elif kind == "xml":
            from shoal.tables.xml import write_xml

            write_xml(table.to_arrow(), path)
        else:
            write_statistics(table.to_arrow(), path, kind)
    except FileError:
        raise
    except OSError as error:
        raise FileError("file-not-writable", path=str(path), reason=in_words(error)) from None


def _write_parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    table = plain_dictionaries(table)
    for field in table.schema:
        try:
            pq.write_table(pa.schema([field]).empty_table(), pa.BufferOutputStream())
        except pa.ArrowException:
            raise DataError("type-not-for-format", column=field.name, type=str(field.type), format="Parquet") from None
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def _write_arrow(table: pa.Table, path: Path) -> None:
    # a file, unlike a stream, has one dictionary for all chunks of a column
    options = pa.ipc.IpcWriteOptions(compression="zstd", unify_dictionaries=True)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table)
