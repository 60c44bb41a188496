"""Totals of domains: kept to nine digits in the file that is written, with k as ever, or refused in words."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.expect import codes, refused, reports

import shoal
from shoal.backends.capabilities import refuse_limits
from shoal.pipeline import totals

QUASI = ["sales", "staff", "profit"]
DOMAINS = ["nace", "size"]
PLAN = {"k": 3, "quasi": QUASI, "publish": "rest", "method": "mdav", "keep_totals": DOMAINS}


def businesses(n: int = 400, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sales = np.round(rng.lognormal(5, 1.2, n)).astype(int)
    return pd.DataFrame(
        {
            "nace": rng.choice(["C", "F", "G", "I"], n),
            "size": pd.cut(sales, [-1, 60, 200, 10**9], labels=["small", "medium", "large"]).astype(str),
            "region": rng.choice(["n", "s"], n),
            "sales": sales,
            "staff": np.round(sales / 20 * rng.uniform(0.2, 2, n)).astype(int),
            "profit": rng.normal(0, 50, n),
            "w": rng.integers(1, 9, n) / 2,
        }
    )


def worst(original: pd.DataFrame, masked: pd.DataFrame, names: list[str], weights: str | None = None) -> float:
    """How far the total of a domain is off at most, as a share of its absolute values, by SQL."""
    w = "1" if weights is None else f"o.{weights}"
    found = 0.0
    rows, other = original.assign(row=range(len(original))), masked.assign(row=range(len(masked)))
    with duckdb.connect() as database:
        database.register("original", rows)
        database.register("masked", other)
        for keys in ([*names], *([name] for name in names)):
            cells = ", ".join(f"o.{key}" for key in keys)
            for name in QUASI:
                query = (
                    f"SELECT max(abs(d) / greatest(a, 1e-300)) FROM (SELECT sum({w} * (m.{name} - o.{name})) d, "
                    f"sum({w} * abs(o.{name})) a FROM original o JOIN masked m USING (row) GROUP BY {cells})"
                )
                found = max(found, database.sql(query).fetchall()[0][0])
    return found


def least_group(masked: pd.DataFrame, names: list[str]) -> int:
    return int(masked.groupby(names).size().min())


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"weights": "w"},
        {"strata": ["region"], "keep_totals": ["nace", "region"]},
        {"blocks": [["sales", "staff"], ["profit"]]},
        {"method": "best", "budget": 500},
        {"scale": {"block_size": 120}},
        {"p_percent": 10, "magnitudes": ["sales"]},
    ],
    ids=str,
)
def test_the_written_file_keeps_the_totals_of_domains_and_k(more, tmp_path):
    table, plan = businesses(), {**PLAN, **more}
    release = shoal.protect(table, **plan)
    release.save(tmp_path / "masked.parquet")
    masked = pq.read_table(tmp_path / "masked.parquet").to_pandas()
    names = plan["keep_totals"]
    assert worst(table, masked, names, plan.get("weights")) < 1e-9
    without = shoal.protect(table, **{**plan, "keep_totals": None})
    assert worst(table, without.table, names, plan.get("weights")) > 1e-3
    for block in plan.get("blocks", [QUASI]):
        assert least_group(masked, [*block, *plan.get("strata", [])]) >= 3
    assert masked[["sales", "staff"]].min().min() >= 0
    changes = release.summary()["totals"]["largest_change"]
    assert set(changes) == set(QUASI)
    assert reports(release.notes, "totals-kept", domains=names, scaled=True)
    assert codes(release.notes).count("mean-in-domains") == 1


def test_a_file_larger_than_memory_keeps_the_same_totals(tmp_path):
    source = tmp_path / "in.parquet"
    businesses().to_parquet(source)
    plan = {**PLAN, "scale": {"block_size": 120}, "weights": "w"}
    in_memory = shoal.protect(source, engine="memory", **plan)
    found = shoal.protect(source, engine="file", output=tmp_path / "out.parquet", **plan)
    found.save()
    in_memory.save(tmp_path / "memory.parquet")
    assert pq.read_table(tmp_path / "out.parquet").equals(pq.read_table(tmp_path / "memory.parquet"))
    assert found.loss()["IL"] == pytest.approx(in_memory.loss()["IL"])
    assert found.summary()["totals"] == in_memory.summary()["totals"]


def test_values_at_zero_stay_there():
    table = businesses()
    table["staff"] = np.where(table["nace"] == "C", 0, table["staff"])
    release = shoal.protect(table, **PLAN)
    assert release.table["staff"].min() >= 0
    assert worst(table, release.table, DOMAINS) < 1e-9
    of_c = release.table.loc[table["nace"] == "C", "staff"]
    assert of_c.max() < 1e-9


def test_totals_that_are_not_kept_do_not_pass_verification(monkeypatch):
    nothing = totals.Adjustment.apply

    def off(self, rows, published):
        found, largest = nothing(self, rows, published)
        return found * (1 + 1e-7), largest + 1

    monkeypatch.setattr(totals.Adjustment, "apply", off)
    with refused(shoal.CheckFailed, "total-not-kept", column="sales", number=12, domains=("nace", "size")):
        shoal.protect(businesses(), **PLAN)


def test_domains_of_few_records_or_units_are_refused_without_their_values():
    table = businesses()
    table.loc[[5, 6], "nace"] = "Z"
    with refused(shoal.DataError, "small-domains", domains=DOMAINS, k=3, counts="record") as error:
        shoal.protect(table, **PLAN)
    assert "Z" not in str(error.value)
    table = businesses().assign(firm=np.arange(400) // 2)
    table.loc[10:13, "nace"] = "Y"
    table.loc[10:13, "size"] = "small"
    with refused(shoal.DataError, "small-domains", k=3, counts="unit"):
        shoal.protect(table, **{**PLAN, "unit": "firm"})


def test_a_total_that_one_contributor_dominates_is_refused():
    table = businesses()
    table.loc[0, ["sales", "nace"]] = [10 * int(table["sales"].sum()), "F"]
    table = pd.concat([table, table.assign(nace="G")], ignore_index=True)
    with refused(shoal.DataError, "dominated-total", column="sales", failing=2, combinations=12):
        shoal.protect(table, **PLAN, dominance=[1, 90], magnitudes=["sales"])


def test_more_domains_than_groups_are_refused():
    table = businesses(60).assign(nace=np.arange(60) % 12)
    groups = {"k": 5, "keep_totals": ["nace"], "blocks": [["sales"], ["staff", "profit"]], "attribute_weights": {}}
    with refused(shoal.DataError, "totals-infeasible", positive=True, combinations=12, domains=["nace"]):
        shoal.protect(table.assign(sales=np.repeat([1, 2, 3], 20)), **{**PLAN, **groups})


def test_spark_says_why_it_keeps_no_totals():
    with refused(shoal.PlanError, "not-on-engine", "keep_totals", engine="spark", instead="memory", other="file"):
        refuse_limits("spark", shoal.Plan(**PLAN))


def test_too_many_combinations_are_refused():
    with refused(shoal.PlanError, "too-many-combinations", "keep_totals", most=1000, columns=["code"]):
        shoal.protect(businesses(1200).assign(code=range(1200)), **{**PLAN, "keep_totals": ["code"]})


@pytest.mark.parametrize(
    ("options", "code", "data"),
    [
        ({"keep_totals": ["sales"]}, "not-a-domain", {"column": "sales"}),
        ({"keep_totals": ["region"], "identifiers": ["region"]}, "not-a-domain", {"column": "region"}),
        ({"keep_totals": ["nace", "nace"]}, "names-twice", {"column": "nace"}),
        ({"quasi": ["nace"], "keep_totals": ["size"], "publish": "rest"}, "no-number-masked", {}),
    ],
    ids=str,
)
def test_attributes_that_are_no_domains_are_refused(options, code, data):
    with refused(shoal.PlanError, code, "keep_totals", **data):
        shoal.protect(businesses(), **{**PLAN, **options})


def test_a_misspelled_domain_is_refused_with_the_right_name():
    with refused(shoal.PlanError, "unknown-column", "keep_totals", column="nacee", near="nace"):
        shoal.protect(businesses(), **{**PLAN, "keep_totals": ["nacee"]})


def crossed(small: int = 121, n: int = 240) -> pd.DataFrame:
    """Groups of three records in a row, one of which the border between sizes may cut."""
    sales = np.round(np.random.default_rng(0).lognormal(6, 0.5, n))
    size = np.where(np.arange(n) < small, "small", "large")
    return pd.DataFrame({"staff": np.arange(n) // 3 * 10 + np.tile([0, 1, 2], n // 3), "sales": sales, "size": size})


CROSSED = {
    "k": 3,
    "quasi": ["staff", "sales"],
    "publish": ["size"],
    "keep_totals": ["size"],
    "p_percent": 10,
    "magnitudes": ["sales"],
    "attribute_weights": {"staff": 1000},
    "method": "mdav",
}


@pytest.mark.parametrize("engine", ["memory", "file"])
def test_a_total_less_the_groups_inside_its_domain_gives_no_record_away(engine, tmp_path):
    crossed().to_parquet(tmp_path / "in.parquet")
    out = {"output": tmp_path / "out.parquet"} if engine == "file" else {}
    data = {"number": 2, "domains": ("size",), "k": 3, "counts": "record", "strata": "size"}
    with refused(shoal.DataError, "few-across-border", "keep_totals", **data) as error:
        shoal.protect(tmp_path / "in.parquet", engine=engine, **out, **CROSSED)
    assert "small" not in str(error.value)


def test_few_units_across_a_border_are_refused():
    table = crossed().assign(firm=np.arange(240))
    with refused(shoal.DataError, "few-across-border", k=3, counts="unit"):
        shoal.protect(table, **CROSSED, unit="firm")


@pytest.mark.parametrize(
    ("small", "more"), [(120, {}), (121, {"strata": ["size"], "publish": []})], ids=["groups", "strata"]
)
def test_groups_inside_domains_publish_their_means_and_the_note_says_so(small, more):
    release = shoal.protect(crossed(small), **{**CROSSED, **more})
    assert reports(release.notes, "totals-kept", combinations=2, domains=["size"], change=None)
    assert set(release.summary()["totals"]["largest_change"].values()) == {0.0}


def test_the_largest_change_has_two_digits():
    changes = shoal.protect(businesses(), **PLAN).summary()["totals"]["largest_change"]
    assert all(change == float(f"{change:.2g}") > 0 for change in changes.values())
