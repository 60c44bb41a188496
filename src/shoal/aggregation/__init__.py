"""Step 2: what a group publishes."""

from shoal.aggregation.medoids import medoids
from shoal.aggregation.representatives import Aggregate, Rescaling, aggregate

__all__ = ["Aggregate", "Rescaling", "aggregate", "medoids"]
