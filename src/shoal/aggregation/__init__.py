"""Step 2: what a group publishes."""

from shoal.aggregation.medoids import medoids
from shoal.aggregation.representatives import Aggregate, aggregate, first_not_positive
from shoal.aggregation.variance import Rescaling, restore_variance

__all__ = ["Aggregate", "Rescaling", "aggregate", "first_not_positive", "medoids", "restore_variance"]
