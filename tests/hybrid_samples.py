"""A table for hybrid data, and what must hold of what comes out."""

import numpy as np
import pyarrow as pa


def columns(table, names):
    return np.column_stack([table[name].to_numpy() for name in names]).astype(float)


def deviations(V, W, p):
    """By how much means and covariances of the first p attributes moved; a constant one has no scale of its own."""
    scale = np.where(np.ptp(V, axis=0) > 0, V.std(axis=0), np.maximum(np.abs(V[0]), 1))
    means = np.abs(W.mean(axis=0) - V.mean(axis=0)) / np.maximum(np.abs(V.mean(axis=0)), scale)
    covariances = np.abs(np.cov(W.T, ddof=0) - np.cov(V.T, ddof=0)) / np.outer(scale, scale)
    return max(means.max(), np.atleast_2d(covariances)[:p].max())


def assert_kept(original, release, X, Y):
    """Means and covariances, in the file and in every group."""
    V, W = columns(original, [*X, *Y]), columns(release.table, [*X, *Y])
    np.testing.assert_array_equal(V[:, len(X) :], W[:, len(X) :])
    assert deviations(V, W, len(X)) < 1e-9
    for g in np.unique(release.groups):
        assert deviations(V[release.groups == g], W[release.groups == g], len(X)) < 1e-9


def people(n=120, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": age,
            "height": rng.normal(170, 9, n),
            "town": rng.choice(["Ayr", "Rye", "Wem"], n),
            "income": rng.lognormal(9, 1, n) + 20 * age,
            "debt": rng.lognormal(7, 1, n),
            "children": rng.integers(0, 6, n),
            "ill": rng.choice(["no", "flu", "gout"], n),
        }
    )


ROLES = {"quasi": ["age", "height"], "confidential": ["income", "debt"], "identifiers": ["name"]}
HYBRID = {"k": 10, "method": "hybrid", **ROLES}
MS = {"method": "ms", "alpha": 0.4, **ROLES}
