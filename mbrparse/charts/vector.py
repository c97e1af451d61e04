"""SIMD vectors of LANES doubles inside numba kernels.

numba's own vectorizer does not touch loops as short as those over a vector; hence these few explicit
operations. A vector fills a register (or a few: LLVM splits what the machine lacks), and a kernel reads

    total = multiply_add(load_from(inside, place, left), load_from(inside, place, right), total)

Arrays are contiguous, whatever their axes. ``array`` in operations that read nothing tells numba the kind of
number. Sets are bits of 64-bit words, which ``count_bits`` and ``lowest_bit`` read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from mbrparse.charts.kernel import intrinsic
from mbrparse.local_settings import no_local_settings

with no_local_settings():
    from numba.core import cgutils, types
    from numba.core.datamodel import models
    from numba.extending import register_model

VECTOR_BYTES = 64  # a cache line, and one AVX-512 register
LANES = VECTOR_BYTES // 8

_KIND = ir.VectorType(ir.DoubleType(), LANES)
_ALIGN = 8  # a vector may begin at any number


def aligned_floats(count: int) -> NDArray[Any]:
    """Zeros, which begin on a cache line."""
    raw = np.zeros(count + LANES)
    offset = -raw.ctypes.data % VECTOR_BYTES // 8
    return raw[offset : offset + count]


class Vector(types.Type):
    """numba's type of a vector."""

    def __init__(self) -> None:
        super().__init__(name=f"Vector(float64 x {LANES})")


_VECTOR = Vector()


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, _KIND)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, unit: int) -> Any:
    """Address of ``place + offset`` of an array (the first three arguments), which count in units of numbers.

    The offset is added first, so that a loop that changes only the place finds this part done before it
    begins.
    """
    pointer = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    for index in (2, 1):
        position = context.cast(builder, arguments[index], signature.args[index], types.intp)
        pointer = builder.gep(pointer, [builder.mul(position, ir.Constant(position.type, unit))])
    return builder.bitcast(pointer, _KIND.as_pointer())


def _splat(builder: Any, scalar: Any) -> Any:
    single = builder.insert_element(ir.Constant(_KIND, ir.Undefined), scalar, cgutils.int32_t(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, ir.Constant(_KIND, ir.Undefined), mask)


def _loading(unit: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, arguments, unit), align=_ALIGN)

    return generate


def _storing(unit: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments, unit)
        builder.store(arguments[3], pointer, align=_ALIGN)
        return context.get_dummy_value()

    return generate


@intrinsic
def load(typing: Any, array: Any, row: Any, offset: Any) -> Any:
    """The vector ``array[row + offset, :]`` of an array of rows of LANES numbers."""
    return _VECTOR(array, row, offset), _loading(LANES)


@intrinsic
def load_from(typing: Any, array: Any, place: Any, offset: Any) -> Any:
    """The vector of the numbers from ``place + offset`` on."""
    return _VECTOR(array, place, offset), _loading(1)


@intrinsic
def store(typing: Any, array: Any, row: Any, offset: Any, value: Any) -> Any:
    """Set ``array[row + offset, :] = value``."""
    return types.void(array, row, offset, value), _storing(LANES)


@intrinsic
def store_to(typing: Any, array: Any, place: Any, offset: Any, value: Any) -> Any:
    """Set the numbers from ``place + offset`` on."""
    return types.void(array, place, offset, value), _storing(1)


@intrinsic
def spread(typing: Any, array: Any, index: Any) -> Any:
    """A vector that repeats the number ``array[index]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        position = context.cast(builder, arguments[1], signature.args[1], types.intp)
        return _splat(builder, builder.load(builder.gep(source, [position])))

    return _VECTOR(array, index), generate


@intrinsic
def repeated(typing: Any, array: Any, value: Any) -> Any:
    """A vector that repeats a number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, context.cast(builder, arguments[1], signature.args[1], types.float64))

    return _VECTOR(array, value), generate


@intrinsic
def zeros(typing: Any, array: Any) -> Any:
    """A vector of zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(_KIND, None)

    return _VECTOR(array), generate


@intrinsic
def gather(typing: Any, array: Any, index: Any, position: Any) -> Any:
    """The vector of ``array[index[position]]`` and what follows; both have one axis, indices are unsigned."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, indices = (
            context.make_array(signature.args[place])(context, builder, arguments[place]).data
            for place in (0, 1)
        )
        first = context.cast(builder, arguments[2], signature.args[2], types.intp)
        value = ir.Constant(_KIND, ir.Undefined)
        for lane in range(LANES):
            place = builder.gep(indices, [builder.add(first, ir.Constant(first.type, lane))])
            at = builder.zext(builder.load(place), first.type)
            number = builder.load(builder.gep(source, [at]))
            value = builder.insert_element(value, number, cgutils.int32_t(lane))
        return value

    return _VECTOR(array, index, position), generate


def _folding(join: Any) -> Any:
    """Join the first and the second half of a vector, lane by lane, and so on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rest, lanes = arguments[0], LANES
        while lanes > 1:
            lanes //= 2
            mask = ir.VectorType(ir.IntType(32), lanes)
            halves = [
                builder.shuffle_vector(rest, rest, ir.Constant(mask, list(range(begin, begin + lanes))))
                for begin in (0, lanes)
            ]
            rest = join(builder, *halves)
        return builder.extract_element(rest, cgutils.int32_t(0))

    return generate


def _larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", other, one), other, one)


def _smaller(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", other, one), other, one)


@intrinsic
def total_of(typing: Any, value: Any) -> Any:
    """The sum of a vector's lanes."""
    return types.float64(value), _folding(lambda builder, *halves: builder.fadd(*halves))


@intrinsic
def largest_of(typing: Any, value: Any) -> Any:
    """The largest of a vector's lanes."""
    return types.float64(value), _folding(_larger)


@intrinsic
def smallest_of(typing: Any, value: Any) -> Any:
    """The smallest of a vector's lanes."""
    return types.float64(value), _folding(_smaller)


@intrinsic
def multiply_add(typing: Any, first: Any, second: Any, total: Any) -> Any:
    """``first * second + total``, fused where the machine can."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function_type = ir.FunctionType(_KIND, [_KIND] * 3)
        name = f"llvm.fmuladd.v{LANES}f64"
        return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), arguments)

    return _VECTOR(first, second, total), generate


def _lane_by_lane(join: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return join(builder, *arguments)

    return generate


@intrinsic
def multiply(typing: Any, first: Any, second: Any) -> Any:
    """``first * second``."""
    return _VECTOR(first, second), _lane_by_lane(lambda builder, *both: builder.fmul(*both))


@intrinsic
def add(typing: Any, first: Any, second: Any) -> Any:
    """``first + second``."""
    return _VECTOR(first, second), _lane_by_lane(lambda builder, *both: builder.fadd(*both))


@intrinsic
def maximum(typing: Any, first: Any, second: Any) -> Any:
    """The larger of the two, lane by lane."""
    return _VECTOR(first, second), _lane_by_lane(_larger)


@intrinsic
def choose_greater(typing: Any, value: Any, bound: Any, then: Any, otherwise: Any) -> Any:
    """``then`` in the lanes where ``value > bound``, else ``otherwise``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        greater = builder.fcmp_ordered(">", arguments[0], arguments[1])
        return builder.select(greater, arguments[2], arguments[3])

    return _VECTOR(value, bound, then, otherwise), generate


@intrinsic
def any_positive(typing: Any, value: Any) -> Any:
    """Whether some lane is above zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.fcmp_ordered(">", arguments[0], ir.Constant(_KIND, None))
        packed = builder.bitcast(bits, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", packed, ir.Constant(packed.type, 0))

    return types.boolean(value), generate


@intrinsic
def count_bits(typing: Any, word: Any) -> Any:
    """How many bits of an unsigned word are set."""
    return types.int64(types.uint64), _lane_by_lane(lambda builder, bits: builder.ctpop(bits))


@intrinsic
def lowest_bit(typing: Any, word: Any) -> Any:
    """The number of the lowest bit that is set in an unsigned word; of 0 it is 64."""
    no = ir.Constant(ir.IntType(1), 0)
    return types.int64(types.uint64), _lane_by_lane(lambda builder, bits: builder.cttz(bits, no))
