"""Tests of Schematron rules: XPath, parsed by elementpath and never evaluated by it.

Of XPath 2.0 that much is read which looks at one record: its attributes, arithmetic, comparisons, conditions, and
whether a value occurs in the original data. Whatever file ``document('...')`` names, it stands for the original data
and is never opened.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from elementpath import ElementPathError, XPath2Parser, XPathToken
from elementpath.tdop import Parser

from shoal.edits.expressions import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    Function,
    InOriginal,
    Member,
    Missing,
    Not,
    Number,
    Or,
    Sign,
    Text,
    Truth,
    Value,
    Variable,
)
from shoal.edits.messages import Location, refuse, refuse_large, refuse_long, refuse_parts

_MOST_STEPS = 10_000  # tokens looked at for one test: variables of variables could go on without end
_DEEPEST = 200  # tokens within one another
_SIGNS: dict[str, Sign] = {
    "=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_ARITHMETIC: dict[str, Any] = {"+": "+", "-": "-", "*": "*", "div": "/", "mod": "%"}
_CODES = {
    **dict.fromkeys(("count", "sum", "avg", "min", "max", "last", "position", "distinct-values"), "several-records"),
    "idiv": "integer-division",
    ":": "prefixed-name",
    ",": "sequence-as-value",
}
_INSTEAD = {
    "[": "//Record[number(V8) < 1115]",
    "@": "V1",
    "to": "1 <= number(V1) and number(V1) <= 5",
    "index-of": "exists(index-of(..., V1))",
    "string-length": "V1 = ''",
    "|": "V1 = 1 or V2 = 1",
}


class _Parser(XPath2Parser):
    """XPath 2.0 with the function document() of XSLT."""

    def parse(self, source: str) -> XPathToken:
        """Parse alone: the method of XPath2Parser also evaluates what is constant, such as `1 to 1000000000`."""
        return Parser.parse(self, source)


_Parser.function("document", nargs=(1, 2))
_Parser.tokenizer = _Parser.create_tokenizer(_Parser.symbol_table)


@dataclass(frozen=True)
class Parsed:
    """An expression that is right by the grammar of XPath, and where it stands."""

    text: str
    where: Location
    token: XPathToken


def parse(text: str, where: Location) -> Parsed:
    """Read an expression by the grammar of XPath alone."""
    refuse_long(where, text)
    try:
        return Parsed(text, where, _Parser().parse(text))
    except ElementPathError as error:
        at = len(text) if error.token is None or error.token.symbol == "(end)" else error.token.span[0]
        refuse(where, "not-xpath", at, reason=error.message)
    except RecursionError:
        refuse_parts(where)
    except Exception:  # the parser is not ours, and there are texts that it was not written for, such as 5,000 digits
        refuse(where, "not-xpath", 0)


def speaks_of_itself(parsed: Parsed) -> bool:
    """Return whether an expression uses the value of the very element where it starts."""
    waiting = [parsed.token]
    while waiting:
        token = waiting.pop()
        if token.symbol in (".", "..", "text") or (token.symbol in ("number", "string") and not len(token)):
            return True
        # the point of ./V1 is no use of the value
        is_path = token.symbol == "/" and len(token) == 2 and token[0].symbol == "."
        waiting += [token[1]] if is_path else list(token)
    return False


@dataclass(frozen=True)
class Place:
    """What a path leads to.

    All of a record; the value of an attribute by its `name`; what lies outside of the records; or the original data, in
    which `name` is the last step of the path so far.
    """

    kind: Literal["record", "attribute", "outside", "original"]
    name: str = ""


@dataclass(frozen=True)
class Sequence:
    """Several constants."""

    values: tuple[float | str, ...]


@dataclass(frozen=True)
class Let:
    """A variable of a schema: its expression, the place from which that starts, and the variables defined before it."""

    parsed: Parsed
    here: Place
    variables: Mapping[str, "Let"]


RECORD = Place("record")
OUTSIDE = Place("outside")
Meaning: TypeAlias = Value | Condition | Place | Sequence


def condition_of(parsed: Parsed, here: Place, variables: Mapping[str, Let]) -> Condition:
    """Return the condition that an expression states if its paths start from `here`."""
    try:
        condition = _Walk(parsed, here, variables, _Walked()).condition(parsed.token)
    except RecursionError:
        refuse_parts(parsed.where)
    refuse_large(parsed.where, condition)
    return condition


def negated(condition: Condition) -> Condition:
    """Negate a condition; what has a value is not missing."""
    if isinstance(condition, Not) and isinstance(condition.of, Missing):
        return condition.of
    return Not(condition)


@dataclass
class _Walked:
    """How far the walk over a test has come, over those of its variables too."""

    steps: int = 0
    depth: int = 0


class _Walk:
    """From the tokens of one expression to what they mean."""

    def __init__(self, parsed: Parsed, here: Place, variables: Mapping[str, Let], walked: "_Walked") -> None:
        self._parsed = parsed
        self._here = here
        self._variables = variables
        self._walked = walked

    def refuse(self, token: XPathToken, code: str, /, **data: Any) -> NoReturn:
        refuse(self._parsed.where, code, token.span[0], **data)

    def meaning(self, token: XPathToken) -> Meaning:
        self._walked.steps += 1
        self._walked.depth += 1
        if self._walked.steps > _MOST_STEPS or self._walked.depth > _DEEPEST:
            refuse_parts(self._parsed.where)
        handler = _HANDLERS.get(token.symbol)
        if handler is None:
            self.refuse_symbol(token)
        found = handler(self, token)
        self._walked.depth -= 1
        return found

    def refuse_symbol(self, token: XPathToken) -> NoReturn:
        symbol = token.symbol
        code = _CODES.get(symbol, "xpath-not-supported")
        if code == "several-records":
            self.refuse(token, code, what=symbol)
        if code == "xpath-not-supported":
            self.refuse(token, code, symbol=symbol, instead=_INSTEAD.get(symbol))
        self.refuse(token, code)

    def condition(self, token: XPathToken) -> Condition:
        found = self.meaning(token)
        if isinstance(found, Place):
            self.refuse_existence(self.attribute(found, token), token)
        if isinstance(found, Value | Sequence):
            self.refuse(token, "value-as-condition", example="V1 = 1")
        return found

    def refuse_existence(self, attribute: Variable, token: XPathToken) -> NoReturn:
        """Refuse to ask for an element: a file has one for every attribute, also where the value is missing."""
        self.refuse(token, "element-in-every-record", name=attribute.name)

    def value(self, token: XPathToken) -> Value:
        return self.as_value(self.meaning(token), token)

    def as_value(self, found: Meaning, token: XPathToken) -> Value:
        if isinstance(found, Place):
            return self.attribute(found, token)
        if isinstance(found, Sequence):
            self.refuse(token, "sequence-as-value")
        if not isinstance(found, Value):
            self.refuse(token, "condition-as-value")
        return found

    def number(self, token: XPathToken) -> Value:
        value = self.as_value(self.meaning(token), token)
        if isinstance(value, Text):
            self.refuse(token, "text-as-number")
        return value

    def attribute(self, place: Place, token: XPathToken) -> Variable:
        if place.kind == "record":
            self.refuse(token, "attribute-expected", what="record")
        if place.kind == "original":
            self.refuse(token, "original-out-of-place")
        if place.kind == "outside":
            self.refuse(token, "attribute-expected", what="file")
        return Variable(place.name)

    def place(self, token: XPathToken) -> Place:
        found = self.meaning(token)
        if not isinstance(found, Place):
            self.refuse(token, "path-start")
        return found

    # paths

    def here(self, token: XPathToken) -> Place:
        return self.step(self._here, token)

    def path(self, token: XPathToken) -> Place:
        if len(token) < 2:
            self.refuse(token, "several-records", what=None)
        start = self.place(token[0])
        if token.symbol == "//" and start.kind != "original":
            self.refuse(token, "descendants-not-supported")
        return self.step(start, token[1])

    def step(self, start: Place, token: XPathToken) -> Place:
        if token.symbol == "child":
            return self.step(start, token[0])
        if token.symbol == ".":
            return start
        if start.kind == "outside":
            self.refuse(token, "outside-of-records")
        if token.symbol == ".." and start.kind == "attribute":
            return RECORD
        if token.symbol == "text" and start.kind == "attribute":
            return start
        if start.kind == "original" and token.symbol in ("(name)", "*"):
            return Place("original", str(token.value))
        if start.kind != "record" or token.symbol != "(name)":
            self.refuse(token, "path-too-long")
        return Place("attribute", str(token.value))

    def variable(self, token: XPathToken) -> Meaning:
        name = str(token[0].value)
        if name not in self._variables:
            self.refuse(token, "variable-undefined", name=name)
        let = self._variables[name]
        return _Walk(let.parsed, let.here, let.variables, self._walked).meaning(let.parsed.token)

    def original(self, token: XPathToken) -> Place:
        return Place("original")

    # values

    def constant(self, token: XPathToken) -> Value:
        if token.symbol == "(string)":
            return Text(str(token.value))
        try:
            value = float(token.value)  # type: ignore[arg-type] # a number, as its symbol says
        except OverflowError:
            value = math.inf
        if math.isinf(value):
            self.refuse(token, "constant-too-large")
        return Number(value)

    def arithmetic(self, token: XPathToken) -> Meaning:
        if len(token) == 2:
            sign, left, right = _ARITHMETIC[token.symbol], self.number(token[0]), self.number(token[1])
            if sign in "/%" and right == Number(0.0):
                self.refuse(token[1], "division-by-zero-in-rule")
            return Arithmetic(sign, left, right)
        if token.symbol != "-":
            return self.here(token)  # the asterisk of a path
        value = self.number(token[0])
        return Number(-value.value) if isinstance(value, Number) else Arithmetic("*", Number(-1.0), value)

    def function(self, token: XPathToken) -> Value:
        name: Any = token.symbol
        return Function(name, self.number(token[0]))

    def as_number(self, token: XPathToken) -> Value:
        value = self.number(token[0]) if len(token) else self.attribute(self._here, token)
        return Variable(value.name, number=True) if isinstance(value, Variable) else value

    def as_text(self, token: XPathToken) -> Value:
        value = self.value(token[0]) if len(token) else self.attribute(self._here, token)
        if not isinstance(value, Text | Variable) or (isinstance(value, Variable) and value.number):
            self.refuse(token, "only-for-attributes", what="string()")
        return value

    def sequence(self, token: XPathToken) -> Sequence:
        tokens = []
        while token.symbol == ",":  # the first comma is the innermost token
            tokens.append(token[1])
            token = token[0]
        found = [(each, self.meaning(each)) for each in reversed([*tokens, token])]
        for each, meaning in found:
            if not isinstance(meaning, Number | Text):
                self.refuse(each, "only-constants-in-sets")
        return Sequence(tuple(meaning.value for _, meaning in found if isinstance(meaning, Number | Text)))

    def bracket(self, token: XPathToken) -> Meaning:
        if not len(token):
            self.refuse(token, "empty-sequence")
        return self.meaning(token[0])

    def prefixed(self, token: XPathToken) -> Meaning:
        if token[0].value != "fn":
            self.refuse(token, "prefixed-name")
        return self.meaning(token[1])

    # conditions

    def truth(self, token: XPathToken) -> Condition:
        return Truth(token.symbol == "true")

    def joined(self, token: XPathToken) -> Condition:
        sign = token.symbol
        tokens = []
        while token.symbol == sign:  # `a and b and c` is one condition of three parts
            tokens.append(token[1])
            token = token[0]
        parts = tuple(self.condition(each) for each in reversed([*tokens, token]))
        return And(parts) if sign == "and" else Or(parts)

    def comparison(self, token: XPathToken) -> Condition:
        left, right = self.meaning(token[0]), self.meaning(token[1])
        sign = _SIGNS[token.symbol]
        for many, one, at in ((right, left, token[0]), (left, right, token[1])):
            if isinstance(many, Sequence) or (isinstance(many, Place) and many.kind == "original"):
                if sign != "==":
                    self.refuse(token, "sequence-compared")
                return self.among(many, self.as_value(one, at), token)
        values = self.as_value(left, token[0]), self.as_value(right, token[1])
        for value, other in (values, values[::-1]):
            if isinstance(value, Variable) and not value.number and other == Text("") and sign in ("==", "!="):
                return Missing(value.name) if sign == "==" else Not(Missing(value.name))
        return Comparison(sign, *values)

    def among(self, many: Meaning, one: Value, token: XPathToken) -> Condition:
        if isinstance(many, Sequence):
            return Member(one, many.values)
        if not isinstance(many, Place) or many.kind != "original" or many.name in ("", "*"):
            self.refuse(token, "original-attribute-expected")
        return InOriginal(one, many.name)

    def opposite(self, token: XPathToken) -> Condition:
        return negated(self.condition(token[0]))

    def boolean(self, token: XPathToken) -> Condition:
        return self.condition(token[0])

    def existence(self, token: XPathToken) -> Condition:
        of = token[0]
        while of.symbol == "(" and len(of):
            of = of[0]
        if of.symbol != "index-of" or len(of) != 2:
            self.refuse_existence(self.attribute(self.place(of), of), of)
        found = self.among(self.meaning(of[0]), self.value(of[1]), of)
        return found if token.symbol == "exists" else negated(found)

    def governed(self, token: XPathToken) -> Condition:
        governs, then, otherwise = (self.condition(each) for each in token)
        governed = Or((negated(governs), then))
        return governed if otherwise == Truth(True) else And((governed, Or((governs, otherwise))))


_HANDLERS: dict[str, Callable[[_Walk, XPathToken], Meaning]] = {
    **dict.fromkeys(("(integer)", "(decimal)", "(float)", "(string)"), _Walk.constant),
    **dict.fromkeys(("(name)", "child", ".", "..", "text"), _Walk.here),
    **dict.fromkeys(("/", "//"), _Walk.path),
    **dict.fromkeys(("document", "doc"), _Walk.original),
    **dict.fromkeys(_ARITHMETIC, _Walk.arithmetic),
    **dict.fromkeys(("abs", "round", "floor", "ceiling"), _Walk.function),
    **dict.fromkeys(_SIGNS, _Walk.comparison),
    **dict.fromkeys(("and", "or"), _Walk.joined),
    **dict.fromkeys(("true", "false"), _Walk.truth),
    **dict.fromkeys(("exists", "empty"), _Walk.existence),
    "$": _Walk.variable,
    "number": _Walk.as_number,
    "string": _Walk.as_text,
    "boolean": _Walk.boolean,
    "not": _Walk.opposite,
    "if": _Walk.governed,
    ",": _Walk.sequence,
    "(": _Walk.bracket,
    ":": _Walk.prefixed,
}
