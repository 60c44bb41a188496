"""Normal forms say what the conditions say that they were made of."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tree_samples import GOVERNS, LINEAR, PRODUCT, SIGNS, cells, columns, conditions, number, plus, times

from shoal.edits.evaluate import Records, holds, value
from shoal.edits.expressions import (
    And,
    Arithmetic,
    Comparison,
    Function,
    Missing,
    Not,
    Number,
    Or,
    Text,
    Truth,
    Variable,
    attributes_of,
)
from shoal.edits.normal_forms import Linear, Product, clauses, dependent, linear, product

A, B, C, D = (Missing(name) for name in "abcd")
X, Y, Z = (number(name) for name in "xyz")
NAMES = st.sampled_from("xyz")
CONSTANTS = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, 3.0])


def comparisons(signs):
    """Comparisons of arithmetic on three attributes and some constants."""
    trees = st.recursive(
        st.builds(Variable, NAMES, st.booleans()) | st.builds(Number, CONSTANTS),
        lambda inside: st.builds(Arithmetic, st.sampled_from(signs), inside, inside),
        max_leaves=6,
    )
    return st.builds(Comparison, st.sampled_from(SIGNS), trees, trees)


# many a random tree has no form at all
many_without = settings(suppress_health_check=[HealthCheck.filter_too_much])


def points(seed, low):
    rng = np.random.default_rng(seed)
    return Records({name: pa.array(rng.uniform(low, 3, 20)) for name in "xyz"})


def minus(left, right):
    return Arithmetic("-", left, right)


def over(left, right):
    return Arithmetic("/", left, right)


@given(conditions, cells(), cells())
def test_clauses_hold_where_the_condition_does(condition, lists, original):
    found = clauses(condition)
    assume(found is not None)
    records = Records(columns(lists), columns(original))
    normal = And(tuple(Or(clause) for clause in found))
    np.testing.assert_array_equal(holds(normal, records), holds(condition, records))


@given(conditions)
def test_parts_of_clauses_are_atoms_or_their_opposites(condition):
    for clause in clauses(condition) or ():
        for part in clause:
            assert not isinstance(part.of if isinstance(part, Not) else part, And | Or | Not | Truth)


def test_what_governs_stays_in_front():
    assert clauses(GOVERNS.condition) == (GOVERNS.condition.parts,)
    assert clauses(Or((A, And((B, C)), D))) == ((A, B, D), (A, C, D))
    assert clauses(Not(And((A, Or((B, Not(C))))))) == ((Not(A), Not(B)), (Not(A), C))


def test_the_opposite_of_an_order_is_not_the_other_order():
    order = Comparison("<", X, Y)
    assert clauses(Not(order)) == ((Not(order),),)


def test_constant_truths_are_gone():
    assert clauses(Truth(True)) == clauses(And(())) == clauses(Or((A, Truth(True)))) == ()
    assert clauses(Not(Truth(True))) == clauses(Or(())) == ((),)
    assert clauses(Or((Truth(False), A))) == ((A,),)


def test_too_many_clauses_are_none():
    pair = And((A, B))
    assert len(clauses(Or((pair,) * 6))) == 64
    assert clauses(Or((pair,) * 7)) is None
    assert clauses(Or((pair,) * 5000)) is None
    assert len(clauses(And((A,) * 64))) == 64
    assert clauses(And((A,) * 65)) is None
    assert clauses(Or((And((A,) * 65), B))) is None


@many_without
@given(comparisons("+-*/"), st.integers(0, 99))
def test_linear_forms_are_the_difference_of_the_sides(comparison, seed):
    form = linear(comparison)
    assume(form is not None)
    records = points(seed, -3)
    with np.errstate(all="ignore"):
        gap = value(comparison.left, records) - value(comparison.right, records)
    total = sum(coefficient * records.number(name) for name, coefficient in form.coefficients.items())
    np.testing.assert_allclose(total - form.constant, gap, atol=1e-9)
    assert form.sign == comparison.sign
    assert all(form.coefficients.values())


@given(comparisons("+-"))
def test_sums_are_linear_unless_nothing_is_left(comparison):
    records = points(0, -3)
    gap = value(comparison.left, records) - value(comparison.right, records)
    assert (linear(comparison) is None) is bool(np.allclose(gap, gap[0], rtol=0, atol=1e-12))


def test_linear_forms():
    assert linear(LINEAR.condition) == Linear({"V9": 1.0, "V10": 1.0, "V14": -1.0}, "==", 0.0)
    assert linear(Comparison("<", over(minus(X, Number(3.0)), Number(2.0)), plus(X, Y))) == Linear(
        {"x": -0.5, "y": -1.0}, "<", 1.5
    )
    assert linear(Comparison(">=", Number(2.0), times(plus(Number(1.0), Number(2.0)), Y))) == Linear(
        {"y": -3.0}, ">=", -2.0
    )


@pytest.mark.parametrize(
    "comparison",
    [
        PRODUCT.condition,
        Comparison("==", X, Text("a")),
        Comparison("==", X, over(Y, Number(0.0))),
        Comparison("==", X, over(Number(1.0), Y)),
        Comparison("==", X, Arithmetic("%", Y, Number(2.0))),
        Comparison("==", X, Function("abs", Y)),
        Comparison("==", X, Number(math.nan)),
        Comparison("==", X, times(Number(math.inf), Y)),
        Comparison("==", X, X),
        Comparison("==", Number(1.0), Number(1.0)),
    ],
)
def test_what_is_not_linear(comparison):
    assert linear(comparison) is None


@many_without
@given(comparisons("*/") | comparisons("-*/"), st.integers(0, 99))
def test_product_forms_hold_where_the_comparison_does_on_positive_values(comparison, seed):
    form = product(comparison)
    assume(form is not None)
    records = points(seed, 0.1)
    power = math.prod(records.number(name) ** exponent for name, exponent in form.exponents.items())
    sides = {"left": pa.array(power), "right": pa.array(np.full(20, form.factor))}
    found = holds(Comparison(form.sign, Variable("left"), Variable("right")), Records(sides))
    is_clear = np.abs(power - form.factor) > 1e-9 * form.factor
    np.testing.assert_array_equal(found[is_clear], holds(comparison, records)[is_clear])
    assert linear(comparison) is None
    assert form.factor > 0
    assert all(form.exponents.values())


@given(comparisons("*/"))
def test_products_are_linear_or_products_unless_a_constant_or_the_attributes_vanish(comparison):
    if linear(comparison) is None and product(comparison) is None:
        records = points(1, 0.1)
        left, right = value(comparison.left, records), value(comparison.right, records)
        with np.errstate(all="ignore"):
            ratio = left / right
        is_constant = np.allclose(ratio, ratio[0], equal_nan=True)
        assert is_constant or (ratio <= 0).all() or not np.isfinite(ratio).all()


def test_product_forms():
    assert product(PRODUCT.condition) == Product({"V5": 1.0, "V15": 1.0, "V16": -1.0}, "==", 1.0)
    assert product(Comparison("<", over(X, times(Y, Y)), Number(3.0))) == Product({"x": 1.0, "y": -2.0}, "<", 3.0)
    turned = Comparison("<", times(Number(-2.0), times(X, Y)), minus(Number(0.0), times(Z, Z)))
    assert product(turned) == Product({"x": 1.0, "y": 1.0, "z": -2.0}, ">", 0.5)


@pytest.mark.parametrize(
    "comparison",
    [
        LINEAR.condition,
        Comparison("==", times(Number(2.0), X), Y),
        Comparison("==", times(X, Y), Number(0.0)),
        Comparison("==", times(X, Y), Number(-1.0)),
        Comparison("==", times(X, Y), plus(X, Y)),
        Comparison("==", times(X, Y), plus(Z, Number(1.0))),
        Comparison("==", times(X, Y), times(Y, X)),
        Comparison("==", over(X, times(Number(0.0), Y)), Z),
        Comparison("==", times(X, Text("2")), times(Y, Z)),
    ],
)
def test_what_is_no_product(comparison):
    assert product(comparison) is None


@given(comparisons("+-*/"), st.integers(0, 99))
def test_a_dependent_attribute_computed_anew_makes_the_equality_hold(comparison, seed):
    equality = Comparison("==", comparison.left, comparison.right, exact=False)
    for name, other in dependent(equality):
        assert name not in attributes_of(other)
        assert attributes_of(other)
        records = points(seed, 0.1)
        anew = {each: pa.array(records.number(each)) for each in "xyz"} | {name: pa.array(value(other, records))}
        # an attribute that is nothing but rounding on both sides is no measure of how much they may differ
        here = Records(anew)
        gap = np.abs(value(comparison.left, here) - value(comparison.right, here))
        is_finite = np.isfinite(value(other, records))
        assert (holds(equality, here) | (gap < 1e-9))[is_finite].all()


def test_an_attribute_that_stands_alone_comes_first():
    left, total = LINEAR.condition.left, number("V14")
    solved = [("V10", minus(total, number("V9"))), ("V9", minus(total, number("V10")))]
    assert dependent(LINEAR.condition) == [("V14", left), *solved]
    assert dependent(Comparison("==", total, left)) == [("V14", left), *solved]
    assert dependent(Comparison("==", X, Y)) == [("y", X), ("x", Y)]
    assert dependent(PRODUCT.condition) == [("V16", PRODUCT.condition.left)]
    assert dependent(Comparison("==", Variable("x"), Function("round", Y))) == [("x", Function("round", Y))]


def test_linear_equalities_are_solved_for_what_does_not_stand_alone():
    total = Comparison("==", minus(plus(X, Y), Z), Number(0.0))
    assert dependent(total) == [("z", plus(X, Y)), ("y", minus(Z, X)), ("x", minus(Z, Y))]
    scaled = Comparison("==", plus(times(Number(2.0), X), Y), Number(-5.0))
    assert dependent(scaled) == [("y", minus(minus(Number(0.0), times(Number(2.0), X)), Number(5.0)))]
    around = Comparison("==", X, plus(X, minus(Y, Z)))
    assert dependent(around) == [("z", Y), ("y", Z)]


def test_what_gives_no_dependent_attribute():
    for comparison in (
        Comparison("<=", X, Y),
        Comparison("!=", X, Y),
        Comparison("==", X, Number(5.0)),
        Comparison("==", X, times(X, Y)),
        Comparison("==", times(X, Y), times(Z, Z)),
        Comparison("==", times(Number(2.0), X), times(Number(3.0), Y)),
    ):
        assert dependent(comparison) == []
