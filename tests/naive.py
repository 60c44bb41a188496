"""Slow, obvious versions of what the package does fast. Tests compare the two; nothing here is clever."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np


def squared_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Squared Euclidean distance, added in attribute order."""
    total = 0.0
    for j in range(len(a)):
        total += (a[j] - b[j]) * (a[j] - b[j])
    return total


def mean_record(X: np.ndarray, alive: list[int]) -> np.ndarray:
    """Attribute-wise mean: the correctly rounded sum over the count."""
    return np.array([math.fsum(X[i, j] for i in alive) / len(alive) for j in range(X.shape[1])])


def farthest(X: np.ndarray, alive: list[int], point: np.ndarray) -> int:
    """The record farthest from a point; the lowest index wins ties."""
    return min(alive, key=lambda i: (-squared_distance(X[i], point), i))


def group_around(X: np.ndarray, alive: list[int], centre: int, k: int) -> list[int]:
    """The centre and its k-1 nearest records; the lowest index wins ties."""
    others = sorted((i for i in alive if i != centre), key=lambda i: (squared_distance(X[i], X[centre]), i))
    return [centre, *others[: k - 1]]


def mdav(X: np.ndarray, k: int) -> np.ndarray:
    """MDAV-generic (Domingo-Ferrer & Torra 2005), groups numbered in the order they are formed."""
    alive = list(range(len(X)))
    labels = np.full(len(X), -1)
    formed = 0

    def close(group: list[int]) -> None:
        nonlocal formed, alive
        labels[group] = formed
        formed += 1
        members = set(group)
        alive = [i for i in alive if i not in members]

    while len(alive) >= 3 * k:
        x_r = farthest(X, alive, mean_record(X, alive))
        close(group_around(X, alive, x_r, k))
        x_s = farthest(X, alive, X[x_r])
        close(group_around(X, alive, x_s, k))
    if len(alive) >= 2 * k:
        x_r = farthest(X, alive, mean_record(X, alive))
        close(group_around(X, alive, x_r, k))
    close(alive)
    return labels


def vmdav(X: np.ndarray, k: int, gain: float) -> np.ndarray:
    """V-MDAV (Solanas & Martínez-Ballesté 2006), groups numbered in the order they are formed."""
    alive = list(range(len(X)))
    centroid = mean_record(X, alive)
    groups = []
    while len(alive) >= k:
        group = group_around(X, alive, farthest(X, alive, centroid), k)
        alive = [i for i in alive if i not in group]
        while alive and len(group) < 2 * k - 1:
            d_in, x = min((squared_distance(X[i], X[g]), i) for i in alive for g in group)
            d_out = min((squared_distance(X[i], X[x]) for i in alive if i != x), default=math.inf)
            if not math.sqrt(d_in) < gain * math.sqrt(d_out):
                break
            group.append(x)
            alive.remove(x)
        groups.append(group)
    labels = np.full(len(X), -1)
    for label, group in enumerate(groups):
        labels[group] = label
    means = [mean_record(X, group) for group in groups]
    for i in alive:
        labels[i] = min(range(len(groups)), key=lambda label: (squared_distance(X[i], means[label]), label))
    return labels


def exact_sse(rows: np.ndarray) -> Fraction:
    """Sum of squared errors of one group, without rounding: sum of x^2 less (sum of x)^2 / m, by attribute."""
    total = Fraction(0)
    for column in np.asarray(rows, dtype=np.float64).T:
        values = [Fraction(x) for x in column.tolist()]
        total += sum(x * x for x in values) - sum(values) ** 2 / len(values)
    return total


def exact_cost(X: np.ndarray, labels: np.ndarray) -> Fraction:
    """Sum of squared errors of a partition, without rounding."""
    return sum((exact_sse(X[labels == g]) for g in np.unique(labels)), Fraction(0))


def all_cuts(n: int, k: int) -> Iterator[list[tuple[int, int]]]:
    """Every way to divide a line of n into consecutive groups of at least k, as (start, end) pairs."""
    if n >= k:
        yield [(0, n)]
    for start in range(k, n - k + 1):
        for rest in all_cuts(start, k):
            yield [*rest, (start, n)]


def all_partitions(n: int, k: int) -> Iterator[list[list[int]]]:
    """Every way to put n records into groups of at least k, neighbours or not."""

    def place(i: int, groups: list[list[int]]) -> Iterator[list[list[int]]]:
        if i == n:
            if all(len(group) >= k for group in groups):
                yield [group[:] for group in groups]
            return
        for group in groups:
            group.append(i)
            yield from place(i + 1, groups)
            group.pop()
        groups.append([i])
        yield from place(i + 1, groups)
        groups.pop()

    yield from place(0, [])


def exact_cut_cost(line: np.ndarray, k: int) -> Fraction:
    """Least cost of a cut into groups of k to 2k - 1 (Hansen & Mukherjee 2003), in rational arithmetic."""
    n, d = line.shape
    sums = [[Fraction(0)] * d]
    squares = [Fraction(0)]
    for row in line.tolist():
        values = [Fraction(x) for x in row]
        sums.append([s + x for s, x in zip(sums[-1], values, strict=True)])
        squares.append(squares[-1] + sum(x * x for x in values))
    f: list[Fraction | None] = [Fraction(0)]
    for i in range(1, n + 1):
        costs = []
        for m in range(k, min(2 * k - 1, i) + 1):
            if f[i - m] is not None:
                moved = sum((b - a) ** 2 for a, b in zip(sums[i - m], sums[i], strict=True))
                costs.append(f[i - m] + squares[i] - squares[i - m] - moved / m)
        f.append(min(costs, default=None))
    return f[n]
