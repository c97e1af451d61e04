"""Chunks of sentences on several processes, results in order; a sentence that processes die of is found."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import NamedTuple, TypeVar

from mbrparse.decode.sentences import Batch, Chunk, batch_of
from mbrparse.reporting import Tell
from mbrparse.workers import WorkerDied, Workers

Line = TypeVar("Line")

DIED = "worker died"


class Part(NamedTuple):
    """Some sentences of a chunk: those from ``first`` up to ``last`` (None: its end)."""

    chunk: Chunk
    first: int = 0
    last: int | None = None

    def batch(self) -> Batch:
        """The sentences; raises BracketError."""
        whole = batch_of(self.chunk, 0)
        return whole._replace(sentences=whole.sentences[self.first : self.last])


def in_order(
    workers: Workers[Part, list[Line]],
    chunks: Iterator[Chunk],
    under_way: int,
    refused: Callable[[Batch], list[Line]],
    tell: Tell,
) -> Iterator[Line]:
    """Yield the lines of each chunk's sentences, no more than ``under_way`` chunks at a time.

    What a process died of is tried once more; then it is halved, until one sentence is left, which gets the
    line of ``refused`` where it is the end of two processes by itself.
    """
    waiting: deque[tuple[Part, int, Future[list[Line]]]] = deque()

    done = 0
    while True:
        # Few chunks under way: memory stays flat however long the input.
        while len(waiting) < under_way and (chunk := next(chunks, None)) is not None:
            part = Part(chunk)
            waiting.append((part, 0, workers.submit(part)))
        if not waiting:
            return
        part, deaths, future = waiting.popleft()
        try:
            lines = workers.result(future)
        except WorkerDied as death:
            batch = part.batch()
            count, deaths = len(batch.sentences), deaths + 1
            if deaths > 1 and count == 1:
                tell(f"sentence {done + 1} falls back: {DIED} twice ({death})")
                lines = refused(batch)
            else:
                tell(
                    f"{DIED} ({death}) in {_numbers(done + 1, count)}, parsed again"
                    + (" in halves" if deaths > 1 else "")
                )
                # A half is halved at its first death; a sentence by itself has two.
                again = (
                    [(part, 1)]
                    if deaths == 1
                    else [(half, int(size > 1)) for half, size in _halves(part, count)]
                )
                waiting.extendleft(reversed([(one, past, workers.submit(one)) for one, past in again]))
                continue
        done += len(lines)
        yield from lines


def _halves(part: Part, count: int) -> list[tuple[Part, int]]:
    """Both, and how many sentences they have."""
    middle, last = part.first + count // 2, part.first + count
    return [
        (part._replace(last=middle), middle - part.first),
        (part._replace(first=middle, last=last), last - middle),
    ]


def _numbers(first: int, count: int) -> str:
    return f"sentence {first}" if count == 1 else f"sentences {first} to {first + count - 1}"
