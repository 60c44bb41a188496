"""What repeated releases of the same records give away.

    python -m bench.repeated                # Census; another file with its columns may be named

1. `ms` with fresh noise each time, averaged: the keeper's one secret gives the row of one release, however often.
2. `hybrid` with several k: the sums of groups are exact in each, so that plans with other groups are equations.
3. `hybrid` with fresh noise each time, as a keeper with several secrets would have it: residuals that are orthogonal to
   the original ones (`ipso = "orthogonal"`) have nothing in its direction, and independent ones as much as in any.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from bench.samples import DATA

import shoal
from shoal.masking.microhybrid import microhybrid

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


def least_direction(residuals: np.ndarray) -> np.ndarray:
    """Return the direction, among those of mean 0, that the residuals of several releases have least in."""
    basis = np.linalg.svd(np.ones((1, residuals.shape[1])))[2][1:]
    return np.linalg.svd(residuals @ basis.T)[2][-1] @ basis


def avoided(path: str, k: int = 5) -> None:
    """Print how many values an intruder who knows the groups finds by the direction that all releases avoid.

    Found is what is within a thousandth of the standard deviation of its group.
    """
    names = [name.strip('"') for name in np.loadtxt(path, delimiter=",", dtype=str, max_rows=1)]
    x = np.loadtxt(path, delimiter=",", skiprows=1, usecols=[names.index(X[0])])[:, None]
    groups = shoal.partition(x, k, method="mdav")
    for orthogonal in (False, True):
        made = [microhybrid(x, x[:, :0], groups, seed, orthogonal=orthogonal).values[:, 0] for seed in range(10)]
        for releases in (1, 2, 3, 5, 10):
            found = 0
            for g in np.unique(groups):
                members = groups == g
                published = np.array([each[members] for each in made[:releases]])
                residuals = published - published.mean(axis=1, keepdims=True)
                way = least_direction(residuals) * np.linalg.norm(residuals[0])
                guesses = (published[0].mean() + sign * way for sign in (1, -1))
                near = 1e-3 * x[members].std()
                found += max((np.abs(each - x[members, 0]) <= near).sum() for each in guesses)
            form = "orthogonal" if orthogonal else "independent"
            print(f"hybrid, {form}, k = {k}, {releases} with fresh noise: {100 * found / len(x):.1f} % found")


def main() -> None:
    """Print all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("census", nargs="?", type=Path, default=DATA / "census.csv", help="the file (%(default)s)")
    path = parser.parse_args().census
    if not path.is_file():
        sys.exit(f"{path} is missing; name the file, or set SHOAL_DATA to the folder of the reference data sets")
    averaged(str(path))
    solved(str(path))
    avoided(str(path))


if __name__ == "__main__":
    main()
