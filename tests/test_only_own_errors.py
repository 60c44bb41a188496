"""Values that no option takes end in Shoal's own errors, not in those of libraries: what fuzzing found."""

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import refused

import shoal

TABLE = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": [1, 1, 2, 2]})


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("fraction", "half", "fraction-out-of-range"),
        ("fraction", np.array([0.1, 0.2]), "fraction-out-of-range"),
        ("household", 3, "household-not-a-name"),
        ("household", {"a": 1}, "household-not-a-name"),
    ],
)
def test_options_of_risk(option, value, code):
    with refused(shoal.PlanError, code, option):
        shoal.risk(TABLE, keys=["a"], **{option: value})


def test_a_household_without_a_name():
    with refused(shoal.PlanError, "unknown-column", "household", column=""):
        shoal.risk(TABLE, keys=["a"], household="")


@pytest.mark.parametrize("value", [np.array([2, 3]), 3j, [2]])
def test_no_k(value):
    with refused(shoal.PlanError, "not-whole", "k"):
        shoal.protect(TABLE, k=value, publish="rest")


def test_levels_that_are_no_table():
    with pytest.raises(shoal.PlanError, match="levels"):
        shoal.check(TABLE, k=2, quasi=["b"], levels=np.array([1, 2]))


def test_records_that_a_rule_leaves_none_of():
    with pytest.raises(shoal.DataError, match="record"):
        shoal.protect(TABLE, k=2, quasi=["a"], publish="rest", edits=["a > 9"], edits_original="exclude")


def test_days_in_milliseconds_with_a_rule():
    days = pa.array([0, 86_400_000, 0, 86_400_000], pa.date64())
    table = TABLE.append_column("day", days)
    release = shoal.protect(table, k=2, quasi=["a", "day"], publish="rest", edits=["day >= '1970-01-01'"])
    assert release.table["day"].to_pylist() == table["day"].to_pylist()
