"""Which attributes need decimals so that rules hold: a sum of whole numbers holds in whole numbers, a ratio may not."""

from collections.abc import Collection

from shoal.edits.expressions import Comparison, attributes_of, within
from shoal.edits.normal_forms import linear
from shoal.edits.strategy import Strategy


def with_decimals(strategy: Strategy, integers: Collection[str]) -> dict[str, str]:
    """Return the attributes that rules need with decimals, each with the name of such a rule.

    Controlled rounding keeps sums and orders of whole numbers, and one attribute alone stays within the range of its
    group. Other comparisons of several attributes, and those with an attribute that has decimals, need decimals of all
    of them, or only of the one that is recomputed from the others.
    """
    ties = [
        (rule.name, each, attributes_of(each))
        for rule in strategy.rules
        for each in within(rule.condition)
        if isinstance(each, Comparison) and len(attributes_of(each)) > 1
    ]
    found: dict[str, str] = {}
    while True:
        before = len(found)
        for rule, tie, names in ties:
            if not (_in_whole_numbers(tie) and all(name in integers and name not in found for name in names)):
                computed = [each.name for each in strategy.recomputed if each.comparison == tie and not tie.exact]
                found = {**dict.fromkeys(computed or names, rule), **found}
        if len(found) == before:
            return found


def _in_whole_numbers(tie: Comparison) -> bool:
    """Whether a comparison adds and subtracts attributes and a whole number."""
    form = linear(tie)
    return form is not None and form.constant.is_integer() and {*map(abs, form.coefficients.values())} == {1.0}
