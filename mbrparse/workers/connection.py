"""A client of a Dask scheduler, whose thread puts what happens into a queue; Dask is imported here alone."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple

from mbrparse.aside import aside
from mbrparse.workers import far_side
from mbrparse.workers.pool import WorkersError

try:
    import dask
    import distributed
    from distributed.scheduler import KilledWorker
except ImportError:
    raise WorkersError(
        "--scheduler needs Dask, which is not installed", remedy="pip install 'mbrparse[cluster]'"
    ) from None

#: Seconds that a scheduler has to answer, and that it has to take leave.
ANSWER = 10.0
LEAVE = 2.0
#: How often workers are counted, in seconds.
_COUNTED = 2.0
NEEDED = far_side.versions()
_LOGGERS = (
    "distributed",
    "distributed.client",
    "distributed.core",
    "distributed.comm",
    "distributed.batched",
)


class Event(NamedTuple):
    """What happened to tasks.

    answer: of one task, what its worker sent. killed: it was the end of too many workers. failed: Dask could
    not have it done, and says why. lost: the scheduler is gone. gone: a worker is, with these tasks of ours;
    the text is its address.
    """

    kind: Literal["answer", "killed", "failed", "lost", "gone"]
    numbers: tuple[int, ...] = ()
    text: str = ""
    content: bytes = b""
    company: bool = False  #: whether the worker had other tasks besides


class Connection:
    """What lasts until the scheduler, or the client, goes."""

    def __init__(self, address: str, name: str) -> None:
        """Raises WorkersError where nobody answers at the address."""
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.threads = 0
        self._name = name
        self._futures: dict[int, Any] = {}
        _silence()
        _check_credentials(address)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # other versions of Dask: those that matter are compared by us
                # Whoever interrupts this leaves no client behind that takes its leave half made.
                self._client = aside(
                    partial(
                        distributed.Client, address, timeout=ANSWER, set_as_default=False, name="mbrparse"
                    )
                )
        except (OSError, ValueError, ImportError, TypeError) as error:
            why = next(iter(str(error).splitlines()), type(error).__name__)
            raise WorkersError(
                f"no scheduler answers ({why})",
                source=address,
                remedy="does it run, can this machine reach it, and do the TLS settings of Dask fit?",
            ) from None
        self._counting: Any = None
        try:
            self._client.sync(self._count)
            self._client.subscribe_topic("all", self._heard)
            self._client.loop.add_callback(self._keep_counting)
        except BaseException:
            self.close()
            raise

    def keep(self, data: far_side.Data, as_value: bool) -> Any:
        """Data that each worker gets once, for as long as what is returned is held."""
        kind, function = ("value", far_side.held_value) if as_value else ("work", far_side.held)
        return self._submit(function, data.packed, key=f"mbrparse-{kind}-{data.key}")

    def submit(self, number: int, key: str, begin: Any, call: bytes, shared: Sequence[Any]) -> None:
        """Hand a task out; events of it have its number."""
        future = self._submit(far_side.perform, NEEDED, key, begin, call, *shared, key=(self._name, number))
        self._futures[number] = future
        self._client.loop.add_callback(self._watch, number, future)

    def forget(self, number: int) -> None:
        """Let a task go: nothing of it is wanted any more."""
        future = self._futures.pop(number, None)
        if future is not None:
            with suppress(Exception):  # where the scheduler is gone, so is the task
                future.release()

    def end_worker_of(self, number: int) -> None:
        """Begin the worker anew that has a task, where somebody looks after it."""
        with suppress(Exception):  # it may be gone already, or have nobody
            tasks = self._client.sync(self._client.scheduler.processing, callback_timeout=ANSWER)
            holders = [worker for worker, keys in tasks.items() if (self._name, number) in keys]
            self._client.restart_workers(holders, timeout=ANSWER, raise_for_error=False)

    def close(self) -> None:
        """Take leave; what is under way is wanted no more."""
        self._futures.clear()
        with suppress(Exception):
            self._client.loop.add_callback(self._stop_counting)
            self._client.unsubscribe_topic("all")
            self._client.close(timeout=LEAVE)

    def _submit(self, function: Any, *arguments: Any, key: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a large graph: a grammar is large, and travels once
            return self._client.submit(function, *arguments, key=key, pure=False)

    # What follows runs in the client's thread.

    async def _watch(self, number: int, future: Any) -> None:
        event = Event("lost", (number,))
        with suppress(Exception, asyncio.CancelledError):
            found = await future._result(raiseit=False)
            if future.status == "finished":
                event = Event("answer", (number,), content=found)
            elif future.status == "error":
                error = found[1]
                kind: Literal["killed", "failed"] = "killed" if isinstance(error, KilledWorker) else "failed"
                event = Event(kind, (number,), f"{type(error).__name__}: {error}".splitlines()[0])
        if self._futures.get(number) is future:
            self.events.put(event)

    def _heard(self, event: tuple[float, Any]) -> None:
        what = event[1]
        if not isinstance(what, dict) or what.get("action") != "remove-worker" or what.get("expected"):
            return
        tasks = {key for key in what.get("processing-tasks", ()) if not str(key).startswith("mbrparse-")}
        mine = tuple(key[1] for key in tasks if isinstance(key, tuple) and key[0] == self._name)
        self.events.put(Event("gone", mine, str(what.get("worker")), company=len(tasks) > 1))

    async def _count(self) -> None:
        self.threads = sum((await self._client.scheduler.ncores(workers=None)).values())

    async def _keep_counting(self) -> None:
        self._counting = asyncio.current_task()
        while True:
            await asyncio.sleep(_COUNTED)
            with suppress(Exception):
                await self._count()

    def _stop_counting(self) -> None:
        if self._counting is not None:
            self._counting.cancel()


def _check_credentials(address: str) -> None:
    """A client that finds none as it connects can neither go on nor end quietly."""
    if address.startswith("tls://"):
        found = distributed.Security().get_connection_args("client")
        if found["ssl_context"] is None:
            raise WorkersError(
                "a scheduler with TLS, for which Dask has no certificate here",
                source=address,
                remedy="set ca-file, client.cert and client.key of distributed.comm.tls in Dask's settings",
            )


def _silence() -> None:
    """What Dask logs of lost connections is told by us, unless its configuration asks for logs."""
    if dask.config.get("logging", None) or dask.config.get("distributed.logging", None):
        return
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
