"""Eight float64 at a time: the few vector operations that blocks and trees are made of.

The loop vectoriser leaves loops over eight lanes scalar (a matrix and a result could overlap in memory), so these are
written in LLVM's own vectors, which become AVX-512, AVX, SSE or NEON instructions as the processor has them: five times
the speed at ten attributes. Nothing is reordered: every lane sees the additions of the plain loop in the same order,
and so the same rounding.

An operand is an array and the position, counted in elements from its start, of the first of eight neighbours in memory.
A lane that is NaN is dead: it compares false with everything, and so drops out of every mask by itself. For attributes
of several types, where values may be missing (`mixed_distances`), NaN is a missing value; a row of its own, before
those of the attributes, marks dead lanes: 0, or NaN if dead.

Where numba compiles nothing (``NUMBA_DISABLE_JIT=1``), each name here is that of its twin in `plain_lanes`.
"""

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils as numba_cgutils
from numba.core import config as numba_config
from numba.core import types

from shoal.kernels import plain_lanes
from shoal.kernels.encoded import MODE

# numba leaves these without annotations.
cgutils: Any = numba_cgutils
config: Any = numba_config

LANES = plain_lanes.LANES
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_INFINITY = float("inf")


def intrinsic(emit: Any) -> Any:
    """Make a vector operation of what emits its instructions; its plain twin where nothing is compiled."""
    return getattr(plain_lanes, emit.__name__) if config.DISABLE_JIT else extending.intrinsic(emit)


def _splat(builder: Any, scalar: Any) -> Any:
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), zeros)


def _constant(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


def _load(builder: Any, data: Any, position: Any) -> Any:
    pointer = builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())
    return builder.load(pointer, align=8)


def _store(builder: Any, vector: Any, data: Any) -> None:
    builder.store(vector, builder.bitcast(data, _VECTOR.as_pointer()), align=8)


def _sum_of_squares(context: Any, builder: Any, signature: Any, args: Any, rows: int, offset: Any) -> Any:
    """Emit out[:] = sum over attributes j of offset(rows of j, point[j]) ** 2; `rows` vectors of the operand a step."""
    array_type, _, point_type, out_type = signature.args
    array, position, point, out = args
    data = _data(context, builder, array_type, array)
    points = context.make_array(point_type)(context, builder, point)
    attributes = builder.extract_value(points.shape, 0)
    total = cgutils.alloca_once_value(builder, _constant(0.0))
    builder.store(_constant(0.0), total)
    word = position.type
    with cgutils.for_range(builder, attributes) as loop:
        start = builder.add(position, builder.mul(loop.index, ir.Constant(word, rows * LANES)))
        vectors = [_load(builder, data, builder.add(start, ir.Constant(word, row * LANES))) for row in range(rows)]
        coordinate = _splat(builder, builder.load(builder.gep(points.data, [loop.index])))
        step = offset(builder, vectors, coordinate)
        builder.store(builder.fadd(builder.load(total), builder.fmul(step, step)), total)
    _store(builder, builder.load(total), _data(context, builder, out_type, out))
    return context.get_dummy_value()


def _difference(builder: Any, vectors: Any, coordinate: Any) -> Any:
    return builder.fsub(vectors[0], coordinate)


def _gap(builder: Any, vectors: Any, coordinate: Any) -> Any:
    """Emit max(low - q, q - high, 0), NaN where the box is."""
    below = builder.fsub(vectors[0], coordinate)
    above = builder.fsub(coordinate, vectors[1])
    outside = builder.select(builder.fcmp_ordered(">", below, above), below, above)
    zero = _constant(0.0)
    return builder.select(builder.fcmp_ordered("<", outside, zero), zero, outside)


@intrinsic
def squared_distances(_: Any, blocks: Any, position: Any, point: Any, out: Any) -> Any:
    """Write the squared distances from a point to the eight records of a block."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _sum_of_squares(context, builder, signature, args, 1, _difference)

    return types.void(blocks, types.intp, point, out), codegen


@intrinsic
def nearest_bounds(_: Any, boxes: Any, position: Any, point: Any, out: Any) -> Any:
    """Write lower bounds of the squared distances from a point to what lies in eight boxes.

    Subtraction, squaring and addition round monotonically, and a bound does them in the order of the distance itself:
    for a record x in the box, each step is at most the same step with x. So no bound exceeds the *rounded* distance.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _sum_of_squares(context, builder, signature, args, 2, _gap)

    return types.void(boxes, types.intp, point, out), codegen


@intrinsic
def farthest_bounds(_: Any, boxes: Any, keys: Any, node: Any, point: Any, centre: Any, away: Any, out: Any) -> Any:
    """Write upper bounds of the squared distances from a point q to what lies in the eight boxes of a node.

    The smaller of two. To the far corner of the box: safe for the reason given in `nearest_bounds`. And, knowing that
    all records x of the box are within r = key + away of a centre c,

        |x - q|^2 = |x - c|^2 + |c - q|^2 + 2 (x - c).(c - q) <= r^2 + |c - q|^2 + 2 max over the box of (x - c).(c - q)

    so that a corner which sticks out of the ball around c, as most do when attributes are many, no longer counts. This
    bound is rounded up by far more than its error, all of which is relative to r^2 + |c - q|^2 + the first bound.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        boxes, keys, node, point, centre, away, out = args
        word = node.type
        arrays = [_data(context, builder, signature.args[at], args[at]) for at in (0, 1, 3, 4, 6)]
        boxes, keys, point, centre, out = arrays
        points = context.make_array(signature.args[3])(context, builder, args[3])
        attributes = builder.extract_value(points.shape, 0)
        zero = _constant(0.0)
        corner, slope, apart = (cgutils.alloca_once(builder, _VECTOR) for _ in range(3))
        for total in (corner, slope, apart):
            builder.store(zero, total)
        first = builder.mul(builder.mul(node, attributes), ir.Constant(word, 2 * LANES))
        with cgutils.for_range(builder, attributes) as loop:
            at = builder.add(first, builder.mul(loop.index, ir.Constant(word, 2 * LANES)))
            low = _load(builder, boxes, at)
            high = _load(builder, boxes, builder.add(at, ir.Constant(word, LANES)))
            q = _splat(builder, builder.load(builder.gep(point, [loop.index])))
            c = _splat(builder, builder.load(builder.gep(centre, [loop.index])))
            below, above = builder.fsub(q, low), builder.fsub(high, q)
            reach = builder.select(builder.fcmp_ordered(">", below, above), below, above)
            builder.store(builder.fadd(builder.load(corner), builder.fmul(reach, reach)), corner)
            g = builder.fsub(c, q)
            side = builder.select(builder.fcmp_ordered(">", g, zero), high, low)
            builder.store(builder.fadd(builder.load(slope), builder.fmul(g, builder.fsub(side, c))), slope)
            builder.store(builder.fadd(builder.load(apart), builder.fmul(g, g)), apart)
        r = builder.fadd(_load(builder, keys, builder.mul(node, ir.Constant(word, LANES))), _splat(builder, away))
        corner, slope = builder.load(corner), builder.load(slope)
        ball = builder.fadd(builder.fmul(r, r), builder.load(apart))
        error = builder.fmul(_constant(plain_lanes.ROUNDING), builder.fadd(ball, corner))
        ball = builder.fadd(builder.fadd(ball, error), builder.fadd(slope, slope))
        _store(builder, builder.select(builder.fcmp_ordered("<", ball, corner), ball, corner), out)
        return context.get_dummy_value()

    return types.void(boxes, keys, types.intp, point, centre, types.float64, out), codegen


def _mask(context: Any, builder: Any, signature: Any, args: Any, comparison: str) -> Any:
    values = _load(builder, _data(context, builder, signature.args[0], args[0]), ir.Constant(ir.IntType(64), 0))
    bits = builder.fcmp_ordered(comparison, values, _splat(builder, args[1]))
    return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), ir.IntType(64))


@intrinsic
def lanes_at_most(_: Any, values: Any, limit: Any) -> Any:
    """Return the lanes, as bits of an integer, whose value is at most the limit."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _mask(context, builder, signature, args, "<=")

    return types.int64(values, types.float64), codegen


@intrinsic
def lanes_at_least(_: Any, values: Any, limit: Any) -> Any:
    """Return the lanes, as bits of an integer, whose value is at least the limit."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _mask(context, builder, signature, args, ">=")

    return types.int64(values, types.float64), codegen


@intrinsic
def lowest_lane(_: Any, mask: Any) -> Any:
    """Return the number of the lowest bit that is set; the mask must not be zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


def _extreme(context: Any, builder: Any, signature: Any, args: Any, comparison: str, none: float) -> Any:
    """Emit the least or largest of eight lanes, halving three times; dead lanes count as `none`."""
    vector = _load(builder, _data(context, builder, signature.args[0], args[0]), args[1])
    vector = builder.select(builder.fcmp_ordered("ord", vector, vector), vector, _constant(none))
    for half in (4, 2, 1):
        lanes = [(lane + half) % LANES for lane in range(LANES)]
        moved = builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes))
        vector = builder.select(builder.fcmp_ordered(comparison, vector, moved), vector, moved)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


@intrinsic
def smallest(_: Any, values: Any, position: Any) -> Any:
    """Return the least of eight values; infinity if all are dead."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _extreme(context, builder, signature, args, "<", _INFINITY)

    return types.float64(values, types.intp), codegen


@intrinsic
def largest(_: Any, values: Any, position: Any) -> Any:
    """Return the largest of eight values; minus infinity if all are dead."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _extreme(context, builder, signature, args, ">", -_INFINITY)

    return types.float64(values, types.intp), codegen


def _squared_differences(builder: Any, values: Any, coordinate: Any, weight: Any) -> Any:
    """Emit (x - q)^2 for numbers; the weight where x is missing."""
    step = builder.fsub(values, coordinate)
    return builder.select(builder.fcmp_unordered("uno", values, values), weight, builder.fmul(step, step))


def _differ(builder: Any, values: Any, coordinate: Any, weight: Any) -> Any:
    """Emit the weight where x is missing or not the category q, else nothing."""
    return builder.select(builder.fcmp_unordered("!=", values, coordinate), weight, _constant(0.0))


def _present(builder: Any, values: Any, weight: Any) -> Any:
    """Emit the weight where x is there, to be compared with a missing q."""
    return builder.select(builder.fcmp_ordered("ord", values, values), weight, _constant(0.0))


@intrinsic
def mixed_distances(_: Any, blocks: Any, position: Any, point: Any, kinds: Any, weights: Any, out: Any) -> Any:
    """Write the squared distances, as in `EncodedMatrix`, from a point to the eight records of a block.

    What a column is, and whether the point misses its value, is the same for all blocks: the branches cost little.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        position = args[1]
        word = position.type
        blocks, point, kinds, weights, out = (
            _data(context, builder, signature.args[at], args[at]) for at in (0, 2, 3, 4, 5)
        )
        points = context.make_array(signature.args[2])(context, builder, args[2])
        attributes = builder.extract_value(points.shape, 0)
        total, term = (cgutils.alloca_once(builder, _VECTOR) for _ in range(2))
        builder.store(_load(builder, blocks, position), total)  # 0, or NaN for ever if the lane is dead
        with cgutils.for_range(builder, attributes) as loop:
            row = builder.add(loop.index, ir.Constant(word, 1))
            values = _load(builder, blocks, builder.add(position, builder.mul(row, ir.Constant(word, LANES))))
            q = builder.load(builder.gep(point, [loop.index]))
            weight = _splat(builder, builder.load(builder.gep(weights, [loop.index])))
            kind = builder.load(builder.gep(kinds, [loop.index]))
            with builder.if_else(builder.fcmp_unordered("uno", q, q)) as (missing, known):
                with missing:
                    builder.store(_present(builder, values, weight), term)
                with known, builder.if_else(builder.icmp_signed("==", kind, ir.Constant(kind.type, MODE))) as types_of:
                    category, number = types_of
                    with category:
                        builder.store(_differ(builder, values, _splat(builder, q), weight), term)
                    with number:
                        builder.store(_squared_differences(builder, values, _splat(builder, q), weight), term)
            builder.store(builder.fadd(builder.load(total), builder.load(term)), total)
        _store(builder, builder.load(total), out)
        return context.get_dummy_value()

    return types.void(blocks, types.intp, point, kinds, weights, out), codegen


@intrinsic
def lanes_below(_: Any, values: Any, limit: Any) -> Any:
    """Return the lanes, as bits of an integer, whose value is below the limit."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _mask(context, builder, signature, args, "<")

    return types.int64(values, types.float64), codegen


@intrinsic
def lanes_above(_: Any, values: Any, limit: Any) -> Any:
    """Return the lanes, as bits of an integer, whose value is above the limit."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _mask(context, builder, signature, args, ">")

    return types.int64(values, types.float64), codegen
