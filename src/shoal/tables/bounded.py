"""Tables for differential privacy: whatever the records hold, the rest of a run sees numbers within public bounds.

Types, missing values, spelling and notes of a file are somebody's, too: one record of 30.5 among integers makes a
column of decimals, one text makes a column of text. So every value is converted by itself, as the plan says, and
nothing of the column that it stands in goes further than here.
"""

import math
import os
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, FileError, PlanError
from shoal.plan import Csv, Plan
from shoal.tables.arrow import Array
from shoal.tables.attributes import without_declared
from shoal.tables.csv.as_text import read_as_text
from shoal.tables.dataframes import adopt
from shoal.tables.dtypes import is_number, is_text
from shoal.tables.files import open_table, readable_kind, refuse_csv_options, refuse_sheet
from shoal.tables.table import Table
from shoal.tables.text_values import decoded, each_number


def open_bounded(source: Any, plan: Plan) -> Table:
    """Open a table of which all but numbers within bounds follows from the plan and the names of the columns.

    Columns with bounds are float64 or, with ``round``, int64. A value outside its bounds is moved to the nearer one;
    what is missing or no number counts as their middle. All other columns are empty, and nothing is noted on any.

    Parameters
    ----------
    source : dataframe or path
    plan : Plan
        With ``epsilon`` and ``bounds``.

    Raises
    ------
    PlanError
        A column with bounds is declared as something else than numbers or text, or rows have an index.
    FileError
        The file cannot be read; why would tell of its records, and is not said.
    """
    import narwhals as nw

    table = _opened(source, plan.csv or Csv(), plan.sheet)
    if table.has_index:
        raise PlanError("epsilon-with-index", field="epsilon")
    columns = {
        name: _within(_numbers(table, name), *plan.bounds[name], whole=bool(plan.round))
        if name in plan.bounds
        else pa.nulls(len(table))
        for name in table.names
    }
    kind = nw.from_native(table.native, eager_only=True).implementation
    return Table(nw.from_arrow(pa.table(columns), backend=kind).to_native(), table.dialect)


def _opened(source: Any, csv: Csv, sheet: str | None) -> Table:
    refuse_sheet(source, sheet)
    if not isinstance(source, str | os.PathLike):
        refuse_csv_options(csv)
        return Table(adopt(source))
    path = Path(source)
    kind = readable_kind(path)
    if kind == "xml":
        raise PlanError("epsilon-with-xml", field="epsilon")
    try:
        return read_as_text(path, csv) if kind == "csv" else open_table(path, csv, sheet)
    except (DataError, FileError):
        raise FileError("unreadable-with-epsilon", path=str(path)) from None


def _within(values: NDArray[np.float64], low: float, high: float, *, whole: bool) -> Array:
    """Move values into their bounds; a missing one counts as the middle."""
    inside = np.clip(np.where(np.isnan(values), low + (high - low) / 2, values), low, high)
    if whole:
        inside = np.clip(np.rint(inside), math.ceil(low), math.floor(high))
    column: Array = pa.array(inside, pa.int64() if whole else pa.float64())
    return column


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    """Return the values of a column as floats, each by itself; NaN is what is no number."""
    import narwhals as nw

    if nw.from_native(table.native, eager_only=True).schema[name] in (nw.Object, nw.Unknown):
        return _of_objects(table.objects(name), table.decimal)
    column = decoded(without_declared(table, name))
    if is_text(column.type):
        column = each_number(column, table.decimal)
    elif not (is_number(column.type) or pa.types.is_null(column.type)):
        raise PlanError("epsilon-for-numbers", field="epsilon", column=name, type=str(column.type))
    return _floats(column)


def _floats(column: Array) -> NDArray[np.float64]:
    floats: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats


def _of_objects(values: list[Any], decimal: str) -> NDArray[np.float64]:
    texts = [value.encode(errors="replace").decode() if isinstance(value, str) else None for value in values]
    numbers = np.array([_number(value) for value in values])
    return np.where(np.isnan(numbers), _floats(each_number(pa.array(texts, pa.large_string()), decimal)), numbers)


def _number(value: Any) -> float:
    """Return an object as a float; NaN if it is no number, or text."""
    if not isinstance(value, Number) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):  # complex, and signals of decimals
        return math.nan
