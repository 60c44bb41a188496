"""Whether whole numbers stay whole: decided by the plan, so that the type of a column never depends on its values."""

from shoal.plan.aggregates import aggregate_of
from shoal.plan.model import Plan


def why_decimals(name: str, plan: Plan) -> str | None:
    """Return why whole numbers of an attribute are published with decimals; None if they stay whole.

    If `round` is left out, they stay whole wherever no exact value is promised; see `shoal.edits.whole` for rules.
    """
    if name in plan.constraints:
        return None if "integer" in plan.constraints[name] else f"--constraint {name}=integer would round them"
    if plan.round is not None:
        return None if plan.round else "--no-round"
    if plan.preserve is not None and plan.types[name] == "continuous":
        return "--preserve keeps totals exactly"
    if plan.keep_totals is not None and plan.types[name] == "continuous":
        return "--keep-totals keeps totals exactly"
    if plan.restore_variance:
        return "--restore-variance keeps variances exactly"
    if plan.draws and name in plan.confidential:
        return f"method '{plan.method}' keeps means and covariances; --constraint {name}=integer rounds them"
    return "a geometric mean keeps products" if aggregate_of(name, plan) == "geometric_mean" else None
