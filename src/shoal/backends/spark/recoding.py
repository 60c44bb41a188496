"""Declared missing values and recoded columns on Spark: one expression for each column, where a table is opened."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import DoubleType, FloatType, NumericType, StructField

from shoal.backends.file.records import one_record
from shoal.backends.spark.passes import arrow_schema
from shoal.backends.spark.verify import column
from shoal.plan import Plan
from shoal.plan.recoding import classes_of, is_dated
from shoal.tables import Table
from shoal.tables.declared_codes import Codes, numbers_of
from shoal.tables.recoding import refuse_unsuited


def without_codes(table: DataFrame, codes: Codes) -> DataFrame:
    """Make codes for missing values missing; of columns that are no numbers, codes are compared as text."""
    if not codes:
        return table
    columns = []
    for each in table.schema.fields:
        values = column(each.name)
        if each.name in codes:
            values = F.when(~_is_code(each, codes[each.name]), values).alias(each.name)
        columns.append(values)
    return table.select(columns)


def _is_code(field: StructField, codes: Sequence[str | int | float], of: str = "missing_codes") -> Column:
    """Find which values of a column are one of some codes."""
    values = column(field.name)
    if isinstance(field.dataType, NumericType):
        return values.cast("double").isin(numbers_of(field.name, codes, of))
    return F.trim(values.cast("string")).isin([str(code) for code in codes])


def recoded(table: DataFrame, plan: Plan) -> DataFrame:
    """Recode columns as `shoal.tables.recoding` does; Spark has no ordered categories, so classes are text."""
    if not plan.recode:
        return table
    refuse_unsuited(Table(one_record(arrow_schema(table))), plan)
    columns = [
        _as_class(each, plan.recode[each.name]).alias(each.name) if each.name in plan.recode else column(each.name)
        for each in table.schema.fields
    ]
    return table.select(columns)


def _as_class(field: StructField, recoding: Any) -> Column:
    """Return the class of each value, or its new level; NaN and what is missing stays missing."""
    values = column(field.name)
    is_float = isinstance(field.dataType, FloatType | DoubleType)
    present = values.isNotNull() & ~F.isnan(values) if is_float else values.isNotNull()
    if isinstance(recoding, dict):
        new = _level_text(field)
        for level, old in recoding.items():
            new = F.when(_is_code(field, old, "recode"), F.lit(level)).otherwise(new)
        return F.when(present, new)
    first, *others = classes_of(recoding)
    wide = "float" if isinstance(field.dataType, FloatType) else "double"
    wide = "timestamp_ntz" if is_dated(recoding) else wide
    new = F.lit(first)
    for cut, name in zip(recoding, others, strict=True):
        new = F.when(values.cast(wide) >= F.lit(cut).cast(wide), F.lit(name)).otherwise(new)
    return F.when(present, new)


def _level_text(field: StructField) -> Column:
    """Return the text of each level; whole numbers have no decimals."""
    values = column(field.name)
    if not isinstance(field.dataType, FloatType | DoubleType):
        return values.cast("string")
    return F.when(values == F.floor(values), values.cast("bigint").cast("string")).otherwise(values.cast("string"))
