"""Rules in plain text, one a line, as a statistician writes them: ``if V8 < 1115 then V13 <= V12``.

A parser by precedence climbing; nothing is ever evaluated here.

References
----------
M. Richards and C. Whitby-Strevens, "BCPL: The language and its compiler", Cambridge University Press 1979, section 6.6
(precedence climbing).
"""

import math
import re
from typing import Any, NamedTuple, NoReturn

from shoal.edits.expressions import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    Expression,
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
    Value,
    Variable,
    within,
)
from shoal.edits.messages import Location, refuse, refuse_large, refuse_long, refuse_parts

_DEEPEST = 100  # expressions within one another
_WORDS = frozenset({"if", "then", "else", "and", "or", "not", "in", "is"})
_FUNCTIONS = ("abs", "round", "floor", "ceiling")
_COMPARED = ("==", "=", "!=", "<", "<=", ">", ">=")
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _UNARY = range(1, 8)
_LEVELS = (
    {"or": _OR, "and": _AND, "in": _COMPARISON, "is": _COMPARISON, "not": _COMPARISON}
    | dict.fromkeys(_COMPARED, _COMPARISON)
    | {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}
)

_TITLE = re.compile(r"([^:#'\"`]*):")
_TOKEN = re.compile(
    r"""
      (?P<space>  \s+ | \#[^\r\n]* )
    | (?P<number> (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? )
    | (?P<name>   [^\W\d]\w* (?:\.\w+)* )
    | (?P<ticked> ` (?: [^`] | `` )+ ` )
    | (?P<text>   ' (?: [^'] | '' )* ' | " (?: [^"] | "" )* " )
    | (?P<sign>   <= | >= | == | != | [=<>+\-*/%(){},] )
    """,
    re.VERBOSE,
)
# what people write who know another language, and what this one has for it
_INSTEAD: dict[str, tuple[str, dict[str, Any]]] = {
    "'": ("quote-not-closed", {"backtick": False}),
    '"': ("quote-not-closed", {"backtick": False}),
    "`": ("quote-not-closed", {"backtick": True}),
    "[": ("square-bracket", {"interval": "0 <= x <= 10", "set": "{1, 2}"}),
    "&": ("other-spelling", {"instead": "and"}),
    "|": ("other-spelling", {"instead": "or"}),
    "!": ("other-spelling", {"instead": "not", "between": "!="}),
    "^": ("powers-not-supported", {}),
    ":": ("second-colon", {}),
    "≤": ("other-spelling", {"instead": "<="}),
    "≥": ("other-spelling", {"instead": ">="}),
    "≠": ("other-spelling", {"instead": "!="}),
}


class _Token(NamedTuple):
    kind: str  # number, name, text, sign, word or end
    value: str  # of a word in lower case, of a text or a name without its quotes
    at: int
    end: int


def parse_rule(text: str, where: Location, *, shown: bool = True) -> Rule:
    """Read one rule, such as ``total: V9 + V10 == V14  # in euros``; without a name it is named after its location.

    A record that misses a value the rule names does not break it, unless the rule itself asks whether that
    attribute ``is missing``. Numbers that are equal but for rounding are equal. Messages show the text only where
    `shown`: one from a file might be data.
    """
    refuse_long(where, text)
    title = _TITLE.match(text)
    start = title.end() if title else 0
    reader = _Reader(text, where, shown)
    if title and not title[1].strip():
        reader.refuse(0, "name-before-colon")
    condition = reader.rule(start)
    refuse_large(where, condition)
    own_name = " ".join(title[1].split()) if title else where.name
    return Rule(own_name, _unless_missing(condition, reader), reader.written())


def _unless_missing(condition: Condition, reader: "_Reader") -> Condition:
    """Make a rule hold where an attribute that it needs is missing."""
    asked = {each.name for each in within(condition) if isinstance(each, Missing)}
    names = dict.fromkeys(each.name for each in within(condition) if isinstance(each, Variable))
    if not asked and not names:
        reader.refuse(0, "attribute-not-named")
    needed = [Missing(each) for each in names if each not in asked]
    return Or((*needed, condition)) if needed else condition


class _Reader:
    """The tokens of a rule and the place of the reader among them."""

    def __init__(self, text: str, where: Location, shown: bool) -> None:
        self._text = text
        self._where = where
        self._shown = text if shown else None
        self._tokens: list[_Token] = []
        self._next = 0
        self._depth = 0

    def rule(self, start: int) -> Condition:
        """Read everything from a position on as one condition."""
        self._tokens = self._split(start)
        condition = self._condition(_OR)
        if self._token.kind != "end":
            self._refuse(self._token, "operator-expected")
        return condition

    def written(self) -> str:
        """Return the rule without its name and comment."""
        return self._text[self._tokens[0].at : self._tokens[-2].end]

    def _split(self, start: int) -> list[_Token]:
        tokens: list[_Token] = []
        at = start
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if not match:
                code, data = _INSTEAD.get(self._text[at], ("unexpected-character", {}))
                self.refuse(at, code, **data)
            kind, value = str(match.lastgroup), match[0]
            if kind in ("number", "name") and tokens and tokens[-1].kind == "number" and tokens[-1].end == at:
                self._refuse(tokens[-1], "number-not-readable")
            if kind == "name" and value.lower() in _WORDS:
                kind, value = "word", value.lower()
            elif kind in ("ticked", "text"):
                quote = value[0]
                kind, value = ("name" if quote == "`" else "text"), value[1:-1].replace(quote * 2, quote)
            if kind != "space":
                tokens.append(_Token(kind, value, at, match.end()))
            at = match.end()
        return [*tokens, _Token("end", "", len(self._text), len(self._text))]

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def refuse(self, at: int, code: str, /, **data: Any) -> NoReturn:
        """Refuse the rule from a position on."""
        refuse(self._where, code, at, shown=self._shown, **data)

    def _refuse(self, token: _Token, code: str, /, **data: Any) -> NoReturn:
        self.refuse(token.at, code, **data)

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _accept(self, *values: str) -> _Token | None:
        """Take the next token if it is one of some operators and words."""
        is_one = self._token.kind in ("sign", "word") and self._token.value in values
        return self._take() if is_one else None

    def _expect(self, value: str, code: str, /, **data: Any) -> None:
        if not self._accept(value):
            self._refuse(self._token, code, **data)

    def _condition(self, level: int) -> Condition:
        start = self._token
        return self._as_condition(self._expression(level), start)

    def _value(self, level: int) -> Value:
        start = self._token
        return self._as_value(self._expression(level), start)

    def _as_condition(self, found: Expression, start: _Token) -> Condition:
        if isinstance(found, Value):
            self._refuse(start, "value-as-condition", example="x == 1")
        return found

    def _as_value(self, found: Expression, start: _Token) -> Value:
        if not isinstance(found, Value):
            self._refuse(start, "condition-as-value")
        return found

    def _number(self, found: Expression, start: _Token) -> Value:
        value = self._as_value(found, start)
        if isinstance(value, Text):
            self._refuse(start, "text-as-number")
        return value

    def _expression(self, level: int) -> Expression:
        """Read an expression with the operators that bind at least as strongly as `level`."""
        self._depth += 1
        start = self._token
        if self._depth > _DEEPEST:
            refuse_parts(self._where, start.at, self._shown)
        found = self._first()
        while self._level() >= level:
            found = self._joined(found, start)
        self._depth -= 1
        return found

    def _level(self) -> int:
        return _LEVELS.get(self._token.value, 0) if self._token.kind in ("sign", "word") else 0

    def _first(self) -> Expression:
        """Read what stands before any sign: a constant, an attribute, or what a sign, a word or a bracket opens."""
        token = self._take()
        if token.kind == "number":
            return Number(self._float(token))
        if token.kind == "text":
            return Text(token.value)
        if token.kind == "name":
            return self._function(token) if self._accept("(") else Variable(token.value)
        opens = {"(": self._bracket, "-": self._negative, "not": self._opposite, "if": self._governed}
        if token.value not in opens:
            turned = token.value in ("<", ">") and self._next > 1 and self._tokens[self._next - 2].value == "="
            if turned:
                self._refuse(token, "other-spelling", instead=f"{token.value}=")
            self._refuse(token, "value-expected")
        return opens[token.value]()

    def _bracket(self) -> Expression:
        inner = self._expression(_OR)
        self._expect(")", "bracket-not-closed")
        return inner

    def _opposite(self) -> Condition:
        return Not(self._condition(_NOT))

    def _float(self, token: _Token) -> float:
        value = float(token.value)
        if math.isinf(value):
            self._refuse(token, "constant-too-large")
        return value

    def _negative(self) -> Value:
        start = self._token
        value = self._number(self._expression(_UNARY), start)
        return Number(-value.value) if isinstance(value, Number) else Arithmetic("*", Number(-1.0), value)

    def _function(self, name: _Token) -> Function:
        function: Any = name.value.lower()
        if function not in _FUNCTIONS or self._text[name.at] == "`":
            self._refuse(name, "function-unknown", functions=_FUNCTIONS)
        start = self._token
        return Function(function, self._number(self._bracket(), start))

    def _governed(self) -> Condition:
        """Read ``if A then B`` as ``not A or B``; ``else C`` adds ``A or C``."""
        governs = self._condition(_OR)
        self._expect("then", "then-missing")
        governed = Or((Not(governs), self._condition(_OR)))
        if not self._accept("else"):
            return governed
        return And((governed, Or((governs, self._condition(_OR)))))

    def _joined(self, left: Expression, start: _Token) -> Expression:
        """Read an operator or a word that stands after an expression, and what it joins to that."""
        token = self._token
        if token.value in ("and", "or"):
            parts = [self._as_condition(left, start)]
            while self._accept(token.value):
                parts.append(self._condition(_LEVELS[token.value] + 1))
            return And(tuple(parts)) if token.value == "and" else Or(tuple(parts))
        if token.value in _COMPARED:
            return self._compared(self._as_value(left, start))
        if token.kind == "word":
            return self._described(self._as_value(left, start), start)
        self._take()
        sign: Any = token.value
        after = self._token
        right = self._expression(_LEVELS[sign] + 1)
        if sign in "/%" and right == Number(0.0):
            self._refuse(after, "division-by-zero-in-rule")
        return Arithmetic(sign, self._number(left, start), self._number(right, after))

    def _compared(self, left: Value) -> Condition:
        """Read ``a < b``, or a chain ``a <= b <= c`` as ``a <= b and b <= c``."""
        parts = []
        while token := self._accept(*_COMPARED):
            sign: Any = "==" if token.value == "=" else token.value
            right = self._value(_SUM)
            parts.append(Comparison(sign, left, right, exact=False))
            left = right
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _described(self, of: Value, start: _Token) -> Condition:
        """Read what follows a value and the words ``in``, ``not in``, ``is`` or ``is not``."""
        if self._accept("is"):
            negated = self._accept("not")
            found = self._property(of, start)
        else:
            negated = self._accept("not")
            self._expect("in", "in-missing")
            found = self._membership(of, start)
        return Not(found) if negated else found

    def _property(self, of: Value, start: _Token) -> Condition:
        token = self._take()
        if token.kind != "name" or token.value.lower() not in ("missing", "integer"):
            self._refuse(token, "property-expected")
        if token.value.lower() == "integer":
            return Integral(of)
        if not isinstance(of, Variable):
            self._refuse(start, "only-for-attributes", what="'is missing'")
        return Missing(of.name)

    def _membership(self, of: Value, start: _Token) -> Condition:
        token = self._take()
        if token.kind == "name" and token.value.lower() == "original":
            if not isinstance(of, Variable):
                self._refuse(start, "only-for-attributes", what="'in original'")
            return InOriginal(of, of.name)
        if token.value not in ("{", "(") or token.kind != "sign":
            self._refuse(token, "set-expected", numbers="{1, 2}", texts="{'a', 'b'}")
        among = [self._constant()]
        while self._accept(","):
            among.append(self._constant())
        bracket = "}" if token.value == "{" else ")"
        self._expect(bracket, "set-not-closed", bracket=bracket)
        return Member(of, tuple(among))

    def _constant(self) -> float | str:
        sign = self._accept("-")
        token = self._take()
        if token.kind == "number":
            return -self._float(token) if sign else self._float(token)
        if token.kind != "text" or sign:
            self._refuse(token, "only-constants-in-sets")
        return token.value
