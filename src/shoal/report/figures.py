"""What a report shows of a release: figures and counts, each of many records, gathered before anything is drawn."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix
from shoal.pipeline.counting import Sizes
from shoal.pipeline.sample import Sample
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.report.distributions import LEAST, Distribution, distribution
from shoal.tables.attributes import NUMBERS, Attribute, Codes

if TYPE_CHECKING:
    from shoal.release import Release

_POSITIONS = 50  # records at most risk that are named


class Change(NamedTuple):
    """By how much correlations moved, after minus before."""

    names: list[str]
    change: Matrix


class AtRisk(NamedTuple):
    """The records that are published like the fewest others, by position in the published file, counted from 1."""

    alike: int
    records: int
    positions: list[int]


class Masked(NamedTuple):
    """The changed attributes of all records, or of a sample, with what is published in their place.

    `one_each` are the records that count for a threshold: one of each unit, so that many records of one person or firm
    are not taken for many.
    """

    attributes: list[Attribute]
    published: list[Codes]
    one_each: NDArray[np.bool_]

    @classmethod
    def of(cls, release: "Release") -> "Masked":
        """Read a release."""
        masker = release.published.masker
        found = release.published.fold(Sample.of)
        attributes = [each for each in masker.of(found.rows) if each.name in masker.plan.changed]
        one_each, units = np.ones(len(found.rows), dtype=bool), masker.units(found.rows)
        if units is not None:
            one_each[:] = False
            one_each[np.unique(units, return_index=True)[1]] = True
        return cls(attributes, list(found.published.T), one_each)

    def pairs(self, names: list[str]) -> list[tuple[Attribute, Codes]]:
        """List attributes by name, each with what is published of it."""
        pairs = zip(self.attributes, self.published, strict=True)
        return [pair for pair in pairs if pair[0].name in names]


def least(plan: Plan) -> int:
    """How many original records a bar must have, or units if k counts units."""
    return max(plan.k or 0, LEAST)


def distributions(plan: Plan, masked: Masked) -> tuple[list[Distribution], list[str]]:
    """Compare masked attributes before and after; also name those of which nothing can be shown.

    Of confidential attributes nothing is shown, whatever the method makes of them; with epsilon, nothing of any.
    """
    if plan.epsilon is not None:
        return [], []
    shown, hidden = [], []
    for attribute, published in masked.pairs([name for name in plan.changed if name not in plan.confidential]):
        found = distribution(attribute, published, least(plan), masked.one_each)
        if found is None:
            hidden.append(attribute.name)
        else:
            shown.append(found)
    return shown, hidden


def correlation_change(release: "Release") -> Change | None:
    """Compare the correlations of all changed numbers and dates; None if there is no pair, and with epsilon."""
    names = [each.name for each in release.published.masker.changed if each.type in NUMBERS]
    if len(names) < 2 or release.plan.epsilon is not None:
        return None
    losses, sums = release.published.losses, release.published.sums
    return Change(names, losses.correlations(sums, after=True) - losses.correlations(sums))


def group_sizes(release: "Release") -> list[tuple[str, NDArray[np.int64]]]:
    """List the sizes of groups, for every attribute block: records that are published alike."""
    plan, verified = release.plan, release.verified
    if plan.draws and not plan.mask_quasi:
        return [("", np.bincount(release.partitions[0]))] if plan.k else []
    if not plan.given_blocks:
        return [] if verified.together is None else [("", _sizes(verified.together))]
    return [(", ".join(block), _sizes(found)) for block, found in zip(plan.given_blocks, verified.apart, strict=True)]


def _sizes(found: Sizes) -> NDArray[np.int64]:
    return np.repeat(list(found), list(found.values()))


def at_risk(release: "Release") -> AtRisk | None:
    """Find the records that share their published quasi-identifiers with the fewest others."""
    if not release.plan.masked:
        return None
    sizes = np.bincount(release.published.alike)
    alike = sizes[release.published.alike]
    positions = np.flatnonzero(alike == alike.min()) + 1
    return AtRisk(int(alike.min()), len(positions), positions[:_POSITIONS].tolist())


def others(release: "Release") -> list[str]:
    """Name the attributes that are released unchanged and unprotected."""
    return release.plan.roles["publish"]


def treatments(release: "Release") -> list[dict[str, str]]:
    """List for every attribute its role and its treatment."""
    plan, found = release.plan, []
    for name in release.published.names:
        role, done = _treatment(name, plan)
        done = f"{_recoded(name, plan)}{done}"
        found.append({"name": name, "role": role, "type": plan.types.get(name, ""), "done": done})
    return found


def _recoded(name: str, plan: Plan) -> str:
    """Return how a column was recoded before its treatment; nothing if it was not."""
    if name not in plan.recode:
        return ""
    what = "classes" if name in plan.classes else "new levels"
    return f"recoded into {len(plan.classes.get(name, plan.recode[name])):,} {what}, then "


def _treatment(name: str, plan: Plan) -> tuple[str, str]:
    if name == plan.unit:
        return "unit", "dropped" if plan.pseudonym is None else "a random number for each"
    if name == plan.household:
        return "household", "dropped" if plan.pseudonym is None else "a random number for each"
    if name in plan.dropped:
        return "identifier", "dropped"
    if name in plan.masked:
        masked = not plan.draws or plan.mask_quasi
        if plan.method == "mic1d":
            return "quasi-identifier", "mean of a part of the table's values"
        how = aggregate_of(name, plan).replace("_", " ") if masked else ""
        how = how if plan.epsilon is None else f"{how}, with noise,"
        return "quasi-identifier", f"{how} of its group" if masked else "unchanged"
    if name in plan.confidential:
        return "confidential", "synthetic" if plan.draws else "unchanged"
    if name in (plan.strata or []):
        return "stratum", "unchanged"
    return ("survey weight" if name == plan.weights else "published"), "unchanged"
