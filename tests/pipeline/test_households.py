"""Households: what their members share is masked once, in groups of k households, and stays the same."""

import os
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused, reports

import naive
import shoal
from shoal.backends.memory import verify_in_memory
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.messages import Message
from shoal.tables import Table

TESTDATA = Path(os.environ.get("SHOAL_DATA", "../shared/data")) / "sdcmicro" / "testdata.csv"
SHARED, OWN = ["region", "rent"], ["age", "sex"]
PLAN = {"k": 3, "quasi": [*SHARED, *OWN], "types": {"region": "nominal", "sex": "nominal"}, "household": "home"}


def people(homes: int = 40, seed: int = 1) -> pa.Table:
    """Persons in households of one to five, in no order."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(homes), rng.integers(1, 6, homes))
    n = len(home)
    table = {
        "home": home + 100,
        "region": rng.choice(["a", "b", "c"], homes)[home],
        "rent": np.round(rng.lognormal(6, 1, homes), 2)[home],
        "age": rng.integers(0, 95, n),
        "sex": rng.choice(["f", "m"], n),
        "weight": (rng.integers(1, 9, homes) / 4)[home],
    }
    return pa.table(table).take(rng.permutation(n))


def beside(original: pa.Table, release: shoal.Release) -> duckdb.DuckDBPyConnection:
    """A database with the release, and the household of each of its records."""
    database = duckdb.connect()
    database.register("masked", release.table.append_column("its_home", original.column("home")))
    return database


def counts(database: duckdb.DuckDBPyConnection, shared: list[str], own: list[str]) -> tuple[int, int, int]:
    """The least households of a combination of shared attributes, persons of their own ones, and what one varies."""
    by, mine = ", ".join(shared), ", ".join(own)
    homes = f"SELECT min(n) FROM (SELECT count(DISTINCT its_home) n FROM masked GROUP BY {by})"
    persons = f"SELECT min(n) FROM (SELECT count(*) n FROM masked GROUP BY {mine})"
    varies = f"SELECT max(n) FROM (SELECT count(DISTINCT ({by})) n FROM masked GROUP BY its_home)"
    return tuple(database.sql(query).fetchall()[0][0] for query in (homes, persons, varies))


def test_shared_attributes_are_masked_once_per_household_and_the_others_per_person():
    table = people()
    release = shoal.protect(table, publish=["weight"], **PLAN)
    homes, persons, varies = counts(beside(table, release), SHARED, OWN)
    assert homes >= 3
    assert persons >= 3
    assert varies == 1
    assert "home" not in release.table.column_names
    assert release.plan.household_attributes == SHARED


def test_groups_of_households_are_those_of_a_table_with_one_record_each():
    table = people()
    release = shoal.protect(table, publish=["weight"], method="mdav", **PLAN)
    one = table.take(np.unique(table["home"].to_numpy(), return_index=True)[1])
    alone = shoal.protect(
        one.select([*SHARED, "home"]), k=3, quasi=SHARED, types={"region": "nominal"}, method="mdav", publish=["home"]
    )
    of = {row["home"]: (row["region"], row["rent"]) for row in alone.table.to_pylist()}
    found = zip(table["home"].to_pylist(), release.table.select(SHARED).to_pylist(), strict=True)
    assert all(of[home] == (row["region"], row["rent"]) for home, row in found)


def test_means_of_household_attributes_are_those_over_households():
    table = people()
    release = shoal.protect(table, publish=["weight"], **PLAN)
    first = np.unique(table["home"].to_numpy(), return_index=True)[1]
    before, after = (np.asarray(each["rent"])[first] for each in (table, release.table))
    assert after.mean() == pytest.approx(before.mean())
    assert reports(release.notes, "mean-preserved", households=True)


@settings(max_examples=12, deadline=None)
@given(homes=st.integers(6, 30), seed=st.integers(0, 10_000), k=st.integers(2, 4), size=st.sampled_from([None, 8]))
def test_k_households_and_k_persons_always_hold(homes, seed, k, size):
    table = people(homes, seed)
    scale = {} if size is None else {"scale": {"block_size": size}}
    if len(table) < k:
        return
    release = shoal.protect(table, publish=["weight"], **{**PLAN, "k": k}, **scale)
    found = counts(beside(table, release), SHARED, OWN)
    assert min(found[:2]) >= k
    assert found[2] == 1
    assert release.risk()["households"]["smallest"] >= k


def test_the_summary_and_a_note_say_which_attributes_are_constant():
    table = people()
    release = shoal.protect(table, publish=["weight"], **PLAN)
    found = release.summary()["households"]
    expected = naive.varying_within(table.select(["home", *PLAN["quasi"]]).to_pylist(), "home")
    assert found["attributes"] == [name for name in PLAN["quasi"] if not expected[name]]
    assert found["varying"] == {name: expected[name] for name in OWN}
    assert reports(release.notes, "masked-per-household", households=40, column="home", persons=OWN)
    assert release.summary()["risk"]["households"]["groups"] > 1


def test_a_household_that_misses_a_value_in_one_member_makes_the_attribute_one_of_persons_and_is_named():
    table = people()
    rent = table["rent"].to_pylist()
    crowded = next(i for i, home in enumerate(table["home"].to_pylist()) if table["home"].to_pylist().count(home) > 1)
    rent[crowded] = None
    table = table.set_column(table.schema.get_field_index("rent"), "rent", pa.array(rent))
    release = shoal.protect(table, publish=["weight"], missing="group", **PLAN)
    assert release.plan.household_attributes == ["region"]
    nearly = [Message("column-and-count", column="rent", number=1)]
    assert reports(release.notes, "nearly-constant-in-households", columns=nearly)
    with refused(PlanError, "varies-within-household", "household_attributes", column="rent", varying=1, households=40):
        shoal.protect(table, publish=["weight"], missing="group", household_attributes=["rent"], **PLAN)


def test_a_pseudonym_is_random_one_for_each_household_and_its_cost_is_said():
    table = people()
    one, two = (shoal.protect(table, publish=["weight"], household_as="pseudonym", **PLAN) for _ in range(2))
    for release in (one, two):
        pairs = {*zip(table["home"].to_pylist(), release.table["home"].to_pylist(), strict=True)}
        assert len(pairs) == len({home for home, _ in pairs}) == len({number for _, number in pairs}) == 40
    assert one.table["home"].to_pylist() != two.table["home"].to_pylist()
    said = [one.risk()["file"]["headline"]["text"], *one.notes]
    assert sum(reports([each], "links-single-out", number=40) for each in {*said}) == 1


def test_what_pseudonyms_give_away_is_counted_over_all_that_members_publish():
    table = people()
    release = shoal.protect(table, publish=["weight"], household_as="pseudonym", **PLAN)
    members: dict[int, list[tuple]] = {}
    for row in release.table.to_pylist():
        members.setdefault(row["home"], []).append(tuple(row[name] for name in [*SHARED, *OWN, "weight"]))
    trails = [tuple(sorted(each)) for each in members.values()]
    trail = release.risk()["file"]["trails"]
    assert (trail["of"], trail["units"]) == ("household", 40)
    assert trail["below_k"] == sum(trails.count(each) < 3 for each in trails)


def test_households_that_differ_in_persons_alone_are_not_alike():
    ages = [(20, 20), (20, 60), (60, 60)] * 2
    table = pa.table(
        {
            "home": np.repeat(np.arange(6), 2),
            "region": ["a"] * 12,
            "age": [age for pair in ages for age in pair],
        }
    )
    options = {"k": 3, "quasi": ["region", "age"], "types": {"region": "nominal"}, "household": "home"}
    file = shoal.protect(table, household_as="pseudonym", **options).risk()["file"]
    assert file["trails"]["below_k"] == 6
    assert (file["headline"]["severity"], file["headline"]["safe"]) == ("warning", False)
    assert reports([file["headline"]["text"]], "links-single-out", below=6, number=6)


def test_pseudonyms_are_verified(monkeypatch):
    table = people()
    release = shoal.protect(table, publish=["weight"], household_as="pseudonym", **PLAN)
    promise = release.published.promise
    at = release.table.schema.get_field_index("home")
    wrong = release.table.set_column(at, "home", pa.array(np.arange(len(table)) // 2))
    with refused(CheckFailed, "pseudonyms-not-one-to-one", column="home"):
        verify_in_memory(Table(table), Table(wrong), promise)


def test_attributes_that_vary_within_a_household_fail_the_verification():
    table = people()
    release = shoal.protect(table, publish=["weight"], **PLAN)
    at = release.table.schema.get_field_index("rent")
    rent = release.table["rent"].to_pylist()
    wrong = release.table.set_column(at, "rent", pa.array([rent[-1], *rent[1:]]))
    with refused(CheckFailed, "not-constant-in-household", column="rent", households=1):
        verify_in_memory(Table(table), Table(wrong), release.published.promise)


def test_groups_of_fewer_than_k_households_fail_the_verification_although_they_have_k_records():
    table = pa.table({"home": [1, 1, 1, 2, 2, 2], "rent": [5.0, 5, 5, 7, 7, 7], "age": [1, 1, 1, 1, 1, 1]})
    release = shoal.protect(table, k=2, quasi=["rent", "age"], household="home")
    promise = replace(release.published.promise, ranges=True)
    wrong = pa.table({"rent": table["rent"], "age": release.table["age"]})
    with refused(CheckFailed, "group-below-k", smallest=1, counts="household"):
        verify_in_memory(Table(table), Table(wrong), promise)


def test_weights_that_households_share_count_households():
    table = people()
    release = shoal.protect(table, weights="weight", preserve="weighted_mean", **PLAN)
    first = np.unique(table["home"].to_numpy(), return_index=True)[1]
    weights = np.asarray(table["weight"])[first]
    before, after = (np.asarray(each["rent"])[first] for each in (table, release.table))
    assert weights @ after == pytest.approx(weights @ before)


@pytest.mark.parametrize(
    ("options", "error", "code", "data"),
    [
        ({"k": 50}, DataError, "too-few-units", {"number": 40, "counts": "household", "k": 50}),
        ({"household_attributes": ["rent", "age"]}, PlanError, "varies-within-household", {"column": "age"}),
        ({"quasi": OWN, "types": {"sex": "nominal"}}, PlanError, "no-household-attribute", {"households": 40}),
        ({"strata": ["sex"], "quasi": [*SHARED, "age"], "types": {}}, DataError, "strata-within-household", {}),
        (
            {"household": "region", "quasi": ["rent", "age"], "types": {}, "identifiers": ["home"]},
            PlanError,
            "no-household-attribute",
            {"household": "region", "households": 3},
        ),
    ],
)
def test_a_table_that_does_not_suit_households_is_refused(options, error, code, data):
    with refused(error, code, **data):
        shoal.protect(people(), **{"publish": "rest", **PLAN, **options})


def test_weights_that_vary_within_a_household_are_refused():
    table = people()
    table = table.set_column(5, "weight", pa.array(np.arange(1.0, len(table) + 1)))
    with refused(DataError, "weights-within-household", column="weight"):
        shoal.protect(table, weights="weight", **PLAN)


@pytest.mark.parametrize("missing", [None, " "])
def test_a_record_without_a_household_number_is_refused_by_its_place(missing):
    homes = [*map(str, people()["home"].to_pylist())]
    homes[4] = missing
    table = people().set_column(0, "home", pa.array(homes))
    with refused(DataError, "missing-unit", column="home", household=True, records=1, first=5):
        shoal.protect(table, publish=["weight"], **PLAN)


def test_a_household_without_complete_members_is_left_out():
    table = people()
    ages = [None if row["home"] == 100 else row["age"] for row in table.to_pylist()]
    table = table.set_column(3, "age", pa.array(ages))
    release = shoal.protect(table, publish=["weight"], missing="suppress", **PLAN)
    assert release.summary()["households"]["households"] == 39
    assert release.suppressed == ages.count(None)


def test_the_plan_of_a_release_gives_it_again(tmp_path):
    table = people()
    release = shoal.protect(table, publish=["weight"], **PLAN)
    assert shoal.protect(table, plan=release.plan.asked()).table.equals(release.table)


def test_a_saved_release_passes_the_check_of_its_manifest(tmp_path):
    release = shoal.protect(people(), publish=["weight"], **PLAN)
    release.save(tmp_path / "masked.csv")
    shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")


def test_a_sweep_masks_households_at_every_k():
    table = people()
    found = shoal.sweep(
        table, k=[2, 4], publish=["weight"], **{name: each for name, each in PLAN.items() if name != "k"}
    )
    release = found.release(4)
    assert min(counts(beside(table, release), SHARED, OWN)[:2]) >= 4


@pytest.mark.skipif(not TESTDATA.exists(), reason="needs sdcMicro's testdata")
def test_testdata_of_sdcmicro(tmp_path):
    shared, own = ["urbrur", "roof", "walls", "water", "electcon"], ["relat", "sex", "age", "hhcivil"]
    nominal = dict.fromkeys([*shared, "relat", "sex", "hhcivil"], "nominal")
    options = {"k": 5, "quasi": [*shared, *own], "types": nominal, "missing": "group", "method": "mdav"}
    options |= {"confidential": ["expend", "income", "savings"], "identifiers": ["household_weights"]}
    release = shoal.protect(TESTDATA, household="ori_hid", weights="sampling_weight", **options)
    target = tmp_path / "masked.csv"
    release.save(target)
    with duckdb.connect() as database:
        homes = f"SELECT row_number() OVER () r, ori_hid AS its_home FROM read_csv('{TESTDATA}')"
        masked = f"SELECT row_number() OVER () r, * FROM read_csv('{target}')"
        database.sql("SET threads = 1")
        database.sql(f"CREATE TABLE masked AS SELECT * FROM ({masked}) JOIN ({homes}) USING (r)")
        found = counts(database, shared, own)
    assert min(found[:2]) >= 5
    assert found[2] == 1
    assert release.plan.household_attributes == shared


def test_a_household_number_is_proposed_where_members_share_what_is_masked():
    table = people(200).rename_columns(["household_id", *people().column_names[1:]])
    found = shoal.roles(table)
    assert {each.column: each.role for each in found}["household_id"] == "household"
    release = shoal.protect(table, plan=found.plan(k=3))
    assert "rent" in release.plan.household_attributes
    apart = table.set_column(0, "household_id", pa.array(np.arange(len(table)) // 3))
    assert {each.column: each.role for each in shoal.roles(apart)}["household_id"] == "identifier"


@pytest.mark.parametrize("numbers", ["drop", "pseudonym"])
def test_groups_of_persons_that_are_one_family_are_told_with_advice_that_can_be_followed(tmp_path, numbers):
    home = np.repeat(np.arange(12), 3)
    table = pa.table({"home": home, "rent": 100.0 * (home // 3), "age": 10.0 * home + np.tile([0.0, 0.1, 0.2], 12)})
    release = shoal.protect(table, k=3, quasi=["rent", "age"], household="home", household_as=numbers, method="mdav")
    release.save(tmp_path / "masked.csv")
    checked = shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")["file"]
    for file in (release.risk()["file"], *([checked] if numbers == "pseudonym" else [])):
        [said] = [each["text"] for each in file["findings"] if each["code"] == "few-units-in-groups"]
        of = {"below": 12, "groups": 12, "columns": ["age"], "k": 3, "column": "home", "household": True}
        assert said.data == of
        assert ("--unit", "home") not in said.options


@pytest.mark.parametrize("engine", [None, "file"])
def test_small_strata_are_those_of_fewer_than_k_households(tmp_path, engine):
    homes = np.repeat(np.arange(20), 3)
    table = {"home": homes, "part": np.where(homes < 2, "x", np.where(homes < 11, "y", "z"))}
    table |= {"rent": 100.0 + homes**2, "age": np.arange(60) % 37}
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table(table), path)  # the first stratum has two households, and six persons
    plan = {"k": 3, "quasi": ["rent", "age"], "strata": ["part"], "household": "home", "method": "mdav"}
    plan["engine"] = engine
    with refused(DataError, "small-strata", k=3, counts="household", records=[1]):
        shoal.protect(path, output=tmp_path / "none.parquet", **plan)
    merged = shoal.protect(path, output=tmp_path / "merged.parquet", small_strata="merge", **plan)
    assert merged.risk()["households"]["smallest"] >= 3
    assert reports(merged.notes, "small-strata-joined", strata=1, k=3, counts="household")
    release = shoal.protect(path, output=tmp_path / "out.parquet", small_strata="suppress", **plan)
    assert release.suppressed == 6
    assert release.risk()["households"]["smallest"] >= 3


def test_household_numbers_that_differ_by_blanks_are_a_warning():
    table = people()
    names = [f"h{number}" for number in table["home"].to_pylist()]

    def warned(**data: object) -> bool:
        release = shoal.protect(table.set_column(0, "home", pa.array(names)), publish=["weight"], **PLAN)
        return reports(release.notes, "blanks-in-households", **data)

    assert not warned()
    names[names.index(max(names, key=names.count))] += " "  # one of several members
    assert warned(column="home", numbers=1)
