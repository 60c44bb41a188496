"""What several tests share: matrices to draw, the loss of a partition from its labels, and thinned grids of cases."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st


def diagonal(*axes: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """Return the cells of a grid as parameters: each value of each axis is in some fast test, the other cells are slow.

    Of an axis with names, a test gets the values and shows the names.
    """
    named = [axis if isinstance(axis, Mapping) else {str(value): value for value in axis} for axis in axes]
    longest = max(map(len, named))
    fast = {tuple(list(axis)[at % len(axis)] for axis in named) for at in range(longest)}
    cells = {names: [axis[name] for axis, name in zip(named, names, strict=True)] for names in product(*named)}
    return [
        pytest.param(*values, id="-".join(names), marks=[] if names in fast else [pytest.mark.slow])
        for names, values in cells.items()
    ]


@st.composite
def matrices(draw: st.DrawFn, most: int = 70) -> np.ndarray:
    """Matrices with what breaks a search: ties, duplicates, lattices, constant columns, all scales, outliers."""
    n, d = draw(st.integers(1, most)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(n, d))
    kind = draw(st.sampled_from(["normal", "lattice", "duplicates", "rounded", "nearly constant", "mixed", "outliers"]))
    if kind == "lattice":
        X = rng.integers(0, draw(st.integers(1, 6)), size=(n, d)).astype(float)
    elif kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 4), n)]
    elif kind == "rounded":
        X = np.round(X, 1) + 1e6
    elif kind == "nearly constant":
        X = 1.0 + X * 2.0**-52
        X[:, 0] = 7.0
    elif kind == "mixed":
        X *= 10.0 ** rng.integers(-150, 150, size=(n, d))
    elif kind == "outliers":
        X[rng.random(n) < 0.1] *= 1e14
    if kind != "mixed":
        X *= 10.0 ** draw(st.integers(-130, 130))  # below, the square of a rounding error vanishes
    return np.ascontiguousarray(X)


def loss(X: np.ndarray, labels: np.ndarray) -> float:
    """Sum of squared errors within groups."""
    return sum(float(((X[labels == g] - X[labels == g].mean(0)) ** 2).sum()) for g in np.unique(labels))
