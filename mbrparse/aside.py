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
# Signals whose handlers raise, and whether they are held back just now.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_held_back = False


def _forget() -> None:
    """Threads are not there in a forked process."""
    _idle.clear()
    _left.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def aside(work: Callable[..., Result], *arguments: Any) -> Result:
    """Return or raise what ``work(*arguments)`` does, in another thread if a signal may interrupt this."""
    if _held_back or not _interruptible():
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
    global _held_back  # noqa: PLW0603  # there is one main thread
    if _held_back or not _interruptible():
        return work(*arguments)
    heard: list[tuple[int, FrameType | None]] = []
    held = {number: handler for number in _SIGNALS if callable(handler := _signal.getsignal(number))}
    try:
        for number in held:
            _signal.signal(number, lambda *signal: heard.append(signal))
        _held_back = True
        return work(*arguments)
    finally:
        _held_back = False
        for number in reversed(held):  # that of Ctrl-C last: it may come as soon as it is
            _signal.signal(number, held[number])
        for number, frame in heard:
            held[number](number, frame)


class Pace:
    """Work whose time grows with a length, faster than in proportion: what is quick is done at once."""

    def __init__(self) -> None:
        # Something of this length, by itself, took no time.
        self._quick = 0

    def run(self, lengths: Sequence[int], work: Callable[..., Result], *arguments: Any) -> Result:
        """Return or raise what ``work(*arguments)`` does, on things of these lengths."""
        if sum(lengths) <= self._quick:
            return at_once(work, *arguments)
        began = time.perf_counter()
        result = aside(work, *arguments)
        if len(lengths) == 1 and time.perf_counter() - began < QUICK:
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
    return threading.current_thread() is threading.main_thread() and callable(
        _signal.getsignal(signal.SIGINT)
    )


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
