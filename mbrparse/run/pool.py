"""The interface of all pools of workers, a ``concurrent.futures.Executor``, and the functions of tasks.

A pool may be a cluster's, whose scheduler is the value of ``--scheduler``.
"""

from __future__ import annotations

import ipaddress
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

from mbrparse.errors import MbrparseError
from mbrparse.state_files import SchemaError, read_state

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class WorkersError(MbrparseError):
    """Workers cannot be started or reached, or cannot do the tasks."""


class WorkerDied(Exception):  # noqa: N818  # the usual expression for processes
    """The worker that had a task ended before the task was done; the text says how.

    ``deaths`` is the number of workers that ended so.
    """

    def __init__(self, how: str, deaths: int = 1) -> None:
        super().__init__(how)
        self.deaths = deaths


class TaskFunction(Generic[Arguments, Result]):
    """A function of tasks that each worker makes once: a parser with its grammar, for instance.

    ``make`` is sent to each worker and returns the function there. ``local`` is the same function if this
    process has it already. ``prepare`` is called here before workers of this machine start, so that they
    find the kernels compiled, for instance.
    """

    def __init__(
        self,
        make: Callable[[], Callable[Arguments, Result]],
        local: Callable[Arguments, Result] | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self.make = make
        self.prepare = prepare
        self._local = local

    def __call__(self, *task: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Do a task in this process."""
        if self._local is None:
            self._local = self.make()
        return self._local(*task, **named)


class Pool(Executor):
    """Workers, to be used in a ``with`` block; its end abandons what is under way."""

    #: How many tasks were retried because their worker was lost.
    retries: int = 0
    #: Whether tasks travel to other machines, so that they should be few and large.
    remote: bool = False

    @property
    @abstractmethod
    def size(self) -> int:
        """How many tasks can run at once just now."""

    def completed(self, futures: list[Future[Result]]) -> Iterator[Future[Result]]:
        """Yield futures of this pool as they are done; the list may grow meanwhile."""
        while futures:
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                futures.remove(future)
                yield future

    def share(self, value: Any) -> Any:
        """Return what to submit in place of a value of many tasks, so that each worker gets it once."""
        return value

    def group(self, costs: Sequence[float]) -> list[range]:
        """Which neighbours among items of these costs to submit as one task: by default each item is one."""
        return [range(place, place + 1) for place in range(len(costs))]

    def abandon(self, future: Future[Any], why: str) -> None:
        """End the worker of a task that takes too long, where that can be done."""

    def __exit__(self, *error: object) -> None:
        self.shutdown(wait=False, cancel_futures=True)


class CallerRunFuture(Future[Result]):
    """A future whose caller does what is to be done for it while waiting.

    ``seconds`` is how long the task took, where that was measured.
    """

    seconds: float | None = None

    @abstractmethod
    def finish(self, timeout: float | None) -> None:
        """Wait for the result and set it, or an exception; raises TimeoutError, or WorkersError."""

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the result; raises what the task raised, TimeoutError, or WorkersError."""
        if not self.done():
            self.finish(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the task's exception, if there is one."""
        if not self.done():
            self.finish(timeout)
        return super().exception(0)


_HOW_WRITTEN = "the file of: dask scheduler --scheduler-file FILE"
_ADDRESS = re.compile(r"(?:tcp|tls|ucx|wss?|inproc)://.+|[\w.-]+:[0-9]+|\[[0-9a-f:]+\]:[0-9]+")


@dataclass(frozen=True)
class Scheduler:
    """A Dask scheduler, by its address (``tcp://host:8786``) or the file that it wrote (scheduler.json)."""

    place: str

    def __str__(self) -> str:
        return self.place

    @property
    def exposed(self) -> bool:
        """Whether its address is neither loopback nor ``tls://``: others may run code by it."""
        scheme, _, host = self.address().rpartition("://")
        host = host.rpartition(":")[0].strip("[]")
        if scheme not in ("", "tcp", "ucx", "ws") or host == "localhost":
            return False
        try:
            return not ipaddress.ip_address(host).is_loopback
        except ValueError:  # a name
            return True

    def address(self) -> str:
        """Its present address: a scheduler that is restarted writes its file anew.

        Raises FileError for a file that is not a scheduler's, WorkersError for a malformed address.
        """
        path = Path(self.place)
        if "://" not in self.place and path.exists():
            found = read_state(path, _check_file, "a scheduler's file", f"give {_HOW_WRITTEN}")
            return str(found["address"])
        if _ADDRESS.fullmatch(self.place):
            return self.place
        raise WorkersError(
            "neither a scheduler's address nor its file",
            source=self.place,
            remedy=f"give tcp://HOST:PORT, or {_HOW_WRITTEN}",
        )


def _check_file(content: dict[str, Any]) -> None:
    if not isinstance(content.get("address"), str):
        raise SchemaError("it names no address")
