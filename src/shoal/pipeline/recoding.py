"""What a user must know of recoded columns, and which rules recoding would take the values from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shoal.edits.expressions import Rule
from shoal.edits.passes import columns_of
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.pipeline.records import Records
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import pc
from shoal.tables.attributes import plain_values


@dataclass(frozen=True)
class _Found:
    """The classes or levels of recoded columns that records have."""

    levels: Mapping[str, frozenset[str]]

    def __add__(self, other: "_Found") -> "_Found":
        return _Found({name: each | other.levels[name] for name, each in self.levels.items()})


def refuse_recoded_rules(plan: Plan, rules: Sequence[Rule]) -> None:
    """Refuse to recode attributes of rules, which are about the values as they were."""
    if names := [name for name in columns_of(rules) if name in plan.recode]:
        raise PlanError(*(Message("recoded-in-rule", field="recode", column=name) for name in names))


def on_recoding(plan: Plan, records: Records) -> list[Message]:
    """Describe what was recoded, by a pass over these columns: losses do not count what recoding takes away."""
    if not plan.recode:
        return []

    def look(piece: pa.Table, start: int | None) -> _Found:
        table = Table(piece)
        values = {name: plain_values(table.column(name)).drop_null().unique() for name in plan.recode}
        return _Found({name: frozenset(pc.cast(each, pa.string()).to_pylist()) for name, each in values.items()})

    found = records.fold(look, [*plan.recode], "scan").levels
    notes = [Message("recoded", columns=[_described(name, plan, found[name]) for name in plan.recode])]
    if constant := [name for name in plan.recode if len(found[name]) == 1]:
        notes.append(Message("recoded-into-one", columns=constant, number=len(constant)))
    return notes


def _described(name: str, plan: Plan, found: frozenset[str]) -> Message:
    recoding = plan.recode[name]
    new = plan.classes.get(name) or [*recoding]
    empty = sum(level not in found for level in new)
    into: dict[str, Any] = {"classes" if name in plan.classes else "levels": len(new)}
    return Message("recoded-column", column=name, empty=empty, others=len(found - {*new}), **into)
