"""What a backend cannot do, and why: one table, from which error messages and the documentation are made."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan import Plan

Engine = Literal["memory", "file", "spark"]


class Limit(NamedTuple):
    """What some backends do not do.

    Attributes
    ----------
    field, option
        The field of the plan, and what is asked for in it, as a user writes it.
    engines
        The backends that do not have it.
    reason
        Why, as the end of a sentence.
    applies
        Whether a plan asks for it.
    """

    field: str
    option: str
    engines: tuple[Engine, ...]
    reason: str
    applies: Callable[[Plan], bool]


LIMITS = [
    Limit(
        "method",
        "method = 'mic1d'",
        ("file", "spark"),
        "sorts all values of the table as one sequence, twice",
        lambda plan: plan.method == "mic1d",
    ),
    Limit(
        "epsilon",
        "epsilon",
        ("file", "spark"),
        "orders all records at once, so that one record moves others by one place at most",
        lambda plan: plan.epsilon is not None,
    ),
    Limit(
        "bound",
        "bound = true",
        ("file", "spark"),
        "bounds the groups of the whole table, not of record blocks",
        lambda plan: plan.bound,
    ),
    Limit(
        "keep_totals",
        "keep_totals",
        ("spark",),
        "changes the values of all groups together, in several passes over groups that Spark does not keep",
        lambda plan: plan.keep_totals is not None,
    ),
    Limit(
        "budget",
        "a budget in seconds",
        ("spark",),
        "depends on the clock of each worker; a number of steps gives the same groups anywhere",
        lambda plan: plan.effort.seconds is not None,
    ),
]


def limits_of(engine: Engine, plan: Plan) -> list[Limit]:
    """List what a plan asks for that a backend does not have."""
    return [limit for limit in LIMITS if engine in limit.engines and limit.applies(plan)]


def refuse_limits(engine: Engine, plan: Plan) -> None:
    """Report everything that a plan asks for and the backend does not have, before any record is read."""
    problems = []
    for limit in limits_of(engine, plan):
        instead, *others = [name for name in ("memory", "file", "spark") if name not in limit.engines]
        problems.append(
            Message(
                "not-on-engine",
                field=limit.field,
                option=limit.option,
                engine=engine,
                reason=limit.reason,
                instead=instead,
                other=others[0] if others else None,
            )
        )
    if problems:
        raise PlanError(*problems)
