"""Rules on one record, one cell at a time: slow and obvious."""

import datetime as dt
import math
import operator
import re
from fractions import Fraction

from tree_samples import TYPES

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

COMPARE = {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
EPOCH = dt.datetime(1970, 1, 1)
NUMERIC = re.compile(r"[ \t\r\n]*([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)[ \t\r\n]*")


class Naive:
    """One record, and the lists of the original columns; `written` as XPath sees it in a file."""

    def __init__(self, record, original, written=False):
        self.record, self.original, self.written = record, original, written

    def number(self, of):
        match of:
            case Number(constant):
                return constant
            case Text(text):
                return cell_number(text)
            case Variable(name):
                cell = self.record[name]
                return math.nan if self.written and isinstance(cell, bool | dt.date) else cell_number(cell)
            case Function(name, inside):
                x = self.number(inside)
                if name == "abs" or not math.isfinite(x):
                    return abs(x) if name == "abs" else x
                exact = Fraction(x) + (Fraction(1, 2) if name == "round" else 0)
                return math.copysign(math.ceil(exact) if name == "ceiling" else math.floor(exact), x)
            case Arithmetic(sign, left, right):
                return calculate(sign, self.number(left), self.number(right))

    def size(self, of):
        match of:
            case Arithmetic("+" | "-", left, right):
                one, two = self.size(left), self.size(right)
                return math.nan if math.isnan(one) or math.isnan(two) else max(one, two)
            case Function("abs", inside):
                return self.size(inside)
        return abs(self.number(of))

    def side(self, of):
        """A value and what it is: a constant text, a number, or what the column holds."""
        if isinstance(of, Text):
            return of.value, "constant"
        if isinstance(of, Variable) and not of.number:
            return self.record[of.name], kind_of(of.name)
        return self.number(of), "number"

    def is_close(self, left, right):
        if paired(self.side(left), self.side(right))[2] != "number":
            return False
        sizes = [self.size(left), self.size(right)]
        return all(map(math.isfinite, sizes)) and abs(self.number(left) - self.number(right)) <= 1e-9 * max(sizes)

    def compare(self, sign, left, right, exact=True):
        if sign == "!=":
            return not self.compare("==", left, right, exact)
        if exact:
            return Naive(self.record, self.original, written=True).compare_written(sign, left, right)
        return self.compare_typed(sign, left, right) or (sign not in ("<", ">") and self.is_close(left, right))

    def compare_typed(self, sign, left, right):
        one, two, what = paired(self.side(left), self.side(right))
        if what == "text" and sign == "==":
            return None not in (one, two) and one == two
        if what == "text":
            one, two = self.number(left), self.number(right)
        return COMPARE[sign](one, two)

    def compare_written(self, sign, left, right):
        (one, is_one), (two, is_two) = self.side(left), self.side(right)
        if sign == "==" and "number" not in (is_one, is_two):
            return (cell_text(one) or "") == (cell_text(two) or "")
        return COMPARE[sign](self.number(left), self.number(right))

    def in_original(self, of, attribute):
        found = [paired(self.side(of), (other, kind_of(attribute)))[:2] for other in self.original[attribute]]
        return any(one == two and one is not None for one, two in found)

    def holds(self, condition):
        match condition:
            case Truth(truth):
                return truth
            case Comparison(sign, left, right, exact):
                return self.compare(sign, left, right, exact)
            case Member(of, among):
                constants = [Text(each) if isinstance(each, str) else Number(each) for each in among]
                return any(self.compare_typed("==", of, constant) for constant in constants)
            case InOriginal(of, attribute):
                return self.in_original(of, attribute)
            case Integral(of):
                return self.number(of).is_integer() if math.isfinite(self.number(of)) else False
            case Missing(name):
                return self.record[name] is None or self.record[name] != self.record[name]
            case Not(of):
                return not self.holds(of)
            case And(parts):
                return all(self.holds(part) for part in parts)
            case Or(parts):
                return any(self.holds(part) for part in parts)


def holds(condition, record, original=None):
    """Whether a condition holds in a record."""
    return Naive(record, original).holds(condition)


def kind_of(name):
    """What a column holds: those of `tree_samples` are called after their types, all others are texts."""
    return name if name in TYPES else "text"


def calculate(sign, x, y):
    if sign == "/":
        if y == 0:
            return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
        return x / y
    if sign == "%":
        return math.nan if math.isinf(x) or y == 0 else math.fmod(x, y)
    return {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](x, y)


def paired(one, two):
    """Two values as they are compared, and as what: moments, texts or numbers."""
    kinds = {one[1], two[1]}
    moments = [moment(*one), moment(*two)]
    if kinds & {"date", "time"} and None not in moments:
        return *moments, "moment"
    if "number" not in kinds and ("constant" in kinds or kinds <= {"text", "word"}):
        return cell_text(one[0]), cell_text(two[0]), "text"
    return cell_number(one[0]), cell_number(two[0]), "number"


def cell_number(cell):
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        found = NUMERIC.fullmatch(cell)
        return float(found[1]) if found else math.nan
    if isinstance(cell, dt.datetime):
        return (cell - EPOCH).total_seconds()
    return float((cell - EPOCH.date()).days) if isinstance(cell, dt.date) else float(cell)


def cell_text(cell):
    if cell is None or cell != cell:
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    return repr(cell) if isinstance(cell, int | float) else str(cell)


def moment(cell, kind):
    """Seconds since 1970 of a date, a time or an ISO text; NaN for a missing one, nothing for what is none."""
    if kind in ("date", "time"):
        return math.nan if cell is None else cell_number(cell) * (86_400 if kind == "date" else 1)
    if kind == "constant":
        try:
            found = dt.datetime.fromisoformat(cell.strip())
        except ValueError:
            return None
        return (found.replace(tzinfo=None) - EPOCH).total_seconds()
    return None


def records_of(lists):
    return [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
