"""Signals while the main thread runs compiled code.

Python's handlers run in the main thread, between two of its instructions: not before a kernel returns. Here
another thread reads each signal's number as it comes (``signal.set_wakeup_fd``) and tells kernels to stop.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol
from weakref import WeakSet


class Stoppable(Protocol):
    """What kernels look at."""

    def interrupt(self) -> None:
        """Have kernels stop."""

    def resume(self) -> None:
        """Let kernels run again."""


_stoppable: WeakSet[Stoppable] = WeakSet()
_lock = threading.Lock()
_END = b"\0"  # which is no signal's number


def register(stoppable: Stoppable) -> None:
    """Interrupt this too when a signal comes, as long as it lives."""
    with _lock:
        _stoppable.add(stoppable)


def _registered() -> list[Stoppable]:
    with _lock:
        return list(_stoppable)


@contextmanager
def interrupting_kernels(numbers: Collection[int], received: Callable[[int], None]) -> Iterator[bool]:
    """Interrupt kernels when one of these signals comes, and call ``received`` with it, in another thread.

    For the main thread, with handlers in Python that raise KeyboardInterrupt when the kernels have returned.
    Yields whether there is a thread: where none can be started, kernels run to their end.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    thread = threading.Thread(target=_watch, args=(reading, frozenset(numbers), received), daemon=True)
    with suppress(RuntimeError):  # no thread can be started
        thread.start()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield thread.ident is not None
    finally:
        signal.set_wakeup_fd(before)
        if thread.ident is not None:
            os.write(writing, _END)
            thread.join()
        os.close(writing)
        os.close(reading)
        for stoppable in _registered():
            stoppable.resume()


def _watch(reading: int, numbers: frozenset[int], received: Callable[[int], None]) -> None:
    while (byte := os.read(reading, 1)) != _END:
        if byte[0] in numbers:
            for stoppable in _registered():
                stoppable.interrupt()
            received(byte[0])


def _forget_parent() -> None:
    """In a forked process: its signals are not its parent's."""
    with suppress(ValueError):
        signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_forget_parent)
