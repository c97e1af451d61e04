"""Who does the work: this process, its threads or processes (``--jobs``), or a cluster (``--scheduler``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias, TypeVar

from mbrparse.log import Log, no_log
from mbrparse.run.pool import CallerRunFuture, Pool, Scheduler, TaskFunction

Result = TypeVar("Result")

#: The number of workers on this machine, or a cluster.
Jobs: TypeAlias = int | Scheduler


def open_pool(jobs: Jobs, function: TaskFunction[..., Any] | None = None, log: Log = no_log) -> Pool:
    """Return the pool for tasks of a function; without one, for any, which threads of this machine run.

    Lost workers are reported to ``log``. Raises WorkersError where a cluster cannot be reached.
    """
    if isinstance(jobs, Scheduler):
        from mbrparse.run.cluster import Cluster

        return Cluster(jobs, log)
    if jobs == 1:
        return InProcess()
    if function is None:
        return Threads(jobs)
    from mbrparse.run.processes import Processes

    return Processes(function, jobs)


class InProcess(Pool):
    """This process: a task runs when its result is waited for."""

    @property
    def size(self) -> int:
        """One."""
        return 1

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Return the future of a call."""
        return _LocalFuture(partial(fn, *args, **kwargs))

    def completed(self, futures: list[Future[Result]]) -> Iterator[Future[Result]]:
        """Yield the futures, which run when their results are waited for; the list may grow meanwhile."""
        while futures:
            yield futures.pop(0)


class _LocalFuture(CallerRunFuture[Result]):
    """A call that its caller runs."""

    def __init__(self, call: Callable[[], Result]) -> None:
        super().__init__()
        self._call = call

    def finish(self, timeout: float | None) -> None:
        try:
            result = self._call()
        except Exception as error:
            self.set_exception(error)
        else:
            self.set_result(result)


class Threads(ThreadPoolExecutor, Pool):
    """Threads of this process, for kernels, which release the interpreter lock."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self._jobs = jobs

    @property
    def size(self) -> int:
        """The number of threads."""
        return self._jobs
