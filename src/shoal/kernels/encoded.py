"""EncodedMatrix: records among which distances are measured, each attribute according to its type."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix

# Records that count alike.
NO_WEIGHTS: Final = np.empty(0)

# How the average record is computed in a column; all but the last are numbers, of which differences are squared.
MEAN: Final = 0  # continuous attributes and dates
MEDIAN: Final = 1  # ordinal attributes: the lower median
CONVEX_MEDIAN: Final = 2  # ordinal attributes, where asked for
MODE: Final = 3  # nominal attributes: the most frequent category


class EncodedMatrix(NamedTuple):
    """The quasi-identifiers of the records as MDAV-generic sees them; arrays only, so that kernels can take it.

    The squared distance of two records is the sum over the columns of: nothing if both miss the value; ``apart[j]``
    if one of them does; the squared difference of the values in columns of numbers; in columns of categories nothing
    if they are equal, else ``apart[j]``.

    References
    ----------
    Domingo-Ferrer & Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data
    Mining and Knowledge Discovery 11.
    """

    # (n, d), NaN where a value is missing. Continuous attributes and dates are standardised and multiplied by the
    # square root of the attribute's weight; ordinal ones are the place of the level times `steps`, nominal ones the
    # number of the category.
    values: Matrix
    kinds: NDArray[np.int64]  # (d,): `MEAN`, `MEDIAN`, `CONVEX_MEDIAN` or `MODE`
    apart: NDArray[np.float64]  # (d,): the squared distance of two categories, and of a missing value from any other
    steps: NDArray[np.float64]  # (d,): for ordinal attributes the distance of neighbouring levels; 1 for others
    levels: NDArray[np.int64]  # (d,): the number of levels or categories; 0 for continuous attributes and dates
    # (n,): by how much each record counts in the loss that a search lowers; positive, or empty if they count alike.
    # Distances, and the averages of MDAV, do not depend on it.
    weights: NDArray[np.float64] = NO_WEIGHTS

    @property
    def plain(self) -> bool:
        """Whether distances are Euclidean and averages means, so that every partition method will do."""
        return bool((self.kinds == MEAN).all()) and not bool(np.isnan(self.values).any())

    def rows(self, which: NDArray[np.int64]) -> "EncodedMatrix":
        """Return the space of some of the records."""
        weights = self.weights[which] if len(self.weights) else self.weights
        return self._replace(values=np.ascontiguousarray(self.values[which]), weights=weights)

    def columns(self, which: list[int]) -> "EncodedMatrix":
        """Return the space of some of the attributes."""
        return EncodedMatrix(
            np.ascontiguousarray(self.values[:, which]),
            self.kinds[which],
            self.apart[which],
            self.steps[which],
            self.levels[which],
            self.weights,
        )
