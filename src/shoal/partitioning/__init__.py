"""Step 1: who shares a group.

In all modules, X is an (n, d) matrix in which squared Euclidean distance is the right distance, k <= n the minimum
group size, and labels are one integer a record, numbered from 0. `watch` are two integers shared with another thread:
the first counts the records done; once the second is not zero, the search stops, and what has no group yet is -1.
"""

from shoal.partitioning.methods import ACCEPTS, choose, partition, partitioner

__all__ = ["ACCEPTS", "choose", "partition", "partitioner"]
