"""Whether the sections of a manifest agree: what was verified must be what its plan promises.

A manifest is not signed, and anyone can edit it. What contradicts itself fails; a forgery that is consistent in all its
parts is found by comparing the manifest with the keeper's copy.
"""

from collections.abc import Iterator
from typing import Any

from shoal.messages import Message
from shoal.pipeline.manifest import Block, Manifest

_ROLES = ("quasi", "confidential", "strata", "weights", "publish")
_PROMISED = ("l", "l_form", "c", "t")


def contradictions(manifest: Manifest) -> Iterator[Message]:
    """Yield a message for everything in which the sections of a manifest do not agree."""
    for each in (_on_blocks, _on_diversity, _on_roles, _on_units, _on_rest):
        yield from each(manifest)


def _names(plan: dict[str, Any], role: str) -> list[str]:
    """List the columns that the plan names in a role."""
    names = plan.get(role)
    return [str(name) for name in names] if isinstance(names, list) else [names] if isinstance(names, str) else []


def _promised(plan: dict[str, Any]) -> list[list[str]]:
    """List the attribute blocks in which the plan promises k."""
    if plan.get("method") == "mic1d" or (plan.get("method") in ("hybrid", "ms") and not plan.get("mask_quasi")):
        return []
    if households := _names(plan, "household_attributes"):
        persons = [name for name in _names(plan, "quasi") if name not in households]
        return [block for block in (households, persons) if block]
    blocks = plan.get("blocks")
    given = [block for block in blocks if isinstance(block, list)] if isinstance(blocks, list) else []
    return given or [_names(plan, "quasi")]


def _on_blocks(manifest: Manifest) -> Iterator[Message]:
    """Yield how the groups that were counted differ from those that the plan promises."""
    plan, verified = manifest.plan, manifest.verified
    promised, strata = _promised(plan), _names(plan, "strata")
    k = plan.get("k")
    if promised and verified.k != k:
        yield Message("contradicts-plan", fields=["k"])
    if not promised and verified.k is not None:
        yield Message("contradicts-plan", fields=["k"])
    found = _sorted(block.attributes for block in verified.blocks)
    wanted = [_sorted([*block, *strata] for block in promised)]
    if plan.get("small_strata") == "merge":
        wanted.append(_sorted(promised))  # groups may hold records of several strata
    if found not in wanted:
        names = {name for block in promised for name in block}
        missing = sorted(names - {name for block in found for name in block})
        yield Message("block-not-verified", columns=missing) if missing else Message("contradicts-groups")


def _sorted(blocks: Any) -> list[list[str]]:
    return sorted(sorted(str(name) for name in block) for block in blocks)


def _on_diversity(manifest: Manifest) -> Iterator[Message]:
    """Yield how the diversity that was verified differs from what the plan promises."""
    plan = manifest.plan
    promised = plan.get("l") is not None or plan.get("t") is not None
    wanted = sorted(_names(plan, "confidential")) if promised else []
    for block in manifest.verified.blocks:
        if sorted(said.attribute for said in block.diversity) != wanted:
            yield Message("contradicts-diversity", columns=len(block.diversity), promised=len(wanted))
        elif others := [name for name in _PROMISED if _differs(block, plan, name)]:
            yield Message("contradicts-plan", fields=others)


def _differs(block: Block, plan: dict[str, Any], name: str) -> bool:
    default = "distinct" if name == "l_form" else None
    return any(getattr(said, name) != plan.get(name, default) for said in block.diversity)


def _on_roles(manifest: Manifest) -> Iterator[Message]:
    """Yield columns with a role that the file cannot have."""
    plan, columns = manifest.plan, manifest.published.columns
    dropped = [_names(plan, "identifiers")]
    roles = {role: _names(plan, role) for role in _ROLES if plan.get(role) != "rest"}
    for role in ("unit", "household"):
        if plan.get(f"{role}_as") == "pseudonym":
            roles[role] = _names(plan, role)
        else:
            dropped.append(_names(plan, role))
    if {name for names in dropped for name in names} & {*columns}:
        yield Message("identifier-published")
    blocks = _promised(plan)
    if {name for block in blocks for name in block} - {*roles["quasi"]} and roles["quasi"]:
        yield Message("contradicts-blocks")
    if unknown := sorted({name for names in roles.values() for name in names} - {*columns}):
        yield Message("column-not-published", columns=unknown, number=len(unknown))
    seen: set[str] = set()
    for names in [*roles.values(), *dropped]:
        if twice := sorted(seen & {*names}):
            yield Message("two-roles-in-plan", columns=twice, number=len(twice))
        seen |= {*names}


def _on_units(manifest: Manifest) -> Iterator[Message]:
    """Yield whether k counts something else than the plan promises."""
    if (manifest.verified.counts is not None) != (manifest.plan.get("unit") is not None):
        yield Message("contradicts-plan", fields=["unit"])


def _on_rest(manifest: Manifest) -> Iterator[Message]:
    """Yield what else was verified and not promised, or the other way round."""
    plan, verified = manifest.plan, manifest.verified
    if verified.weighted_totals != (plan.get("preserve") is not None):
        yield Message("contradicts-plan", fields=["preserve"])
    if verified.dominance != (plan.get("p_percent") is not None or plan.get("dominance") is not None):
        yield Message("contradicts-plan", fields=["p_percent", "dominance"])
    if verified.domain_totals != (plan.get("keep_totals") is not None):
        yield Message("contradicts-plan", fields=["keep_totals"])
    if verified.rules is not None and verified.rules.excused != (plan.get("edits_original") == "keep"):
        yield Message("contradicts-plan", fields=["edits_original"])
