"""Chunks of sentences on several workers, results in order; a sentence that workers die of is found."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import NamedTuple, TypeAlias, TypeVar

from mbrparse.decode.sentences import Batch, Chunk, batch_of
from mbrparse.reporting import Tell
from mbrparse.workers.pool import Pool, WorkerDied
from mbrparse.workers.work import Work

Line = TypeVar("Line")

DIED = "worker died"


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


#: What a worker is given at a time, and what it gives back: the lines of each part.
Parts: TypeAlias = tuple[Part, ...]


def in_order(
    pool: Pool,
    work: Work[Parts, list[list[Line]]],
    tasks: Iterable[Parts],
    refused: Callable[[Batch], list[Line]],
    tell: Tell,
) -> Iterator[list[Line]]:
    """Yield the lines of each chunk's sentences, in the order of the chunks.

    What a worker died of is tried once more; then it is halved, until one sentence is left, which gets the
    line of ``refused`` where it is the end of two workers by itself.
    """
    waiting: deque[tuple[Parts, int, Future[list[list[Line]]]]] = deque()
    stream = iter(tasks)
    held: list[Line] = []
    done = 0
    while True:
        # Few tasks under way: memory stays flat however long the input.
        while len(waiting) < under_way(pool) and (parts := next(stream, None)) is not None:
            waiting.append((parts, 0, pool.submit(work, parts)))
        if not waiting:
            return
        parts, deaths, future = waiting.popleft()
        try:
            found = future.result()
        except WorkerDied as death:
            sizes = [len(part.batch().sentences) for part in parts]
            count, deaths = sum(sizes), deaths + 1
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
                waiting.extendleft(reversed([(one, past, pool.submit(work, one)) for one, past in again]))
                continue
        for part, lines in zip(parts, found, strict=True):
            done += len(lines)
            held += lines
            if part.ends:
                yield held
                held = []


def under_way(pool: Pool) -> int:
    """How many tasks are handed out at a time: one is worked at, and one waits for each worker."""
    return 1 if pool.size == 1 and not pool.far else 2 * pool.size + 1


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
