"""CSV files as people have them, with delimiters, decimal characters and words for missing values of a plan."""

import csv
import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa

_FORMULAS = ("=", "+", "-", "@")


def write_csv(table: pa.Table, path: Path, asked: dict[str, Any] | None) -> None:
    """Write a table in the dialect that a plan describes."""
    asked = asked or {}
    missing, decimal = asked.get("missing", [""])[0], asked.get("decimal", ".")
    with path.open("w", newline="", encoding=asked.get("encoding", "utf-8")) as file:
        writer = csv.writer(file, delimiter=asked.get("delimiter", ","), quotechar=asked.get("quote", '"'))
        writer.writerow(table.column_names)
        for record in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
            writer.writerow([_cell(value, missing, decimal) for value in record])


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
