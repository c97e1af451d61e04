"""The connection to a Dask scheduler; Dask is imported here alone."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from mbrparse.run.pool import WorkersError
from mbrparse.run.remote_task import Packed, perform, unpack, versions

try:
    import dask
    import distributed
    from distributed.scheduler import KilledWorker
except ImportError:
    raise WorkersError(
        "--scheduler needs Dask, which is not installed",
        remedy="pip install '.[cluster]' in mbrparse's folder",
    ) from None

__all__ = ["ClusterClient", "KilledWorker"]

#: Seconds within which a scheduler must answer, and those allowed for closing the connection.
CONNECT_TIMEOUT = 10.0
CLOSE_TIMEOUT = 2.0
VERSIONS_NEEDED = versions()
_LOGGERS = (
    "distributed",
    "distributed.client",
    "distributed.core",
    "distributed.comm",
    "distributed.batched",
    "tornado.application",  # where Ctrl-C comes before ``distributed.utils.sync`` has begun its work
)


class ClusterClient:
    """A connection that lasts until the scheduler, or the client, goes."""

    def __init__(self, address: str, worker_lost: Callable[[str, list[int], bool], None]) -> None:
        """``worker_lost`` is called, in the client's thread, for each worker that is gone.

        It gets the worker's address, the numbers of our tasks that it had, and whether it had one task alone.
        Raises WorkersError where no scheduler answers at the address.
        """
        self._name = f"mbrparse:{uuid.uuid4().hex[:12]}"
        self._worker_lost = worker_lost
        #: Dask's futures of what workers get once, by key: what makes functions, and values of many tasks.
        self._functions: dict[str, Any] = {}
        self._values: dict[str, Any] = {}
        _silence()
        _check_credentials(address)
        try:
            # A client of a malformed address would leave a traceback behind.
            distributed.comm.addressing.parse_host_port(distributed.comm.parse_address(address)[1])
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
        try:
            self._client.subscribe_topic("all", self._event)
        except BaseException:
            self.close()
            raise

    @property
    def closed(self) -> bool:
        """Whether the client has closed itself, since the scheduler did not come back in time."""
        return str(self._client.status) == "closed"

    def threads(self) -> int:
        """The number of threads of all workers."""
        return sum(self._client.nthreads(callback_timeout=CONNECT_TIMEOUT).values())

    def submit(
        self, number: int, made: Packed | None, call: bytes, shared: Sequence[Packed]
    ) -> tuple[Any, Future[bytes]]:
        """Submit a task; return Dask's future and one of the packed Answer.

        ``made`` makes the function, where the worker is to make it. Each worker gets that, and ``shared``,
        once.
        """
        key, make = "", None
        if made is not None:
            key, name = made.key, f"mbrparse-data-{made.key}"
            # As a task's result, workers get it from each other; if lost, it is made again.
            make = self._functions.get(key) or self._submit(bytes, made.data, key=name)
            self._functions[key] = make
        for one in shared:
            if one.key not in self._values:
                self._values.clear()  # values of an earlier step are not needed any more
                self._values[one.key] = self._submit(unpack, one.data, key=f"mbrparse-value-{one.key}")
        values = [self._values[one.key] for one in shared]
        remote = self._submit(perform, VERSIONS_NEEDED, key, make, call, *values, key=(self._name, number))
        return remote, asyncio.run_coroutine_threadsafe(_awaited(remote), self._client.loop.asyncio_loop)

    def restart_worker_of(self, number: int) -> None:
        """Restart the worker that has a task, if it has a nanny."""
        with suppress(Exception):  # the worker may be gone already
            tasks = self._client.sync(self._client.scheduler.processing, callback_timeout=CONNECT_TIMEOUT)
            holders = [worker for worker, keys in tasks.items() if (self._name, number) in keys]
            self._client.restart_workers(holders, timeout=CONNECT_TIMEOUT, raise_for_error=False)

    def close(self) -> None:
        """Close the connection; tasks under way are dropped."""
        with suppress(Exception):
            self._client.unsubscribe_topic("all")
            self._client.close(timeout=CLOSE_TIMEOUT)

    def _submit(self, function: Any, *arguments: Any, key: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a large graph: a grammar is large, and is sent once
            return self._client.submit(function, *arguments, key=key, pure=False)

    def _event(self, event: tuple[float, Any]) -> None:
        what = event[1]
        if isinstance(what, dict) and what.get("action") == "remove-worker" and not what.get("expected"):
            tasks = {key for key in what.get("processing-tasks", ()) if not str(key).startswith("mbrparse-")}
            mine = [key[1] for key in tasks if isinstance(key, tuple) and key[0] == self._name]
            if mine:
                self._worker_lost(str(what.get("worker")), mine, len(tasks) == 1)


async def _awaited(remote: Any) -> bytes:
    content: bytes = await remote
    return content


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
    try:
        found = distributed.Security().get_connection_args("client")
    except (OSError, ValueError) as error:
        raise WorkersError(
            f"Dask's TLS settings cannot be used ({error})",
            source=address,
            remedy="are ca-file, client.cert and client.key of distributed.comm.tls PEM files here?",
        ) from None
    if not address.startswith("tls://"):
        if found["require_encryption"]:
            raise WorkersError(
                "Dask's settings require encryption", source=address, remedy="give tls://HOST:PORT"
            )
    elif found["ssl_context"] is None:
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
