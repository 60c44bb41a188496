"""What hybrid data preserve, measured on the values themselves.

Nothing here knows how the values were made. A deviation is relative: that of a mean to the mean or the standard
deviation, whichever is larger, and that of a covariance to the product of both standard deviations, all of the
original. (A covariance itself may be zero.) Where the original is constant, values that are the same deviate by 0 and
others by infinity.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, matrix_near_one
from shoal.measures.loss import correlations, near_one

Column = NDArray[np.float64]
Labels = NDArray[np.int64]
SAME = 1e-12  # a value that moved by no more, relative to itself, is the original


def preservation(X: Matrix, hybrid: Matrix, Y: Matrix, labels: Labels, names: Sequence[str]) -> dict[str, Any]:
    """Measure how far hybrid data moved means, covariances and higher moments of the confidential attributes.

    Returns ``file`` and ``groups``, the largest relative deviation of ``means`` and of ``covariances`` (of X with X and
    of X with Y) in the file and in any group. ``attributes``: for each, how many values are ``unchanged`` (the same to
    12 digits); its central ``moments``, third and fourth, as pairs of before and after; and ``lemma_2``, the
    ``measured`` change of the sum of cubed deviations from the mean beside its ``bound`` 2 n max(1, B^(3/2)), where B
    is the largest squared deviation of a value, original or hybrid, from the mean of its group.

    Notes
    -----
    The bound is computed from the value that lies farthest from its group: it is for the keeper of the data, not for
    publication. It changes with the units; as abs(z) <= sqrt(B) gives abs(z)^3 <= B^(3/2) for small z as well, it holds
    without the 1, too.

    References
    ----------
    J. Domingo-Ferrer, "Microaggregation-based numerical hybrid data", Joint UNECE/Eurostat work session on statistical
    data confidentiality, Bilbao 2009: Lemmas 1 and 2.
    """
    whole = np.zeros(len(X), dtype=np.int64)
    (x, after), (y, _) = near_one(X, hybrid), near_one(Y, Y)  # or squares of the very large and small could not be held
    return {
        "file": _largest_deviations(x, after, y, whole),
        "groups": _largest_deviations(x, after, y, labels),
        "attributes": {
            name: _higher_moments(x, after, labels) for name, x, after in zip(names, X.T, hybrid.T, strict=True)
        },
    }


def subdomains(
    X: Matrix, hybrid: Matrix, names: Sequence[str], count: int, share: float = 0.1, rng: int | np.random.Generator = 0
) -> list[dict[str, Any]]:
    """Compare statistics of random subdomains, which hybrid data preserve approximately.

    One row a statistic: ``subdomain`` (counted from 1), ``records``, ``statistic`` (mean, variance, third moment and
    fourth moment about the mean, or correlation), ``attribute``, ``with`` (the other attribute of a correlation, else
    None), ``original`` and ``hybrid``.
    """
    generator = np.random.default_rng(rng)
    size = min(len(X), max(2, round(share * len(X))))
    rows = []
    for number in range(1, count + 1):
        subset = generator.choice(len(X), size, replace=False)
        before, after = _statistics(X[subset], names), _statistics(hybrid[subset], names)
        for (statistic, attribute, other), value in before.items():
            rows.append(
                {
                    "subdomain": number,
                    "records": size,
                    "statistic": statistic,
                    "attribute": attribute,
                    "with": other,
                    "original": value,
                    "hybrid": after[statistic, attribute, other],
                }
            )
    return rows


def _statistics(X: Matrix, names: Sequence[str]) -> dict[tuple[str, str, str | None], float]:
    R = correlations(X)
    found: dict[tuple[str, str, str | None], float] = {}
    for name, x in zip(names, X.T, strict=True):
        x, unit = matrix_near_one(x)
        found["mean", name, None] = _in_units(x.mean(), unit)
        found["variance", name, None] = _in_units(x.var(), 2 * unit)
        for word, order in (("third moment", 3), ("fourth moment", 4)):
            found[word, name, None] = _in_units(((x - x.mean()) ** order).mean(), order * unit)
    for i, j in combinations(range(len(names)), 2):
        found["correlation", names[i], names[j]] = float(R[i, j])
    return found


def _largest_deviations(X: Matrix, hybrid: Matrix, Y: Matrix, labels: Labels) -> dict[str, float]:
    means, covariances = [0.0], [0.0]
    before, after = Grouped(np.hstack([X, Y]), labels), Grouped(np.hstack([hybrid, Y]), labels)
    for j in range(X.shape[1]):
        scale = np.maximum(np.abs(before.means[:, j]), before.deviations[:, j])
        means.append(_largest(after.means[:, j] - before.means[:, j], scale))
        for i in range(j, before.means.shape[1]):
            moved = after.covariances(j, i) - before.covariances(j, i)
            covariances.append(_largest(moved, before.deviations[:, j] * before.deviations[:, i]))
    return {"means": float(np.max(means)), "covariances": float(np.max(covariances))}  # NaN, if there is one


class Grouped:
    """Means, standard deviations, covariances and largest values of attributes in groups."""

    def __init__(self, X: Matrix, labels: Labels) -> None:
        self.labels = labels
        self.sizes = np.bincount(labels)
        origin = np.empty((self.sizes.size, X.shape[1]))
        origin[labels] = X  # any member: of equal values, deviations and covariances are exact zeros
        differences = X - origin[labels]
        shift = self._sums(differences) / self.sizes[:, None]
        self.means = origin + shift
        self.centred = differences - shift[labels]
        self.deviations = np.sqrt(self._sums(self.centred**2) / self.sizes[:, None])
        self.largest = np.zeros(origin.shape)
        np.maximum.at(self.largest, labels, np.abs(X))

    def _sums(self, X: Matrix) -> Matrix:
        sums = [np.bincount(self.labels, column) for column in X.T]
        return np.column_stack(sums) if sums else np.empty((self.sizes.size, 0))

    def covariances(self, j: int, i: int) -> Column:
        """Return the covariance of one attribute with another in every group."""
        return np.bincount(self.labels, self.centred[:, j] * self.centred[:, i]) / self.sizes


def _largest(moved: Column, scale: Column) -> float:
    """Return the largest abs(moved) / scale; nothing moved is 0 on any scale."""
    with np.errstate(divide="ignore"):
        return float(np.divide(np.abs(moved), scale, out=np.zeros_like(moved), where=moved != 0).max())


def _higher_moments(x: Column, after: Column, labels: Labels) -> dict[str, Any]:
    """Compute the moments that are not kept; what overflows or vanishes in the units of the data is infinite or 0."""
    unchanged = int((np.abs(after - x) <= SAME * np.abs(x)).sum())
    x, unit = matrix_near_one(x)
    after = np.ldexp(after, -unit)
    n, mean = len(x), x.mean()
    cubes = abs(((after - mean) ** 3).sum() - ((x - mean) ** 3).sum())
    centre = (np.bincount(labels, x) / np.bincount(labels))[labels]
    B = max(((x - centre) ** 2).max(), ((after - centre) ** 2).max())
    moments = {
        name: [_in_units(((values - values.mean()) ** order).mean(), order * unit) for values in (x, after)]
        for name, order in (("third", 3), ("fourth", 4))
    }
    return {
        "unchanged": unchanged,
        "moments": moments,
        "lemma_2": {"measured": _in_units(cubes, 3 * unit), "bound": 2 * n * max(1.0, _in_units(B**1.5, 3 * unit))},
    }


def _in_units(value: float, exponent: int) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(value, exponent))
