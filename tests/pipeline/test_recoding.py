"""Global recoding: columns become classes before all else, on every engine and in every kind of table."""

from collections import Counter
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import expect
from tests.expect import prints, refused, reports

import shoal
from naive import class_of
from shoal import Plan, PlanError
from shoal.errors import DataError
from shoal.messages import Message
from shoal.pipeline.manifest import load_manifest
from shoal.plan.commands import plan_text, protect_command
from shoal.plan.options import options_of, read
from shoal.plan.recoding import classes_of
from shoal.tables import Table, open_table
from shoal.tables.recoding import recoded, recoded_table

AGES = ["under 18", "18 to under 30", "30 to under 65", "65 and over"]
RECODE = {"age": [18, 30, 65], "region": {"north": ["A", "B"], "south": ["C"]}, "born": ["1970-01-01", "1990-01-01"]}
PLAN = {"k": 4, "quasi": ["age", "income", "region"], "publish": ["born"], "strata": ["size"], "method": "mdav"}


def people(gaps: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 80
    age: list = rng.integers(0, 95, n).tolist()
    if gaps:
        age[:5] = [None] * 5
    born = np.datetime64("1950-01-01") + rng.integers(0, 20_000, n)
    return pd.DataFrame(
        {
            "age": pd.array(age, dtype="Int64") if gaps else age,
            "income": rng.normal(50, 10, n).round(1),
            "region": rng.choice(list("ABCDE"), n),
            "born": pa.array(born).to_pandas(date_as_object=True),
            "size": rng.integers(1, 3, n),
        }
    )


def columns(table) -> dict[str, list]:
    return open_table(table).to_arrow().to_pydict()


@given(
    values=st.lists(st.one_of(st.none(), st.floats(-100, 100), st.integers(-100, 100).map(float)), min_size=1),
    cuts=st.lists(st.floats(-90, 90), min_size=1, max_size=5, unique=True).map(sorted),
)
def test_each_class_of_numbers_has_exactly_the_values_between_its_cut_points(values, cuts):
    plan = Plan(k=2, quasi=["x"], recode={"x": cuts})
    found = recoded(Table(pa.table({"x": pa.array(values, pa.float64())})), "x", plan.recode["x"]).to_pylist()
    assert found == [class_of(value, cuts, plan.classes["x"]) for value in values]


@given(
    values=st.lists(st.one_of(st.none(), st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))), min_size=1),
    cuts=st.lists(st.dates(date(1910, 1, 1), date(2090, 1, 1)), min_size=1, max_size=4, unique=True).map(sorted),
    unit=st.sampled_from(["s", "ms", "us", "ns"]),
)
def test_each_class_of_dates_has_exactly_the_values_between_its_cut_points(values, cuts, unit):
    whole = [None if value is None else value.replace(microsecond=0) for value in values]
    midnights = [datetime(each.year, each.month, each.day) for each in cuts]
    plan = Plan(k=2, quasi=["x", "y"], recode={"x": cuts, "y": cuts})
    table = pa.table(
        {"x": pa.array(whole, pa.timestamp(unit)), "y": pa.array(whole, pa.timestamp("s")).cast(pa.date32())}
    )
    for name, column in (("x", whole), ("y", [value and value.replace(hour=0, minute=0, second=0) for value in whole])):
        found = recoded(Table(table), name, plan.recode[name]).to_pylist()
        assert found == [class_of(value, midnights, plan.classes[name]) for value in column]


def test_names_of_classes_follow_from_the_cut_points_alone():
    assert classes_of([18, 30, 65]) == AGES
    assert classes_of([0.5]) == ["under 0.5", "0.5 and over"]
    assert classes_of(["2000-01-01", "2010-01-01"]) == [
        "before 2000-01-01",
        "2000-01-01 to before 2010-01-01",
        "2010-01-01 and later",
    ]
    cuts = {"x": ["18", 30.0, np.float64(1e6)], "y": [date(2000, 1, 1), "2001-02-03T04:05"]}
    assert Plan(k=2, recode=cuts).recode == {"x": [18, 30, 1000000], "y": ["2000-01-01", "2001-02-03 04:05:00"]}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_release_has_classes_of_k_records_in_every_kind_of_table(kind):
    frame = people()
    release = shoal.protect(kind(frame), **PLAN, recode=RECODE)
    found = columns(release.table)
    keys = zip(*(found[name] for name in (*PLAN["quasi"], "size")), strict=True)
    assert min(Counter(keys).values()) >= 4
    assert {*found["age"]} <= {*AGES}
    assert {*found["region"]} <= {"north", "south", "D", "E"}
    cuts = [date(1970, 1, 1), date(1990, 1, 1)]
    assert found["born"] == [class_of(value, cuts, classes_of(RECODE["born"])) for value in frame["born"]]
    assert release.plan.types["age"] == "ordinal"
    said = [
        Message("recoded-column", column="age", classes=4, empty=0, others=0),
        Message("recoded-column", column="region", levels=2, empty=0, others=2),
        Message("recoded-column", column="born", classes=3, empty=0, others=0),
    ]
    assert reports(release.notes, "recoded", columns=said)


def test_classes_are_ordered_categories_in_pandas_and_polars():
    frame = people()
    plain = shoal.protect(frame, **PLAN, recode=RECODE).table
    assert plain["age"].cat.ordered
    assert list(plain["age"].cat.categories) == [each for each in AGES if each in {*plain["age"]}]
    assert isinstance(shoal.protect(pl.from_pandas(frame), **PLAN, recode=RECODE).table.schema["age"], pl.Enum)
    assert frame["age"].dtype == np.int64  # the table that was passed is as it was


def test_a_missing_value_and_a_declared_code_stay_missing():
    frame = people(gaps=True)
    frame.loc[6:9, "age"] = 999
    seen = recoded_table(Table(frame), Plan(k=2, recode=RECODE)).column("age").to_pylist()
    assert seen[:5] == [None] * 5
    assert seen[6:10] == ["65 and over"] * 4
    release = shoal.protect(frame, **PLAN, recode=RECODE, missing="group", missing_codes={"age": [999]})
    assert columns(release.table)["age"].count(None) >= 9
    nan = pa.table({"x": [1.0, float("nan")]})
    assert recoded(Table(nan), "x", [2]).to_pylist() == ["under 2", None]
    assert recoded(Table(nan), "x", {"one": [1]}).to_pylist() == ["one", None]


def test_levels_that_are_not_named_stay_as_text_without_decimals():
    table = Table(pa.table({"x": [1.0, 2.0, 3.0], "y": [1, 2, 3], "z": ["a", "b ", "c"]}))
    assert recoded(table, "x", {"few": [1, 2]}).to_pylist() == ["few", "few", "3"]
    assert recoded(table, "y", {"few": ["1", 2]}).to_pylist() == ["few", "few", "3"]
    assert recoded(table, "z", {"c": ["a", "b"]}).to_pylist() == ["c", "c", "c"]


def test_new_levels_may_be_in_order():
    release = shoal.protect(people(), **PLAN, recode={"region": {"north": ["A", "B"], "south": ["C", "D", "E"]}},
                            levels={"region": ["south", "north"]})  # fmt: skip
    assert release.plan.types["region"] == "ordinal"
    frame = people()
    frame["region"] = pd.Categorical(frame["region"], ordered=True)
    with refused(PlanError, "recoded-order-not-known", "recode", column="region"):
        shoal.protect(frame, **PLAN, recode={"region": {"north": ["A", "B"]}})
    shoal.protect(frame, **PLAN, recode={"region": {"north": ["A", "B"]}}, types={"region": "nominal"})


@pytest.mark.parametrize("source", ["csv", "parquet"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_memory_and_file_publish_the_same_and_the_plan_gives_it_again(tmp_path, source, ending):
    original = tmp_path / f"in.{source}"
    frame = people(gaps=True)
    if source == "csv":
        frame.to_csv(original, index=False, na_rep="NA")
    else:
        frame.to_parquet(original)
    words = {"csv": {"missing": ["NA"]}} if source == "csv" else {}
    paths = [tmp_path / f"{engine}.{ending}" for engine in ("memory", "file")]
    for path in paths:
        options = {**PLAN, **words, "missing": "group", "recode": RECODE | {"size": [2]}}
        release = shoal.protect(original, engine=path.stem, output=path, scale={"block_size": 500}, **options)
        release.save()
        assert Plan.load(f"{path}.plan.toml").recode == RECODE | {"size": [2]}
        again = shoal.protect(plan=f"{path}.plan.toml", output=str(path.with_suffix(f".again.{ending}")))
        assert columns(again.table) == columns(path if not words else release.table)
    if ending == "csv":
        assert paths[0].read_bytes() == paths[1].read_bytes()
    else:
        assert pq.read_table(paths[0]).equals(pq.read_table(paths[1]))


def test_a_release_can_be_checked_and_assessed_and_its_manifest_has_no_old_level(tmp_path):
    frame, path = people(), tmp_path / "out.csv"
    release = shoal.protect(frame, **PLAN, recode=RECODE)
    release.save(path)
    manifest = load_manifest(f"{path}.manifest.json")
    assert manifest.plan["recode"] == {name: RECODE[name] for name in ("age", "born")}
    assert shoal.check(path, manifest=f"{path}.manifest.json")
    found = shoal.assess(frame, path, quasi=PLAN["quasi"], recode=RECODE)
    assert found["loss"]["IL"] == pytest.approx(release.loss()["IL"], rel=1e-9)
    assert found["not_compared"] == []


def test_reports_name_what_was_recoded_but_no_old_level(tmp_path):
    pytest.importorskip("jinja2")
    frame = people().replace({"region": {"A": "Xanadu", "B": "Yggdrasil", "C": "Zembla"}})
    recode = {**RECODE, "region": {"north": ["Xanadu", "Yggdrasil"], "south": ["Zembla"]}}
    release = shoal.protect(frame, **PLAN, recode=recode)
    for external in (False, True):
        path = tmp_path / f"{external}.html"
        release.report(path, external=external)
        text = path.read_text()
        assert "recoded into 4 classes, then median" in text
        assert "recoded into 2 new levels, then mode" in text
        assert not any(level in text for level in ("Xanadu", "Yggdrasil", "Zembla"))
    assert "Xanadu" not in plan_text(release.plan)
    assert protect_command(release.plan.updated(input="in.csv")) is None
    cut = Plan(k=3, quasi=["age"], input="in.csv", recode={"age": [18, 30.5]})
    assert "--recode age=18,30.5" in str(protect_command(cut))


def test_sensitive_attributes_are_diverse_in_their_classes():
    options = {**PLAN, "quasi": ["age", "region"], "confidential": ["income"], "l": 2}
    release = shoal.protect(people(), **options, recode={"income": [45, 55]})
    found = columns(release.table)
    groups: dict[tuple, set] = {}
    for age, region, size, income in zip(*(found[each] for each in ("age", "region", "size", "income")), strict=True):
        groups.setdefault((age, region, size), set()).add(income)
    assert min(map(len, groups.values())) >= 2
    assert {*found["income"]} == {"under 45", "45 to under 55", "55 and over"}
    Plan(**release.plan.options())


def test_classes_without_records_and_columns_of_one_class_are_noted():
    release = shoal.protect(people(), **PLAN, recode={"age": [18, 200, 300], "born": ["1900-01-01"]})
    said = [
        Message("recoded-column", column="age", classes=4, empty=2, others=0),
        Message("recoded-column", column="born", classes=2, empty=1, others=0),
    ]
    assert reports(release.notes, "recoded", columns=said)
    assert reports(release.notes, "recoded-into-one", columns=["born"])


@pytest.mark.parametrize("engine", ["memory", "file"])
def test_numbers_that_are_recoded_are_masked_by_default_like_other_numbers(tmp_path, engine):
    people()[["age", "income"]].to_csv(tmp_path / "in.csv", index=False)
    options = {"k": 3, "recode": {"age": [18, 30, 65]}, "engine": engine, "output": tmp_path / "out.csv"}
    assert shoal.protect(tmp_path / "in.csv", **options).plan.masked == ["age", "income"]


def test_one_record_in_each_class_is_masked_as_any_other():
    frame = pd.DataFrame({"age": [5, 15, 25, 35], "x": [1.0, 2.0, 3.0, 4.0]})
    release = shoal.protect(frame, k=2, quasi=["age", "x"], recode={"age": [10, 20, 30]})
    assert min(Counter(zip(*columns(release.table).values(), strict=True)).values()) >= 2


@pytest.mark.parametrize(
    ("options", "code", "field", "data"),
    [
        ({"recode": {"agee": [18]}}, "unknown-column", "recode", {"column": "agee", "near": "age"}),
        ({"recode": {"age": [18]}, "edits": ["age >= 0"]}, "recoded-in-rule", "recode", {"column": "age"}),
        (
            {"recode": {"age": [18]}, "aggregate": {"age": "mean"}},
            "aggregate-not-for-type",
            "aggregate",
            {"column": "age", "type": "ordinal"},
        ),
    ],
)
@pytest.mark.parametrize("engine", ["memory", "file"])
def test_a_recoding_that_does_not_suit_the_table_is_refused(options, code, field, data, engine, tmp_path):
    source = tmp_path / "in.parquet"
    people().to_parquet(source)
    table = people() if engine == "memory" else source
    rest = {**PLAN, "publish": "rest", "strata": None, "output": tmp_path / "out.parquet", "engine": engine}
    with refused(PlanError, code, field, **data):
        shoal.protect(table, **{**rest, **options})
    assert [*tmp_path.iterdir()] == [source]


@pytest.mark.parametrize(
    ("recode", "code", "data"),
    [
        ({"region": [18]}, "neither-numbers-nor-dates", {"column": "region"}),
        ({"born": [18]}, "cuts-of-other-type", {"column": "born", "content": "dates"}),
        ({"age": ["2000-01-01"]}, "cuts-of-other-type", {"column": "age", "content": "numbers"}),
        ({"age": {"old": ["x"]}}, "values-of-other-type", {"column": "age", "type": "number"}),
        ({"born": {"old": ["x"]}}, "values-of-other-type", {"column": "born"}),
        ({"raw": {"old": ["x"]}}, "type-without-levels", {"column": "raw", "type": "binary"}),
    ],
)
@pytest.mark.parametrize("engine", ["memory", "file"])
def test_what_is_recoded_by_values_of_another_type_is_refused(recode, code, data, engine, tmp_path):
    frame = people().assign(raw=b"x")
    frame.to_parquet(tmp_path / "in.parquet")
    source = frame if engine == "memory" else tmp_path / "in.parquet"
    rest = {"publish": "rest", "strata": None, "output": tmp_path / "out.parquet", "recode": recode}
    with refused(PlanError, code, "recode", **data):
        shoal.protect(source, engine=engine, **{**PLAN, **rest})


@pytest.mark.parametrize("engine", ["memory", "file"])
def test_a_word_among_numbers_is_named_by_its_record_and_a_time_zone_is_refused(tmp_path, engine):
    source = tmp_path / "in.csv"
    source.write_text("age,x\n" + "".join(f"{i},{i}\n" for i in range(20)) + "old,3\n")
    options = {"k": 2, "quasi": ["age", "x"], "recode": {"age": [10]}, "engine": engine, "output": tmp_path / "o.csv"}
    with refused(DataError, "word-among-numbers", column="age", record=21):
        shoal.protect(source, **options)
    when = pa.array([datetime(2000, 1, 1)] * 4, pa.timestamp("us", "Europe/Berlin"))
    pq.write_table(pa.table({"when": when}), tmp_path / "in.parquet")
    with refused(PlanError, "cuts-with-time-zone", "recode", column="when"):
        shoal.protect(tmp_path / "in.parquet", **{**options, "quasi": ["when"], "recode": {"when": ["2000-01-01"]}})


def test_the_command_line_takes_cut_points_and_tables():
    given = {"recode": ["age=18, 30,65", 'region={"north": ["A", "so, so"]}']}
    assert Plan(k=2, **read(options_of(Plan), given)).recode == {
        "age": [18, 30, 65],
        "region": {"north": ["A", "so, so"]},
    }
    with expect.refused(PlanError, "not-a-cut-point", "recode.region"):
        Plan(k=2, **read(options_of(Plan), {"recode": ['region={"north": ["A"']}))


def test_commands_recode(run):
    people().to_csv("in.csv", index=False)
    roles = ["--quasi", "age,income", "--publish-rest"]
    recode = ["--recode", "age=18,30,65", "--recode", "born=1970-01-01"]
    assert run("protect", "in.csv", "-k", 4, *roles, *recode, "-o", "out.csv")[0] == 0
    assert {*pd.read_csv("out.csv")["born"]} == {"before 1970-01-01", "1970-01-01 and later"}
    assert run("risk", "in.csv", "--keys", "age,region", "--recode", "age=18,30,65", "--json")[0] == 0
    assert run("assess", "in.csv", "out.csv", "--quasi", "age,income", *recode, "--json")[0] == 0
    assert run("sweep", "in.csv", "-k", "3-4", *roles, *recode)[0] == 0
    code, _, errors = run("risk", "in.csv", "--keys", "region", "--recode", "age=18")
    assert code == 2
    assert prints(errors, "recode-not-a-key", column="age")


def test_risk_is_that_of_the_recoded_keys():
    frame = people()
    found = shoal.risk(frame, keys=["age", "region"], recode={"age": [18, 30, 65]}, suda=False)
    classes = [class_of(age, [18, 30, 65], AGES) for age in frame["age"]]
    count = Counter(zip(classes, frame["region"], strict=True))
    assert found.sample_frequency.tolist() == [count[key] for key in zip(classes, frame["region"], strict=True)]


def test_codes_and_levels_of_large_whole_numbers_are_told_apart():
    large = 2**53
    table = pa.table({"y": np.arange(60.0), "code": pa.array([large, large + 1, 7] * 20)})
    plan = {"k": 3, "quasi": ["y"], "publish": ["code"], "recode": {"code": {"joined": [large + 1]}}}
    found = shoal.protect(table, **plan).table["code"].to_pylist()
    assert found == [str(large), "joined", "7"] * 20
    kept = shoal.protect(table, k=3, quasi=["y"], confidential=["code"], missing_codes={"code": [large + 1]}).table[
        "code"
    ]
    assert kept.to_pylist() == [large, None, 7] * 20


def test_levels_that_are_not_named_stay_whatever_their_size():
    values = [1.0, 2.5, 1e19, -1e19, float("inf")]
    found = recoded(Table(pa.table({"x": values})), "x", {"one": [1]}).to_pylist()
    assert found == ["one", "2.5", "1e+19", "-1e+19", "inf"]


def test_new_levels_on_the_command_line_may_hold_equals_signs_and_come_twice():
    options = [each for each in options_of(Plan) if each.path == ("recode",)]
    typed = ['town={"<=5": ["A"], "<=5": ["B"], "more": ["C"]}']
    assert read(options, {options[0].name: typed})["recode"] == {"town": {"<=5": ["A", "B"], "more": ["C"]}}
