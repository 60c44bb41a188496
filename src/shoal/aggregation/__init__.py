"""Step 2: what a group publishes."""

from shoal.aggregation.representatives import Rescaling, aggregate, restore_variance

__all__ = ["Rescaling", "aggregate", "restore_variance"]
