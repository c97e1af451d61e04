"""Pools without processes: this one alone, and its threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from mbrparse.aside import all_aside
from mbrparse.workers.pool import Awaited, Pool

_Call: TypeAlias = tuple[Callable[..., Any], Any, Any, Awaited[Any]]


class InProcess(Pool):
    """Does a task when somebody waits for it: one after the other, in the order of asking for work."""

    def __init__(self) -> None:
        self._queue: deque[_Call] = deque()

    @property
    def size(self) -> int:
        """One."""
        return 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do what is left, or leave it."""
        if cancel_futures:
            self._queue.clear()
        while wait and self._queue:
            self._go_on(None)

    def _take(self, fn: Callable[..., Any], args: Any, kwargs: Any, future: Awaited[Any]) -> None:
        self._queue.append((fn, args, kwargs, future))

    def _go_on(self, seconds: float | None) -> None:
        fn, args, kwargs, future = self._queue.popleft()
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = fn(*args, **kwargs)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)


class Threads(InProcess):
    """So many threads, for kernels, which let go of the interpreter; an interruption waits for none."""

    def __init__(self, jobs: int) -> None:
        super().__init__()
        self._jobs = jobs
        self._under_way: Iterator[tuple[Awaited[Any], tuple[Any, Exception | None]]] = iter(())

    @property
    def size(self) -> int:
        """The number of threads."""
        return self._jobs

    def _go_on(self, seconds: float | None) -> None:
        done = next(self._under_way, None)
        if done is None:
            calls = [call for call in self._queue if call[-1].set_running_or_notify_cancel()]
            self._queue.clear()
            self._under_way = zip(
                [call[-1] for call in calls], all_aside(_outcome, calls, self._jobs), strict=True
            )
            return
        future, (result, error) = done
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _outcome(call: _Call) -> tuple[Any, Exception | None]:
    fn, args, kwargs, _ = call
    try:
        return fn(*args, **kwargs), None
    except Exception as error:
        return None, error
