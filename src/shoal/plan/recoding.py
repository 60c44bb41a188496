"""Global recoding as a plan has it: cut points between classes of numbers or dates, or old levels of each new one.

The names of classes follow from the cut points alone. So they are the same in every file and on every engine, however a
column is stored.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag

from shoal.messages import Message

if TYPE_CHECKING:
    from shoal.plan.model import Plan

Cut = int | float | str  # a number, or a date as ISO 8601 writes it
Cuts = Sequence[Cut]
Levels = Mapping[str, Sequence[Cut]]  # for each new level the old ones

_LARGEST_WHOLE = 2**53  # above, a float does not tell whole numbers apart


def classes_of(cuts: Cuts) -> list[str]:
    """Return the names of the classes between cut points, in order; a cut point belongs to the class above it.

    No name begins with a sign: spreadsheets would take it for a formula.
    """
    if is_dated(cuts):
        inner = [f"{low} to before {high}" for low, high in pairwise(cuts)]
        return [f"before {cuts[0]}", *inner, f"{cuts[-1]} and later"]
    inner = [f"{'from ' if str(low).startswith('-') else ''}{low} to under {high}" for low, high in pairwise(cuts)]
    last = f"at least {cuts[-1]}" if str(cuts[-1]).startswith("-") else f"{cuts[-1]} and over"
    return [f"under {cuts[0]}", *inner, last]


def is_dated(cuts: Cuts) -> bool:
    """Whether cut points are dates or times."""
    return isinstance(cuts[0], str)


def _cuts(given: Sequence[Any]) -> list[Cut]:
    """Read cut points: all numbers, or all dates."""
    if not given:
        raise ValueError(Message("empty", example="--recode=age=18,30,45,65"))
    cuts = [_cut(each) for each in given]
    if len({isinstance(each, str) for each in cuts}) > 1:
        raise ValueError(Message("cut-points-of-two-kinds"))
    order: list[Any] = [datetime.fromisoformat(each) if isinstance(each, str) else each for each in cuts]
    if any(low >= high for low, high in pairwise(order)):
        raise ValueError(Message("cut-points-unordered"))
    return cuts


def _cut(given: Any) -> Cut:
    """Read a number, as short as can be, or a date."""
    if isinstance(given, datetime | date):
        return _moment(given)
    try:
        if isinstance(given, bool):
            raise ValueError
        number = float(given)
    except (TypeError, ValueError):
        return _of_text(given)
    if not math.isfinite(number):
        raise ValueError(Message("cut-point-not-finite"))
    return int(number) if number.is_integer() and abs(number) < _LARGEST_WHOLE else number


def _of_text(given: Any) -> str:
    try:
        return _moment(datetime.fromisoformat(given.strip()))
    except (AttributeError, TypeError, ValueError):
        pass
    raise ValueError(Message("not-a-cut-point"))


def _moment(given: date) -> str:
    """Write a date, or a date with a time where it is not midnight."""
    if not isinstance(given, datetime):
        return given.isoformat()
    if given.tzinfo is not None:
        raise ValueError
    return given.date().isoformat() if given.time() == time() else given.isoformat(sep=" ")


def _levels(given: Mapping[Any, Any]) -> dict[str, list[Cut]]:
    """Read the old levels of each new one; each is named once."""
    found: dict[str, list[Cut]] = {}
    for new, old in given.items():
        if not isinstance(new, str) or not new.strip():
            raise ValueError(Message("empty-new-level"))
        each = [old] if isinstance(old, str) or not hasattr(old, "__iter__") else list(old)
        if not each:
            raise ValueError(Message("new-level-of-none"))
        found[new] = [_level(level) for level in each]
    if not found:
        raise ValueError(Message("empty"))
    every = [str(level) for each in found.values() for level in each]
    if len({*every}) < len(every):
        raise ValueError(Message("old-level-twice"))
    return found


def _level(level: Any) -> Cut:
    if isinstance(level, bool):
        return str(level).lower()
    level = level.item() if hasattr(level, "item") else level  # of NumPy
    if isinstance(level, date):
        return _moment(level)
    if not isinstance(level, str | int | float) or level == "":
        raise ValueError(Message("not-an-old-level"))
    return level


def _recoding(given: object) -> object:
    """Read a recoding in one of its two forms."""
    given = given.tolist() if hasattr(given, "tolist") else given  # an array of NumPy
    if isinstance(given, Mapping):
        return _levels(given)
    if isinstance(given, list | tuple | range):
        return _cuts(list(given))
    if isinstance(given, int | float | date) and not isinstance(given, bool):
        return _cuts([given])
    raise ValueError(Message("not-a-recoding"))


Recoding = Annotated[
    Annotated[list[Cut], Field(min_length=1), Tag("lists")]
    | Annotated[dict[str, Annotated[list[Cut], Field(min_length=1)]], Field(min_length=1), Tag("table")],
    Discriminator(lambda given: "table" if isinstance(given, Mapping) else "lists"),
    BeforeValidator(_recoding),
]

# Roles whose values are not for the release, or are numbers by which records are counted.
_NOT_RECODED = ("weights", "unit", "household", "identifiers")


def contradictions(plan: "Plan") -> Iterator[Message]:
    """Recoding of attributes that cannot be recoded, or that the plan takes for something else afterwards."""
    for role in _NOT_RECODED:
        for name in plan.roles[role]:
            if name in plan.recode:
                yield Message("role-not-recoded", field="recode", column=name, role=role)
    for name, recoding in plan.recode.items():
        type_ = plan.types.get(name)
        made = ["ordinal"] if isinstance(recoding, list) else ["nominal", "ordinal"]
        if type_ not in (None, *made):
            yield Message("type-not-of-recoding", field="types", column=name, type=type_, made=made)
        if name in plan.classes and plan.levels.get(name, plan.classes[name]) != plan.classes[name]:
            yield Message("levels-of-classes", field="levels", column=name)
