"""Table: the one form in which the package sees a user's table, and the way back to the user's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.tables.arrow import Array
from shoal.tables.csv.dialect import Dialect
from shoal.tables.dataframes import column_of, is_pandas_dataframe, only_used, rebuild, to_arrow
from shoal.tables.dtypes import has_text
from shoal.tables.equality import same_values
from shoal.tables.numbers import numeric_names, to_matrix
from shoal.tables.stat.labels import Labels, labels_of
from shoal.tables.text_values import coarsest, render

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table, wherever it came from; nothing changes it."""

    native: Any  # the user's own kind of dataframe; a PyArrow table for files and Arrow streams
    dialect: Dialect | None = None  # how the CSV file was written that it came from
    # For CSV files, the text of the columns whose values would not give the same text back.
    spelling: Mapping[str, Array] = field(default_factory=dict)
    # See `find_odd`; known only of tables that were opened.
    spoiled: Mapping[str, int] = field(default_factory=dict)
    disguised: list[str] = field(default_factory=list)
    # For Excel workbooks, the cells of columns with several kinds of cells, such as 5 and '5', each with its kind.
    kinds: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.native)

    @property
    def _frame(self) -> "nw.DataFrame[Any]":
        import narwhals as nw

        return nw.from_native(self.native, eager_only=True)

    @property
    def names(self) -> list[str]:
        """The names of the columns in order."""
        return self.native.column_names if isinstance(self.native, pa.Table) else self._frame.columns

    @property
    def numeric(self) -> list[str]:
        """The names of the columns of integers, floats and decimals."""
        return numeric_names(self.native)

    @property
    def has_index(self) -> bool:
        """Whether rows have names of their own, as pandas gives them, that are no column."""
        return is_pandas_dataframe(self.native) and type(self.native.index).__name__ != "RangeIndex"

    def column(self, name: str) -> Array:
        """Return a column as an Arrow array."""
        return column_of(self.native, name)

    def objects(self, name: str) -> list[Any]:
        """Return the values of a column as objects of Python."""
        found: list[Any] = self._frame[name].to_list()
        return found

    def labels(self, name: str) -> Labels:
        """Return what a statistics package notes on a column; empty where nothing is noted."""
        return labels_of(self.native.schema.field(name)) if isinstance(self.native, pa.Table) else Labels()

    @property
    def decimal(self) -> str:
        """The decimal sign of numbers that are written as text."""
        return self.dialect.decimal if self.dialect else "."

    def matrix(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns as an (n, d) matrix of finite numbers; a DataError names the first problem of each column."""
        return to_matrix(self.native, names, self.decimal)

    def same_column(self, other: "Table", name: str) -> bool:
        """Whether a column holds the same in two tables: the same values or, with CSV, the same text."""
        try:
            one, two = self.column(name), other.column(name)
        except DataError:  # objects of Python that Arrow has no type for
            return repr(self.objects(name)) == repr(other.objects(name))
        if name in self.spelling and name in other.spelling:
            return self._text(name).equals(other._text(name))
        if same_values(one, two):
            return True
        if name in self.spelling and one.null_count == two.null_count == len(one) == len(two):
            return True  # text in which every cell is missing: what its type was cannot be told
        return has_text(one.type) and has_text(two.type) and self._text(name).equals(other._text(name))

    def _text(self, name: str) -> Array:
        """Return a column as CSV has it, or would have it."""
        if name in self.spelling:
            return self.spelling[name].cast(pa.large_string())
        return render(coarsest(self.column(name)), self.decimal)

    def publish(
        self,
        replace: Mapping[str, Array | NDArray[Any]],
        drop: Sequence[str] = (),
        keep: NDArray[np.bool_] | None = None,
    ) -> "Table":
        """Return the table as it will be published; what is neither replaced nor dropped stays exactly as it is.

        Categories and value labels that no published record has go, and so does metadata that is not Shoal's own, the
        notes of pandas (`attrs`) included.
        """
        arrays = {
            name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in replace.items()
        }
        gone = {*replace, *drop}
        spelling = {name: text for name, text in self.spelling.items() if name not in gone}
        if keep is not None:
            spelling = {name: text.filter(pa.array(keep)) for name, text in spelling.items()}
        return Table(only_used(rebuild(self.native, arrays, drop, keep)), self.dialect, spelling)

    def to_arrow(self) -> pa.Table:
        """Return the whole table as a PyArrow table; an index of pandas is no column and stays behind."""
        return to_arrow(self.native)
