"""Who does the work: this process, processes of this machine (``--jobs``) or a Dask cluster.

All are a ``concurrent.futures.Executor``, and nothing is retried: a task that fails is named by its future.

>>> with open_executor(1) as executor:
...     print([(word, future.result()) for word, future in in_order(executor, len, ["NP", "S"])])
[('NP', 2), ('S', 1)]

A function that takes long to make, such as a parser with its grammar, is made once in each worker::

    parse = WorkerFunction(partial(make_parser, grammar))
    with open_executor(2, parse, seconds=10) as executor:
        for sentence, future in in_order(executor, parse, sentences):
            try:
                print(future.result())
            except WorkerDied as failure:  # this sentence took more than 10 seconds, or ended its process
                print(failure.message)
"""

from __future__ import annotations

import json
import math
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from mbrparse.errors import MbrparseError
from mbrparse.one_run import undisturbed
from mbrparse.program import program

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Task = TypeVar("Task")

#: Seconds within which a scheduler must answer.
CONNECT_TIMEOUT = 10.0


@dataclass(frozen=True)
class Scheduler:
    """A Dask scheduler, by its address (``tcp://host:8786``) or the file that it wrote (scheduler.json)."""

    place: str

    def __str__(self) -> str:
        return self.place


#: The number of workers on this machine, or a cluster.
Jobs: TypeAlias = int | Scheduler


class WorkersError(MbrparseError):
    """Workers cannot be started or reached, or cannot do the tasks."""


class WorkerDied(WorkersError):  # noqa: N818  # the usual expression for processes
    """The worker ended before it had done its task, or was ended since it took too long."""


class WorkerFunction(Generic[Arguments, Result]):
    """A function that each worker makes once, when it is first called there."""

    def __init__(self, make: Callable[[], Callable[Arguments, Result]]) -> None:
        self._make = make
        self._local = threading.local()  # no two threads share a parser

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._make,)

    @property
    def made(self) -> Callable[Arguments, Result]:
        """The function as this thread has made it."""
        if not hasattr(self._local, "function"):
            self._local.function = self._make()
        function: Callable[Arguments, Result] = self._local.function
        return function

    def __call__(self, *task: Arguments.args, **named: Arguments.kwargs) -> Result:
        return self.made(*task, **named)


@contextmanager
def open_executor(
    jobs: Jobs, function: WorkerFunction[..., Any] | None = None, seconds: float | None = None
) -> Iterator[Executor]:
    """An executor of this many workers, which end with the context, whatever they are doing.

    Parameters
    ----------
    jobs
        1: this process, in which ``submit`` returns when the task is done. More: processes for ``function``,
        or without one threads, for kernels, which release the interpreter lock. A scheduler: its workers.
    function
        Made in each process before its first task.
    seconds
        How long a task may take in its process, which is one of its own with ``jobs`` 1 too; to start the
        process and to make the function does not count.

    Raises
    ------
    WorkersError
        Where a cluster cannot be reached. Futures raise WorkerDied, or WorkersError for all that follow.
    """
    executor: Executor
    if isinstance(jobs, Scheduler):
        executor = Cluster(jobs, function)
    elif function is not None and (jobs > 1 or seconds is not None):
        executor = Processes(jobs, function, seconds)
    else:
        executor = Inline() if jobs == 1 else ThreadPoolExecutor(jobs)
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


def in_order(
    executor: Executor, function: Callable[[Task], Result], tasks: Iterable[Task]
) -> Iterator[tuple[Task, Future[Result]]]:
    """Yield each task and its future, in the order of the tasks, of which few are under way at a time."""
    under_way = getattr(executor, "under_way", 1)
    waiting: deque[tuple[Task, Future[Result]]] = deque()
    for task in tasks:
        waiting.append((task, executor.submit(function, task)))
        if len(waiting) >= under_way:
            yield waiting.popleft()
    yield from waiting


def share(executor: Executor, value: Any) -> Any:
    """What to submit in place of an argument of many tasks, so that each machine gets it once."""
    return executor.share(value) if isinstance(executor, Cluster) else value


def interruptible(
    function: Callable[Arguments, Result], *task: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """Call a function in a thread, which an interruption leaves at its work, in a kernel perhaps."""
    executor = ThreadPoolExecutor(1)
    try:
        future = executor.submit(function, *task, **named)
    except RuntimeError:  # no thread can be started
        return function(*task, **named)
    try:
        return future.result()
    finally:
        executor.shutdown(wait=False)


class Inline(Executor):
    """This process."""

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Do a task and return its future."""
        future: Future[Result] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class _Process(SpawnProcess):
    """Counts as alive for a moment after its end, in which pebble reads that it had taken a task."""

    moment = 1.0  # seconds; a thread of this process reads all the time
    _ended = math.inf

    def is_alive(self) -> bool:
        """Whether it runs, or ended by itself a moment ago."""
        if super().is_alive():
            return True
        self._ended = min(self._ended, time.monotonic())
        return time.monotonic() < self._ended + self.moment

    def terminate(self) -> None:
        """End it; then nobody waits for what it said."""
        self.moment = 0.0
        super().terminate()


class _Spawning(SpawnContext):
    """Keeps its locks, which pebble lets go before it ends processes: those that begin look for them."""

    Process = _Process

    def __init__(self) -> None:
        super().__init__()
        self.locks: list[Any] = []

    def RLock(self) -> Any:  # noqa: N802
        self.locks.append(super().RLock())
        return self.locks[-1]


class Processes(Executor):
    """Processes of this machine (pebble's); one that dies, or is too slow, ends its own task alone."""

    def __init__(self, jobs: int, function: WorkerFunction[..., Any], seconds: float | None) -> None:
        import pebble

        # Its own are a tenth of a second and three seconds: too long for short sentences and for Ctrl-C.
        pebble.CONSTS.sleep_unit, pebble.CONSTS.term_timeout = 0.02, 0.5
        self._context, data = _Spawning(), pickle.dumps(function)
        # What a process reads from this one as it begins is short: it is there, though this one be killed.
        shared = self._context.RawArray("c", len(data))
        shared.raw = data
        self._function, self._seconds = function, seconds
        self.under_way = 2 * jobs + 1
        self._pool = pebble.ProcessPool(jobs, initializer=_begin, initargs=(shared,), context=self._context)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a process do a task."""
        call = _perform if fn is self._function else fn
        # Processes, and the thread that starts others, never hear of Ctrl-C, also not while they begin.
        # The tracker of semaphores, which they need, would change that when it begins.
        with undisturbed():
            resource_tracker.ensure_running()
            usual = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            try:
                future = self._pool.schedule(call, args, kwargs, self._seconds)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        return _followed(future, self._failure)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes."""
        with undisturbed():
            self._pool.stop()  # type: ignore[no-untyped-call]
            self._pool.join()
            self._context.locks.clear()

    def _failure(self, error: BaseException) -> BaseException:
        from pebble import ProcessExpired

        if isinstance(error, TimeoutError):
            return WorkerDied(f"took longer than {self._seconds:g} seconds")
        if isinstance(error, BrokenExecutor):
            return WorkersError(
                "processes ended as they started, or while they had nothing to do",
                remedy="is there memory for so many jobs? With one, no process starts",
            )
        if not isinstance(error, ProcessExpired):
            return error
        code = error.exitcode or 0
        if -code not in set(signal.Signals):
            return WorkerDied(f"worker died (exit code {code})")
        name = signal.Signals(-code).name
        return WorkerDied(f"worker died (killed by {name}{', out of memory?' if name == 'SIGKILL' else ''})")


class Cluster(Executor):
    """The workers of a Dask scheduler, which starts tasks of lost workers anew a few times itself."""

    def __init__(self, scheduler: Scheduler, function: WorkerFunction[..., Any] | None = None) -> None:
        try:
            import distributed
        except ImportError:
            raise WorkersError(
                "a cluster needs Dask, which is not installed",
                remedy="pip install '.[cluster]' in mbrparse's folder",
            ) from None
        try:
            address = scheduler.place
            if "://" not in address and Path(address).is_file():
                address = str(json.loads(Path(address).read_bytes())["address"])
            if "://" not in address:
                raise ValueError("neither an address nor the file of a scheduler")
            self._client = distributed.Client(
                address, timeout=CONNECT_TIMEOUT, set_as_default=False, name="mbrparse"
            )
        except (OSError, ValueError, ImportError, TypeError, KeyError) as error:
            why = next(iter(str(error).splitlines()), type(error).__name__)
            raise WorkersError(
                f"no scheduler answers ({why})",
                source=scheduler.place,
                remedy="give tcp://HOST:PORT, or the file of: dask scheduler --scheduler-file FILE; does it "
                "run, and do the TLS settings of Dask fit?",
            ) from None
        self._function = function
        self._shared = None if function is None else self.share(function)
        self._executor = self._client.get_executor(pure=False)

    @property
    def under_way(self) -> int:
        """Twice the threads of all workers, and some for workers that are still to come."""
        threads: dict[str, int] = self._client.nthreads()
        return 2 * sum(threads.values()) + 16

    def share(self, value: Any) -> Any:
        """The value as a result on the cluster, which workers get from each other."""
        return self._client.submit(_itself, value, pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a worker do a task."""
        call = self._shared if fn is self._function else fn
        return _followed(
            self._executor.submit(_perform_there, program(), call, *args, **kwargs), _failure_there
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection; tasks under way are dropped."""
        self._executor.shutdown(wait=False)
        self._client.close(timeout=CONNECT_TIMEOUT)


def _failure_there(error: BaseException) -> BaseException:
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        return WorkerDied(f"worker died (KilledWorker: {next(iter(str(error).splitlines()))})")
    return WorkersError("the scheduler is gone") if isinstance(error, CancelledError) else error


def _followed(future: Future[Any], failure: Callable[[BaseException], BaseException]) -> Future[Any]:
    """A future with the result of another one, or with what is to be raised for its error."""
    following: Future[Any] = Future()

    def pass_on(done: Future[Any]) -> None:
        error = CancelledError() if done.cancelled() else done.exception()
        if error is None:
            following.set_result(done.result())
        else:
            following.set_exception(failure(error))

    future.add_done_callback(pass_on)
    return following


# What follows runs in workers.

#: The function of this process's tasks, and nothing else.
_functions: list[Callable[..., Any]] = []


def _begin(shared: Any) -> None:
    """Make the function that is pickled there; what that raises, its tasks raise."""
    try:
        _functions[:] = [pickle.loads(shared.raw).made]
    except Exception as error:
        _functions[:] = [partial(_raise, error)]


def _raise(error: Exception, *_: Any) -> None:
    raise error


def _perform(*task: Any, **named: Any) -> Any:
    [function] = _functions
    return function(*task, **named)


def _perform_there(caller: str, function: Callable[..., Any], *task: Any, **named: Any) -> Any:
    if caller != program():
        raise WorkersError(f"a worker of the cluster has another mbrparse: {program()}, not {caller}")
    return function(*task, **named)


def _itself(value: Any) -> Any:
    return value
