"""Vector operations equal plain loops bit by bit; bounds on boxes hold for rounded distances; dead lanes stay out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import _native
from shoal.kernels.encoded import MODE

LANES = 8
ROUNDING = 1e-11  # of the second bound in `farthest_bounds`, relative
pytestmark = pytest.mark.usefixtures("instruction_set")


def lanes(name: str, operand: np.ndarray, *others: object) -> np.ndarray:
    """The eight results of an operation."""
    out = np.full(LANES, -1.0)
    getattr(_native, name)(operand.reshape(-1), *others, out)
    return out


def naive_squared_distances(block: np.ndarray, q: np.ndarray) -> np.ndarray:
    total = np.zeros(LANES)
    for j in range(len(q)):
        total += (block[j] - q[j]) * (block[j] - q[j])
    return total


def naive_nearest_bounds(boxes: np.ndarray, q: np.ndarray) -> np.ndarray:
    total = np.zeros(LANES)
    for j in range(len(q)):
        below, above = boxes[j, 0] - q[j], q[j] - boxes[j, 1]
        outside = np.where(below > above, below, above)
        gap = np.where(outside < 0.0, 0.0, outside)
        total += gap * gap
    return total


def naive_farthest_bounds(boxes: np.ndarray, keys: np.ndarray, q: np.ndarray, c: np.ndarray, away: float) -> np.ndarray:
    corner, slope, apart = np.zeros(LANES), np.zeros(LANES), 0.0
    for j in range(len(q)):
        low, high, g = boxes[j, 0], boxes[j, 1], c[j] - q[j]
        below, above = q[j] - low, high - q[j]
        reach = np.where(below > above, below, above)
        corner += reach * reach
        slope += g * ((high if g > 0.0 else low) - c[j])
        apart += g * g
    r = keys + away
    ball = r * r + apart
    ball = ball + ROUNDING * (ball + corner) + (slope + slope)
    return np.where(ball < corner, ball, corner)


def naive_mixed_distances(block: np.ndarray, q: np.ndarray, kinds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    total = block[0].copy()  # 0, or NaN for ever if the lane is dead
    for j in range(len(q)):
        values = block[1 + j]
        if np.isnan(q[j]):
            total += np.where(np.isnan(values), 0.0, weights[j])
        elif kinds[j] == MODE:
            total += np.where(values != q[j], weights[j], 0.0)
        else:
            step = values - q[j]
            total += np.where(np.isnan(values), weights[j], step * step)
    return total


def sample(rng: np.random.Generator, shape: tuple[int, ...], exponent: int) -> np.ndarray:
    """Numbers with ties, infinities and NaN."""
    values = np.round(rng.normal(size=shape) * 4) / 2 * 10.0**exponent
    values[rng.random(shape) < 0.1] = np.nan
    values[rng.random(shape) < 0.02] = np.inf
    return values


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # infinity less infinity
@settings(max_examples=100)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(-150, 140))
def test_distances_and_bounds_are_those_of_plain_loops(seed, d, exponent):
    rng = np.random.default_rng(seed)
    block, boxes, keys = (sample(rng, shape, exponent) for shape in [(d + 1, LANES), (d, 2, LANES), (LANES,)])
    q, c, weights = rng.normal(size=(3, d)) * 10.0**exponent
    kinds, away = rng.choice([0, MODE], d), float(abs(q[0]))
    holed = np.where(rng.random(d) < 0.3, np.nan, q)
    for found, expected in [
        (lanes("squared_distances", block[1:], q), naive_squared_distances(block[1:], q)),
        (lanes("nearest_bounds", boxes, q), naive_nearest_bounds(boxes, q)),
        (lanes("farthest_bounds", boxes, keys, q, c, away), naive_farthest_bounds(boxes, keys, q, c, away)),
        (lanes("mixed_distances", block, holed, kinds, weights), naive_mixed_distances(block, holed, kinds, weights)),
    ]:
        np.testing.assert_array_equal(found, expected)


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(-150, 140), st.sampled_from([1e-9, 1e-3, 1.0, 30.0]))
def test_every_rounded_distance_lies_between_the_bounds_of_its_box(seed, d, exponent, spread):
    rng = np.random.default_rng(seed)
    # Block b holds the b-th record of each of the eight boxes, so that lane and box go together.
    blocks = (rng.normal(size=(1, d, LANES)) + spread * rng.normal(size=(6, d, LANES))) * 10.0**exponent
    boxes = np.ascontiguousarray(np.stack([blocks.min(axis=0), blocks.max(axis=0)], axis=1))
    q, c = rng.normal(size=(2, d)) * 10.0**exponent
    travelled = abs(rng.normal()) * 10.0**exponent
    radius = np.sqrt(((blocks - c[:, None]) ** 2).sum(axis=1).max(axis=0))
    away = travelled * (1 + 1e-12) + 1e-160
    near, far = lanes("nearest_bounds", boxes, q), lanes("farthest_bounds", boxes, radius - travelled, q, c, away)
    for block in blocks:
        distances = lanes("squared_distances", block, q)
        assert (near <= distances).all()
        assert (distances <= far).all()


def test_a_dead_box_has_no_bounds():
    boxes, point = np.zeros((3, 2, LANES)), np.ones(3)
    boxes[..., 5] = np.nan
    near, far = lanes("nearest_bounds", boxes, point), lanes("farthest_bounds", boxes, np.zeros(8), point, point, 0.0)
    assert np.flatnonzero(np.isnan(near)).tolist() == [5]
    assert np.flatnonzero(np.isnan(far)).tolist() == [5]


def test_dead_lanes_are_in_no_mask_and_no_extreme():
    values = np.array([3.0, np.nan, 1.0, 2.0, np.nan, 5.0, 4.0, 2.0])
    assert _native.lane_summary(values, 2.0) == (0b10001100, 0b11101001, 0b100, 0b1100001, 1.0, 5.0)
    assert _native.lane_summary(np.full(LANES, np.nan), 2.0) == (0, 0, 0, 0, np.inf, -np.inf)


@given(st.lists(st.floats(), min_size=LANES, max_size=LANES), st.floats())
def test_masks_and_extremes_are_those_of_each_lane(values, limit):
    def mask(chosen: list[bool]) -> int:
        return sum(1 << lane for lane in range(LANES) if chosen[lane])

    alive = [value for value in values if value == value]
    assert _native.lane_summary(np.array(values), limit) == (
        mask([value <= limit for value in values]),
        mask([value >= limit for value in values]),
        mask([value < limit for value in values]),
        mask([value > limit for value in values]),
        min(alive, default=np.inf),
        max(alive, default=-np.inf),
    )
