"""Bounds on boxes hold for the rounded distances, not only for the true ones; dead lanes stay out of everything."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from shoal.kernels.simd import (
    LANES,
    farthest_bounds,
    lanes_at_least,
    lanes_at_most,
    largest,
    nearest_bounds,
    smallest,
    squared_distances,
)


@njit
def bounds_and_distances(boxes, keys, blocks, q, c, away):
    near, far, distances = np.empty(LANES), np.empty(LANES), np.empty((blocks.shape[0], LANES))
    nearest_bounds(boxes, 0, q, near)
    farthest_bounds(boxes, keys, 0, q, c, away, far)
    for b in range(blocks.shape[0]):
        out = np.empty(LANES)
        squared_distances(blocks, b * q.shape[0] * LANES, q, out)
        distances[b] = out
    return near, far, distances


@njit
def masks(values, limit):
    return lanes_at_most(values, limit), lanes_at_least(values, limit), smallest(values, 0), largest(values, 0)


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(-150, 140), st.sampled_from([1e-9, 1e-3, 1.0, 30.0]))
def test_every_rounded_distance_lies_between_the_bounds_of_its_box(seed, d, exponent, spread):
    rng = np.random.default_rng(seed)
    # Block b holds the b-th record of each of the eight boxes, so that lane and box go together.
    blocks = (rng.normal(size=(1, d, LANES)) + spread * rng.normal(size=(6, d, LANES))) * 10.0**exponent
    boxes = np.ascontiguousarray(np.stack([blocks.min(axis=0), blocks.max(axis=0)], axis=1))[None]
    q, c = rng.normal(size=(2, d)) * 10.0**exponent
    travelled = abs(rng.normal()) * 10.0**exponent
    radius = np.sqrt(((blocks - c[:, None]) ** 2).sum(axis=1).max(axis=0))
    keys = np.ascontiguousarray(radius - travelled)[None]
    away = travelled * (1 + 1e-12) + 1e-160
    near, far, distances = bounds_and_distances(boxes, keys, blocks, q, c, away)
    assert (near <= distances).all()
    assert (distances <= far).all()


def test_distances_are_added_in_attribute_order():
    rng = np.random.default_rng(0)
    block, q = rng.normal(size=(1, 7, LANES)), rng.normal(size=7)
    total = np.zeros(LANES)
    for j in range(7):
        total += (block[0, j] - q[j]) * (block[0, j] - q[j])
    boxes = np.zeros((1, 7, 2, LANES))
    distances = bounds_and_distances(boxes, np.zeros((1, LANES)), block, q, q, 0.0)[2]
    assert distances[0].tolist() == total.tolist()


def test_a_dead_box_has_no_bounds():
    boxes = np.zeros((1, 3, 2, LANES))
    boxes[..., 5] = np.nan
    point = np.ones(3)
    near, far, _ = bounds_and_distances(boxes, np.zeros((1, LANES)), np.zeros((1, 3, LANES)), point, point, 0.0)
    assert np.flatnonzero(np.isnan(near)).tolist() == [5]
    assert np.flatnonzero(np.isnan(far)).tolist() == [5]


def test_dead_lanes_are_in_no_mask_and_no_extreme():
    values = np.array([3.0, np.nan, 1.0, 2.0, np.nan, 5.0, 4.0, 2.0])
    assert masks(values, 2.0) == (0b10001100, 0b11101001, 1.0, 5.0)
    assert masks(np.full(LANES, np.nan), 2.0) == (0, 0, np.inf, -np.inf)
