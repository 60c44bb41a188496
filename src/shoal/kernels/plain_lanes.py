"""The vector operations of `shoal.kernels.simd` in plain Python, one twin for each, by name.

They stand in where numba compiles nothing (``NUMBA_DISABLE_JIT=1``), so that a debugger can step through every kernel
and tests can see that the compiled ones give the same answer, bit by bit: numpy adds lane by lane, in the same order.
"""

import numpy as np

from shoal.kernels.encoded import MODE
from shoal.kernels.types import Floats, Integers

LANES = 8
ROUNDING = 1e-11  # relative; a sum over a hundred attributes is off by less than 1e-13


def _eight(array: Floats, position: int) -> Floats:
    """Return the eight neighbours in memory from a position on, counted in elements from the start of the array."""
    return array.reshape(-1)[position : position + LANES]


def squared_distances(blocks: Floats, position: int, point: Floats, out: Floats) -> None:
    """See `lanes.squared_distances`."""
    total = np.zeros(LANES)
    for j in range(len(point)):
        step = _eight(blocks, position + j * LANES) - point[j]
        total += step * step
    out[:LANES] = total


def nearest_bounds(boxes: Floats, position: int, point: Floats, out: Floats) -> None:
    """See `lanes.nearest_bounds`."""
    total = np.zeros(LANES)
    for j in range(len(point)):
        start = position + 2 * j * LANES
        below, above = _eight(boxes, start) - point[j], point[j] - _eight(boxes, start + LANES)
        outside = np.where(below > above, below, above)
        gap = np.where(outside < 0.0, 0.0, outside)
        total += gap * gap
    out[:LANES] = total


def farthest_bounds(
    boxes: Floats, keys: Floats, node: int, point: Floats, centre: Floats, away: float, out: Floats
) -> None:
    """See `lanes.farthest_bounds`."""
    corner, slope, apart = np.zeros(LANES), np.zeros(LANES), 0.0
    for j in range(len(point)):
        start = 2 * (node * len(point) + j) * LANES
        low, high, q, c = _eight(boxes, start), _eight(boxes, start + LANES), point[j], centre[j]
        below, above = q - low, high - q
        reach = np.where(below > above, below, above)
        corner += reach * reach
        g = c - q
        slope += g * ((high if g > 0.0 else low) - c)
        apart += g * g
    r = _eight(keys, node * LANES) + away
    ball = r * r + apart
    ball = ball + ROUNDING * (ball + corner) + (slope + slope)
    out[:LANES] = np.where(ball < corner, ball, corner)


def mixed_distances(
    blocks: Floats, position: int, point: Floats, kinds: Integers, weights: Floats, out: Floats
) -> None:
    """See `simd.mixed_distances`."""
    total = _eight(blocks, position).copy()  # 0, or NaN for ever if the lane is dead
    for j in range(len(point)):
        values = _eight(blocks, position + (j + 1) * LANES)
        if np.isnan(point[j]):
            total += np.where(np.isnan(values), 0.0, weights[j])
        elif kinds[j] == MODE:
            total += np.where(values != point[j], weights[j], 0.0)
        else:
            step = values - point[j]
            total += np.where(np.isnan(values), weights[j], step * step)
    out[:LANES] = total


def _bits(chosen: np.ndarray) -> int:
    return sum(1 << lane for lane in range(LANES) if chosen[lane])


def lanes_at_most(values: Floats, limit: float) -> int:
    """See `lanes.lanes_at_most`."""
    return _bits(_eight(values, 0) <= limit)


def lanes_at_least(values: Floats, limit: float) -> int:
    """See `lanes.lanes_at_least`."""
    return _bits(_eight(values, 0) >= limit)


def lanes_below(values: Floats, limit: float) -> int:
    """See `simd.lanes_below`."""
    return _bits(_eight(values, 0) < limit)


def lanes_above(values: Floats, limit: float) -> int:
    """See `simd.lanes_above`."""
    return _bits(_eight(values, 0) > limit)


def lowest_lane(mask: int) -> int:
    """See `lanes.lowest_lane`."""
    return (int(mask) & -int(mask)).bit_length() - 1


def smallest(values: Floats, position: int) -> float:
    """See `lanes.smallest`."""
    eight = _eight(values, position)
    return float(np.where(np.isnan(eight), np.inf, eight).min())


def largest(values: Floats, position: int) -> float:
    """See `lanes.largest`."""
    eight = _eight(values, position)
    return float(np.where(np.isnan(eight), -np.inf, eight).max())
