"""Step 1: who shares a group."""

from shoal.partitioning.methods import METHODS, choose, partition

__all__ = ["METHODS", "choose", "partition"]
