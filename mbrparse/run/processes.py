"""Processes of this machine; if one of them dies, only the task that it had is affected.

``concurrent.futures.ProcessPoolExecutor`` fails as a whole when a process dies, and does not name its task.
Processes end with the one that started them, however that ends, and ignore Ctrl-C.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from mbrparse.run.pool import Pool, TaskFunction, WorkerDied, WorkersError

Result = TypeVar("Result")

#: After so many processes in a row that died as they started, a task is given up.
MAX_FAILED_STARTS = 2
_OUT_OF_MEMORY = 77
_REMEDY = "is there memory for so many --jobs? --jobs 1 starts none"


class Processes(Pool):
    """Up to ``jobs`` processes, started as tasks need them; each makes the pool's function once.

    As many threads send them tasks and wait for the answers.
    """

    def __init__(self, function: TaskFunction[..., Any], jobs: int) -> None:
        self._function = function
        self._jobs = jobs
        # Processes inherit what the thread that starts them blocks: Ctrl-C does not reach them.
        ctrl_c = signal.SIG_BLOCK, {signal.SIGINT}
        self._threads = ThreadPoolExecutor(jobs, initializer=signal.pthread_sigmask, initargs=ctrl_c)
        # Held while a process starts, so that no other inherits its connection, and while one is waited for.
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._prepared = self._ended = False

    @property
    def size(self) -> int:
        """The largest number of processes."""
        return self._jobs

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Return the future of a call; it raises what the function raises, WorkerDied, or WorkersError."""
        if not self._prepared and self._function.prepare is not None:
            self._function.prepare()
        self._prepared = True
        return self._threads.submit(self._perform, None if fn is self._function else fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; tasks under way are waited for, or lost."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        with self._lock:
            self._ended = True
            for worker in self._workers:
                worker.process.kill()
            for worker in self._workers:
                worker.process.join()

    # The methods below run in the threads.

    def _perform(self, *call: Any) -> Any:
        """Have a process do a task."""
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = self._start()
        try:
            return worker.perform(call)
        except _WorkerEnded:
            self.retries += 1
            raise WorkerDied(self._cause(worker)) from None
        finally:
            if worker in self._workers:
                self._idle.append(worker)

    def _start(self) -> _Worker:
        cause = "the pool was shut down"
        for _ in range(MAX_FAILED_STARTS):
            with self._lock:
                if self._ended:
                    break
                try:
                    worker = _Worker(self._function.make)
                except OSError as error:
                    message = f"no process can be started ({error.strerror})"
                    raise WorkersError(message, remedy=_REMEDY) from None
                self._workers.append(worker)
            try:
                worker.answer()
            except _WorkerEnded:
                cause = self._cause(worker)
            else:
                return worker
        message = f"{MAX_FAILED_STARTS} processes in a row ended as they started ({cause})"
        raise WorkersError(message, remedy=_REMEDY)

    def _cause(self, worker: _Worker) -> str:
        """Remove a process that ended; why it did."""
        with self._lock:
            self._workers.remove(worker)
            worker.connection.close()
            worker.process.join()
        code = worker.process.exitcode
        if code == _OUT_OF_MEMORY:
            return "out of memory"
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            return f"killed by {name}" + (", out of memory?" if name == "SIGKILL" else "")
        return f"exit code {code}"


class _WorkerEnded(Exception):  # noqa: N818
    """A process ended before it answered."""


class _Worker:
    """A process as its parent sees it."""

    def __init__(self, make: Callable[[], Callable[..., Any]]) -> None:
        self.connection, child = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(make, child), daemon=True)
        self.process.start()
        child.close()  # so that the connection ends when the process does

    def perform(self, call: tuple[Any, ...]) -> Any:
        """Send a function (None: the pool's own) and its arguments; return what it returns."""
        with suppress(OSError):  # if the process has ended, waiting for its answer shows that
            self.connection.send(call)
        return self.answer()

    def answer(self) -> Any:
        """Wait for an answer; raises what the function raised."""
        try:
            result, error = self.connection.recv()
        except (EOFError, OSError):
            raise _WorkerEnded from None
        if error is not None:
            raise error
        return result


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
