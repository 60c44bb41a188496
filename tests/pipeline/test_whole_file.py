"""The risk of the whole file: columns that are released unchanged, and what they give away of masked ones."""

import json
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import prints, refused, reports

import shoal
from naive import file_exposure, shared_values
from shoal.backends.database import DuckPairs
from shoal.evidence.whole_file import whole_file
from shoal.messages import Message
from shoal.pipeline.counting import sizes_of, sizes_of_each
from shoal.pipeline.whole_file import _shared
from shoal.tables import open_table

RECORDS = 5_000
SURVEY = {"k": 5, "quasi": ["age", "income"], "weights": "weight", "confidential": ["debt"], "method": "mdav"}
PUBLISHED = ["household", "interviewed", "region"]


def survey(n: int = RECORDS) -> pa.Table:
    """Persons with a near-unique survey weight, and a household number that with the interview date is one, too."""
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "age": rng.integers(18, 95, n),
            "income": rng.lognormal(10, 0.6, n).round(),
            "weight": rng.lognormal(5, 0.9, n).round(2),
            "household": np.sort(rng.integers(0, n // 2, n)),
            "interviewed": pa.array(np.datetime64("2024-03-01") + rng.integers(0, 60, n)),
            "region": rng.choice(list("abcdef"), n),
            "debt": rng.integers(0, 9_000, n),
        }
    )


def file_of(table: pa.Table, **options) -> dict:
    return shoal.protect(table, **{"k": 5, "method": "mdav", **options}).risk()["file"]


@pytest.fixture(scope="module")
def surveyed() -> shoal.Release:
    return shoal.protect(survey(), **SURVEY, publish=PUBLISHED)


def test_every_column_and_their_combinations_are_counted_as_equal_rows_are(surveyed):
    found, rows = surveyed.risk()["file"], surveyed.table.to_pylist()
    sets = {"together": ["weight", *PUBLISHED], "with_masked": ["weight", *PUBLISHED, "age", "income"]}
    sets |= {"everything": [*sets["with_masked"], "debt"]}
    for what, names in sets.items():
        assert {*found[what]["columns"]} == {*names}
        naive = file_exposure([tuple(row[name] for name in names) for row in rows], 5)
        assert {key: found[what][key] for key in naive} == naive
    for name in ["weight", *PUBLISHED, "debt"]:
        naive = file_exposure([(row[name],) for row in rows], 5)
        assert {key: found["unchanged"][name][key] for key in naive} == naive
        assert found["unchanged"][name]["distinct"] == naive["groups"] / RECORDS


def test_the_headline_names_the_weight_and_the_household_number_on_every_face(surveyed, tmp_path, run):
    headline = surveyed.risk()["file"]["headline"]
    assert headline["columns"] == ["weight", "household"]
    assert (headline["severity"], headline["safe"]) == ("warning", False)
    assert reports([headline["text"]], "singled-out", number=5_000, records=5_000)
    assert headline["text"].data["where"].data["which"].code == "columns-released"
    surveyed.report(tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text().replace("&#39;", "'")
    cell = (surveyed._repr_html_() or "").replace("&#39;", "'")
    for page in (shown, cell):
        assert page.index(headline["text"]) < page.index("k = 5 holds")
    pa.csv.write_csv(survey(), tmp_path / "survey.csv")
    command = ["protect", "survey.csv", "-k", "5", "--quasi", "age,income", "--weights", "weight", "--method", "mdav"]
    command += ["--confidential", "debt", "--publish", ",".join(PUBLISHED), "-o", "masked.csv"]
    assert f"Warning: {headline['text']}" in " ".join(run(*command)[1].split())
    found = json.loads(run(*command, "--json", "--overwrite")[1])["risk"]["file"]
    assert found["headline"]["columns"] == ["weight", "household"]


def test_check_passes_on_k_and_warns_of_other_columns(surveyed, tmp_path, run):
    surveyed.save(tmp_path / "masked.csv")
    path = str(tmp_path / "masked.csv")
    code, out, _ = run("check", path, "-k", 5, "--quasi", "age,income", "--confidential", "debt")
    assert code == 0
    assert " ".join(out.split()).startswith("Warning: 5,000 of 5,000")  # above everything else
    assert prints(out, "singled-out", number=5_000, records=5_000)
    assert "Passed, except for the warning above: 5,000 records" in " ".join(out.split())
    assert prints(out, "columns-by-themselves", which=Message("other-columns"))
    again = shoal.check(path, manifest=f"{path}.manifest.json")["file"]
    assert again["unchanged"]["debt"]["role"] == "confidential"
    assert again["headline"]["columns"] == ["weight", "household"]


def test_no_file_is_safe_in_which_a_sensitive_value_can_be_read_off_every_group(tmp_path):
    a, b = np.repeat([0, 1, 2], 60), np.tile([0, 1, 2], 60)
    table = pa.table({"a": a, "b": b, "hiv": np.where(a == 2, "pos", "neg")})
    release = shoal.protect(table, k=5, quasi=["a", "b"], confidential=["hiv"])
    data = {"column": "hiv", "same": 9, "groups": 9, "remedy": Message("use-l")}
    said = {"text": Message("same-sensitive-value", **data), "code": "same-sensitive-value"}
    release.save(tmp_path / "masked.csv")
    for found in (
        release.risk()["file"],
        shoal.assess(table, release.table, quasi=["a", "b"], confidential=["hiv"])["risk"]["file"],
        shoal.check(release.table, k=5, quasi=["a", "b"], confidential=["hiv"])["file"],
        shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")["file"],
    ):
        assert found["headline"] | {**said, "severity": "warning", "safe": False} == found["headline"]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, "x", "y"])), min_size=2, max_size=40))
def test_groups_whose_known_values_agree_are_those_that_one_finds_by_looking(rows):
    table = pa.table({"q": [row[0] for row in rows], "s": pa.array([row[1] for row in rows], pa.string())})
    found = whole_file(open_table(table), 2, ["q"], {"s": "confidential"})["shared"]["s"]
    assert found == shared_values(*zip(*rows, strict=True))


@pytest.mark.parametrize("engine", ["memory", "file"])
def test_sensitive_columns_that_identify_people_are_the_headline(tmp_path, engine):
    n = 200
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 1, n),
            "ill": rng.choice(["a", "b", "c"], n),
            "note": [f"she told us that room {i} was too cold for her" for i in range(n)],
            "name": [f"{chr(65 + i % 26)}nna {chr(65 + i // 26)}mith" for i in range(n)],
        }
    )
    pa.csv.write_csv(table, tmp_path / "in.csv")
    sensitive = ["income", "ill", "note", "name"]
    plan = {"k": 5, "quasi": ["age"], "confidential": sensitive, "engine": engine, "output": str(tmp_path / "out.csv")}
    release = shoal.protect(tmp_path / "in.csv", **plan)
    head = release.risk()["file"]["headline"]
    assert (head["severity"], head["columns"]) == ("warning", ["note", "name"])
    assert reports([head["text"]], "identifying-sensitive", number=2, columns="note,name")
    release.save(tmp_path / "out.csv")
    again = shoal.check(tmp_path / "out.csv", manifest=tmp_path / "out.csv.manifest.json")["file"]["headline"]
    assessed = shoal.assess(tmp_path / "in.csv", tmp_path / "out.csv", quasi=["age"], confidential=["note", "name"])
    assert again["columns"] == assessed["risk"]["file"]["headline"]["columns"] == ["note", "name"]


def test_assess_finds_unchanged_columns_by_comparing(surveyed):
    found = shoal.assess(survey(), surveyed.table, confidential=["debt"])["risk"]["file"]
    assert {*found["unchanged"]} == {"weight", *PUBLISHED, "debt"}
    assert found["together"]["uniques"] == surveyed.risk()["file"]["together"]["uniques"]
    assert found["headline"]["columns"] == ["weight", "household"]


def test_a_file_is_called_safe_only_if_no_record_is_unique_in_all_its_columns():
    table = survey(500)
    masked = file_of(table.select(["age", "income"]), quasi=["age", "income"])
    assert masked["headline"]["safe"]
    assert masked["headline"]["code"] == "no-unique-record"
    with_debt = file_of(table.select(["age", "income", "debt"]), quasi=["age", "income"], confidential=["debt"])
    assert with_debt["headline"]["severity"] == "warning"
    assert not with_debt["headline"]["safe"]
    who = Message("knows-columns", columns=["debt"])
    assert reports([with_debt["headline"]["text"]], "singled-out-by-sensitive", who=who)
    with_weight = file_of(table.select(["age", "income", "weight"]), quasi=["age", "income"], publish=["weight"])
    assert with_weight["headline"]["severity"] == "warning"


def test_one_sensitive_column_that_singles_records_out_with_others_is_named_in_a_warning():
    rng = np.random.default_rng(5)
    table = pa.table({"x": rng.normal(size=600), "y": rng.normal(size=600), "ill": rng.integers(0, 6, 600)})
    found = file_of(table, quasi=["x", "y"], confidential=["ill"])["headline"]
    who = Message("also-knows", column="ill")
    assert found["severity"] == "warning"
    assert reports([found["text"]], "singled-out-by-sensitive", who=who, records=found["records"])


def test_columns_that_are_harmless_alone_are_found_in_combination():
    rng = np.random.default_rng(4)
    table = pa.table({"x": rng.normal(size=600), **{f"c{i}": rng.integers(0, 6, 600) for i in range(5)}})
    found = file_of(table, quasi=["x"], publish="rest")
    assert not any(row["below_k"] for row in found["unchanged"].values())
    assert found["headline"]["columns"] == [f"c{i}" for i in range(5)]
    assert found["headline"]["text"].data["where"].code == "columns-combined"


def test_unchanged_columns_that_add_up_to_a_masked_one_are_the_headline_and_hybrid_data_are_refused(reference_file):
    with refused(shoal.DataError, "original-computable", column="PTOTVAL", formula="POTHVAL + PEARNVAL"):
        shoal.protect(reference_file("census"), method="hybrid", k=20, confidential=["PTOTVAL"], publish="rest")
    release = shoal.protect(reference_file("census"), k=20, quasi=["PTOTVAL"], publish="rest")
    [found] = release.risk()["file"]["determined"]
    assert found["formula"] == "POTHVAL + PEARNVAL"
    assert (found["column"], found["exact"], found["records"]) == ("PTOTVAL", 1080, 1080)
    headline = release.risk()["file"]["headline"]
    formula = "POTHVAL + PEARNVAL"
    assert reports([headline["text"]], "original-from-columns", column="PTOTVAL", found=1080, formula=formula)
    assert reports(release.notes, "singled-out")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.integers(0, 3))
def test_a_planted_linear_relation_is_found_and_none_where_there_is_none(seed, planted, noise_columns):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(50, 9, 300).round(2), rng.lognormal(3, 1, 300).round(2)
    x = 3 * a - 0.5 * b + 7 if planted else rng.normal(size=300)
    others = {f"z{i}": rng.normal(size=300) for i in range(noise_columns)}
    found = file_of(pa.table({"x": x, "a": a, "b": b, **others}), quasi=["x"], publish="rest")["determined"]
    assert [(each["column"], {*each["by"]}, each["records"]) for each in found] == (
        [("x", {"a", "b"}, 300)] if planted else []
    )


def test_a_sum_that_holds_in_most_records_is_found_though_zeros_agree_by_chance():
    rng = np.random.default_rng(8)
    a, b, c = (np.where(rng.random(800) < 0.5, 0, rng.integers(1, 5_000, 800)) for _ in range(3))
    odd = rng.random(800) < 0.2
    x = np.where(odd, rng.integers(0, 90_000, 800), a - b + c)
    [found] = file_of(pa.table({"x": x, "a": a, "b": b, "c": c}), quasi=["x"], publish="rest")["determined"]
    assert found["formula"] == "a - b + c"
    assert found["exact"] == int((x == a - b + c).sum())
    unrelated = np.where(rng.random(800) < 0.9, 0, rng.integers(1, 5_000, 800))
    assert not file_of(pa.table({"x": unrelated, "a": a, "b": b}), quasi=["x"], publish="rest")["determined"]


def test_a_category_each_value_of_which_goes_with_one_value_of_a_masked_column_is_found():
    rng = np.random.default_rng(9)
    town = rng.integers(0, 40, 900)
    region = np.array(list("nesw"))[town % 4]
    table = pa.table({"region": region, "age": rng.integers(18, 90, 900), "town": town.astype(str), "sex": town % 2})
    found = file_of(table, quasi=["region", "age"], publish="rest")["determined"]
    assert [(each["column"], each["by"], each["how"], each["records"]) for each in found] == [
        ("region", ["town"], "category", 900)
    ]


@given(
    st.lists(st.tuples(*[st.sampled_from([0, 1, None])] * 3), min_size=1),
    st.sets(st.sampled_from(range(7)), min_size=1),
)
def test_several_sets_of_columns_are_counted_in_one_pass_as_one_by_one(rows, chosen):
    batch = pa.RecordBatch.from_pydict(
        {f"u{i}": pa.array(column, pa.int64()) for i, column in enumerate(zip(*rows, strict=True))}
    )
    database = DuckPairs(lambda: iter([batch]))
    sets = [[f"u{i}" for i in range(3) if (number + 1) >> i & 1] for number in chosen]
    assert sizes_of_each(database, sets) == [sizes_of(database, keys) for keys in sets]


def test_objects_without_an_arrow_type_and_nested_columns_are_counted(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": np.arange(20.0), "what": [complex(i % 4, 1) for i in range(20)]})
    assert file_of(frame, quasi=["x"], publish=["what"])["unchanged"]["what"]["groups"] == 4
    nested = pa.table({"x": np.arange(20.0), "list": [[i % 5, 1] for i in range(20)]})
    assert file_of(nested, quasi=["x"], publish=["list"])["unchanged"]["list"]["groups"] == 5


def test_a_value_that_every_unit_of_a_group_has_beside_another_is_a_finding():
    group, patient = np.repeat([0, 1, 2, 3], 10), np.repeat(np.arange(20), 2)
    other = np.where(group < 3, "hiv", np.where(patient % 2 == 0, "flu", "cold"))
    ill = np.where(np.arange(40) % 2 == 0, other, np.array(["flu", "cold", "angina", "gout", "none"])[patient % 5])
    table = pa.table({"patient": patient, "a": group * 10.0, "ill": ill})
    plan = {"quasi": ["a"], "confidential": ["ill"], "unit": "patient"}
    release = shoal.protect(table, k=5, l=2, **plan, method="mdav")
    found = release.risk()["file"]
    assert found["shared"]["ill"] == {"all": 3, "most": 3, "records": 30}
    assert not found["headline"]["safe"]
    data = {"column": "ill", "same": 3, "groups": 4, "unit": True, "remedy": Message("use-larger-k-or-l")}
    assert reports([each["text"] for each in found["findings"]], "same-sensitive-value", **data)


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 2, st.sampled_from(["x", "y", None])), min_size=1, max_size=25))
def test_units_that_share_a_value_are_counted_as_one_by_one(records):
    frame = pd.DataFrame(records, columns=["key", "unit", "value"])
    expected = 0
    for _, group in frame.groupby("key"):
        known = group.dropna(subset="value")
        held = known.groupby("value")["unit"].nunique().max() if len(known) else 0
        expected += len(group) > 1 and held == known["unit"].nunique() > 0
    with duckdb.connect() as connection:
        connection.register("pairs", frame)
        database = SimpleNamespace(rows=lambda query: connection.sql(query).fetchall())
        assert _shared(database, ["key"], "value", "unit")["all"] == expected


def test_assess_does_not_count_a_sensitive_column_as_masked_whose_codes_were_made_missing():
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(18, 90, 200), "income": rng.normal(size=200), "ill": rng.choice(list("abc"), 200)}
    columns["income"][:9] = -9
    options = {"k": 5, "quasi": ["age"], "confidential": ["income", "ill"]}
    release = shoal.protect(pa.table(columns), **options, missing_codes={"income": [-9]})
    found = shoal.assess(pa.table(columns), release.table, ["age"], ["income", "ill"])
    assert found["risk"]["file"]["with_masked"]["uniques"] == 0
    assert found["risk"]["file"]["unchanged"]["income"].items() >= {"role": "confidential", "changed": True}.items()
    assert "changed" not in found["risk"]["file"]["unchanged"]["ill"]


@pytest.mark.parametrize("change", ["one cell", "every cell"])
def test_assess_warns_of_an_identifying_sensitive_column_however_it_changed(change):
    rng = np.random.default_rng(0)
    ssn = rng.integers(10**6, 10**9, 200)
    columns = {"age": rng.integers(18, 90, 200), "ssn": [f"{each:09d}" for each in ssn]}
    masked = shoal.protect(pa.table(columns), k=5, quasi=["age"], identifiers=["ssn"]).table
    new = [str(int(each)) if change == "every cell" else each for each in columns["ssn"]]
    new[0] = "0"
    found = shoal.assess(
        pa.table(columns),
        masked.append_column("ssn", pa.array(new)),
        ["age"],
        ["ssn"],
        policy=shoal.Policy(k=5, unique_columns=0),
    )
    assert found["verdict"]["result"] != "passed"
    assert found["risk"]["file"]["headline"]["code"] != "others-synthetic"
