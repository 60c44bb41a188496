"""The names by which messages tell rules apart, and how a rule that cannot be read is refused: where, what and why."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NoReturn, TypeVar

from shoal.edits.expressions import Expression, Rule, within
from shoal.errors import PlanError
from shoal.messages import Message

LONGEST = 20_000  # characters of one rule
MOST_PARTS = 400  # values and conditions in one rule, so that recursion over it comes to an end
_EXCERPT = 20  # characters of a rule that a message shows
_LONGEST_NAME = 100  # characters of a name in a message
_MOST_SHOWN = 20  # problems that a message lists

Read = TypeVar("Read")


@dataclass(frozen=True)
class Location:
    """Number of a rule in a list, or its line in a file."""

    number: int | None = None
    line: int | None = None
    file: str = ""

    @property
    def name(self) -> str:
        """Name of a rule that has none of its own."""
        return f"rule {self.number}" if self.line is None else f"line {self.line}"


def refuse(where: Location, code: str, at: int | None = None, /, *, shown: str | None = None, **data: Any) -> NoReturn:
    """Refuse a rule.

    Parameters
    ----------
    where
        The rule.
    code
        Code of the message.
    at
        Index of the character at which the rule cannot be read.
    shown
        Text of the rule, if it was given as text. A file might turn out to hold data.
    data
        Data of the message. Long texts are cut off.
    """
    found = {name: value for name, value in vars(where).items() if value}
    if at is not None:
        found["position"] = at + 1
        if shown is not None:
            found |= {"excerpt": " ".join(shown[at : at + _EXCERPT].split())} if at < len(shown) else {"end": True}
    found |= {name: _cut(value) if isinstance(value, str) else value for name, value in data.items()}
    raise PlanError(code, field="edits", **found)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."


def refuse_long(where: Location, text: str) -> None:
    """Refuse a text that no person wrote as one rule, or that is no text in any encoding."""
    if text != text.encode(errors="ignore").decode():
        refuse(where, "not-utf8")
    if len(text) > LONGEST:
        refuse(where, "rule-too-long", characters=len(text), most=LONGEST)


def refuse_large(where: Location, expression: Expression) -> None:
    """Refuse an expression of too many values and conditions."""
    if next(islice(within(expression), MOST_PARTS, None), None) is not None:
        refuse_parts(where)


def refuse_parts(where: Location, at: int | None = None, shown: str | None = None) -> NoReturn:
    """Refuse a rule that has too many parts, or too many within one another."""
    refuse(where, "rule-too-complex", at, shown=shown, most=MOST_PARTS)


def gathered(readings: Iterable[Callable[[], Read]]) -> list[Read]:
    """Return the results of all readings, or raise one error that lists all that are refused, not the first alone."""
    found: list[Read] = []
    problems: list[Message] = []
    for reading in readings:
        try:
            found.append(reading())
        except PlanError as error:
            problems += error.messages
    if len(problems) > _MOST_SHOWN:
        more = Message("more-unread-rules", field="edits", number=len(problems) - _MOST_SHOWN)
        problems = [*problems[:_MOST_SHOWN], more]
    if problems:
        raise PlanError(*problems)
    return found


def with_unique_names(rules: Sequence[Rule]) -> list[Rule]:
    """Make the names of rules unique: 'total', 'total (2)', 'total (3)'."""
    taken = {rule.name for rule in rules}
    times: Counter[str] = Counter()
    named = []
    for rule in rules:
        times[rule.name] += 1
        name = rule.name
        while times[rule.name] > 1 and name in taken:  # also where a rule is called 'total (2)' of its own
            name = f"{rule.name} ({times[rule.name]})"
            times[rule.name] += name in taken
        taken.add(name)
        named.append(replace(rule, name=name))
    return named
