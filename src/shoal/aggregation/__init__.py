"""Step 2: what a group publishes."""

from shoal.aggregation.hybrid import microhybrid, redraw
from shoal.aggregation.ipso import ipso, least_k
from shoal.aggregation.medoids import medoids
from shoal.aggregation.representatives import Aggregate, aggregate, first_not_positive
from shoal.aggregation.variance import Rescaling, restore_variance

__all__ = [
    "Aggregate",
    "Rescaling",
    "aggregate",
    "first_not_positive",
    "ipso",
    "least_k",
    "medoids",
    "microhybrid",
    "redraw",
    "restore_variance",
]
