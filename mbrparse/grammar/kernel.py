"""The one decorator of the compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers at its first call, and keep it in numba's cache.

    No fast-math: sums keep their order, so that every batch and every machine gives the same trees.
    """
    return cast("Kernel", numba.njit(cache=True, nogil=True, error_model="numpy")(function))
