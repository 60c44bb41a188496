"""Insensitive microaggregation with noise: groups that one record changes little, and means that are private."""

import os
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.kernels.hilbert import hilbert_places
from shoal.masking.discrete_laplace import LARGEST_SCALE, Source, discrete_laplace

Matrix = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BITS = 20  # bounds are divided into a million steps, far finer than any noise


class PrivateMeans(NamedTuple):
    """Private means of groups, and the order of the records, which must not be published."""

    means: Matrix  # of each group and attribute, with noise
    sizes: Integers  # of the groups, a function of n and k
    order: Integers  # the records in the order of their groups: a secret


def private_means(X: Matrix, bounds: Matrix, k: int, epsilon: float, source: Source = os.urandom) -> PrivateMeans:
    r"""Microaggregate by groups that one record changes little, and add noise: epsilon-differential privacy [1]_.

    1. *Clamp* every value to its bounds, a (d, 2) matrix known without the data, and count it in whole steps from the
       lower one, 0..2^20 - 1.
    2. *Order* the records by a total order of all possible records, which no data have a say in: along the Hilbert
       curve through the box of the bounds.
    3. *Groups* are m = floor(n / k) stretches of that line; their sizes follow from n and k (`group_sizes`).
    4. *Noise*: to the sum of every group and attribute comes discrete Laplace noise of scale sensitivity / epsilon.
    5. Sums are divided by sizes, and the means clamped to the bounds.

    **What it promises.** Let D and D' have n records and differ in one. Then for every set of lists of m noisy means,
    the probability to publish one of them is, with D, at most exp(epsilon) times what it is with D'. Public are n, k,
    epsilon, the bounds, and the names and types of the attributes.

    **Proof.** Let x of D be replaced by y, and x come before y in the order (else swap D and D'). Sorted, the records
    before x and after y stay in their places; those between move up by one, and y ends the row. Of the groups from that
    of x to that of y, each loses one record and gains one: the first loses x; any other loses the first record that it
    had, which goes to the group before; the last gains y. With e_0 = x, then the records that change groups in order,
    then e_s = y, the sum of group i changes by e_(i+1) - e_i. All changes of all sums together are

        sum_i || e_(i+1) - e_i ||_1,

    the length of a chain of s <= m steps that follows the order. No chain is longer than `sensitivity` says, so that
    the probabilities of any list of noisy sums, being products of exp(-abs(z) / scale), differ by a factor of at most
    exp(sensitivity / scale) <= exp(epsilon). Step 1 looks at one record at a time, and step 5 at no record. QED.

    **From the paper** comes the idea: microaggregation is insensitive if, when one record is replaced, the groups of
    the one table correspond to those of the other and differ in one record at most; then the noise of a mean is that of
    k records instead of one. A total order of the domain achieves it. That alone bounds the change by one range of each
    attribute for every group; the order along the curve never does worse, and much better for few attributes.
    A table that keeps its rows would also tell which row is in which group. When a record is replaced, others change
    groups, and no noise covers that: `order` must not be published, and rows come out in the order of the groups.

    References
    ----------
    .. [1] J. Soria-Comas, J. Domingo-Ferrer, D. Sánchez and S. Martínez, "Enhancing data utility in differential
       privacy via microaggregation-based k-anonymity", The VLDB Journal 23 (2014) 771-794.
    """
    cells = in_steps(X, bounds)
    order, sizes = insensitive_order(cells), group_sizes(len(X), k)
    sums = group_sums(cells[order], sizes)
    scale = noise_scale(sensitivity(len(sizes), X.shape[1]), epsilon)
    noise = discrete_laplace(scale, sums.size, source).reshape(sums.shape)
    means = (sums + noise) / sizes[:, None] / (2**BITS - 1)
    low, high = bounds.T
    return PrivateMeans(np.clip(low + np.clip(means, 0, 1) * (high - low), low, high), sizes, order)


def in_steps(X: Matrix, bounds: Matrix) -> Integers:
    """Clamp values to their bounds, and count them in whole steps from the lower one, 0..2^20 - 1."""
    low, high = bounds.T
    steps: Integers = np.rint((np.clip(X, low, high) - low) / (high - low) * (2**BITS - 1)).astype(np.int64)
    return steps


def insensitive_order(cells: Integers, bits: int = BITS) -> Integers:
    """Order records along the Hilbert curve; those in the same cell are equal, and it does not matter which is first.

    Insensitive to all data: whether a record comes before another depends on the two alone.
    """
    places = hilbert_places(np.ascontiguousarray(cells), bits)
    return np.lexsort(places.T[::-1])


def group_sizes(n: int, k: int) -> Integers:
    """Form as many groups of at least k records as possible, as equal in size as possible."""
    m = n // k
    sizes = np.full(m, n // m)
    sizes[: n % m] += 1
    return sizes


def group_sums(ordered: Integers, sizes: Integers) -> Integers:
    """Sum up the records of each group, which stand one after the other."""
    return np.add.reduceat(ordered, np.cumsum(sizes) - sizes, axis=0)


def sensitivity(m: int, d: int, bits: int = BITS) -> int:
    r"""Bound the length of a chain of m steps along the Hilbert curve through d attributes of 0..2^bits - 1.

    The length of a step is the sum of the differences of all attributes, so that this bounds by how much the sums of
    m groups can change in all when one record is replaced (see `private_means`).

    **Proof.** Look at the box in cells of side s = 2^(bits - L), for any L from 0 to bits. The curve goes through all
    2^(dL) of them one after the other, each next to the one before, and so does the chain, which leaves some out. If a
    step of the chain passes t_j borders of cells across attribute j, its two records are at most t_j cells apart there,
    that is, differ by at most t_j s + (s - 1). Over m steps and d attributes,

        length <= s (number of borders passed) + d m (s - 1),

    and of borders the whole curve passes 2^(dL) - 1. For L = 1, where cells are halves of the box and the curve is a
    Gray code, more can be said: it passes the border across one of the attributes once, that across another twice,
    then 4, 8, ..., 2^(d-1) times; and no step counts more than one, two halves being at most one apart. So borders
    count min(m, 1) + min(m, 2) + min(m, 4) + ... Every L gives a bound, and the least is taken. L = 0 gives
    d m (2^bits - 1): one range for every attribute and group, which holds for any order. QED.

    For one attribute (L = bits) the bound is the range, whatever m. For more it grows with m^(1 - 1/d).
    """
    lengths = []
    for level in range(bits + 1):
        side = 1 << (bits - level)
        lengths.append(side * _borders(level, m, d) + d * m * (side - 1))
    return min(lengths)


def _borders(level: int, m: int, d: int) -> int:
    """Count the borders of cells that m steps along the curve can pass, as far as they count."""
    if level == 1:
        return sum(min(m, 1 << j) for j in range(d))
    return (1 << d * level) - 1


def noise_scale(sensitivity: int, epsilon: float) -> int:
    """Return the scale of the noise: sensitivity / epsilon, rounded up, with epsilon as it is written in decimals."""
    exact = Fraction(sensitivity) / Fraction(repr(float(epsilon)))
    scale = -(-exact.numerator // exact.denominator)
    if scale > LARGEST_SCALE:
        raise PlanError("epsilon-too-small", field="epsilon")
    return scale
