"""Sentences through a pool of workers, their lines in order; a sentence that kills workers is found."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from mbrparse.log import Log
from mbrparse.run.pool import CallerRunFuture, Pool, TaskFunction, WorkerDied

Line = TypeVar("Line")
Result = TypeVar("Result")

WORKER_DIED = "worker died"
#: Seconds between two looks at a task's time limit.
_TICK = 1.0


class Chunk(NamedTuple):
    """Whole sentences as lines of text, which are cheap to send; workers read them.

    The sentences of a chunk that is not ``wanted`` are only counted.
    """

    source: str
    first_line: int
    form: Literal["trees", "tokens", "text"]
    lines: list[str]
    wanted: bool = True


class Part(NamedTuple):
    """The sentences of a chunk from ``first`` up to ``last`` (None: its end).

    ``ends``: whether the input's chunk ends with them.
    """

    chunk: Chunk
    first: int = 0
    last: int | None = None
    ends: bool = True


#: What a worker gets at a time; it returns the lines of each part.
Parts: TypeAlias = tuple[Part, ...]


class Task(NamedTuple):
    """Parts to submit.

    ``learn`` is called with the seconds that they took, ``limit`` returns how many seconds they may take.
    """

    parts: Parts
    learn: Callable[[float], None] | None = None
    limit: Callable[[], float | None] | None = None


def in_order(
    pool: Pool,
    function: TaskFunction[[Parts], list[list[Line]]],
    tasks: Iterable[Task],
    count: Callable[[Part], int],
    refused: Callable[[Part], list[Line]],
    log: Log,
) -> Iterator[list[Line]]:
    """Yield the lines of each chunk's sentences, in the order of the chunks.

    ``count`` returns the number of a part's sentences. A task whose worker died is retried once. If its
    worker dies again, it is halved, until one sentence is left, which gets the line of ``refused`` if two
    workers died of it alone.
    """
    waiting: deque[tuple[Task, int, Future[list[list[Line]]]]] = deque()
    stream = iter(tasks)
    lines: list[Line] = []
    done = 0
    while True:
        # Few tasks are under way, so that memory does not grow with the input.
        while len(waiting) < most_under_way(pool) and (task := next(stream, None)) is not None:
            waiting.append((task, 0, pool.submit(function, task.parts)))
        if not waiting:
            return
        task, deaths, future = waiting.popleft()
        parts = task.parts
        try:
            found = _result(pool, future, task.limit)
        except WorkerDied as death:
            sizes = list(map(count, parts))
            size, deaths = sum(sizes), deaths + death.deaths
            if deaths > 1 and size == 1:
                log(f"sentence {done + 1} falls back: {WORKER_DIED} twice ({death})")
                found = list(map(refused, parts))
            else:
                where = f"sentence {done + 1}" if size == 1 else f"sentences {done + 1} to {done + size}"
                log(f"{WORKER_DIED} ({death}) in {where}, retried" + (" in halves" if deaths > 1 else ""))
                # A half is halved at its first death; a single sentence is retried once.
                again = [(parts, 1)] if deaths == 1 else [(p, int(n > 1)) for p, n in _halves(parts, sizes)]
                waiting.extendleft(
                    (Task(one, limit=task.limit), before, pool.submit(function, one))
                    for one, before in reversed(again)
                )
                continue
        if task.learn is not None and isinstance(future, CallerRunFuture) and future.seconds is not None:
            task.learn(future.seconds)
        for part, more in zip(parts, found, strict=True):
            done += len(more)
            lines += more
            if part.ends:
                yield lines
                lines = []


def most_under_way(pool: Pool) -> int:
    """How many tasks are submitted at a time: one runs, and one waits for each worker.

    On a cluster times differ more, and results behind the slowest task wait for it.
    """
    if pool.remote:
        return 2 * pool.size + 2
    return 1 if pool.size == 1 else 2 * pool.size + 1


def _result(pool: Pool, future: Future[Result], limit: Callable[[], float | None] | None) -> Result:
    """Wait for a result while there are workers; a task that exceeds its limit is abandoned."""
    waited = 0.0
    while limit is not None and not future.done():
        before = time.monotonic()
        with suppress(TimeoutError):
            return future.result(_TICK)
        # The time for which the scheduler was gone does not count.
        waited += min(time.monotonic() - before, 2 * _TICK) if pool.size else 0.0
        most = limit()
        if most is not None and waited > most:
            pool.abandon(future, f"no answer in {most:.0f} seconds")
    return future.result()


def _halves(parts: Parts, sizes: list[int]) -> list[tuple[Parts, int]]:
    """Both halves with their numbers of sentences; several parts are cut between two of them."""
    if len(parts) > 1:
        middle = len(parts) // 2
        return [(parts[:middle], sum(sizes[:middle])), (parts[middle:], sum(sizes[middle:]))]
    [part], [count] = parts, sizes
    middle, last = part.first + count // 2, part.first + count
    return [
        ((part._replace(last=middle, ends=False),), middle - part.first),
        ((part._replace(first=middle, last=last),), last - middle),
    ]
