"""Rules in plain text: what they mean, and the sentence for those that mean nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_rules import holds
from tests.expect import refused, reports

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
    Or,
    Text,
    Variable,
)
from shoal.edits.messages import Location
from shoal.edits.plain_text import parse_rule
from shoal.errors import PlanError

A, B, C = Variable("a"), Variable("b"), Variable("c")


def compare(sign, left, right):
    return Comparison(sign, left, right, exact=False)


def meaning(text):
    """What a rule says of records that miss nothing."""
    condition = parse_rule(text, Location(line=1)).condition
    if isinstance(condition, Or) and isinstance(condition.parts[0], Missing):
        return condition.parts[-1]
    return condition


def refusal(text):
    with pytest.raises(PlanError) as error:
        parse_rule(text, Location(line=3))
    (message,) = error.value.messages
    assert message.field == "edits"
    return message


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_two_values_are_compared_but_for_rounding(sign):
    assert meaning(f"a {sign} 2.5") == compare(sign, A, Number(2.5))


def test_one_equals_sign_is_as_good_as_two():
    assert meaning("a + b = c") == meaning("a+b==c") == compare("==", Arithmetic("+", A, B), C)


def test_chains_are_conditions_on_neighbours():
    assert meaning("0 <= a <= 7500") == And((compare("<=", Number(0), A), compare("<=", A, Number(7500))))
    assert meaning("a < b == c") == And((compare("<", A, B), compare("==", B, C)))


def test_what_governs_comes_first():
    first, then = compare("<", A, Number(1115)), compare("<=", B, C)
    otherwise = compare(">", B, Number(1))
    short, long = map(meaning, ("if a < 1115 then b <= c", "IF a < 1115 Then b <= c ELSE b > 1"))
    assert short == Or((Not(first), then))
    assert long == And((Or((Not(first), then)), Or((first, otherwise))))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a in original", InOriginal(A, "a")),
        ("a not in original", Not(InOriginal(A, "a"))),
        ("a is integer", Integral(A)),
        ("a * 2 is not integer", Not(Integral(Arithmetic("*", A, Number(2))))),
        ("a in {1, -2, 1e3}", Member(A, (1.0, -2.0, 1000.0))),
        ("""a in ('x', "y", 'it''s')""", Member(A, ("x", "y", "it's"))),
        ("a not in {1}", Not(Member(A, (1.0,)))),
        ("a is missing", Missing("a")),
        ("a Is Not Missing", Not(Missing("a"))),
        ("a == 'x # y'  # z", compare("==", A, Text("x # y"))),
        ("`a` == `family  income`", compare("==", A, Variable("family  income"))),
        ("`a``b` == 1", compare("==", Variable("a`b"), Number(1))),
        ("household.income == .5", compare("==", Variable("household.income"), Number(0.5))),
        ("größe == 5.", compare("==", Variable("größe"), Number(5))),
        ("original == integer", compare("==", Variable("original"), Variable("integer"))),
        ("abs(a - 1) == 2", compare("==", Function("abs", Arithmetic("-", A, Number(1))), Number(2))),
        ("round(a) == Floor(b)", compare("==", Function("round", A), Function("floor", B))),
        ("-a < -1", compare("<", Arithmetic("*", Number(-1), A), Number(-1))),
    ],
)
def test_what_is_written_and_what_it_means(text, condition):
    assert meaning(text) == condition


def test_signs_bind_as_in_arithmetic():
    product = Arithmetic("*", B, C)
    assert meaning("a + b * c == 1") == compare("==", Arithmetic("+", A, product), Number(1))
    assert meaning("(a + b) * c == 1") == compare("==", Arithmetic("*", Arithmetic("+", A, B), C), Number(1))
    assert meaning("a - b - c == 1") == compare("==", Arithmetic("-", Arithmetic("-", A, B), C), Number(1))
    assert meaning("a / b % c == 1") == compare("==", Arithmetic("%", Arithmetic("/", A, B), C), Number(1))


def test_and_binds_more_than_or_and_not_more_than_both():
    a, b, c = (compare("<", each, Number(1)) for each in (A, B, C))
    rules = ("not a < 1 and b < 1 or c < 1", "not (a < 1 and (b < 1 or c < 1))", "a < 1 and b < 1 and c < 1")
    assert [*map(meaning, rules)] == [Or((And((Not(a), b)), c)), Not(And((a, Or((b, c))))), And((a, b, c))]


def test_a_rule_that_needs_a_missing_value_is_not_broken():
    text = "if b < 1 then a <= c"
    rule = parse_rule(text, Location(line=1))
    assert rule.condition == Or((Missing("b"), Missing("a"), Missing("c"), meaning(text)))


def test_but_for_attributes_that_are_asked_to_be_missing():
    rule = parse_rule("if a is not missing then a + b > 0", Location(line=1))
    assert isinstance(rule.condition, Or)
    assert rule.condition.parts[:-1] == (Missing("b"),)


def test_names_comments_and_texts():
    rule = parse_rule("  the   total:  a + b  == c   # as in table 3: b ", Location(line=1))
    assert (rule.name, rule.text) == ("the total", "a + b  == c")
    assert parse_rule("a == 'x: y'", Location(line=1)).name == "line 1"
    assert parse_rule("`a:b` == 1", Location(line=1)).name == "line 1"
    assert parse_rule("EC-PV: a < 1", Location(line=1)).name == "EC-PV"


@pytest.mark.parametrize(
    ("text", "position", "code", "data"),
    [
        ("a +* b == c", 4, "value-expected", {"excerpt": "* b == c"}),
        ("a + b ==", 9, "value-expected", {"end": True}),
        ("", 1, "value-expected", {}),
        ("a: ", 4, "value-expected", {}),
        (": a == 1", 1, "name-before-colon", {}),
        ("a == 1 b", 8, "operator-expected", {}),
        ("a == 1_000", 6, "number-not-readable", {}),
        ("a == 1.2.3", 6, "number-not-readable", {}),
        ("2nd == 1", 1, "number-not-readable", {}),
        ("a == 1e999", 6, "constant-too-large", {}),
        ("a == 'x", 6, "quote-not-closed", {"backtick": False}),
        ('a == "x', 6, "quote-not-closed", {"backtick": False}),
        ("`a == 1", 1, "quote-not-closed", {"backtick": True}),
        ("a in [0, 1]", 6, "square-bracket", {"interval": "0 <= x <= 10"}),
        ("a in {}", 7, "only-constants-in-sets", {}),
        ("a in {b}", 7, "only-constants-in-sets", {}),
        ("a in {1", 8, "set-not-closed", {"bracket": "}"}),
        ("a in (1", 8, "set-not-closed", {"bracket": ")"}),
        ("a in 1", 6, "set-expected", {}),
        ("a + 1 in original", 1, "only-for-attributes", {"what": "'in original'"}),
        ("a + 1 is missing", 1, "only-for-attributes", {"what": "'is missing'"}),
        ("a is red", 6, "property-expected", {}),
        ("a not 1", 7, "in-missing", {}),
        ("a && b", 3, "other-spelling", {"instead": "and"}),
        ("a ≤ 1", 3, "other-spelling", {"instead": "<="}),
        ("a => 1", 4, "other-spelling", {"instead": ">="}),
        ("a ! 1", 3, "other-spelling", {"instead": "not", "between": "!="}),
        ("a ^ 2 == 4", 3, "powers-not-supported", {}),
        ("x: a: b", 5, "second-colon", {}),
        ("if a < 1", 9, "then-missing", {}),
        ("(a < 1", 7, "bracket-not-closed", {}),
        ("log(a) < 1", 1, "function-unknown", {"functions": ("abs", "round", "floor", "ceiling")}),
        ("a", 1, "value-as-condition", {}),
        ("a < 1 and b", 11, "value-as-condition", {}),
        ("a + (b < 1) == 2", 5, "condition-as-value", {}),
        ("a < 1 in {1}", 1, "condition-as-value", {}),
        ("a + 'x' == 2", 5, "text-as-number", {}),
        ("1 == 1", 1, "attribute-not-named", {}),
        ("a\0 == 1", 2, "unexpected-character", {}),
        ("a / 0 <= 4", 5, "division-by-zero-in-rule", {}),
        ("a % -0.0 == 1", 5, "division-by-zero-in-rule", {}),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_position(text, position, code, data):
    assert reports([refusal(text)], code, "edits", line=3, position=position, **data)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "a" + ")" * 9_000,
        "-" * 10_000 + "a < 1",
        "not " * 4_000 + "a < 1",
        "abs(" * 4_000,
        "if a < 1 then " * 1_000 + "a < 2",
        "if " * 5_000,
        "if (" * 90 + "a < 1" + ") then a < 2 else a < 3" * 90,
        "a + " * 4_000 + "a < 1",
        "a < " * 4_000 + "a",
        "a" * 30_000,
    ],
)
def test_rules_that_nobody_wrote_are_refused_in_a_sentence(text):
    assert len(refusal(text)) < 200


def test_a_sum_of_two_hundred_terms_is_read():
    assert parse_rule(" + ".join(f"v{i}" for i in range(199)) + " == total", Location(line=1))


VALUES = st.sampled_from(["a", "b", "c", "1", "2.5", "0"])
SUMS = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda it: f"({' '.join(it)})"),
        inner.map(lambda it: f"(-{it})"),
        inner.map(lambda it: f"abs({it})"),
    ),
    max_leaves=5,
)
COMPARED = st.tuples(SUMS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), SUMS).map(" ".join)
CONDITIONS = st.recursive(
    COMPARED | st.tuples(SUMS, SUMS, SUMS).map(lambda it: " <= ".join(it)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda it: f"({' '.join(it)})"),
        inner.map(lambda it: f"(not {it})"),
    ),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(CONDITIONS, st.tuples(*[st.integers(-3, 3)] * 3))
def test_rules_mean_what_they_would_in_python(text, numbers):
    record = dict(zip("abc", map(str, numbers), strict=True))
    in_python = eval(text, {"abs": abs}, dict(zip("abc", map(float, numbers), strict=True)))
    assert holds(parse_rule(f"a == a and {text}", Location(line=1)).condition, record) == in_python


def test_half_a_character_in_a_rule_is_refused():
    """Bytes on a command line that are no UTF-8 reach Python as halves of characters, which no column holds."""
    with refused(PlanError, "not-utf8", "edits", number=1):
        parse_rule('a != "\ud800"', Location(1))
