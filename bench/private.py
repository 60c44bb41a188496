"""What differential privacy costs beside k-anonymity alone: IL % on the reference sets.

    python -m bench.private                                # all sets: two or three minutes
    python -m bench.private --sets census --draws 3

For the first attribute of each set, the first 2, the first 4 and all. Columns: mdav, the groups of
k-anonymity alone; groups, those of insensitive microaggregation before noise comes in; then noisy means for each
epsilon; and plain, Laplace noise in every single record without any groups (d ranges / epsilon), for the same epsilon.
IL is 100 SSE / SST on z-scores, 100 being what a file of nothing but means would lose, and the mean of several draws.
Bounds are 0 (or 1.5 times the least value where it is negative) and 1.5 times the largest value, the sets having no
documented domain. They are taken from the data, which tells of the largest record: a release must not do that.
"""

import argparse

import numpy as np
from bench.samples import DATA, reference_set

import shoal
from shoal.masking.discrete_laplace import discrete_laplace
from shoal.masking.insensitive import BITS, in_steps, noise_scale, private_means
from shoal.measures import loss

SETS = ["census", "tarragona", "eia"]
SIZES = [3, 10, 50, 100]
EPSILONS = [0.1, 1.0, 10.0]
WITHOUT_NOISE = 1e9  # an epsilon so large that noise is below what is printed


def bounds_of(X: np.ndarray) -> np.ndarray:
    """Give each attribute room above its largest value, and below its least if that is negative."""
    return np.column_stack([np.minimum(0, 1.5 * X.min(axis=0)), 1.5 * X.max(axis=0)])


def information_loss(X: np.ndarray, Y: np.ndarray) -> float:
    """Return IL in percent."""
    return float(loss(X, Y, [str(j) for j in range(X.shape[1])])["IL"])


def private(X: np.ndarray, k: int, epsilon: float) -> float:
    """Return the loss of a private release, every record compared with the mean of its own group."""
    made = private_means(X, bounds_of(X), k, epsilon)
    Y = np.empty_like(X)
    Y[made.order] = np.repeat(made.means, made.sizes, axis=0)
    return information_loss(X, Y)


def plain(X: np.ndarray, epsilon: float) -> float:
    """Return the loss of Laplace noise in every record: replacing one changes its d values by their ranges at most."""
    bounds, d = bounds_of(X), X.shape[1]
    scale = noise_scale(d * (2**BITS - 1), epsilon)
    steps = in_steps(X, bounds) + discrete_laplace(scale, X.size).reshape(X.shape)
    low, high = bounds.T
    return information_loss(X, low + np.clip(steps / (2**BITS - 1), 0, 1) * (high - low))


def anonymous(X: np.ndarray, k: int) -> float:
    """Return the loss of k-anonymity alone."""
    labels = shoal.partition(X, k, method="mdav")
    sizes = np.bincount(labels)
    return information_loss(X, np.column_stack([(np.bincount(labels, x) / sizes)[labels] for x in X.T]))


def compared(X: np.ndarray, draws: int) -> None:
    """Print a line for every k, and one for noise without groups."""
    print(f"{'k':>6}{'mdav':>10}{'groups':>10}" + "".join(f"{f'eps {epsilon:g}':>12}" for epsilon in EPSILONS))
    for k in SIZES:
        noisy = [np.mean([private(X, k, epsilon) for _ in range(draws)]) for epsilon in EPSILONS]
        print(
            f"{k:6}{anonymous(X, k):10.2f}{private(X, k, WITHOUT_NOISE):10.2f}"
            + "".join(f"{each:12.1f}" for each in noisy)
        )
    noisy = [np.mean([plain(X, epsilon) for _ in range(draws)]) for epsilon in EPSILONS]
    print(f"{'plain':>6}{'':20}" + "".join(f"{each:12.1f}" for each in noisy))


def main() -> None:
    """Print the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    for name in options.sets:
        if not (DATA / f"{name}.csv").exists():
            print(f"{name}.csv not found; SHOAL_DATA names its folder")
            continue
        table = reference_set(DATA, name)
        X = np.column_stack([column.to_numpy() for column in table.columns]).astype(float)
        for d in (1, 2, 4, X.shape[1]):
            what = ", ".join(table.column_names[:d]) if d < 5 else f"all {d} attributes"
            print(f"\n{name}, {len(X):,} records, {what}")
            compared(np.ascontiguousarray(X[:, :d]), options.draws)


if __name__ == "__main__":
    main()
