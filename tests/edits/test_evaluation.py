"""Rules on columns say of every record what a slow evaluator says that looks at one record, one cell at a time."""

import datetime as dt
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree
from naive_rules import Naive, cell_number, records_of
from tests.expect import refused
from tree_samples import (
    DOMAIN,
    FIGURES,
    LINEAR,
    NUMBERS,
    PRODUCT,
    SIGNS,
    TEXTS,
    TYPES,
    cells,
    columns,
    conditions,
    leaves,
    number,
    plus,
    rule,
    times,
    values,
)

from shoal.edits.evaluate import Records, each_broken, holds, near, value
from shoal.edits.expressions import (
    And,
    Arithmetic,
    Comparison,
    Function,
    InOriginal,
    Integral,
    Member,
    Missing,
    Not,
    Number,
    Text,
    Truth,
    Variable,
)
from shoal.edits.messages import Location
from shoal.edits.xpath import RECORD, condition_of, parse
from shoal.errors import DataError, PlanError
from shoal.tables import open_table, write_table


def parse_test(test, where, variables):
    return condition_of(parse(test, where), RECORD, variables)


def expected(condition, lists, original):
    return [Naive(record, original).holds(condition) for record in records_of(lists)]


@settings(max_examples=200)
@given(leaves, leaves, cells())
def test_values_of_all_types_are_compared_as_they_are_record_by_record(left, right, lists):
    records = Records(columns(lists))
    for sign, exact in product(SIGNS, [True, False]):
        condition = Comparison(sign, left, right, exact)
        assert holds(condition, records).tolist() == expected(condition, lists, None)


@given(leaves, st.lists(st.sampled_from(NUMBERS + TEXTS), max_size=20).map(tuple), cells(), cells(8))
def test_membership_is_that_of_each_record(of, among, lists, original):
    records = Records(columns(lists), columns(original))
    for condition in (Member(of, among), Integral(of), *(InOriginal(of, name) for name in TYPES)):
        assert holds(condition, records).tolist() == expected(condition, lists, original)


@given(conditions, cells(), cells(8))
def test_conditions_hold_where_they_hold_record_by_record(condition, lists, original):
    found = holds(condition, Records(columns(lists), columns(original)))
    assert found.tolist() == expected(condition, lists, original)


@given(values, leaves, cells())
def test_values_are_those_of_each_record(one, two, lists):
    sums = [Arithmetic(sign, one, two) for sign in "+-*/%"]
    for of in sums + [Function(name, one) for name in ("abs", "round", "floor", "ceiling")]:
        numbers = [Naive(record, None).number(of) for record in records_of(lists)]
        np.testing.assert_array_equal(value(of, Records(columns(lists))), numbers)


@given(st.floats())
@example(0.49999999999999994)
@example(-0.5)
@example(4503599627370497.0)
@example(-2.5)
def test_round_takes_halves_upwards(x):
    expected = x if not math.isfinite(x) else float(math.floor(Fraction(x) + Fraction(1, 2)))
    found = value(Function("round", Variable("x")), Records({"x": pa.array([x])}))
    np.testing.assert_array_equal(found, [expected])


@given(st.text(alphabet="0123456789+-.eE \n\u00a0x,", max_size=8))
def test_text_is_a_number_where_xpath_says_so(text):
    np.testing.assert_array_equal(Records({"t": pa.array([text])}).number("t"), [cell_number(text)])


def test_numbers_of_every_type():
    noon = dt.datetime(1970, 1, 2, 12)
    arrays = {
        "small": pa.array([1, None], pa.uint8()),
        "large": pa.array([2**62, None]),
        "half": pa.array([np.float16(0.5), None], pa.float16()),
        "decimal": pa.array(["1.25", None]).cast(pa.decimal128(5, 2)),
        "truth": pa.array([True, None]),
        "date": pa.array([dt.date(1970, 1, 3), None]),
        "old": pa.array([dt.date(1970, 1, 3), None], pa.date64()),
        "second": pa.array([noon, None], pa.timestamp("s")),
        "nano": pa.array([noon, None], pa.timestamp("ns", "UTC")),
        "clock": pa.array([dt.time(0, 1), None], pa.time32("ms")),
        "stopwatch": pa.array([dt.time(0, 1), None], pa.time64("us")),
        "wide": pa.array([" 7 ", None], pa.large_string()),
        "view": pa.array(["7", None], pa.string_view()),
        "coded": pa.array(["7", None]).dictionary_encode(),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array([7.0, None])),
        "nothing": pa.nulls(2),
    }
    expected = [1, 2.0**62, 0.5, 1.25, 1, 2, 2, 129_600, 129_600, 60, 60, 7, 7, 7, 7, math.nan]
    records = Records(arrays)
    np.testing.assert_array_equal([records.number(name)[0] for name in arrays], expected)
    assert all(math.isnan(records.number(name)[1]) for name in arrays)
    assert [records.missing(name).tolist() for name in arrays] == [[False, True]] * 15 + [[True, True]]
    assert records.text("decimal").to_pylist() == ["1.25", None]


def test_what_is_kept_cannot_be_written_to():
    records = Records({"t": pa.array(["1", "2"])})
    with pytest.raises(ValueError, match="read-only"):
        value(Variable("t"), records)[0] = 5


def test_a_date_and_a_time_are_compared_as_moments():
    records = Records({"day": pa.array([dt.date(2020, 1, 1)]), "at": pa.array([dt.datetime(2020, 1, 1, 8)])})
    assert holds(Comparison("<", Variable("day"), Variable("at"), exact=False), records).all()
    assert holds(Comparison("<", Variable("at"), Text("2020-01-02"), exact=False), records).all()
    assert holds(Comparison(">", Variable("at"), Text("2020-01-01T07:59:59Z"), exact=False), records).all()
    assert not holds(Comparison("==", Variable("day"), Text("1 January 2020"), exact=False), records).any()
    assert holds(Member(Variable("at"), ("2020-01-01", "2020-01-01T08:00", "8")), records).all()
    assert not holds(Member(Variable("at"), ("2020-01-01", "8")), records).any()


def test_a_second_is_a_difference_though_less_than_a_billionth_of_the_time_since_1970():
    moments = [pa.array([dt.datetime(2020, 1, 1, 8, 0, second)]) for second in (0, 1)]
    records = Records({"at": moments[0], "later": moments[1]})
    assert not holds(Comparison("==", Variable("at"), Variable("later"), exact=False), records).any()


def test_the_size_of_a_sum_is_seen_through_abs():
    records = Records({"x": pa.array([3e9]), "y": pa.array([3e9 + 1])})
    gap = Function("abs", Arithmetic("-", Variable("x"), Variable("y")))
    assert holds(Comparison("==", gap, Number(0.0), exact=False), records).all()
    rounded = Function("round", Arithmetic("-", Variable("x"), Variable("y")))
    assert not holds(Comparison("==", rounded, Number(0.0), exact=False), records).any()


def test_two_constant_texts_are_compared_as_texts():
    records = Records({"x": pa.array([1.0])})
    assert not holds(Comparison("==", Text("2020-01-01"), Text("2020-01-01 00:00")), records).any()


def test_a_missing_value_equals_nothing_and_differs_from_everything():
    records = Records({"x": pa.array([None, math.nan], pa.float64()), "t": pa.array([None, None], pa.string())})
    for of in (Variable("x"), Variable("t")):
        for other in (Number(0.0), Text(""), Variable("x"), Variable("t")):
            for sign in ("==", "<", "<=", ">", ">="):
                assert not holds(Comparison(sign, of, other, exact=False), records).any()
            assert holds(Comparison("!=", of, other, exact=False), records).all()
        assert not holds(
            InOriginal(of, "x"), Records({"x": pa.array([1.0]), "t": pa.array(["1"])}, {"x": pa.array([None])})
        ).any()
    assert holds(Missing("x"), records).all()


def test_sums_are_equal_that_differ_by_rounding_of_their_largest_term():
    records = Records({"a": pa.array([1e9, 1e9]), "b": pa.array([-1e9, -1e9]), "c": pa.array([0.5, 1.5])})
    total = plus(number("a"), number("b"))
    assert holds(Comparison("==", total, number("c"), exact=False), records).tolist() == [True, False]
    assert holds(Comparison("!=", total, number("c"), exact=False), records).tolist() == [False, True]
    assert holds(Comparison(">=", total, number("c"), exact=False), records).tolist() == [True, False]
    assert holds(Comparison("<", total, number("c"), exact=False), records).all()
    assert not holds(Comparison("==", total, number("c")), records).any()


def test_nothing_is_close_to_infinity():
    records = Records({"x": pa.array([math.inf, 5.0])})
    assert holds(Comparison("==", Variable("x"), Number(math.inf), exact=False), records).tolist() == [True, False]


def test_expressions_may_be_a_hundred_deep():
    of, condition = Variable("x"), Comparison("==", Variable("x"), Number(1.0))
    for _ in range(100):
        of, condition = plus(of, Number(1.0)), Not(And((condition,)))
    records = Records({"x": pa.array([1.0, 2.0])})
    assert value(of, records).tolist() == [101.0, 102.0]
    assert holds(Comparison("<", of, Number(102.0), exact=False), records).tolist() == [True, False]
    assert holds(condition, records).tolist() == [True, False]
    assert near(rule(condition), records).tolist() == [False, False]


def census_columns(reference):
    """The Census data with the paper's three more attributes."""
    table = {f"V{j}": column for j, column in enumerate(reference("census").T, start=1)}
    table["V14"] = table["V9"] + table["V10"]
    table["V15"] = 1 / table["V11"]
    table["V16"] = table["V5"] * table["V15"]
    return table


def arrow(table):
    return {name: pa.array(column) for name, column in table.items()}


def test_the_census_data_obeys_the_rules_of_the_paper(reference):
    table = arrow(census_columns(reference))
    records = Records(table, table)
    assert [rule for rule, broken in each_broken(FIGURES, records) if broken.any()] == []
    assert holds(Comparison("<", Variable("V8"), Number(1115.0)), records).sum() == 453


def test_means_break_a_sum_by_rounding_only(reference):
    table = census_columns(reference)
    means = {name: np.repeat(column.reshape(-1, 9).mean(axis=1), 9) for name, column in table.items()}
    records = Records(arrow(means), arrow(table))
    broken = {rule.name: broken for rule, broken in each_broken(FIGURES, records)}
    assert broken[LINEAR.name].any()
    np.testing.assert_array_equal(near(LINEAR, records), broken[LINEAR.name])
    assert broken[PRODUCT.name].any()
    assert not near(PRODUCT, records).any()
    assert broken[DOMAIN.name].any()


def test_rules_of_one_name_are_told_apart_by_their_order():
    records = Records({"x": pa.array([1.0, 2.0, 3.0])})
    rules = [rule(Comparison("!=", Variable("x"), Number(each)), "x") for each in (1.0, 2.0)]
    assert [broken.tolist() for _, broken in each_broken(rules, records)] == [
        [True, False, False],
        [False, True, False],
    ]


def test_what_is_not_there_is_said():
    records = Records({"x": pa.array([1.0]), "list": pa.array([[1]])})
    with refused(PlanError, "rule-needs-original", "edits"):
        holds(InOriginal(Variable("x"), "x"), records)
    with refused(PlanError, "rule-on-unknown-column", "edits", column="y", original=False):
        value(times(Variable("x"), Variable("y")), records)
    with refused(PlanError, "rule-on-unknown-column", "edits", column="y", original=True):
        holds(InOriginal(Variable("x"), "y"), Records({"x": pa.array([1.0])}, {}))
    with refused(DataError, "column-not-for-rules", column="list"):
        value(Variable("list"), records)
    with refused(DataError, "column-not-for-rules", column="list"):
        holds(Comparison("==", Variable("list"), Text("1")), records)


def test_rules_on_no_records_hold_nowhere():
    assert holds(Truth(True), Records({name: pa.array([], kind) for name, kind in TYPES.items()})).shape == (0,)


@pytest.mark.parametrize(
    "test",
    [
        *("f = 1", "f != 1", "f = 'true'", "number(f) >= 0", "d < '1971-01-01'", "d = '1970-05-01'", "d != e", "d = e"),
        *("number(d) + 1 > 0", "t = a", "t != a", "a = i", "a = b", "not(a = i)", "f = t", "a = '3'", "b = '0.5'"),
        *("floor(d) = 1", "-f < 0", "a < t", "t = i"),
    ],
)
def test_exact_comparisons_are_those_that_lxml_makes_on_what_is_written(test, tmp_path):
    rng = np.random.default_rng(3)

    def gaps(values):
        return [None if rng.random() < 0.3 else each for each in values]

    days = pa.array(gaps([121, 120, 500] * 20), pa.int32()).cast(pa.date32())
    table = pa.table(
        {
            "a": gaps(rng.integers(0, 5, 60).tolist()),
            "b": gaps((rng.integers(0, 4, 60) / 2).tolist()),
            "t": gaps(rng.choice(["x", "3", "03", "true"], 60).tolist()),
            "f": gaps((rng.random(60) < 0.5).tolist()),
            "d": days,
            "e": days.take(pa.array(rng.permutation(60))),
            "i": rng.integers(0, 5, 60),
        }
    )
    write_table(open_table(table), tmp_path / "table.xml", "xml")
    found = [etree.XPath(f"boolean({test})")(each) for each in etree.parse(tmp_path / "table.xml").getroot()]
    records = Records({name: table[name].combine_chunks() for name in table.column_names})
    assert holds(parse_test(test, Location(line=1), {}), records).tolist() == found


@pytest.mark.parametrize("test", ["flag = 1", "1 = number(flag)", "flag = '1.0'", "day <= '2024-02-29'"])
def test_what_is_no_number_as_written_is_none_by_rounding_either(test):
    records = Records({"flag": pa.array([True]), "day": pa.array([dt.date(2024, 2, 1)])})
    assert not near(rule(parse_test(test, Location(line=1), {})), records).any()


@pytest.mark.parametrize(("kind", "held"), [(pa.float32(), True), (pa.float64(), False)])
def test_sums_are_as_exact_as_the_type_of_a_column(kind, held):
    a, b = np.float32(0.1), np.float32(0.7)
    total = float(np.float64(a) + np.float64(b)) * (1 + 5e-8)
    records = Records({"a": pa.array([a], kind), "b": pa.array([b], kind), "s": pa.array([total], kind)})
    sums = Comparison("==", plus(Variable("a"), Variable("b")), Variable("s"), exact=False)
    assert holds(sums, records).tolist() == [held]
