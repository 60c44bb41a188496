"""Masked attributes that follow from columns released unchanged: found in a sample, and counted in all records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.measures.determination import (
    CLOSE,
    EXACT,
    NARROW,
    Linear,
    determining_categories,
    determining_category,
    linear_relation,
    narrow_bands,
    product_relation,
    same_order,
)
from shoal.messages import Message
from shoal.pipeline.counting import Database

if TYPE_CHECKING:
    from shoal.pipeline.whole_file import Columns, Unchanged

SAMPLED = 20_000  # records in which relations between columns are looked for
COMPUTED = (
    "sum",
    "linear",
    "product",
    "category",
    "one-to-one",
    "categories",
)  # relations that give single values away
_LARGEST = 1e150  # whose square is a number

Finding = dict[str, Any]


def _as_double(expression: str) -> str:
    """Return a number in SQL; missing where no sum of it could be computed."""
    number = f"CAST({expression} AS DOUBLE)"
    return f"CASE WHEN abs({number}) < {_LARGEST:.1e} THEN {number} END"


def determined_columns(database: Database, columns: "Columns", records: int) -> Iterator[Finding]:
    """Look for relations in a sample, and count the records for which they hold."""
    numbers = [i for i, each in enumerate(columns.unchanged) if each.number]
    asked = [_as_double(expression) for expression in columns.originals.values()]
    asked += [_as_double(f"n{i}") for i in numbers]
    asked += [f"{database.hash}(u{i})" for i in range(len(columns.unchanged))]
    sample = database.sample(asked, SAMPLED, records)
    d, m = len(columns.originals), len(numbers)
    values = np.column_stack([_doubles(sample.column(i)) for i in range(d + m)])
    classes = [_numbered(sample.column(d + m + i)) for i in range(len(columns.unchanged))]
    for j, (name, expression) in enumerate(columns.originals.items()):
        found = _relation(values[:, j], values[:, d:], classes, name not in columns.nominal)
        if found is not None:
            counting = _Counting(database, columns.unchanged, numbers, name, expression, values[:, j])
            counted = counting.of(*found)
            few = 2 * counted["records"] <= records and 4 * counted["exact"] <= records
            if (
                few
                and found[0] in ("linear", "product")
                and (order := same_order(values[:, j], values[:, d:])) is not None
            ):
                counted = counting.of("order", order)  # a logarithm is nearly a line over a short range
            yield counted


def _relation(
    x: NDArray[np.float64], U: NDArray[np.float64], classes: list[NDArray[np.int64]], is_number: bool
) -> tuple[str, Any] | None:
    """Find by which relation an attribute follows from unchanged columns; the plainest that there is."""
    with np.errstate(all="ignore"):
        for how, look in (("linear", linear_relation), ("product", product_relation)):
            if is_number and (linear := look(x, U)) is not None:
                return how, linear
    if (category := determining_category(x, classes)) is not None:
        pairs = np.unique(np.column_stack([_numbered_values(x), classes[category]]), axis=0)
        one_to_one = len(np.unique(pairs[:, 0])) == len(pairs)
        return ("one-to-one" if one_to_one else "category"), [category]
    if (several := determining_categories(x, classes)) is not None:
        return "categories", several
    if is_number and (order := same_order(x, U)) is not None:
        return "order", order
    if is_number and (bands := narrow_bands(x, classes)) is not None:
        return "bands", [bands]
    return None


@dataclass(frozen=True)
class _Counting:
    """Counts the records of which a relation that was found in a sample tells the original value."""

    database: Database
    unchanged: "Sequence[Unchanged]"
    numbers: list[int]
    name: str
    expression: str
    x: NDArray[np.float64]

    def of(self, how: str, found: Any) -> Finding:
        """Count the records of one relation."""
        if how in ("linear", "product"):
            return self._formula(found, is_product=how == "product")
        if how == "order":
            return self._order(*found)
        return self._classes(how, found)

    def _found(self, how: str, by: list[str], exact: int, records: int, formula: str | None = None) -> Finding:
        return {"column": self.name, "by": by, "how": how, "formula": formula, "exact": exact, "records": records}

    def _formula(self, found: Linear, *, is_product: bool) -> Finding:
        """Count the records in which a masked attribute can be computed from unchanged columns."""
        terms = [(c, _as_double(f"n{self.numbers[i]}")) for c, i in zip(found.coefficients, found.by, strict=True)]
        if is_product:
            terms = [(c, f"ln(CASE WHEN {term} > 0 THEN {term} END)") for c, term in terms]
        value = _as_double(self.expression)
        computed = " + ".join([f"({found.intercept:.17e})", *(f"({c:.17e}) * ({term})" for c, term in terms)])
        size = " + ".join([f"abs({value})", *(f"abs(({c:.17e}) * ({term}))" for c, term in terms)])
        if is_product:
            computed, size = f"exp({computed})", f"abs({value})"
        off = f"abs(({value}) - ({computed}))"
        exact = f"{off} <= {EXACT:.1e} * ({size})"
        close = f"{exact} OR {off} <= {CLOSE} * least(abs({value}), {float(np.nanstd(self.x)):.17e})"
        counts = ", ".join(f"coalesce(sum(CASE WHEN {each} THEN 1 ELSE 0 END), 0)" for each in (exact, close))
        [(same, near)] = self.database.rows(f"SELECT {counts} FROM pairs")  # noqa: S608 - no outside text
        by = [self.unchanged[self.numbers[i]].name for i in found.by]
        how = "product" if is_product else "sum" if found.plain else "linear"
        return self._found(how, by, int(same), int(near), _spelled(found, by, is_product) if found.plain else None)

    def _order(self, column: int, correlation: float) -> Finding:
        """Count the records that have a place in the order of another column."""
        number = self.numbers[column]
        there = f"{self.expression} IS NOT NULL AND n{number} IS NOT NULL"
        [(records,)] = self.database.rows(f"SELECT count(*) FROM pairs WHERE {there}")  # noqa: S608
        exact = int(records) if abs(correlation) > 1 - EXACT else 0
        return self._found("order", [self.unchanged[number].name], exact, int(records))

    def _classes(self, how: str, columns: Sequence[int]) -> Finding:
        """Count the records whose values of unchanged columns others have, all with the same value, or nearly."""
        x, keys = self.expression, ", ".join(f"u{column}" for column in columns)
        inside = (
            f"SELECT count(*) AS n, count({x}) AS c, min({x}) AS low, max({x}) AS high "  # noqa: S608 - no outside text
            f"FROM pairs GROUP BY {keys}"
        )
        width = 2 * NARROW * float(np.nanstd(self.x)) if how == "bands" else 0.0
        each = [f"n > 1 AND c = n AND high - low <= {most:.17e}" for most in (0.0, width)]
        counts = ", ".join(f"coalesce(sum(CASE WHEN {same} THEN n ELSE 0 END), 0)" for same in each)
        [(exact, records)] = self.database.rows(f"SELECT {counts} FROM ({inside}) AS g")  # noqa: S608
        return self._found(how, [self.unchanged[column].name for column in columns], int(exact), int(records))


def _spelled(found: Linear, by: Sequence[str], is_product: bool) -> str:
    """Write a sum or a product as a formula."""
    plus, minus = (" * ", " / ") if is_product else (" + ", " - ")
    first = "1 / " if is_product else "-"
    signs = [("" if c > 0 else first) if i == 0 else plus if c > 0 else minus for i, c in enumerate(found.coefficients)]
    return "".join(sign + each for sign, each in zip(signs, by, strict=True))


def _doubles(column: pa.ChunkedArray) -> NDArray[np.float64]:  # type: ignore[type-arg]
    found: NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def _numbered(column: pa.ChunkedArray) -> NDArray[np.int64]:  # type: ignore[type-arg]
    found = np.unique(column.to_numpy(), return_inverse=True)[1]
    return np.asarray(found, dtype=np.int64).ravel()


def _numbered_values(x: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(np.unique(x, return_inverse=True)[1], dtype=np.int64).ravel()


def on_determined(each: Finding, records: int) -> Message:
    """Return the warning on a masked attribute that follows from unchanged columns."""
    column, by, how = each["column"], each["by"], each["how"]
    number: dict[str, Any] = {"found": each["records"], "records": records}
    near = each["exact"] != each["records"]
    match how:
        case "category" | "one-to-one":
            return Message(
                "original-follows-from-column", column=column, by=by[0], one_to_one=how == "one-to-one", **number
            )
        case "categories":
            return Message("original-follows-from-columns", column=column, by=by, **number)
        case "order":
            return Message("original-in-order", column=column, by=by[0], near=near, **number)
        case "bands":
            return Message("original-in-bands", column=column, by=by[0], percent=100 * NARROW, **number)
    kind = "product of powers" if how == "product" else "linear function"
    return Message(
        "original-from-columns", column=column, near=near, formula=each["formula"], kind=kind, by=by, **number
    )
