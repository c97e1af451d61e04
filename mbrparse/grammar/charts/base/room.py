"""Memory for what grows: given back to the system as soon as nobody holds it.

What is freed by ``malloc`` and was large makes it take as large a piece from its own heap the next time. That
heap has holes and is not given back, and zeros there are written, which makes them resident.
"""

from __future__ import annotations

import math
import mmap

import numpy as np
import numpy.typing as npt

_LARGE = 1 << 17  # bytes


def room(shape: tuple[int, ...], kind: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """Zeros, which take memory when they are written.

    Raises MemoryError where there is none.

    >>> room((2, 3), np.int32).tolist()
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
