"""Rules that hybrid data keep: sums of attributes, which lie in the means and covariances of every group."""

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.edits.classify import classify
from shoal.edits.controlled_rounding import Equality, round_controlled, rounding_base_of
from shoal.edits.expressions import Comparison, Missing, Rule, attributes_of
from shoal.edits.normal_forms import clauses, linear
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.tables.attributes import Codes


def sums_of(rules: Sequence[Rule], plan: Plan) -> list[Comparison]:
    """Find the sums that rules tie hybrid attributes together with; a rule of another kind is refused.

    A sum that all records of a group obey has no variance there, and neither has it in hybrid data, whose groups have
    the same means and covariances.

    Raises
    ------
    PlanError
        Naming every rule that hybrid data would not keep.
    """
    sums: list[Comparison] = []
    problems: list[Message] = []
    for rule in rules:
        name, names = rule.name, attributes_of(rule.condition)
        if not set(names) & set(plan.changed):
            continue
        found = [_sum(clause) for clause in clauses(rule.condition) or [()]]
        if None in found:
            shape = classify(rule).label
            problems.append(Message("rule-not-a-sum", field="edits", rule=name, shape=shape, method=plan.method))
        if own := [each for each in names if each in plan.constraints]:
            problems.append(Message("rule-on-constrained", field="edits", rule=name, columns=own))
        if plan.mask_quasi and set(names) & set(plan.masked):
            problems.append(Message("rule-on-masked", field="edits", rule=name))
        if odd := [each for each in names if plan.types.get(each, "continuous") != "continuous"]:
            problems.append(Message("words-as-numbers", field="edits", rule=name, column=odd[0]))
        if others := [each for each in names if each not in plan.used]:
            problems.append(Message("rule-on-other-columns", field="edits", rule=name, columns=others))
        sums += [each for each in found if each is not None]
    if problems:
        raise PlanError(*problems)
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
