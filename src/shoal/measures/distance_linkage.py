"""Distance-based record linkage: how often the published record nearest to a person's is that person's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.linkage import link_to_nearest
from shoal.kernels.linkage_by_types import link_by_types
from shoal.kernels.standardize import Matrix, standardize
from shoal.measures.equivalence_classes import (
    MOST_SUBSETS,
    Classes,
    Subset,
    classes_by_subset,
    intruder_subsets,
    published_classes,
)
from shoal.measures.intervals import wilson
from shoal.measures.linkage_spaces import numeric


def distance_linkage(
    original: Matrix, masked: Matrix, columns: Sequence[int] | None = None, records: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """Percentage of records that an intruder links rightly by distance (DLD, DBRL).

    Both files are brought to z-scores, each by its own means and standard deviations (ddof 0; a constant attribute is
    zero), and each original record is linked to the masked record at the least Euclidean distance.

    Parameters
    ----------
    original, masked : (n, d) matrices
        The same records in the same order, in the units of the data.
    columns : sequence of int, optional
        What the intruder knows; all attributes if left out.
    records : int, optional
        Link no more than this many original records, a seeded sample, to all the masked ones.
    seed : int
        Of that sample.

    Returns
    -------
    dict
        ``linked``, the percentage linked to themselves if the first record wins a tie: the reading behind the published
        tables; ``expected``, the percentage to be expected if the intruder draws one of the nearest records, which in a
        microaggregated file are at least k, all alike; ``records``, how many were linked; ``sampled``, whether
        ``records`` left some out; ``interval``, 95 % for ``linked``, as a sample of records like these (`wilson`).

    Notes
    -----
    Only different masked records are searched, in a k-d tree. A squared distance is added in the order of the
    attributes, and distances are tied if they are the same number.

    References
    ----------
    Pagliuca & Seri (1999), Some results of individual ranking method on the system of enterprise accounts annual
    survey. Domingo-Ferrer & Torra (2001), A quantitative comparison of disclosure control methods for microdata, in
    Confidentiality, Disclosure and Data Access, 111-134.
    """
    return linkage(numeric(_scaled(original)), numeric(_scaled(masked)), columns, records, seed)


def linkage(
    original: EncodedMatrix,
    masked: EncodedMatrix,
    columns: Sequence[int] | None = None,
    records: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Percentage of records that an intruder links rightly by distance, for attributes of every type.

    Each original record is linked to the masked record at the least distance of `EncodedMatrix`, whatever the types of
    the attributes and whether values are missing. See `distance_linkage` for the other parameters and the result. In a
    microaggregated file ``expected`` is at most 100 / k, and less where records are nearer to another group than to
    their own.

    Parameters
    ----------
    original, masked : EncodedMatrix
        The same records in the same order, on the scales by which they are compared: see `LinkageSpaces`.
    """
    subset = tuple(range(original.values.shape[1])) if columns is None else tuple(columns)
    n = len(original.values)
    asked = some_records(n, records, seed)
    linked, expected = _link(original, masked, subset, published_classes(masked.values, subset), asked)
    return {
        "linked": linked,
        "expected": expected,
        "interval": wilson(linked / 100 * len(asked), len(asked)),
        "records": len(asked),
        "sampled": len(asked) < n,
    }


def _scaled(X: Matrix) -> Matrix:
    """Bring the attributes of a file to one scale; a gap would look like a record that nobody links."""
    if not np.isfinite(X).all():
        raise DataError("linkage-needs-numbers")
    return standardize(X)


def distance_linkage_average(
    original: Matrix,
    masked: Matrix,
    limit: int = MOST_SUBSETS,
    records: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Distance-based record linkage averaged over what an intruder may know.

    `distance_linkage` is averaged over the subsets of each size 1 .. d, then over the sizes: the DLD of Nin, Herranz &
    Torra.

    Parameters
    ----------
    original, masked : (n, d) matrices
        The same records in the same order, in the units of the data.
    limit, seed : int
        See `intruder_subsets`: how many subsets are looked at, and which if not all.
    records : int, optional
        Link no more than this many original records, a seeded sample, to all the masked ones.

    Returns
    -------
    dict
        ``linked`` and ``expected``, in percent; the same for each number of attributes known, in ``sizes``;
        ``subsets``, how many were looked at; ``sampled``, whether some were left out, subsets or records.

    References
    ----------
    Nin, Herranz & Torra (2008), Towards a more realistic disclosure risk assessment, Privacy in Statistical Databases,
    LNCS 5262.
    """
    return linkage_average(numeric(_scaled(original)), numeric(_scaled(masked)), limit, records, seed)


def linkage_average(
    original: EncodedMatrix,
    masked: EncodedMatrix,
    limit: int = MOST_SUBSETS,
    records: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Average `linkage` over what an intruder may know: see `distance_linkage_average`."""
    n, d = original.values.shape
    subsets, sampled = intruder_subsets(d, limit, seed)
    asked = some_records(n, records, seed)
    found = {
        subset: _link(original, masked, subset, classes, asked)
        for subset, classes in classes_by_subset(masked.values, subsets)
    }
    sizes = {}
    for size in range(1, d + 1):
        ours = np.array([percentages for subset, percentages in found.items() if len(subset) == size])
        sizes[size] = {"linked": float(ours[:, 0].mean()), "expected": float(ours[:, 1].mean())}
    return {
        "linked": float(np.mean([sizes[size]["linked"] for size in sizes])),
        "expected": float(np.mean([sizes[size]["expected"] for size in sizes])),
        "sizes": sizes,
        "subsets": len(subsets),
        "sampled": sampled or len(asked) < n,
    }


def some_records(n: int, most: int | None, seed: int) -> NDArray[np.int64]:
    """Return the indices of all n records or, if they are more than `most`, of a sample without replacement."""
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, max(1, most), replace=False))


def _link(
    original: EncodedMatrix, masked: EncodedMatrix, subset: Subset, classes: Classes, asked: NDArray[np.int64]
) -> tuple[float, float]:
    # The classes are of scaled values: values that an outlier makes equal on this scale would tie in every search.
    places = list(subset)
    rows = np.ascontiguousarray(masked.values[classes.first][:, places])
    points = original if places == list(range(len(original.kinds))) else original.columns(places)
    if points.plain and not np.isnan(rows).any():
        values = np.ascontiguousarray(points.values)
        linked, expected = link_to_nearest(values, rows, classes.labels, classes.first, classes.size, asked)
    else:
        linked, expected = link_by_types(points, rows, classes.labels, classes.first, classes.size, asked)
    return 100 * linked / len(asked), 100 * float(expected) / len(asked)
