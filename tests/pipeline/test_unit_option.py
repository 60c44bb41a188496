"""unit: k counts people or firms of which one may have several records, in every figure and every backend's promise."""

import json

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import codes, refused, reports

import naive
import shoal
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.pipeline.unit_codes import unit_codes
from shoal.tables import Table

PLAN = {"k": 4, "quasi": ["age", "cost"], "confidential": ["ill"], "unit": "patient", "method": "mdav"}


def stays(patients: int = 60, most: int = 8, seed: int = 3) -> pa.Table:
    """Patients with several stays, which resemble each other."""
    rng = np.random.default_rng(seed)
    who = rng.permutation(np.repeat(np.arange(patients), rng.integers(1, most + 1, patients)))
    columns = {
        "patient": rng.permutation(1_000_000)[:patients][who],
        "age": rng.integers(20, 90, patients)[who],
        "cost": np.round(rng.lognormal(5, 1, patients)[who] + rng.normal(size=len(who)), 2),
        "ill": rng.choice(["N18", "F20", "I10"], len(who)),
        "ward": rng.choice(["east", "west"], len(who)),
    }
    return pa.table(columns)


def protected(table: pa.Table, **options) -> shoal.Release:
    return shoal.protect(table, **{**PLAN, "publish": "rest", **options})


def units_in_groups(release: shoal.Release, table: pa.Table, unit: str = "patient") -> list[int]:
    masked = release.table.append_column("who", table[unit])
    query = "SELECT count(DISTINCT who) FROM masked GROUP BY age, cost"
    with duckdb.connect() as database:
        database.register("masked", masked)
        return [count for (count,) in database.sql(query).fetchall()]


@pytest.mark.parametrize(
    "method", ["auto", "mdav", "vmdav", "pca", "zscores", "tour", "npn-mhm", "mdav-mhm", "cbfs-mhm"]
)
def test_every_group_of_every_method_has_k_units(method):
    table = stays()
    release = protected(table, method=method)
    assert min(units_in_groups(release, table)) >= 4
    assert "patient" not in release.table.column_names
    assert release.risk()["after"]["smallest"] >= 4
    assert release.risk()["file"]["counts"] == "units"


@settings(deadline=None, max_examples=15)
@given(st.integers(5, 30), st.integers(1, 12), st.integers(2, 5), st.integers(0, 1000))
def test_figures_count_units_as_sets_do(patients, most, k, seed):
    table = stays(patients, most, seed)
    release = protected(table, k=k)
    counts = units_in_groups(release, table)
    after = release.risk()["after"]
    assert (after["groups"], after["smallest"], after["largest"]) == (len(counts), min(counts), max(counts))
    rows = list(zip(*(release.table[name].to_pylist() for name in ("age", "cost", "ward")), strict=True))
    file = release.risk()["file"]["with_masked"]
    groups, _, records = naive.groups_below_k_units(rows, table["patient"].to_pylist(), k)
    _, alone, of_one = naive.groups_below_k_units(rows, table["patient"].to_pylist(), 2)
    assert (file["groups"], file["below_k"], file["uniques"], file["alone"]) == (groups, records, alone, of_one)


def test_without_a_unit_groups_of_one_patient_are_told_and_the_unit_is_proposed():
    table = stays()
    release = protected(table, unit=None, identifiers=["patient"])
    assert min(units_in_groups(release, table)) < 4
    assert reports([release.risk()["file"]["headline"]["text"]], "few-units-in-groups", column="patient", k=4)


@pytest.mark.parametrize("how", ["number", "text", "date", "moment", "category", "float"])
def test_units_of_every_type_count_the_same(how):
    table = stays()
    numbers = table["patient"].combine_chunks()
    columns = {
        "number": numbers,
        "text": numbers.cast(pa.string()),
        "date": numbers.cast(pa.int32()).cast(pa.date32()),
        "moment": numbers.cast(pa.int64()).cast(pa.timestamp("s", "Europe/Madrid")),
        "category": numbers.cast(pa.string()).dictionary_encode(),
        "float": numbers.cast(pa.float64()),
    }
    other = table.set_column(0, "patient", columns[how])
    release = protected(other, unit_as="pseudonym")
    assert min(units_in_groups(release, table)) >= 4
    assert release.table.column_names == table.column_names
    assert len({*release.table["patient"].to_pylist()}) == len({*numbers.to_pylist()})


@pytest.mark.parametrize("kind", ["Enum", "Categorical", "pandas", "arrow"])
def test_pseudonyms_of_categories_are_numbers_in_every_dataframe(kind):
    table = stays()
    names = table["patient"].cast(pa.string())
    table = table.set_column(0, "patient", names.dictionary_encode() if kind in ("pandas", "arrow") else names)
    frame = table if kind == "arrow" else table.to_pandas() if kind == "pandas" else pl.from_arrow(table)
    if isinstance(frame, pl.DataFrame):
        dtype = pl.Enum(sorted({*names.to_pylist()})) if kind == "Enum" else pl.Categorical
        frame = frame.with_columns(pl.col("patient").cast(dtype))
    numbers = nw.from_native(protected(frame, unit_as="pseudonym").table, eager_only=True)["patient"]
    assert numbers.dtype == nw.Int64
    assert numbers.n_unique() == len({*names.to_pylist()})


def test_pseudonyms_tell_neither_order_nor_value_and_are_new_every_time(tmp_path):
    table = stays()
    one, two = (protected(table, unit_as="pseudonym", method="best", budget=500, seed=7) for _ in range(2))
    first, second = (release.table["patient"].to_pylist() for release in (one, two))
    assert one.table.drop_columns("patient").equals(two.table.drop_columns("patient"))
    assert not {*first} & {*second}
    assert all(0 <= number < 2**53 for number in first)
    assert not {*first} & {*unit_codes(Table(table), "patient").tolist()}
    assert one.published.masker.key is None
    one.save(tmp_path / "masked.csv")
    said = (tmp_path / "masked.csv.manifest.json").read_text() + (tmp_path / "masked.csv.plan.toml").read_text()
    assert not any(str(number) in said for number in [*first, *table["patient"].to_pylist()])
    assert codes(one.notes)[0].startswith("links-")


def test_a_manifest_says_that_k_counts_units_and_check_counts_them_again(tmp_path):
    masked, manifest = tmp_path / "masked.csv", tmp_path / "masked.csv.manifest.json"
    protected(stays(), unit_as="pseudonym", l=2, t=0.6).save(masked)
    said = json.loads(manifest.read_text())
    assert said["verified"]["counts"] == "units"
    assert shoal.check(masked, manifest=manifest)["unverified"]
    options = {"quasi": ["age", "cost"], "confidential": ["ill"], "unit": "patient"}
    assert shoal.check(masked, k=4, **options)["smallest"] >= 4
    with refused(CheckFailed, "group-below-k", k=9, columns=["age", "cost"]):
        shoal.check(masked, k=9, **options)
    for place in (said["plan"], said["verified"]):
        place["k"] = 9
    manifest.write_text(json.dumps(said))
    with refused(CheckFailed, "group-below-k", k=9, columns=["age", "cost"], counts="unit"):
        shoal.check(masked, manifest=manifest)


def test_assess_and_sweep_count_units():
    table = stays()
    release = protected(table)
    masked = release.table
    found = shoal.assess(table, masked, quasi=["age", "cost"], unit="patient", k=4)
    assert found["risk"]["after"]["smallest"] >= 4
    assert found["risk"]["units"]["below_k"] == 0
    by_records = protected(table, unit=None, identifiers=["patient"]).table
    found = shoal.assess(table, by_records, quasi=["age", "cost"], unit="patient", k=4)
    assert found["risk"]["units"]["below_k"] > 0
    rows = shoal.sweep(table, k=[2, 4], method=["mdav"], quasi=["age", "cost"], publish="rest", unit="patient")
    assert all(row["smallest"] >= row["k"] for row in rows)


def test_values_that_fewer_than_k_units_have_are_published_as_missing():
    table = stays()
    thin = pa.array(table["cost"].to_pylist(), mask=np.random.default_rng(1).random(len(table)) < 0.7)
    release = protected(table.set_column(2, "cost", thin), missing="group")
    known = {}
    for key, value, who in zip(release.groups.tolist(), thin.to_pylist(), table["patient"].to_pylist(), strict=True):
        known.setdefault(key, set()).update([] if value is None else [who])
    published = dict(zip(release.groups.tolist(), release.table["cost"].to_pylist(), strict=True))
    assert all(published[key] is None for key, units in known.items() if len(units) < 4)


WRONG = {
    "missing-unit": (
        {"column": "patient", "records": 1, "first": 3},
        lambda table: {"patient": pa.array(table["patient"].to_pylist(), mask=np.arange(len(table)) == 2)},
        {},
    ),
    "too-few-units": ({"column": "patient", "number": 60, "counts": "unit", "k": 61}, lambda table: {}, {"k": 61}),
    "small-strata": (
        {"k": 5, "counts": "unit", "records": [1]},
        lambda table: {"ward": pa.array(["new" if i < 4 else "old" for i in range(len(table))])},
        {"strata": ["ward"], "k": 5},
    ),
    "type-not-counted": ({"column": "patient"}, lambda table: {"patient": pa.array([[1]] * len(table))}, {}),
}


@pytest.mark.parametrize("code", WRONG)
def test_units_that_cannot_be_protected_are_refused_without_a_value(code):
    data, spoilt, options = WRONG[code]
    table = wrong = stays()
    for name, column in spoilt(table).items():
        wrong = wrong.set_column(table.column_names.index(name), name, column)
    with refused(DataError, code, **data) as error:
        protected(wrong, **options)
    assert not any(str(value) in str(error.value) for value in table["patient"].to_pylist())


def test_a_misspelled_unit_is_refused_with_the_right_name():
    with refused(PlanError, "unknown-column", "unit", column="patent", near="patient"):
        protected(stays(), unit="patent")


def test_a_unit_with_most_of_the_records_is_protected_in_larger_groups():
    table = stays(60, 4)
    most = np.where(np.arange(len(table)) % 3 < 2, 7, table["patient"].to_numpy())
    release = protected(table.set_column(0, "patient", pa.array(most)))
    assert min(units_in_groups(release, table.set_column(0, "patient", pa.array(most)))) >= 4


def test_a_file_whose_groups_lack_units_is_not_released(monkeypatch):
    from shoal.pipeline import masker

    monkeypatch.setattr(masker.BlockMasker, "units", lambda self, rows: None)
    with refused(CheckFailed, "group-below-k", k=4):
        protected(stays())


def visits(of_each: list[int]) -> pa.Table:
    """Patients with so many records each, which are all alike."""
    who = np.repeat(np.arange(len(of_each)), of_each)
    return pa.table({"patient": who, "age": np.full(len(who), 40)})


def test_pseudonyms_that_differ_in_their_number_of_records_alone_are_not_safe():
    options = {"k": 5, "quasi": ["age"], "unit": "patient"}
    file = shoal.protect(visits([1, 2, 3, 4, 5]), unit_as="pseudonym", **options).risk()["file"]
    assert (file["trails"]["units"], file["trails"]["below_k"], file["trails"]["longest"]) == (5, 5, 5)
    assert not file["headline"]["safe"]
    assert reports([file["headline"]["text"]], "links-single-out", below=5, number=5, k=5)


def test_a_file_with_pseudonyms_is_never_called_safe():
    options = {"k": 5, "quasi": ["age"], "unit": "patient"}
    release = shoal.protect(visits([2] * 6), unit_as="pseudonym", **options)
    for file in (release.risk()["file"], shoal.check(release.table, **options)["file"]):
        assert file["trails"]["below_k"] == 0
        assert (file["headline"]["severity"], file["headline"]["safe"]) == ("warning", False)
        assert reports([file["headline"]["text"]], "links-shared", links="unit", others=4)
    dropped = shoal.protect(visits([2] * 6), **options).risk()["file"]
    assert dropped["headline"]["safe"]


def test_units_that_are_dropped_can_be_seen_in_the_order_of_records_which_is_said():
    assert reports(protected(stays()).notes, "order-shows-units", column="patient", household=False)
    for other in ({"unit_as": "pseudonym"}, {"unit": None, "identifiers": ["patient"]}):
        assert not reports(protected(stays(), **other).notes, "order-shows-units")


def test_sensitive_columns_single_out_records_and_not_classes_of_units():
    table = visits([3] * 6)
    table = table.append_column("ill", table["patient"].cast(pa.string()))
    options = {"k": 3, "quasi": ["age"], "confidential": ["ill"], "unit": "patient"}
    file = shoal.protect(table, **options).risk()["file"]
    assert (file["everything"]["uniques"], file["everything"]["alone"]) == (6, 18)
    assert reports([file["headline"]["text"]], "singled-out-by-sensitive", records=18)
    assert (file["headline"]["severity"], file["headline"]["records"]) == ("warning", 18)


@pytest.mark.parametrize("complete", [0, 1])
def test_too_few_complete_records_are_refused_in_words(complete):
    gaps = {"x": [1.0] * complete + [None, 1.0] * 3, "y": [1.0] * complete + [1.0, None] * 3}
    table = pa.table({"who": [*range(6 + complete)], **gaps})
    options = {"k": 2, "quasi": ["x", "y"], "missing": "suppress"}
    with refused(DataError, "too-few-complete", number=complete, k=2, grouping=True):
        shoal.protect(table, unit="who", **options)


@pytest.mark.parametrize("chunks", [1, 4])
def test_units_with_blanks_around_are_a_warning_with_the_number_of_records(chunks):
    table = stays()
    names = [f"P{number}" for number in table["patient"].to_pylist()]
    names[7], names[200] = f"{names[7]} ", f" {names[200]}"
    size = -(-len(names) // chunks)
    spelled = pa.chunked_array([names[i : i + size] for i in range(0, len(names), size)])
    notes = protected(table.set_column(0, "patient", spelled)).notes
    assert reports(notes, "blanks-in-units", column="patient", records=2, first=8)
    stripped = table.set_column(0, "patient", pa.array([name.strip() for name in names]))
    assert "blanks-in-units" not in codes(protected(stripped).notes)
