"""A client of a Dask scheduler, whose thread queues events of tasks; Dask is imported here alone."""

from __future__ import annotations

import asyncio
import logging
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple

from mbrparse.run.pool import WorkersError
from mbrparse.run.remote_task import Packed, identity, perform, unpack, versions

try:
    import dask
    import distributed
    from distributed.scheduler import KilledWorker
except ImportError:
    raise WorkersError(
        "--scheduler needs Dask, which is not installed", remedy="pip install 'mbrparse[cluster]'"
    ) from None

#: Seconds within which a scheduler must answer, and those allowed for closing the connection.
CONNECT_TIMEOUT = 10.0
CLOSE_TIMEOUT = 2.0
#: Seconds between two counts of the workers.
_COUNT_EVERY = 2.0
VERSIONS_NEEDED = versions()
_LOGGERS = (
    "distributed",
    "distributed.client",
    "distributed.core",
    "distributed.comm",
    "distributed.batched",
)


class Event(NamedTuple):
    """What happened to tasks.

    answer: a task was done; ``content`` is its Answer, packed. killed: too many workers died with a task.
    failed: Dask could not run a task, for the reason in ``text``. lost: the scheduler is gone. gone: the
    worker with the address in ``text`` is gone, which had these tasks of ours.
    """

    kind: Literal["answer", "killed", "failed", "lost", "gone"]
    numbers: tuple[int, ...] = ()
    text: str = ""
    content: bytes = b""
    other_tasks: bool = False  #: whether the worker that is gone had more than one task


class ClusterClient:
    """A connection that lasts until the scheduler, or the client, goes."""

    def __init__(self, address: str, name: str) -> None:
        """Raises WorkersError where no scheduler answers at the address."""
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.threads = 0
        self._name = name
        self._futures: dict[int, Any] = {}
        _silence()
        _check_credentials(address)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions that differ: ours are compared by ``perform``
                make = partial(distributed.Client, timeout=CONNECT_TIMEOUT, set_as_default=False)
                self._client = _in_daemon_thread(partial(make, address, name="mbrparse"))
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
            self._client.subscribe_topic("all", self._worker_event)
            self._client.loop.add_callback(self._keep_counting)
        except BaseException:
            self.close()
            raise

    def keep(self, packed: Packed, as_value: bool) -> Any:
        """Send data once to each worker that needs it, for as long as the returned future is kept."""
        kind, function = ("value", unpack) if as_value else ("data", identity)
        return self._submit(function, packed.data, key=f"mbrparse-{kind}-{packed.key}")

    def submit(self, number: int, key: str, make: Any, call: bytes, shared: Sequence[Any]) -> None:
        """Submit a task; its events carry its number."""
        future = self._submit(perform, VERSIONS_NEEDED, key, make, call, *shared, key=(self._name, number))
        self._futures[number] = future
        self._client.loop.add_callback(self._watch, number, future)

    def forget(self, number: int) -> None:
        """Release a task."""
        future = self._futures.pop(number, None)
        if future is not None:
            with suppress(Exception):  # if the scheduler is gone, so is the task
                future.release()

    def restart_worker_of(self, number: int) -> None:
        """Restart the worker that has a task, if it has a nanny."""
        with suppress(Exception):  # the worker may be gone already
            tasks = self._client.sync(self._client.scheduler.processing, callback_timeout=CONNECT_TIMEOUT)
            holders = [worker for worker, keys in tasks.items() if (self._name, number) in keys]
            self._client.restart_workers(holders, timeout=CONNECT_TIMEOUT, raise_for_error=False)

    def close(self) -> None:
        """Close the connection; tasks under way are dropped."""
        self._futures.clear()
        with suppress(Exception):
            self._client.loop.add_callback(self._stop_counting)
            self._client.unsubscribe_topic("all")
            self._client.close(timeout=CLOSE_TIMEOUT)

    def _submit(self, function: Any, *arguments: Any, key: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a large graph: a grammar is large, and is sent once
            return self._client.submit(function, *arguments, key=key, pure=False)

    # The methods below run in the client's thread.

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

    def _worker_event(self, event: tuple[float, Any]) -> None:
        what = event[1]
        if not isinstance(what, dict) or what.get("action") != "remove-worker" or what.get("expected"):
            return
        tasks = {key for key in what.get("processing-tasks", ()) if not str(key).startswith("mbrparse-")}
        mine = tuple(key[1] for key in tasks if isinstance(key, tuple) and key[0] == self._name)
        self.events.put(Event("gone", mine, str(what.get("worker")), other_tasks=len(tasks) > 1))

    async def _count(self) -> None:
        self.threads = sum((await self._client.scheduler.ncores(workers=None)).values())

    async def _keep_counting(self) -> None:
        self._counting = asyncio.current_task()
        while True:
            await asyncio.sleep(_COUNT_EVERY)
            with suppress(Exception):
                await self._count()

    def _stop_counting(self) -> None:
        if self._counting is not None:
            self._counting.cancel()


def _in_daemon_thread(make: Callable[[], Any]) -> Any:
    """Return what ``make()`` does; Ctrl-C leaves it behind instead of half-made."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(make())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result()


def _check_credentials(address: str) -> None:
    """Without a certificate a client can neither connect nor end quietly."""
    if address.startswith("tls://"):
        found = distributed.Security().get_connection_args("client")
        if found["ssl_context"] is None:
            raise WorkersError(
                "a scheduler with TLS, for which Dask has no certificate here",
                source=address,
                remedy="set ca-file, client.cert and client.key of distributed.comm.tls in Dask's settings",
            )


def _silence() -> None:
    """``Cluster`` reports lost connections, so Dask need not log them unless its settings ask for it."""
    if dask.config.get("logging", None) or dask.config.get("distributed.logging", None):
        return
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
