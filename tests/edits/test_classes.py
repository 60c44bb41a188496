"""The classes of the paper: its own figures, and what else a rule may be."""

import pytest
from tree_samples import DOMAIN, FIGURES, GOVERNS, LINEAR, PRODUCT, VALUES, number, plus, rule, times

from shoal.edits.classify import classify
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
    Truth,
    Variable,
)

A, B, C = (number(name) for name in "abc")
ORDER = Comparison("<=", A, B)
POSITIVE = Comparison(">", A, Number(0.0))
SUM = Comparison("==", plus(A, B), C)
ODD = Comparison("==", Function("abs", A), B)


def kind(condition):
    return classify(rule(condition)).kind


def passing(condition, *names):
    """Let records pass that miss a value, as plain rules do."""
    return Or((*map(Missing, names), condition))


def test_the_figures_of_the_paper():
    found = [classify(figure) for figure in FIGURES]
    assert [each.label for each in found] == ["EC-LC", "EC-NLC", "EC-PV", "EC-GV", "domain"]
    assert [each.kind for each in found] == ["linear", "product", "values", "governs", "domain"]
    assert [each.rule for each in found] == FIGURES
    assert [each.attributes for each in found] == [
        ["V9", "V10", "V14"],
        ["V5", "V15", "V16"],
        ["V3"],
        ["V8", "V13", "V12"],
        ["V1"],
    ]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_records_that_miss_a_value_do_not_matter(figure):
    plain = classify(figure)
    assert kind(passing(figure.condition, *plain.attributes)) == plain.kind
    assert kind(And((passing(figure.condition, *plain.attributes),))) == plain.kind


def test_whether_another_attribute_is_missing_governs():
    assert kind(passing(POSITIVE, "b")) == "governs"
    assert kind(passing(POSITIVE, "a", "b")) == "governs"
    assert kind(Missing("a")) == kind(Not(Missing("a"))) == "values"


@pytest.mark.parametrize(
    "condition",
    [
        POSITIVE,
        Not(POSITIVE),
        Comparison("!=", A, Number(3.0)),
        Comparison("<", times(A, A), Number(9.0)),
        Comparison("==", Variable("a"), Text("x")),
        Comparison("==", Arithmetic("%", A, Number(2.0)), Number(0.0)),
        Member(Variable("a"), ("x", "y")),
        Integral(A),
        Or((Comparison("==", A, Number(0.0)), Comparison(">", A, Number(10.0)))),
        And((Integral(A), POSITIVE, Comparison("<", B, Number(1.0)))),
    ],
)
def test_conditions_on_one_attribute_are_possible_values(condition):
    assert kind(condition) == "values"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (SUM, "linear"),
        (Not(Comparison("!=", plus(A, B), C)), "linear"),
        (Comparison("==", A, B), "linear"),
        (Comparison("<=", plus(A, Number(5.0)), B), "linear"),
        (Comparison("<=", plus(A, B), C), "linear"),
        (Comparison("<=", A, times(Number(2.0), B)), "linear"),
        (And((SUM, Comparison("==", A, B))), "linear"),
        (Comparison("==", Arithmetic("/", A, B), C), "product"),
        (Comparison("<=", Arithmetic("/", A, B), Number(2.0)), "product"),
        (InOriginal(Variable("a"), "b"), "domain"),
        (Or((InOriginal(A, "a"), Comparison("==", A, Number(0.0)))), "domain"),
    ],
)
def test_sums_products_and_domains(condition, expected):
    assert kind(condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        ORDER,
        Not(ORDER),
        Comparison(">", times(Number(1.0), A), B),
        Or((Not(POSITIVE), SUM)),
        Or((Not(SUM), POSITIVE)),
        Or((Not(POSITIVE), Comparison("==", times(A, B), C))),
        Or((Not(And((POSITIVE, Integral(B)))), Comparison("<", C, Number(1.0)))),
        Or((Not(Comparison("==", Variable("t"), Text("x"))), And((POSITIVE, ORDER)))),
    ],
)
def test_orders_and_conditional_rules_govern(condition):
    assert kind(condition) == "governs"


@pytest.mark.parametrize(
    "condition",
    [
        ODD,
        Or((Not(POSITIVE), ODD)),
        And((POSITIVE, ODD)),
        Not(SUM),
        Comparison("!=", A, B),
        InOriginal(plus(A, B), "c"),
        Integral(plus(A, B)),
        Truth(True),
        Truth(False),
        Comparison("<", Number(1.0), Number(2.0)),
        Or((And((POSITIVE, ORDER)),) * 7),
    ],
)
def test_what_has_no_known_class(condition):
    found = classify(rule(condition))
    assert (found.kind, found.label) == ("other", "no known class")


def test_parts_of_different_classes_are_several():
    found = classify(rule(And((VALUES.condition, LINEAR.condition, GOVERNS.condition, VALUES.condition))))
    assert (found.kind, found.label) == ("several", "EC-PV, EC-LC, EC-GV")
    assert kind(And((PRODUCT.condition, DOMAIN.condition))) == "several"
