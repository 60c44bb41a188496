"""A table made ready: read, its plan settled, its attributes encoded, its records divided into what may be mixed."""

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.edits.apply import Obeyed, Parts, obedience, parted, rules_of, without_promise
from shoal.edits.strategy import Keeping
from shoal.errors import DataError, PlanError
from shoal.kernels.encoded import EncodedMatrix
from shoal.parallel import Progress
from shoal.partitioning.diversity import Secret
from shoal.pipeline.encode import space_of
from shoal.pipeline.partition import Confidential, Partitions, partitions
from shoal.pipeline.resolve import chosen, settled
from shoal.pipeline.roles import confidential_codes, survey_weights
from shoal.pipeline.strata import Strata, stratify
from shoal.plan import Plan
from shoal.tables import Table, open_table
from shoal.tables.attributes import Attribute, Codes
from shoal.text import counted

AnyPath = str | os.PathLike[str]


def asked(table: Any, plan: Plan | AnyPath | None, options: dict[str, Any]) -> Plan:
    """Put together what was asked for; afterwards `input` is the absolute path of the table, or None."""
    if isinstance(plan, str | os.PathLike):
        plan = Plan.load(plan)
    if not isinstance(plan, Plan | None):
        raise PlanError([("plan", "must be a Plan or the path of a plan file; options are given by name, as k=3")])
    if isinstance(table, str | os.PathLike):
        options = {**options, "input": table}
    elif table is not None and plan is not None and plan.input is not None:
        plan = plan.updated(input=None, csv=None)  # they describe another table
    plan = Plan(**options) if plan is None else plan.updated(**options)
    paths = {name: getattr(plan, name) for name in ("input", "edits")}
    return plan.updated(**{name: os.path.abspath(path) for name, path in paths.items() if isinstance(path, str)})  # noqa: PTH100 - keeps links


@dataclass(frozen=True)
class Prepared:
    """A table that is ready to be partitioned: its plan settled, its attributes encoded, its records divided.

    Attributes
    ----------
    plan, source
        What is asked for, with what it left open filled in; and the table.
    original, attributes, weights
        The records that will be published.
    space
        In which they are near or far.
    strata, parts
        Which records never share a group, for strata and, attribute block by attribute block, for rules too.
    edits, obeyed
        How rules are kept, and which the original obeys.
    notes
        What to know of records that were left out.
    """

    plan: Plan
    source: Table
    original: Table
    attributes: list[Attribute]
    weights: Codes | None
    space: EncodedMatrix
    strata: Strata
    parts: Parts
    edits: Keeping | None
    obeyed: Obeyed
    notes: list[str]

    def partitioned(self, progress: Progress, *, keep: bool = False) -> Partitions:
        """Put the records into groups; with `keep`, an interrupt keeps the best so far."""
        secrets = _confidential(self.original, self.plan)
        return partitions(self.space, self.parts.rows, self.plan, secrets, progress, keep=keep)


def prepared(table: Any, plan: Plan, progress: Progress) -> Prepared:
    """Read a table and make it ready to be partitioned as a plan asks."""
    progress("read", 0, 1)
    source = table if isinstance(table, Table) else _opened(plan.input if plan.input is not None else table, plan)
    rules = rules_of(plan)
    open_ = plan.method == "auto"
    plan, attributes, edits = settled(plan, source, rules)
    why = chosen(plan.updated(method="auto"), attributes, len(source)).why if open_ else ""
    weights = survey_weights(source, plan.weights)
    keep, left_out = _kept(attributes, plan)
    obeyed = obedience(source, rules, keep, plan)
    strata, parts = _divided(source, attributes, keep, plan, edits)
    attributes = _rows(attributes, keep)
    return Prepared(
        plan,
        source,
        _only(source, keep),
        attributes,
        None if weights is None else weights[keep],
        space_of(attributes, plan),
        strata,
        parts,
        None if edits is None else without_promise(edits, parts.mixed),
        obeyed.of(keep),
        [
            *([f"method '{plan.method}' was chosen: {why}"] if open_ else []),
            *left_out,
            *obeyed.notes,
            *strata.notes,
        ],
    )


def _opened(source: Any, plan: Plan) -> Table:
    if source is None:
        raise PlanError([("input", "is missing; give a table or name a file")])
    if plan.scale is not None and plan.scale.engine == "spark":
        raise PlanError([("scale.engine", "is spark; call shoal.spark.protect, or shoal protect on the command line")])
    return open_table(source, plan.csv)


def _kept(attributes: list[Attribute], plan: Plan) -> tuple[NDArray[np.bool_], list[str]]:
    """Which records are kept where those that miss a value are left out, and a note on the others."""
    keep = np.ones(len(attributes[0].codes), dtype=bool)
    if plan.missing == "suppress":
        for attribute in attributes:
            keep &= ~attribute.missing
        if (left := int(keep.sum())) < plan.k:
            other = "" if plan.draws else ", or use missing = 'group'"
            raise DataError(
                f"only {counted(left, 'record')} would be left of those that miss nothing, and k = {plan.k}; leave out "
                f"the attribute that is missing most{other}"
            )
    missed = len(keep) - int(keep.sum())
    return keep, [f"{counted(missed, 'record')} left out, missing a value that is needed"] if missed else []


def _divided(
    source: Table, attributes: list[Attribute], keep: NDArray[np.bool_], plan: Plan, edits: Keeping | None
) -> tuple[Strata, Parts]:
    """Divide the records by strata and by what governs rules; those that are left out are struck from `keep`."""
    notes: list[str] = []
    while True:
        kept = _only(source, keep)
        strata = stratify(kept, space_of(_rows(attributes, keep), plan), plan, np.flatnonzero(keep) + 1)
        keep[keep] = strata.keep
        parts = parted(_only(source, keep), edits, strata.rows, plan)
        notes += [*strata.notes, *parts.notes]
        if parts.keep.all():
            return replace(strata, notes=notes), parts
        keep[keep] = parts.keep  # so that a stratum may be too small now


def _only(table: Table, keep: NDArray[np.bool_]) -> Table:
    return table if keep.all() else table.publish({}, keep=keep)


def _rows(attributes: list[Attribute], keep: NDArray[np.bool_]) -> list[Attribute]:
    return attributes if keep.all() else [attribute.rows(keep) for attribute in attributes]


def _confidential(original: Table, plan: Plan) -> Confidential:
    """Gather what the groups must not give away."""
    if plan.l is None and plan.t is None:
        return Confidential([], None, None, [])
    secrets = [
        Secret(name, *confidential_codes(original, name, plan.types.get(name), plan.levels.get(name)))
        for name in plan.confidential
    ]
    return Confidential(secrets, plan.l, plan.t, [np.bincount(secret.codes) for secret in secrets])
