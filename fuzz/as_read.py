"""The original as a plan has it read: numbers, dates and categories recoded, codes of missing values missing."""

import datetime as dt
from bisect import bisect_right
from itertools import pairwise
from typing import Any

import pyarrow as pa


def as_read(table: pa.Table, asked: dict[str, Any]) -> pa.Table:
    """Recode a table, and empty cells that stand for a missing value."""
    for name, recoding in asked.get("recode", {}).items():
        if name in table.column_names:
            values = table[name].to_pylist()
            new = _levels(values, recoding) if isinstance(recoding, dict) else _classes(values, recoding)
            table = _with(table, name, pa.array(new, pa.string()))
    for name, codes in asked.get("missing_codes", {}).items():
        values = [None if value in codes else value for value in table[name].to_pylist()]
        table = _with(table, name, pa.array(values, table[name].type))
    return table


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _levels(values: list[Any], recoding: dict[str, list[Any]]) -> list[Any]:
    new = {old: level for level, olds in recoding.items() for old in olds}
    return [new.get(value, value) for value in values]


def _classes(values: list[Any], cuts: list[Any]) -> list[Any]:
    dated = isinstance(cuts[0], str)
    bounds = [dt.date.fromisoformat(cut) for cut in cuts] if dated else cuts
    below, between, above = ("before", "to before", "and later") if dated else ("under", "to under", "and over")
    names = [f"{below} {cuts[0]}", *(f"{low} {between} {high}" for low, high in pairwise(cuts))]
    names.append(f"{cuts[-1]} {above}")
    return [None if value is None else names[bisect_right(bounds, value)] for value in values]
