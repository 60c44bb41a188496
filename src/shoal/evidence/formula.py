"""Formulas of regressions, as R and statsmodels write them: `income ~ age + C(educ)`.

A response, a tilde, and terms joined by `+`: the name of a number, `C(name)` for categories, `a:b` for the product of
two of these, and `a*b` for both and their product. Names that are not plain words stand in backticks. There is always
an intercept. Functions such as log(x), powers, brackets and `-` are not supported: compute such columns beforehand.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from shoal.errors import PlanError
from shoal.messages import Message

_WORD = re.compile(r"[^\W\d][\w.]*")
_FACTOR = re.compile(r"\s*(?:(?P<plain>[^\W\d][\w.]*)|`(?P<quoted>[^`]+)`)\s*(?P<call>\()?")


class Factor(NamedTuple):
    """A column of a term, as a number or as categories."""

    name: str
    categories: bool

    def __str__(self) -> str:
        name = self.name if _WORD.fullmatch(self.name) else f"`{self.name}`"
        return f"C({name})" if self.categories else name


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Formula:
    """A response, and terms of one or two factors."""

    text: str
    response: str
    terms: list[Term]

    @property
    def names(self) -> list[str]:
        """The columns that it needs, each once."""
        return list(dict.fromkeys([self.response, *(factor.name for term in self.terms for factor in term)]))

    @property
    def categorical(self) -> list[str]:
        """The columns that it takes as categories."""
        return list(dict.fromkeys(factor.name for term in self.terms for factor in term if factor.categories))


def spelled(term: Term) -> str:
    """Write a term as in a formula."""
    return ":".join(map(str, term))


def parse_formula(text: str) -> Formula:
    """Read a formula; a `PlanError` says what is not supported."""
    try:
        return _Reader(text).formula()
    except _Unsupported as error:
        raise PlanError("formula-not-supported", field="analysis", formula=text, why=error.why) from None


class _Unsupported(ValueError):
    def __init__(self, code: str, /, **data: str) -> None:
        self.why = Message(code, **data)
        super().__init__(self.why)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def formula(self) -> Formula:
        response = self._factor()
        if response.categories:
            raise _Unsupported("categorical-response")
        if not self._accept("~"):
            raise _Unsupported("no-tilde")
        terms: list[Term] = []
        while True:
            terms += [term for term in self._term() if term not in terms]
            if not self._accept("+"):
                break
        if rest := self._text[self._at :].strip():
            raise _Unsupported("unknown-sign", sign=rest[0])
        if response.name in {factor.name for term in terms for factor in term}:
            raise _Unsupported("response-among-terms")
        _refuse_alone(terms)
        return Formula(self._text.strip(), response.name, sorted(terms, key=len))

    def _term(self) -> list[Term]:
        if self._accept("1"):
            return []
        one = self._factor()
        if self._accept(":"):
            return [(one, self._other(one))]
        if self._accept("*"):
            two = self._other(one)
            return [(one,), (two,), (one, two)]
        return [(one,)]

    def _other(self, one: Factor) -> Factor:
        two = self._factor()
        if self._text[self._at :].lstrip()[:1] in (":", "*"):
            raise _Unsupported("product-of-many")
        if two.name == one.name:
            raise _Unsupported("product-of-itself")
        return two

    def _factor(self) -> Factor:
        found = _FACTOR.match(self._text, self._at)
        if found is None:
            rest = self._text[self._at :].strip()
            raise _Unsupported("no-column-here", sign=rest[0]) if rest else _Unsupported("ends-too-early")
        self._at = found.end()
        name = found["plain"] or found["quoted"]
        if found["call"] is None:
            return Factor(name, categories=False)
        if found["plain"] != "C":
            raise _Unsupported("another-function")
        inside = self._factor()
        if inside.categories or not self._accept(")"):
            raise _Unsupported("several-in-c")
        return Factor(inside.name, categories=True)

    def _accept(self, sign: str) -> bool:
        rest = self._text[self._at :]
        found = rest.lstrip().startswith(sign)
        if found:
            self._at += len(rest) - len(rest.lstrip()) + len(sign)
        return found


def _refuse_alone(terms: list[Term]) -> None:
    """Refuse products with categories that are not terms themselves: their coding would be another one."""
    for term in terms:
        if len(term) == 2 and any(factor.categories for factor in term) and not all((each,) in terms for each in term):
            raise _Unsupported("product-without-factors", term=spelled(term), both="*".join(map(str, term)))
