"""Univariate blocking: records divided by one attribute, in equal intervals or in equal numbers of records."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.blocking.blocks import RecordBlocks, united
from shoal.blocking.cells import COUNTERS, Contents, Gather, Integers, extent, places_a_unit, refuse_small
from shoal.kernels.cells import BITS
from shoal.kernels.kd_nearest import fuse_small
from shoal.kernels.standardize import Matrix


@dataclass(frozen=True)
class Line:
    """One attribute, cut into intervals: the cells of univariate blocking."""

    # (1,) arrays: the place of a value x is ``(x - low) * scale``, rounded down, in 0 .. 2^30 - 1
    low: NDArray[np.float64]
    scale: NDArray[np.float64]
    borders: Integers  # (m - 1,) array: the place at which each interval begins, but for the first; ascending

    def leaves(self) -> tuple[Integers, int]:
        """Return the numbers of the intervals, and how many."""
        return np.arange(len(self.borders) + 1), len(self.borders) + 1

    def leaf_of(self, X: Matrix) -> Integers:
        """Return the interval in which each record lies."""
        return np.searchsorted(self.borders, self.places(X), side="right").astype(np.int64)

    def places(self, X: Matrix) -> Integers:
        """Return where records lie between the lowest and the highest."""
        places = np.floor((X[:, 0] - self.low[0]) * self.scale[0])
        return np.asarray(places.clip(0, 2**BITS - 1), dtype=np.int64)

    def contents(self, X: Matrix) -> Contents:
        """Look at what lies in the intervals."""
        leaf, (_, leaves) = self.leaf_of(X), self.leaves()
        sums = np.zeros((leaves, 1), np.int64)
        np.add.at(sums[:, 0], leaf, self.places(X))
        return Contents(np.bincount(leaf, minlength=leaves), sums)

    def count_below(self, cells: Integers, depth: int, bits: int, X: Matrix) -> Integers:
        """Count the records of some cells, made by `depth` halvings, in the cells that `bits` more make of each."""
        places = self.places(X)
        at = np.searchsorted(cells, places >> (BITS - depth)).clip(max=len(cells) - 1)
        there = cells[at] == places >> (BITS - depth)
        below = (places >> (BITS - depth - bits)) & ((1 << bits) - 1)
        return np.bincount((at[there] << bits) + below[there], minlength=len(cells) << bits)


def interval_blocks(gather: Gather, k: int, L: int) -> RecordBlocks:
    """Divide the range of one attribute into n/L equal intervals: plain univariate blocking [1]_.

    n/L is rounded up. Intervals without records are no blocks; those with fewer than k records are fused with the one
    of the nearest centroid, as the leaves of a 2^d-tree are. The paper leaves open what becomes of them.

    References
    ----------
    .. [1] J. Domingo-Ferrer, "Blocking methods for microdata protection", ESSnet-SDC deliverable, 2008, chapter 3.
    """
    line, n = _whole(gather, k, L)
    intervals = -(-n // L)
    borders = np.arange(1, intervals, dtype=np.int64) * 2**BITS // intervals
    blocks = _fused(gather, replace(line, borders=np.unique(borders)), k)
    return replace(blocks, crowded=int((blocks.sizes >= 2 * L).sum()))


def sorted_blocks(gather: Gather, k: int, L: int) -> RecordBlocks:
    """Divide records, in the order of one attribute, into blocks of L; a rest of fewer than k joins the last.

    Records of equal value (to a billionth of the range) share a block, which therefore may have more or fewer than L
    records. Borders are found by counts in ever smaller cells around them, so nothing is sorted, and blocks are the
    same wherever the records lie.
    """
    line, n = _whole(gather, k, L)
    ranks = L * np.arange(1, max(0, (n - k) // L) + 1, dtype=np.int64)
    borders = np.unique(_borders(gather, line, ranks))
    inside = (borders > 0) & (borders < 2**BITS)
    blocks = _fused(gather, replace(line, borders=borders[inside]), k)
    return replace(blocks, crowded=int((blocks.sizes >= L + k).sum()))


def _whole(gather: Gather, k: int, L: int) -> tuple[Line, int]:
    """Return the line of all records as one interval, and how many there are."""
    refuse_small(k, L)
    box = gather(extent)
    line = Line(box.low, places_a_unit(box), np.empty(0, np.int64))
    return line, int(gather(line.contents).counts[0])


def _fused(gather: Gather, line: Line, k: int) -> RecordBlocks:
    """Leave out empty intervals, and fuse those with fewer than k records."""
    inside = gather(line.contents)
    occupied = inside.counts > 0  # the first is: the lowest record lies there
    line = replace(line, borders=line.borders[occupied[1:]])
    inside = Contents(inside.counts[occupied], inside.sums[occupied])
    return united(line, inside, fuse_small(inside.centroids(line), inside.counts, k), fusing=True)


def _borders(gather: Gather, line: Line, ranks: Integers) -> Integers:
    """Return the places below which the given numbers of records lie, or as near to them as equal values allow."""
    cell, before, borders = np.zeros_like(ranks), np.zeros_like(ranks), np.zeros_like(ranks)
    depth, open_ranks = 0, np.arange(len(ranks))
    while len(open_ranks) and depth < BITS:
        cells, at = np.unique(cell[open_ranks], return_inverse=True)
        bits = min(BITS - depth, max(1, COUNTERS - int(len(cells) - 1).bit_length()))
        counts = gather(partial(line.count_below, cells, depth, bits))
        upto = np.cumsum(counts)
        first = np.append(0, upto)[at << bits]  # how many lie in open cells before this one
        found = np.searchsorted(upto, first + ranks[open_ranks] - before[open_ranks])
        before[open_ranks] += upto[found] - counts[found] - first
        cell[open_ranks] = (cell[open_ranks] << bits) + found - (at << bits)
        depth += bits
        after = before[open_ranks] + counts[found]
        # The border lies behind the cell if that is nearer; only if it is exact, or no cell is smaller, that is final.
        behind = after - ranks[open_ranks] < ranks[open_ranks] - before[open_ranks]
        borders[open_ranks] = (cell[open_ranks] + behind) << (BITS - depth)
        open_ranks = open_ranks[after != ranks[open_ranks]]
    return borders
