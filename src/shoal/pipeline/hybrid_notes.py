"""What a user should know of hybrid data; and what would give a person's own value away, which is refused."""

from collections.abc import Iterator

from shoal.errors import DataError
from shoal.masking.ipso import safe_k_orthogonal
from shoal.messages import Message
from shoal.pipeline.hybrid_parts import Parts
from shoal.pipeline.hybrid_sums import HybridSums
from shoal.pipeline.verify_hybrid import Claim
from shoal.plan import Plan
from shoal.tables.attributes import NUMBERS

_LITTLE_VARIANCE = 1e-3  # below this share, what is left to change is worth a word


def on_preserved(parts: Parts, claim: Claim, plan: Plan, fused: int) -> list[Message]:
    """Explain what is preserved, what is not, and what must stay secret."""
    found = []
    if claim.kept:
        groups = plan.method != "ms"
        found.append(Message("moments-preserved", columns=claim.kept, quasi=claim.others, groups=groups))
    if rounded := [a.name for a in parts.synthetic if a.name not in (*claim.kept, *plan.constraints)]:
        found.append(Message("preserved-up-to-rounding", columns=rounded))
    if claim.dealt:
        found.append(Message("permuted-in-groups", columns=claim.dealt))
    if parts.quasi and not plan.mask_quasi:
        found.append(Message("quasi-unchanged", maskable=plan.method == "hybrid"))
        if odd := [a.name for a in parts.quasi if a.type not in NUMBERS]:
            found.append(Message("no-covariances", columns=odd))
    if fused:
        found.append(Message("groups-merged", groups=fused))
    return found


def on_orthogonal(parts: Parts, plan: Plan) -> list[Message]:
    """Warn of what synthetic residuals give away that are orthogonal to the original ones."""
    if plan.ipso != "orthogonal" or not parts.synthetic:
        return []
    found = [Message("release-once")]
    safe = safe_k_orthogonal(len(parts.synthetic), len(parts.others))
    if plan.k is not None and plan.k < safe:
        found.append(Message("solvable-groups", k=plan.k, safe=safe))
    return found


def on_unchanged(parts: Parts, sums: HybridSums, plan: Plan) -> list[Message]:
    """Refuse what would be published as it is; count values that all members of a group have in common."""
    notes, problems = [], []
    for j, attribute in enumerate((*parts.synthetic, *parts.dealt)):
        if j < len(parts.synthetic) and (count := int(sums.added["unchanged"][j])):
            problems.append(_given_away(attribute.name, count, parts, plan, sums, float(sums.left[j])))
        if records := int(sums.added["alike_records"][j]):
            groups = int(sums.added["alike"][j])
            notes.append(Message("same-in-groups", column=attribute.name, groups=groups, records=records))
    if problems:
        raise DataError(*problems)
    return notes


def on_little_freedom(parts: Parts, sums: HybridSums, plan: Plan) -> Iterator[Message]:
    """Count values that hardly moved, because what is published, or the record itself, leaves them little room."""
    if count := sums.count("tight"):
        if plan.method == "ms" or plan.ipso == "orthogonal":
            yield Message("hardly-any-noise", records=count, alpha=plan.method == "ms")
        else:
            yield Message("hardly-moved", records=count)
    for attribute, left in zip(parts.synthetic, sums.left, strict=True):
        if left < _LITTLE_VARIANCE and parts.others:
            share = float(f"{left:.1g}")
            yield Message("nearly-follows", column=attribute.name, left=share, records=sums.count("records"))


def on_own_values(parts: Parts, sums: HybridSums) -> list[Message]:
    """Count who publishes the own value, as it is after rounding; refuse an attribute where most of them do."""
    found, problems = [], []
    for j, attribute in enumerate(parts.synthetic):
        own = int(sums.added["own"][j])
        if 2 * own > sums.count("records") - int(sums.added["alike_records"][j]):
            problems.append(Message("unchanged-after-rounding", column=attribute.name, records=own))
        if own:
            found.append(Message("own-values-released", column=attribute.name, records=own))
    if problems:
        raise DataError(*problems)
    return found


def on_negative(parts: Parts, sums: HybridSums) -> list[Message]:
    """Count negative values of attributes that had none."""
    return [
        Message("newly-negative", column=attribute.name, records=count)
        for j, attribute in enumerate(parts.synthetic)
        if attribute.type == "continuous"
        and (count := int(sums.added["negative"][j]))
        and not sums.added["broken"][0][j]
    ]


def refuse_broken(parts: Parts, sums: HybridSums, plan: Plan) -> None:
    """Refuse a constraint that the original values do not keep to."""
    for j, attribute in enumerate(parts.synthetic):
        for rule in plan.constraints.get(attribute.name, []):
            if count := int(sums.added["broken"][("non-negative", "integer").index(rule)][j]):
                raise DataError("constraint-broken-before", column=attribute.name, rule=rule, records=count)


def _given_away(name: str, count: int, parts: Parts, plan: Plan, sums: HybridSums, left: float) -> Message:
    if plan.method == "ms" and 2 * count > sums.count("records") and left >= _LITTLE_VARIANCE:
        return Message("unchanged-by-alpha", column=name, records=count)
    if plan.ipso == "orthogonal":
        return Message("unchanged-orthogonal", column=name, records=count)
    if not parts.others:
        return Message("unchanged-last-digits", column=name, records=count)
    quasi = [each.name for each in parts.others]
    return Message("unchanged-by-quasi", column=name, records=count, quasi=quasi, k=plan.k)
