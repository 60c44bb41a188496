"""Attribute blocks chosen from the data: which attributes are partitioned together."""

import numpy as np
import numpy.typing as npt


def blocks_by_correlation(correlations: npt.NDArray[np.float64], size: int, how: str) -> list[list[int]]:
    """Divide attributes into blocks of at least `size`, by their correlations.

    ``correlated`` puts correlated attributes in a block. Records that are close in one are close in the others, so
    groups are tight: low loss, and more risk from an intruder who knows attributes of several blocks.

    ``uncorrelated`` puts correlated attributes in different blocks: the first attributes of all blocks are correlated
    with each other, so are the second, and so on [1]_. Blocks then tend to form the same groups: more loss, and more
    records that are alike in attributes of several blocks (a higher real k').

    There are B = floor(d / size) blocks, or one if that is none. What is left over is spread: sizes differ by one at
    most, and no block is smaller than `size` unless the file is. Finding the best blocks is a hard problem; this is
    greedy by absolute correlation:

    * ``correlated``: a block begins with the two most correlated attributes not yet placed, and takes in, until it is
      full, the one with the highest mean correlation to its members. The larger blocks are formed last.
    * ``uncorrelated``: families of B correlated attributes are formed in just that way, and every family gives one
      attribute to each block, in the order of columns. A last, incomplete family goes to the last blocks.

    Ties go to the lowest column; correlations count as equal if they agree to nine digits. A constant attribute has
    correlation zero with all. The result are the columns of each block, in the order of the columns.

    On the nine Water attributes of [2]_ these are its blocks, both ways. On its nine Census attributes they are not:
    FEDTAX (a7) stands with INTVAL and POTHVAL there (r = 0.28, 0.20), although it has r = 0.98 with TAXINC and 0.95
    with AGI, with which it stands here.

    References
    ----------
    .. [1] J. Nin, J. Herranz and V. Torra, "How to group attributes in multivariate microaggregation", International
       Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 16 (2008), suppl. 1, 121-138.
    .. [2] J. Nin, "Beyond multivariate microaggregation for large record anonymization", section 4.1.
    """
    d = len(correlations)
    B = max(1, d // size)
    strength = np.asarray(np.round(np.abs(correlations), 9), dtype=np.float64)
    if how == "correlated":
        return sorted(families(strength, [d // B + (b >= B - d % B) for b in range(B)]))
    complete = sorted(families(strength, [B] * (d // B)))
    rest = sorted(set(range(d)) - {column for family in complete for column in family})
    blocks = [list(block) for block in zip(*complete, strict=True)]
    for block, column in zip(blocks[B - len(rest) :], rest, strict=True):
        block.append(column)
    return blocks


def families(strength: npt.NDArray[np.float64], sizes: list[int]) -> list[list[int]]:
    """Form sets of mutually correlated attributes, of the given sizes, the strongest pair first; columns ascending."""
    strength = strength.copy()
    np.fill_diagonal(strength, -1.0)
    left = list(range(len(strength)))
    formed = []
    for size in sizes:
        among = strength[np.ix_(left, left)]
        first, second = divmod(int(among.argmax()), len(left))
        family = [left[first], left[second]][:size]
        left = [column for column in left if column not in family]
        while len(family) < size:
            total = strength[np.ix_(left, family)].sum(axis=1)
            # sums of equal terms in another order may differ in the last bit
            family.append(left.pop(int(np.argmax(np.round(total, 8)))))
        formed.append(sorted(family))
    return formed
