"""Random records and random expressions on them, and the five rules of the paper's figures as trees."""

import datetime as dt
from random import Random

import pyarrow as pa
from hypothesis import strategies as st

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
    Rule,
    Text,
    Truth,
    Variable,
)

SIGNS = ["==", "!=", "<", "<=", ">", ">="]
TYPES = {
    "whole": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "word": pa.dictionary(pa.int32(), pa.string()),
    "truth": pa.bool_(),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
}
WORDS = ["a", "b", "", " 2 ", "2", "2.0", "-.5", "1e1", "1e999", "NaN", "INF", "0x1", "true", "2020-01-01", "2,5"]
DATES = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1969, 12, 31)]
TIMES = [dt.datetime(2020, 1, 1, *clock) for clock in ((0,), (0, 0, 1), (12,))] + [dt.datetime(1970, 1, 1, 0, 0, 2)]
CELLS = {
    "whole": [-3, -1, 0, 1, 2, 3],
    "float": [0.0, -0.0, 0.5, -1.5, 2.0, 2.0 + 1e-12, 1e-12, 1e300, float("inf"), float("nan")],
    "text": WORDS,
    "word": WORDS,
    "truth": [True, False],
    "date": DATES,
    "time": TIMES,
}
TEXTS = [*WORDS, "2020-01-02", "2020-01-01 12:00", "2020-01-01T12:00:00", "1970-01-01T00:00:02Z"]
NUMBERS = [0.0, -0.0, 0.5, 1.0, 2.0, -1.0, 10.0, 1e-12, 1e300, 18262.0, float("inf"), float("nan")]


def cells(size=25):
    """Columns as lists, of so many random records each, missing values among them."""

    def lists(random):
        return {name: random.choices([None, *pool], k=size) for name, pool in CELLS.items()}

    return st.integers(0, 999).map(Random).map(lists)


def columns(lists):
    return {name: pa.array(values, TYPES[name]) for name, values in lists.items()}


variables = st.builds(Variable, st.sampled_from(list(TYPES)), st.booleans())
leaves = variables | st.builds(Number, st.sampled_from(NUMBERS)) | st.builds(Text, st.sampled_from(TEXTS))
values = st.recursive(
    leaves,
    lambda inside: (
        st.builds(Arithmetic, st.sampled_from("+-*/%"), inside, inside)
        | st.builds(Function, st.sampled_from(["abs", "round", "floor", "ceiling"]), inside)
    ),
    max_leaves=4,
)
atoms = st.one_of(
    st.builds(Comparison, st.sampled_from(SIGNS), values, values, st.booleans()),
    st.builds(Member, values, st.lists(st.sampled_from(NUMBERS + TEXTS), max_size=4).map(tuple)),
    st.builds(InOriginal, values, st.sampled_from(list(TYPES))),
    st.builds(Integral, values),
    st.builds(Missing, st.sampled_from(list(TYPES))),
    st.builds(Truth, st.booleans()),
)
conditions = st.recursive(
    atoms,
    lambda inside: (
        st.builds(Not, inside)
        | st.builds(And, st.lists(inside, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inside, max_size=3).map(tuple))
    ),
    max_leaves=6,
)


def number(name):
    return Variable(name, number=True)


def plus(left, right):
    return Arithmetic("+", left, right)


def times(left, right):
    return Arithmetic("*", left, right)


def rule(condition, name="rule"):
    return Rule(name, condition, "as written")


LINEAR = rule(
    Comparison("==", plus(times(Number(1.0), number("V9")), times(Number(1.0), number("V10"))), number("V14")),
    "EC-LC: V9+V10 = V14",
)
PRODUCT = rule(Comparison("==", times(number("V5"), number("V15")), number("V16")), "EC-NLC: V5*V15 = V16")
VALUES = rule(
    And((Comparison("<=", Number(0.0), number("V3")), Comparison("<=", number("V3"), Number(7500.0)))),
    "EC-PV: V3 in [0, 7500]",
)
GOVERNS = rule(
    Or((Not(Comparison("<", number("V8"), Number(1115.0))), Comparison("<=", number("V13"), number("V12")))),
    "EC-LC: if V8 < 1115 then V13 <= V12",
)
DOMAIN = rule(InOriginal(Variable("V1"), "V1"), "Value-domain restriction")
FIGURES = [LINEAR, PRODUCT, VALUES, GOVERNS, DOMAIN]
