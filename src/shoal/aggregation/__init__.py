"""Step 2: what a group publishes."""

from shoal.aggregation.representatives import aggregate, restore_variance

__all__ = ["aggregate", "restore_variance"]
