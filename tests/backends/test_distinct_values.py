"""Values that a file tells apart are counted apart, and all kinds of missing are one where a value is asked for."""

import collections

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.expect import refused

import shoal
from shoal.pipeline.classes import class_sizes
from shoal.pipeline.counting import distinct
from shoal.tables import Table, write_table
from shoal.tables.stat.labels import Labels, tagged, with_labels

K = 6
PLAN = {"k": K, "quasi": ["age", "pay"], "method": "mdav"}


def records(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return {"age": rng.integers(18, 90, n).astype(float), "pay": rng.lognormal(7, 1, n).round()}


def plain_sizes(columns):
    """Records by the bytes of their values and the places of their categories, counted plainly."""

    def written(column):
        if pa.types.is_dictionary(column.type):
            return column.indices.to_pylist()
        if not pa.types.is_floating(column.type):
            return column.to_pylist()
        bits = column.to_numpy(zero_copy_only=False).view(f"u{column.type.bit_width // 8}").tolist()
        return [value if valid else None for value, valid in zip(bits, column.is_valid().to_pylist(), strict=True)]

    return sorted(collections.Counter(zip(*map(written, columns), strict=True)).values())


LETTERS = pa.array(tagged(["a", "b", None, 1.0, 1.0] * 12), mask=np.array([False, False, True, False, False] * 12))
ZEROS = pa.array(np.array([0.0, -0.0, 5.0] * 20))
TWICE = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 20, pa.int32()), pa.array(["x", "x", "y"]))
NUMBERS_TWICE = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 20, pa.int8()), pa.array([5, 5, 6]))
COLUMNS = {
    "letters": LETTERS,
    "zeros": ZEROS,
    "small zeros": ZEROS.cast(pa.float32()),
    "half zeros": ZEROS.cast(pa.float16()),
    "categories": TWICE,
    "numbers as categories": NUMBERS_TWICE,
}


@pytest.mark.parametrize("name", COLUMNS)
def test_classes_are_those_of_the_bytes(name):
    column = COLUMNS[name]
    assert sorted(class_sizes(Table(pa.table({"c": column})), ["c"]).tolist()) == plain_sizes([column])
    assert distinct(column.slice(0, 0)).type == distinct(column).type


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("role", ["publish", "confidential"])
def test_the_whole_file_is_counted_by_what_it_tells_apart(name, role):
    table = pa.table({**records(), "c": COLUMNS[name]})
    found = shoal.protect(table, **PLAN, **{role: ["c"]})
    names = ["c", "age", "pay"]
    sizes = plain_sizes([found.table[each].combine_chunks() for each in names])
    whole = found.risk()["file"]["everything"]
    assert (whole["groups"], whole["smallest"]) == (len(sizes), min(sizes))


@pytest.mark.parametrize("name", COLUMNS)
def test_check_and_assess_count_what_a_file_tells_apart(name):
    table = pa.table({"age": [1.0] * 60, "c": COLUMNS[name]})
    sizes = plain_sizes([table["c"].combine_chunks()])
    found = shoal.check(table, k=2, quasi=["age", "c"])
    assert (found["groups"], found["smallest"]) == (len(sizes), min(sizes))
    whole = shoal.check(table, k=2, quasi=["age"])["file"]["with_masked"]
    assert (whole["groups"], whole["smallest"]) == (len(sizes), min(sizes))
    assessed = shoal.assess(table, table, k=2, quasi=["age"])["risk"]["file"]["with_masked"]
    assert (assessed["groups"], assessed["smallest"]) == (len(sizes), min(sizes))
    with refused(shoal.CheckFailed, "group-below-k"):
        shoal.check(table, k=min(sizes) + 1, quasi=["age", "c"])


@pytest.mark.parametrize("engine", ["memory", "file"])
@pytest.mark.parametrize("name", ["letters", "zeros"])
def test_strata_that_a_file_tells_apart_are_never_mixed(engine, name, tmp_path):
    table = pa.table({**records(), "c": COLUMNS[name]})
    pq.write_table(table, tmp_path / "in.parquet")
    release = shoal.protect(
        tmp_path / "in.parquet", **PLAN, strata=["c"], engine=engine, output=tmp_path / "out.parquet"
    )
    release.save()
    written = pq.read_table(tmp_path / "out.parquet")
    sizes = plain_sizes([written[each].combine_chunks() for each in ("c", "age", "pay")])
    assert min(sizes) >= K
    assert release.risk()["file"]["with_masked"]["smallest"] == min(sizes)
    shoal.check(tmp_path / "out.parquet", manifest=tmp_path / "out.parquet.manifest.json")


def test_categories_that_are_listed_twice_are_strata_of_their_own():
    table = pa.table({**records(), "c": TWICE})
    released = shoal.protect(table, **PLAN, strata=["c"]).table
    assert min(plain_sizes([released[each].combine_chunks() for each in ("c", "age", "pay")])) >= K


def test_a_stratum_of_one_kind_of_missing_may_be_too_small():
    letters = pa.array(tagged(["a"] * 3 + ["b"] * 3 + [1.0] * 54))
    with refused(shoal.DataError, "small-strata"):
        shoal.protect(pa.table({**records(), "c": letters}), **PLAN, strata=["c"])


@pytest.mark.parametrize("only", [None, "at_risk"])
@pytest.mark.parametrize("missing", ["group", "suppress"])
@pytest.mark.parametrize("kind", ["letters", "codes", "zeros"])
def test_masked_columns_publish_one_kind_of_missing_and_of_zero(only, missing, kind):
    values = np.repeat([0.0, -0.0, 1.0, 2.0, 3.0], 12)
    if kind == "letters":
        values = tagged((["a"] * 3 + ["b"] * 3) * 4 + [0.0] * 3 + [-0.0] * 3 + [1.0] * 30)
    if kind == "codes":
        values = np.array([98.0, 99.0] * 15 + [1.0] * 30)
    labels = Labels(missing=((98.0, 99.0),)) if kind == "codes" else Labels()
    table = pa.table({"age": pa.array(values), "pay": np.repeat([1.0, 2.0], 30)})
    table = table.cast(pa.schema([with_labels(table.schema.field("age"), labels), table.schema.field("pay")]))
    released = shoal.protect(table, **PLAN, only=only, missing=missing).table
    assert min(plain_sizes([column.combine_chunks() for column in released.columns])) >= K


def surveyed(kind):
    """Ten groups of six; all who have answered have the same answer, and each group has two kinds of no answer."""
    hiv = np.tile([1.0, 1.0, 1.0, 1.0, 98.0, 99.0], 10)
    columns = {"age": np.repeat(np.arange(10.0), 6), "pay": np.repeat(np.arange(10.0), 6)}
    if kind == "dta":
        letters = np.tile(np.array([1.0, 1.0, 1.0, 1.0, "a", "b"], object), 10)
        return pa.table({**columns, "hiv": pa.array(tagged(letters))})
    table = pa.table({**columns, "hiv": pa.array(hiv)})
    if kind == "sav":
        field = with_labels(table.schema.field("hiv"), Labels(missing=((98.0, 99.0),)))
        table = table.set_column(2, field, table["hiv"])
    return table


@pytest.mark.parametrize("by_units", [False, True])
@pytest.mark.parametrize("kind", ["sav", "dta", "csv"])
def test_declared_codes_do_not_hide_a_shared_secret(kind, by_units, tmp_path):
    table = surveyed(kind)
    if by_units:
        table = table.append_column("who", pa.array(np.arange(60)))
    path = tmp_path / f"in.{kind}"
    options = {**PLAN, "confidential": ["hiv"], **({"unit": "who"} if by_units else {})}
    if kind == "csv":
        path.write_text(table.to_pandas().to_csv(index=False).replace("98.0", "NA").replace("99.0", "?"))
        options["csv"] = {"missing": ["NA", "?"]}
    else:
        write_table(Table(table), path, kind)
    found = shoal.protect(path, **options).risk()["file"]
    assert found["shared"]["hiv"] == {"all": 10, "most": 10, "records": 60}
    assert not found["headline"]["safe"]
    if by_units:
        return
    checked = shoal.check(path, k=K, quasi=["age", "pay"], confidential=["hiv"], csv=options.get("csv"))["file"]
    assert checked["shared"]["hiv"]["all"] == 10
    assert not checked["headline"]["safe"]


def test_a_number_that_is_spelled_in_two_ways_is_one_shared_secret(tmp_path):
    lines = [f"{i // 6}.0,{i // 6}.0,{('1.5', '1.50')[i % 2]}" for i in range(60)]
    (tmp_path / "in.csv").write_text("\n".join(["age,pay,hiv", *lines, ""]))
    plan = {**PLAN, "confidential": ["hiv"], "input": tmp_path / "in.csv", "output": tmp_path / "out.csv"}
    for engine in ("memory", "file"):
        found = shoal.protect(plan=shoal.Plan(**plan, engine=engine)).risk()["file"]
        assert found["shared"]["hiv"]["all"] == 10
        assert found["everything"]["groups"] == 20


@pytest.mark.parametrize("engine", ["memory", "file"])
@pytest.mark.parametrize("numbers", [False, True])
def test_words_for_missing_values_are_one_stratum(engine, numbers, tmp_path):
    known, columns = ("7" if numbers else "x"), records()
    strata = [known if i >= 12 else ("NA", "?", "", " NA ")[i % 4] for i in range(60)]
    pd.DataFrame({**columns, "s": strata}).to_csv(tmp_path / "in.csv", index=False)
    plan = {**PLAN, "strata": ["s"], "csv": {"missing": ["NA", "?"]}}
    release = shoal.protect(tmp_path / "in.csv", **plan, engine=engine, output=tmp_path / "out.csv")
    release.save()
    written = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    assert written["s"].tolist() == [known if i >= 12 else "NA" for i in range(60)]
    assert min(collections.Counter(map(tuple, written.to_numpy().tolist())).values()) >= K
    again = shoal.check(tmp_path / "out.csv", manifest=tmp_path / "out.csv.manifest.json")
    assert again["file"]["with_masked"]["smallest"] >= K


def test_numbers_and_texts_of_a_workbook_are_counted_apart(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["age", "c"])
    for i in range(12):
        sheet.append([1, (5, "5")[i % 2]])
    book.save(tmp_path / "in.xlsx")
    path = tmp_path / "in.xlsx"
    assert shoal.check(path, k=6, quasi=["age", "c"])["groups"] == 2
    assert shoal.check(path, k=6, quasi=["age"])["file"]["with_masked"]["groups"] == 2
    assert shoal.assess(path, path, k=6, quasi=["age"])["risk"]["file"]["with_masked"]["groups"] == 2
    with refused(shoal.CheckFailed, "group-below-k"):
        shoal.check(path, k=7, quasi=["age", "c"])


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", ["letters", "zeros"])
def test_spark_counts_what_a_file_tells_apart(name, tmp_path, spark):
    table = pa.table({**records(), "c": COLUMNS[name], "hiv": surveyed("dta")["hiv"]})
    pq.write_table(table, tmp_path / "in.parquet")
    plan = {**PLAN, "publish": ["c"], "confidential": ["hiv"]}
    expected = shoal.protect(tmp_path / "in.parquet", **plan).risk()["file"]
    found = shoal.protect(spark.read.parquet(str(tmp_path / "in.parquet")), **plan).risk()["file"]
    assert found == expected
    frame = spark.read.parquet(str(tmp_path / "in.parquet")).drop("hiv")
    released = shoal.protect(frame, **PLAN, strata=["c"])
    released = released.table.toArrow()
    assert min(plain_sizes([released[each].combine_chunks() for each in ("c", "age", "pay")])) >= K
