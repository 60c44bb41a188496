"""Every vector operation equals its plain twin, bit by bit; dead lanes and missing values included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from shoal.kernels import plain_lanes
from shoal.kernels import simd as lanes
from shoal.kernels.encoded import MODE
from shoal.kernels.simd import LANES

EXTREMES = ["smallest", "largest"]
MASKS = ["lanes_at_most", "lanes_at_least", "lanes_below", "lanes_above"]


def compiled(name):
    operation = getattr(lanes, name)
    return njit(lambda *given: operation(*given))


VECTORS = {
    name: compiled(name)
    for name in [*EXTREMES, *MASKS, "lowest_lane", "squared_distances", "nearest_bounds", "farthest_bounds",
                 "mixed_distances"]
}  # fmt: skip


def both(name, *given):
    """Give what the operation returns or writes, and what its twin does."""
    results = []
    for operation in (VECTORS[name], getattr(plain_lanes, name)):
        out = np.full(LANES, -1.0)
        results.append(operation(*given, out) if name.endswith(("distances", "bounds")) else operation(*given))
        results[-1] = out if results[-1] is None else results[-1]
    return results


def sample(rng, shape, exponent):
    """Numbers with ties, infinities and NaN."""
    values = np.round(rng.normal(size=shape) * 4) / 2 * 10.0**exponent
    values[rng.random(shape) < 0.1] = np.nan
    values[rng.random(shape) < 0.02] = np.inf
    return values


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # infinity less infinity
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(-150, 140))
def test_twins_agree(seed, d, exponent):
    rng = np.random.default_rng(seed)
    block, boxes, keys = (sample(rng, shape, exponent) for shape in [(3, d + 1, LANES), (2, d, 2, LANES), (2, LANES)])
    q, c, weights = rng.normal(size=(3, d)) * 10.0**exponent
    kinds, values, limit = rng.choice([0, MODE], d), block[1, 0].copy(), block[0, 0, 0]
    holed = np.where(rng.random(d) < 0.3, np.nan, q)
    pairs = [
        both("squared_distances", block, LANES, q),
        both("nearest_bounds", boxes, 2 * d * LANES, q),
        both("farthest_bounds", boxes, keys, 1, q, c, float(abs(q[0]))),
        both("mixed_distances", block, (d + 1) * LANES, holed, kinds, weights),
        *(both(name, values, limit) for name in MASKS),
        *(both(name, block, 2 * LANES) for name in EXTREMES),
    ]
    for one, two in pairs:
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("mask", [1, 0b1000, 0b10110000, 128, 255])
def test_the_lowest_lane_is_the_same(mask):
    one, two = both("lowest_lane", mask)
    assert one == two
