"""Step 1: who shares a group."""

from shoal.partitioning.methods import choose, partition, partitioner

__all__ = ["choose", "partition", "partitioner"]
