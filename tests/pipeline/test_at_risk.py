"""Only those at risk: records whose combination k records share stay as they are, and k holds for all."""

import os
from pathlib import Path

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
from shoal.errors import CheckFailed
from shoal.tables import Table

TESTDATA = Path(os.environ.get("SHOAL_DATA", "../shared/data")) / "sdcmicro" / "testdata.csv"
METHODS = ["auto", "mdav", "vmdav", "pca", "zscores", "tour", "npn-mhm", "mdav-mhm", "cbfs-mhm", "best"]


def people(n: int = 300, seed: int = 1, gaps: float = 0.0) -> pa.Table:
    """Persons, some combinations of whom are rare."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": pa.array(rng.geometric(0.2, n), mask=rng.random(n) < gaps),
            "rooms": rng.binomial(4, 0.3, n) + 0.1,
            "job": pa.array(rng.choice(["a", "b", "c", "d"], n, p=[0.6, 0.3, 0.08, 0.02]), mask=rng.random(n) < gaps),
            "area": rng.choice(["n", "s"], n, p=[0.8, 0.2]),
            "ill": rng.choice(["yes", "no"], n),
        }
    )


def rows(table: pa.Table, names: list[str]) -> list[tuple]:
    return [tuple(row.values()) for row in table.select(names).to_pylist()]


def assert_only_those_at_risk(table: pa.Table, release: shoal.Release, names: list[str], k: int) -> list[bool]:
    before, after = rows(table, names), rows(release.table, names)
    risky = naive.at_risk(before, k)
    assert all(one == two for one, two, risk in zip(before, after, risky, strict=True) if not risk)
    assert not any(naive.at_risk(after, k))
    only = release.summary()["only"]
    assert only["at_risk"] == sum(risky)
    assert only["changed"] == sum(one != two for one, two in zip(before, after, strict=True)) <= sum(risky)
    return risky


@pytest.mark.parametrize("method", METHODS)
def test_records_that_are_not_at_risk_do_not_change_whatever_the_method(method):
    table = people()
    options = {"budget": 200} if method == "best" else {}
    release = shoal.protect(
        table, k=4, quasi=["age", "rooms"], publish=["area", "job"], confidential=["ill"], only="at_risk",
        method=method, round=False, **options,
    )  # fmt: skip
    risky = assert_only_those_at_risk(table, release, ["age", "rooms"], 4)
    assert 0 < sum(risky) < len(risky)
    assert reports(release.notes, "only-at-risk", at_risk=sum(risky), records=300, k=4, counts="record")


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(10, 80),
    seed=st.integers(0, 10_000),
    k=st.integers(2, 6),
    size=st.sampled_from([None, 9]),
    missing=st.sampled_from(["error", "group"]),
)
def test_k_always_holds_and_no_other_record_changes(n, seed, k, size, missing):
    table = people(n, seed, 0.1 if missing == "group" else 0.0)
    scale = {} if size is None else {"scale": {"block_size": size}}
    names = ["age", "job", "area"]
    release = shoal.protect(
        table, k=k, quasi=names, publish=["rooms", "ill"], only="at_risk", missing=missing, method="mdav", **scale
    )
    assert_only_those_at_risk(table, release, names, k)


def test_records_at_risk_are_microaggregated_among_themselves():
    table = people()
    names = ["age", "rooms"]
    risky = np.array(naive.at_risk(rows(table, names), 4))
    release = shoal.protect(
        table.select(names), k=4, quasi=names, only="at_risk", method="mdav", standardize="none", round=False
    )
    alone = shoal.protect(
        table.select(names).filter(risky), k=4, quasi=names, method="mdav", standardize="none", round=False
    )
    assert rows(release.table.filter(risky), names) == rows(alone.table, names)


def test_fewer_than_k_records_at_risk_take_on_the_nearest_combination_of_k():
    ages = [30] * 6 + [50] * 6 + [33, 48]
    table = pa.table({"age": ages, "job": ["a"] * 14})
    release = shoal.protect(table, k=5, quasi=["age", "job"], types={"job": "nominal"}, only="at_risk")
    assert release.table["age"].to_pylist() == [30] * 6 + [50] * 6 + [30, 50]
    assert release.summary()["only"] == {"at_risk": 2, "changed": 2, "joined": 2}
    assert reports(release.notes, "only-at-risk", at_risk=2, changed=2, joined=2)


def test_combinations_are_counted_within_strata():
    table = people()
    release = shoal.protect(
        table, k=4, quasi=["age", "job"], strata=["area"], publish=["rooms", "ill"], only="at_risk", method="mdav"
    )
    assert_only_those_at_risk(table, release, ["age", "job", "area"], 4)


@pytest.mark.parametrize("missing", ["group", "impute", "suppress"])
def test_missing_values(missing):
    table = people(gaps=0.05)
    release = shoal.protect(
        table, k=4, quasi=["age", "job"], publish=["rooms", "area", "ill"], only="at_risk", missing=missing
    )
    after = rows(release.table, ["age", "job"])
    assert not any(naive.at_risk(after, 4))
    if missing == "impute":
        assert not any(None in row for row in after)
    if missing == "suppress":
        assert release.suppressed == sum(None in row for row in rows(table, ["age", "job"]))


def test_nothing_changes_where_nobody_is_at_risk():
    table = people().select(["area", "ill"])
    release = shoal.protect(table, k=4, quasi=["area"], publish=["ill"], only="at_risk")
    assert release.table.equals(table)
    assert release.summary()["only"] == {"at_risk": 0, "changed": 0, "joined": 0}


def test_every_record_at_risk_is_masked_as_without_the_option():
    table = pa.table({"income": np.random.default_rng(3).lognormal(8, 1, 60)})
    one = shoal.protect(table, k=4, quasi=["income"], only="at_risk")
    assert one.table.equals(shoal.protect(table, k=4, quasi=["income"]).table)
    assert one.summary()["only"]["at_risk"] == 60


def test_a_record_that_is_not_at_risk_and_changed_fails_the_verification():
    table = pa.table({"age": [30] * 6 + [50] * 6})
    release = shoal.protect(table, k=5, quasi=["age"], only="at_risk")
    wrong = pa.table({"age": pa.array([40] * 12, release.table["age"].type)})
    with refused(CheckFailed, "safe-records-changed", records=12):
        verify_in_memory(Table(table), Table(wrong), release.published.promise)


def test_zeros_of_both_signs_are_one_combination_also_in_a_file_of_text(tmp_path):
    table = pa.table({"a": [0.0] * 3 + [-0.0] * 3 + [5.0] * 6})
    release = shoal.protect(table, k=5, quasi=["a"], only="at_risk")
    assert release.summary()["only"]["at_risk"] == 0
    release.save(tmp_path / "masked.csv")
    assert len({*(tmp_path / "masked.csv").read_text().split()}) == 3


def test_a_sweep_counts_who_is_at_risk_at_every_k():
    table = people()
    found = shoal.sweep(table, k=[3, 9], quasi=["age", "job"], publish=["rooms", "area", "ill"], only="at_risk")
    few, many = (found.release(k).summary()["only"]["at_risk"] for k in (3, 9))
    assert few < many


def test_a_saved_release_passes_the_check_of_its_manifest_and_its_plan_gives_it_again(tmp_path):
    table = people()
    release = shoal.protect(table, k=4, quasi=["age", "job"], publish=["rooms", "area", "ill"], only="at_risk")
    release.save(tmp_path / "masked.csv")
    shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")
    assert shoal.protect(table, plan=release.plan.asked()).table.equals(release.table)


@pytest.mark.skipif(not TESTDATA.exists(), reason="needs sdcMicro's testdata")
def test_testdata_of_sdcmicro(tmp_path):
    names = ["urbrur", "roof", "relat", "sex", "age"]
    types = dict.fromkeys(["urbrur", "roof", "relat", "sex"], "nominal")
    options = {"k": 5, "quasi": names, "types": types, "missing": "group", "method": "mdav", "publish": "rest"}
    release = shoal.protect(TESTDATA, only="at_risk", **options)
    release.save(tmp_path / "masked.csv")
    by = ", ".join(names)
    with duckdb.connect() as database:
        count = f"SELECT min(n) FROM (SELECT count(*) n FROM '{tmp_path / 'masked.csv'}' GROUP BY {by})"
        assert database.sql(count).fetchall()[0][0] >= 5
        count = f"SELECT sum(n) FROM (SELECT count(*) n FROM '{TESTDATA}' GROUP BY {by}) WHERE n < 5"
        assert database.sql(count).fetchall()[0][0] == release.summary()["only"]["at_risk"]
