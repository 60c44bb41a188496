"""Dominance: what is asked for holds in the file that is written, and what cannot hold is refused in words."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.expect import codes, refused, reports

import naive
import shoal
from shoal.pipeline import masker

MAGNITUDES = ["FIXED.ASSETS", "PAID.UP.CAPITAL", "SALES", "LABOR.COSTS"]


def firms(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sales = np.round(rng.lognormal(4, 1.5, n))
    return pd.DataFrame(
        {
            "sales": sales,
            "staff": np.round(sales / 10 + rng.integers(0, 9, n)),
            "assets": np.round(rng.lognormal(4, 2, n)),
            "w": rng.integers(1, 5, n),
        }
    )


def failing(original: pd.DataFrame, masked: pd.DataFrame, quasi, name, p=None, n=None, share=None, weights=None):
    """Count the cells that break a rule, one group of the written file at a time."""
    count = 0
    for _, group in masked.groupby(quasi):
        rows = original.loc[group.index]
        often = np.ones(len(rows)) if weights is None else rows[weights]
        count += naive.breaks_dominance(rows[name], range(len(rows)), often, p, n, share)
    return count


@pytest.mark.parametrize(
    ("rule", "found", "most"),
    [({"p_percent": 10}, (0.09, 0.12), 17), ({"dominance": [1, 60]}, (0.14, 0.17), 18)],
)
def test_tarragona_has_dominated_cells_without_the_option_and_none_with_it(rule, found, most, reference_file):
    table = pd.read_csv(reference_file("tarragona"))
    without = shoal.protect(table, k=3, method="mdav")
    measured = shoal.assess(table, without.table, magnitudes=MAGNITUDES, **rule)["risk"]["dominance"]
    share = sum(each["failing"] for each in measured.values()) / sum(each["cells"] for each in measured.values())
    assert found[0] < share < found[1]
    release = shoal.protect(table, k=3, method="mdav", magnitudes=MAGNITUDES, **rule)
    assert all(each["failing"] == 0 for each in release.risk()["dominance"].values())
    again = shoal.assess(table, release.table, magnitudes=MAGNITUDES, **rule)["risk"]["dominance"]
    assert all(each["failing"] == 0 for each in again.values())
    assert release.risk()["after"]["smallest"] >= 3
    assert release.loss()["IL"] < most
    assert reports(release.notes, "dominated-groups-re-formed")


@pytest.mark.parametrize("method", ["mdav", "best"])
@pytest.mark.parametrize("weights", [None, "w"])
def test_the_written_file_satisfies_the_rules(method, weights, tmp_path):
    table, quasi = firms(), ["sales", "staff", "assets"]
    options = {"k": 3, "quasi": quasi, "method": method, "weights": weights, "publish": "rest"}
    options |= {"budget": 500} if method == "best" else {}
    rules = {"p_percent": 20, "dominance": [1, 55], "magnitudes": ["sales", "assets"]}
    shoal.protect(table, **options, **rules).save(tmp_path / "masked.parquet")
    masked = pq.read_table(tmp_path / "masked.parquet").to_pandas()
    plain = shoal.protect(table, **options).table
    for name in rules["magnitudes"]:
        assert failing(table, masked, quasi, name, 20, 1, 55, weights) == 0
    assert failing(table, plain, quasi, "assets", 20, 1, 55, weights) > 0
    least = duckdb.sql("SELECT min(n) FROM (SELECT count(*) n FROM masked GROUP BY sales, staff, assets)").fetchall()
    assert least[0][0] >= 3


def test_units_are_the_contributors(tmp_path):
    table = firms().assign(firm=[f"f{i // 4}" for i in range(200)])
    options = {"k": 3, "quasi": ["sales", "assets"], "publish": ["staff", "w"], "unit": "firm", "p_percent": 20}
    shoal.protect(table, **options, method="mdav").save(tmp_path / "masked.parquet")
    masked = pq.read_table(tmp_path / "masked.parquet").to_pandas()
    for name in ("sales", "assets"):
        for _, group in masked.groupby(["sales", "assets"]):
            rows = table.loc[group.index]
            assert not naive.breaks_dominance(rows[name], rows["firm"], np.ones(len(rows)), 20)
    found = shoal.assess(table, masked, quasi=["sales", "assets"], p_percent=20, unit="firm")["risk"]["dominance"]
    assert all(each["failing"] == 0 for each in found.values())


def test_what_a_contributor_dominates_does_not_pass_verification(monkeypatch):
    monkeypatch.setattr(masker, "re_formed", lambda masker, rows, labels, homes: (labels, 0))
    with refused(shoal.CheckFailed, "dominated-groups", column="sales", groups=1):
        shoal.protect(firms(), k=3, quasi=["sales", "staff"], publish="rest", p_percent=20, method="mdav")


def test_l_and_strata_hold_with_dominance():
    table = firms().assign(region=np.arange(200) % 2, ill=np.arange(200) % 3)
    options = {"quasi": ["sales", "staff"], "strata": ["region"], "confidential": ["ill"], "l": 2, "publish": "rest"}
    release = shoal.protect(table, k=3, **options, dominance=[1, 60], method="mdav")
    assert release.table.groupby(["sales", "staff", "region"])["ill"].nunique().min() >= 2


def test_negative_magnitudes_are_refused_with_the_first_record():
    table = firms()
    table.loc[[4, 9], "staff"] = -1
    with refused(shoal.DataError, "negative-magnitude", column="staff", first=5, records=2):
        shoal.protect(table, k=3, quasi=["sales", "staff"], publish="rest", p_percent=10)
    with refused(shoal.DataError, "negative-magnitude", column="staff", first=5, records=1):
        shoal.assess(table, table, quasi=["sales", "staff"], p_percent=10, magnitudes=["staff"])
    found = shoal.assess(table, table, quasi=["sales", "staff"], p_percent=10)
    assert [*found["risk"]["dominance"]] == ["sales"]
    assert found["left_out"]["negative, in what is measured of dominance"] == ["staff"]


@pytest.mark.parametrize(
    ("rule", "code", "data"),
    [
        ({"dominance": [1, 60]}, "dominance-impossible", {"share": 60, "n": 1}),
        ({"p_percent": 10}, "p-percent-impossible", {"p": 10}),
    ],
)
def test_what_no_groups_can_satisfy_is_refused_before_they_are_formed(rule, code, data, monkeypatch):
    table = firms()
    table.loc[0, "sales"] = 1000 * table["sales"].sum()
    monkeypatch.setattr(masker, "grouped", None)
    with refused(shoal.DataError, code, column="sales", **data):
        shoal.protect(table, k=3, quasi=["sales", "staff"], publish="rest", **rule)


def test_a_stratum_that_one_contributor_dominates_is_refused():
    table = firms().assign(region=np.repeat([0, 1], 100))
    table.loc[0, "sales"] = 10 * table["sales"][:100].sum()
    with refused(shoal.DataError, "dominance-impossible", column="sales", share=60, part=True):
        shoal.protect(table, k=3, quasi=["sales", "staff"], strata=["region"], publish="rest", dominance=[1, 60])


@pytest.mark.parametrize(
    ("options", "code", "field", "column"),
    [
        ({"magnitudes": ["w"]}, "not-masked", "magnitudes", "w"),
        ({"types": {"staff": "ordinal"}, "magnitudes": ["staff"]}, "magnitude-not-continuous", "magnitudes", "staff"),
        ({"aggregate": "median"}, "needs-the-mean", "p_percent", "sales"),
    ],
)
def test_attributes_without_totals_are_refused(options, code, field, column):
    with refused(shoal.PlanError, code, field, column=column):
        shoal.protect(firms(), k=3, publish="rest", p_percent=10, **{"quasi": ["sales", "staff"], **options})


def test_the_manifest_says_that_dominance_and_totals_were_verified(tmp_path):
    table = firms().assign(nace=np.arange(200) % 4)
    options = {"quasi": ["sales", "staff"], "publish": "rest", "p_percent": 10, "keep_totals": ["nace"]}
    shoal.protect(table, k=3, **options).save(tmp_path / "masked.csv")
    found = shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")
    assert {"again-dominance", "again-totals"} <= {*codes(found["unverified"])}
    text = (tmp_path / "masked.csv.manifest.json").read_text()
    for field in ("dominance", "domain_totals"):
        (tmp_path / "other.json").write_text(text.replace(f'"{field}": true', f'"{field}": false'))
        with refused(shoal.CheckFailed, "contradicts-plan"):
            shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "other.json")


def test_the_command_line_and_the_plan_file_say_the_same(tmp_path):
    from shoal.plan.commands import protect_command

    plan = shoal.Plan(k=3, input="firms.csv", quasi=["sales"], p_percent=10, dominance=[1, 60], magnitudes=["sales"])
    assert "--p-percent 10" in protect_command(plan)
    assert "--dominance 1,60" in protect_command(plan)
    (tmp_path / "plan.toml").write_text(plan.to_toml(tmp_path))
    assert shoal.Plan.load(tmp_path / "plan.toml").dominance == [1, 60]
