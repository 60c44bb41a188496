"""Only those at risk where k counts units: records whose combination k units share stay as they are."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused, reports

import naive
import shoal
from shoal.backends.memory import verify_in_memory
from shoal.errors import CheckFailed, DataError
from shoal.tables import Table

METHODS = ["auto", "mdav", "vmdav", "pca", "tour", "npn-mhm", "best"]


def stays(n: int = 300, seed: int = 1, units: int = 60, gaps: float = 0.0) -> pa.Table:
    """Stays of patients, who come back: a few have many, and some combinations are of few patients."""
    rng = np.random.default_rng(seed)
    first = np.arange(min(n, units))  # every patient has a stay
    patient = np.append(first, rng.geometric(3 / units, n - len(first)) % units)
    return pa.table(
        {
            "patient": patient,
            "age": pa.array(rng.geometric(0.25, units)[patient], mask=rng.random(n) < gaps),
            "rooms": rng.binomial(4, 0.3, n) + 0.1,
            "job": pa.array(rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]), mask=rng.random(n) < gaps),
            "area": rng.choice(["n", "s"], n, p=[0.8, 0.2]),
        }
    )


def rows(table: pa.Table, names: list[str]) -> list[tuple]:
    return [tuple(row.values()) for row in table.select(names).to_pylist()]


def with_k_units(table: pa.Table, k: int) -> pa.Table:
    """Leave out areas with fewer than k patients."""
    of = {area: {row["patient"] for row in table.to_pylist() if row["area"] == area} for area in "ns"}
    return table.filter(pa.array([len(of[area]) >= k for area in table["area"].to_pylist()]))


def units_of_each(source: pa.Table, masked: pa.Table, names: list[str]) -> list[int]:
    """Count by SQL the patients of each published combination; records are in the order of the source."""
    together = masked.select(names).append_column("patient", source["patient"])
    with duckdb.connect() as database:
        database.register("together", together)
        by = ", ".join(names)
        return [n for (n,) in database.sql(f"SELECT count(DISTINCT patient) FROM together GROUP BY {by}").fetchall()]


def assert_k_units_and_only_those_at_risk(
    table: pa.Table, release: shoal.Release, names: list[str], k: int
) -> list[bool]:
    before, after, patients = rows(table, names), rows(release.table, names), table["patient"].to_pylist()
    risky = naive.units_at_risk(before, patients, k)
    assert min(units_of_each(table, release.table, names)) >= k
    assert all(one == two for one, two, risk in zip(before, after, risky, strict=True) if not risk)
    only = release.summary()["only"]
    assert only["at_risk"] == sum(risky)
    assert only["changed"] == sum(one != two for one, two in zip(before, after, strict=True)) <= sum(risky)
    return risky


@pytest.mark.parametrize("method", METHODS)
def test_every_combination_has_k_units_and_no_other_record_changes_whatever_the_method(method):
    table = stays()
    options = {"budget": 200} if method == "best" else {}
    release = shoal.protect(
        table, k=4, quasi=["age", "rooms"], publish=["area", "job"], unit="patient", only="at_risk", method=method,
        round=False, **options,
    )  # fmt: skip
    risky = assert_k_units_and_only_those_at_risk(table, release, ["age", "rooms"], 4)
    assert sum(naive.at_risk(rows(table, ["age", "rooms"]), 4)) < sum(risky) < len(risky)
    assert reports(release.notes, "only-at-risk", k=4, counts="unit", at_risk=sum(risky), joined=0)
    assert "patient" not in release.table.column_names


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(12, 90),
    seed=st.integers(0, 10_000),
    units=st.integers(6, 40),
    k=st.integers(2, 6),
    missing=st.sampled_from(["error", "group", "impute"]),
    by=st.sampled_from([None, ["area"]]),
)
def test_k_units_always_hold_and_no_other_record_changes(n, seed, units, k, missing, by):
    table = stays(n, seed, units, 0.0 if missing == "error" else 0.1)
    quasi = ["age", "job"] if by else ["age", "job", "area"]
    strata = {} if by is None else {"strata": by, "small_strata": "suppress"}
    kept = table if by is None else with_k_units(table, k)
    try:
        release = shoal.protect(
            table, k=k, quasi=quasi, publish=["rooms"], unit="patient", only="at_risk", missing=missing, **strata
        )
    except DataError:  # what is missing is filled from records that miss nothing, of which there may be too few
        assert len(set(kept["patient"].to_pylist())) < k or missing == "impute"
        return
    if missing == "impute":
        assert min(units_of_each(kept, release.table, ["age", "job", "area"])) >= k
    else:
        assert_k_units_and_only_those_at_risk(kept, release, ["age", "job", "area"], k)


def test_records_of_fewer_than_k_units_take_on_the_nearest_combination_of_k_units():
    ages = [30] * 6 + [50] * 6 + [33, 34, 33, 34, 48, 48]
    patients = [*range(6), *range(6), *[20] * 4, *[21] * 2]
    table = pa.table({"age": ages, "patient": patients})
    release = shoal.protect(table, k=5, quasi=["age"], unit="patient", only="at_risk")
    assert release.table["age"].to_pylist() == [30] * 6 + [50] * 6 + [30] * 4 + [50] * 2
    assert release.summary()["only"] == {"at_risk": 6, "changed": 6, "joined": 6}
    assert reports(release.notes, "only-at-risk", k=5, counts="unit", joined=6)


def test_k_records_of_one_unit_are_at_risk():
    table = pa.table({"age": [30] * 8 + [50] * 8, "patient": [1] * 8 + [*range(8)]})
    release = shoal.protect(table, k=5, quasi=["age"], unit="patient", only="at_risk")
    assert release.summary()["only"]["at_risk"] == 8
    assert release.table["age"].to_pylist() == [50] * 16
    assert shoal.protect(table, k=5, quasi=["age"], identifiers=["patient"], only="at_risk").summary()["only"] == {
        "at_risk": 0, "changed": 0, "joined": 0,
    }  # fmt: skip


def test_with_one_record_for_each_unit_the_same_records_are_at_risk():
    table = stays(120, units=120)
    options = {"k": 4, "quasi": ["age", "rooms"], "publish": ["job", "area"], "only": "at_risk", "method": "mdav"}
    one, two = (
        shoal.protect(table, **which, **options) for which in ({"unit": "patient"}, {"identifiers": ["patient"]})
    )
    assert one.summary()["only"]["at_risk"] == two.summary()["only"]["at_risk"] > 0


def test_a_record_of_a_combination_of_k_units_that_changed_fails_the_verification():
    table = pa.table({"age": [30] * 6 + [50] * 6, "patient": [*range(6)] * 2})
    release = shoal.protect(table, k=5, quasi=["age"], unit="patient", only="at_risk")
    wrong = pa.table({"age": pa.array([40] * 12, release.table["age"].type)})
    with refused(CheckFailed, "safe-records-changed", records=12):
        verify_in_memory(Table(table), Table(wrong), release.published.promise)


def test_units_keep_pseudonyms(tmp_path):
    table = stays()
    release = shoal.protect(
        table, k=4, quasi=["age", "job"], publish=["rooms", "area"], unit="patient", unit_as="pseudonym", only="at_risk"
    )
    release.save(tmp_path / "masked.csv")
    with duckdb.connect() as database:
        units = f"SELECT count(DISTINCT patient) n FROM '{tmp_path / 'masked.csv'}' GROUP BY age, job"
        assert database.sql(f"SELECT min(n) FROM ({units})").fetchall()[0][0] >= 4
    shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")
