"""Slow, obvious versions of what the package does fast. Tests compare the two; nothing here is clever."""

import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np

from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix


def class_of(value: object, cuts: list, names: list[str]) -> str | None:
    """The name of the class of a value between cut points; a cut point belongs to the class above it."""
    if value is None or value != value:
        return None
    below = 0
    for cut in cuts:
        if value >= cut:
            below += 1
    return names[below]


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


def mdav_units(X: np.ndarray, k: int, unit: list[int]) -> np.ndarray:
    """MDAV whose groups take the nearest record of each of the k - 1 nearest other units; the rest joins centroids."""
    alive = list(range(len(X)))
    groups: list[list[int]] = []

    def enough() -> bool:
        return len({unit[i] for i in alive}) >= k

    def close_around(centre: int) -> None:
        nonlocal alive
        group, have = [], set()
        for i in sorted(alive, key=lambda i: (i != centre, squared_distance(X[i], X[centre]), i)):
            if unit[i] not in have and len(group) < k:
                group.append(i)
                have.add(unit[i])
        groups.append(group)
        alive = [i for i in alive if i not in group]

    while len(alive) >= 2 * k and enough():
        pair = len(alive) >= 3 * k
        x_r = farthest(X, alive, mean_record(X, alive))
        close_around(x_r)
        if pair and enough():
            close_around(farthest(X, alive, X[x_r]))
    if enough():
        groups.append(alive)
        alive = []
    labels = np.full(len(X), -1)
    for label, group in enumerate(groups):
        labels[group] = label
    centroids = np.array(
        [
            [np.bincount(labels[labels >= 0], x)[g] / len(groups[g]) for x in X[labels >= 0].T]
            for g in range(len(groups))
        ]
    )
    for i in alive:
        labels[i] = min(range(len(groups)), key=lambda g: (squared_distance(X[i], centroids[g]), g))
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


def cbfs(X: np.ndarray, k: int) -> np.ndarray:
    """Centroid-based fixed-size microaggregation (Laszlo & Mukherjee 2005), groups numbered as they are formed."""
    alive = list(range(len(X)))
    labels = np.full(len(X), -1)
    while len(alive) >= k:
        group = group_around(X, alive, farthest(X, alive, mean_record(X, alive)), k)
        labels[group] = labels.max() + 1
        alive = [i for i in alive if i not in group]
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    centroids = [sum(X[i] for i in group) / len(group) for group in groups]
    for i in alive:
        labels[i] = min(range(len(groups)), key=lambda g: (squared_distance(X[i], centroids[g]), g))
    return labels


def walk(X: np.ndarray, left: list[int], at: np.ndarray) -> list[int]:
    """The nearest point next: from a point always to the nearest record that was not visited."""
    order, left = [], list(left)
    while left:
        nearest = min(left, key=lambda i: (squared_distance(X[i], at), i))
        left.remove(nearest)
        order.append(nearest)
        at = X[nearest]
    return order


def nearest_next_order(X: np.ndarray) -> list[int]:
    """From the record farthest from the mean, always to the nearest that was not visited."""
    start = farthest(X, list(range(len(X))), X.mean(axis=0))
    return [start, *walk(X, [i for i in range(len(X)) if i != start], X[start])]


def group_order(X: np.ndarray, labels: np.ndarray) -> list[int]:
    """Groups by the nearest point next of their centroids; within each, records by the nearest point next."""
    groups = [np.flatnonzero(labels == g).tolist() for g in range(max(labels) + 1)]
    centroids = np.array([sum(X[i] for i in group) / len(group) for group in groups])
    along = nearest_next_order(centroids)
    order: list[int] = []
    at = X[farthest(X, groups[along[0]], centroids[along[0]])]
    for group in along:
        order += walk(X, groups[group], at)
        at = X[order[-1]]
    return order


def savings_joins(X: np.ndarray) -> set[tuple[int, int]]:
    """Clarke and Wright's savings heuristic (1964) from the mean: the pairs that are joined, until one path is left."""
    depot = X.mean(axis=0)
    away = [math.dist(x, depot) for x in X]
    pairs = [(a, b) for a in range(len(X)) for b in range(a + 1, len(X))]
    pairs.sort(key=lambda pair: math.dist(X[pair[0]], X[pair[1]]) - away[pair[0]] - away[pair[1]])
    path, degree, joins = list(range(len(X))), [0] * len(X), set()
    for a, b in pairs:
        if degree[a] < 2 and degree[b] < 2 and path[a] != path[b]:
            joins.add((a, b))
            degree[a] += 1
            degree[b] += 1
            path = [path[b] if each == path[a] else each for each in path]
    return joins


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


def equal_cut(order: np.ndarray, k: int) -> np.ndarray:
    """Labels of a line divided without looking: floor(n / k) groups of k, the rest inside the last."""
    labels = np.empty(len(order), np.int64)
    for place, record in enumerate(order):
        labels[record] = min(place // k, len(order) // k - 1)
    return labels


def ipso_as_printed(x: np.ndarray, y: np.ndarray, a: np.ndarray) -> np.ndarray:
    """IPSO for one confidential attribute and one other (Domingo-Ferrer 2009, section 2.1), formula by formula."""
    slope = np.cov(x, y, ddof=0)[0, 1] / y.var()
    fitted = x.mean() + slope * (y - y.mean())
    design = np.column_stack([np.ones(len(x)), y, x])
    b = a - design @ np.linalg.lstsq(design, a)[0]
    sigma_ee = math.sqrt(x.var() - np.cov(x, y, ddof=0)[0, 1] ** 2 / y.var())
    return fitted + b / b.std() * sigma_ee


def mic1d(X: np.ndarray, k: int, *, optimal: bool = False) -> np.ndarray:
    """Mic1D-k (Nin) step by step; equal values come out of a sorting in the opposite order of that they came in."""

    def reverse_stable(places: list[int], value: dict[int, float]) -> list[int]:
        backwards = places[::-1]
        return sorted(backwards, key=lambda place: value[place])

    def parts(places: list[int], value: dict[int, float]) -> list[list[int]]:
        if not optimal:
            return [places[start : start + k] for start in range(0, len(places), k)]
        line = np.array([[value[place]] for place in places])
        best = min(all_cuts(len(line), k), key=lambda cut: sum(exact_sse(line[a:b]) for a, b in cut))
        return [places[a:b] for a, b in best]

    value = {place: float(x) for place, x in enumerate(X.flatten())}
    in_order = reverse_stable(list(value), value)
    ends, normalised = {}, {}
    for part in parts(in_order, value):
        low, high = min(value[place] for place in part), max(value[place] for place in part)
        for place in part:
            ends[place] = low, high
            normalised[place] = 0.5 if low == high else (value[place] - low) / (high - low)
    masked = {}
    for part in parts(reverse_stable(in_order, normalised), normalised):
        mu = math.fsum(normalised[place] for place in part) / len(part)
        for place in part:
            low, high = ends[place]
            masked[place] = low + mu * (high - low)
    return np.array([masked[place] for place in range(X.size)]).reshape(X.shape)


def published_alike(masked: np.ndarray, columns: tuple[int, ...]) -> list[int]:
    """How many records share each combination of values that occurs in the columns."""
    counts: dict[tuple[float, ...], int] = {}
    for row in masked.tolist():
        key = tuple(row[j] for j in columns)
        counts[key] = counts.get(key, 0) + 1
    return list(counts.values())


def linked_by_distance(Z: np.ndarray, Y: np.ndarray) -> tuple[float, float]:
    """Percent of records of Z whose nearest record of Y has their index: the first of the nearest, or one drawn."""
    first, drawn = 0, 0.0
    for i in range(len(Z)):
        distances = [squared_distance(Z[i], y) for y in Y]
        least = min(distances)
        first += distances.index(least) == i
        drawn += (distances[i] == least) / distances.count(least)
    return 100 * first / len(Z), 100 * drawn / len(Z)


def linked_by_types(original: EncodedMatrix, masked: EncodedMatrix) -> tuple[float, float]:
    """Percent of records whose nearest masked record has their index: the first of the nearest, or one drawn."""
    rows = masked.values.tolist()
    first, drawn = 0, 0.0
    for i, x in enumerate(original.values.tolist()):
        distances = [mixed_distance(original, x, y) for y in rows]
        least = min(distances)
        first += distances.index(least) == i
        drawn += (distances[i] == least) / distances.count(least)
    return 100 * first / len(rows), 100 * drawn / len(rows)


def same_record_by_two_sources(x: list, published: EncodedMatrix, one: list[int], other: list[int]) -> float:
    """Probability that two draws among the records nearest to x, by two sets of columns, are the same record."""
    nearest = []
    for columns in (one, other):
        space = published.columns(columns)
        distances = [mixed_distance(space, [x[j] for j in columns], y) for y in space.values.tolist()]
        nearest.append({i for i, distance in enumerate(distances) if distance == min(distances)})
    return len(nearest[0] & nearest[1]) / (len(nearest[0]) * len(nearest[1]))


def guess_from_nearest(x: list, published: EncodedMatrix, sensitive: list[float], tolerance: float) -> float:
    """The lowest value that is right for most of the records nearest to x that have one."""
    distances = [mixed_distance(published, x, y) for y in published.values.tolist()]
    values = [v for v, distance in zip(sensitive, distances, strict=True) if distance == min(distances) and v == v]
    right = {c: sum(abs(c - v) <= tolerance * abs(v) for v in values) for c in values}
    return min(right, key=lambda c: (-right[c], c), default=math.nan)


def linked_by_weight(Z: np.ndarray, Y: np.ndarray, within: float, m: list[float], u: list[float]) -> float:
    """Percent of records expected to be linked rightly by the weights of Fellegi & Sunter (1969)."""
    right = 0.0
    for i in range(len(Z)):
        weights = []
        for y in Y:
            agrees = [abs(a - b) <= within for a, b in zip(Z[i], y, strict=True)]
            ratios = [math.log2(p / q if yes else (1 - p) / (1 - q)) for yes, p, q in zip(agrees, m, u, strict=True)]
            weights.append(sum(ratios))
        tied = [w > max(weights) - 1e-8 for w in weights]
        right += tied[i] / sum(tied)
    return 100 * right / len(Z)


def inside_ranks(original: np.ndarray, masked: np.ndarray) -> float:
    """Interval disclosure by rank, p = 1..10 percent (Domingo-Ferrer & Torra 2001)."""
    n, d = original.shape
    inside = 0
    for j in range(d):
        line = sorted(masked[:, j])
        for i in range(n):
            first = sum(y < masked[i, j] for y in line)
            last = sum(y <= masked[i, j] for y in line) - 1
            for p in range(1, 11):
                reach = math.floor(Fraction(p * n, 100))
                inside += line[max(first - reach, 0)] <= original[i, j] <= line[min(last + reach, n - 1)]
    return 100 * inside / (n * d * 10)


def inside_deviations(original: np.ndarray, masked: np.ndarray) -> float:
    """Interval disclosure by p = 1..10 percent of the masked attribute's standard deviation."""
    n, d = original.shape
    inside = 0
    for j in range(d):
        mean = math.fsum(masked[:, j]) / n
        sd = math.sqrt(math.fsum((y - mean) ** 2 for y in masked[:, j]) / n)
        for i in range(n):
            inside += sum(abs(original[i, j] - masked[i, j]) <= p * sd / 100 for p in range(1, 11))
    return 100 * inside / (n * d * 10)


def diversity_of(members: list, form: str, c: float) -> float:
    """The largest l for which a class is l-diverse (Machanavajjhala et al. 2007); None is a missing value."""
    r = sorted(Counter(v for v in members if v is not None).values(), reverse=True)
    if form == "entropy":
        return math.exp(-math.fsum(x / sum(r) * math.log(x / sum(r)) for x in r)) if r else 0.0
    if form == "recursive":
        return max((l for l in range(1, len(r) + 1) if r[0] < c * sum(r[l - 1 :])), default=0)  # noqa: E741
    return len(r)


def diversity(classes: list[int], values: list, c: float) -> dict[str, float]:
    """The least l of a class in each form, and the classes in which one value has more than 80 %."""
    members = [[v for v, label in zip(values, classes, strict=True) if label == each] for each in set(classes)]
    found = {form: min(diversity_of(m, form, c) for m in members) for form in ("distinct", "entropy", "recursive")}
    known = [[v for v in m if v is not None] for m in members]
    return {**found, "dominated": sum(any(5 * m.count(v) > 4 * len(m) for v in m) for m in known)}


def closeness(classes: list[int], values: list[int], ordered: bool, whole: list[int] | None = None) -> float:
    """The largest earth mover's distance of a class from the file (Li, Li & Venkatasubramanian 2007)."""
    whole = whole or values
    different = sorted(set(values))
    distances = [Fraction(0)]
    for c in set(classes):
        members = [v for v, label in zip(values, classes, strict=True) if label == c]
        r = [Fraction(members.count(v), len(members)) - Fraction(whole.count(v), len(whole)) for v in different]
        if not ordered:
            distances.append(sum(map(abs, r)) / 2)
        elif len(different) > 1:
            distances.append(sum(abs(sum(r[: i + 1])) for i in range(len(r))) / (len(different) - 1))
    return float(max(distances))


def own_range_sse(X: np.ndarray, Y: np.ndarray) -> float:
    """Squared differences of values that each file scales by its own ranges; a constant attribute is 0 (Nin)."""

    def scaled(M: np.ndarray, i: int, j: int) -> float:
        low, high = min(M[:, j]), max(M[:, j])
        return (M[i, j] - low) / (high - low) if high > low else 0.0

    return sum((scaled(X, i, j) - scaled(Y, i, j)) ** 2 for i in range(X.shape[0]) for j in range(X.shape[1]))


def gcp(X: np.ndarray, classes: np.ndarray) -> float:
    """Each record's group's range over the whole range, averaged over records and attributes that vary."""
    terms = []
    for i in range(len(X)):
        group = X[classes == classes[i]]
        for j in range(X.shape[1]):
            if max(X[:, j]) > min(X[:, j]):
                terms.append((max(group[:, j]) - min(group[:, j])) / (max(X[:, j]) - min(X[:, j])))
    return sum(terms) / len(terms)


def il1s(X: np.ndarray, Y: np.ndarray) -> float:
    """Mean of |x - x'| / (sqrt(2) sd), over attributes that vary (Mateo-Sanz et al. 2004)."""
    terms = []
    for j in range(X.shape[1]):
        mean = sum(X[:, j]) / len(X)
        sd = math.sqrt(sum((x - mean) ** 2 for x in X[:, j]) / (len(X) - 1))
        if max(X[:, j]) > min(X[:, j]):
            terms += [abs(X[i, j] - Y[i, j]) / (math.sqrt(2) * sd) for i in range(len(X))]
    return sum(terms) / len(terms)


def variations(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    """Mean variations in percent (Domingo-Ferrer & Torra 2001), for data without zeros or constant attributes."""
    d = X.shape[1]

    def covariance(M: np.ndarray, a: int, b: int) -> float:
        return float(((M[:, a] - M[:, a].mean()) * (M[:, b] - M[:, b].mean())).mean())

    def correlation(M: np.ndarray, a: int, b: int) -> float:
        return covariance(M, a, b) / math.sqrt(covariance(M, a, a) * covariance(M, b, b))

    def mean_variation(terms: list[tuple[float, float]]) -> float:
        return 100 * sum(abs(x - y) / abs(x) for x, y in terms) / len(terms)

    triangle = [(a, b) for a in range(d) for b in range(a, d)]
    pairs = [(a, b) for a, b in triangle if a < b]
    parts = {
        "values": mean_variation(list(zip(X.ravel(), Y.ravel(), strict=True))),
        "means": mean_variation([(X[:, a].mean(), Y[:, a].mean()) for a in range(d)]),
        "covariances": mean_variation([(covariance(X, a, b), covariance(Y, a, b)) for a, b in triangle]),
        "variances": mean_variation([(covariance(X, a, a), covariance(Y, a, a)) for a in range(d)]),
        "correlations": 100 * sum(abs(correlation(X, a, b) - correlation(Y, a, b)) for a, b in pairs) / len(pairs),
    }
    parts["IL"] = sum(parts[name] for name in ("values", "covariances", "variances", "correlations")) / 4
    return parts


def mixed_distance(space: EncodedMatrix, a: list[float], b: list[float]) -> float:
    """Squared distance by the type of each attribute, added in attribute order; a missing value is NaN."""
    total = 0.0
    for x, y, kind, weight in zip(a, b, space.kinds.tolist(), space.apart.tolist(), strict=True):
        if math.isnan(x) and math.isnan(y):
            continue
        if math.isnan(x) or math.isnan(y) or (kind == MODE and x != y):
            total += weight
        elif kind != MODE:
            total += (x - y) * (x - y)
    return total


def convex_median(places: list[int]) -> int:
    """The lower median after the dips between the levels are filled (Domingo-Ferrer & Torra 2003)."""
    f = [places.count(level) for level in range(max(places) + 1)]
    filled = [min(max(f[: i + 1]), max(f[i:])) for i in range(len(f))]
    line = [level for level, times in enumerate(filled) for _ in range(times)]
    return line[(len(line) - 1) // 2]


def average_record(space: EncodedMatrix, alive: list[int]) -> list[float]:
    """Mean, lower median, convex median or mode of the values present; missing where most records miss it."""
    average = []
    for j, kind in enumerate(space.kinds.tolist()):
        present = [x for x in space.values[alive, j].tolist() if not math.isnan(x)]
        if len(alive) - len(present) > len(present):
            average.append(math.nan)
        elif kind == MEAN:
            average.append(math.fsum(present) / len(present))
        elif kind == MEDIAN:
            average.append(sorted(present)[(len(present) - 1) // 2])
        elif kind == CONVEX_MEDIAN:
            step = float(space.steps[j])
            average.append(convex_median([round(x / step) if step > 0 else 0 for x in present]) * step)
        else:
            average.append(min(set(present), key=lambda category: (-present.count(category), category)))
    return average


def published_loss(space: EncodedMatrix, k: int, labels: np.ndarray) -> float:
    """The squared distances of the records to what groups publish: nothing where fewer than k values are known."""
    if len(space.weights):
        return weighted_loss(space, k, labels)
    total = 0.0
    for g in set(labels.tolist()):
        group = np.flatnonzero(labels == g).tolist()
        known = [sum(not math.isnan(x) for x in column) for column in space.values[group].T.tolist()]
        average = average_record(space, group)
        published = [x if count >= k else math.nan for x, count in zip(average, known, strict=True)]
        total += math.fsum(mixed_distance(space, row, published) for row in space.values[group].tolist())
    return total


def weighted_loss(space: EncodedMatrix, k: int, labels: np.ndarray) -> float:
    """The same of records that count by whole weights: as often as they say, but once where k is counted."""
    total = 0.0
    for g in set(labels.tolist()):
        group = np.flatnonzero(labels == g).tolist()
        copies = [i for i in group for _ in range(int(space.weights[i]))]
        known = [sum(not math.isnan(x) for x in column) for column in space.values[group].T.tolist()]
        average = average_record(space, copies)
        published = [x if count >= k else math.nan for x, count in zip(average, known, strict=True)]
        total += math.fsum(mixed_distance(space, row, published) for row in space.values[copies].tolist())
    return total


def reported_sse(columns: dict[str, list], labels: list[int], w: list[float]) -> float:
    """The weighted SSE of groups that publish weighted means of numbers and weighted modes of text, nothing missing.

    Both are balanced: two random records are sqrt(2) apart, in each attribute.
    """
    total, everyone = 0.0, range(len(w))
    for values in columns.values():
        nominal = isinstance(values[0], str)
        if nominal:
            shares = [sum(w[i] for i in everyone if values[i] == x) / sum(w) for x in set(values)]
            unit = 2 / (1 - sum(share**2 for share in shares))
        else:
            mean = sum(w[i] * values[i] for i in everyone) / sum(w)
            unit = sum(w) / sum(w[i] * (values[i] - mean) ** 2 for i in everyone)
        for g in set(labels):
            group = [i for i in everyone if labels[i] == g]
            if nominal:
                heaviest = max(sum(w[i] for i in group if values[i] == x) for x in set(values))
                total += unit * (sum(w[i] for i in group) - heaviest)
            else:
                mean = sum(w[i] * values[i] for i in group) / sum(w[i] for i in group)
                total += unit * sum(w[i] * (values[i] - mean) ** 2 for i in group)
    return total


def least_loss(codes: np.ndarray, types: list[str], unit: list[float], apart: list[float], k: int, w: list[float]):
    """The least weighted loss of any partition into groups of at least k, whatever each group publishes.

    A group publishes any value of an attribute, the mean of a number, or nothing if one of its records has nothing.
    """

    def lost(values: list[float], weights: list[float], j: int) -> float:
        known = [(x, v) for x, v in zip(values, weights, strict=True) if x == x]
        missing = sum(v for x, v in zip(values, weights, strict=True) if x != x)
        options = [apart[j] * sum(v for _, v in known)] if len(known) < len(values) else []
        total = sum(v for _, v in known)
        if types[j] == "continuous" and total > 0:
            mean = sum(x * v for x, v in known) / total
            options.append(unit[j] * sum(v * (x - mean) ** 2 for x, v in known) + apart[j] * missing)
        elif known and types[j] != "continuous":
            for y in {x for x, _ in known}:
                each = [apart[j] * (x != y) if types[j] == "nominal" else unit[j] * (x - y) ** 2 for x, _ in known]
                options.append(sum(v * e for (_, v), e in zip(known, each, strict=True)) + apart[j] * missing)
        return min(options, default=0.0)  # of no weight at all

    def of_group(group: list[int]) -> float:
        return sum(lost([codes[i, j] for i in group], [w[i] for i in group], j) for j in range(codes.shape[1]))

    return min(sum(of_group(group) for group in partition) for partition in all_partitions(len(codes), k))


def mdav_mixed(space: EncodedMatrix, k: int) -> np.ndarray:
    """MDAV-generic with distances and averages by the type of each attribute, groups in the order they are formed."""
    rows = space.values.tolist()
    alive = list(range(len(rows)))
    labels = np.full(len(rows), -1)
    formed = 0

    def farthest_from(point: list[float]) -> int:
        return min(alive, key=lambda i: (-mixed_distance(space, rows[i], point), i))

    def close(group: list[int]) -> None:
        nonlocal formed, alive
        labels[group] = formed
        formed += 1
        members = set(group)
        alive = [i for i in alive if i not in members]

    def close_around(x: int) -> None:
        others = sorted((i for i in alive if i != x), key=lambda i: (mixed_distance(space, rows[i], rows[x]), i))
        close([x, *others[: k - 1]])

    while len(alive) >= 3 * k:
        x_r = farthest_from(average_record(space, alive))
        close_around(x_r)
        close_around(farthest_from(rows[x_r]))
    if len(alive) >= 2 * k:
        close_around(farthest_from(average_record(space, alive)))
    close(alive)
    return labels


def file_exposure(rows: list[tuple], k: int) -> dict:
    """How well records hide, by counting equal rows: uniques, records in classes below k, distinct combinations."""
    counts = Counter(rows)
    return {
        "groups": len(counts),
        "uniques": sum(count == 1 for count in counts.values()),
        "below_k": sum(count for count in counts.values() if count < k),
        "smallest": min(counts.values()),
    }


def groups_below_k_units(alike: list, units: list, k: int) -> tuple[int, int, int]:
    """Groups, those with records of fewer than k units, and the records in these; no value is a unit of its own."""
    found: dict = {}
    for place, (group, unit) in enumerate(zip(alike, units, strict=True)):
        found.setdefault(group, []).append(("none", place) if unit is None else unit)
    below = [members for members in found.values() if len({*members}) < k]
    return len(found), len(below), sum(map(len, below))


def shared_values(groups, values):
    """Groups of two records or more in which all, or more than 80 %, of the known values are the same."""
    members = {g: [v for h, v in zip(groups, values, strict=True) if h == g] for g in groups}
    found = {"all": [], "most": []}
    for each in members.values():
        known = [v for v in each if v is not None]
        if len(each) > 1 and any(5 * known.count(v) > 4 * len(known) for v in known):
            found["most"].append(len(each))
            found["all"] += [len(each)] if len({*known}) == 1 else []
    return {"all": len(found["all"]), "most": len(found["most"]), "records": sum(found["all"] or found["most"])}


def without_thin(original: list, published: list, groups: list, k: int) -> list:
    """Published values, missing where fewer than k records of the group have an original one."""
    known = [sum(v is not None for v, h in zip(original, groups, strict=True) if h == g) for g in groups]
    return [None if n < k else value for n, value in zip(known, published, strict=True)]


def spearman(x: list[float], y: list[float]) -> float:
    """Rank correlation by counting, for each value, those below it and those equal to it."""

    def ranks(values: list[float]) -> list[float]:
        return [sum(v < each for v in values) + (sum(v == each for v in values) + 1) / 2 for each in values]

    a, b = ranks(x), ranks(y)
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    above = sum((i - ma) * (j - mb) for i, j in zip(a, b, strict=True))
    below = (sum((i - ma) ** 2 for i in a) * sum((j - mb) ** 2 for j in b)) ** 0.5
    return above / below if below else 0.0


def records_in_narrow_bands(x: list[float], bands: list, width: float) -> int:
    """Records that share a band with others whose values all lie within a width."""
    members: dict = {}
    for value, band in zip(x, bands, strict=True):
        members.setdefault(band, []).append(value)
    return sum(len(each) for each in members.values() if len(each) > 1 and max(each) - min(each) <= width)


def records_in_pure_classes(x: list, classes: list) -> int:
    """Records that share a class with others, all of which have the same value."""
    members = {each: [v for v, label in zip(x, classes, strict=True) if label == each] for each in set(classes)}
    return sum(len(m) for m in members.values() if len(m) > 1 and len(set(m)) == 1)


def rule_text(rule) -> str:
    """Write a rule of tuples as plain text: see `rule_holds`."""
    match rule:
        case ("compare", left, sign, right):
            return f"{_value_text(left)} {sign} {_value_text(right)}"
        case ("in", name, values):
            return f"{name} in {{{', '.join(map(_value_text, (('level', each) for each in values)))}}}"
        case ("not", of):
            return f"not ({rule_text(of)})"
        case ("if", governs, governed):
            return f"(if {rule_text(governs)} then {rule_text(governed)})"
        case (word, *parts):
            return "(" + f" {word} ".join(map(rule_text, parts)) + ")"


def rule_test(rule) -> str:
    """Write a rule of tuples as XPath: see `rule_holds`."""
    match rule:
        case ("compare", left, sign, right):
            return f"{_value_text(left, 'number({})')} {'=' if sign == '==' else sign} {_value_text(right)}"
        case ("in", name, values):
            return "(" + " or ".join(f"{name} = '{each}'" for each in values) + ")"
        case ("not", of):
            return f"not({rule_test(of)})"
        case ("if", governs, governed):
            return f"(not({rule_test(governs)}) or {rule_test(governed)})"
        case (word, *parts):
            return "(" + f" {word} ".join(map(rule_test, parts)) + ")"


def _value_text(value, number="{}") -> str:
    kind, what = value
    return {"level": f"'{what}'", "attribute": what, "quantity": number.format(what), "number": str(what)}[kind]


def rule_names(rule) -> set[str]:
    """The attributes that a rule of tuples names."""
    if rule[0] == "in":
        return {rule[1]}
    parts = [each for each in rule[1:] if isinstance(each, tuple)]
    if rule[0] == "compare":
        return {what for kind, what in parts if kind in ("attribute", "quantity")}
    return set().union(*map(rule_names, parts))


def rule_holds(rule, record, levels, *, written=False) -> bool:
    """Whether a record obeys a rule, one cell at a time.

    Rules are tuples: ``("compare", left, sign, right)`` of ``("attribute", name)``, ``("quantity", name)``,
    ``("level", text)`` and ``("number", x)``; ``("in", name, texts)``; ``("not", rule)``, ``("if", rule, rule)``,
    ``("and", *rules)`` and ``("or", *rules)``. `levels` are in order, the same for all attributes. A rule in plain text
    lets a record pass that misses a value which it names; `written` as XPath, two missing values are equal texts.
    """
    if not written and any(record[name] is None for name in rule_names(rule)):
        return True
    return _holds(rule, record, levels, written)


def _holds(rule, record, levels, written) -> bool:
    match rule:
        case ("compare", left, sign, right):
            return _ordered(_cell(left, record), sign, _cell(right, record), levels, written)
        case ("in", name, values):
            return record[name] in values
        case ("not", of):
            return not _holds(of, record, levels, written)
        case ("if", governs, governed):
            return not _holds(governs, record, levels, written) or _holds(governed, record, levels, written)
        case ("and", *parts):
            return all(_holds(each, record, levels, written) for each in parts)
        case ("or", *parts):
            return any(_holds(each, record, levels, written) for each in parts)


def _cell(value, record):
    kind, what = value
    return record[what] if kind in ("attribute", "quantity") else what


def _ordered(one, sign, two, levels, written) -> bool:
    if sign == "==":
        return one == two and (written or one is not None)
    if one is None or two is None:
        return False
    if isinstance(one, str):
        one, two = levels.index(one), levels.index(two)
    return {"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[sign]


def matches(a: list[int], b: list[int]) -> bool:
    """Whether two keys are alike where neither misses a value, written 0."""
    return all(x == y or x == 0 or y == 0 for x, y in zip(a, b, strict=True))


def individual_risk(f: int, F: float) -> float:
    """Benedetti & Franconi's risk of a record, as printed, in exact fractions but for the logarithm."""
    if f >= F:
        return 1 / f
    p = Fraction(f) / Fraction(F)
    if f > 2:
        return float(p / (f - (1 - p)))
    odds, log = p / (1 - p), Fraction(log_of(1 / p))
    return float(odds * log if f == 1 else odds - odds * odds * log)


def log_of(x: Fraction) -> Decimal:
    """Natural logarithm to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return (Decimal(x.numerator) / Decimal(x.denominator)).ln()


def minimal_sample_uniques(codes: list[list[int]]) -> list[set[tuple[int, ...]]]:
    """For each record the sets of attributes, none of them spare, in which its values are known and nobody else's."""
    n, d = len(codes), len(codes[0])
    found: list[set[tuple[int, ...]]] = [set() for _ in range(n)]
    for size in range(1, d + 1):
        for attributes in combinations(range(d), size):
            counts = Counter(tuple(record[j] for j in attributes) for record in codes)
            for i, record in enumerate(codes):
                values = tuple(record[j] for j in attributes)
                if counts[values] == 1 and 0 not in values and not any(set(s) <= set(attributes) for s in found[i]):
                    found[i].add(attributes)
    return found


def breaks_dominance(values, units, weights, p=None, n=None, share=None) -> bool:
    """Whether a cell breaks the p % rule or (n, k)-dominance: contributors one by one, each as often as it weighs."""
    sums, masses = {}, {}
    for value, unit, weight in zip(values, units, weights, strict=True):
        if value == value:  # no gap
            sums[unit] = sums.get(unit, 0.0) + value
            masses[unit] = masses.get(unit, 0.0) + weight * value
    total = sum(masses.values())
    often = sorted(((sums[unit], max(1.0, masses[unit] / sums[unit])) for unit in sums if sums[unit] > 0), reverse=True)

    def largest(count: float) -> float:
        found = 0.0
        for x, times in often:
            found += x * min(times, count)
            count -= min(times, count)
        return found

    slack = 1e-12 * total
    by_p = p is not None and bool(often) and total - largest(2) < p / 100 * often[0][0] - slack
    return by_p or (n is not None and largest(n) > share / 100 * total + slack)


def domain_values(values, counts, sizes, totals):
    """The values of groups that are least changed so that domains have given totals: one dense system of equations.

    `counts` has a row for each domain and a column for each group; the conditions of Lagrange are solved as they stand.
    """
    domains, groups = counts.shape
    system = np.block([[np.diag(2.0 * sizes), counts.T], [counts, np.zeros((domains, domains))]])
    right = np.concatenate([2.0 * sizes * values, totals])
    return np.linalg.lstsq(system, right, rcond=None)[0][:groups]


def varying_within(records: list[dict], household: str) -> dict[str, int]:
    """In how many households members differ in each attribute."""
    homes: dict = {}
    for record in records:
        homes.setdefault(record[household], []).append(record)
    names = [name for name in records[0] if name != household]
    return {name: sum(len({member[name] for member in home}) > 1 for home in homes.values()) for name in names}


def at_risk(records: list[tuple], k: int) -> list[bool]:
    """Whether fewer than k records share the combination of each."""
    return [records.count(record) < k for record in records]


def units_at_risk(records: list[tuple], units: list, k: int) -> list[bool]:
    """Whether records of fewer than k units share the combination of each."""
    of: dict[tuple, set] = {}
    for record, unit in zip(records, units, strict=True):
        of.setdefault(record, set()).add(unit)
    return [len(of[record]) < k for record in records]
