"""shoal.risk: one answer for every kind of table, and sentences for what cannot be measured."""

import json
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests import expect
from tests.expect import codes, pattern, prints, refused, reports

import shoal
from shoal.messages import Message

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
PEOPLE = pa.table(
    {
        "age": ["20-29", "20-29", "30-39", "30-39", None, "40-49"] * 20,
        "sex": ["f", "f", "m", "f", "m", "m"] * 20,
        "town": [*(["north"] * 60), *(["south"] * 59), "east"],
        "w": [float(1 + i % 7) for i in range(120)],
        "hh": [i // 3 for i in range(120)],
        "id": [f"person {i}" for i in range(120)],
        "income": [1000 + 17 * i * i for i in range(120)],
    }
)


def test_all_that_sdcmicro_computes_on_its_household_survey_comes_out(reference_file):
    found = shoal.risk(reference_file("sdcmicro/testdata"), KEYS, "sampling_weight", "ori_hid")
    theirs = pd.read_csv(reference_file("sdcmicro/testdata_individual_risk"))
    scores = pd.read_csv(reference_file("sdcmicro/testdata_suda2"))
    for ours, column in (
        (found.individual, theirs["risk"]),
        (found.sample_frequency, theirs["fk"]),
        (found.population_frequency, theirs["Fk"]),
        (found.household, theirs["hier_risk"]),
        (found.suda, scores["score"]),
        (found.dis, scores["dis"]),
    ):
        assert np.abs(ours - column.to_numpy()).max() < 1e-6
    assert found.fraction == pytest.approx(0.01)  # from the weights, which are 100
    assert (found.expected, found.global_risk) == pytest.approx((10.7783, 0.00235334), abs=1e-4)
    assert found.expected_household == pytest.approx(51.81293, abs=1e-5)
    contributions = dict(zip(KEYS, [12.04499, 33.86503, 18.09816, 53.41513, 22.51534, 92.59714, 24.94888], strict=True))
    assert found.contributions == pytest.approx(contributions, abs=1e-5)


def test_frequencies_are_those_of_sql(reference_file):
    path = reference_file("sdcmicro/testdata")
    over = f"over (partition by {', '.join(KEYS)})"
    counted = duckdb.sql(f"select count(*) {over}, sum(sampling_weight) {over} from read_csv('{path}')").fetchall()
    found = shoal.risk(path, KEYS, "sampling_weight", suda=False)
    pairs = zip(found.sample_frequency.tolist(), found.population_frequency.tolist(), strict=True)
    assert sorted(pairs) == sorted(counted)


@pytest.fixture(params=["pandas", "polars", "arrow", "csv", "parquet"])
def people(request, tmp_path):
    """The same people as every kind of table."""
    match request.param:
        case "pandas":
            return PEOPLE.to_pandas()
        case "polars":
            return pl.from_arrow(PEOPLE)
        case "csv":
            pa.csv.write_csv(PEOPLE, tmp_path / "people.csv")
            return tmp_path / "people.csv"
        case "parquet":
            pa.parquet.write_table(PEOPLE, tmp_path / "people.parquet")
            return str(tmp_path / "people.parquet")
    return PEOPLE


def test_every_kind_of_table_has_the_same_risk(people):
    expected = shoal.risk(PEOPLE, ["age", "sex", "town"], "w", "hh")
    found = shoal.risk(people, ["age", "sex", "town"], "w", "hh")
    for name in ("individual", "household", "sample_frequency", "population_frequency", "suda", "dis"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    assert found.as_json(records=True, levels=True) == expected.as_json(records=True, levels=True)


def test_categories_and_numbers_are_keys_like_text():
    text = shoal.risk(PEOPLE, ["age", "sex"])
    frame = PEOPLE.to_pandas().astype({"age": "category"})
    frame["sex"] = (frame["sex"] == "f").astype(float)
    assert shoal.risk(frame, ["age", "sex"]).individual.tolist() == text.individual.tolist()


def test_a_missing_key_matches_every_value():
    table = pa.table({"a": [1.0, float("nan"), 2.0, 1.0], "b": ["x", "x", "x", "y"]})
    found = shoal.risk(table, ["a", "b"])
    assert found.sample_frequency.tolist() == [2, 3, 2, 1]
    assert reports(found.notes, "missing-keys-match", records=1, columns=["a"])


def test_the_riskiest_records_are_named_by_position_only_when_asked():
    found = shoal.risk(PEOPLE, ["age", "sex", "town"], "w", "hh")
    assert "riskiest" not in found.as_json()
    listed = found.as_json(records=True)["riskiest"]
    assert [each["record"] for each in listed] == [each["record"] for each in found.riskiest(20)]
    assert listed[0]["record"] == 120
    assert listed[0]["individual"] == max(found.individual)
    assert [*listed[0]][1:] == ["sample_frequency", "population_frequency", "individual", "household", "suda", "dis"]


def test_no_level_is_shown_unless_asked_and_rare_ones_never_by_name():
    found = shoal.risk(PEOPLE, ["age", "sex", "town"], "w", "hh")
    assert not re.search("north|south|east|20-29", json.dumps(found.as_json(records=True)))
    shown = json.dumps(found.as_json(levels=True))
    assert "north" in shown
    assert "east" not in shown
    pooled = found.as_json(levels=True)["level_contributions"]["town"][-1]
    assert (pooled["level"], pooled["levels"], pooled["records"]) == (None, 1, 1)
    assert found.level_contributions["town"]["east"] == pytest.approx(pooled["percent"])
    assert "person" not in repr(found)


def test_k_map_counts_in_a_table_of_the_population():
    population = pa.concat_tables([PEOPLE, PEOPLE, PEOPLE])
    found = shoal.risk(PEOPLE, ["sex", "town"], population=population)
    assert found.kmap["frequency"].tolist() == (3 * found.sample_frequency).tolist()
    assert found.kmap["k"] == 3 * min(found.sample_frequency)
    assert (found.kmap["absent"], found.kmap["fewer"], found.kmap["records"]) == (0, 0, 360)
    assert found.kmap["expected"] == pytest.approx((1 / found.kmap["frequency"]).sum())
    assert "frequency" not in found.as_json()["kmap"]


def test_a_population_of_other_people_is_a_warning():
    others = PEOPLE.set_column(1, "sex", [["f"] * 120])
    found = shoal.risk(PEOPLE, ["sex", "town"], population=others)
    assert found.kmap["k"] == 0
    assert found.kmap["absent"] == PEOPLE["sex"].to_pylist().count("m")
    assert reports(found.notes[:1], "keys-coded-otherwise", absent=found.kmap["absent"], fewer=found.kmap["fewer"])
    assert found.notes[0].severity == "warning"


def test_integers_of_the_sample_are_found_among_decimals_of_the_population():
    sample = pa.table({"a": [1, 2, 2]})
    found = shoal.risk(sample, ["a"], population=pa.table({"a": [1.0, 2.0, 2.0, 3.5]}))
    assert found.kmap["frequency"].tolist() == [1, 2, 2]


def with_weights(*changed: tuple[int, float | None]) -> pa.Table:
    weights = PEOPLE["w"].to_pylist()
    for record, weight in changed:
        weights[record] = weight
    return PEOPLE.set_column(3, "w", [pa.array(weights, pa.float64())])


NOT_POSITIVE = {"column": "w", "records": 1, "first": 5}
POPULATION = Message("the-population-table")
REFUSED = {
    "keys left out": (PEOPLE, {"keys": None}, "names-none", {"field": "keys"}),
    "weight zero": (with_weights((4, 0.0)), {"weights": "w"}, "wrong-weight", NOT_POSITIVE),
    "weight negative": (with_weights((4, -3.0)), {"weights": "w"}, "wrong-weight", NOT_POSITIVE),
    "weight NaN": (with_weights((4, float("nan"))), {"weights": "w"}, "wrong-weight", NOT_POSITIVE),
    "weight missing": (with_weights((4, None)), {"weights": "w"}, "wrong-weight", NOT_POSITIVE),
    "fraction zero": (PEOPLE, {"fraction": 0.0}, "fraction-out-of-range", {"field": "fraction"}),
    "fraction NaN": (PEOPLE, {"fraction": float("nan")}, "fraction-out-of-range", {"field": "fraction"}),
    "fraction without SUDA2": (
        PEOPLE,
        {"fraction": 0.1, "suda": False},
        "does-not-apply-with",
        {"field": "fraction", "other": "--no-suda"},
    ),
    "recoded column": (
        PEOPLE,
        {"recode": {"income": [9]}},
        "recode-not-a-key",
        {"field": "recode", "column": "income"},
    ),
    "small population": (
        PEOPLE,
        {"population": PEOPLE.slice(0, 20)},
        "population-too-small",
        {"records": 20, "sample": 120},
    ),
    "population of other types": (
        PEOPLE,
        {"population": PEOPLE.set_column(1, "sex", [list(range(120))])},
        "types-differ",
        {"column": "sex", "own": "text", "other": "numbers", "table": POPULATION},
    ),
    "population of other times": (
        PEOPLE.append_column("t", pa.array(range(120), pa.date32())),
        {"keys": ["t"], "population": PEOPLE.append_column("t", pa.array(range(120), pa.time32("s")))},
        "types-differ",
        {"column": "t", "table": POPULATION},
    ),
    "household missing": (
        PEOPLE.set_column(4, "hh", [[None if i in (6, 9) else i // 3 for i in range(120)]]),
        {"household": "hh"},
        "missing-unit",
        {"column": "hh", "records": 2, "first": 7},
    ),
    "nested key": (
        PEOPLE.append_column("x", [[[1]] * 120]),
        {"keys": ["x"]},
        "type-not-counted",
        {"column": "x", "table": Message("the-table")},
    ),
    "too many keys": (
        pa.table({f"k{j}": [1, 2] for j in range(17)}),
        {"keys": [f"k{j}" for j in range(17)]},
        "too-many-keys",
        {"field": "keys", "most": 16},
    ),
}
REFUSED_BY_A_PLAN = {  # or by the table, with the field and the names that the message has
    "unknown key": (PEOPLE, {"keys": ["age", "sax"]}, "'sax'.*'sex'"),
    "no keys": (PEOPLE, {"keys": []}, "^keys: "),
    "a key twice": (PEOPLE, {"keys": ["age", "age"]}, "^keys: .*'age'"),
    "unknown weights": (PEOPLE, {"weights": "ww"}, "'ww'"),
    "weights as key": (PEOPLE, {"weights": "age"}, "^weights: .*'age'"),
    "unknown household": (PEOPLE, {"household": "hhh"}, "'hhh'"),
    "household as key": (PEOPLE, {"household": "sex"}, "^household: .*'sex'"),
    "weight infinite": (with_weights((4, float("inf"))), {"weights": "w"}, "'w' .* record 5"),
    "weight text": (PEOPLE, {"weights": "id"}, "'id'"),
    "population without a key": (PEOPLE, {"population": PEOPLE.select(["age"])}, "'sex'"),
    "no records": (PEOPLE.slice(0, 0), {}, "no records"),
}


def refuses(table, options, expected):
    with expected as error:
        shoal.risk(table, **{"keys": ["age", "sex"], **options})
    assert str(error.value).count(". ") <= 1
    assert not re.search(r"person \d|20-29|north", str(error.value))


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_measured_is_refused_without_a_value(case):
    table, options, code, data = REFUSED[case]
    refuses(table, options, refused(shoal.ShoalError, code, **data))


@pytest.mark.parametrize("case", REFUSED_BY_A_PLAN)
def test_what_no_plan_and_no_table_may_have_is_refused_without_a_value(case):
    table, options, names = REFUSED_BY_A_PLAN[case]
    refuses(table, options, pytest.raises(shoal.ShoalError, match=names))


@pytest.mark.parametrize(
    ("table", "options", "code", "data"),
    [
        (with_weights((4, float("inf"))), {"weights": "w"}, "infinite-values", {"column": "w", "first": 5}),
        (PEOPLE, {"weights": "id"}, "no-numbers", {"column": "id", "content": "text"}),
        (PEOPLE.slice(0, 0), {}, "no-records", {}),
    ],
)
def test_columns_that_cannot_be_measured_are_refused(table, options, code, data):
    with expect.refused(shoal.DataError, code, **data):
        shoal.risk(table, keys=["age", "sex"], **options)


WARNED = {
    "a key that is unique": ({"keys": ["id", "sex"]}, "keys-unique", {"columns": ["id"]}),
    "a number that is unique": ({"keys": ["income", "sex"]}, "keys-unique", {"columns": ["income"]}),
    "weights below one": (
        {"table": with_weights((4, 0.5), (7, 0.25))},
        "weights-below-one",
        {"column": "w", "records": 2},
    ),
    "households of one": ({"household": "id"}, "households-of-one", {"column": "id"}),
}


@pytest.mark.parametrize("case", WARNED)
def test_what_is_probably_a_mistake_is_a_warning(case):
    options, code, data = WARNED[case]
    found = shoal.risk(**{"table": PEOPLE, "keys": ["age", "sex"], "weights": "w", **options})
    assert reports(found.notes[:1], code, **data)
    assert found.notes[0].severity == "warning"


def test_without_weights_two_presumptions_are_noted():
    found = shoal.risk(PEOPLE.select(["age", "sex"]).drop_null(), ["age", "sex"])
    assert codes(found.notes) == ["two-presumptions", "sample-as-population", "before-masking-only"]


def test_a_number_with_many_values_should_be_recoded():
    table = pa.table({"age": [i % 110 for i in range(400)], "sex": ["f", "m"] * 200})
    found = shoal.risk(table, ["age", "sex"])
    assert reports(found.notes[:1], "keys-of-many-numbers", columns=["age"], most=100)


def test_a_million_combinations_are_counted():
    n = 200_000
    table = pa.table({f"k{j}": np.random.default_rng(j).integers(0, 100, n) for j in range(4)})
    found = shoal.risk(table, ["k0", "k1", "k2", "k3"], suda=False)
    assert found.combinations == len(table.to_pandas().drop_duplicates())


def test_one_record_and_a_key_without_values_are_measured():
    assert shoal.risk(PEOPLE.slice(0, 1), ["age", "sex"]).individual.tolist() == [1.0]
    empty = shoal.risk(PEOPLE.append_column("none", pa.nulls(120)), ["none", "sex"], "w")
    assert empty.individual.tolist() == shoal.risk(PEOPLE, ["sex"], "w").individual.tolist()


def test_a_masked_file_is_refused(tmp_path):
    release = shoal.protect(PEOPLE, k=5, quasi=["income"], identifiers=["id"], publish="rest")
    release.save(tmp_path / "masked.csv")
    with refused(shoal.DataError, "file-is-masked", file=str(tmp_path / "masked.csv")):
        shoal.risk(tmp_path / "masked.csv", ["age", "sex"])


def test_the_screen_shows_figures_and_json_has_them_all(run, tmp_path):
    pa.csv.write_csv(PEOPLE, tmp_path / "people.csv")
    command = ["risk", "people.csv", "--keys", "age,sex", "--keys", "town", "--weights", "w", "--household", "hh"]
    expected = shoal.risk(tmp_path / "people.csv", ["age", "sex", "town"], "w", "hh")
    code, out, _ = run(*command, "--population", "people.csv", "--records")
    assert code == 0
    for words in ("120 records, 3 keys", "individual", "household", "SUDA2", "contribution", "k-map: k = 1", "Record"):
        assert words in out
    assert prints(out, "before-masking-only")
    assert "north" not in out
    assert "north" in run(*command, "--by-level")[1]
    code, out, _ = run(*command, "--json")
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(expected.as_json()))
    assert "suda" not in json.loads(run(*command, "--json", "--no-suda")[1])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--keys", "agee"], "^Error: .*'agee'.*'age'"),
        ([], "^Error: .*'--keys'"),
        (["--keys", "age", "--no-suda", "--by-level"], pattern("does-not-apply-with", other="--no-suda")),
        (["--keys", "age", "--fraction", "2"], "^Error: --fraction: " + pattern("fraction-out-of-range")),
        (["--keys", "age", "--population", "none.csv"], "^Error: .*'none.csv'"),
        (["--keys", "age", "--household", "age"], "^Error: --household: .*'age'"),
    ],
)
def test_what_is_wrong_with_a_command_is_a_sentence_and_exit_code_2(run, tmp_path, options, expected):
    pa.csv.write_csv(PEOPLE, tmp_path / "people.csv")
    code, out, err = run("risk", "people.csv", *options)
    assert (code, out) == (2, "")
    assert re.search(expected, " ".join(err.split()))
