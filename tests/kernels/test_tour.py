"""Tours are shortened by what the moves say, and by nothing else; paths are joined as the heuristics say."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels._native import exchange, kick, shorten, turn_round, undo
from shoal.kernels.paths import join_ends, nearest_next, savings, unrolled
from shoal.kernels.tour import shortened
from shoal.partitioning.neighbours import neighbours

pytestmark = pytest.mark.usefixtures("instruction_set")

seeds = st.integers(0, 2**32)


class Tour(NamedTuple):
    """A tour as the kernels see it, with the stretches turned round, and how many these are."""

    order: np.ndarray
    position: np.ndarray
    turns: np.ndarray
    made: np.ndarray


class Queue(NamedTuple):
    """Records to look at, in a ring: whether each waits, where the queue begins and how many wait."""

    record: np.ndarray
    waiting: np.ndarray
    span: np.ndarray


def new_tour(order: np.ndarray) -> Tour:
    return Tour(order.copy(), np.argsort(order), np.empty((1004, 2), np.int64), np.zeros(1, np.int64))


def new_queue(order: np.ndarray) -> Queue:
    return Queue(order.copy(), np.ones(len(order), np.int64), np.array([0, len(order)]))


def length(X: np.ndarray, order: np.ndarray) -> float:
    """Length of the cycle."""
    return float(np.linalg.norm(X[order] - X[np.roll(order, -1)], axis=1).sum())


def points(seed: int, n: int, d: int = 2) -> np.ndarray:
    """Records, some of them on a lattice: equal distances and equal records."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[: n // 2] = np.round(X[: n // 2])
    return X


def watch() -> np.ndarray:
    return np.zeros(2, np.int64)


def is_whole(tour) -> bool:
    n = len(tour.order)
    return sorted(tour.order) == list(range(n)) and (tour.position[tour.order] == np.arange(n)).all()


# Paths


@given(seeds, st.integers(2, 40), st.integers(1, 5))
def test_every_pair_of_neighbours_is_there_once_with_its_saving(seed, n, m):
    X = points(seed, n)
    near = neighbours(X, m)
    depot = X.mean(axis=0)
    pairs, saved = savings(X, depot, near, watch())
    assert len({frozenset(pair) for pair in pairs.tolist()}) == len(pairs)
    assert {frozenset(pair) for pair in pairs.tolist()} == {frozenset((a, int(b))) for a in range(n) for b in near[a]}
    for (a, b), s in zip(pairs, saved, strict=True):
        expected = np.linalg.norm(X[a] - depot) + np.linalg.norm(X[b] - depot) - np.linalg.norm(X[a] - X[b])
        assert s == pytest.approx(expected, abs=1e-12)


def naive_paths(pairs: np.ndarray, n: int) -> list[list[int]]:
    """Join pairs in order where both are ends of different paths."""
    paths = [[i] for i in range(n)]
    for a, b in pairs.tolist():
        one = next(path for path in paths if a in path)
        two = next(path for path in paths if b in path)
        if one is two or a not in (one[0], one[-1]) or b not in (two[0], two[-1]):
            continue
        paths = [path for path in paths if path is not one and path is not two]
        paths.append((one if one[-1] == a else one[::-1]) + (two if two[0] == b else two[::-1]))
    return paths


@given(seeds, st.integers(2, 30))
def test_paths_are_those_of_the_naive_join(seed, n):
    rng = np.random.default_rng(seed)
    pairs = np.array([(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 3 / n] or [(0, 1)])
    ranking = rng.permutation(len(pairs))
    joined, other = join_ends(pairs, ranking, n, watch())
    for path in naive_paths(pairs[ranking], n):
        assert other[path[0]] == path[-1]
        assert other[path[-1]] == path[0]
        assert unrolled(np.array([path[0]]), joined)[: len(path)].tolist() == path


@given(seeds, st.integers(1, 60), st.data())
def test_walk_enters_each_path_at_the_end_nearest_to_where_the_last_was_left(seed, n, data):
    X = points(seed, n)
    mates = data.draw(st.permutations(range(n)))
    other = np.arange(n)
    for a, b in zip(mates[: n // 3], mates[n // 3 : 2 * (n // 3)], strict=True):
        other[a], other[b] = b, a
    start = data.draw(st.integers(0, n - 1))
    left, entered, x = set(range(n)), [], start
    while left:
        if entered:
            x = min(left, key=lambda i: (((X[i] - X[x]) ** 2).sum(), i))
        entered.append(x)
        left -= {x, int(other[x])}
        x = int(other[x])
    done = watch()
    assert nearest_next(X, other, start, done).tolist() == entered
    assert done[0] == n


# Moves


@given(seeds, st.integers(2, 30), st.data())
def test_a_turn_reverses_a_stretch_and_all_turns_can_be_undone(seed, n, data):
    order = np.random.default_rng(seed).permutation(n)
    tour = new_tour(order)
    expected = order.copy()
    for _ in range(5):
        start, size = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n))
        places = (start + np.arange(size)) % n
        expected[places] = expected[places[::-1]]
        turn_round(tour, start, size)
        assert tour.order.tolist() == expected.tolist()
        assert is_whole(tour)
    undo(tour)
    assert tour.order.tolist() == order.tolist()
    assert is_whole(tour)


def test_two_stretches_are_exchanged_around_the_end_of_the_array_too():
    tour = new_tour(np.arange(8))
    exchange(tour, 1, 2, 3)
    assert tour.order.tolist() == [0, 3, 4, 5, 1, 2, 6, 7]
    exchange(tour, 6, 1, 3)  # 6 | 7, 0, 3
    assert tour.order.tolist() == [3, 6, 4, 5, 1, 2, 7, 0]


@pytest.mark.parametrize("d", [1, 2, 5])
@given(seed=seeds, n=st.integers(4, 40), m=st.integers(1, 12))
def test_each_move_shortens_the_tour_by_its_gain(d, seed, n, m):
    X = points(seed, n, d)
    near = neighbours(X, m)
    order = np.random.default_rng(seed).permutation(n)
    tour, queue = new_tour(order), new_queue(order)
    before = length(X, tour.order)
    while queue.span[1] > 0:
        gain = shorten(X, near, tour, queue, n)
        tour.made[0] = 0
        after = length(X, tour.order)
        assert gain >= 0
        assert before - after == pytest.approx(gain, abs=1e-9)
        assert is_whole(tour)
        before = after


def all_two_opt(order: list[int]):
    """Every order with a stretch turned round."""
    n = len(order)
    for i in range(n):
        for j in range(i + 2, n + 1):
            yield order[:i] + order[i:j][::-1] + order[j:]


def all_or_opt(order: list[int], X: np.ndarray):
    """Every order with up to three records carried elsewhere, where one end of them gets a nearer neighbour."""
    n = len(order)
    for at in range(n):
        turned = order[at:] + order[:at]
        for size in range(1, min(3, n - 2) + 1):
            rest = turned[size:]
            for segment, (p, q) in (
                (turned[:size], (rest[-1], rest[0])),
                (turned[:size][::-1], (rest[0], rest[-1])),
            ):
                for to in range(1, len(rest)):
                    nearer = [np.linalg.norm(X[segment[0]] - X[rest[to - 1]]) < np.linalg.norm(X[segment[0]] - X[p])]
                    nearer += [np.linalg.norm(X[segment[-1]] - X[rest[to]]) < np.linalg.norm(X[segment[-1]] - X[q])]
                    if any(nearer):
                        yield rest[:to] + segment + rest[to:]


@pytest.mark.parametrize("n", [4, 5, 6, 9, 14])
def test_when_all_are_neighbours_no_move_is_left_that_shortens_the_tour(n):
    for seed in range(10):
        X = points(seed, n, 3)
        order = shortened(X, neighbours(X, n), np.random.default_rng(seed).permutation(n), n, 0, watch())
        best = length(X, order) - 1e-9
        assert all(length(X, np.array(other)) >= best for other in all_two_opt(order.tolist()))
        assert all(length(X, np.array(other)) >= best for other in all_or_opt(order.tolist(), X))


def test_moves_beyond_the_reach_are_not_made():
    X = points(1, 400)
    near, order = neighbours(X, 8), np.random.default_rng(1).permutation(400)
    lengths = [length(X, shortened(X, near, order, reach, 0, watch())) for reach in (0, 3, 200)]
    assert lengths[0] == pytest.approx(length(X, order))
    assert all(a > b for a, b in pairwise(lengths))


# Kicks


@given(seeds, st.integers(4, 40), st.data())
def test_the_gain_of_a_kick_is_what_it_takes_from_the_length(seed, n, data):
    X = points(seed, n)
    tour, queue = new_tour(np.arange(n)), new_queue(np.arange(n))
    most = (n - 2) // 2
    first, second = data.draw(st.integers(1, most)), data.draw(st.integers(1, most))
    gain, _ = kick(X, tour, queue, data.draw(st.integers(0, n - 1)), first, second)
    assert length(X, np.arange(n)) - length(X, tour.order) == pytest.approx(gain, abs=1e-9)
    assert is_whole(tour)


@given(seeds, st.integers(4, 80), st.integers(1, 8))
def test_more_kicks_never_make_a_tour_longer(seed, n, m):
    X = points(seed, n)
    near, order = neighbours(X, m), np.arange(n)
    lengths = [length(X, order)]
    for kicks in (0, 5, 50):
        tour = shortened(X, near, order, n, kicks, watch())
        assert sorted(tour) == list(range(n))
        lengths.append(length(X, tour))
    assert all(b <= a + 1e-9 for a, b in pairwise(lengths))


def test_a_search_that_is_stopped_leaves_a_whole_tour():
    X = points(3, 300)
    near, order = neighbours(X, 5), np.random.default_rng(3).permutation(300)
    assert shortened(X, near, order, 300, 100, np.array([0, 1])).tolist() == order.tolist()
