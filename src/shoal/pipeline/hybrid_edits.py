"""Rules that hybrid data keep: sums of attributes, which lie in the means and covariances of every group."""

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.edits.classify import classify
from shoal.edits.controlled_rounding import Equality, round_controlled, rounding_base_of
from shoal.edits.expressions import Comparison, Missing, Rule, attributes_of
from shoal.edits.normal_forms import clauses, linear
from shoal.errors import PlanError
from shoal.plan import Plan
from shoal.tables.attributes import Codes
from shoal.text import listed


def sums_of(rules: Sequence[Rule], plan: Plan) -> list[Comparison]:
    """Find the sums that rules tie hybrid attributes together with; a rule of another kind is refused.

    A sum that all records of a group obey has no variance there, and neither has it in hybrid data, whose groups have
    the same means and covariances.

    Raises
    ------
    PlanError
        Naming every rule that hybrid data would not keep.
    """
    sums, problems = [], []
    for rule in rules:
        names = attributes_of(rule.condition)
        if not set(names) & set(plan.changed):
            continue
        found = [_sum(clause) for clause in clauses(rule.condition) or [()]]
        if None in found:
            problems.append(
                f"rule '{rule.name}' ({classify(rule).label}) cannot be kept by method '{plan.method}', which "
                "keeps only sums. Leave it out, or use --constraint."
            )
        if own := [name for name in names if name in plan.constraints]:
            problems.append(
                f"rule '{rule.name}' uses {listed(own)}, which --constraint changes. Leave out one of them."
            )
        if plan.mask_quasi and set(names) & set(plan.masked):
            problems.append(
                f"rule '{rule.name}' uses quasi-identifiers, which --mask-quasi changes separately. Leave out one "
                "of them."
            )
        if odd := [name for name in names if plan.types.get(name, "continuous") != "continuous"]:
            problems.append(f"rule '{rule.name}' adds up {listed(odd)}, which is not a number. Leave the rule out.")
        if others := [name for name in names if name not in plan.used]:
            problems.append(
                f"rule '{rule.name}' names {listed(others)}, whose covariances with the new values are not kept. Add "
                "such attributes to --quasi or --confidential, or leave the rule out."
            )
        sums += [each for each in found if each is not None]
    if problems:
        raise PlanError([("edits", problem) for problem in problems])
    return sums


def _sum(clause: Sequence[object]) -> Comparison | None:
    """Return the equality of several attributes that a clause is, but for records that miss one of them."""
    parts = [part for part in clause if not isinstance(part, Missing)]
    if len(parts) == 1 and isinstance(parts[0], Comparison) and parts[0].sign == "==":
        form = linear(parts[0])
        if form is not None and len(form.coefficients) > 1:
            return parts[0]
    return None


def with_exact_sums(
    sums: Sequence[Comparison], hybrid: Mapping[str, Codes], others: Mapping[str, Codes]
) -> dict[str, Codes]:
    """Round hybrid values so finely that no moment notices, and so that the sums are exact as written.

    Parameters
    ----------
    sums
        The equalities.
    hybrid
        The attributes that were regenerated.
    others
        Attributes that are published as they are.
    """
    forms = [form for each in sums if (form := linear(each)) is not None]
    equalities = [Equality(form.coefficients, form.constant) for form in forms]
    tied = {name: column for name, column in {**others, **hybrid}.items() if any(name in f.coefficients for f in forms)}
    if not tied:
        return dict(hybrid)
    base = rounding_base_of(tied, equalities, binary=True, fine=True)
    low = {name: np.full(len(column), -np.inf) for name, column in tied.items()}
    high = {name: np.full(len(column), np.inf) for name, column in tied.items()}
    rounded = round_controlled(tied, low, high, equalities, base, fixed=[name for name in tied if name in others])
    return {**hybrid, **{name: rounded[name] for name in tied if name in hybrid}}
