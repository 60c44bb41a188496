"""One plan, three backends: the same records, values and types, and the same evidence; counted again by plain SQL."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import naive
import shoal
from shoal.pipeline import prepare

RECORDS = 360
BLOCKS = {"block_size": 120}
SEAMS = {"block_size": 50, "seams": True}
QUASI = ["income", "age", "edu", "town", "since"]
LEVELS = {"edu": ["none", "school", "college"]}
SUM = "sum: wages + other == costs"
CAPPED = "capped: if region == 'south' then cap <= 30"
TRAINED = ["edu <= job", "if edu >= 'school' then job > 'none' and cap <= 90"]


def survey(
    gaps: float = 0.0, broken: bool = False, midnights: bool = False, stays: int = 1, homes: bool = False
) -> pa.Table:
    """Persons with attributes of every type, weights, strata, a sensitive attribute and columns that obey rules."""
    rng = np.random.default_rng(17)
    n = RECORDS

    def missing() -> np.ndarray:
        return rng.random(n) < gaps

    region = rng.choice(["north", "south", "east"], n, p=[0.5, 0.4, 0.1])
    wages, other = rng.integers(1, 5000, n), rng.integers(0, 900, n)
    costs = wages + other
    if broken:
        costs[:7] += 1
    days = np.datetime64("2001-03-01") + rng.integers(0, 4000, n)
    table = pa.table(
        {
            "id": [f"p{i // stays}" for i in range(n)],
            "income": pa.array(rng.lognormal(7, 1, n), mask=missing()),
            "age": pa.array(rng.integers(18, 90, n), mask=missing()),
            "edu": pa.array(rng.choice(LEVELS["edu"], n), mask=missing()),
            "town": pa.array(rng.choice(["Ulm", "Bonn", "Kiel"], n), mask=missing()),
            "since": pa.array(days.astype("M8[us]") if midnights else days, mask=missing()),
            "owner": rng.random(n) < 0.4,
            "ill": rng.choice(["flu", "cold", "none", "cough"], n),
            "debt": rng.integers(0, 40, n),
            "region": region,
            "weight": rng.integers(1, 80, n) / 8,
            "wages": wages,
            "other": other,
            "costs": costs,
            "cap": np.where(region == "south", rng.integers(0, 30, n), rng.integers(0, 90, n)),
        }
    )
    place = {None: 0, **{level: at for at, level in enumerate(LEVELS["edu"])}}
    edu = [place[level] for level in table["edu"].to_pylist()]
    job = [LEVELS["edu"][max(one, two)] for one, two in zip(edu, edu[::-1], strict=True)]
    table = table.append_column("job", pa.array(job))
    return (with_homes(table) if homes else table).take(rng.permutation(n))


def with_homes(table: pa.Table) -> pa.Table:
    """Add households of one to four, with what their members share."""
    rng = np.random.default_rng(5)
    home = np.sort(rng.integers(0, 150, len(table)))
    shared = {
        "home": [f"h{each}" for each in home],
        "rooms": rng.integers(1, 9, 150)[home],
        "rent": rng.lognormal(6, 1, 150)[home],
        "heating": pa.array(rng.choice(["gas", "oil", "wood"], 150)[home], mask=(home % 11 == 0)),
        "area": rng.choice(["north", "south"], 150)[home],
    }
    # Many share what they spent; few in the south do not.
    south = np.cumsum(shared["area"] == "south")
    rare = np.where(shared["area"] == "south", south <= 3, rng.random(len(home)) < 0.4)
    shared["spent"] = np.where(rare, rng.lognormal(5, 1, len(home)), rng.choice([100.0, 200.0, 300.0], len(home)))
    for name, column in shared.items():
        table = table.append_column(name, pa.array(column))
    return table


NUMBERS = ["income", "age", "wages"]
RULED = ["wages", "other", "costs", "cap"]
MIXED = {"quasi": QUASI, "levels": LEVELS}
STRATA = {"quasi": NUMBERS, "strata": ["region"]}
SMALL = {"block_size": 30}
ONLY = {"only": "at_risk", "k": 5}
HYBRID = {"method": "hybrid", "k": 12, "seed": 7}
NOISY = {"method": "ms", "k": None, "alpha": 0.4, "seed": 7, "quasi": ["age", "town"]}
UNITS = {"quasi": NUMBERS, "unit": "id", "identifiers": []}
# Each plan by name: its table (gaps, broken rules) and its options; k is 3, the method mdav unless it is named.
PLANS: dict[str, tuple[dict, dict]] = {
    "numbers": ({}, {"quasi": NUMBERS}),
    "numbers in one block": ({}, {"quasi": NUMBERS, "scale": {"block_size": 1000}}),
    "mixed types": ({}, MIXED),
    "recoded": (
        {"gaps": 0.05},
        {
            "quasi": ["income", "age", "town", "since"],
            "strata": ["debt"],
            "confidential": ["wages"],
            "l": 2,
            "missing": "group",
            "recode": {
                "age": [30, 45.5, 65],
                "town": {"west": ["Bonn"], "other": ["Kiel", "Rome"]},
                "since": ["2004-01-01", "2008-06-30"],
                "debt": [20],
                "wages": [1000, 2500],
                "cap": {"few": [0, 1, 2]},
            },
        },
    ),
    "booleans": ({}, {"quasi": ["income", "owner"]}),
    "identifiers": ({}, {"quasi": NUMBERS, "identifiers": ["id", "town"]}),
    "identifiers that repeat": ({"stays": 40}, {"blocks": [["income", "age"], ["wages"]], "strata": ["region"]}),
    "units": ({"stays": 4}, UNITS),
    "units of mixed types with gaps": ({"stays": 4, "gaps": 0.05}, {**UNITS, **MIXED, "missing": "group"}),
    "units of a search": ({"stays": 9}, {**UNITS, "method": "best", "budget": 2000, "seed": 5}),
    "units on a tour": ({"stays": 9}, {**UNITS, "method": "tour"}),
    "units, small strata merged": ({"stays": 12}, {**UNITS, **STRATA, "k": 20, "small_strata": "merge"}),
    "units, small strata left out": ({"stays": 12}, {**UNITS, **STRATA, "k": 20, "small_strata": "suppress"}),
    "units within l and t": (
        {"stays": 3},
        {**UNITS, "confidential": ["ill", "debt"], "l": 3, "t": 0.5, "scale": BLOCKS},
    ),
    "units in attribute blocks": ({"stays": 6}, {"blocks": [["income", "age"], ["wages"]], **UNITS, "quasi": None}),
    "cells of a 2^d-tree": ({}, {"quasi": ["income", "age"], "scale": {**BLOCKS, "blocking": "2^d"}}),
    "cells of a 2^d-tree, by one attribute": (
        {},
        {"quasi": NUMBERS, "scale": {**BLOCKS, "blocking": "2^d", "dimensions": ["age"]}},
    ),
    "intervals": (
        {},
        {"quasi": NUMBERS, "scale": {"block_size": 20, "blocking": "interval", "dimensions": ["income"]}},
    ),
    "sorted, with ties": ({}, {**MIXED, "scale": {"block_size": 9, "blocking": "sorted", "dimensions": ["age"]}}),
    "sorted, strata": ({}, {**STRATA, "scale": {"block_size": 20, "blocking": "sorted", "dimensions": ["age"]}}),
    "blocks of k": ({}, {"quasi": NUMBERS, "scale": {"block_size": 3}}),
    "cells of k": ({}, {"quasi": NUMBERS, "scale": {"block_size": 3, "blocking": "2^d"}}),
    "blocks by categories": ({}, {"quasi": ["town", "owner", "income"], "scale": {"block_size": 20}}),
    "blocks by categories and gaps": ({"gaps": 0.05}, {**MIXED, "missing": "group", "scale": {"block_size": 20}}),
    "blocks as the data say": ({}, {"quasi": NUMBERS, "scale": {"block_size": "auto"}}),
    "min-max": ({}, {"quasi": NUMBERS, "standardize": "minmax"}),
    "no scale": ({}, {"quasi": NUMBERS, "standardize": "none"}),
    "attribute weights": ({}, {**MIXED, "attribute_weights": {"age": 4, "edu": 2}}),
    "vmdav": ({}, {"quasi": NUMBERS, "method": "vmdav", "gain": 0.4}),
    "pca": ({}, {"quasi": NUMBERS, "method": "pca"}),
    "zscores": ({}, {"quasi": NUMBERS, "method": "zscores"}),
    "tour": ({}, {"quasi": NUMBERS, "method": "tour"}),
    "savings tour": ({}, {"quasi": NUMBERS, "method": "tour", "tour": "savings"}),
    "npn-mhm": ({}, {"quasi": NUMBERS, "method": "npn-mhm"}),
    "mdav-mhm": ({}, {"quasi": NUMBERS, "method": "mdav-mhm"}),
    "cbfs-mhm": ({}, {"quasi": NUMBERS, "method": "cbfs-mhm"}),
    "univariate": ({}, {"blocks": [["income"], ["age"]], "method": "univariate"}),
    "best by steps": ({}, {"quasi": NUMBERS, "method": "best", "budget": 3000, "seed": 5}),
    "refined by steps": ({}, {"quasi": NUMBERS, "refine": True, "budget": 3000}),
    "best of mixed types": ({"gaps": 0.05}, {**MIXED, "missing": "group", "method": "best", "budget": 3000}),
    "best by weights": ({}, {**MIXED, "method": "best", "budget": 3000, "weights": "weight", "scale": BLOCKS}),
    "best within l and t": (
        {},
        {**MIXED, "method": "best", "budget": 2000, "confidential": ["ill"], "l": 3, "t": 0.4, "scale": BLOCKS},
    ),
    "medians": ({}, {**MIXED, "aggregate": {"income": "median", "age": "lower_median", "edu": "convex_median"}}),
    "medoids": ({}, {**MIXED, "aggregate": "medoid"}),
    "geometric means": ({}, {"quasi": NUMBERS, "aggregate": "geometric_mean"}),
    "trimmed means": ({}, {"quasi": NUMBERS, "aggregate": "trimmed_mean", "k": 5}),
    "rounded": ({}, {"quasi": NUMBERS, "round": True}),
    "decimals": ({}, {"quasi": NUMBERS, "round": False}),
    "midnights": ({"midnights": True}, {"quasi": ["income", "since"]}),
    "variances restored": ({}, {"quasi": [*NUMBERS, "since"], "restore_variance": True}),
    "variances restored, rounded": ({}, {"quasi": NUMBERS, "restore_variance": True, "round": True}),
    "gaps grouped": ({"gaps": 0.05}, {**MIXED, "missing": "group"}),
    "gaps filled": ({"gaps": 0.05}, {**MIXED, "missing": "impute"}),
    "gaps left out": ({"gaps": 0.05}, {**MIXED, "missing": "suppress"}),
    "attribute blocks": ({}, {"blocks": [["income", "age"], ["edu", "town", "since"]], "levels": LEVELS}),
    "chosen blocks": ({}, {"quasi": [*NUMBERS, "other"], "blocks": "correlated", "block_size": 2}),
    "households": ({"homes": True}, {"quasi": ["income", "rooms", "age", "rent"], "household": "home"}),
    "households, strata and gaps": (
        {"homes": True, "gaps": 0.02},
        {"quasi": ["rent", "heating", "age", "town"], "household": "home", "strata": ["area"], "missing": "group"},
    ),
    "households alone": (
        {"homes": True},
        {"quasi": ["rent", "rooms"], "household": "home", "household_attributes": ["rent", "rooms"], "method": "best"},
    ),
    "only at risk": ({"homes": True}, {"quasi": ["spent", "owner"], "only": "at_risk", "k": 5, "scale": SMALL}),
    "only at risk, gaps": ({"homes": True, "gaps": 0.05}, {"quasi": ["spent", "income"], "missing": "impute", **ONLY}),
    "only at risk, fewer than k in a stratum": ({"homes": True}, {"quasi": ["spent"], "strata": ["area"], **ONLY}),
    "only at risk, units": (
        {"stays": 4, "homes": True},
        {**UNITS, "quasi": ["spent", "owner"], **ONLY, "scale": SMALL},
    ),
    "only at risk, fewer than k units in a stratum": (
        {"stays": 4, "homes": True},
        {**UNITS, "quasi": ["spent"], "strata": ["area"], **ONLY},
    ),
    "strata": ({}, STRATA),
    "small strata merged": ({}, {**STRATA, "k": 45, "small_strata": "merge"}),
    "small strata left out": ({}, {**STRATA, "k": 45, "small_strata": "suppress"}),
    "strata and gaps left out": ({"gaps": 0.05}, {**MIXED, "strata": ["region"], "missing": "suppress"}),
    "weights": ({}, {"quasi": NUMBERS, "weights": "weight"}),
    "weighted totals": ({}, {"quasi": NUMBERS, "weights": "weight", "preserve": "weighted_mean"}),
    "weights, variances restored": ({}, {"quasi": NUMBERS, "weights": "weight", "restore_variance": True}),
    "l-diversity": ({}, {"quasi": NUMBERS, "confidential": ["ill"], "l": 2}),
    "entropy l-diversity": ({}, {"quasi": NUMBERS, "confidential": ["ill"], "l": 2.5, "l_form": "entropy"}),
    "recursive l-diversity": (
        {},
        {"quasi": NUMBERS, "confidential": ["ill"], "l": 3, "l_form": "recursive", "c": 2},
    ),
    "t-closeness": ({}, {"quasi": NUMBERS, "confidential": ["debt", "ill"], "t": 0.4}),
    "l, t and strata": ({}, {**STRATA, "confidential": ["debt"], "l": 2, "t": 0.45}),
    "p % rule": ({}, {"quasi": NUMBERS, "p_percent": 40}),
    "dominance, weights, strata": (
        {},
        {**STRATA, "weights": "weight", "dominance": [1, 60], "p_percent": 25, "magnitudes": ["income", "wages"]},
    ),
    "dominance of mixed types": ({"gaps": 0.05}, {**MIXED, "missing": "group", "dominance": [2, 85]}),
    "dominance of units": ({"stays": 3}, {"quasi": NUMBERS, "identifiers": [], "unit": "id", "dominance": [1, 60]}),
    "dominance, attribute blocks": (
        {},
        {"blocks": [["income", "age"], ["edu", "wages"]], "levels": LEVELS, "dominance": [1, 55]},
    ),
    "a sum": ({}, {"quasi": RULED, "edits": [SUM]}),
    "a rule that parts records": ({}, {"quasi": RULED, "edits": [SUM, CAPPED]}),
    "rules and attribute blocks": (
        {},
        {"blocks": [["wages", "other", "costs"], ["cap", "age"]], "edits": [SUM, CAPPED]},
    ),
    "rules on levels": (
        {},
        {
            **{"quasi": [*RULED, "edu", "job"], "edits": [SUM, CAPPED, *TRAINED], "blocks": "edits"},
            "levels": {**LEVELS, "job": LEVELS["edu"]},
        },
    ),
    "order statistics": (
        {"gaps": 0.05},
        {**MIXED, "missing": "group", "aggregate": dict.fromkeys(["income", "edu"], "order_statistic"), "rank": 2},
    ),
    "rules, decimals": ({}, {"quasi": RULED, "edits": [SUM], "round": False}),
    "rules, some decimals": ({}, {"quasi": [*RULED, "income"], "edits": [SUM, CAPPED, "cap <= income + 100"]}),
    "rules, strata, rounded": ({}, {"quasi": RULED, "strata": ["region"], "edits": [SUM], "round": True}),
    "broken rules kept": ({"broken": True}, {"quasi": RULED, "edits": [SUM, CAPPED], "edits_original": "keep"}),
    "broken rules left out": ({"broken": True}, {"quasi": RULED, "edits": [SUM], "edits_original": "exclude"}),
    "hybrid": ({}, {**HYBRID, "quasi": ["age", "town"], "confidential": ["income", "debt", "ill", "since"]}),
    "hybrid, no quasi-identifiers": ({}, {**HYBRID, "confidential": ["income", "debt"]}),
    "hybrid, orthogonal to the original": (
        {},
        {**HYBRID, "quasi": ["age"], "confidential": ["income", "debt"], "ipso": "orthogonal"},
    ),
    "hybrid in groups of a search": (
        {},
        {**HYBRID, "quasi": ["age"], "confidential": ["income", "debt"], "partition": "best", "budget": 200},
    ),
    "hybrid, masked": ({}, {**HYBRID, **MIXED, "confidential": ["debt", "ill"], "mask_quasi": True}),
    "hybrid with strata": (
        {"gaps": 0.02},
        {**HYBRID, "quasi": ["age"], "confidential": ["income"], "strata": ["region"], "missing": "suppress"},
    ),
    "hybrid with a sum and constraints": (
        {},
        {
            **{**HYBRID, "quasi": ["age"], "confidential": ["wages", "other", "costs", "debt"], "edits": [SUM]},
            "constraints": {"debt": ["integer", "non-negative"]},
        },
    ),
    "seams": ({}, {"quasi": NUMBERS, "scale": SEAMS}),
    "seams of a 2^d-tree": ({}, {"quasi": ["income", "age"], "scale": {**SEAMS, "blocking": "2^d"}}),
    "seams, dates, weights": ({}, {"quasi": [*NUMBERS, "since"], "scale": SEAMS, "weights": "weight"}),
    "seams, gaps left out": ({"gaps": 0.05}, {"quasi": NUMBERS, "scale": SEAMS, "missing": "suppress"}),
    "seams and strata": ({}, {**STRATA, "scale": SEAMS, "restore_variance": True}),
    "seams and rules": ({}, {"quasi": RULED, "scale": SEAMS, "edits": [SUM, CAPPED]}),
    "noise": ({}, {**NOISY, "confidential": ["income", "debt", "since"]}),
    "noise in one block": ({}, {**NOISY, "confidential": ["income", "debt"], "scale": {"block_size": 1000}}),
    "noise, gaps left out": ({"gaps": 0.02}, {**NOISY, "confidential": ["income"], "missing": "suppress"}),
    "noise, alpha of each": ({}, {**NOISY, "confidential": ["income", "debt"], "alpha": {"income": 0.2, "debt": 0.6}}),
    "noise, alpha a matrix": (
        {},
        {**NOISY, "confidential": ["wages", "other"], "alpha": [[0.5, 0.01], [0, 0.4]]},
    ),
    "noise with a sum and constraints": (
        {},
        {
            **{**NOISY, "confidential": ["wages", "other", "costs", "debt"], "edits": [SUM]},
            "constraints": {"debt": ["integer", "non-negative"]},
        },
    ),
}
# Spark takes seconds a plan: these are compared in every run of the tests, the others with the slow ones.
ALWAYS_ON_SPARK = {
    "mixed types",
    "dominance, weights, strata",
    "broken rules kept",
    "hybrid with strata",
}


def options_of(name: str) -> dict:
    _, options = PLANS[name]
    method = {} if options.get("refine") or "method" in options else {"method": "mdav"}
    return {"k": 3, "scale": BLOCKS, "identifiers": ["id"], "publish": "rest", **method, **options}


def plan_method(options: dict) -> dict:
    return {**options, "method": options.get("method", "mdav")}


@pytest.fixture(scope="module", autouse=True)
def several_blocks_at_seams():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "SEAM_RECORDS", 100)
        yield


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The release of each plan in memory: its summary, and the file it was saved to."""
    folder, known = tmp_path_factory.mktemp("parity"), {}

    def release(name: str) -> tuple[shoal.Release, Path, Path]:
        if name not in known:
            source, target = folder / f"{len(known)}-in.parquet", folder / f"{len(known)}-memory.parquet"
            pq.write_table(survey(**PLANS[name][0]), source, row_group_size=70)
            found = shoal.protect(source, engine="memory", **plan_method(options_of(name)))
            found.save(target)
            known[name] = (found, source, target)
        return known[name]

    return release


def in_order(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def without_categories(table: pa.Table) -> pa.Table:
    """Return a table with text in place of categories, for which Spark has no type."""
    kinds = [each.type.value_type if pa.types.is_dictionary(each.type) else each.type for each in table.schema]
    return table.cast(pa.schema([each.with_type(kind) for each, kind in zip(table.schema, kinds, strict=True)]))


def assert_same_evidence(one: shoal.Release, two: shoal.Release) -> None:
    before, after = one.summary(), two.summary()
    assert before["risk"] == after["risk"]
    assert (before["records"], before["suppressed"]) == (after["records"], after["suppressed"])
    assert before["loss"]["IL"] == pytest.approx(after["loss"]["IL"], rel=1e-9)
    for name, row in before["loss"]["attributes"].items():
        for what, value in row.items():
            other = after["loss"]["attributes"][name][what]
            assert other == (pytest.approx(value, rel=1e-7, abs=1e-9) if isinstance(value, float) else value), what


@pytest.mark.parametrize("name", PLANS)
def test_a_file_larger_than_memory_publishes_what_memory_does(name, released, tmp_path):
    in_memory, source, target = released(name)
    output = tmp_path / "file.parquet"
    found = shoal.protect(source, engine="file", output=output, **plan_method(options_of(name)))
    found.save()
    assert pq.read_table(output).equals(pq.read_table(target))
    assert_same_evidence(in_memory, found)
    assert {*in_memory.notes} == {*found.notes}
    assert in_memory.summary().get("blocking") == found.summary().get("blocking")


@pytest.mark.parametrize("name", PLANS)
def test_the_order_of_rows_does_not_matter(name, released, tmp_path):
    _, source, target = released(name)
    table = pq.read_table(source)
    shuffled = table.take(np.random.default_rng(3).permutation(len(table)))
    again = shoal.protect(shuffled, **plan_method(options_of(name)))
    assert in_order(again.table) == in_order(pq.read_table(target))


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", [name if name in ALWAYS_ON_SPARK else pytest.param(name, marks=pytest.mark.slow) for name in PLANS]
)
def test_spark_publishes_what_memory_does(name, released, spark):
    in_memory, source, target = released(name)
    found = shoal.protect(spark.read.parquet(str(source)), **plan_method(options_of(name)))
    expected, got = without_categories(pq.read_table(target)), found.table.toArrow()
    assert got.schema.equals(expected.schema)
    assert in_order(got) == in_order(expected)
    assert_same_evidence(in_memory, found)


def count_units(database: duckdb.DuckDBPyConnection, source: Path, release: shoal.Release, keys: str) -> None:
    """Count units in every group: those of the original, whose records are in the same order."""
    plan = release.plan
    secrets = "".join(f", {name}" for name in plan.confidential)
    both = f"(SELECT {keys}{secrets} FROM masked) POSITIONAL JOIN (SELECT {plan.unit} FROM '{source}')"
    least = f"SELECT min(n) FROM (SELECT count(DISTINCT {plan.unit}) n FROM {both} GROUP BY {keys})"
    assert database.sql(least).fetchall()[0][0] >= plan.k
    for secret in plan.confidential:
        database.sql(f"CREATE OR REPLACE TEMP TABLE once AS SELECT DISTINCT {keys}, {plan.unit}, {secret} FROM {both}")
        for (members,) in database.sql(f"SELECT list({secret}) FROM once GROUP BY {keys}").fetchall():
            assert naive.diversity_of(members, plan.l_form, plan.c or 2) >= plan.l - 1e-9
        everything = f"SELECT DISTINCT {plan.unit}, {secret} FROM {both}"
        assert furthest(database, keys, secret, secret == "debt", "once", everything) <= plan.t + 1e-12


def test_pseudonyms_are_other_numbers_for_the_same_units_on_every_backend(tmp_path):
    source, output = tmp_path / "stays.parquet", tmp_path / "file.csv"
    pq.write_table(survey(stays=4), source)
    plan = {"k": 3, "quasi": NUMBERS, "unit": "id", "unit_as": "pseudonym", "publish": "rest", "method": "mdav"}
    one = shoal.protect(source, engine="memory", **plan).table
    two = shoal.protect(source, engine="file", output=output, **plan)
    two.save()
    written = pa.csv.read_csv(output)
    others = [name for name in one.column_names if name != "id"]
    assert written.select(others).cast(one.select(others).schema).equals(one.select(others))
    who, first, second = (table["id"].to_pylist() for table in (pq.read_table(source), one, written))
    assert {*map(type, first)} == {*map(type, second)} == {int}
    pairs = len({*zip(who, first, strict=True)}), len({*zip(first, second, strict=True)})
    assert pairs == (len({*who}), len({*first}))
    assert not {*first} & {*second}


@pytest.mark.parametrize("name", PLANS)
def test_plain_sql_counts_the_promises_again(name, released):
    release, source, target = released(name)
    plan = release.plan
    with duckdb.connect() as database:
        database.sql(f"CREATE VIEW masked AS SELECT * FROM '{target}'")
        strata = [] if plan.small_strata == "merge" else plan.strata or []
        for block in plan.in_blocks if plan.mask_quasi or not plan.draws else []:
            keys = ", ".join([*block, *strata])
            least = database.sql(f"SELECT min(n) FROM (SELECT count(*) n FROM masked GROUP BY {keys})").fetchall()[0]
            assert least[0] >= plan.k
            if plan.unit is not None and not release.suppressed:
                count_units(database, source, release, keys)
                continue
            for secret in plan.confidential if plan.l else []:
                values = f"SELECT count(DISTINCT {secret}) n FROM masked GROUP BY {keys}"
                assert database.sql(f"SELECT min(n) FROM ({values})").fetchall()[0][0] >= plan.l
                for (members,) in database.sql(f"SELECT list({secret}) FROM masked GROUP BY {keys}").fetchall():
                    assert naive.diversity_of(members, plan.l_form, plan.c or 2) >= plan.l - 1e-9
            for secret in plan.confidential if plan.t else []:
                assert furthest(database, keys, secret, ordered=secret == "debt") <= plan.t + 1e-12
        wrong = []
        if plan.edits and plan.edits_original != "keep":
            wrong = ["wages + other <> costs", "region = 'south' AND cap > 30"][: len(plan.edits)]
        if "job" in plan.masked:
            places = [f"list_position({LEVELS['edu']}, {name})" for name in ("edu", "job")]
            wrong.append(f"{places[0]} > {places[1]} OR ({places[0]} >= 2 AND {places[1]} <= 1)")
        for broken in wrong:
            found = database.sql(f"SELECT count(*) FROM masked WHERE {broken}").fetchall()
            assert found == [(0,)], broken
        if plan.preserve:
            for attribute in NUMBERS:
                kept, had = (
                    database.sql(f"SELECT sum(weight * {attribute}) FROM '{path}'").fetchall()[0][0]
                    for path in (target, source)
                )
                assert kept == pytest.approx(had, rel=1e-12)


def furthest(
    database: duckdb.DuckDBPyConnection,
    keys: str,
    secret: str,
    ordered: bool,
    masked: str = "masked",
    everything: str = "FROM masked",
) -> float:
    """The largest earth mover's distance of a group's distribution from the file's, by cross join and windows."""
    query = f"""
        WITH e AS ({everything}),
             v AS (SELECT {secret} AS s, count(*) / (SELECT count(*) FROM e) AS q FROM e GROUP BY s),
             g AS (SELECT DISTINCT {keys} FROM {masked}),
             p AS (SELECT {keys}, {secret} AS s, count(*) AS c FROM {masked} GROUP BY {keys}, s),
             n AS (SELECT {keys}, count(*) AS n FROM {masked} GROUP BY {keys}),
             d AS (SELECT {keys}, s, coalesce(c, 0) / n - q AS off
                   FROM g CROSS JOIN v LEFT JOIN p USING ({keys}, s) JOIN n USING ({keys})),
             w AS (SELECT {keys}, sum(off) OVER (PARTITION BY {keys} ORDER BY s) AS far, off FROM d)
        SELECT max(ordered), max(nominal) FROM (
            SELECT sum(abs(far)) / ((SELECT count(*) FROM v) - 1) AS ordered, sum(abs(off)) / 2 AS nominal
            FROM w GROUP BY {keys})
    """
    return database.sql(query).fetchall()[0][0 if ordered else 1]
