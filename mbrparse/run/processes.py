"""Processes of this machine; if one of them dies, only the task that it had is affected.

``concurrent.futures.ProcessPoolExecutor`` fails as a whole when a process dies, and does not name its task.
Processes end with the one that started them, however that ends, and ignore Ctrl-C.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias

from mbrparse.run.pool import CallerDrivenPool, PoolFuture, TaskFunction, WorkerDied, WorkersError

#: After so many processes in a row that died as they started, the pool gives up.
MAX_FAILED_STARTS = 2
_OUT_OF_MEMORY = 77
_REMEDY = "is there memory for so many --jobs? --jobs 1 starts none"

#: A function (None: the pool's own), its arguments and keyword arguments.
_Call: TypeAlias = tuple[Callable[..., Any] | None, tuple[Any, ...], dict[str, Any]]


class Processes(CallerDrivenPool):
    """Up to ``jobs`` processes, started as tasks need them; each makes the pool's function once."""

    def __init__(self, function: TaskFunction[..., Any], jobs: int) -> None:
        self._function = function
        self._jobs = jobs
        self._queue: deque[tuple[_Call, PoolFuture[Any]]] = deque()
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._prepared = False

    @property
    def size(self) -> int:
        """The largest number of processes."""
        return self._jobs

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; tasks under way are waited for, or lost."""
        if cancel_futures:
            self._queue.clear()
        while wait and (self._queue or any(worker.future is not None for worker in self._workers)):
            self._step(None)
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()

    def _enqueue(self, fn: Callable[..., Any], args: Any, kwargs: Any, future: PoolFuture[Any]) -> None:
        self._queue.append(((None if fn is self._function else fn, args, kwargs), future))

    def _step(self, seconds: float | None) -> None:
        for worker in [worker for worker in self._workers if worker.idle]:
            while self._queue and worker.idle:
                call, future = self._queue.popleft()
                if future.set_running_or_notify_cancel():
                    worker.send(call, future)
        starting = sum(not worker.ready for worker in self._workers)
        for _ in range(min(self._jobs - len(self._workers), len(self._queue) - starting)):
            self._start()
        workers: dict[object, _Worker] = {worker.connection: worker for worker in self._workers}
        for connection in wait([w.connection for w in self._workers if not w.idle], seconds):
            self._receive(workers[connection])

    def _start(self) -> None:
        if not self._prepared and self._function.prepare is not None:
            self._function.prepare()
        self._prepared = True
        with _sigint_blocked():
            try:
                self._workers.append(_Worker(self._function.make))
            except OSError as error:
                raise WorkersError(f"no process can be started ({error.strerror})", remedy=_REMEDY) from None

    def _receive(self, worker: _Worker) -> None:
        try:
            result, error = worker.connection.recv()
        except (EOFError, OSError):
            self._remove(worker)
            return
        if not worker.ready:
            if error is not None:
                raise error
            worker.ready = True
            self._failed_starts = 0
        elif worker.future is not None:
            future, worker.future = worker.future, None
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def _remove(self, worker: _Worker) -> None:
        """Remove a process that died."""
        self._workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        cause = _cause(worker.process.exitcode)
        if worker.future is not None:
            self.retries += 1
            worker.future.set_exception(WorkerDied(cause))
            return
        self._failed_starts += 1
        if self._failed_starts == MAX_FAILED_STARTS:
            raise WorkersError(
                f"{MAX_FAILED_STARTS} processes in a row ended as they started ({cause})", remedy=_REMEDY
            )


class _Worker:
    """A process as its parent sees it, and the future of the task that it has."""

    def __init__(self, make: Callable[[], Callable[..., Any]]) -> None:
        self.ready = False
        self.future: PoolFuture[Any] | None = None
        self.connection, child = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(make, child), daemon=True)
        self.process.start()
        child.close()  # so that the connection ends when the process does

    @property
    def idle(self) -> bool:
        return self.ready and self.future is None

    def send(self, call: _Call, future: PoolFuture[Any]) -> None:
        self.future = future
        # If the process has died meanwhile, waiting for its answer shows it.
        with suppress(OSError):
            self.connection.send(call)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """No Ctrl-C between the start of a process and its entry in the list, nor in it before it is set up."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(make: Callable[[], Callable[..., Any]], connection: Connection) -> None:
    """The main function of a process."""
    # Ctrl-C reaches all processes of a terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    made: Callable[..., Any] | None = None

    def set_up() -> None:
        nonlocal made
        threading.Thread(target=_exit_with_parent, daemon=True).start()
        made = make()

    _answer(connection, set_up, (), {})
    with suppress(EOFError):
        while made is not None:
            function, arguments, named = connection.recv()
            _answer(connection, made if function is None else function, arguments, named)


def _answer(
    connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Do a task and send its result, or its error."""
    answer: tuple[Any, Exception | None]
    try:
        answer = function(*arguments, **named), None
    except MemoryError:
        # This process may not recover its memory; a new one has it all.
        os._exit(_OUT_OF_MEMORY)
    except Exception as error:
        answer = None, error
    try:
        connection.send(answer)
    except OSError:
        os._exit(1)  # the parent is gone
    except Exception as error:
        connection.send((None, RuntimeError(f"the result of a task cannot be sent: {error}")))


def _exit_with_parent() -> None:
    """A killed parent cannot end its children; they would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _cause(exit_code: int | None) -> str:
    if exit_code == _OUT_OF_MEMORY:
        return "out of memory"
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name if -exit_code in set(signal.Signals) else str(-exit_code)
        return f"killed by {name}" + (", out of memory?" if name == "SIGKILL" else "")
    return f"exit code {exit_code}"
