"""Chunks of sentences on several workers, results in order; a sentence that workers die of is found."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeAlias, TypeVar

from mbrparse.decode.sentences import Batch, Chunk, batch_of
from mbrparse.reporting import Tell
from mbrparse.workers.pool import Awaited, Pool, WorkerDied
from mbrparse.workers.work import Work

Line = TypeVar("Line")
Result = TypeVar("Result")

DIED = "worker died"
#: Seconds between two looks at the clock.
_TICK = 1.0


class Part(NamedTuple):
    """Some sentences of a chunk: those from ``first`` up to ``last`` (None: its end).

    ``ends``: whether the input's chunk ends with them.
    """

    chunk: Chunk
    first: int = 0
    last: int | None = None
    ends: bool = True

    def batch(self) -> Batch:
        """The sentences; raises BracketError."""
        whole = batch_of(self.chunk, 0)
        return whole._replace(sentences=whole.sentences[self.first : self.last])


#: What a worker is given at a time; it gives the lines of each part back.
Parts: TypeAlias = tuple[Part, ...]


class Task(NamedTuple):
    """What is handed out: ``learn`` is told how many seconds it took, ``limit`` says how many it may."""

    parts: Parts
    learn: Callable[[float], None] | None = None
    limit: Callable[[], float | None] | None = None


def in_order(
    pool: Pool,
    work: Work[[Parts], list[list[Line]]],
    tasks: Iterable[Task],
    refused: Callable[[Batch], list[Line]],
    tell: Tell,
) -> Iterator[list[Line]]:
    """Yield the lines of each chunk's sentences, in the order of the chunks.

    What a worker died of is tried once more; then it is halved, until one sentence is left, which gets the
    line of ``refused`` where it is the end of two workers by itself.
    """
    waiting: deque[tuple[Task, int, Awaited[list[list[Line]]]]] = deque()
    stream = iter(tasks)
    held: list[Line] = []
    done = 0
    while True:
        # Few tasks under way: memory stays flat however long the input.
        while len(waiting) < under_way(pool) and (task := next(stream, None)) is not None:
            waiting.append((task, 0, pool.submit(work, task.parts)))
        if not waiting:
            return
        task, deaths, future = waiting.popleft()
        parts = task.parts
        try:
            found = _result(pool, future, task.limit)
        except WorkerDied as death:
            sizes = [len(part.batch().sentences) for part in parts]
            count, deaths = sum(sizes), deaths + death.deaths
            if deaths > 1 and count == 1:
                tell(f"sentence {done + 1} falls back: {DIED} twice ({death})")
                found = [refused(part.batch()) for part in parts]
            else:
                tell(
                    f"{DIED} ({death}) in {_numbers(done + 1, count)}, parsed again"
                    + (" in halves" if deaths > 1 else "")
                )
                # A half is halved at its first death; a sentence by itself has two.
                again = (
                    [(parts, 1)]
                    if deaths == 1
                    else [(half, int(size > 1)) for half, size in _halves(parts, sizes)]
                )
                waiting.extendleft(
                    (Task(one, limit=task.limit), past, pool.submit(work, one))
                    for one, past in reversed(again)
                )
                continue
        if task.learn is not None and future.seconds is not None:
            task.learn(future.seconds)
        for part, lines in zip(parts, found, strict=True):
            done += len(lines)
            held += lines
            if part.ends:
                yield held
                held = []


def under_way(pool: Pool) -> int:
    """How many tasks are handed out at a time: one is worked at, and one waits for each worker.

    Those of workers that are far away differ more, and what is behind the slowest of them waits to be told.
    """
    if pool.far:
        return 2 * pool.size + 2
    return 1 if pool.size == 1 else 2 * pool.size + 1


def _result(pool: Pool, future: Awaited[Result], limit: Callable[[], float | None] | None) -> Result:
    """Wait for a result, as long as there are workers; one that takes too long is taken for dead."""
    waited = 0.0
    while limit is not None and not future.done():
        before = time.monotonic()
        with suppress(TimeoutError):
            return future.result(_TICK)
        # Not the time for which the scheduler was gone.
        waited += min(time.monotonic() - before, 2 * _TICK) if pool.size else 0.0
        most = limit()
        if most is not None and waited > most:
            pool.abandon(future, f"no answer in {most:.0f} seconds")
    return future.result()


def _halves(parts: Parts, sizes: list[int]) -> list[tuple[Parts, int]]:
    """Both, and how many sentences they have; what has several parts is cut between two of them."""
    if len(parts) > 1:
        middle = len(parts) // 2
        return [(parts[:middle], sum(sizes[:middle])), (parts[middle:], sum(sizes[middle:]))]
    [part], [count] = parts, sizes
    middle, last = part.first + count // 2, part.first + count
    return [
        ((part._replace(last=middle, ends=False),), middle - part.first),
        ((part._replace(first=middle, last=last),), last - middle),
    ]


def _numbers(first: int, count: int) -> str:
    return f"sentence {first}" if count == 1 else f"sentences {first} to {first + count - 1}"
