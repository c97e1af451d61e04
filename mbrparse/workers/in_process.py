"""Pools without processes: this one alone, and its threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mbrparse.aside import all_aside
from mbrparse.workers.pool import Awaited, Pool


class InProcess(Pool):
    """Does a task when somebody waits for it: one after the other, in the order of asking for work."""

    def __init__(self) -> None:
        self._queue: deque[tuple[Callable[..., Any], Any, Any, Awaited[Any]]] = deque()

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
    """So many threads for ``map``: for kernels, which let go of the interpreter's lock."""

    def __init__(self, jobs: int) -> None:
        super().__init__()
        self._jobs = jobs

    @property
    def size(self) -> int:
        """The number of threads."""
        return self._jobs

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **how: Any) -> Iterator[Any]:
        """Yield the results in order; an interruption waits for none."""
        tasks = list(zip(*iterables, strict=False))
        return all_aside(lambda task: fn(*task), tasks, self._jobs)
