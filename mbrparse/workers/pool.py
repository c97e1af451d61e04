"""The one interface of workers: ``concurrent.futures.Executor``, whose futures are served while one waits.

Nothing is taken in or handed out but while the caller waits for a future (``result``) or for several
(``completed``): there is no thread that a fork would have to share a process with, what is told is told by
the caller's own thread, and Ctrl-C finds it waiting.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from mbrparse.errors import MbrparseError

Result = TypeVar("Result")


class WorkersError(MbrparseError):
    """Workers that cannot do what they are for."""


class WorkerDied(Exception):  # noqa: N818  # the field says so of processes
    """The worker that had a task ended before it was done; the text says how.

    ``deaths``: so many workers did, one after the other.
    """

    def __init__(self, how: str, deaths: int = 1) -> None:
        super().__init__(how)
        self.deaths = deaths


class Pool(Executor):
    """Workers; to be used in a ``with`` block, at whose end what is under way is wanted no more."""

    #: How often a task was handed out anew, since its worker was lost.
    retries: int = 0
    #: Whether tasks should be few and large: each of them travels.
    far: bool = False

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Awaited[Result]:
        """A result to come: WorkerDied, where a worker died of it, or what the function raised."""
        future = Awaited[Result](self)
        self._take(fn, args, kwargs, future)
        return future

    def completed(self, futures: set[Future[Result]]) -> Iterator[Future[Result]]:
        """Yield what was submitted as it gets done; the set may grow meanwhile."""
        while futures:
            for future in [future for future in futures if future.done()]:
                futures.remove(future)
                yield future
            if futures:
                self._go_on(None)

    def shared(self, value: Any) -> Any:
        """What to hand to ``submit`` for a value of many tasks, so that it travels once to each worker."""
        return value

    def divided(self, costs: Sequence[float]) -> list[range]:
        """Which neighbours among things of these costs are best handed out together: here each by itself."""
        return [range(place, place + 1) for place in range(len(costs))]

    def abandon(self, future: Future[Any], why: str) -> None:
        """Let a task that takes too long be the end of its worker, where that can be done."""

    def __exit__(self, *error: object) -> None:
        self.shutdown(wait=False, cancel_futures=True)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many tasks can be worked at just now."""

    @abstractmethod
    def _take(self, fn: Callable[..., Any], args: Any, kwargs: Any, future: Awaited[Any]) -> None:
        """Take a call to be worked at."""

    @abstractmethod
    def _go_on(self, seconds: float | None) -> None:
        """Hand tasks out and wait for an answer, no longer than so many seconds."""


class Awaited(Future[Result]):
    """A future for which its pool is kept busy by who waits.

    ``seconds`` is what the task took, where that was measured.
    """

    seconds: float | None = None

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self._pool = pool

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the result; raises what the task did, TimeoutError, or WorkersError."""
        self._wait(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for what the task raised, if it did."""
        self._wait(timeout)
        return super().exception(0)

    def _wait(self, timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        while not self.done():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            self._pool._go_on(left)
