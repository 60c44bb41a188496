"""Which aggregates suit which types of attributes, and which one a plan asks for."""

from shoal.plan.model import Aggregate, AttributeType, Plan

DEFAULTS: dict[AttributeType, Aggregate] = {
    "continuous": "mean",
    "date": "mean",
    "datetime": "mean",
    "ordinal": "median",
    "nominal": "mode",
    "boolean": "mode",
}
AGGREGATES: dict[AttributeType, tuple[Aggregate, ...]] = {
    "continuous": ("mean", "geometric_mean", "median", "lower_median", "trimmed_mean", "mode", "medoid"),
    "date": ("mean", "median", "lower_median", "trimmed_mean", "mode", "medoid"),
    "datetime": ("mean", "median", "lower_median", "trimmed_mean", "mode", "medoid"),
    "ordinal": ("median", "convex_median", "mode", "medoid"),
    "nominal": ("mode", "medoid"),
    "boolean": ("mode", "medoid"),
}


def aggregate_of(name: str, plan: Plan) -> Aggregate:
    """Which aggregate an attribute gets: the one asked for, or that of its type."""
    if isinstance(plan.aggregate, dict):
        return plan.aggregate.get(name, DEFAULTS[plan.types[name]])
    return plan.aggregate or DEFAULTS[plan.types[name]]
