"""SIMD vectors inside numba kernels: one value for each sentence of a group.

A chart array has the shape ``[rows, lanes]``; a row is one vector register
(or a few: LLVM splits what the machine lacks), so that a kernel reads

    total = multiply_add(load(inside, left), load(inside, right), total)

and works on all sentences of the group at once.  Or the values lie side by side, and a vector begins at
any of them (``load_from``).  numba's own vectorizer does not touch loops this short; hence these few
explicit operations.

Sets are bits of 64-bit words, which ``count_bits`` and ``lowest_bit`` read.
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
LANES = VECTOR_BYTES // 8  # numbers in double precision


def aligned_floats(count: int) -> NDArray[Any]:
    """Zeros, which begin on a cache line."""
    raw = np.zeros(count + LANES)
    offset = -raw.ctypes.data % VECTOR_BYTES // 8
    return raw[offset : offset + count]


class Vector(types.Type):
    """numba's type of a vector of so many floats."""

    def __init__(self, dtype: types.Float, lanes: int) -> None:
        self.dtype = dtype
        self.lanes = lanes
        super().__init__(name=f"Vector({dtype} x {self.lanes})")


def _llvm_type(vector: Vector) -> ir.VectorType:
    element = ir.DoubleType() if vector.dtype.bitwidth == 64 else ir.FloatType()
    return ir.VectorType(element, vector.lanes)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, _llvm_type(vector))


def _vector(dtype: Any) -> Vector:
    """The type of a vector that fills a row."""
    return Vector(dtype, VECTOR_BYTES * 8 // dtype.bitwidth)


def _pointer(
    context: Any, builder: Any, signature: Any, arguments: Any, vector: Vector, unit: int | None = None
) -> Any:
    """Address of the row ``row + offset`` of an array (the first three arguments).

    The offset is added first, so that a loop that changes only the row finds
    this part done before it begins. Both count in rows, or in ``unit`` numbers.
    """
    pointer = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    for index in (2, 1):
        position = context.cast(builder, arguments[index], signature.args[index], types.intp)
        size = ir.Constant(position.type, unit or vector.lanes)
        pointer = builder.gep(pointer, [builder.mul(position, size)])
    return builder.bitcast(pointer, _llvm_type(vector).as_pointer())


def _splat(builder: Any, scalar: Any, vector: Vector) -> Any:
    kind = _llvm_type(vector)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, cgutils.int32_t(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.lanes), [0] * vector.lanes)
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), mask)


@intrinsic
def load(typing: Any, array: Any, row: Any, offset: Any) -> Any:
    """The vector ``array[row + offset, :]``."""
    vector = _vector(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments, vector)
        return builder.load(pointer, align=vector.dtype.bitwidth // 8)

    return vector(array, row, offset), generate


@intrinsic
def store(typing: Any, array: Any, row: Any, offset: Any, value: Any) -> Any:
    """Set ``array[row + offset, :] = value``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments, value)
        builder.store(arguments[3], pointer, align=value.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, row, offset, value), generate


@intrinsic
def load_from(typing: Any, array: Any, place: Any, offset: Any) -> Any:
    """The vector of the numbers from ``place + offset`` on, whatever the array's axes."""
    vector = _vector(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments, vector, unit=1)
        return builder.load(pointer, align=vector.dtype.bitwidth // 8)

    return vector(array, place, offset), generate


@intrinsic
def store_to(typing: Any, array: Any, place: Any, offset: Any, value: Any) -> Any:
    """Set the numbers from ``place + offset`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments, value, unit=1)
        builder.store(arguments[3], pointer, align=value.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, place, offset, value), generate


@intrinsic
def spread(typing: Any, array: Any, index: Any) -> Any:
    """A vector that repeats the scalar ``array[index]`` (``array`` has one axis)."""
    vector = _vector(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], signature.args[1], types.intp)
        scalar = builder.load(builder.gep(source.data, [position]))
        return _splat(builder, scalar, vector)

    return vector(array, index), generate


@intrinsic
def repeated(typing: Any, array: Any, value: Any) -> Any:
    """A vector that repeats a number, of the kind that ``array`` holds."""
    vector = _vector(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        scalar = context.cast(builder, arguments[1], signature.args[1], vector.dtype)
        return _splat(builder, scalar, vector)

    return vector(array, value), generate


@intrinsic
def gather(typing: Any, array: Any, index: Any, position: Any) -> Any:
    """The vector of ``array[index[position]]`` and what follows; both have one axis, indices are unsigned."""
    vector = _vector(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        indices = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        first = context.cast(builder, arguments[2], signature.args[2], types.intp)
        value = ir.Constant(_llvm_type(vector), ir.Undefined)
        for lane in range(vector.lanes):
            place = builder.gep(indices, [builder.add(first, ir.Constant(first.type, lane))])
            at = builder.zext(builder.load(place), first.type)
            value = builder.insert_element(
                value, builder.load(builder.gep(source, [at])), cgutils.int32_t(lane)
            )
        return value

    return vector(array, index, position), generate


@intrinsic
def total_of(typing: Any, value: Any) -> Any:
    """The sum of a vector's lanes: of the first and the second half, lane by lane, and so on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rest, lanes = arguments[0], value.lanes
        while lanes > 1:
            lanes //= 2
            halves = [
                builder.shuffle_vector(rest, rest, ir.Constant(ir.VectorType(ir.IntType(32), lanes), half))
                for half in (list(range(lanes)), list(range(lanes, 2 * lanes)))
            ]
            rest = builder.fadd(*halves)
        return builder.extract_element(rest, cgutils.int32_t(0))

    return value.dtype(value), generate


@intrinsic
def largest_of(typing: Any, value: Any) -> Any:
    """The largest of a vector's lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        best = builder.extract_element(arguments[0], cgutils.int32_t(0))
        for lane in range(1, value.lanes):
            other = builder.extract_element(arguments[0], cgutils.int32_t(lane))
            best = builder.select(builder.fcmp_ordered(">", other, best), other, best)
        return best

    return value.dtype(value), generate


@intrinsic
def zeros(typing: Any, array: Any) -> Any:
    """A vector of zeros, of the kind that ``array`` holds."""
    vector = _vector(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(_llvm_type(vector), None)

    return vector(array), generate


@intrinsic
def multiply_add(typing: Any, first: Any, second: Any, total: Any) -> Any:
    """``first * second + total``, fused where the machine can."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = _llvm_type(total)
        suffix = f"v{total.lanes}f{total.dtype.bitwidth}"
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fmuladd.{suffix}"
        )
        return builder.call(function, arguments)

    return total(first, second, total), generate


def _binary(operation: str) -> Any:
    def typed(typing: Any, first: Any, second: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, operation)(*arguments)

        return first(first, second), generate

    return typed


@intrinsic
def multiply(typing: Any, first: Any, second: Any) -> Any:
    """``first * second``."""
    return _binary("fmul")(typing, first, second)


@intrinsic
def add(typing: Any, first: Any, second: Any) -> Any:
    """``first + second``."""
    return _binary("fadd")(typing, first, second)


@intrinsic
def maximum(typing: Any, first: Any, second: Any) -> Any:
    """The larger of the two, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        larger = builder.fcmp_ordered(">", arguments[1], arguments[0])
        return builder.select(larger, arguments[1], arguments[0])

    return first(first, second), generate


@intrinsic
def choose_greater(typing: Any, value: Any, bound: Any, then: Any, otherwise: Any) -> Any:
    """``then`` in the lanes where ``value > bound``, else ``otherwise``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        greater = builder.fcmp_ordered(">", arguments[0], arguments[1])
        return builder.select(greater, arguments[2], arguments[3])

    return then(value, bound, then, otherwise), generate


@intrinsic
def any_positive(typing: Any, value: Any) -> Any:
    """Whether some lane is above zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(_llvm_type(value), None)
        bits = builder.fcmp_ordered(">", arguments[0], zero)
        packed = builder.bitcast(bits, ir.IntType(value.lanes))
        return builder.icmp_unsigned("!=", packed, ir.Constant(packed.type, 0))

    return types.boolean(value), generate


@intrinsic
def count_bits(typing: Any, word: Any) -> Any:
    """How many bits of an unsigned word are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def lowest_bit(typing: Any, word: Any) -> Any:
    """The number of the lowest bit that is set in an unsigned word; of 0 it is 64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate
