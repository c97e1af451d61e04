"""Ctrl-C and signals that end a program: they raise KeyboardInterrupt, so that nothing half-written is left.

The first Ctrl-C ends a command in good order, the second at once. Python raises KeyboardInterrupt between any
two of its instructions. Where that would be swallowed or be turned into something else (in the midst of an
import, of the removal of an object, or of a tuple that compiled code makes) it is put off for a moment.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from mbrparse.signal_watcher import interrupting_kernels

#: The exit code, as shells have it: 128 and the number of the signal.
INTERRUPTED = 130
ENDING = (signal.SIGTERM, signal.SIGHUP)

#: One press can reach a process twice: through the terminal, and from a program between.
_SAME_PRESS = 0.2
_PUT_OFF = 0.01
#: An import takes no longer; all in seconds.
_PATIENCE = 2.0
_TIMED = hasattr(signal, "setitimer")
_IMPORT = "<frozen importlib._bootstrap"
# What compiled code calls to make named tuples and to find the types of arrays; it looks for no errors then.
_CALLED_BY_KERNELS = ("namedtuple_", "numba.core.serialize")
# Functions out of which no exception gets: of objects that go, and llvmlite's, called while code is loaded.
_CALLBACKS = ("__del__", "_raw_object_cache_notify", "_raw_object_cache_getbuffer")
# Held by the thread that ends the process, to its end.
_ending = threading.Lock()
_received: list[int] = []


def end_at_once(*_: object) -> NoReturn:
    """Leave: for where there is nothing to put in order, or no time to."""
    if _ending.acquire(timeout=_SAME_PRESS):
        os.write(2, b"mbrparse: interrupted\n")
    os._exit(INTERRUPTED)


# The handlers in whose place ours may be.
_DEFAULTS: dict[int, tuple[object, ...]] = {
    signal.SIGINT: (signal.default_int_handler, end_at_once),
    **dict.fromkeys(ENDING, (signal.SIG_DFL,)),
}


def received() -> signal.Signals:
    """The signal that a KeyboardInterrupt stands for."""
    return signal.Signals(_received[0]) if _received else signal.SIGINT


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, once; ``received`` says which. For the main thread.

    What is ignored (``nohup``), or has another handler, stays as it is. Child processes end by the signals as
    ever: nothing of theirs is worth unwinding.
    """
    _received.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = _Handler()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    ours = {number for number, previous in before.items() if previous in _DEFAULTS[number]}
    for number in ours:
        signal.signal(number, handler.handle)
    try:
        with interrupting_kernels(ours, handler.read) as handler.is_watched:
            yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
        handler.forget()


class _Handler:
    """Raises KeyboardInterrupt for a signal, where it is safe; made anew for each block."""

    def __init__(self) -> None:
        #: Whether another thread reads signals too, and so hears the second press while compiled code runs.
        self.is_watched = False
        self._handled: float | None = None  # when the first press was
        self._read: float | None = None
        self._since: float | None = None
        self._alarm: Any = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Answer a signal in the main thread."""
        now = time.monotonic()
        if number != signal.SIGINT:
            for other in ENDING:
                # A closing terminal, or a manager of services, sends both: once is enough to leave.
                signal.signal(other, signal.SIG_IGN)
            _received.append(number)
        elif self._handled is not None:
            if not self.is_watched and now > self._handled + _SAME_PRESS:
                end_at_once()
            return
        else:
            self._handled = now
        self._raise_where_safe(frame)

    def read(self, number: int) -> None:
        """Answer it in another thread, which need not wait for compiled code."""
        if number != signal.SIGINT:
            return
        now = time.monotonic()
        if self._read is None:
            self._read = now
        elif now > self._read + _SAME_PRESS:
            end_at_once()

    def _raise_where_safe(self, frame: FrameType | None) -> None:
        """Interrupt the code of this frame now, or in a moment."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if _TIMED and now < self._since + _PATIENCE and _swallows(frame):
            if self._alarm is None:
                self._alarm = signal.signal(signal.SIGALRM, lambda _, later: self._raise_where_safe(later))
            signal.setitimer(signal.ITIMER_REAL, _PUT_OFF)
        else:
            raise KeyboardInterrupt

    def forget(self) -> None:
        """Let nothing come of what was put off."""
        if self._alarm is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._alarm)
            self._alarm = None


def _swallows(frame: FrameType | None) -> bool:
    """Whether an exception here would be lost, or would leave something half made."""
    if frame is not None and frame.f_globals.get("__name__", "").startswith(_CALLED_BY_KERNELS):
        return True
    while frame is not None:
        code = frame.f_code
        if code.co_name in _CALLBACKS or code.co_filename.startswith(_IMPORT):
            return True
        frame = frame.f_back
    return False


def _restore() -> None:
    for number in ENDING:
        if getattr(signal.getsignal(number), "__func__", None) is _Handler.handle:
            signal.signal(number, signal.SIG_DFL)


os.register_at_fork(after_in_child=_restore)
