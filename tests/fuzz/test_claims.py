"""Checks of the deep fuzzer can fail: each finds an error that is planted into a release that is right."""

import datetime as dt

import pyarrow as pa
import pytest
from fuzz.amounts import check_rules
from fuzz.as_read import as_read
from fuzz.cases import as_json, from_json
from fuzz.claims import _check_constraints, check_claims
from fuzz.deep import _check_same
from fuzz.draws import Draws
from fuzz.oracle import Finding
from fuzz.sources import expected_cell
from fuzz.valid import Case, case_of

import shoal

N = 12
TABLE = pa.table(
    {
        "row": [*range(N)],
        "x": [float(i) for i in range(N)],
        "y": [2.0] * N,
        "s": [i + 2.0 for i in range(N)],
        "n": [i // 2 for i in range(N)],
        "town": [*"aabbaabbccdd"],
        "day": [dt.date(2020, 1, 1 + i) for i in range(N)],
        "ill": ["flu", "none"] * 6,
        "w": [1.0, 2.0, 3.0] * 4,
        "region": ["N"] * 6 + ["S"] * 6,
        "firm": [f"u{i // 2}" for i in range(N)],
    }
)


def released(**plan):
    plan = {"k": 2, "quasi": ["x"], "method": "mdav", "publish": "rest", **plan}
    return plan, shoal.protect(TABLE, **plan)


def check(plan, release, table):
    check_claims(TABLE, plan, release, table, order=True)


def with_cells(table, name, cells):
    """Return the table with other values in some records of a column."""
    values = table[name].to_pylist()
    for at, value in cells.items():
        values[at] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))


def with_values(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))


# A plan, an error in its release, and what the fuzzer says of it.
PLANTED = {
    "a small group": ({}, lambda table: with_cells(table, "x", {0: 0.1}), "a group of 1"),
    "a small group of units": (
        {"unit": "firm"},
        lambda table: with_values(table, "x", [i // 2 * 2 + 0.5 for i in range(N)]),
        "a group of 1",
    ),
    "another order": ({}, lambda table: table.take([1, 0, *range(2, N)]), "another order"),
    "a lost record": ({}, lambda table: table.slice(1), "missing or too many"),
    "a record twice": ({}, lambda table: table.take([0, 0, *range(2, N)]), "published twice"),
    "another type": ({}, lambda table: table.set_column(0, "row", table["row"].cast(pa.int32())), "of type int32"),
    "another family": ({}, lambda table: table.set_column(3, "s", table["s"].cast(pa.string())), "of type string"),
    "a lost column": ({}, lambda table: table.drop_columns(["town"]), "not those of the original"),
    "a touched column": ({}, lambda table: with_cells(table, "town", {3: "c"}), "town was to stay"),
    "l": (
        {"confidential": ["ill"], "l": 2},
        lambda table: with_values(table, "x", [1.0 if i % 2 else 2.0 for i in range(N)]),
        "l below 2",
    ),
    "t": (
        {"confidential": ["ill"], "t": 0.3},
        lambda table: with_values(table, "x", [1.0 if i % 2 else 2.0 for i in range(N)]),
        "t above",
    ),
    "p percent": (
        {"p_percent": 20},
        lambda table: with_values(table, "x", [i // 2 + 0.5 for i in range(N)]),
        "dominates x",
    ),
    "weighted dominance": (
        {"dominance": [1, 45], "weights": "w"},
        lambda table: with_values(table, "x", [i // 2 + 0.5 for i in range(N)]),
        "dominates x",
    ),
    "a mean": (
        {},
        lambda table: with_values(table, "x", [v + 1 for v in table["x"].to_pylist()]),
        "does not keep its mean",
    ),
    "a range": (
        {"aggregate": "median"},
        lambda table: with_values(table, "x", [v + 9 for v in table["x"].to_pylist()]),
        "outside of the range",
    ),
    "a variance": (
        {"restore_variance": True},
        lambda table: with_values(table, "x", [(v - 5.5) * 0.9 + 5.5 for v in table["x"].to_pylist()]),
        "does not keep its variance",
    ),
    "a weighted total": (
        {"weights": "w", "preserve": "weighted_mean"},
        lambda table: with_values(table, "x", [v + 0.01 for v in table["x"].to_pylist()]),
        "weighted total",
    ),
    "a total of a domain": (
        {"keep_totals": ["region"], "k": 3},
        lambda table: with_values(
            table, "x", [v + (0.01 if i < 6 else -0.01) for i, v in enumerate(table["x"].to_pylist())]
        ),
        "total of x",
    ),
    "a rule": (
        {"quasi": ["x", "s"], "edits": ["x <= s"]},
        lambda table: with_values(table, "x", [v + 4 for v in table["x"].to_pylist()]),
        "is broken",
    ),
    "a rule of a sum": (
        {"quasi": ["x", "y", "s"], "edits": ["x + y == s"], "edits_original": "keep"},
        lambda table: with_values(table, "s", [v + 1 for v in table["s"].to_pylist()]),
        "is broken",
    ),
    "whole numbers": (
        {"quasi": ["n"], "round": True, "k": 4},
        lambda table: table.set_column(4, "n", pa.array([v + 0.5 for v in table["n"].to_pylist()], pa.float64())),
        "has decimals",
    ),
    "a record that is not at risk": (
        {"quasi": ["town"], "only": "at_risk", "k": 4},
        lambda table: with_values(table, "town", [*"bbaabbaa", *table["town"].to_pylist()[8:]]),
        "not at risk",
    ),
    "pseudonyms": (
        {"unit": "firm", "unit_as": "pseudonym"},
        lambda table: with_cells(table, "firm", {0: table["firm"][4].as_py()}),
        "not one for each",
    ),
    "recoding": (
        {"quasi": ["n"], "recode": {"n": [2], "region": {"all": ["N", "S"]}}},
        lambda table: with_values(table, "region", ["N"] * N),
        "region was to stay",
    ),
    "a gap that is not filled": (
        {"quasi": ["x", "y"], "missing_codes": {"x": [0]}, "missing": "impute"},
        lambda table: with_cells(table, "x", dict.fromkeys(range(N))),
        "missing values with --missing impute",
    ),
    "a code": (
        {"quasi": ["x"], "missing_codes": {"x": [0]}, "missing": "suppress"},
        lambda table: table.slice(1),
        "missing or too many",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_is_found(name):
    plan, planted, said = PLANTED[name]
    plan, release = released(**plan)
    check(plan, release, release.table)
    with pytest.raises(Finding, match=said):
        check(plan, release, planted(release.table))


def test_members_of_a_household_that_differ_are_found():
    plan, release = released(quasi=["x", "n"], household="firm", household_attributes=["n"])
    check(plan, release, release.table)
    values = release.table["n"].to_pylist()
    swapped = with_cells(release.table, "n", {0: values[-1], len(values) - 1: values[0]})
    with pytest.raises(Finding, match="members of a household differ"):
        check(plan, release, swapped)


def test_a_record_that_is_not_excluded_is_found():
    asked = {"edits": ["x <= s"], "edits_original": "exclude"}
    right, wrong = ({"row": [0], "x": [x], "s": [1.0]} for x in (1.0, 3.0))
    check_rules(asked, None, right, right)
    with pytest.raises(Finding, match="is not excluded"):
        check_rules(asked, None, wrong, right)


@pytest.mark.parametrize(("value", "said"), [(-1.0, "negative"), (0.5, "not whole")])
def test_values_against_their_constraints_are_found(value, said):
    asked = {"constraints": {"wage": ["non-negative", "integer"]}}
    _check_constraints(asked, {"wage": [0.0, 3.0]})
    with pytest.raises(Finding, match=said):
        _check_constraints(asked, {"wage": [0.0, value]})


def test_bounds_that_are_left_are_found():
    plan = {"k": 3, "method": "insensitive", "epsilon": 1.0, "bounds": {"x": [0, 12]}, "types": {"x": "continuous"}}
    plan |= {"quasi": ["x"], "identifiers": [name for name in TABLE.column_names if name != "x"]}
    release = shoal.protect(TABLE, **plan)
    check(plan, release, release.table)
    with pytest.raises(Finding, match="leaves its bounds"):
        check(plan, release, with_cells(release.table, "x", {0: 13.0}))


def test_another_value_of_another_engine_is_found():
    _check_same(TABLE, TABLE, {})
    with pytest.raises(Finding, match="another x"):
        _check_same(TABLE, with_cells(TABLE, "x", {0: 0.5}), {})
    with pytest.raises(Finding, match="in another order"):
        _check_same(TABLE, TABLE.take([1, 0, *range(2, N)]), {})
    with pytest.raises(Finding, match="other records"):
        _check_same(TABLE, TABLE.slice(1), {}, order=False)
    with pytest.raises(Finding, match="other columns"):
        _check_same(TABLE, TABLE.drop_columns(["x"]), {})


def test_formulas_are_expected_with_an_apostrophe():
    assert expected_cell("=1+1", {"quote_formulas": True}) == "'=1+1"
    assert expected_cell("=1+1", {}) == "=1+1"
    assert expected_cell(-1.0, {"quote_formulas": True}) == -1.0


def test_a_table_is_read_with_its_classes_and_codes():
    plan = {"recode": {"x": [3, 6], "day": ["2020-01-03"], "town": {"z": ["a", "b"]}}, "missing_codes": {"n": [0]}}
    read = as_read(TABLE, plan)
    assert [read["x"][at].as_py() for at in (2, 3, 6)] == ["under 3", "3 to under 6", "6 and over"]
    assert [read["day"][at].as_py() for at in (1, 2)] == ["before 2020-01-03", "2020-01-03 and later"]
    assert read["town"].to_pylist() == [*"zzzzzzzzccdd"]
    assert read["n"].to_pylist()[:3] == [None, None, 1]


def test_a_case_is_the_same_after_it_was_written():
    for number in range(20):
        case = case_of(Draws(bytes((number * i * i + 7 * i) % 251 for i in range(3000))))
        again = from_json(as_json(case))
        assert again.table.equals(case.table)
        assert again == Case(again.table, *case[1:])
