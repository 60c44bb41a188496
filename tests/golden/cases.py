"""One release a method and a feature, of a table that is made by integer arithmetic: the same wherever it runs."""

import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv

import shoal

RECORDS = {"ms": 100}  # 60 if not given
NUMBERS = ["income", "hours", "height"]
RULED = ["wages", "other", "costs"]
# Where published values come out of linear algebra, or of logarithms: libraries round their last digits differently.
ROUGH = {"ms", "geometric-mean"}

# Columns that would give hybrid data away.
DROPPED = {"identifiers": ["gaps"]}

CASES: dict[str, dict] = {
    "mdav": {"method": "mdav", "quasi": NUMBERS},
    "vmdav": {"method": "vmdav", "quasi": NUMBERS, "gain": 1.1},
    "univariate": {"method": "univariate", "blocks": [[name] for name in NUMBERS]},
    "pca": {"method": "pca", "quasi": NUMBERS},
    "zscores": {"method": "zscores", "quasi": NUMBERS},
    "tour": {"method": "tour", "quasi": NUMBERS},
    "savings": {"method": "tour", "tour": "savings", "quasi": NUMBERS},
    "npn-mhm": {"method": "npn-mhm", "quasi": NUMBERS},
    "mdav-mhm": {"method": "mdav-mhm", "quasi": NUMBERS},
    "cbfs-mhm": {"method": "cbfs-mhm", "quasi": NUMBERS},
    "best": {"method": "best", "quasi": NUMBERS, "budget": 2000, "seed": 7},
    "refined": {"method": "mdav", "quasi": NUMBERS, "refine": True, "budget": 1000, "seed": 7},
    "mic1d": {"method": "mic1d", "quasi": NUMBERS, "k": 20},
    "mic1d-optimal": {"method": "mic1d", "quasi": NUMBERS, "k": 20, "partition": "optimal"},
    "hybrid-orthogonal": {
        **{"method": "hybrid", "quasi": ["height"], "confidential": ["income", "hours"], "k": 12, "seed": 7},
        **{"ipso": "orthogonal", "partition": "tour", **DROPPED},
    },
    "hybrid": {
        **{"method": "hybrid", "quasi": ["height"], "confidential": ["income", "hours"], "k": 12, "seed": 7},
        **DROPPED,
    },
    "hybrid-masked": {
        **{"method": "hybrid", "quasi": ["height", "age"], "confidential": ["income", "hours"]},
        **{"k": 12, "seed": 7, "mask_quasi": True, "round": False, **DROPPED},
    },
    "ms": {
        **{"method": "ms", "quasi": ["height"], "confidential": ["income", "hours"], "alpha": 0.4, "seed": 7},
        **DROPPED,
    },
    "mixed": {
        **{"method": "mdav", "quasi": ["income", "town", "grade", "born"], "types": {"grade": "ordinal"}},
        **{"levels": {"grade": ["low", "middle", "high"]}, "distance": "mdav-generic"},
    },
    "missing": {
        **{"method": "mdav", "quasi": ["gaps", "hours", "town"], "missing": "group", "distance": "mdav-generic"},
    },
    "imputed": {"method": "mdav", "quasi": ["gaps", "hours"], "missing": "impute", "distance": "mdav-generic"},
    "balanced": {
        **{"method": "mdav", "quasi": ["income", "town", "grade", "gaps"], "missing": "group"},
        "levels": {"grade": ["low", "middle", "high"]},
    },
    "best-mixed": {
        **{"method": "best", "quasi": ["income", "town", "grade", "gaps"], "missing": "group", "budget": 20_000},
        "levels": {"grade": ["low", "middle", "high"]},
    },
    "attribute-blocks": {"method": "mdav", "round": False, "blocks": [["income", "hours"], ["height", "age"]]},
    "strata": {"method": "mdav", "quasi": NUMBERS, "strata": ["town"]},
    "units": {"method": "mdav", "quasi": NUMBERS, "unit": "age"},
    "units-searched": {"method": "best", "quasi": NUMBERS, "unit": "grade", "k": 3, "budget": 1000, "seed": 7},
    "weighted": {"method": "mdav", "quasi": NUMBERS, "weights": "weight", "preserve": "weighted_mean"},
    "median": {"method": "mdav", "quasi": NUMBERS, "aggregate": "median", "k": 4},
    "convex-median": {
        **{"method": "mdav", "quasi": ["income", "grade"], "levels": {"grade": ["low", "middle", "high"]}, "k": 4},
        **{"aggregate": {"income": "median", "grade": "convex_median"}, "distance": "mdav-generic"},
    },
    "medoid": {"method": "mdav", "quasi": NUMBERS, "aggregate": "medoid", "k": 4},
    "geometric-mean": {"method": "mdav", "quasi": NUMBERS, "aggregate": "geometric_mean"},
    "variance": {"method": "mdav", "quasi": NUMBERS, "restore_variance": True},
    "l-diversity": {"method": "mdav", "quasi": NUMBERS, "confidential": ["town"], "l": 3},
    "t-closeness": {"method": "mdav", "quasi": NUMBERS, "confidential": ["age"], "t": 0.25},
    "edits": {
        **{"method": "mdav", "quasi": [*RULED, "hours", "height"], "round": False},
        "edits": ["sum: wages + other == costs", "order: other <= costs", "if town == 'Ulm' then hours <= 38"],
    },
    "record-blocks": {"method": "mdav", "quasi": NUMBERS, "scale": {"block_size": 20}},
    "record-cells": {"method": "mdav", "quasi": NUMBERS, "scale": {"block_size": 20, "blocking": "2^d"}},
    "record-intervals": {
        **{"method": "mdav", "quasi": NUMBERS},
        "scale": {"block_size": 20, "blocking": "interval", "dimensions": ["income"]},
    },
    "record-order": {
        **{"method": "mdav", "quasi": NUMBERS},
        "scale": {"block_size": 20, "blocking": "sorted", "dimensions": ["hours"]},
    },
    "record-categories": {"method": "mdav", "quasi": ["income", "town"], "scale": {"block_size": 20}},
    "seams": {"method": "mdav", "quasi": NUMBERS, "scale": {"block_size": 20, "seams": True}},
}


def _drawn(start: int) -> Iterator[int]:
    """Yield the numbers of a linear congruential generator (Park and Miller's constants), which never repeat here."""
    while True:
        start = start * 48271 % (2**31 - 1)
        yield start


def table(records: int) -> pa.Table:
    """Make the table. No two numbers of a column tie, so that no rule for ties plays a part."""

    def column(start: int, least: int, span: int) -> list[int]:
        drawn = _drawn(start)
        return [least + next(drawn) % span for _ in range(records)]

    def of(words: list[str], start: int) -> list[str]:
        return [words[place] for place in column(start, 0, len(words))]

    towns = of(["Bonn", "Kiel", "Ulm"], 5)
    wages, other = column(11, 500_000, 4_000_000), column(12, 1_000, 400_000)
    hours = [value / 2**20 for value in column(2, 8 << 20, 32 << 20)]
    income = [value / 100 for value in column(1, 90_000, 900_000)]
    return pa.table(
        {
            "income": income,
            "hours": [
                min(worked, 30 + worked / 8) if town == "Ulm" else worked
                for town, worked in zip(towns, hours, strict=True)
            ],
            "height": [value / 2**16 for value in column(3, 150 << 16, 50 << 16)],
            "age": column(4, 18, 70),
            "town": towns,
            "grade": of(["low", "middle", "high"], 6),
            "born": pa.array(column(7, 0, 20_000), pa.int32()).cast(pa.date32()),
            "gaps": [None if at % 7 == 3 else value for at, value in enumerate(income)],
            "weight": [value / 8 for value in column(8, 8, 80)],
            "wages": wages,
            "other": other,
            "costs": [one + two for one, two in zip(wages, other, strict=True)],
        }
    )


def answer(name: str) -> str:
    """Return the release of a case as the text of a CSV file: what it changed, and the groups of each partition."""
    groups = {} if name == "ms" else {"k": 3}
    release = shoal.protect(table(RECORDS.get(name, 60)), publish="rest", **{**groups, **CASES[name]})
    published = release.table.select([each for each in release.table.column_names if each in release.plan.changed])
    for at, labels in enumerate(release.partitions):
        published = published.append_column(f"group {at + 1}", pa.array(labels))
    text = io.BytesIO()
    pyarrow.csv.write_csv(published, text)
    return text.getvalue().decode()
