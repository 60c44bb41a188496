"""Mic1D-k: one dimension microaggregation, in which all values of a file are microaggregated as one vector."""

import numpy as np
import numpy.typing as npt

from shoal.partitioning.optimal_cut import cut


def mic1d(X: npt.NDArray[np.float64], k: int, *, optimal: bool = False) -> npt.NDArray[np.float64]:
    """Mask a matrix by Mic1D-k [1]_: mix the values of all attributes in one vector and microaggregate that.

    Means and sums of attributes are not preserved.

    **No group of k records is promised.** k counts values of the vector, not records: k values share a mean, but they
    come from different attributes and return to different ranges. How many records are alike in the result has to be
    counted (the real k' = n / number of different records), and may be one.

    The steps, in the paper's letters:

    1. *Vectorise* the n x d values, row by row, to a vector of N = n d.
    2. *Sort* it: V_s.
    3. *Partition* V_s into parts P_m of k values; the last keeps the N mod k that are left.
    4. *Normalise* each part to [0, 1] by its own min_m and max_m; where these are equal, to 0.5.
    5. *Re-sort* the normalised values, and partition again.
    6. *Mean* mu_m of each new part.
    7. *Denormalise* by the part of step 3 that the value came from: ``min_m + mu (max_m - min_m)``; put it back in its
       place. A part of equal values is published as it is.

    The paper normalises once more before the mean and undoes that after it, which changes nothing: a mean commutes with
    affine maps. The unit is that of the data, unscaled: attributes of much larger values than others have parts of
    their own.

    With `optimal`, both partitions are those of least SSE into parts of k to 2k - 1 values, of the vector that they cut
    (`shoal.partitioning.optimal_cut`): the paper's future work, "vector partitioning which considers the SSE value".
    No part has fewer than k values then, so that there are N div k parts at most.

    *Ties.* The paper does not say which of several equal values come before a border of parts. Here both sorts are
    reverse-stable: equal values come out in the opposite order of that in which they went in. No simple rule gives all
    of the paper's figures. This one gives its own-range SSE on Census to the last digit and on Water to 0.1 (65.92,
    80.84, 255.61 for 65.89, 80.95, 255.64); plain stability gives 32.28 for 32.27 on Census at k = 3000, and 65.92,
    80.84, 255.64 on Water.

    References
    ----------
    .. [1] J. Nin, "Beyond multivariate microaggregation for large record anonymization", section 3; first in J.
       Pont-Tuset, J. Nin, P. Medrano-Gracia, J. Ll. Larriba-Pey and V. Muntés-Mulero, "Improving microaggregation for
       complex record anonymization", Modeling Decisions for Artificial Intelligence 2008.

    Examples
    --------
    Two parts, {1, 2, 3, 5} and {10, 14, 20, 30}; normalised and sorted again, the means are 0.1125 and 0.75:

    >>> mic1d(np.array([[1.0, 10], [2, 14], [3, 20], [5, 30]]), k=4).tolist()
    [[1.45, 12.25], [1.45, 12.25], [4.0, 25.0], [4.0, 25.0]]
    """
    peak = np.abs(X).max(initial=0.0)
    if peak > 1e300:  # max - min would overflow; a power of two changes no digit and no order
        return mic1d(X * 2.0**-64, k, optimal=optimal) * 2.0**64
    vector = np.ravel(np.asarray(X, dtype=np.float64))

    order = reverse_stable_order(vector)
    values = vector[order]
    starts, sizes = _parts(values, k, optimal)
    low, high = values[starts], values[starts + sizes - 1]  # sorted: the first and the last of each part
    span = high - low

    values -= np.repeat(low, sizes)
    values /= np.repeat(np.where(span > 0, span, 1.0), sizes)
    values[np.repeat(span == 0, sizes)] = 0.5

    reorder = reverse_stable_order(values)
    resorted = values[reorder]
    again, lengths = _parts(resorted, k, optimal)
    means = np.add.reduceat(resorted, again) / lengths
    # Rounding must not push a mean outside its part: equal values keep their own, to the bit.
    means = np.clip(means, resorted[again], resorted[again + lengths - 1])
    values[reorder] = np.repeat(means, lengths)

    values *= np.repeat(span, sizes)
    values += np.repeat(low, sizes)
    np.minimum(values, np.repeat(high, sizes), out=values)
    vector = np.empty_like(values)
    vector[order] = values
    return vector.reshape(X.shape)


def _parts(
    values: npt.NDArray[np.float64], k: int, optimal: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where the parts of sorted values begin, and how many each has."""
    starts = np.arange(0, values.size, k)
    if optimal:
        labels = cut(values[:, None], np.arange(values.size), k)
        starts = np.flatnonzero(np.diff(labels, prepend=-1))
    return starts, np.diff(starts, append=values.size)


def reverse_stable_order(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the places of the values in ascending order; of equal values, the last place first."""
    order: npt.NDArray[np.int64] = np.argsort(values[::-1], kind="stable")
    return np.subtract(values.size - 1, order, out=order)
