"""Columns that give masked ones away are found and counted alike on every backend."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal

PLAN = {
    "k": 5,
    "quasi": ["amount", "income", "age", "town", "sector"],
    "publish": "rest",
    "method": "mdav",
}


def survey(n: int = 600) -> pa.Table:
    """Persons with a product, a logarithm, ages in twos and codes of towns and dummies beside what is masked."""
    rng = np.random.default_rng(1)
    price, qty, income = rng.lognormal(2, 0.5, n).round(2), rng.integers(1, 9, n), rng.lognormal(10, 0.6, n)
    age, town = rng.integers(18, 90, n), rng.integers(0, 9, n)
    masked = {"amount": price * qty, "income": income, "age": age, "town": [f"T{each}" for each in town]}
    sector = rng.choice(["a", "b", "c"], n)
    masked |= {"sector": sector}
    beside = {
        "is_a": sector == "a",
        "is_b": sector == "b",
        "log": np.log(income),
        "band": [f"b{each // 2}" for each in age],
        "code": town * 7,
    }
    return pa.table({**masked, "price": price, "qty": qty, **beside})


@pytest.mark.slow
@pytest.mark.spark
def test_relations_are_found_and_counted_alike_on_every_backend(tmp_path, spark):
    source = tmp_path / "survey.parquet"
    pq.write_table(survey(), source)
    found = shoal.protect(source, engine="memory", **PLAN).risk()["file"]
    relations = {each["column"]: each["how"] for each in found["determined"]}
    assert relations == {
        "amount": "product",
        "income": "order",
        "age": "bands",
        "town": "one-to-one",
        "sector": "categories",
    }
    assert shoal.protect(source, engine="file", output=tmp_path / "masked.parquet", **PLAN).risk()["file"] == found
    assert shoal.protect(spark.read.parquet(str(source)), **PLAN).risk()["file"] == found
