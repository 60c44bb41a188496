"""Record blocks: pieces of a large file that are partitioned on their own.

`kd_blocks`, `two_d_tree`, `interval_blocks` and `sorted_blocks` divide records, wherever they are kept (see
`shoal.blocking.cells.Gather`); `partition_blocks` partitions what is in memory, `repair_seams` mends the borders, and
`cost_of_blocks` measures what blocking cost.
"""

from shoal.blocking.blocks import RecordBlocks
from shoal.blocking.cells import Gather
from shoal.blocking.cost import BlockCost, cost_of_blocks
from shoal.blocking.kd import kd_blocks
from shoal.blocking.partition import block_records, partition_blocks
from shoal.blocking.seams import repair_seams
from shoal.blocking.two_d_tree import two_d_tree
from shoal.blocking.univariate import interval_blocks, sorted_blocks

__all__ = [
    "BlockCost",
    "Gather",
    "RecordBlocks",
    "block_records",
    "cost_of_blocks",
    "interval_blocks",
    "kd_blocks",
    "partition_blocks",
    "repair_seams",
    "sorted_blocks",
    "two_d_tree",
]
