"""Codes that a plan declares to be missing values: missing on every engine, in every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import refused, reports

import shoal
from shoal import Plan, PlanError
from shoal.plan.commands import protect_command
from shoal.tables import open_table
from shoal.tables.declared_codes import table_without_codes

CODES = {"income": [999999, -9], "salary": [-9.5], "group": [99], "born": ["9999-12-31"]}


def people(codes: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    income, salary = rng.integers(1000, 5000, 60), rng.normal(50, 3, 60).round(2)
    born = np.datetime64("1960-01-01") + rng.integers(0, 9000, 60)
    group = rng.choice(["a", "b"], 60).astype("U2")
    if codes:
        income[:7], income[7:9], salary[:3], group[:5], born[:4] = 999999, -9, -9.5, "99", np.datetime64("9999-12-31")
    return pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(18, 90, 60),
            "salary": salary,
            "group": pd.Categorical(group),
            "born": pa.array(born).to_pandas(date_as_object=True),
        }
    )


PLAN = {"k": 3, "quasi": ["income", "age"], "confidential": ["salary", "group", "born"], "missing": "group"}


def gaps(table: pa.Table) -> dict[str, int]:
    return {name: table.column(name).null_count for name in ("salary", "group", "born", "age")}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_codes_of_masked_and_sensitive_columns_are_published_as_missing(kind):
    release = shoal.protect(kind(people()), **PLAN, missing_codes=CODES)
    found = open_table(release.table).to_arrow()
    assert gaps(found) == {"salary": 3, "group": 5, "born": 4, "age": 0}
    assert found.column("income").null_count >= 9
    assert max(filter(None, found.column("income").to_pylist())) < 5000
    assert reports(release.notes, "missing-codes-read", columns=[*CODES])


def test_a_categorical_column_forgets_its_code():
    release = shoal.protect(people(), **PLAN, missing_codes=CODES)
    assert list(release.table["group"].cat.categories) == ["a", "b"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_files_larger_than_memory_publish_the_same(tmp_path, ending):
    table = pa.Table.from_pandas(people(), preserve_index=False)
    path = tmp_path / f"in.{ending}"
    shoal.tables.write_table(open_table(table), path, ending)
    one = shoal.protect(path, **PLAN, missing_codes=CODES)
    two = shoal.protect(path, **PLAN, missing_codes=CODES, engine="file", output=tmp_path / f"out.{ending}")
    one.save(tmp_path / f"memory.{ending}")
    two.save()
    first, second = (open_table(tmp_path / f"{name}.{ending}").to_arrow() for name in ("memory", "out"))
    assert gaps(first) == {"salary": 3, "group": 5, "born": 4, "age": 0}
    assert first.to_pydict() == second.to_pydict()


def test_a_code_is_refused_where_values_stay_as_they_are():
    with refused(PlanError, "neither-masked-nor-sensitive", "missing_codes", column="salary"):
        Plan(k=3, quasi=["income"], publish=["salary"], missing_codes={"salary": [-9]})
    with refused(PlanError, "neither-masked-nor-sensitive", "missing_codes", column="group"):
        shoal.protect(people(), k=3, publish="rest", missing_codes={"group": [99]})


def test_a_code_of_a_column_that_is_not_there_is_refused():
    with refused(PlanError, "unknown-column", "missing_codes", column="incomes", near="income"):
        shoal.protect(people(), k=3, publish="rest", missing_codes={"incomes": [9]})


def test_a_code_that_is_no_number_is_refused_in_a_column_of_numbers():
    with refused(PlanError, "values-of-other-type", "missing_codes", column="income", type="number"):
        shoal.protect(people(), **PLAN, missing_codes={"income": ["none"]})


def test_a_code_that_no_record_has_is_named():
    release = shoal.protect(people(codes=False), **PLAN, missing_codes={"income": [999999]})
    assert reports(release.notes, "codes-unused", columns=["income"])


def test_codes_that_are_not_declared_are_named_with_the_option():
    release = shoal.protect(people(), k=3, quasi=["income", "age"], publish="rest")
    codes = ["-9", "999999"]
    data = {"column": "income", "records": 9, "codes": codes, "values": "-9,999999"}
    assert reports(release.notes, "probable-missing-codes", **data)
    declared = shoal.protect(people(), **PLAN, missing_codes=CODES)
    assert not reports(declared.notes, "probable-missing-codes")


def test_numbers_that_look_like_categories_are_named_with_the_option():
    rng = np.random.default_rng(1)
    table = pa.table({"occupation": rng.integers(1, 8, 90), "age": rng.integers(18, 90, 90)})
    release = shoal.protect(table, k=3, quasi=["occupation", "age"])
    assert reports(release.notes, "number-like-other-role", column="occupation", option="--type={column}=nominal")
    assert not reports(release.notes, "number-like-other-role", column="age")
    given_type = shoal.protect(table, k=3, quasi=["occupation", "age"], types={"occupation": "continuous"})
    assert not reports(given_type.notes, "number-like-other-role")


def test_a_command_holds_the_codes():
    plan = Plan(k=3, quasi=["income"], missing_codes={"income": [999999, -9, 0.5, "x"]}, input="a.csv")
    assert "--missing-code income=999999,-9,0.5,x" in str(protect_command(plan))


def test_proposed_codes_are_in_the_plan():
    found = shoal.roles(people()).plan(k=3)
    assert found.missing_codes["income"] == [-9, 999999]
    assert found.missing == "group"


CELLS = st.one_of(st.none(), st.sampled_from([-9, 9, 99, 5, 0]))


@given(cells=st.lists(CELLS, min_size=1), codes=st.lists(st.sampled_from([-9, 9, 99]), min_size=1))
@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.decimal128(5, 1)])
def test_exactly_the_codes_become_missing(kind, cells, codes):
    if kind == pa.uint64():
        cells = [cell if cell is None else abs(cell) for cell in cells]
    if kind == pa.string():
        spelled = [None if cell is None else str(cell) for cell in cells]
    table = open_table(pa.table({"x": pa.array(spelled if kind == pa.string() else cells, kind)}))
    expected = [cell if cell not in codes else None for cell in cells]
    found = table_without_codes(table, {"x": codes}).column("x")
    assert found.type == kind
    assert [None if cell is None else float(cell) for cell in found.to_pylist()] == expected
