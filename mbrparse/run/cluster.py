"""The workers of a running cluster, through Dask's scheduler.

Dask assigns tasks, moves the data that they need between workers, and repeats the tasks of lost workers. This
pool adds what Dask does not do: it finds the task that kills workers, and submits tasks again when the
scheduler itself was gone.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from queue import Empty
from typing import Any

from mbrparse.io.log import Log
from mbrparse.run.cluster_client import ClusterClient, Event
from mbrparse.run.pool import CallerDrivenPool, PoolFuture, Scheduler, TaskFunction, WorkerDied, WorkersError
from mbrparse.run.remote_task import Answer, OutOfMemory, Packed, VersionMismatch, pack, unpack

#: Seconds to wait for a scheduler that is gone, and between two attempts to reach it.
RECONNECT_TIMEOUT = 600.0
RECONNECT_EVERY = 1.0
#: ``group`` makes this many tasks for each worker: with fewer, all would wait for the last.
TASKS_PER_WORKER = 4
#: A task is given up after the deaths of this many workers that had no other task.
_MAX_DEATHS = 2
#: The scheduler may be lost this often without an answer in between.
_MAX_LOSSES = 5


@dataclass(eq=False)
class _Call:
    """A task that is not done."""

    number: int
    function: Packed | None  #: what makes the function, where the worker is to make it
    packed: bytes
    shared: list[Packed]
    future: PoolFuture[Any]
    deaths_alone: int = 0  #: deaths of workers that had only this task
    deaths_shared: int = 0  #: deaths of workers that had others, too
    alone: bool = False  #: to be run while no other task runs


class Cluster(CallerDrivenPool):
    """The workers of a scheduler."""

    remote = True

    def __init__(self, scheduler: Scheduler, log: Log) -> None:
        """Raises WorkersError where no scheduler answers, FileError for a file that is not a scheduler's."""
        self._scheduler = scheduler
        self._log = log
        self._last_number = 0
        self._queue: deque[_Call] = deque()  # not submitted yet
        self._running: dict[int, _Call] = {}
        self._suspects: deque[_Call] = deque()
        self._packed: dict[TaskFunction[..., Any], Packed] = {}
        self._warned = False
        self._losses = 0
        self._connect()

    @property
    def size(self) -> int:
        """The number of threads of all workers, as far as is known."""
        return self._client.threads

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
        for call in [call for call in self._running.values() if call.future is future]:
            self._client.restart_worker_of(call.number)
            self._finish(call)
            call.future.set_exception(WorkerDied(why))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection; the workers stay."""
        if cancel_futures:
            self._queue.clear()
        while wait and (self._queue or self._suspects or self._running):
            self._step(None)
        self._client.close()

    def _enqueue(self, fn: Callable[..., Any], args: Any, kwargs: Any, future: PoolFuture[Any]) -> None:
        shared = {place: value for place, value in enumerate(args) if isinstance(value, Packed)}
        rest = [None if place in shared else value for place, value in enumerate(args)]
        function = None
        if isinstance(fn, TaskFunction):
            function = self._packed.get(fn) or self._packed.setdefault(fn, Packed.of(fn.make))
        packed = pack((list(shared), None if function is not None else fn, rest, kwargs))
        self._last_number += 1
        self._queue.append(_Call(self._last_number, function, packed, list(shared.values()), future))
        self._submit_queued()

    def _submit_queued(self) -> None:
        alone = any(call.alone for call in self._running.values())
        while not alone and self._queue and not self._suspects:
            call = self._queue.popleft()
            if call.future.running() or call.future.set_running_or_notify_cancel():
                self._submit(call)
        if self._suspects and not self._running:
            self._submit(self._suspects.popleft())

    def _submit(self, call: _Call) -> None:
        self._running[call.number] = call
        try:
            key, make = "", None
            if call.function is not None:
                key = call.function.key
                make = self._kept_functions.get(key) or self._client.keep(call.function, as_value=False)
                self._kept_functions[key] = make
            for one in call.shared:
                if one.key not in self._kept_values:
                    self._kept_values.clear()  # values of an earlier step are not needed any more
                    self._kept_values[one.key] = self._client.keep(one, as_value=True)
            shared = [self._kept_values[one.key] for one in call.shared]
            self._client.submit(call.number, key, make, call.packed, shared)
        except Exception:
            # The client has closed itself, since the scheduler did not come back in time.
            self._client.events.put(Event("lost", (call.number,)))

    def _step(self, seconds: float | None) -> None:
        self._submit_queued()
        try:
            event = self._client.events.get(timeout=1.0 if seconds is None else min(1.0, seconds))
        except Empty:
            if self.size == 0 and not self._warned:
                self._log(f"{self._scheduler} has no workers yet; waiting for some")
                self._warned = True
            return
        getattr(self, f"_on_{event.kind}")(event)
        self._submit_queued()

    def _on_answer(self, event: Event) -> None:
        call = self._running.get(event.numbers[0])
        if call is None:
            return
        self._losses = 0
        answer: Answer = unpack(event.content)
        self._finish(call)
        call.future.seconds = answer.seconds
        error = answer.error
        if error is None:
            call.future.set_result(answer.result)
        elif isinstance(error, VersionMismatch):
            raise WorkersError(
                f"a worker of {self._scheduler} has {error}",
                remedy="install the same versions on this machine and on all workers",
            )
        else:
            call.future.set_exception(WorkerDied(str(error)) if isinstance(error, OutOfMemory) else error)

    def _on_killed(self, event: Event) -> None:
        """Dask has given the task up."""
        call = self._running.get(event.numbers[0])
        if call is not None and call.alone:
            self._give_up(call)
        elif call is not None:
            self._suspect(call)

    def _on_failed(self, event: Event) -> None:
        raise WorkersError(
            f"the cluster cannot run tasks of mbrparse ({event.text})",
            source=str(self._scheduler),
            remedy="is the same mbrparse installed where the scheduler and the workers run?",
        )

    def _on_gone(self, event: Event) -> None:
        """Dask repeats the tasks of a lost worker; those that lost two are taken from it."""
        calls = [self._running[number] for number in event.numbers if number in self._running]
        if not calls:
            return
        self.retries += len(calls)
        self._log(f"worker {event.text} was lost; its tasks ({len(calls)}) are retried")
        for call in calls:
            call.deaths_shared += event.other_tasks
            call.deaths_alone += not event.other_tasks
            if call.deaths_alone >= _MAX_DEATHS:
                self._give_up(call)
            elif call.deaths_shared >= _MAX_DEATHS:
                self._suspect(call)

    def _suspect(self, call: _Call) -> None:
        """Workers that died had several tasks: each of them is run alone, which shows the one that kills."""
        self._finish(call)
        self._last_number += 1
        self._suspects.append(
            replace(call, number=self._last_number, deaths_alone=0, deaths_shared=0, alone=True)
        )

    def _give_up(self, call: _Call) -> None:
        self._finish(call)
        call.future.set_exception(WorkerDied("on the cluster", deaths=_MAX_DEATHS))

    def _on_lost(self, event: Event) -> None:
        """The scheduler is gone; when it is back, it knows no task."""
        self._losses += 1
        if self._losses > _MAX_LOSSES:
            self._on_failed(event._replace(text=f"lost {self._losses} times in a row"))
        waiting = [*self._running.values()]
        self._log(f"lost the scheduler {self._scheduler}; {len(waiting)} tasks wait until it is back")
        self._client.close()
        until = time.monotonic() + RECONNECT_TIMEOUT
        while True:
            try:
                self._connect()
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
        self._running.clear()
        self._queue.extendleft(reversed([call for call in waiting if not call.alone]))
        self._suspects.extendleft(call for call in waiting if call.alone)

    def _finish(self, call: _Call) -> None:
        del self._running[call.number]
        self._client.forget(call.number)

    def _connect(self) -> None:
        self._client = ClusterClient(self._scheduler.address(), f"mbrparse:{uuid.uuid4().hex[:12]}")
        # Futures of what the cluster keeps for tasks, by key.
        self._kept_functions: dict[str, Any] = {}
        self._kept_values: dict[str, Any] = {}
