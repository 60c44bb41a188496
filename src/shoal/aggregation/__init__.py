"""Step 2: what a group publishes."""

from shoal.aggregation.representatives import Aggregate, Rescaling, aggregate, medoids

__all__ = ["Aggregate", "Rescaling", "aggregate", "medoids"]
