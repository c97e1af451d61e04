"""Memory for what kernels fill: rows of vectors, and arrays that grow with a forest.

What is freed by ``malloc`` and was large makes it take as large a piece from its own heap the next time. That
heap has holes and is not given back, and zeros there are written, which makes them resident. So memory for
what grows (``zeros``) is given back to the system as soon as nobody holds it.
"""

from __future__ import annotations

import math
import mmap
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.charts.vector import VECTOR_BYTES

_LARGE = 1 << 17  # bytes


def zeros(shape: tuple[int, ...], kind: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """Zeros, which take memory when they are written.

    Raises MemoryError where there is none.

    >>> zeros((2, 3), np.int32).tolist()
    [[0, 0, 0], [0, 0, 0]]
    """
    count, size = math.prod(shape), math.prod(shape) * np.dtype(kind).itemsize
    if size < _LARGE:
        return np.zeros(shape, kind)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no {size} bytes") from error
    return np.frombuffer(memory, kind, count).reshape(shape)


def aligned_rows(rows: int, dtype: Any) -> npt.NDArray[Any]:
    """Zeros [rows, lanes], each row on a cache line of its own."""
    raw = np.zeros((rows + 1) * VECTOR_BYTES, np.uint8)
    offset = -raw.ctypes.data % VECTOR_BYTES
    lanes = VECTOR_BYTES // np.dtype(dtype).itemsize
    aligned: npt.NDArray[Any] = raw[offset : offset + rows * VECTOR_BYTES].view(dtype).reshape(rows, lanes)
    return aligned


def new_ints(*shape: int) -> Ints:
    """Zeros."""
    return cast("Ints", zeros(shape, np.int32))


def new_floats(*shape: int) -> Floats:
    """Zeros in double precision."""
    return cast("Floats", zeros(shape, np.float64))
