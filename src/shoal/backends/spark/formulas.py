"""Text cells that a spreadsheet may run as formulas, in a DataFrame: see `shoal.tables.csv.formulas`."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import StringType

from shoal.backends.spark.verify import column
from shoal.tables.csv.formulas import FORMULA, PLAIN_NUMBER


def formulas_in(table: DataFrame) -> dict[str, int]:
    """Count the formulas in each column of text; columns without any are left out."""
    texts = _texts(table)
    if not texts:
        return {}
    counts = table.agg(*(F.count_if(_is_formula(column(name))) for name in texts)).collect()[0]
    return {name: int(count) for name, count in zip(texts, counts, strict=True) if count}


def with_apostrophes(table: DataFrame) -> DataFrame:
    """Put an apostrophe before every formula."""
    return _changed(table, lambda text: F.when(_is_formula(text), F.concat(F.lit("'"), text)).otherwise(text))


def without_apostrophes(table: DataFrame) -> DataFrame:
    """Undo `with_apostrophes`."""
    return _changed(
        table,
        lambda text: F.when(text.startswith("'") & _is_formula(text), F.regexp_replace(text, "^'", "")).otherwise(text),
    )


def _is_formula(text: Column) -> Column:
    return text.rlike(FORMULA) & ~text.rlike(PLAIN_NUMBER)


def _texts(table: DataFrame) -> list[str]:
    return [field.name for field in table.schema.fields if isinstance(field.dataType, StringType)]


def _changed(table: DataFrame, change: Callable[[Column], Column]) -> DataFrame:
    texts = _texts(table)
    columns = [change(column(name)).alias(name) if name in texts else column(name) for name in table.columns]
    return table.select(columns)
