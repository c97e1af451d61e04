"""Processes that work for this one. What one of them dies of costs the task it had, and nothing else.

A task is a call of one function, which each process makes for itself as it starts (a parser, say). Processes
end with the one that started them, however that ends, and leave Ctrl-C to it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from mbrparse.errors import MbrparseError

Task = TypeVar("Task")
Result = TypeVar("Result")

#: So many processes in a row that die before they have started are enough.
MOST_FALSE_STARTS = 2
_OUT_OF_MEMORY = 77
_REMEDY = "is there memory for so many --jobs? --jobs 1 starts none"


class WorkersError(MbrparseError):
    """Processes that cannot do what they are for."""


class WorkerDied(Exception):  # noqa: N818  # the field says so of processes
    """The process that had a task ended before it was done; the text says how."""


class Workers(Generic[Task, Result]):
    """Up to ``jobs`` processes, started when there is work for them; to be used in a ``with`` block.

    ``begin`` is called in each of them and returns the function that does the tasks. Nothing is taken in or
    handed out but while the caller waits (``result``, ``completed``): there is no thread here that it would
    have to share the processes with.
    """

    def __init__(self, begin: Callable[[], Callable[[Task], Result]], jobs: int) -> None:
        self._begin = begin
        self._jobs = jobs
        self._queue: deque[tuple[Task, Future[Result]]] = deque()
        self._workers: list[_Worker[Task, Result]] = []
        self._false_starts = 0

    def __enter__(self) -> Workers[Task, Result]:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing of a task that is under way is wanted any more."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()

    def submit(self, task: Task) -> Future[Result]:
        """A result to come: WorkerDied, where a process died of it, or what the function raised."""
        future: Future[Result] = Future()
        self._queue.append((task, future))
        return future

    def result(self, future: Future[Result]) -> Result:
        """Wait for a result; raises WorkersError where processes die as they start."""
        while not future.done():
            self._go_on()
        return future.result()

    def completed(self, futures: set[Future[Result]]) -> Iterator[Future[Result]]:
        """Yield what is submitted as it gets done; the set may grow meanwhile."""
        while futures:
            for future in [future for future in futures if future.done()]:
                futures.remove(future)
                yield future
            if futures:
                self._go_on()

    def _go_on(self) -> None:
        """Hand tasks out, and wait for an answer."""
        idle = [worker for worker in self._workers if worker.idle]
        for worker in idle[: len(self._queue)]:
            worker.take(*self._queue.popleft())
        starting = sum(not worker.ready for worker in self._workers)
        for _ in range(min(self._jobs - len(self._workers), len(self._queue) - starting)):
            self._start()
        there: dict[object, _Worker[Task, Result]] = {w.connection: w for w in self._workers}
        for connection in wait([w.connection for w in self._workers if not w.idle]):
            self._hear(there[connection])

    def _start(self) -> None:
        with _signals_held():
            try:
                self._workers.append(_Worker(self._begin))
            except OSError as error:
                raise WorkersError(f"no process can be started ({error.strerror})", remedy=_REMEDY) from None

    def _hear(self, worker: _Worker[Task, Result]) -> None:
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

    def _bury(self, worker: _Worker[Task, Result]) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        death = _cause(worker.process.exitcode)
        if worker.future is not None:
            worker.future.set_exception(WorkerDied(death))
            return
        self._false_starts += 1
        if self._false_starts == MOST_FALSE_STARTS:
            raise WorkersError(
                f"{MOST_FALSE_STARTS} processes in a row ended as they started ({death})",
                remedy=_REMEDY,
            )


class _Worker(Generic[Task, Result]):
    """A process as its parent sees it, and the future of the task that it has."""

    def __init__(self, begin: Callable[[], Callable[[Task], Result]]) -> None:
        self.ready = False
        self.future: Future[Result] | None = None
        self.connection, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(begin, theirs), daemon=True)
        self.process.start()
        # Its end is then the end of the connection.
        theirs.close()

    @property
    def idle(self) -> bool:
        return self.ready and self.future is None

    def take(self, task: Task, future: Future[Result]) -> None:
        self.future = future
        # Where it has died meanwhile, waiting for an answer shows it.
        with suppress(OSError):
            self.connection.send(task)


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

    def set_up(_: None) -> None:
        nonlocal work
        threading.Thread(target=_end_with_parent, daemon=True).start()
        work = begin()

    _answer(connection, set_up, None)
    with suppress(EOFError):
        while work is not None:
            _answer(connection, work, connection.recv())


def _answer(connection: Connection, work: Callable[[Any], Any], task: Any) -> None:
    """Do a task, and say what came of it: a result, or an error."""
    answer: tuple[Any, Exception | None]
    try:
        answer = work(task), None
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
