"""Signals that end a program: they unwind it as Ctrl-C does, so that nothing half-written is left."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mbrparse.cli.interrupts import Interruption

ENDING = (signal.SIGTERM, signal.SIGHUP)

_received: list[int] = []
_interruption = Interruption()


def received() -> signal.Signals:
    """The signal that a KeyboardInterrupt stands for."""
    return signal.Signals(_received[0]) if _received else signal.SIGINT


@contextmanager
def as_interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt, once; ``received`` says which.

    What is ignored (``nohup``) stays ignored. Child processes end by the signals as ever: nothing of
    theirs is worth unwinding, and a kernel would not hear.
    """
    global _interruption  # noqa: PLW0603  # there is one main thread
    _received.clear()
    _interruption = Interruption()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in ENDING}
        for number, handler in before.items():
            if handler is signal.SIG_DFL:
                signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _interruption.forget()


def _interrupt(number: int, frame: FrameType | None) -> None:
    for other in ENDING:
        # A closing terminal, or a manager of services, sends both: once is enough to leave.
        signal.signal(other, signal.SIG_IGN)
    _received.append(number)
    _interruption.raise_where_heeded(frame)


def _restore() -> None:
    for number in ENDING:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_DFL)


os.register_at_fork(after_in_child=_restore)
