"""The workers of a cluster that runs already, through Dask's scheduler.

Dask hands tasks out, moves what they need between workers, and notices workers that are gone. Here stands
what it does not do: to find the task that a worker died of, and to hand tasks out anew where the scheduler
itself was gone.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from queue import Empty
from typing import Any

from mbrparse.reporting import Tell
from mbrparse.workers import far_side
from mbrparse.workers.connection import Connection, Event
from mbrparse.workers.far_side import Answer, Data, Mismatch, OutOfMemory
from mbrparse.workers.pool import Awaited, Pool, WorkerDied, WorkersError
from mbrparse.workers.scheduler import Scheduler
from mbrparse.workers.work import Work

#: Seconds for which a scheduler that is gone may come back, and between two looks for it.
PATIENCE = 600.0
LOOK = 1.0
#: Of each worker, how many tasks there should be: fewer, and all would wait for the last.
TASKS_A_WORKER = 4
#: So many workers may die of a task.
_DEATHS = 2
#: So many losses of the scheduler, without an answer between them, are enough.
_LOSSES = 5


@dataclass(eq=False)
class _Call:
    """A task, for as long as it is not done."""

    number: int
    work: Data | None  #: what begins the function, where a worker is to begin it
    packed: bytes
    shared: list[Data]
    future: Awaited[Any]
    deaths: int = 0  #: of workers that had no other task
    in_company: int = 0  #: of others
    alone: bool = False  #: to be done while nothing else is


@dataclass
class _Kept:
    """What a connection holds for its tasks, by key: work, and the value that is shared just now."""

    work: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


class Cluster(Pool):
    """The workers of a scheduler."""

    far = True

    def __init__(self, scheduler: Scheduler, tell: Tell) -> None:
        """Raises WorkersError where no scheduler answers, FileError for a file that is none's."""
        self._scheduler = scheduler
        self._tell = tell
        self._numbers = 0
        self._calls: dict[int, _Call] = {}
        self._queue: deque[_Call] = deque()  # not handed out yet
        self._under_way: dict[int, _Call] = {}
        self._suspects: deque[_Call] = deque()
        self._warned = False
        self._losses = 0
        self._connect()

    @property
    def size(self) -> int:
        """How many threads the workers have, as far as is known."""
        return self._connection.threads

    def shared(self, value: Any) -> Any:
        """A value that the scheduler keeps for all tasks."""
        return Data.of(value)

    def divided(self, costs: Sequence[float]) -> list[range]:
        """Neighbours that cost much the same together, some for each worker."""
        most = sum(costs) / max(1, TASKS_A_WORKER * self.size)
        found: list[range] = []
        first, cost = 0, 0.0
        for place, one in enumerate(costs):
            if place > first and cost + one / 2 > most:
                found.append(range(first, place))
                first, cost = place, 0.0
            cost += one
        return [*found, range(first, len(costs))] if costs else []

    def abandon(self, future: Future[Any], why: str) -> None:
        """Take a task from its worker, which is begun anew if Dask's nanny looks after it."""
        for call in [call for call in self._under_way.values() if call.future is future]:
            self._connection.end_worker_of(call.number)
            self._done(call)
            call.future.set_exception(WorkerDied(why))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take leave of the scheduler; the workers stay."""
        if cancel_futures:
            self._queue.clear()
        while wait and (self._queue or self._suspects or self._under_way):
            self._go_on(None)
        self._connection.close()

    def _take(self, fn: Callable[..., Any], args: Any, kwargs: Any, future: Awaited[Any]) -> None:
        shared = {place: value for place, value in enumerate(args) if isinstance(value, Data)}
        rest = [None if place in shared else value for place, value in enumerate(args)]
        work = fn.packed if isinstance(fn, Work) else None
        packed = far_side.packed((list(shared), None if work is not None else fn, rest, kwargs))
        self._numbers += 1
        self._queue.append(_Call(self._numbers, work, packed, list(shared.values()), future))
        self._hand_out()

    def _hand_out(self) -> None:
        alone = any(call.alone for call in self._under_way.values())
        while not alone and self._queue and not self._suspects:
            call = self._queue.popleft()
            if call.future.running() or call.future.set_running_or_notify_cancel():
                self._hand(call)
        if self._suspects and not self._under_way:
            self._hand(self._suspects.popleft())

    def _hand(self, call: _Call) -> None:
        self._under_way[call.number] = call
        try:
            work, values = self._kept.work, self._kept.values
            if call.work is not None and call.work.key not in work:
                work[call.work.key] = self._connection.keep(call.work, as_value=False)
            for one in call.shared:
                if one.key not in values:
                    values.clear()  # those of an earlier step are wanted no more
                    values[one.key] = self._connection.keep(one, as_value=True)
            key = "" if call.work is None else call.work.key
            shared = [values[one.key] for one in call.shared]
            self._connection.submit(call.number, key, work.get(key), call.packed, shared)
        except Exception:
            # A client that has closed itself: the scheduler did not come back in its time.
            self._connection.events.put(Event("lost", (call.number,)))

    def _go_on(self, seconds: float | None) -> None:
        self._hand_out()
        try:
            event = self._connection.events.get(timeout=1.0 if seconds is None else min(1.0, seconds))
        except Empty:
            if self.size == 0 and not self._warned:
                self._tell(f"{self._scheduler} has no workers yet; waiting for some")
                self._warned = True
            return
        getattr(self, f"_{event.kind}")(event)
        self._hand_out()

    def _answer(self, event: Event) -> None:
        call = self._under_way.get(event.numbers[0])
        if call is None:
            return
        self._losses = 0
        answer: Answer = far_side.unpacked(event.content)
        self._done(call)
        call.future.seconds = answer.seconds
        error = answer.error
        if error is None:
            call.future.set_result(answer.result)
        elif isinstance(error, Mismatch):
            raise WorkersError(
                f"a worker of {self._scheduler} has {error}",
                remedy="install the same versions on this machine and on all workers",
            )
        else:
            call.future.set_exception(WorkerDied(str(error)) if isinstance(error, OutOfMemory) else error)

    def _killed(self, event: Event) -> None:
        """Dask has tried often enough."""
        call = self._under_way.get(event.numbers[0])
        if call is not None and call.alone:
            self._end(call)
        elif call is not None:
            self._suspect(call)

    def _failed(self, event: Event) -> None:
        raise WorkersError(
            f"the cluster cannot do tasks of mbrparse ({event.text})",
            source=str(self._scheduler),
            remedy="is the same mbrparse installed where the scheduler and the workers run?",
        )

    def _gone(self, event: Event) -> None:
        """Dask does the tasks of a lost worker again; what two died of, it should not."""
        calls = [self._under_way[number] for number in event.numbers if number in self._under_way]
        if not calls:
            return
        self.retries += len(calls)
        self._tell(f"worker {event.text} is gone; its tasks ({len(calls)}) are done again")
        for call in calls:
            call.in_company += event.company
            call.deaths += not event.company
            if call.deaths >= _DEATHS:
                self._end(call)
            elif call.in_company >= _DEATHS:
                self._suspect(call)

    def _suspect(self, call: _Call) -> None:
        """Several tasks were there when workers died: which it was shows when it is done alone."""
        self._done(call)
        self._numbers += 1
        self._suspects.append(replace(call, number=self._numbers, deaths=0, in_company=0, alone=True))

    def _end(self, call: _Call) -> None:
        self._done(call)
        call.future.set_exception(WorkerDied("on the cluster", deaths=_DEATHS))

    def _lost(self, event: Event) -> None:
        """The scheduler is gone, and knows nothing any more when it is back."""
        self._losses += 1
        if self._losses > _LOSSES:
            self._failed(event._replace(text=f"lost {self._losses} times in a row"))
        waiting = [*self._under_way.values()]
        self._tell(f"lost the scheduler {self._scheduler}; {len(waiting)} tasks wait until it is back")
        self._connection.close()
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._connect()
                break
            except (WorkersError, OSError) as error:
                if time.monotonic() > until:
                    raise WorkersError(
                        f"the scheduler was lost, and is not back after {PATIENCE:.0f} seconds",
                        source=str(self._scheduler),
                        remedy="parse --work FOLDER keeps what is finished, and --resume goes on from there",
                    ) from error
                time.sleep(LOOK)
        self._tell(f"the scheduler {self._scheduler} is back")
        self.retries += len(waiting)
        self._under_way.clear()
        self._queue.extendleft(reversed([call for call in waiting if not call.alone]))
        self._suspects.extendleft(call for call in waiting if call.alone)

    def _done(self, call: _Call) -> None:
        del self._under_way[call.number]
        self._connection.forget(call.number)

    def _connect(self) -> None:
        self._connection = Connection(self._scheduler.address(), f"mbrparse:{uuid.uuid4().hex[:12]}")
        self._kept = _Kept()
