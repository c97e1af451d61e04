"""The workers of a running cluster, through Dask's scheduler.

Dask assigns tasks, moves the data that they need between workers, and repeats the tasks of lost workers. This
pool adds what Dask does not do: it finds the task that kills workers, and submits tasks again when the
scheduler itself was gone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar, cast

from mbrparse.log import Log
from mbrparse.run.cluster_client import ClusterClient, KilledWorker
from mbrparse.run.pool import CallerRunFuture, Pool, Scheduler, TaskFunction, WorkerDied, WorkersError
from mbrparse.run.remote_task import Answer, OutOfMemory, Packed, VersionMismatch, pack, unpack

Result = TypeVar("Result")

#: Seconds to wait for a scheduler that is gone, and between two attempts to reach it.
RECONNECT_TIMEOUT = 600.0
RECONNECT_EVERY = 1.0
#: ``group`` makes this many tasks for each worker: with fewer, all would wait for the last.
TASKS_PER_WORKER = 4
#: Seconds between two looks at a task, and between two counts of the workers.
_TICK, _COUNT_EVERY = 1.0, 2.0
#: A task is given up after the deaths of this many workers that had no other task.
_MAX_DEATHS = 2
#: The scheduler may be lost this often without an answer in between.
_MAX_LOSSES = 5


class Cluster(Pool):
    """The workers of a scheduler."""

    remote = True

    def __init__(self, scheduler: Scheduler, log: Log) -> None:
        """Raises WorkersError where no scheduler answers, FileError for a file that is not a scheduler's."""
        self._scheduler = scheduler
        self._log = log
        self._last_number = 0
        self._running: dict[int, _ClusterFuture] = {}
        self._made: dict[TaskFunction[..., Any], Packed] = {}
        self._warned = False
        self._losses = self._threads = 0
        self._counted = -_COUNT_EVERY
        self._client = ClusterClient(scheduler.address(), self._worker_lost)

    @property
    def size(self) -> int:
        """The number of threads of all workers, as far as is known."""
        if time.monotonic() > self._counted + _COUNT_EVERY:
            with suppress(Exception):  # the scheduler may be gone
                self._threads = self._client.threads()
            self._counted = time.monotonic()
        return self._threads

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return the future of a call; it raises what the function raises, WorkerDied, or WorkersError."""
        shared = {place: value for place, value in enumerate(args) if isinstance(value, Packed)}
        rest = [None if place in shared else value for place, value in enumerate(args)]
        made = None
        if isinstance(fn, TaskFunction):
            made = self._made.get(fn) or self._made.setdefault(fn, Packed.of(fn.make))
        call = pack((list(shared), None if made is not None else fn, rest, kwargs))
        future = _ClusterFuture(self, made, call, list(shared.values()))
        self._send(future)
        return future

    def completed(self, futures: list[Future[Result]]) -> Iterator[Future[Result]]:
        """Yield futures of this pool as they are done; the list may grow meanwhile."""
        while futures:
            for future in [one for one in futures if cast("_ClusterFuture", one).content.done()]:
                futures.remove(future)
                yield future
            time.sleep(_TICK / 10)

    def share(self, value: Any) -> Any:
        """Pack a value that the scheduler keeps for all tasks."""
        return Packed.of(value)

    def group(self, costs: Sequence[float]) -> list[range]:
        """Groups of neighbours of similar cost, some for each worker."""
        most = sum(costs) / max(1, TASKS_PER_WORKER * self.size)
        found: list[range] = []
        first, cost = 0, 0.0
        for place, one in enumerate(costs):
            if place > first and cost + one / 2 > most:
                found.append(range(first, place))
                first, cost = place, 0.0
            cost += one
        return [*found, range(first, len(costs))] if costs else []

    def abandon(self, future: Future[Any], why: str) -> None:
        """Restart the worker of a task, if it has a nanny; the task raises WorkerDied."""
        self._client.restart_worker_of(cast("_ClusterFuture", future).number)
        self._remove(cast("_ClusterFuture", future)).set_exception(WorkerDied(why))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection; the workers stay."""
        while wait and not cancel_futures and self._running:
            next(iter(self._running.values())).exception()
        self._client.close()

    def finish(self, future: _ClusterFuture, timeout: float | None) -> None:
        """Wait for a task, as the caller of its future; raises TimeoutError."""
        end = time.monotonic() + (float("inf") if timeout is None else timeout)
        while not future.done():
            try:
                content = future.content.result(min(_TICK, max(0.0, end - time.monotonic())))
            except (CancelledError, KilledWorker) as error:
                if isinstance(error, KilledWorker) or future.deaths >= _MAX_DEATHS:
                    self._suspect(future)
                else:
                    self._reconnect()
            except TimeoutError:
                if self._client.closed:
                    self._reconnect()
                if self.size == 0 and not self._warned:
                    self._log(f"{self._scheduler} has no workers yet; waiting for some")
                    self._warned = True
                if time.monotonic() >= end:
                    raise
            except Exception as error:
                raise self._error(f"{type(error).__name__}: {error}".splitlines()[0]) from None
            else:
                self._losses = 0
                self._set(self._remove(future), unpack(content))

    def _set(self, future: _ClusterFuture, answer: Answer) -> None:
        future.seconds = answer.seconds
        error = answer.error
        if error is None:
            future.set_result(answer.result)
        elif isinstance(error, VersionMismatch):
            raise WorkersError(
                f"a worker of {self._scheduler} has {error}",
                remedy="install the same on this machine and on all workers, and restart the workers",
            )
        else:
            future.set_exception(WorkerDied(str(error)) if isinstance(error, OutOfMemory) else error)

    def _send(self, future: _ClusterFuture) -> None:
        self._last_number += 1
        future.number = self._last_number
        self._running[future.number] = future
        try:
            future.remote, future.content = self._client.submit(future.number, *future.task)
        except Exception:
            # The client has closed itself, since the scheduler did not come back in time.
            future.content = Future()
            future.content.cancel()

    def _remove(self, future: _ClusterFuture) -> _ClusterFuture:
        """Forget a task that no longer runs."""
        del self._running[future.number]
        with suppress(Exception):  # if the scheduler is gone, so is the task
            future.remote.release()
        return future

    def _worker_lost(self, address: str, numbers: list[int], alone: bool) -> None:
        """Dask repeats the tasks of a lost worker; those that lost two are taken from it."""
        futures = [self._running[number] for number in numbers if number in self._running]
        if not futures:
            return
        self.retries += len(futures)
        self._log(f"worker {address} was lost; its tasks ({len(futures)}) are retried")
        for future in futures:
            future.deaths += 1
            future.deaths_alone += alone
            if future.deaths >= _MAX_DEATHS:
                future.remote.release()  # or it would go on killing until its caller waits for it
                future.content.cancel()

    def _suspect(self, future: _ClusterFuture) -> None:
        """Give up a task that workers died of; or run it alone, where these had other tasks as well."""
        self._remove(future)
        if future.alone or future.deaths_alone >= _MAX_DEATHS:
            future.set_exception(WorkerDied("on the cluster", deaths=_MAX_DEATHS))
            return
        future.alone, future.deaths = True, 0
        while not all(other.content.done() for other in self._running.values()):
            time.sleep(_TICK / 10)
        self._send(future)

    def _reconnect(self) -> None:
        """The scheduler is gone; when it is back, it knows no task."""
        self._losses += 1
        if self._losses > _MAX_LOSSES:
            raise self._error(f"lost {self._losses} times in a row")
        waiting = [future for future in self._running.values() if not future.is_answered]
        self._log(f"lost the scheduler {self._scheduler}; {len(waiting)} tasks wait until it is back")
        self._client.close()
        until = time.monotonic() + RECONNECT_TIMEOUT
        while True:
            try:
                self._client = ClusterClient(self._scheduler.address(), self._worker_lost)
                break
            except (WorkersError, OSError) as error:
                if time.monotonic() > until:
                    raise WorkersError(
                        f"the scheduler was lost, and is not back after {RECONNECT_TIMEOUT:.0f} seconds",
                        source=str(self._scheduler),
                        remedy="parse --work FOLDER keeps what is finished, and --resume goes on from there",
                    ) from error
                time.sleep(RECONNECT_EVERY)
        self._log(f"the scheduler {self._scheduler} is back")
        self.retries += len(waiting)
        for future in waiting:
            self._send(self._remove(future))

    def _error(self, why: str) -> WorkersError:
        return WorkersError(
            f"the cluster cannot run tasks of mbrparse ({why})",
            source=str(self._scheduler),
            remedy="is the same mbrparse installed where the scheduler and the workers run?",
        )


class _ClusterFuture(CallerRunFuture[Any]):
    """A task of a cluster, and what its caller finds out while waiting for it."""

    def __init__(self, pool: Cluster, made: Packed | None, call: bytes, shared: list[Packed]) -> None:
        super().__init__()
        self._pool = pool
        self.task = made, call, shared  #: which ``ClusterClient.submit`` gets, with the number
        self.number = 0  #: which changes when the task is sent again
        self.remote: Any = None  #: Dask's future
        self.content: Future[bytes] = Future()  #: of the packed Answer
        self.deaths = 0  #: of workers that had the task
        self.deaths_alone = 0  #: of workers that had no other
        self.alone = False  #: whether it runs while no other task does

    @property
    def is_answered(self) -> bool:
        """Whether the answer is here."""
        content = self.content
        return content.done() and not content.cancelled() and content.exception() is None

    def finish(self, timeout: float | None) -> None:
        self._pool.finish(self, timeout)
