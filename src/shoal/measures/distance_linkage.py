"""Distance-based record linkage: how often the published record nearest to a person's is that person's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.linkage import link_by_types, link_to_nearest
from shoal.kernels.standardize import Matrix, standardize
from shoal.measures.equivalence_classes import (
    MOST_SUBSETS,
    Classes,
    Subset,
    classes_by_subset,
    intruder_subsets,
    published_classes,
)


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
        microaggregated file are at least k, all alike; ``sampled``, whether ``records`` left some out.

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
    subset = tuple(range(original.shape[1])) if columns is None else tuple(columns)
    asked = some_records(len(original), records, seed)
    Z, Y = _scaled(original), _scaled(masked)
    linked, expected = _link(Z, Y, subset, published_classes(Y, subset), asked)
    return {"linked": linked, "expected": expected, "sampled": len(asked) < len(original)}


def _scaled(X: Matrix) -> Matrix:
    """Bring the attributes of a file to one scale; a gap would look like a record that nobody links."""
    if not np.isfinite(X).all():
        raise DataError("record linkage takes numbers without gaps; fill missing values or leave the records out")
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
    d = original.shape[1]
    subsets, sampled = intruder_subsets(d, limit, seed)
    asked = some_records(len(original), records, seed)
    Z, Y = _scaled(original), _scaled(masked)
    found = {subset: _link(Z, Y, subset, classes, asked) for subset, classes in classes_by_subset(Y, subsets)}
    sizes = {}
    for size in range(1, d + 1):
        ours = np.array([percentages for subset, percentages in found.items() if len(subset) == size])
        sizes[size] = {"linked": float(ours[:, 0].mean()), "expected": float(ours[:, 1].mean())}
    return {
        "linked": float(np.mean([sizes[size]["linked"] for size in sizes])),
        "expected": float(np.mean([sizes[size]["expected"] for size in sizes])),
        "sizes": sizes,
        "subsets": len(subsets),
        "sampled": sampled or len(asked) < len(original),
    }


def masking_distance_linkage(
    original: EncodedMatrix, published: EncodedMatrix, records: int | None = None, seed: int = 0
) -> float:
    """Percentage of records that an intruder is expected to link rightly by the distance that masked them.

    Each original record is linked to the published record at the least distance, whatever the types of the attributes
    and whether values are missing. One of m published records that are nearest alike is drawn, so that the right one
    counts 1/m: at most 1/k in a microaggregated file, and less where records are nearer to another group than to
    their own.

    Parameters
    ----------
    original, published : EncodedMatrix
        The same records in the same order, in the encoding that masked.
    records : int, optional
        Link no more than this many original records, a seeded sample, to all the published ones.
    seed : int
        Of that sample.

    References
    ----------
    Domingo-Ferrer & Torra (2001), A quantitative comparison of disclosure control methods for microdata, in
    Confidentiality, Disclosure and Data Access, 111-134.
    """
    asked = some_records(len(original.values), records, seed)
    classes = published_classes(published.values)
    rows = np.ascontiguousarray(published.values[classes.first])
    if original.plain and published.plain:
        values = np.ascontiguousarray(original.values)
        _, expected = link_to_nearest(values, rows, classes.labels, classes.first, classes.size, asked)
    else:
        expected = link_by_types(
            original.values, rows, classes.labels, classes.size, asked, original.kinds, original.apart
        )
    return 100 * float(expected) / len(asked)


def some_records(n: int, most: int | None, seed: int) -> NDArray[np.int64]:
    """Return the indices of all n records or, if they are more than `most`, of a sample without replacement."""
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, max(1, most), replace=False))


def _link(Z: Matrix, Y: Matrix, subset: Subset, classes: Classes, asked: NDArray[np.int64]) -> tuple[float, float]:
    # The classes are of z-scores: values that an outlier makes equal on this scale would tie in every search.
    places = list(subset)
    rows = np.ascontiguousarray(Y[classes.first][:, places])
    points = Z if subset == tuple(range(Z.shape[1])) else np.ascontiguousarray(Z[:, places])
    linked, expected = link_to_nearest(points, rows, classes.labels, classes.first, classes.size, asked)
    return 100 * linked / len(asked), 100 * expected / len(asked)
