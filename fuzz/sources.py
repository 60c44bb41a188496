"""CSV files and workbooks as people have them, with the delimiters, words for missing values and sheets of a plan."""

import csv
import datetime as dt
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa

DATAFRAMES = ("pandas", "polars")
_FORMULAS = ("=", "+", "-", "@")


def as_dataframe(table: pa.Table, kind: str) -> Any:
    """Return a table as a dataframe of pandas or Polars, or as it is."""
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table.to_pandas() if kind == "pandas" else table


def as_arrow(table: Any) -> pa.Table:
    """Return a dataframe as a table of Arrow."""
    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    return pa.Table.from_pandas(table, preserve_index=False)


def write_csv(table: pa.Table, path: Path, asked: dict[str, Any] | None) -> None:
    """Write a table in the dialect that a plan describes."""
    asked = asked or {}
    missing, decimal = asked.get("missing", [""])[0], asked.get("decimal", ".")
    with path.open("w", newline="", encoding=asked.get("encoding", "utf-8")) as file:
        writer = csv.writer(file, delimiter=asked.get("delimiter", ","), quotechar=asked.get("quote", '"'))
        writer.writerow(table.column_names)
        for record in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
            writer.writerow([_cell(value, missing, decimal) for value in record])


def write_excel(table: pa.Table, path: Path, sheet: str) -> None:
    """Write a table to one of two sheets."""
    book = openpyxl.Workbook()
    book.active.append(["other"])
    book.active.append([1])
    page = book.create_sheet(sheet)
    page.append(table.column_names)
    for record in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
        page.append(record)
    for column in page.iter_cols(min_row=2):
        for cell in column:
            cell.data_type = "s" if cell.data_type == "f" else cell.data_type  # text that looks like a formula
    book.save(path)


def _cell(value: Any, missing: str, decimal: str) -> str:
    if value is None:
        return missing
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).replace(".", decimal)
    return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else str(value)


def expected_cell(value: Any, plan: dict[str, Any]) -> Any:
    """Return what is written of a value: with an apostrophe before a formula, where the plan asks for it."""
    is_formula = isinstance(value, str) and value.startswith(_FORMULAS)
    return f"'{value}" if is_formula and plan.get("quote_formulas") else value
