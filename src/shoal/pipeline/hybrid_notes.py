"""What a user should know of hybrid data; and what would give somebody's own value away, which is refused."""

import numpy as np

from shoal.errors import DataError
from shoal.pipeline.hybrid_parts import Labels, Made, Parts
from shoal.pipeline.verify_hybrid import Claim, all_equal, same
from shoal.plan import Plan
from shoal.tables.arrow import Array
from shoal.tables.attributes import NUMBERS
from shoal.text import counted, listed

_LITTLE_ROOM, _LITTLE_VARIANCE = 0.01, 1e-3  # below these shares, what is left to change is worth a word


def on_preserved(parts: Parts, claim: Claim, plan: Plan, fused: int) -> list[str]:
    """Say what is preserved, what is not, and what must stay secret."""
    where = "in the file" if plan.method == "ms" else "in the file and in each group"
    found = []
    if claim.kept:
        beside = f", and their covariances with {', '.join(claim.others)}" if claim.others else ""
        found.append(f"preserved: means and covariances of {', '.join(claim.kept)}{beside}, {where}")
    if rounded := [a.name for a in parts.synthetic if a.name not in (*claim.kept, *plan.constraints)]:
        found.append(f"preserved up to the rounding of their types: means and covariances of {', '.join(rounded)}")
    if claim.dealt:
        found.append(f"dealt out anew in each group, each on its own, keeping its marginals: {', '.join(claim.dealt)}")
    if parts.quasi and not plan.mask_quasi:
        masked = "; mask_quasi = true masks them too" if plan.method == "hybrid" else ""
        found.append(f"the quasi-identifiers are published as they are, so that no k-anonymity is promised{masked}")
        if odd := [a.name for a in parts.quasi if a.type not in NUMBERS]:
            found.append(f"no covariances are kept with what is not a number: {', '.join(odd)}")
    if fused:
        found.append(
            f"{counted(fused, 'group')} went into others, because the quasi-identifiers singled out a record there"
        )
    return found


def on_unchanged(parts: Parts, made: Made, plan: Plan) -> list[str]:
    """Refuse what would be published as it is; where all members of a group have the same value, say so."""
    notes, problems = [], []
    for j, attribute in enumerate((*parts.synthetic, *parts.dealt)):
        equal = all_equal(attribute.codes, made.labels)
        if j < len(parts.synthetic) and (count := int((made.unchanged[:, j] & ~equal).sum())):
            problems.append(_given_away(attribute.name, count, parts, plan, float(made.left[j])))
        if equal.any():
            groups = counted(len(np.unique(made.labels[equal])), "group")
            notes.append(
                f"'{attribute.name}' is the same for all members in {groups} and is published as it is there: "
                f"{counted(int(equal.sum()), 'record')}"
            )
    if problems:
        raise DataError("\n".join(problems))
    return notes


def on_little_freedom(parts: Parts, made: Made, plan: Plan) -> list[str]:
    """Say how many values hardly moved, because what is published, or the record itself, leaves them little room."""
    found = []
    if parts.synthetic and (count := int((made.room < _LITTLE_ROOM).sum())):
        hardly = f"so far from all others: {counted(count, 'record')}"
        if plan.method == "ms":
            found.append(f"with hardly any noise, so that who knows alpha can compute their values, being {hardly}")
        else:
            found.append(f"with values that have hardly moved, their quasi-identifiers being {hardly}")
    for attribute, left in zip(parts.synthetic, made.left, strict=True):
        if left < _LITTLE_VARIANCE and parts.others:
            found.append(
                f"'{attribute.name}' nearly follows from the quasi-identifiers, which leave {left:.1g} of its variance:"
                f" its values have hardly moved: {counted(len(attribute.codes), 'record')}"
            )
    return found


def on_own_values(parts: Parts, columns: dict[str, Array], labels: Labels) -> list[str]:
    """Count who publishes the own value, as it is after rounding; refuse an attribute where most of them do."""
    found, problems = [], []
    for attribute in parts.synthetic:
        equal = all_equal(attribute.codes, labels)
        own = same(attribute.codes, attribute.read(columns[attribute.name])) & ~equal
        if 2 * own.sum() > (~equal).sum():
            problems.append(
                f"'{attribute.name}' would, once rounded, be published as it is in {counted(int(own.sum()), 'record')}"
                ", more than half; leave the constraint out, take a larger k or a smaller alpha, or make it nominal"
            )
        if own.any():
            found.append(f"'{attribute.name}' is published as it is in {counted(int(own.sum()), 'record')}")
    if problems:
        raise DataError("\n".join(problems))
    return found


def _given_away(name: str, count: int, parts: Parts, plan: Plan, left: float) -> str:
    what = f"'{name}' would be published as it is in {counted(count, 'record')}"
    if plan.method == "ms" and 2 * count > len(parts.synthetic[0].codes) and left >= _LITTLE_VARIANCE:
        return f"{what}: alpha leaves no noise that could be seen; take a smaller one"
    if not parts.others:
        return f"{what}, for within groups it differs in its last digits only; subtract what all have in common"
    ways = "take a larger k, mask the quasi-identifiers too with mask_quasi = true, or " if plan.k else ""
    return (
        f"{what}: the quasi-identifiers that are published as they are give it away, adding up to it or singling the "
        f"record out; {ways}drop one of {listed([each.name for each in parts.others])} with identifiers"
    )
