"""The partition methods by name, and the one door to them."""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, PlanError
from shoal.kernels.standardize import Matrix, refuse_not_finite
from shoal.kernels.standardize import standardize as scale
from shoal.messages import Message
from shoal.plan import AttributeType, Effort, Plan, Tour

# How many records of at most so many plain attributes are searched without a budget, in some ten seconds; of more
# attributes, the neighbours of many records are not found by a tree.
SEARCHED = {5: 1_000_000, 10: 200_000}
MANY = 50_000  # records of any other attributes

Labels = NDArray[np.int64]
Watch = NDArray[np.int64]


class Partitioner(Protocol):
    """A partition method: a matrix in which squared Euclidean distance is right, and k, to labels.

    `watch` is how a caller in another thread follows the work: the method writes the number of records that have
    found their group to ``watch[0]``, and gives up when ``watch[1]`` is set.
    """

    def __call__(self, X: Matrix, k: int, *, watch: Watch | None = None) -> Labels:
        """Partition."""


METHODS = ("mdav", "vmdav", "univariate", "pca", "zscores", "tour", "npn-mhm", "mdav-mhm", "cbfs-mhm", "best")

_NUMBERS: tuple[AttributeType, ...] = ("continuous", "date", "datetime")
# The types of attributes that a method can take; one that takes categories takes missing values too.
ACCEPTS: dict[str, tuple[AttributeType, ...]] = {
    "mdav": (*_NUMBERS, "ordinal", "nominal", "boolean"),
    "vmdav": _NUMBERS,
    "univariate": _NUMBERS,
    "pca": _NUMBERS,
    "zscores": _NUMBERS,
    **dict.fromkeys(("tour", "npn-mhm", "mdav-mhm", "cbfs-mhm"), _NUMBERS),
    "best": (*_NUMBERS, "ordinal", "nominal", "boolean"),
    "mic1d": ("continuous",),
    "hybrid": (*_NUMBERS, "ordinal", "nominal", "boolean"),
    "ms": _NUMBERS,
    "insensitive": ("continuous",),
}


def ignore() -> None:
    """Report nothing."""


def partitioner(
    method: str,
    gain: float | None = None,
    *,
    tour: Tour | None = None,
    effort: Effort | None = None,
    refine: bool = False,
    seed: int | None = None,
    hurried: Callable[[], None] = ignore,
) -> Partitioner:
    """Load a method by its name: each is loaded when it is asked for.

    `effort` is the budget of ``best`` and of refinement, and `seed` starts their random numbers; `hurried` is called if
    the seconds do not last for MDAV, or the method to be refined.
    """
    if method == "best":
        from shoal.partitioning.best import best

        return partial(best, effort=effort, seed=seed or 0, hurried=hurried)
    start = _partitioner(method, gain, tour)
    if refine and method != "univariate":
        from shoal.partitioning.best import refined

        return partial(refined, start, effort=effort or Effort(), seed=seed or 0, hurried=hurried)
    return start


def _partitioner(method: str, gain: float | None, tour: Tour | None) -> Partitioner:
    match method:
        case "mdav":
            from shoal.partitioning.mdav import mdav

            return mdav
        case "vmdav":
            from shoal.partitioning.vmdav import vmdav

            return vmdav if gain is None else partial(vmdav, gain=gain)
        case "univariate":
            from shoal.partitioning.optimal_cut import univariate

            return univariate
        case "pca" | "zscores":
            from shoal.partitioning.orderings import pca, zscores

            return pca if method == "pca" else zscores
        case "npn-mhm" | "mdav-mhm" | "cbfs-mhm":
            from shoal.partitioning import orderings

            return {
                "npn-mhm": orderings.npn_mhm,
                "mdav-mhm": orderings.mdav_mhm,
                "cbfs-mhm": orderings.cbfs_mhm,
            }[method]
        case "tour":
            from shoal.partitioning.tours import tour_cut

            return tour_cut if tour is None else partial(tour_cut, how=tour)
    raise PlanError("not-a-choice", field="method", choices=["auto", *METHODS])


class Choice(NamedTuple):
    """A method, and why it was chosen; nothing if it was asked for by name."""

    method: str
    why: str | Message = ""


def choose(
    method: str,
    d: int,
    n: int = 0,
    *,
    plain: bool = True,
    limited: bool = False,
    budget: bool = False,
    refine: bool = False,
) -> Choice:
    """Turn ``auto`` into the method that suits `n` records of `d` attributes, and a budget if there is one.

    No choice has a higher sum of squared errors than MDAV. For one attribute of plain numbers the optimum is at hand,
    unless groups are limited by l or t. Otherwise MDAV's groups are improved by a search, in as many steps as suit the
    table; not those of records that are elsewhere (`n` = 0), unless there is a budget.
    """
    if method != "auto":
        return Choice(method)
    if d == 1 and plain and not limited:
        return Choice("univariate", Message("optimal-for-one"))
    if refine:
        return Choice("mdav", Message("method-refined"))
    if budget:
        return Choice("best", Message("budget-given"))
    if not n:
        return Choice("mdav", Message("method-of-blocks"))
    most = next((n for columns, n in SEARCHED.items() if d <= columns), MANY) if plain and not limited else MANY
    if n <= most:
        gain = "1 to 3" if n <= MANY else "5 to 10"
        return Choice("best", Message("groups-searched", gain=gain))
    return Choice("mdav", Message("search-takes-long", records=n, attributes=d))


def partition(
    X: ArrayLike,
    k: int,
    method: Literal[
        "auto", "mdav", "vmdav", "univariate", "pca", "zscores", "tour", "npn-mhm", "mdav-mhm", "cbfs-mhm", "best"
    ] = "auto",
    standardize: bool | Literal["zscore", "minmax", "none"] = True,
    gain: float | None = None,
    watch: Watch | None = None,
    budget: str | int | None = None,
    refine: bool | float = False,
    seed: int = 0,
    tour: Tour | None = None,
) -> Labels:
    """Partition the rows of a matrix into groups of at least k similar ones.

    Parameters
    ----------
    X : (n, d) matrix of numbers
    k : int
        The least number of records in a group.
    method : str
        ``mdav`` takes any number of attributes; ``vmdav`` does too, and lets groups grow where records are dense.
        ``pca`` and ``zscores`` put records in a line, by their first principal component or the sum of their
        z-scores, and cut it optimally. ``tour`` cuts a short tour through all records, ``npn-mhm`` a walk that always
        goes to the nearest record, ``mdav-mhm`` and ``cbfs-mhm`` the groups of MDAV or CBFS one after the other.
        ``univariate`` takes one attribute and is optimal. ``best`` searches for the lowest loss that its budget can
        buy. ``auto`` chooses by the number of rows and columns, and never has a higher sum of squared errors than
        ``mdav``.
    standardize : bool or {"zscore", "minmax", "none"}
        How attributes are brought to one scale first; True is ``zscore``, False is ``none``.
    gain : float, optional
        How readily ``vmdav`` lets groups grow: 0 never, 0.2 (its default) for scattered data, 1.1 for clustered data.
    watch : (2,) array of int64, optional
        For callers in another thread: the number of records done is written to the first element, and a second
        element other than zero asks the method to give up.
    budget : str or int, optional
        How long ``best`` may search, or a refinement: a time such as "60s", or a number of steps, which gives the same
        result again. Without one, so many steps as suit the number of rows.
    refine : bool or float
        Whether the groups of another method are refined, or for how many seconds.
    seed : int
        Start of the random numbers of ``best`` and of refinement.
    tour : {"refined", "savings"}, optional
        Which tour ``tour`` cuts: that of the savings heuristic shortened (its default), or as it is.

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
    if method not in ("auto", *METHODS):
        raise PlanError("not-a-choice", field="method", choices=["auto", *METHODS])
    how = ("zscore" if standardize else "none") if isinstance(standardize, bool) else standardize
    matrix = _checked(X)
    searched = {"budget": budget, "refine": refine, "seed": seed}
    asked = Plan(k=k, method=method, gain=gain, tour=tour, standardize=how, **searched)
    if asked.k > len(matrix):
        raise DataError("k-too-large", k=asked.k, number=len(matrix), counts="row")
    if method == "univariate" and matrix.shape[1] != 1:
        raise PlanError("one-attribute-only", field="method", instead="--method=mdav")
    found = choose(method, matrix.shape[1], len(matrix), budget=budget is not None, refine=asked.refine is not False)
    search = partitioner(
        found.method, gain, tour=tour, effort=asked.effort, refine=asked.refine is not False, seed=seed
    )
    return search(scale(matrix, asked.standardize, watch), asked.k, watch=watch)


def _checked(X: ArrayLike) -> Matrix:
    try:
        given = np.asarray(X)
        if np.iscomplexobj(given):
            raise TypeError
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("matrix-not-numbers", matrix="X") from None
    if matrix.ndim != 2:
        raise DataError("matrix-of-other-dimension", dimensions=matrix.ndim)
    if matrix.shape[1] == 0:
        raise DataError("no-columns", table="X")
    refuse_not_finite(matrix, "X")
    return matrix


def by_first_record(labels: Labels) -> Labels:
    """Renumber groups 0, 1, ... in the order of the lowest record index in each."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def order_of_rows(X: Matrix) -> NDArray[np.int64]:
    """Return the order of the rows by their first column, then their second, and so on; equal rows keep theirs.

    That of `np.lexsort`, which sorts by every column, where most rows differ in the first.
    """
    order = np.argsort(X[:, 0], kind="stable")
    same = X[order[1:], 0] == X[order[:-1], 0]
    tied = np.r_[False, same] | np.r_[same, False]
    if tied.any() and X.shape[1] > 1:
        among = order[tied]
        order[tied] = among[np.lexsort(X[among].T[::-1])]
    return order


def contiguous(labels: Labels) -> Labels:
    """Renumber groups 0, 1, ... in the order of their labels."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64, copy=False)


def group_errors(X: Matrix, labels: Labels) -> NDArray[np.float64]:
    """Return the sum of squared distances to the group mean, for each of the groups 0, 1, ..."""
    size = np.bincount(labels)
    error = np.zeros(len(size))
    for x in X.T:
        mean = np.bincount(labels, x) / size
        error += np.bincount(labels, (x - mean[labels]) ** 2)
    return error
