"""What a user should know of hybrid data; and what would give a person's own value away, which is refused."""

from shoal.errors import DataError
from shoal.masking.ipso import safe_k_orthogonal
from shoal.pipeline.hybrid_parts import Parts
from shoal.pipeline.hybrid_sums import HybridSums
from shoal.pipeline.verify_hybrid import Claim
from shoal.plan import Plan
from shoal.tables.attributes import NUMBERS
from shoal.text import counted, listed, warning

_LITTLE_VARIANCE = 1e-3  # below this share, what is left to change is worth a word


def on_preserved(parts: Parts, claim: Claim, plan: Plan, fused: int) -> list[str]:
    """Explain what is preserved, what is not, and what must stay secret."""
    where = "in the file" if plan.method == "ms" else "in the file and in each group"
    found = []
    if claim.kept:
        beside = f", and their covariances with {', '.join(claim.others)}" if claim.others else ""
        found.append(f"preserved: means and covariances of {', '.join(claim.kept)}{beside}, {where}")
    if rounded := [a.name for a in parts.synthetic if a.name not in (*claim.kept, *plan.constraints)]:
        found.append(f"preserved up to the rounding of their types: means and covariances of {', '.join(rounded)}")
    if claim.dealt:
        found.append(
            f"Permuted within each group, each by itself, so that marginals are kept: {', '.join(claim.dealt)}"
        )
    if parts.quasi and not plan.mask_quasi:
        masked = " --mask-quasi masks them too." if plan.method == "hybrid" else ""
        found.append(warning(f"Quasi-identifiers are released unchanged, so no k-anonymity is promised.{masked}"))
        if odd := [a.name for a in parts.quasi if a.type not in NUMBERS]:
            found.append(f"no covariances are kept with what is not a number: {', '.join(odd)}")
    if fused:
        found.append(
            f"{counted(fused, 'group')} merged with others, because the quasi-identifiers singled out a record there"
        )
    return found


def on_orthogonal(parts: Parts, plan: Plan) -> list[str]:
    """Warn of what synthetic residuals give away that are orthogonal to the original ones."""
    if plan.ipso != "orthogonal" or not parts.synthetic:
        return []
    found: list[str] = [
        warning(
            "Synthetic residuals avoid the direction of the original ones (--ipso orthogonal), so several "
            "releases with other noise, groups or attributes disclose it together. Release these data once, or "
            "leave out --ipso."
        )
    ]
    safe = safe_k_orthogonal(len(parts.synthetic), len(parts.others))
    if plan.k is not None and plan.k < safe:
        found.append(
            warning(
                f"Groups of k = {plan.k} are so small that members can solve for the values of others. Use -k {safe}."
            )
        )
    return found


def on_unchanged(parts: Parts, sums: HybridSums, plan: Plan) -> list[str]:
    """Refuse what would be published as it is; count values that all members of a group have in common."""
    notes: list[str] = []
    problems = []
    for j, attribute in enumerate((*parts.synthetic, *parts.dealt)):
        if j < len(parts.synthetic) and (count := int(sums.added["unchanged"][j])):
            problems.append(_given_away(attribute.name, count, parts, plan, sums, float(sums.left[j])))
        if records := int(sums.added["alike_records"][j]):
            groups = counted(int(sums.added["alike"][j]), "group")
            notes.append(
                warning(
                    f"'{attribute.name}' is the same for all members in {groups}, and released unchanged there: "
                    f"{counted(records, 'record')}."
                )
            )
    if problems:
        raise DataError(*problems)
    return notes


def on_little_freedom(parts: Parts, sums: HybridSums, plan: Plan) -> list[str]:
    """Count values that hardly moved, because what is published, or the record itself, leaves them little room."""
    found: list[str] = []
    if count := sums.count("tight"):
        hardly = f"far from all others: {counted(count, 'record')}"
        if plan.method == "ms":
            found.append(
                warning(f"Records with hardly any noise, so anyone who knows alpha can compute their values, {hardly}.")
            )
        elif plan.ipso == "orthogonal":
            found.append(warning(f"Records with hardly any noise, so that their values can be computed, {hardly}."))
        else:
            found.append(warning(f"Records whose values have hardly moved, with quasi-identifiers {hardly}."))
    for attribute, left in zip(parts.synthetic, sums.left, strict=True):
        if left < _LITTLE_VARIANCE and parts.others:
            found.append(
                warning(
                    f"'{attribute.name}' nearly follows from the quasi-identifiers, which leave {left:.1g} of its "
                    f"variance, so its values have hardly moved: {counted(sums.count('records'), 'record')}."
                )
            )
    return found


def on_own_values(parts: Parts, sums: HybridSums) -> list[str]:
    """Count who publishes the own value, as it is after rounding; refuse an attribute where most of them do."""
    found: list[str] = []
    problems = []
    for j, attribute in enumerate(parts.synthetic):
        own = int(sums.added["own"][j])
        if 2 * own > sums.count("records") - int(sums.added["alike_records"][j]):
            problems.append(
                f"'{attribute.name}' would be published unchanged in {counted(own, 'record')} after rounding, "
                "more than half. Leave out --constraint, use a larger -k or a smaller --alpha, or --type "
                f"{attribute.name}=nominal."
            )
        if own:
            found.append(warning(f"'{attribute.name}' is released unchanged in {counted(own, 'record')}."))
    if problems:
        raise DataError(*problems)
    return found


def on_negative(parts: Parts, sums: HybridSums) -> list[str]:
    """Count negative values of attributes that had none."""
    return [
        warning(
            f"'{attribute.name}' is negative in {counted(count, 'record')}, and never was in the original. Add "
            f"--constraint {attribute.name}=non-negative."
        )
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
                raise DataError(
                    f"column '{attribute.name}' is not {rule} in {counted(count, 'record')} of the original. "
                    "Leave out --constraint."
                )


def _given_away(name: str, count: int, parts: Parts, plan: Plan, sums: HybridSums, left: float) -> str:
    what = f"'{name}' would be published unchanged in {counted(count, 'record')}"
    if plan.method == "ms" and 2 * count > sums.count("records") and left >= _LITTLE_VARIANCE:
        return f"{what}: alpha leaves no visible noise. Use a smaller --alpha."
    if plan.ipso == "orthogonal":
        return f"{what}, or could be computed, because no other record varies in it. Leave out --ipso."
    if not parts.others:
        return f"{what}, because within groups it differs only in its last digits. Subtract a constant from the column."
    ways = "Use a larger -k, --mask-quasi, or drop" if plan.k else "Drop"
    return (
        f"{what}: the quasi-identifiers released unchanged determine it or single out the record. {ways} one "
        f"of {listed([each.name for each in parts.others])} with --identifiers."
    )
