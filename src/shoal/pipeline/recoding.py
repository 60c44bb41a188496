"""What a user must know of recoded columns, and which rules recoding would take the values from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from shoal.edits.expressions import Rule
from shoal.edits.passes import columns_of
from shoal.errors import PlanError
from shoal.messages import warning
from shoal.pipeline.records import Records
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import pc
from shoal.tables.attributes import plain_values
from shoal.text import counted, listed


@dataclass(frozen=True)
class _Found:
    """The classes or levels of recoded columns that records have."""

    levels: Mapping[str, frozenset[str]]

    def __add__(self, other: "_Found") -> "_Found":
        return _Found({name: each | other.levels[name] for name, each in self.levels.items()})


def refuse_recoded_rules(plan: Plan, rules: Sequence[Rule]) -> None:
    """Refuse to recode attributes of rules, which are about the values as they were."""
    if names := [name for name in columns_of(rules) if name in plan.recode]:
        what = "which a rule uses. Leave it out, or leave out the rule."
        raise PlanError([("recode", f"names '{name}', {what}") for name in names])


def on_recoding(plan: Plan, records: Records) -> list[str]:
    """Describe what was recoded, by a pass over these columns: losses do not count what recoding takes away."""
    if not plan.recode:
        return []

    def look(piece: pa.Table, start: int | None) -> _Found:
        table = Table(piece)
        values = {name: plain_values(table.column(name)).drop_null().unique() for name in plan.recode}
        return _Found({name: frozenset(pc.cast(each, pa.string()).to_pylist()) for name, each in values.items()})

    found = records.fold(look, [*plan.recode], "scan").levels
    what = [_described(name, plan, found[name]) for name in plan.recode]
    notes = [f"recoded before all else: {'; '.join(what)}. Losses and risks are those of the recoded columns, and do "
             "not count what recoding took away"]  # fmt: skip
    if constant := [name for name in plan.recode if len(found[name]) == 1]:
        one = "one class or level" if len(constant) == 1 else "one class or level each"
        notes.append(warning(f"All records are in {one} of {listed(constant)}, which tells nothing any more."))
    return notes


def _described(name: str, plan: Plan, found: frozenset[str]) -> str:
    recoding = plan.recode[name]
    new = plan.classes.get(name) or [*recoding]
    empty = sum(level not in found for level in new)
    text = f"'{name}' into {counted(len(new), *(('class', 'classes') if name in plan.classes else ('level',)))}"
    text += f" ({empty:,} without records)" if empty else ""
    if rest := len(found - {*new}):
        text += f", with {counted(rest, 'other level')} unchanged"
    return text
