"""Contexts of Schematron rules: which element a rule is about, and the records it is limited to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from elementpath import XPathToken

from shoal.edits.expressions import And, Condition
from shoal.edits.grammar import Parsed
from shoal.edits.messages import refuse
from shoal.edits.xpath import RECORD, Let, Place, condition_of


@dataclass(frozen=True)
class Context:
    """What a rule is about.

    Attributes
    ----------
    here
        The record, or one of its attributes.
    name
        The name of that element.
    record
        The name of the element of the record, if the context has it.
    limit
        The condition on the records that the rule is about, if there is one.
    """

    here: Place
    name: str
    record: str | None
    limit: Condition | None


def read_context(parsed: Parsed, of_attribute: bool, variables: Mapping[str, Let]) -> Context:
    """Read a context: a path of names, with conditions in brackets behind the record or the attribute.

    Parameters
    ----------
    parsed
        The context, such as ``Record``, ``//Record[number(V8) < 1115]`` or ``Record/V3``.
    of_attribute
        Whether its last step is an attribute and not the record, as it is if the rule's tests speak of ``.``.
    variables
        What ``let`` defined outside of the rule, by name.

    Raises
    ------
    PlanError
        If it is anything else.
    """
    steps = _steps(parsed)
    names = [str(name.value) for name, _ in steps]
    here = Place("attribute", names[-1]) if of_attribute else RECORD
    starts = [here, RECORD] if of_attribute else [here]
    limits: list[Condition] = []
    for at, (_, tokens) in enumerate(reversed(steps)):
        if tokens and at >= len(starts):
            _refuse(parsed, tokens[0], "a condition may stand behind the record alone")
        read = [condition_of(Parsed(parsed.text, parsed.where, token), starts[at], variables) for token in tokens]
        limits = read + limits
    record = names[-len(starts)] if len(names) >= len(starts) else None
    limit = And(tuple(limits)) if len(limits) > 1 else next(iter(limits), None)
    return Context(here, names[-1], record, limit)


def _steps(parsed: Parsed) -> list[tuple[XPathToken, list[XPathToken]]]:
    """Take a path apart: the name of each step, and the conditions in brackets behind it."""
    steps: list[tuple[XPathToken, list[XPathToken]]] = []
    token: XPathToken | None = parsed.token
    while token is not None:
        step, before = token, None
        if token.symbol in ("/", "//") and len(token):
            step, before = token[-1], token[0] if len(token) == 2 else None
        conditions: list[XPathToken] = []
        while step.symbol == "[":
            conditions.insert(0, step[1])
            step = step[0]
        if step.symbol == "child":
            step = step[0]
        if step.symbol != "(name)":
            _refuse(parsed, step, "a context is a path of names, such as Record, //Record or Record[number(V8) < 1115]")
        steps.insert(0, (step, conditions))
        token = before
    return steps


def _refuse(parsed: Parsed, token: XPathToken, reason: str) -> NoReturn:
    refuse(parsed.where, token.span[0], reason)
