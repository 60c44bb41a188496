"""What a release with households claims, counted by SQL: constant attributes, and k households in every group."""

from collections.abc import Iterator, Sequence

from shoal.messages import Message
from shoal.pipeline.counting import Database


def one_each(keys: Sequence[str]) -> str:
    """Return the relation that has one record for each household: its number is h in `pairs`."""
    columns = ", ".join(f"max({key}) AS {key}" for key in keys)
    return f"(SELECT h, {columns} FROM pairs GROUP BY h) AS one"  # noqa: S608 - no outside text


def inconstant(database: Database, keys: Sequence[str], names: Sequence[str]) -> Iterator[Message]:
    """Yield the attributes of households that are not published alike by all their members."""
    differ = [f"min({key}) <> max({key}) OR count({key}) NOT IN (0, count(*))" for key in keys]
    flags = ", ".join(f"CASE WHEN {each} THEN 1 ELSE 0 END AS f{i}" for i, each in enumerate(differ))
    sums = ", ".join(f"coalesce(sum(f{i}), 0)" for i in range(len(keys)))
    [row] = database.rows(f"SELECT {sums} FROM (SELECT {flags} FROM pairs GROUP BY h) AS v")  # noqa: S608
    for name, count in zip(names, row, strict=True):
        if count:
            yield Message("not-constant-in-household", column=name, households=int(count))
