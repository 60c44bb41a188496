"""The SQL that verifies rules says of every record what a slow evaluator says that looks at one cell at a time."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_rules import Naive, records_of
from tests.expect import refused
from tree_samples import NUMBERS, SIGNS, TEXTS, TYPES, cells, columns, conditions, leaves

import shoal
from shoal.edits import passes
from shoal.edits.columns import Records
from shoal.edits.expressions import (
    Arithmetic,
    Comparison,
    Function,
    InOriginal,
    Integral,
    Member,
    Number,
    Rule,
    Variable,
)
from shoal.edits.verification_sql import broken_in_sql


def assert_sql_agrees(some, lists, original=None):
    records = Records(columns(lists), None if original is None else columns(original))
    rules = [Rule(str(number), condition, "") for number, condition in enumerate(some)]
    for rule, broken in broken_in_sql(rules, records):
        held = [Naive(record, original).holds(rule.condition) for record in records_of(lists)]
        assert (~broken).tolist() == held, rule.condition


@settings(max_examples=25)
@given(leaves, leaves, cells())
def test_values_of_all_types_are_compared_as_they_are(left, right, lists):
    some = [Comparison(sign, left, right, exact) for sign in SIGNS for exact in (True, False)]
    assert_sql_agrees(some, lists)


@settings(max_examples=25)
@given(leaves, st.lists(st.sampled_from(NUMBERS + TEXTS), max_size=20).map(tuple), cells(), cells(8))
def test_membership_is_that_of_each_record(of, among, lists, original):
    assert_sql_agrees([Member(of, among), Integral(of), *(InOriginal(of, name) for name in TYPES)], lists, original)


@settings(max_examples=50)
@given(conditions, cells(), cells(8))
def test_conditions_hold_where_they_hold_record_by_record(condition, lists, original):
    assert_sql_agrees([condition], lists, original)


def test_rounded_values_within_one_another_do_not_double_the_query():
    value = Variable("x")
    for _ in range(90):
        value = Function("round", value)
    [(_, broken)] = broken_in_sql([Rule("", Comparison("==", value, Variable("y")), "")], halves())
    assert broken.tolist() == [False, False, True]


def halves():
    return Records({"x": pa.array([0.5, -2.5, 1.4]), "y": pa.array([1.0, -2.0, 2.0])})


def test_more_rules_than_a_query_takes_are_all_verified():
    rules = [Rule(str(limit), Comparison("<", Variable("x"), Variable("y")), "") for limit in range(120)]
    assert [broken.tolist() for _, broken in broken_in_sql(rules, halves())] == [[False, False, False]] * 120


def test_what_repairs_groups_does_not_verify_them(monkeypatch):
    """An evaluator that calls every rule obeyed lets nothing pass that SQL finds broken."""
    table = pa.table({"a": [1, 2, 3, 90, 91, 92], "b": [2, 3, 4, 80, 81, 82]})
    monkeypatch.setattr(passes, "each_broken", lambda rules, records: ((rule, records.missing("a")) for rule in rules))
    with refused(shoal.CheckFailed, "release-breaks-rule", rule="rule 1", records=3):
        shoal.protect(table, k=3, edits=["a <= b"])


def test_many_rules_with_many_rounded_values_are_all_verified():
    """Each rounded value is a query within another, and DuckDB limits how many may be so."""
    rules = []
    for number in range(60):
        value = Variable("x")
        for _ in range(40):
            value = Function("round", Arithmetic("+", value, Number(float(number))))
        rules.append(Rule(str(number), Comparison(">=", value, Variable("y")), ""))
    found = [broken.tolist() for _, broken in broken_in_sql(rules, halves())]
    assert found == [[False, False, True], *[[False, False, False]] * 59]
