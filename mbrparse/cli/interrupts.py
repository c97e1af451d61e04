"""Ctrl-C: the first ends a command in good order, the second at once.

Python raises KeyboardInterrupt between any two of its instructions. Where that would be swallowed or be
turned into something else (in the midst of an import, or of the removal of an object) it is put off for a
moment.
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

#: The exit code, as shells have it: 128 and the number of the signal.
INTERRUPTED = 130

#: One press can reach a process twice: through the terminal, and from a program between.
_SAME_PRESS = 0.2
_PUT_OFF = 0.01
#: An import takes no longer; all in seconds.
_PATIENCE = 2.0
_TIMED = hasattr(signal, "setitimer")
_IMPORT = "<frozen importlib._bootstrap"


def end_at_once(*_: object) -> NoReturn:
    """Leave: for where there is nothing to put in order, or no time to."""
    os.write(2, b"mbrparse: interrupted\n")
    os._exit(INTERRUPTED)


@contextmanager
def interruptible() -> Iterator[None]:
    """Hear Ctrl-C as this module says, unless it is ignored; only the main thread can."""
    before = signal.getsignal(signal.SIGINT)
    here = threading.current_thread() is threading.main_thread()
    if not here or before not in (signal.default_int_handler, end_at_once):
        yield
        return
    ear = _Ear()
    signal.signal(signal.SIGINT, ear.hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        ear.forget()


class Interruption:
    """Raises KeyboardInterrupt for a signal, as soon as it would be heeded; made anew for each block."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._alarm: Any = None

    def raise_where_heeded(self, frame: FrameType | None) -> None:
        """Interrupt the code of this frame now, or in a moment."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if _TIMED and now < self._since + _PATIENCE and _deaf(frame):
            if self._alarm is None:
                self._alarm = signal.signal(signal.SIGALRM, lambda _, later: self.raise_where_heeded(later))
            signal.setitimer(signal.ITIMER_REAL, _PUT_OFF)
        else:
            raise KeyboardInterrupt

    def forget(self) -> None:
        """Let nothing come of what was put off."""
        if self._alarm is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._alarm)
            self._alarm = None


class _Ear:
    def __init__(self) -> None:
        self._first: float | None = None
        self._interruption = Interruption()

    def hear(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now
            self._interruption.raise_where_heeded(frame)
        elif now > self._first + _SAME_PRESS:
            end_at_once()

    def forget(self) -> None:
        self._interruption.forget()


def _deaf(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code.co_filename.startswith(_IMPORT):
            return True
        frame = frame.f_back
    return False
