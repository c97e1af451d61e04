"""numba's type of a vector of floats, and LLVM's."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.extending import register_model


class Vector(types.Type):
    """Type of a vector of so many floats."""

    def __init__(self, dtype: types.Float, lanes: int) -> None:
        self.dtype = dtype
        self.lanes = lanes
        super().__init__(name=f"Vector({dtype} x {self.lanes})")


def llvm_type(vector: Vector) -> ir.VectorType:
    """What LLVM calls a vector's type."""
    element = ir.DoubleType() if vector.dtype.bitwidth == 64 else ir.FloatType()
    return ir.VectorType(element, vector.lanes)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, llvm_type(vector))
