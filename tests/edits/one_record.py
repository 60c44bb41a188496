"""What a rule says of one record, slowly: a record has texts by name, and None where a value is missing."""

import math
import operator
import re

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

SIGNS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def number(text):
    """A text as a number, as libxml2 reads it: by the grammar of XPath 1.0, or with an exponent."""
    if isinstance(text, float):
        return text
    return float(text) if re.fullmatch(r"\s*-?(\d+(\.\d*)?|\.\d+)(e-?\d+)?\s*", text or "") else math.nan


def divided(left, right):
    if right != 0 or math.isnan(left):
        return left / right if right != 0 else math.nan
    return math.nan if left == 0 else math.copysign(math.inf, left) * math.copysign(1, right)


def remainder(left, right):
    return math.nan if right == 0 or not math.isfinite(left) or math.isnan(right) else math.fmod(left, right)


def rounded(name, of):
    if not math.isfinite(of):
        return abs(of) if name == "abs" else of
    if name == "abs":
        return abs(of)
    whole = {"round": lambda x: math.floor(x + 0.5), "floor": math.floor, "ceiling": math.ceil}[name](of)
    return math.copysign(whole, of)  # from below, there is a negative zero


def value(of, record):
    """A number or a text."""
    match of:
        case Number(constant) | Text(constant):
            return constant
        case Variable(name, as_number):
            return number(record[name]) if as_number else record[name] or ""
        case Function(name, inner):
            return rounded(name, number(value(inner, record)))
        case Arithmetic(sign, left, right):
            signs = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": divided, "%": remainder}
            return signs[sign](number(value(left, record)), number(value(right, record)))


def compared(sign, left, right):
    if sign in ("==", "!=") and isinstance(left, str) and isinstance(right, str):
        return SIGNS[sign](left, right)
    return SIGNS[sign](number(left), number(right))


def holds(condition, record, original=None):
    """Whether a condition holds in a record."""
    match condition:
        case Truth(truth):
            return truth
        case Comparison(sign, left, right):
            return compared(sign, value(left, record), value(right, record))
        case Member(of, among):
            return any(compared("==", value(of, record), each) for each in among)
        case InOriginal(of, attribute):
            return any(compared("==", value(of, record), each) for each in original[attribute])
        case Integral(of):
            return number(value(of, record)).is_integer()
        case Missing(name):
            return record[name] is None
        case Not(of):
            return not holds(of, record, original)
        case And(parts):
            return all(holds(part, record, original) for part in parts)
        case Or(parts):
            return any(holds(part, record, original) for part in parts)
