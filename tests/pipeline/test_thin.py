"""With missing = "group", no value is published where fewer than k records of a group have one."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive import without_thin

cells = st.one_of(st.none(), st.integers(0, 20).map(float))


@given(st.lists(st.tuples(cells, cells), min_size=6, max_size=30), st.sampled_from([2, 3]))
def test_a_number_is_published_only_where_k_records_of_the_group_have_one(rows, k):
    x, y = (np.array([np.nan if v is None else v for v in column]) for column in zip(*rows, strict=True))
    table = pa.table({name: pa.array(v, from_pandas=True, type=pa.float64()) for name, v in (("x", x), ("y", y))})
    if np.isnan(x).all() or np.isnan(y).all():
        return
    release = shoal.protect(table, k=k, quasi=["x", "y"], missing="group")
    for name, original in (("x", x), ("y", y)):
        published = np.array(release.table[name].to_pylist(), dtype=float)
        for group in np.unique(release.groups):
            members = release.groups == group
            if (~np.isnan(original[members])).sum() < k:
                assert np.isnan(published[members]).all()


@pytest.mark.parametrize("aggregate", ["mean", "median", "medoid"])
def test_nobody_publishes_their_own_number_because_the_other_misses_it(aggregate):
    table = pa.table({"age": [20.0, 20.0, 60.0, 60.0], "income": [1111.0, None, 3000.0, 3000.0]})
    release = shoal.protect(
        table, k=2, quasi=["age", "income"], missing="group", method="mdav", aggregate=aggregate, blocks=None
    )
    assert release.table["income"].to_pylist() == [None, None, 3000.0, 3000.0]


@given(
    st.lists(st.tuples(*[st.sampled_from([None, None, 0, 1, 2])] * 3), min_size=8, max_size=30),
    st.sampled_from([2, 3, 5]),
    st.sampled_from(["mode", "medoid", None]),
)
def test_a_category_a_level_or_a_flag_is_published_only_where_k_records_of_the_group_have_one(rows, k, aggregate):
    job, grade, flag = zip(*rows, strict=True)
    table = pa.table(
        {
            "age": np.arange(len(rows)) * 1.0,
            "job": pa.array([None if v is None else "abc"[v] for v in job], pa.string()),
            "grade": pa.array([None if v is None else "abc"[v] for v in grade], pa.string()),
            "flag": pa.array([None if v is None else v > 0 for v in flag], pa.bool_()),
        }
    )
    names = [name for name in table.column_names if table[name].null_count < len(table)]
    how = {name: aggregate for name in names if aggregate is not None and name in ("job", "flag")}
    levels = {name: list("abc") for name in names if name == "grade"}
    types = {name: "nominal" for name in names if name == "job"}
    given = {"levels": levels, "types": types, "aggregate": how or None}
    release = shoal.protect(table.select(names), k=k, quasi=names, missing="group", **given)
    for name in names:
        published = release.table[name].to_pylist()
        assert published == without_thin(table[name].to_pylist(), published, release.groups.tolist(), k)


@pytest.mark.parametrize("values", [["judge", None, "smith", "smith"], [True, None, False, False]])
def test_nobody_publishes_their_own_category_because_the_other_misses_it(values):
    table = pa.table({"age": [20.0, 20.0, 60.0, 60.0], "is": values})
    release = shoal.protect(table, k=2, quasi=["age", "is"], missing="group")
    assert release.table["is"].to_pylist() == [None, None, *values[2:]]
