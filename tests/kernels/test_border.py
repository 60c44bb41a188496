"""The border of the kernels: whatever is passed to an entry point, the answer is a result or a Python error, no crash.

`make sanitize` runs this with kernels in which every read outside of an array is an error.
"""

import contextlib
import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import _native
from shoal.kernels.diversity import Attributes, Parts
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.l_diversity import LDiversity
from shoal.kernels.refine import grouped, new_journal
from shoal.partitioning.potentials import paired

N, D, K = 12, 3, 3
rng = np.random.default_rng(0)
X = rng.random((N, D))
LABELS = np.repeat(np.arange(4), 3)
NEAR = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1)[:, 1:6]
STARTS = np.array([0, 3, 6, 12])
ORDER = rng.permutation(N)
KEYS = np.column_stack([np.arange(N) % 4, np.arange(N) % 5 + 1, np.arange(N) // 2 + 1])
BITS = np.ascontiguousarray(X).view(np.int64)


PAIRS = paired(X, NEAR)


class Watch(np.ndarray):
    """What tells a kernel to stop, among the other arguments."""


def watch() -> np.ndarray:
    return np.zeros(2, np.int64).view(Watch)


def whole(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int64)


def numbers(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def space() -> EncodedMatrix:
    values = np.column_stack([X[:, 0], np.arange(N) % 4 * 0.5, np.arange(N) % 3]).astype(float)
    return EncodedMatrix(values, np.array([0, 1, 3]), np.ones(3), np.array([1.0, 0.5, 1.0]), np.array([0, 4, 3]))


def attributes() -> Attributes:
    codes = np.arange(N)[None] % 4
    unit = np.arange(N) % 6
    return Attributes(codes, np.array([3, 6, 9, 12]), np.array([0, 4]), np.array([4]), np.array([True]), unit, 2)


def parts() -> Parts:
    return Parts(np.repeat(np.arange(3), 4), np.arange(4), np.arange(3), np.full(3, 4), whole(3))


def tour() -> tuple[np.ndarray, ...]:
    return ORDER.copy(), np.argsort(ORDER), whole(1004, 2), whole(1)


def queue() -> tuple[np.ndarray, ...]:
    return ORDER.copy(), np.ones(N, np.int64), np.array([0, N])


def partition() -> Any:
    return grouped(X, LABELS, K, 4)


def near() -> np.ndarray:
    return NEAR.astype(np.int32)


def journal() -> Any:
    return new_journal(2 * K * (K + 1))


TREE = [np.array([[1, 2], [-1, -1], [-1, -1]]), np.array([0, 1, 1])]
CELLS = [X, np.zeros(D), np.full(D, 2.0**30), *TREE]
CLASSES = [X[::3].copy(), LABELS, np.arange(0, N, 3), np.full(4, 3), np.arange(N)]
COLUMNS = np.ascontiguousarray(X[::3].T)

# Arguments that each entry point takes.
CALLS: dict[str, Callable[[], list[Any]]] = {
    "add_record": lambda: [whole(D, 40), 0, BITS[0].copy(), 1],
    "anneal": lambda: [partition(), near(), np.ones(N), 0.1, 200, np.array([7], np.uint64), watch()],
    "anneal_mixed": lambda: [
        space(),
        attributes(),
        LDiversity(2.0),
        1e-9,
        0.9,
        K,
        2 * N,
        near(),
        np.ones(N),
        0.5,
        200,
        np.array([7], np.uint64),
        LABELS,
        watch(),
    ],
    "assign_to_groups": lambda: [
        X,
        np.ones(N, np.int64),
        CLASSES[0],
        np.full(4, 3),
        whole(D),
        np.ones(D),
        10**6,
        watch(),
    ],
    "averages_as_they_leave": lambda: [space(), np.arange(3), numbers(4, D)],
    "best_swap": lambda: [partition(), 0, 1],
    "closing_costs": lambda: [np.tile(X, (2, 1)), N, np.array([2, 3]), watch(), numbers(2, 5)],
    "combine": lambda: [LABELS, LABELS[::-1].copy(), whole(N)],
    "convex_medians": lambda: [np.repeat([0, 1, 2, 3], 3), np.ones(N), STARTS, whole(3)],
    "count_below": lambda: [*CELLS, np.array([-1, 0, 1]), 2, watch(), whole(2, 4), whole(2, D), whole(2, D)],
    "count_patterns": lambda: [X, COLUMNS, np.full(4, 3), np.arange(N), 0.1, watch(), whole(8)],
    "cut_by_scan": lambda: [X, K, watch(), whole(N)],
    "cut_for_each": lambda: [X, np.array([2, 3]), whole(2), watch(), whole(2, N)],
    "cut_sorted": lambda: [np.sort(X[:, :1], axis=0), K, watch(), whole(N)],
    "descend": lambda: [partition(), near(), np.ones(N), np.ones(N, bool), watch()],
    "digit_range": lambda: [BITS.ravel()],
    "dissolve": lambda: [partition(), near(), 1, journal()],
    "distances_from_file": lambda: [STARTS, np.arange(N) % 4, np.array([3, 6, 9, 12]), True, numbers(3)],
    "diversities": lambda: [STARTS, np.arange(N) % 4, 4, 0, 1.0, numbers(3)],
    "diversity_of": lambda: [np.array([1, 2, 3]), 0, 1.0],
    "dominated": lambda: [STARTS, np.arange(N) % 4, 4, 0.5],
    "exchange": lambda: [tour(), 1, 2, 3],
    "farthest_bounds": lambda: [numbers(2 * D * 8), numbers(8), X[0].copy(), X[1].copy(), 0.1, numbers(8)],
    "fill_groups": lambda: [partition(), 4],
    "first_and_size": lambda: [LABELS, whole(4), whole(4)],
    "form": lambda: [partition(), near(), 1, journal()],
    "fuse_small": lambda: [X, np.arange(N), K, watch(), whole(N)],
    "gathered": lambda: [X[:, 0].copy(), np.ones(N), LABELS, np.arange(0, N + 1, 3), numbers(N), numbers(N)],
    "group_costs": lambda: [X, np.array([[0, 1, 2, -1], [3, 4, 5, 6]]), numbers(2)],
    "group_losses": lambda: [space(), K, LABELS, numbers(4)],
    "group_sse": lambda: [X, K, 1, 5],
    "groups_across": lambda: [space(), parts(), watch(), whole(N)],
    "kd_groups": lambda: [rng.random((N, D)), 3, watch(), whole(N)],
    "hilbert_places": lambda: [rng.integers(0, 16, (N, D)), 4, watch(), whole(N, 1)],
    "improve": lambda: [partition(), near(), 1, 1.0, journal()],
    "join_ends": lambda: [np.array([[0, 1], [2, 3]]), np.array([1, 0]), watch(), whole(N, 2), whole(N)],
    "joining": lambda: [partition(), 0, 1],
    "kick": lambda: [X, tour(), (ORDER.copy(), whole(N), whole(2)), 0, 2, 3],
    "lane_summary": lambda: [numbers(8), 1.0],
    "least_distant": lambda: [X, np.ones(D, bool), np.ones(D), np.ones(N), STARTS, whole(3)],
    "leaves_of": lambda: [*CELLS, watch(), whole(N)],
    "leaving": lambda: [partition(), 0],
    "link_by_types": lambda: [X, *CLASSES, whole(D), np.ones(D), watch()],
    "link_by_weight": lambda: [X, COLUMNS, LABELS, CLASSES[3], CLASSES[4], 0.1, numbers(8), watch()],
    "link_to_nearest": lambda: [X, *CLASSES, watch()],
    "mdav_generic": lambda: [space(), K, watch(), whole(N)],
    "mdav_scan": lambda: [X, K, watch(), whole(N)],
    "cbfs_tree": lambda: [X, K, watch(), whole(N)],
    "mdav_tree": lambda: [X, K, watch(), whole(N)],
    "mdav_units_generic": lambda: [space(), K, np.arange(N) // 2, watch(), whole(N)],
    "mdav_units_tree": lambda: [X, K, np.arange(N) // 2, watch(), whole(N)],
    "mean_of": lambda: [whole(D, 8), 30, 3, numbers(D)],
    "means": lambda: [X[:, 0].copy(), np.ones(N), STARTS[:-1].copy(), STARTS[1:].copy(), numbers(3)],
    "merge_groups": lambda: [space(), attributes(), ORDER, STARTS, LDiversity(4.0), 1e-9, 0.2, watch(), whole(3)],
    "middle": lambda: [np.ones(N), STARTS, whole(3), whole(3)],
    "mixed_distances": lambda: [numbers(4 * 8), X[0].copy(), whole(D), np.ones(D), numbers(8)],
    "move": lambda: [partition(), 0, 1],
    "nearest_average": lambda: [X, X[:4].copy(), X[0].copy(), whole(D), np.ones(D), watch(), whole(N)],
    "nearest_by_types": lambda: [X, CLASSES[0], whole(D), np.ones(D), watch()],
    "nearest_bounds": lambda: [numbers(2 * D * 8), X[0].copy(), numbers(8)],
    "nearest_next": lambda: [X, np.arange(N) ^ 1, 0, watch(), whole(N)],
    "nearest_points": lambda: [X, X, np.arange(N), watch(), whole(N, 4)],
    "number_groups": lambda: [np.array([0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]), ORDER, whole(N)],
    "number_leaves": lambda: [TREE[0], whole(3)],
    "ordered_distances": lambda: [STARTS, np.arange(N) % 4, np.array([3, 6, 9, 12]), numbers(3)],
    "price": lambda: [
        X,
        2,
        np.ones(N),
        np.cumsum(np.ones((N, 3)), axis=1),
        NEAR,
        ORDER,
        np.arange(N),
        0.0,
        True,
        50,
        50,
        watch(),
        numbers(N),
    ],
    "random_bits": lambda: [np.array([7], np.uint64)],
    "recentre": lambda: [partition()],
    "regroup": lambda: [partition(), near(), 1, journal()],
    "resplit": lambda: [partition(), near(), 1, journal()],
    "ruin": lambda: [partition(), near(), 1, 2, journal(), 0.0],
    "savings": lambda: [X, X[0].copy(), NEAR, watch(), whole(N * 5, 2), numbers(N * 5)],
    "shorten": lambda: [X, NEAR, tour(), queue(), 100],
    "shortened": lambda: [X, NEAR, 100, 5, watch(), ORDER.copy()],
    "squared_distances": lambda: [numbers(D * 8), X[0].copy(), numbers(8)],
    "matching_sums": lambda: [
        KEYS.astype(np.int32),
        KEYS[::-1].astype(np.int32),
        np.ones((N, 2)),
        watch(),
        numbers(N, 2),
    ],
    "matching_shares": lambda: [K, *PAIRS, np.ones(N), 5, 1.0, 0.1, watch(), numbers(N), numbers(N, 2 * K - 1)],
    "raise_potentials": lambda: [
        X,
        K,
        numbers(N, 2 * K - 1),
        NEAR,
        np.array([[0, 1, 2, -1, -1]]),
        np.ones(1),
        np.ones(N),
        3,
        0.5,
        0.1,
        10,
        watch(),
        numbers(N),
        numbers(N),
    ],
    "squared_error": lambda: [space(), ORDER, STARTS, watch()],
    "suda2": lambda: [
        KEYS.astype(np.int32),
        np.ones(N, bool),
        np.array([2.0, 1.0, 1.0]),
        watch(),
        numbers(N),
        numbers(N, D),
        whole(D),
    ],
    "sum_in_leaves": lambda: [*CELLS, np.array([-1, 0, 1]), watch(), whole(2), whole(2, D)],
    "sum_of": lambda: [BITS, 0, whole(D, 40)],
    "sum_of_products": lambda: [X, watch(), whole(6, 40)],
    "swap": lambda: [partition(), 0, 4],
    "swapping": lambda: [partition(), 0, 4],
    "synthesise": lambda: [
        X,
        X[:, :1].copy(),
        rng.normal(size=(N, D)),
        ORDER,
        np.array([0, 6, 12]),
        False,
        watch(),
        numbers(N, D),
        numbers(N),
        numbers(N, D),
    ],
    "take_back": lambda: [partition(), journal()],
    "turn_round": lambda: [tour(), 1, 4],
    "undo": lambda: [tour()],
    "unrolled": lambda: [
        np.array([0]),
        np.array([[1, -1], *([i - 1, i + 1] for i in range(1, N - 1)), [N - 2, -1]]),
        whole(N),
    ],
    "vmdav_tree": lambda: [X, K, 0.2, watch(), whole(N)],
}

# Arguments that are indices: one that is out of range must be refused. Members of tuples are named by two numbers.
INDICES = [
    ("anneal", 0, 1), ("anneal", 0, 2), ("anneal", 0, 3), ("anneal", 1), ("anneal_mixed", 0, 1),
    ("anneal_mixed", 1, 0), ("anneal_mixed", 1, 2), ("anneal_mixed", 5), ("anneal_mixed", 7), ("anneal_mixed", 12),
    ("assign_to_groups", 1), ("assign_to_groups", 3), ("assign_to_groups", 4), ("averages_as_they_leave", 1),
    ("best_swap", 1), ("best_swap", 2), ("combine", 0), ("combine", 1), ("convex_medians", 2), ("count_below", 3),
    ("count_below", 4), ("count_below", 5), ("count_patterns", 3), ("cut_for_each", 1), ("cut_for_each", 2),
    ("cut_by_scan", 1), ("cut_sorted", 1), ("descend", 1), ("dissolve", 1), ("dissolve", 2),
    ("distances_from_file", 0), ("distances_from_file", 1),
    ("diversities", 0), ("dominated", 0), ("exchange", 1), ("exchange", 2), ("exchange", 3), ("fill_groups", 0, 1),
    ("fill_groups", 1), ("first_and_size", 0), ("form", 1), ("form", 2), ("gathered", 2), ("gathered", 3),
    ("group_costs", 1), ("group_losses", 0, 1), ("group_losses", 1), ("group_losses", 2),
    ("group_sse", 1), ("group_sse", 2), ("group_sse", 3), ("groups_across", 1, 0),
    ("groups_across", 1, 1), ("groups_across", 1, 2), ("hilbert_places", 0), ("hilbert_places", 1), ("improve", 1),
    ("improve", 2), ("join_ends", 0),
    ("join_ends", 1), ("joining", 1), ("joining", 2), ("kick", 1, 0), ("kick", 3), ("kick", 4), ("kick", 5),
    ("least_distant", 4), ("leaves_of", 3), ("leaves_of", 4), ("leaving", 1), ("link_by_types", 2),
    ("link_by_types", 5), ("link_by_types", 6), ("link_by_weight", 2), ("link_by_weight", 4), ("link_to_nearest", 2),
    ("link_to_nearest", 5),
    ("cbfs_tree", 1), ("matching_shares", 1), ("matching_shares", 2), ("matching_shares", 3),
    ("mdav_generic", 0, 1), ("mdav_generic", 1), ("mdav_scan", 1), ("mdav_tree", 1), ("means", 2),
    ("mdav_units_generic", 1), ("mdav_units_generic", 2), ("mdav_units_tree", 1), ("mdav_units_tree", 2),
    ("means", 3),
    ("merge_groups", 1, 0), ("merge_groups", 1, 2), ("merge_groups", 1, 5), ("merge_groups", 2),
    ("merge_groups", 3), ("middle", 1),
    ("move", 1), ("move", 2), ("nearest_by_types", 2), ("nearest_next", 1), ("nearest_next", 2), ("nearest_points", 2),
    ("number_groups", 1),
    ("number_leaves", 0), ("ordered_distances", 0), ("ordered_distances", 1), ("regroup", 1),
    ("price", 4), ("price", 5), ("price", 6), ("raise_potentials", 3), ("raise_potentials", 4),
    ("regroup", 2), ("resplit", 1), ("resplit", 2), ("ruin", 1), ("ruin", 2), ("savings", 2), ("shorten", 1),
    ("shorten", 2, 0), ("shorten", 2, 1), ("shorten", 3, 0), ("shortened", 1), ("shortened", 5), ("squared_error", 1),
    ("squared_error", 2), ("suda2", 0), ("sum_in_leaves", 5), ("swap", 1), ("swap", 2), ("swapping", 1),
    ("swapping", 2), ("synthesise", 3), ("synthesise", 4), ("turn_round", 1), ("turn_round", 2), ("unrolled", 0),
    ("unrolled", 1), ("vmdav_tree", 1),
]  # fmt: skip


def changed(arguments: list[Any], place: tuple[int, ...], change: Callable[[Any], Any]) -> list[Any]:
    """The arguments with another value at a place: an argument, or a member of a tuple."""
    arguments = list(arguments)
    first, *rest = place
    if rest:
        member = list(arguments[first])
        member[rest[0]] = change(member[rest[0]])
        kind = type(arguments[first])
        arguments[first] = kind(*member) if hasattr(kind, "_fields") else tuple(member)
    else:
        arguments[first] = change(arguments[first])
    return arguments


def places(arguments: list[Any]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for at, value in enumerate(arguments):
        found += [(at, member) for member in range(len(value))] if isinstance(value, tuple) else [(at,)]
    return found


def at_place(arguments: list[Any], place: tuple[int, ...]) -> Any:
    value = arguments[place[0]]
    return value[place[1]] if len(place) > 1 else value


def run(name: str, arguments: list[Any]) -> Any:
    return getattr(_native, name)(*arguments)


def fitting(name: str) -> list[Any]:
    """Arguments that fit, in copies, as many kernels write what they are given."""
    return copy.deepcopy(CALLS[name]())


def test_every_entry_point_is_called_here():
    kernels = {name for name, value in vars(_native).items() if callable(value) and not inspect.isclass(value)}
    assert set(CALLS) == kernels - {"instruction_set", "instruction_sets", "use_instruction_set"}


@pytest.mark.parametrize("name", CALLS)
def test_what_fits_is_taken_and_other_types_are_type_errors(name):
    arguments = fitting(name)
    run(name, fitting(name))
    for place in places(arguments):
        value = at_place(arguments, place)
        if isinstance(value, np.ndarray):
            others = [value.astype(np.float32), value[None], None]
            if value.size > 1:
                others.append(np.repeat(value, 2, axis=-1)[..., ::2])
        elif isinstance(value, bool):
            others = ["yes", None]
        elif isinstance(value, int):
            others = [True, np.True_, float(value), np.float64(value), 2**70, None, "3"]
        else:
            others = [None, "3"]
        for other in others:
            with pytest.raises(TypeError):
                run(name, changed(fitting(name), place, lambda _, other=other: other))


@pytest.mark.parametrize(("name", "place"), [(name, place) for name, *place in INDICES])
@pytest.mark.parametrize("wrong", [-7, 2**31 + 1, -(2**31) + 1, 2**62])
def test_an_index_out_of_range_is_a_value_error(name, place, wrong):
    arguments = fitting(name)
    value = at_place(arguments, tuple(place))
    if isinstance(value, np.ndarray):
        if value.dtype == np.int32 and abs(wrong) >= 2**31:
            wrong = 2**31 - 1
        for at in {0, value.size // 2, value.size - 1}:
            bad = value.copy()
            bad.flat[at] = wrong
            with pytest.raises(ValueError):
                run(name, changed(fitting(name), tuple(place), lambda _, bad=bad: bad))
    else:
        with pytest.raises(ValueError):
            run(name, changed(arguments, tuple(place), lambda _: wrong))


def damaged(draw: st.DrawFn, value: Any) -> Any:
    """Another value of the same type: another shape, or a number that does not belong there."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw(st.sampled_from([-(2**62), -1, 0, 1, 2, 5, 11, 12, 13, 5000]))
    if isinstance(value, float):
        return draw(st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308]))
    how = draw(st.sampled_from(["shorter", "longer", "narrower", "empty", "number", "number", "number"]))
    if how == "shorter":
        return value[:-1].copy()
    if how == "longer":
        return np.concatenate([value, value[:1]])
    if how == "narrower":
        return np.ascontiguousarray(value[..., :-1])
    if how == "empty":
        return value[:0].copy()
    value = value.copy()
    if value.size:
        at = draw(st.integers(0, value.size - 1))
        if value.dtype == np.float64:
            value.flat[at] = draw(st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 1e308, 5e-324]))
        elif value.dtype == np.int64:
            value.flat[at] = draw(st.sampled_from([-2, -1, 0, 1, 3, 5, 11, 12, 1000]))
        elif value.dtype == np.int32:
            value.flat[at] = draw(st.sampled_from([-2, -1, 0, 1, 11, 12, 1000]))
    return value


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_passed_gives_a_result_or_a_python_error(data):
    name = data.draw(st.sampled_from(sorted(CALLS)))
    arguments = fitting(name)
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(places(arguments)))
        value = damaged(data.draw, at_place(arguments, place))
        arguments = changed(arguments, place, lambda _, value=value: value)
    with contextlib.suppress(TypeError, ValueError, MemoryError):
        run(name, arguments)


def test_a_record_that_is_its_own_neighbour_is_refused_where_a_tour_would_be_shortened_for_ever():
    near = NEAR.copy()
    near[4, 2] = 4
    with pytest.raises(ValueError, match="its own neighbour"):
        run("shortened", [X, near, 100, 5, watch(), ORDER.copy()])


@pytest.mark.parametrize("name", ["mdav_generic", "groups_across", "anneal_mixed"])
@pytest.mark.parametrize("weight", [-np.inf, np.inf, np.nan, -1.0])
def test_distances_between_categories_must_be_numbers_from_zero_on(name, weight):
    odd = space()
    with pytest.raises(ValueError, match="negative or infinite"):
        run(name, [odd._replace(apart=np.array([1.0, 1.0, weight])), *fitting(name)[1:]])
