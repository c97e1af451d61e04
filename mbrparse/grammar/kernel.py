"""The one decorator of the compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers at its first call, and keep it in numba's cache.

    No fast-math: sums keep their order, so that every batch and every machine gives the same trees.
    """
    return cast("Kernel", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


@contextmanager
def announced(announce: Callable[[], None]) -> Iterator[None]:
    """Call ``announce`` once if a kernel has to be compiled, which is once per machine (and version)."""
    listener = _Listener(announce)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)


class _Listener(event.Listener):
    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce: Callable[[], None] | None = announce

    def on_start(self, event: Any) -> None:
        if self._announce is not None:
            self._announce()
            self._announce = None

    def on_end(self, event: Any) -> None:
        pass
