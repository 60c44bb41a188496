"""What repeated releases of the same records give away: ``python -m bench.repeated CENSUS.csv``.

1. `ms` with fresh noise each time, averaged: the keeper's one secret gives the row of one release, however often.
2. `hybrid` with several k: the sums of groups are exact in each, so that plans with other groups are equations.
"""

import sys

import numpy as np

import shoal

ALPHA, RELEASES, LEAST = 0.3, (1, 2, 5, 10, 50), 5
X, Y = ["PTOTVAL", "INTVAL"], ["AGI", "FICA"]


def averaged(path: str) -> None:
    """Print how near the average of releases comes to the originals, once the regression and alpha are undone."""
    names = np.loadtxt(path, delimiter=",", dtype=str, max_rows=1)
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    at = {name.strip('"'): j for j, name in enumerate(names)}
    truth, known = (table[:, [at[name] for name in which]] for which in (X, Y))
    asked = {"method": "ms", "alpha": ALPHA, "quasi": Y, "confidential": X}
    dropped = [name for name in at if name not in (*X, *Y)]
    fit = np.column_stack([np.ones(len(known)), known])
    made = []
    for seed in range(max(RELEASES)):
        release = shoal.protect(path, **asked, identifiers=dropped, seed=seed).table
        made.append(np.column_stack([np.asarray(release[name], dtype=float) for name in X]))
        if seed + 1 in RELEASES:
            mean = np.mean(made, axis=0)
            fitted = fit @ np.linalg.lstsq(fit, mean, rcond=None)[0]
            found = fitted + (mean - fitted) / ALPHA
            near = [100 * np.mean(np.abs(found - truth) <= share * np.abs(truth)) for share in (0.01, 0.1)]
            residual = truth - fit @ np.linalg.lstsq(fit, truth, rcond=None)[0]
            alike = [np.corrcoef(found[:, j] - fitted[:, j], residual[:, j])[0, 1] for j in range(len(X))]
            print(f"ms, {seed + 1} with fresh noise: within 1 % {near[0]:.1f} %, 10 % {near[1]:.1f} %, r {alike}")


def solved(path: str) -> None:
    """Print how many values the sums of groups give exactly, if an intruder knows the groups of several k."""
    names = [name.strip('"') for name in np.loadtxt(path, delimiter=",", dtype=str, max_rows=1)]
    dropped = [name for name in names if name not in X[:1]]
    equations: list[np.ndarray] = []
    for k in range(LEAST, 2 * LEAST + 2):
        release = shoal.protect(path, k=k, method="hybrid", confidential=X[:1], identifiers=dropped)
        groups = release.groups
        equations.append(np.equal.outer(np.unique(groups), groups).astype(float))
        together = np.vstack(equations)
        values, rows = np.linalg.svd(together, full_matrices=False)[1:]
        basis = rows[values > 1e-9]
        known = np.mean(np.square(basis).sum(axis=0) > 1 - 1e-9)
        print(f"hybrid, k = {LEAST} to {k}: {len(basis)} of {groups.size} dimensions, {100 * known:.1f} % solved")


if __name__ == "__main__":
    averaged(sys.argv[1])
    solved(sys.argv[1])
