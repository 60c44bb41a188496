"""Records as benchmarks and tests draw them."""

import numpy as np

DISTRIBUTIONS = ["uniform", "clustered", "skewed"]


def distributed(kind: str, n: int, d: int) -> np.ndarray:
    """Draw records spread evenly, in fifty clusters of different width, or with long tails."""
    rng = np.random.default_rng(0)
    if kind == "uniform":
        return rng.random((n, d))
    if kind == "clustered":
        centres = 10 * rng.random((50, d))
        return centres[rng.integers(0, 50, n)] + rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, -0.5, (n, 1))
    return np.exp(1.5 * rng.normal(size=(n, d)))
