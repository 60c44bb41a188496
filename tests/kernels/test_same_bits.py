"""Kernels of every family give the same bits with every instruction set, and refuse arrays whose sizes do not fit."""

import numpy as np
import pytest

from shoal.kernels import _native
from shoal.kernels.assignment import assign_to_groups
from shoal.kernels.cells import count_below
from shoal.kernels.diversity import Attributes, Parts, groups_across, merge_groups, squared_error
from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.equivalence_classes import combine, first_and_size
from shoal.kernels.hilbert import hilbert_places
from shoal.kernels.ipso import synthesise
from shoal.kernels.l_diversity import LDiversity, diversities, dominated
from shoal.kernels.linkage import count_patterns, link_by_weight, link_to_nearest
from shoal.kernels.linkage_by_types import link_by_types, nearest_by_types
from shoal.kernels.mdav import mdav_generic, mdav_units_generic, mdav_units_tree
from shoal.kernels.mixed_anneal import anneal_mixed
from shoal.kernels.mixed_average import averages_as_they_leave
from shoal.kernels.nearest_average import nearest_average
from shoal.kernels.paths import join_ends, nearest_next, savings, unrolled
from shoal.kernels.t_closeness import distances_from_file
from shoal.kernels.vmdav import vmdav_tree

N, K = 600, 3
RANDOM = np.random.default_rng(0)
# Contracted to a fused multiply-add, distances of tenths would round differently, and ties go another way.
X = RANDOM.integers(0, 12, (N, 5)) / 10
MIXED = EncodedMatrix(
    np.where(RANDOM.random((N, 4)) < 0.1, np.nan, RANDOM.integers(0, 7, (N, 4)) * np.array([0.1, 0.3, 0.3, 1.0])),
    np.array([MEAN, MEDIAN, CONVEX_MEDIAN, MODE]),
    np.array([0.1, 0.3, 0.7, 1.1]),
    np.array([1.0, 0.3, 0.3, 1.0]),
    np.array([0, 7, 7, 7]),
)
ALL = np.arange(N)
ORDER, START = RANDOM.permutation(N), np.arange(0, N + 1, K)
LABELS = np.argsort(ORDER) // K
SECRET = RANDOM.integers(0, 9, N)
BELOW = np.cumsum(np.bincount(SECRET))
PARTS = RANDOM.permutation(N) % K
UNIT = RANDOM.integers(0, N // 4, N)


def watch() -> np.ndarray:
    return np.zeros(3, np.int64)


def merged() -> np.ndarray:
    attributes = Attributes(SECRET[None], BELOW, np.array([0, 9]), np.array([9]), np.array([True]))
    return merge_groups(MIXED, attributes, ORDER, START, LDiversity(2.5, 1), 0.2, watch())


def across() -> np.ndarray:
    left, extra = np.full(K, N // K), np.zeros(K, np.int64)
    return groups_across(MIXED, Parts(PARTS, np.arange(K + 1), np.arange(K), left, extra), watch())


def tour() -> np.ndarray:
    near = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1, kind="stable")[:, 1:6].copy()
    pairs, saved = savings(X, X.mean(axis=0), near, watch())
    joined, other = join_ends(pairs, np.argsort(-saved, kind="stable"), N, watch())
    ends = np.flatnonzero(joined[:, 1] < 0)
    place = np.empty(N, np.int64)
    place[ends] = np.arange(len(ends))
    return unrolled(ends[nearest_next(X[ends], place[other[ends]], 0, watch())], joined)


def linked() -> list[object]:
    rows, size, first = X[::2] + 0.1, np.full(N // 2, 2), ALL[::2].copy()
    columns, of = np.ascontiguousarray(rows.T), ALL // 2
    mixed = np.ascontiguousarray(MIXED.values[1::2])
    return [
        link_to_nearest(X, rows, of, first, size, ALL),
        link_by_types(MIXED, mixed, of, first, size, ALL),
        *nearest_by_types(MIXED, mixed),
        *assign_to_groups(MIXED, np.ones(N, np.int64), mixed, np.full(N // 2, 2), 10**8),
        count_patterns(X, columns, size, ALL, 0.2),
        link_by_weight(X, columns, of, size, ALL, 0.2, np.arange(32) / 10),
    ]


def annealed():
    attributes = Attributes(SECRET[None], BELOW, np.array([0, 9]), np.array([9]), np.array([True]), UNIT, 3)
    near = np.stack([np.roll(ALL, -shift) for shift in range(1, 9)], axis=1).astype(np.int32)
    labels, state = ALL // 12 % (N // 12), np.array([5], np.uint64)
    limits = attributes, LDiversity(2.0), 0.9
    return anneal_mixed(MIXED, limits, (4, 40), near, np.ones(N), 0.5, 3000, state, labels, watch()), labels, state


CASES = {
    "mixed annealing": annealed,
    "MDAV on all types": lambda: mdav_generic(MIXED, K, watch()),
    "MDAV of units": lambda: [mdav_units_generic(MIXED, K, UNIT, watch()), mdav_units_tree(X, K, UNIT, watch())],
    "averages": lambda: averages_as_they_leave(MIXED, ORDER[:-1]),
    "merging": merged,
    "squared error": lambda: squared_error(MIXED, ORDER, START),
    "groups across": across,
    "diversity": lambda: [diversities(START, np.sort(SECRET), 8, form, 2.0) for form in range(3)],
    "dominated": lambda: dominated(START, np.sort(SECRET), 8),
    "distances": lambda: [distances_from_file(START, np.sort(SECRET), BELOW, ordered) for ordered in (True, False)],
    "V-MDAV": lambda: vmdav_tree(X, K, 1.1, watch()),
    "links": linked,
    "classes": lambda: first_and_size(*combine(SECRET, PARTS)),
    "nearest average": lambda: nearest_average(
        MIXED.values, np.nan_to_num(MIXED.values[::9]), np.nan_to_num(MIXED.values[0]), MIXED.kinds, MIXED.apart
    ),
    "paths": tour,
    "Hilbert": lambda: hilbert_places((X * 10).astype(np.int64), 4),
    "cells": lambda: count_below(
        X, X.min(axis=0), np.full(5, 2.0**30), np.array([[-1, -1]]), np.zeros(1, np.int64), np.zeros(1, np.int64), 1, 7
    ),
    "hybrid": lambda: synthesise(
        X[:, :2].copy(), X[:, 2:].copy(), np.sin(X[:, :2] + ALL[:, None]), ORDER, START[::4].copy()
    ),
    "orthogonal hybrid": lambda: synthesise(
        X[:, :2].copy(), X[:, 2:].copy(), np.sin(X[:, :2] + ALL[:, None]), ORDER, START[::4].copy(), orthogonal=True
    ),
}


def bits_of(found: object) -> list[bytes]:
    """All numbers of a result, to the bit."""
    return [np.asarray(each).tobytes() for each in (found if isinstance(found, list | tuple) else [found])]


@pytest.mark.parametrize("name", CASES)
def test_every_instruction_set_gives_the_same_bits(name):
    found = []
    for each in _native.instruction_sets():
        _native.use_instruction_set(each)
        found.append(bits_of(CASES[name]()))
    assert all(other == found[0] for other in found)


REFUSED = {
    "a kind for each column": lambda: mdav_generic(MIXED._replace(kinds=MIXED.kinds[:3]), K, watch()),
    "classes within the records": lambda: diversities(np.array([0, N + 1]), SECRET, 9, 0, 2.0),
    "ranks of values in the file": lambda: distances_from_file(START, np.sort(SECRET), BELOW[:5], True),
    "a pool for each record": lambda: groups_across(
        MIXED, Parts(PARTS[1:], np.arange(K + 1), np.arange(K), np.ones(K, np.int64), np.zeros(K, np.int64)), watch()
    ),
    "records asked among all": lambda: count_patterns(X, X[:9].T.copy(), np.ones(9, np.int64), ALL + 1, 0.1),
    "labels below the number of classes": lambda: first_and_size(SECRET, 5),
    "averages of the same columns": lambda: nearest_average(X, X[:, :4].copy(), X[0], ALL[:5], X[0]),
    "paths that do not meet": lambda: unrolled(np.zeros(2, np.int64), np.full((1, 2), -1)),
    "records in a leaf": lambda: count_below(
        X, X[0], X[0], np.array([[-1, 1], [-1, -1]]), np.array([0, 1]), np.zeros(2, np.int64), 1, 2
    ),
    "groups with records": lambda: synthesise(X, X, X, ALL, np.array([0, 0, N])),
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_does_not_fit_together_is_a_value_error(asked):
    with pytest.raises(ValueError, match=r"must|in no leaf"):
        REFUSED[asked]()


def test_a_member_of_a_space_that_has_another_type_is_a_type_error():
    for name, wrong in {"values": MIXED.values.T, "kinds": MIXED.kinds.astype(float), "levels": [0, 7, 7, 7]}.items():
        with pytest.raises(TypeError):
            mdav_generic(MIXED._replace(**{name: wrong}), K, watch())
