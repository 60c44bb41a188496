"""Rules as trees: one model for both languages that rules are written in.

Numbers follow IEEE 754 as XPath 1.0 does: a missing value is NaN, every comparison with it is false, and `!=` is true.
Truth has two values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Sign: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Number:
    """A constant number."""

    value: float


@dataclass(frozen=True)
class Text:
    """A constant text."""

    value: str


@dataclass(frozen=True)
class Variable:
    """The value of an attribute, by its name; as a number where `number` is set, whatever the column holds."""

    name: str
    number: bool = False


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers and an operator between them; `/` is division, `%` the remainder with the sign of the dividend."""

    sign: Literal["+", "-", "*", "/", "%"]
    left: "Value"
    right: "Value"


@dataclass(frozen=True)
class Function:
    """A function of one number: `round` takes halves upwards, as XPath does."""

    name: Literal["abs", "round", "floor", "ceiling"]
    of: "Value"


@dataclass(frozen=True)
class Truth:
    """A constant truth."""

    value: bool


@dataclass(frozen=True)
class Comparison:
    """Two values compared.

    Where `exact` is not set, numbers are equal that differ by a billionth of the largest term (see `evaluation`).
    """

    sign: Sign
    left: "Value"
    right: "Value"
    exact: bool = True


@dataclass(frozen=True)
class Member:
    """Whether a value is one of some constants."""

    of: "Value"
    among: tuple[float | str, ...]


@dataclass(frozen=True)
class InOriginal:
    """Whether a value occurs in an attribute of the original data."""

    of: "Value"
    attribute: str


@dataclass(frozen=True)
class Integral:
    """Whether a value is a whole number."""

    of: "Value"


@dataclass(frozen=True)
class Missing:
    """Whether an attribute has no value."""

    name: str


@dataclass(frozen=True)
class Not:
    """The opposite."""

    of: "Condition"


@dataclass(frozen=True)
class And:
    """Whether all hold."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Or:
    """Whether some hold. The first parts of ``not A or B`` are what governs, the last what is governed."""

    parts: tuple["Condition", ...]


Value: TypeAlias = Number | Text | Variable | Arithmetic | Function
Condition: TypeAlias = Truth | Comparison | Member | InOriginal | Integral | Missing | Not | And | Or
Expression: TypeAlias = Value | Condition


@dataclass(frozen=True)
class Rule:
    """An edit: what must hold in every record."""

    name: str  # what messages call it: its own name, or where it stands
    condition: Condition
    text: str  # the rule as it was written


def within(expression: Expression) -> Iterator[Expression]:
    """Walk over an expression and everything in it, from the outside in and from left to right."""
    waiting: list[Expression] = [expression]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed(_inside(each))


def _inside(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Arithmetic() | Comparison():
            return (expression.left, expression.right)
        case Function() | Member() | InOriginal() | Integral() | Not():
            return (expression.of,)
        case And() | Or():
            return expression.parts
    return ()


def attributes_of(expression: Expression) -> list[str]:
    """List the attributes that an expression refers to, each once, in their order."""
    names = (each.name for each in within(expression) if isinstance(each, Variable | Missing))
    return list(dict.fromkeys(names))
