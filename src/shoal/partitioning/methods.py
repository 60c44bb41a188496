"""The partition methods by name, and the one door to them."""

from functools import partial
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, PlanError
from shoal.plan import AttributeType
from shoal.scaling import Matrix
from shoal.scaling import standardize as scale

Labels = NDArray[np.int64]
Watch = NDArray[np.int64]


class Partitioner(Protocol):
    """A partition method: a matrix in which squared Euclidean distance is right, and k, to labels.

    `watch` is how a caller in another thread follows the work: the method writes the number of records that have
    found their group to ``watch[0]``, and gives up when ``watch[1]`` is set.
    """

    def __call__(self, X: Matrix, k: int, *, watch: Watch | None = None) -> Labels:
        """Partition."""


METHODS = ("mdav", "vmdav", "univariate", "pca", "zscores")

_NUMBERS: tuple[AttributeType, ...] = ("continuous", "date", "datetime")
# The types of attributes that a method can take.
ACCEPTS: dict[str, tuple[AttributeType, ...]] = {
    "mdav": (*_NUMBERS, "ordinal", "nominal", "boolean"),
    "vmdav": _NUMBERS,
    "univariate": _NUMBERS,
    "pca": _NUMBERS,
    "zscores": _NUMBERS,
    "mic1d": ("continuous",),
    "hybrid": (*_NUMBERS, "ordinal", "nominal", "boolean"),
    "ms": _NUMBERS,
}


def partitioner(method: str, gain: float | None = None) -> Partitioner:
    """Load a method by its name: each brings kernels that need not be loaded, or compiled, for the others."""
    match method:
        case "mdav":
            from shoal.partitioning.mdav import mdav

            return mdav
        case "vmdav":
            from shoal.partitioning.vmdav import vmdav

            return vmdav if gain is None else partial(vmdav, gain=gain)
        case "univariate":
            from shoal.partitioning.cut import univariate

            return univariate
        case "pca" | "zscores":
            from shoal.partitioning.orderings import pca, zscores

            return pca if method == "pca" else zscores
    raise PlanError([("method", f"must be one of {', '.join(['auto', *METHODS])}")])


def choose(method: str, d: int, plain: bool = True) -> str:
    """Turn ``auto`` into the method that suits `d` attributes: for one of plain numbers the optimum is at hand."""
    if method != "auto":
        return method
    return "univariate" if d == 1 and plain else "mdav"


def partition(
    X: ArrayLike,
    k: int,
    method: Literal["auto", "mdav", "vmdav", "univariate", "pca", "zscores"] = "auto",
    standardize: bool | Literal["zscore", "minmax", "none"] = True,
    gain: float | None = None,
    watch: Watch | None = None,
) -> Labels:
    """Put the rows of a matrix into groups of at least k similar ones.

    Parameters
    ----------
    X : (n, d) matrix of numbers
    k : int
        The least number of records in a group.
    method : {"auto", "mdav", "vmdav", "univariate", "pca", "zscores"}
        ``mdav`` takes any number of attributes; ``vmdav`` does too, and lets groups grow where records are dense;
        ``pca`` and ``zscores`` put records in a line, by their first principal component or the sum of their
        z-scores, and cut it optimally; ``univariate`` takes one attribute and is optimal; ``auto`` is ``univariate``
        for one attribute and ``mdav`` for more.
    standardize : bool or {"zscore", "minmax", "none"}
        How attributes are brought to one scale first; True is ``zscore``, False is ``none``.
    gain : float, optional
        How readily ``vmdav`` lets groups grow: 0 never, 0.2 (its default) for scattered data, 1.1 for clustered data.
    watch : (2,) array of int64, optional
        For callers in another thread: the number of records done is written to the first element, and a second
        element other than zero asks the method to give up.

    Returns
    -------
    (n,) array of int64
        The group of each row, numbered from 0. Groups have k to 2k - 1 members (fewer than 2k rows make one group).

    Examples
    --------
    >>> import shoal
    >>> shoal.partition([[1.0, 1], [9, 9], [2, 1], [8, 9]], k=2).tolist()
    [0, 1, 0, 1]
    """
    matrix = _checked(X, k)
    name = choose(method, matrix.shape[1])
    if gain is not None and name != "vmdav":
        raise PlanError([("gain", f"does not apply to method '{name}'; it goes with 'vmdav'")])
    if gain is not None and not 0 <= gain < np.inf:
        raise PlanError([("gain", "must be a number of at least 0")])
    search = partitioner(name, gain)
    if name == "univariate" and matrix.shape[1] != 1:
        raise PlanError([("method", f"'univariate' takes one attribute, not {matrix.shape[1]}; use 'mdav'")])
    how = ("zscore" if standardize else "none") if isinstance(standardize, bool) else standardize
    if how not in ("zscore", "minmax", "none"):
        raise PlanError([("standardize", "must be True, False, 'zscore', 'minmax' or 'none'")])
    return search(scale(matrix, how), int(k), watch=watch)


def _checked(X: ArrayLike, k: int) -> Matrix:
    try:
        matrix = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the matrix must hold numbers only") from None
    if matrix.ndim != 2:
        raise DataError(f"the matrix must have two dimensions, not {matrix.ndim}; X.reshape(-1, 1) makes one column")
    if matrix.shape[1] == 0:
        raise DataError("the matrix has no columns")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise DataError(f"row {row} of the matrix is missing or infinite in column {column}")
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise PlanError([("k", "must be a whole number")])
    if k < 2:
        raise PlanError([("k", "must be at least 2")])
    if k > len(matrix):
        raise DataError(f"k = {k} asks for groups larger than the {len(matrix)} rows of the matrix")
    return matrix
