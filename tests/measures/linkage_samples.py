"""Files and what could be published of them."""

import numpy as np
from hypothesis import strategies as st

from samples import matrices
from shoal.kernels.standardize import standardize

MIC1D_COLUMNS = [1, 5, 6, 2, 11, 12, 3, 7, 8]  # AGI STATETAX TAXINC EMCONTRB WSALVAL ERNVAL FEDTAX POTHVAL INTVAL


@st.composite
def masked_pairs(draw: st.DrawFn, most: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A file and what could be published of it: itself, groups' means, rounded, noisy, shuffled, one single record."""
    X = draw(matrices(most))
    n, d = X.shape
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["same", "means", "blocks", "rounded", "noise", "shuffled", "one record"]))
    if kind == "same":
        return X, X.copy()
    if kind == "shuffled":
        return X, X[rng.permutation(n)]
    if kind == "one record":
        return X, np.broadcast_to(X[0], X.shape).copy()
    if kind == "noise":
        return X, X * (1 + 0.1 * rng.normal(size=X.shape))
    if kind == "rounded":
        return X, np.float64(np.float16(standardize(X)))
    Y = X.copy()
    for columns in [list(range(d))] if kind == "means" else [[j] for j in range(d)]:
        order = np.lexsort(X[:, columns].T)
        for start in range(0, n, 3):
            rows = order[start : start + 3]
            Y[np.ix_(rows, columns)] = X[np.ix_(rows, columns)].mean(axis=0)
    return X, Y
