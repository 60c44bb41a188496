"""What masking costs by the type of an attribute: squared distances of every type, changes of levels and categories."""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MODE, EncodedMatrix
from shoal.kernels.groups import convex_medians, means, middle
from shoal.kernels.standardize import Matrix

Column = NDArray[np.float64]


def squared_loss(original: EncodedMatrix, masked: EncodedMatrix, weights: Column | None = None) -> Column:
    """Sum over the records of the squared distance between original and masked, for each column.

    With `total` it gives the information loss of any set of columns: IL = 100 SSE / SST, both summed over the columns.
    For complete columns of numbers this is the IL of `shoal.measures.loss`. A value that was lost or filled in costs
    the weight of its attribute, as it does in distances.

    Parameters
    ----------
    original, masked : EncodedMatrix
        The same records in the same order, on one scale: that of the original.
    weights : (n,) array, optional
        Survey weights, finite and not negative.

    Returns
    -------
    (d,) array
        SSE.

    References
    ----------
    Domingo-Ferrer & Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data
    Mining and Knowledge Discovery 11.
    """
    return _summed(original, masked.values, weights)


def total(original: EncodedMatrix, weights: Column | None = None) -> Column:
    """Sum over the records of the squared distance to the average record, for each column: SST.

    This is what it costs if all records publish the average record: of each column the mean, median, convex median or
    mode as its kind says, or a missing value where more records (by weight) miss the value than have it. An average
    other than the mean need not be what costs least, so that a loss may exceed 100 %.
    """
    columns = range(original.values.shape[1])
    average = np.array([_average(original, j, weights) for j in columns])
    return _summed(original, np.broadcast_to(average, original.values.shape), weights)


def ordinal_loss(
    original: Column, masked: Column, levels: int, weights: Column | None = None
) -> dict[str, float | None]:
    """Measure what masking did to an ordinal attribute, given as places of levels 0, 1, ..., NaN where missing.

    Returns
    -------
    dict
        ``changed``: percent of the records that publish another level than their own, or lost or were given one;
        ``levels_moved``: by how many levels on average, and ``distance``: the same divided by the number of levels,
        among the records with a level in both files (None if there is no such record); and what `missing_shares` gives.
    """
    w = _counts(original, weights)
    both = ~np.isnan(original) & ~np.isnan(masked)
    moved = _share(np.abs(original - masked)[both], w[both])
    return {
        "changed": _changed(original, masked, w),
        "levels_moved": moved,
        "distance": None if moved is None else moved / levels,
        **missing_shares(original, masked, weights),
    }


def nominal_loss(original: Column, masked: Column, weights: Column | None = None) -> dict[str, float | int | None]:
    """Measure what masking did to a nominal attribute, given as numbers of categories 0, 1, ..., NaN where missing.

    Returns
    -------
    dict
        ``changed``: percent of the records that publish another category than their own, or lost or were given one;
        ``total_variation``: half the sum over the categories of |share before - share after|, from 0 to 1, of the
        values that are there (None if there are none before or after); ``categories_before``, ``categories_after``:
        how many occur; ``categories_vanished``: how many of the first no longer do; and what `missing_shares` gives.
    """
    w = _counts(original, weights)
    before, after = (np.unique(codes[~np.isnan(codes)]) for codes in (original, masked))
    return {
        "changed": _changed(original, masked, w),
        "total_variation": _total_variation(original, masked, w),
        "categories_before": before.size,
        "categories_after": after.size,
        "categories_vanished": np.setdiff1d(before, after).size,
        **missing_shares(original, masked, weights),
    }


def missing_shares(original: Column, masked: Column, weights: Column | None = None) -> dict[str, float | None]:
    """Return the percentage of records that miss the value, ``missing_before`` and ``missing_after`` masking."""
    w = _counts(original, weights)
    return {
        "missing_before": _share(100.0 * np.isnan(original), w),
        "missing_after": _share(100.0 * np.isnan(masked), w),
    }


def _summed(space: EncodedMatrix, others: Matrix, weights: Column | None) -> Column:
    """Sum squared distances column by column, so that there is never more than one column of them."""
    w = _counts(space.values, weights)
    return np.array([w @ _squared_distances(space, j, others[:, j]) for j in range(others.shape[1])])


def _squared_distances(space: EncodedMatrix, j: int, others: Column) -> Column:
    values = space.values[:, j]
    missing, other_missing = np.isnan(values), np.isnan(others)
    squared = np.where(values == others, 0.0, space.apart[j]) if space.kinds[j] == MODE else (values - others) ** 2
    squared[missing | other_missing] = space.apart[j]
    squared[missing & other_missing] = 0.0
    return squared


def _average(space: EncodedMatrix, j: int, weights: Column | None) -> float:
    """Compute a column of the average record; ties of modes go to the lowest, all of them being equally rare."""
    values, w = space.values[:, j], _counts(space.values, weights)
    present = ~np.isnan(values)
    if w[~present].sum() > w[present].sum():
        return np.nan
    counting = present & (w > 0)
    order = np.lexsort((w[counting], values[counting]))
    x, w = values[counting][order], w[counting][order]
    ends = np.array([0, x.size])
    kind, step = space.kinds[j], space.steps[j]
    if kind == MEAN:
        return float(means(x, w, ends[:1], ends[1:])[0])
    if kind == MODE:
        categories, code = np.unique(x, return_inverse=True)
        return float(categories[np.bincount(code, w).argmax()])
    if kind == CONVEX_MEDIAN and step > 0:  # without weight all levels lie at 0
        return float(convex_medians(np.rint(x / step).astype(np.int64), w, ends)[0] * step)
    return float(x[middle(w, ends)[0][0]])


def _counts(records: Matrix, weights: Column | None) -> Column:
    return np.ones(len(records)) if weights is None else weights


def _share(x: Column, weights: Column) -> float | None:
    """Return the weighted mean; None if nothing has weight."""
    weight = weights.sum()
    return float(x @ weights / weight) if weight > 0 else None


def _changed(original: Column, masked: Column, weights: Column) -> float | None:
    same = (original == masked) | (np.isnan(original) & np.isnan(masked))
    return _share(100.0 * ~same, weights)


def _total_variation(original: Column, masked: Column, weights: Column) -> float | None:
    categories = int(np.fmax.reduce(np.concatenate([[0.0], original, masked]))) + 1
    frequencies = []
    for codes in (original, masked):
        present = ~np.isnan(codes)
        frequencies.append(np.bincount(codes[present].astype(np.int64), weights[present], categories))
    before, after = frequencies
    if before.sum() == 0 or after.sum() == 0:
        return None
    return float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)
