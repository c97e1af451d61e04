"""Who does the work: this process, its threads or processes (``--jobs``), or a cluster (``--scheduler``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from mbrparse.io.log import Log, no_log
from mbrparse.run.pool import CallerDrivenPool, Pool, PoolFuture, Scheduler, TaskFunction

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


class InProcess(CallerDrivenPool):
    """This process: a task runs when its result, or a later task's, is waited for."""

    def __init__(self) -> None:
        self._queue: deque[tuple[Callable[..., Any], Any, Any, PoolFuture[Any]]] = deque()

    @property
    def size(self) -> int:
        """One."""
        return 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Run the remaining tasks, or drop them."""
        if cancel_futures:
            self._queue.clear()
        while wait and self._queue:
            self._step(None)

    def _enqueue(self, fn: Callable[..., Any], args: Any, kwargs: Any, future: PoolFuture[Any]) -> None:
        self._queue.append((fn, args, kwargs, future))

    def _step(self, seconds: float | None) -> None:
        fn, args, kwargs, future = self._queue.popleft()
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = fn(*args, **kwargs)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)


class Threads(Pool):
    """Threads of this process, for kernels, which release the interpreter lock."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._executor = ThreadPoolExecutor(jobs)

    @property
    def size(self) -> int:
        """The number of threads."""
        return self._jobs

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Return the future of a call."""
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)
