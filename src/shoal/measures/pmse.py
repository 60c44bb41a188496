"""Propensity scores: can a model tell the masked records from the original ones?"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix

Vector = NDArray[np.float64]
Terms = Literal["main", "squares", "products"]

CHUNK = 8192  # records at a time: their terms stay in the processor's cache
STEPS = 25


def pmse(original: Matrix, masked: Matrix, terms: Terms = "squares") -> dict[str, Any]:
    """Propensity score mean squared error.

    The two files are stacked, and a logistic regression estimates for each of the N = 2 n records the probability p
    that it is a masked one. pMSE = mean of (p - c)^2, with c = 1/2 the share of masked records: 0 if the model cannot
    tell the files apart, 1/4 if it always can.

    Beside its intercept, the model sees the d attributes (``main``), their squares too, or all ``products`` as well.
    ``main`` compares means only, which group means keep: a file masked with them always has pMSE 0. Squares show lost
    variance; products lost correlation, at a cost that grows with the fourth power of d.

    Returns ``pMSE``; ``ratio``, pMSE over its expectation (t - 1) (1 - c)^2 c / N for a file that was synthesised from
    a correct model of the original, t being the number of independent terms with the intercept; its null distribution,
    that for such a file, which is (1 - c)^2 c / N times a chi-squared variable with t - 1 degrees of freedom, by its
    mean (``expected``), its standard deviation (``sd``) and the value that it exceeds once in twenty (``upper``);
    ``standardized``, how many such deviations pMSE is above its expectation; and ``terms``. The ratio of two
    independent samples of one population is 2 on average; a masked file may come below 1, for its records remain tied
    to the original ones. All of these are None if no attribute varies in the two files.

    Notes
    -----
    Maximum likelihood by iteratively reweighted least squares, halving steps that do not help, until a step promises
    to change the deviance by less than 1e-8 of itself (at most 25 steps: where the files can be separated there is no
    maximum, and p is near enough to 0 and 1 by then). Terms that depend on others are no obstacle: the
    shortest solution is taken.

    References
    ----------
    Woo, Reiter, Oganian & Karr (2009), Global measures of data utility for microdata masked for disclosure limitation,
    Journal of Privacy and Confidentiality 1, 111-124.
    Snoke, Raab, Nowok, Dibben & Slavković (2018), General and specific utility measures for synthetic data, Journal of
    the Royal Statistical Society A 181, 663-688.
    """
    files = _standardized_together(original, masked)
    pairs = _pairs(len(files[0]), terms)
    N, size = 2 * len(original), 1 + len(files[0]) + len(pairs)
    beta: Vector = np.zeros(size)
    fit = _fit(files, pairs, beta)
    step, independent = _solve(fit)
    for _ in range(STEPS):
        last = bool(fit.gradient @ step <= 1e-8 * fit.deviance)  # what the step will bring, to first order
        ahead = _fit(files, pairs, beta + step, curvature=not last)
        halvings = 0
        while ahead.deviance > fit.deviance and not last and halvings < 10:
            step, halvings = step / 2, halvings + 1
            ahead = _fit(files, pairs, beta + step)
        beta, fit = beta + step, ahead
        if last:
            break
        step, _ = _solve(fit)
    return {"pMSE": fit.squared / N, **_beside_chance(fit.squared / N, independent - 1, N), "terms": terms}


def _beside_chance(found: float, freedom: int, N: int) -> dict[str, Any]:
    """Compare pMSE with its null distribution, a multiple of a chi-squared one (Snoke et al. 2018)."""
    if freedom < 1:
        return dict.fromkeys(("ratio", "expected", "sd", "upper", "standardized"))
    from scipy.special import chdtri  # slow to load

    expected, sd = freedom / 8 / N, math.sqrt(2 * freedom) / 8 / N
    return {
        "ratio": found / expected,
        "expected": expected,
        "sd": sd,
        "upper": float(chdtri(freedom, 0.05)) / 8 / N,
        "standardized": (found - expected) / sd,
    }


def _standardized_together(original: Matrix, masked: Matrix) -> tuple[Matrix, Matrix]:
    """Scale the attributes by mean and deviation of the stacked files; attributes as rows, those that vary."""
    low = np.minimum(original.min(axis=0), masked.min(axis=0))
    high = np.maximum(original.max(axis=0), masked.max(axis=0))
    varies = low < high
    _, exponents = np.frexp(np.maximum(np.abs(low), np.abs(high))[varies])
    X, Y = (np.ldexp(np.ascontiguousarray(file[:, varies].T), -exponents[:, None]) for file in (original, masked))
    mean = (X.mean(axis=1) + Y.mean(axis=1))[:, None] / 2
    for file in (X, Y):
        file -= mean
    spread = np.sqrt(((X * X).mean(axis=1) + (Y * Y).mean(axis=1)) / 2)[:, None]
    return X / spread, Y / spread


def _pairs(d: int, terms: Terms) -> list[tuple[int, int]]:
    if terms == "main":
        return []
    return [(a, b) for a in range(d) for b in range(a, d if terms == "products" else a + 1)]


class _Fit(NamedTuple):
    """The model at one choice of coefficients; ``squared`` is the sum of (p - 1/2)^2."""

    deviance: float
    gradient: Vector
    curvature: Matrix
    squared: float


def _fit(files: tuple[Matrix, Matrix], pairs: list[tuple[int, int]], beta: Vector, curvature: bool = True) -> _Fit:
    d, n = files[0].shape
    H = np.zeros((len(beta), len(beta)))
    gradients = np.zeros((2, len(beta)))  # one a file: those of equal files cancel to the last digit
    deviance = squared = 0.0
    for is_masked, file in enumerate(files):
        for start in range(0, n, CHUNK):
            chunk = file[:, start : start + CHUNK]
            F = np.empty((len(beta), chunk.shape[1]))
            F[0] = 1.0
            F[1 : d + 1] = chunk
            for row, (a, b) in enumerate(pairs, d + 1):
                np.multiply(chunk[a], chunk[b], out=F[row])
            p = 1 / (1 + np.exp(-np.clip(beta @ F, -30, 30)))
            deviance -= 2 * float(np.log(p if is_masked else 1 - p).sum())
            gradients[is_masked] += F @ (is_masked - p)
            squared += float(((p - 0.5) ** 2).sum())
            if curvature:
                F *= np.sqrt(p * (1 - p))
                H += F @ F.T
    return _Fit(deviance, gradients.sum(axis=0), H, squared)


def _solve(fit: _Fit) -> tuple[Vector, int]:
    """Newton's step, the shortest if there are many, and the number of independent terms."""
    scale = np.sqrt(np.diag(fit.curvature))
    scale[scale == 0] = 1.0
    step, _, rank, _ = np.linalg.lstsq(fit.curvature / np.outer(scale, scale), fit.gradient / scale, rcond=1e-10)
    return step / scale, int(rank)
