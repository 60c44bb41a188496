"""Eight records at a time where attributes are of several types and values may be missing.

As in `shoal.kernels.simd`, every lane sees the additions of the plain loop in the same order. A value that is NaN is a
missing one here; whether a lane is dead is told by a row of its own, before those of the attributes: 0, or NaN if dead.
"""

from typing import Any

from llvmlite import ir
from numba.core import types

from shoal.kernels.encoded import MODE
from shoal.kernels.simd import _VECTOR, LANES, _constant, _data, _load, _mask, _splat, _store, cgutils, intrinsic


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
