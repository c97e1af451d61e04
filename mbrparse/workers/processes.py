"""Processes that work for this one. What one of them dies of costs the task it had, and nothing else.

Processes end with the one that started them, however that ends, and leave Ctrl-C to it.
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
from typing import Any, NamedTuple

from mbrparse.workers.pool import Awaited, Pool, WorkerDied, WorkersError
from mbrparse.workers.work import Work

#: So many processes in a row that die before they have started are enough.
MOST_FALSE_STARTS = 2
_OUT_OF_MEMORY = 77
_REMEDY = "is there memory for so many --jobs? --jobs 1 starts none"


class _Call(NamedTuple):
    """What a process is to do; without a function, the work that it began with."""

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...]
    named: dict[str, Any]


class Processes(Pool):
    """Up to ``jobs`` processes, started when there is something to do for them, each with this work begun."""

    def __init__(self, work: Work[..., Any], jobs: int) -> None:
        self._work = work
        self._jobs = jobs
        self._queue: deque[tuple[_Call, Awaited[Any]]] = deque()
        self._workers: list[_Worker] = []
        self._false_starts = 0
        self._prepared = False

    @property
    def size(self) -> int:
        """The number of processes that there may be."""
        return self._jobs

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; what is under way is waited for, or lost with them."""
        if cancel_futures:
            self._queue.clear()
        while wait and (self._queue or any(worker.future is not None for worker in self._workers)):
            self._go_on(None)
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()

    def _take(self, fn: Callable[..., Any], args: Any, kwargs: Any, future: Awaited[Any]) -> None:
        self._queue.append((_Call(None if fn is self._work else fn, args, kwargs), future))

    def _go_on(self, seconds: float | None) -> None:
        for worker in [worker for worker in self._workers if worker.idle]:
            while self._queue and worker.idle:
                call, future = self._queue.popleft()
                if future.set_running_or_notify_cancel():
                    worker.take(call, future)
        starting = sum(not worker.ready for worker in self._workers)
        for _ in range(min(self._jobs - len(self._workers), len(self._queue) - starting)):
            self._start()
        there: dict[object, _Worker] = {w.connection: w for w in self._workers}
        for connection in wait([w.connection for w in self._workers if not w.idle], seconds):
            self._hear(there[connection])

    def _start(self) -> None:
        if not self._prepared and self._work.before is not None:
            self._work.before()
        self._prepared = True
        with _signals_held():
            try:
                self._workers.append(_Worker(self._work.begin))
            except OSError as error:
                raise WorkersError(f"no process can be started ({error.strerror})", remedy=_REMEDY) from None

    def _hear(self, worker: _Worker) -> None:
        try:
            result, error = worker.connection.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        if not worker.ready:
            if error is not None:
                raise error
            worker.ready = True
            self._false_starts = 0
        elif worker.future is not None:
            future, worker.future = worker.future, None
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def _bury(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        death = _cause(worker.process.exitcode)
        if worker.future is not None:
            self.retries += 1
            worker.future.set_exception(WorkerDied(death))
            return
        self._false_starts += 1
        if self._false_starts == MOST_FALSE_STARTS:
            raise WorkersError(
                f"{MOST_FALSE_STARTS} processes in a row ended as they started ({death})",
                remedy=_REMEDY,
            )


class _Worker:
    """A process as its parent sees it, and the future of the task that it has."""

    def __init__(self, begin: Callable[[], Callable[[Any], Any]]) -> None:
        self.ready = False
        self.future: Awaited[Any] | None = None
        self.connection, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(begin, theirs), daemon=True)
        self.process.start()
        # Its end is then the end of the connection.
        theirs.close()

    @property
    def idle(self) -> bool:
        return self.ready and self.future is None

    def take(self, call: _Call, future: Awaited[Any]) -> None:
        self.future = future
        # Where it has died meanwhile, waiting for an answer shows it.
        with suppress(OSError):
            self.connection.send(call)


@contextmanager
def _signals_held() -> Iterator[None]:
    """No Ctrl-C between the start of a process and its entry in the list, nor in it before it is set up."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(begin: Callable[[], Callable[[Any], Any]], connection: Connection) -> None:
    """The life of a process."""
    # Ctrl-C reaches all processes of a terminal: what becomes of this one is its parent's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work: Callable[[Any], Any] | None = None

    def set_up() -> None:
        nonlocal work
        threading.Thread(target=_end_with_parent, daemon=True).start()
        work = begin()

    _answer(connection, set_up, (), {})
    with suppress(EOFError):
        while work is not None:
            function, arguments, named = connection.recv()
            _answer(connection, work if function is None else function, arguments, named)


def _answer(
    connection: Connection, work: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Do a task, and say what came of it: a result, or an error."""
    answer: tuple[Any, Exception | None]
    try:
        answer = work(*arguments, **named), None
    except MemoryError:
        # A new process has what this one can no longer use.
        os._exit(_OUT_OF_MEMORY)
    except Exception as error:
        answer = None, error
    try:
        connection.send(answer)
    except OSError:
        os._exit(1)  # nobody listens
    except Exception as error:
        connection.send((None, RuntimeError(f"what came of a task cannot be sent: {error}")))


def _end_with_parent() -> None:
    """A killed parent cannot say that it has gone; its children would wait for ever."""
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
