"""Step 1: who shares a group."""

from shoal.partitioning.methods import ACCEPTS, choose, partition, partitioner

__all__ = ["ACCEPTS", "choose", "partition", "partitioner"]
