"""How far statistics of subdomains move: of random parts of the file, which most users analyse."""

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix
from shoal.measures.loss import near_one

SUBDOMAINS, SHARE, LEAST = 20, 0.1, 20  # how many are drawn, their share of the records, and the least records in one
STATISTICS = ("mean", "variance", "covariance", "third moment", "fourth moment")


def subdomain_loss(original: Matrix, masked: Matrix, seed: int = 0) -> dict[str, Any] | None:
    """Measure how far means, variances, covariances and third and fourth central moments move in random subdomains.

    Each is a power of standard deviations of the original in the subdomain (a mean the first, a fourth moment the
    fourth), so that the figures of third and fourth moments are changes of skewness and kurtosis, and that of a
    variance its relative change.

    Returns how many ``subdomains`` were drawn and how many ``records`` each has; and ``statistics``: for each, how much
    it moved in the ``file``, and in a subdomain on average (``mean``) and at most (``largest``), over attributes (pairs
    of them for covariances) in the file and over subdomains. Attributes that are constant there are left out. None if
    the file has fewer than 40 records, or all of its attributes are constant.

    References
    ----------
    J. Domingo-Ferrer and Ú. González-Nicolás, "Hybrid microdata using microaggregation", Information Sciences 180
    (2010) 2834-2844, who compare hybrid data so.
    """
    n = len(original)
    if n < 2 * LEAST:
        return None
    X, Y = near_one(original, masked)
    whole = _moved(X, Y)
    if not whole["mean"].size:
        return None
    rng, size = np.random.default_rng(seed), max(LEAST, round(SHARE * n))
    drawn = [rng.choice(n, size, replace=False) for _ in range(SUBDOMAINS)]
    found = [_moved(X[rows], Y[rows]) for rows in drawn]
    statistics = {}
    for name in STATISTICS:
        parts = np.array([*chain.from_iterable(each[name] for each in found)])
        if whole[name].size and parts.size:  # one attribute has no covariances
            statistics[name] = {
                "file": float(whole[name].mean()),
                "mean": float(parts.mean()),
                "largest": float(parts.max()),
            }
    return {"subdomains": SUBDOMAINS, "records": size, "statistics": statistics}


def _moved(X: Matrix, Y: Matrix) -> dict[str, NDArray[np.float64]]:
    """Return by how much each statistic moved, for each attribute or pair of them."""
    varies = np.ptp(X, axis=0) > 0
    centre, deviation = X[:, varies].mean(axis=0), X[:, varies].std(axis=0)
    before, after = (X[:, varies] - centre) / deviation, (Y[:, varies] - centre) / deviation
    middle, moved = before.mean(axis=0), after.mean(axis=0)  # the first is 0 but for rounding
    before, after = before - middle, after - moved
    covariances = np.abs(after.T @ after - before.T @ before) / len(X)
    return {
        "mean": np.abs(moved - middle),
        "variance": np.diag(covariances),
        "covariance": covariances[np.triu_indices(len(covariances), 1)],
        "third moment": np.abs((after**3).mean(axis=0) - (before**3).mean(axis=0)),
        "fourth moment": np.abs((after**4).mean(axis=0) - (before**4).mean(axis=0)),
    }
