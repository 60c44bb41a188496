"""The names by which messages tell rules apart, and how a rule that cannot be read is refused: where, what and why."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from textwrap import shorten
from typing import NoReturn, TypeVar

from shoal.edits.expressions import Expression, Rule, within
from shoal.errors import PlanError
from shoal.text import counted

LONGEST = 20_000  # characters of one rule
DIVIDED_BY_ZERO = "this divides by zero. Leave it out"
MOST_PARTS = 400  # values and conditions in one rule, so that recursion over it comes to an end
_EXCERPT = 20  # characters of a rule that a message shows
_LONGEST_REASON = 400  # characters
_MOST_SHOWN = 20  # problems that a message lists

Read = TypeVar("Read")


def refuse(where: str, at: int, reason: str, shown: str | None = None) -> NoReturn:
    """Refuse a rule; `at` is the index of the character from which on it cannot be read.

    The rule is `shown` from there on where it was given as a text: a file might turn out to hold data.
    """
    where = f"{where}, position {at + 1}"
    if shown is not None:
        excerpt = _printable(" ".join(shown[at : at + _EXCERPT].split()))
        where += f", at '{excerpt}'" if at < len(shown) else ", at its end"
    refuse_whole(where, reason)


def refuse_whole(where: str, reason: str) -> NoReturn:
    """Refuse a rule, or more than one, for a reason that has no position; names without end are cut off."""
    raise PlanError([("edits", f"{where}: {_printable(shorten(reason, _LONGEST_REASON))}")])


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def refuse_long(where: str, text: str) -> None:
    """Refuse a text that no person wrote as one rule, or that is no text in any encoding."""
    if text != text.encode(errors="ignore").decode():
        refuse_whole(where, "has characters that UTF-8 does not have. Save it in UTF-8, or type it again.")
    if len(text) > LONGEST:
        refuse_whole(where, f"has {len(text):,} characters, more than the {LONGEST:,} of a rule. Split it")


def refuse_large(where: str, expression: Expression) -> None:
    """Refuse an expression of too many values and conditions."""
    if next(islice(within(expression), MOST_PARTS, None), None) is not None:
        refuse_parts(where)


def refuse_parts(where: str) -> NoReturn:
    """Refuse a rule that has too many parts, or too many within one another."""
    refuse_whole(where, f"has more than {MOST_PARTS} values and conditions, or is nested too deeply. Split it")


def gathered(readings: Iterable[Callable[[], Read]]) -> list[Read]:
    """Return the results of all readings, or raise one error that lists all that are refused, not the first alone."""
    found: list[Read] = []
    problems: list[tuple[str, str]] = []
    for reading in readings:
        try:
            found.append(reading())
        except PlanError as error:
            problems += error.problems
    if len(problems) > _MOST_SHOWN:
        more = counted(len(problems) - _MOST_SHOWN, "rule cannot", "rules cannot")
        problems = [*problems[:_MOST_SHOWN], ("edits", f"{more} be read besides")]
    if problems:
        raise PlanError(problems)
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
