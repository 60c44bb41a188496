"""Microaggregation as a scikit-learn estimator."""

from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation import Aggregate, aggregate
from shoal.errors import MissingExtra
from shoal.messages import Message
from shoal.partitioning import partition

try:
    from sklearn.base import BaseEstimator, ClusterMixin, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import validate_data
except ImportError:
    raise MissingExtra("shoal.Microaggregation", "sklearn") from None


class Microaggregation(OneToOneFeatureMixin, ClusterMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Groups of at least k similar rows, each published as its group's representative.

    There is no ``transform`` for rows that were not fitted: a group is a set of k records, not a region of space. A new
    row put into the nearest group would be published with values that it had no part in, and leaves the promise of
    k to chance: whether it is alone with what it reveals depends on rows nobody has seen. Fit them together.

    Parameters
    ----------
    k : int
        The least number of rows in a group.
    method : str
        How rows are put into groups; see `shoal.partition`.
    standardize : bool or {"zscore", "minmax", "none"}
        How columns are brought to one scale first.
    gain : float, optional
        How readily ``vmdav`` lets groups grow.
    aggregate : {"mean", "median"}
        What a group publishes.
    budget : str or int, optional
        How long ``best`` may search: a time such as "60s", or a number of steps.
    seed : int
        Start of the random numbers of ``best``.
    tour : {"refined", "savings"}, optional
        Which tour ``tour`` cuts: that of the savings heuristic shortened (its default), or as it is.

    Attributes
    ----------
    labels_ : (n,) array of int64
        The group of each row.

    Examples
    --------
    >>> from shoal import Microaggregation
    >>> Microaggregation(k=2).fit_transform([[1.0, 1], [9, 9], [2, 1], [8, 9]]).tolist()
    [[1.5, 1.0], [8.5, 9.0], [1.5, 1.0], [8.5, 9.0]]
    """

    def __init__(
        self,
        k: int = 3,
        *,
        method: str = "auto",
        standardize: bool | str = True,
        gain: float | None = None,
        aggregate: str = "mean",
        budget: str | int | None = None,
        seed: int = 0,
        tour: str | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.standardize = standardize
        self.gain = gain
        self.aggregate = aggregate
        self.budget = budget
        self.seed = seed
        self.tour = tour

    def fit(self, X: Any, y: None = None) -> Self:
        """Compute the groups of the rows."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: None = None) -> NDArray[np.float64]:
        """Compute the groups of the rows and return each row's representative."""
        X = self._fit(X)
        how = cast("Aggregate", self.aggregate)
        return np.column_stack([aggregate(column, self.labels_, how) for column in X.T])

    def _fit(self, X: Any) -> NDArray[np.float64]:
        if self.aggregate not in ("mean", "median"):
            raise ValueError(Message("not-a-choice", field="aggregate", choices=["mean", "median"]))
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.labels_ = partition(
            X,
            self.k,
            self.method,  # type: ignore[arg-type]
            self.standardize,  # type: ignore[arg-type]
            self.gain,
            budget=self.budget,
            seed=self.seed,
            tour=self.tour,  # type: ignore[arg-type]
        )
        return np.asarray(X)
