"""A limit to the time of charts and searches: kernels look at a flag that another thread sets.

A kernel that finds it set leaves its loops, and its scratch as the next sentence needs it. What it was
filling is of no use then, unless it says otherwise; who called it asks ``check`` next. Where there is no
limit only Ctrl-C sets it (``signal_watcher``).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np

from mbrparse.charts.kernel import seconds_of_making
from mbrparse.charts.rule_tables import Ints
from mbrparse.errors import MbrparseError, TimeLimitError
from mbrparse.signal_watcher import register

# A thread without work waits so long for some, in seconds; to start one takes longer than to wake one.
_PATIENCE = 1.0
_NOTHING = nullcontext()
# What ``Clock.stop`` holds.
_TIME_UP = 1
_INTERRUPTED = 2
# Until then, in seconds, a handler may have put its answer off.
_HANDLED = 2.5


class Clock:
    """So many ``seconds`` (None: any number) for one sentence after the other.

    It stands still while a kernel is compiled or loaded, which is not the sentence's fault.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.stop: Ints = np.zeros(1, np.int32)
        """[1] not zero where kernels are to stop."""
        self.counted = 0.0
        """What the last block took, in seconds."""
        self._end = math.inf  # when the time is up (``_now``); infinite where none is running
        self._next_look = 0.0
        self._running = False
        self._turn = threading.Condition()
        self._watcher: threading.Thread | None = None
        register(self)

    def interrupt(self) -> None:
        """Have kernels stop; KeyboardInterrupt is raised where they return."""
        self.stop[0] = _INTERRUPTED

    def resume(self) -> None:
        """Let kernels run again."""
        self.stop[0] = 0

    def running(self, spent: float = 0.0) -> AbstractContextManager[None]:
        """Let the time run while the block does, from ``spent`` seconds on; it is not up after the block.

        Within such a block another has the time that is left. Raises MbrparseError where no thread can be
        started.
        """
        if self.seconds is None or self._running:
            return _NOTHING
        return self._run(self.seconds - spent)

    @contextmanager
    def _run(self, left: float) -> Iterator[None]:
        began = _now()
        self._running = True
        try:
            self._start(began + left)
            yield
        finally:
            with self._turn:
                self._end = math.inf
                if self.stop[0] == _TIME_UP:
                    self.stop[0] = 0
            self._running = False
            self.counted = _now() - began

    def check(self) -> None:
        """Raise TimeLimitError if the time is up, KeyboardInterrupt after a signal."""
        self.check_interrupted()
        if self.stop[0] or self._end <= _now():  # the watcher may come late
            raise TimeLimitError(self.reason)

    def check_interrupted(self) -> None:
        """Raise KeyboardInterrupt if a signal has set the flag."""
        if self.stop[0] == _INTERRUPTED:
            time.sleep(_HANDLED)  # the signal's handler raises it here, in the main thread
            raise KeyboardInterrupt

    @property
    def reason(self) -> str:
        """What is said of a sentence whose time was up."""
        return f"not finished within {self.seconds:g} second{'' if self.seconds == 1 else 's'}"

    def _start(self, end: float) -> None:
        with self._turn:
            self._end = end
            if self._watcher is not None and self._watcher.is_alive():
                if end < self._next_look:
                    self._turn.notify()
                return
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            try:
                self._watcher.start()
            except RuntimeError:
                self._watcher = None
                raise MbrparseError(
                    "no thread can be started that keeps --max-seconds",
                    remedy="leave the option out, or allow more threads and memory (ulimit)",
                ) from None

    def _watch(self) -> None:
        with self._turn:
            while True:
                now, idle = _now(), self._end == math.inf
                if self._end <= now:
                    self.stop[0] = self.stop[0] or _TIME_UP
                    self._end = math.inf
                wait = min(max(self._end - now, 0.0), _PATIENCE)
                self._next_look = now + wait
                self._turn.wait(wait)
                if idle and self._end == math.inf:
                    self._watcher = None
                    return


def _now() -> float:
    return time.monotonic() - seconds_of_making()


NO_LIMIT = Clock()
"""Of charts that may take any time."""
