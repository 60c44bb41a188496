"""Rules in normal forms: as clauses that must all hold, and equalities and orders as sums, as products, or solved.

The forms are those of Torra, Cano and Navarro-Arribas: a linear constraint is a sum of attributes with coefficients, a
non-linear one a product of attributes with exponents.

References
----------
V. Torra, I. Cano and G. Navarro-Arribas, "Dealing with edit constraints in microdata protection: microaggregation",
Joint UNECE/Eurostat work session on statistical data confidentiality, Bilbao 2009, sections 3.1 and 3.2.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

from shoal.edits.expressions import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    Not,
    Number,
    Or,
    Sign,
    Truth,
    Value,
    Variable,
    attributes_of,
)

Clause: TypeAlias = tuple[Condition, ...]

_MOST_CLAUSES = 64
_TURNED: dict[Sign, Sign] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Linear:
    """A sum of attributes, each times a coefficient that is not zero, compared with a constant."""

    coefficients: dict[str, float]
    sign: Sign
    constant: float

    @property
    def is_order(self) -> bool:
        """Whether this is the order of two attributes, as V3 <= V7, which every monotonic aggregate keeps."""
        one, two = (*self.coefficients.values(), 0.0, 0.0)[:2]
        balanced = len(self.coefficients) == 2 and one + two == 0 == self.constant
        return balanced and self.sign not in ("==", "!=")


@dataclass(frozen=True)
class Product:
    """A product of attributes, each with an exponent that is not zero, compared with a positive factor.

    It is equivalent to the comparison it was made from where all attributes are positive.
    """

    exponents: dict[str, float]
    sign: Sign
    factor: float


def clauses(condition: Condition, *, is_wanted: bool = True) -> tuple[Clause, ...] | None:
    """Return the conjunctive normal form: clauses that must all hold, of which each holds where some part of it does.

    Of the negation (by De Morgan's laws) where the condition is not wanted; None if there would be too many clauses.

    Parts are atoms or `Not` of an atom, in the order of the condition, so that what governs stays in front. ``not(a <
    b)`` stays what it is: where a value is missing, ``a >= b`` is something else. Constant truths are gone; a condition
    that always holds has no clause, one that never does has an empty clause.
    """
    match condition:
        case Truth(truth):
            return () if truth is is_wanted else ((),)
        case Not(of):
            return clauses(of, is_wanted=not is_wanted)
        case And(parts) | Or(parts):
            inner = [clauses(part, is_wanted=is_wanted) for part in parts]
            return _all_of(inner) if isinstance(condition, And) is is_wanted else _any_of(inner)
    return ((condition if is_wanted else Not(condition),),)


def _all_of(parts: list[tuple[Clause, ...] | None]) -> tuple[Clause, ...] | None:
    found: tuple[Clause, ...] = ()
    for part in parts:
        if part is None or len(found) + len(part) > _MOST_CLAUSES:
            return None
        found += part
    return found


def _any_of(parts: list[tuple[Clause, ...] | None]) -> tuple[Clause, ...] | None:
    """Distribute: some of the parts holds where every choice of a clause from each has a part that holds."""
    found: tuple[Clause, ...] = ((),)
    for part in parts:
        if part is None or len(found) * len(part) > _MOST_CLAUSES:
            return None
        found = tuple((*one, *other) for one in found for other in part)
    return found


def linear(comparison: Comparison) -> Linear | None:
    """Write a comparison with all attributes on the left and a constant on the right; None where it is not linear."""
    whole = _sum(Arithmetic("-", comparison.left, comparison.right))
    if whole is None or not whole.coefficients:
        return None
    if not all(map(math.isfinite, (whole.constant, *whole.coefficients.values()))):
        return None
    return Linear(whole.coefficients, comparison.sign, 0.0 - whole.constant)


@dataclass(frozen=True)
class _Sum:
    """A sum of attributes times coefficients, and a constant."""

    coefficients: dict[str, float]
    constant: float


def _sum(value: Value) -> _Sum | None:
    match value:
        case Number(number):
            return _Sum({}, float(number))
        case Variable(name):
            return _Sum({name: 1.0}, 0.0)
        case Arithmetic(sign, left, right):
            one, two = _sum(left), _sum(right)
            return None if one is None or two is None else _combined(sign, one, two)
    return None


def _combined(sign: str, one: _Sum, two: _Sum) -> _Sum | None:
    match sign:
        case "+":
            return _Sum(_added(one.coefficients, two.coefficients), one.constant + two.constant)
        case "-":
            return _Sum(_added(one.coefficients, two.coefficients, -1.0), one.constant - two.constant)
        case "*" if not one.coefficients:
            return _Sum(_added({}, two.coefficients, one.constant), one.constant * two.constant)
        case "*" if not two.coefficients:
            return _Sum(_added({}, one.coefficients, two.constant), one.constant * two.constant)
        case "/" if not two.coefficients and two.constant:
            divided = {name: each / two.constant for name, each in one.coefficients.items()}
            return _Sum(divided, one.constant / two.constant)
    return None


def _added(one: dict[str, float], two: dict[str, float], times: float = 1.0) -> dict[str, float]:
    """Add so many times the one to the other, name by name; what comes to nothing is left out."""
    names = dict.fromkeys((*one, *two))
    both = {name: one.get(name, 0.0) + times * two.get(name, 0.0) for name in names}
    return {name: each for name, each in both.items() if each}


def product(comparison: Comparison) -> Product | None:
    """Write a comparison as a product of attributes on the left and a positive constant on the right.

    None where a side is no product, no attribute is left, or the comparison is linear.
    """
    left, right = _monomial(comparison.left), _monomial(comparison.right)
    if left is None or right is None or not left.factor or linear(comparison) is not None:
        return None
    exponents, factor = _added(left.exponents, right.exponents, -1.0), right.factor / left.factor
    if not exponents or not math.isfinite(factor) or factor <= 0:
        return None
    return Product(exponents, comparison.sign if left.factor > 0 else _TURNED[comparison.sign], factor)


@dataclass(frozen=True)
class _Monomial:
    """A product of attributes with exponents, and a factor."""

    exponents: dict[str, float]
    factor: float


def _monomial(value: Value) -> _Monomial | None:
    if (terms := _sum(value)) is not None:
        return _only_term(terms)
    match value:
        case Arithmetic("-", Number(0), right):  # the opposite
            inside = _monomial(right)
            return None if inside is None else _Monomial(inside.exponents, -inside.factor)
        case Arithmetic("*" | "/" as sign, left, right):
            one, two = _monomial(left), _monomial(right)
            if one is None or two is None:
                return None
            if sign == "*":
                return _Monomial(_added(one.exponents, two.exponents), one.factor * two.factor)
            if two.factor:
                return _Monomial(_added(one.exponents, two.exponents, -1.0), one.factor / two.factor)
    return None


def _only_term(terms: _Sum) -> _Monomial | None:
    """Write a sum as a product: a constant, or one attribute times its coefficient."""
    if not terms.coefficients:
        return _Monomial({}, terms.constant)
    if len(terms.coefficients) > 1 or terms.constant:
        return None
    ((name, factor),) = terms.coefficients.items()
    return _Monomial({name: 1.0}, factor)


def dependent(comparison: Comparison) -> list[tuple[str, Value]]:
    """Find the attributes that an equality determines from the others, each with what it is equal to.

    An attribute that stands alone on a side comes first, that of the right side before that of the left: computed from
    the other side, it makes the equality exact. Then a linear equality is solved for each other attribute with a
    coefficient of 1 or -1, the last one first; it is exact but for rounding. Other comparisons determine none.
    """
    if comparison.sign != "==":
        return []
    left, right = comparison.left, comparison.right
    alone = [(one.name, other) for one, other in ((right, left), (left, right)) if isinstance(one, Variable)]
    given = [(name, other) for name, other in alone if name not in (others := attributes_of(other)) and others]
    form = linear(comparison)
    if form is None or len(form.coefficients) < 2:
        return given
    left_over = [name for name in form.coefficients if name not in dict(given)]
    units = [name for name in reversed(left_over) if abs(form.coefficients[name]) == 1]
    return [*given, *((name, _solved(form, name)) for name in units)]


def _solved(form: Linear, name: str) -> Value:
    """Solve a linear equality of several attributes for one whose coefficient is 1 or -1."""
    unit = form.coefficients[name]
    terms = [(-each * unit, _times(each, other)) for other, each in form.coefficients.items() if other != name]
    if form.constant:
        terms.append((form.constant * unit, Number(abs(form.constant))))
    terms.sort(key=lambda term: term[0] < 0)  # no minus in front if it can be helped
    (coefficient, found), *rest = terms
    if coefficient < 0:
        found = Arithmetic("-", Number(0.0), found)
    for coefficient, term in rest:
        found = Arithmetic("+" if coefficient > 0 else "-", found, term)
    return found


def _times(coefficient: float, name: str) -> Value:
    """Return the size of a term; its sign is that of the sum."""
    variable = Variable(name, number=True)
    return variable if abs(coefficient) == 1 else Arithmetic("*", Number(abs(coefficient)), variable)
