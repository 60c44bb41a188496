"""Record blocks: pieces of a large file that are partitioned on their own.

`kd_blocks` and `two_d_tree` divide records, wherever they are kept (see `shoal.blocking.cells.Gather`);
`partition_blocks` partitions what is in memory, `repair_seams` mends the borders, and
`cost_of_blocks` measures what blocking cost.
"""

from shoal.blocking.blocks import RecordBlocks
from shoal.blocking.cells import Gather
from shoal.blocking.cost import BlockCost, cost_of_blocks
from shoal.blocking.kd import kd_blocks
from shoal.blocking.partition import block_records, partition_blocks
from shoal.blocking.seams import repair_seams
from shoal.blocking.two_d_tree import two_d_tree, univariate_blocks

__all__ = [
    "BlockCost",
    "Gather",
    "RecordBlocks",
    "block_records",
    "cost_of_blocks",
    "kd_blocks",
    "partition_blocks",
    "repair_seams",
    "two_d_tree",
    "univariate_blocks",
]
