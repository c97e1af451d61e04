"""Sets as bits of 64-bit words, inside numba kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from mbrparse.grammar.kernel import intrinsic


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
