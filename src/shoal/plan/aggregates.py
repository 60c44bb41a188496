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
_OF_NUMBERS: tuple[Aggregate, ...] = ("median", "lower_median", "order_statistic", "trimmed_mean", "mode", "medoid")
AGGREGATES: dict[AttributeType, tuple[Aggregate, ...]] = {
    "continuous": ("mean", "geometric_mean", *_OF_NUMBERS),
    "date": ("mean", *_OF_NUMBERS),
    "datetime": ("mean", *_OF_NUMBERS),
    "ordinal": ("median", "order_statistic", "convex_median", "mode", "medoid"),
    "nominal": ("mode", "medoid"),
    "boolean": ("mode", "medoid"),
}


def aggregate_of(name: str, plan: Plan) -> Aggregate:
    """Which aggregate an attribute gets: the one asked for, or that of its type."""
    if isinstance(plan.aggregate, dict):
        return plan.aggregate.get(name, DEFAULTS[plan.types[name]])
    return plan.aggregate or DEFAULTS[plan.types[name]]
