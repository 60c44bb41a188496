"""What a release that masks only records at risk claims, counted by SQL: no other record has changed."""

from collections.abc import Iterator, Sequence

from shoal.messages import Message
from shoal.pipeline.counting import Database


def masked_records(
    database: Database,
    values: Sequence[tuple[str, str]],
    strata: Sequence[str],
    k: int,
    *,
    fills: bool,
    unit: str | None = None,
) -> dict[str, int]:
    """Count the records at risk, those that have changed, and those that have although they are not at risk.

    Parameters
    ----------
    database
        Answers queries on `pairs`.
    values
        For each quasi-identifier, the columns that have its original values and what is published.
    strata
        The columns of strata, within which combinations are counted.
    k
        The records, or units, that share a combination of those not at risk.
    fills
        Whether missing values are filled, so that records that miss one are at risk.
    unit
        The column of units, if k counts these.
    """
    by = ", ".join([*(x for x, _ in values), *strata])
    changed = " OR ".join(f"{y} IS DISTINCT FROM {x}" for x, y in values)
    inside = f"SELECT *, count(*) OVER (PARTITION BY {by}) AS n FROM pairs"  # noqa: S608 - no outside text
    if unit is not None:  # the rank of the last unit is how many there are: Spark counts no distinct ones in a window
        ranked = f"SELECT *, dense_rank() OVER (PARTITION BY {by} ORDER BY {unit}) AS place FROM pairs"  # noqa: S608
        inside = f"SELECT *, max(place) OVER (PARTITION BY {by}) AS n FROM ({ranked}) AS r"  # noqa: S608
    whole = "".join(f" AND {x} IS NOT NULL" for x, _ in values) if fills else ""
    safe = f"n >= {k}{whole}"
    sums = [f"NOT ({safe})", changed, f"({safe}) AND ({changed})"]
    counts = ", ".join(f"coalesce(sum(CASE WHEN {each} THEN 1 ELSE 0 END), 0)" for each in sums)
    [row] = database.rows(f"SELECT count(*), {counts} FROM ({inside}) AS a")  # noqa: S608
    return dict(zip(("records", "at_risk", "changed", "wrongly"), map(int, row), strict=True))


def wrongly_changed(found: dict[str, int]) -> Iterator[Message]:
    """Yield a message if a record has changed that is not at risk."""
    if found["wrongly"]:
        yield Message("safe-records-changed", records=found["wrongly"])
