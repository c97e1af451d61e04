"""Work beside the main thread, which waits for it and hears signals.

Python raises KeyboardInterrupt in the main thread, wherever it is: within compiled code that does not look
for errors, such as what numba puts around a kernel, that ends in SystemError or a segmentation fault; and a
kernel that runs for minutes is not left before its end. Where the main thread only waits, it is interrupted
at once. What it waited for is left behind: it goes on to its end, and nobody takes its result.

To hand work over takes some 50 microseconds: work that takes no hundred times as long is better done at once,
and signals held back until then.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what signal puts around it takes longer than short work
import contextvars
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

#: In seconds: who interrupts waits no longer.
QUICK = 0.01

Task = TypeVar("Task")
Result = TypeVar("Result")

# What a thread is to do, with what, and where it puts what came of it: a result, or an error.
_Order = tuple[Callable[..., Any], tuple[Any, ...], "SimpleQueue[tuple[Any, BaseException | None]]"]


class _Hand:
    """A thread that takes orders, one after the other; it does not keep the process alive."""

    def __init__(self) -> None:
        self.orders: SimpleQueue[_Order | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while (order := self.orders.get()) is not None:
            work, arguments, answers = order
            try:
                answers.put((work(*arguments), None))
            except BaseException as error:  # all that is raised is the caller's
                answers.put((None, error))
            # Nothing is held on to while the thread waits.
            del order, work, arguments, answers

    def leave(self) -> None:
        """Let the thread end with what it is doing."""
        self.orders.put(None)
        _left.append(self.thread)


# One is kept for the next call: to start a thread takes longer than to hand work over.
_idle: list[_Hand] = []
_left: list[threading.Thread] = []
# Signals whose handlers raise.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _Hold:
    """Holds signals back."""

    def __init__(self) -> None:
        found = ((number, _signal.getsignal(number)) for number in _SIGNALS)
        self._handlers = {number: handler for number, handler in found if callable(handler)}
        self._heard: list[tuple[int, FrameType | None]] = []

    def begin(self) -> None:
        for number in self._handlers:
            _signal.signal(number, self._note)

    def end(self) -> None:
        """Signals are heard again, and those that came now."""
        for number in reversed(self._handlers):  # that of Ctrl-C last: it may come as soon as it is
            _signal.signal(number, self._handlers[number])
        while self._heard:
            number, frame = self._heard.pop(0)
            self._handlers[number](number, frame)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._heard.append((number, frame))


# What holds signals back just now, in the main thread.
_hold: _Hold | None = None


def _forget() -> None:
    """Threads are not there in a forked process."""
    _idle.clear()
    _left.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def aside(work: Callable[..., Result], *arguments: Any) -> Result:
    """Return or raise what ``work(*arguments)`` does, in another thread if a signal may interrupt this."""
    if _hold is not None or not _interruptible():
        return work(*arguments)
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    try:
        hand = _idle.pop() if _idle else _Hand()
    except RuntimeError:  # no room for a thread
        return work(*arguments)
    try:
        hand.orders.put((contextvars.copy_context().run, (work, *arguments), answers))
        result, error = answers.get()
    except BaseException:
        hand.leave()
        raise
    _idle.append(hand)
    if error is not None:
        try:
            raise error
        finally:
            del error  # which holds this frame
    return result  # type: ignore[no-any-return]


def at_once(work: Callable[..., Result], *arguments: Any) -> Result:
    """Return or raise what ``work(*arguments)`` does, here: short work, signals are heard after it."""
    global _hold  # noqa: PLW0603  # there is one main thread
    if _hold is not None or not _interruptible():
        return work(*arguments)
    hold = _Hold()
    try:
        hold.begin()
        _hold = hold
        return work(*arguments)
    finally:
        _hold = None
        hold.end()


def heard(work: Callable[..., Result], *arguments: Any) -> Result:
    """The same as ``aside``, and within work that is done at once: what takes long after all."""
    global _hold  # noqa: PLW0603
    hold = _hold
    if hold is None or not _in_main_thread():
        return aside(work, *arguments)
    _hold = None
    try:
        hold.end()
        return aside(work, *arguments)
    finally:
        hold.begin()
        _hold = hold


class Pace:
    """Work whose time grows with a length, faster than in proportion: what is quick is done at once."""

    def __init__(self) -> None:
        # Something of this length, by itself, took no time.
        self._quick = 0

    def run(
        self,
        lengths: Sequence[int],
        was_done: Callable[[Result], bool],
        work: Callable[..., Result],
        *arguments: Any,
    ) -> Result:
        """Return or raise what ``work(*arguments)`` does, on things of these lengths.

        ``was_done`` says of the result if it took the whole work, so that others may take as long.
        """
        begin, quick = time.perf_counter(), sum(lengths) <= self._quick
        result = (at_once if quick else aside)(work, *arguments)
        if time.perf_counter() - begin > QUICK:
            self._quick = min(self._quick, sum(lengths) - 1)
        elif not quick and len(lengths) == 1 and was_done(result):
            self._quick = lengths[0]
        return result


def dismiss() -> None:
    """End the threads that wait for work, for a process that is to have none."""
    while _idle:
        hand = _idle.pop()
        hand.leave()
        hand.thread.join()


def all_aside(work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """Yield ``work(task)`` of each task, in order, from so many threads; an interruption waits for none."""
    waiting: SimpleQueue[tuple[int, Task]] = SimpleQueue()
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    for number, task in enumerate(tasks):
        waiting.put((number, task))
    hands = [_Hand() for _ in range(min(jobs, len(tasks)))]
    try:
        for hand in hands:
            hand.orders.put((contextvars.copy_context().run, (_drain, work, waiting, answers), SimpleQueue()))
        found: dict[int, Result] = {}
        for number in range(len(tasks)):
            while number not in found:
                result, error = answers.get()
                if error is not None:
                    raise error
                found[result[0]] = result[1]
            yield found.pop(number)
    finally:
        _empty(waiting)
        for hand in hands:
            hand.leave()


def left_running() -> bool:
    """Whether a thread that was left behind still works: the interpreter's orderly end would meet it."""
    _left[:] = [thread for thread in _left if thread.is_alive()]
    return bool(_left)


def _interruptible() -> bool:
    """Whether Python may run a signal's handler here, where none is held back."""
    return _in_main_thread() and callable(_signal.getsignal(signal.SIGINT))


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _drain(
    work: Callable[[Task], Result],
    waiting: SimpleQueue[tuple[int, Task]],
    answers: SimpleQueue[tuple[Any, BaseException | None]],
) -> None:
    try:
        while True:
            number, task = waiting.get_nowait()
            answers.put(((number, work(task)), None))
    except Empty:
        pass
    except BaseException as error:  # all that is raised is the caller's
        answers.put((None, error))


def _empty(waiting: SimpleQueue[Any]) -> None:
    try:
        while True:
            waiting.get_nowait()
    except Empty:
        pass
