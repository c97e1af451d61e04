"""Tasks of similar cost for the workers of a cluster.

A sentence of n words is taken to cost a n + c n^3 seconds. Both coefficients are fitted by least squares to
the seconds that tasks take. A task is up to a minute's work, and less where there would be few tasks for each
worker. If the input's size is known, tasks shrink towards its end, so that all workers end together;
otherwise they grow with what was submitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from mbrparse.run.in_order import Chunk, Part, Task, most_under_way
from mbrparse.run.pool import Pool

#: Seconds of work in a task, at least and at most.
MIN_SECONDS, MAX_SECONDS = 1.0, 60.0
#: Input of unknown size: a worker has had this many tasks of a size before tasks get larger.
TASKS_BEFORE_GROWTH = 8
#: Input of known size: this many tasks of a size are left for each worker. Tasks exceed MAX_SECONDS where the
#: input would be more than MOST_TASKS otherwise.
TASKS_LEFT, MOST_TASKS = 2, 6000
#: Sentences whose text or trees are in memory at a time: a few hundred megabytes.
MOST_SENTENCES = 2**20
#: The sentences of a task until it is known what they cost.
FIRST_SENTENCES = 200
#: After so many tasks they grow, doubling each DOUBLING tasks: there are never ten thousand.
GROWTH_AFTER, DOUBLING = 7000, 250
#: The cubic coefficient until the first task is done: a hundredth of a second for twenty words.
_FIRST_CUBIC = 0.01 / 20**3
#: A task is given up after these seconds and this multiple of its expected time.
_LIMIT_SECONDS, _LIMIT_FACTOR = 600.0, 20.0


class Moments(NamedTuple):
    """The sums of some sentences' lengths, and of the lengths' cubes."""

    linear: float = 0.0
    cubic: float = 0.0


class CostModel:
    """Seconds by length, fitted to what tasks took; neither coefficient is negative."""

    def __init__(self) -> None:
        self._linear, self._cubic = 0.0, _FIRST_CUBIC
        # Sums over tasks: moments, seconds, and products of moments weighted by 1 / seconds.
        self._moments, self._seconds, self._products = np.zeros(2), 0.0, np.zeros((2, 2))

    @property
    def fitted(self) -> bool:
        """Whether anything was learned."""
        return self._seconds > 0

    def expected(self, moments: Moments) -> float:
        """Seconds for sentences with these moments."""
        return self._linear * moments.linear + self._cubic * moments.cubic

    def learn(self, moments: Moments, seconds: float) -> None:
        """Fit the coefficients to one task more; its error is taken to grow with the seconds."""
        if moments.linear <= 0 or seconds <= 0:
            return
        self._moments += moments
        self._seconds += seconds
        self._products += np.outer(moments, moments) / seconds
        linear = cubic = -1.0
        if np.linalg.det(self._products) > 1e-9 * self._products.diagonal().prod():
            linear, cubic = np.linalg.solve(self._products, self._moments).tolist()
        if linear < 0:
            linear, cubic = 0.0, self._seconds / float(self._moments[1])
        elif cubic < 0:
            linear, cubic = self._seconds / float(self._moments[0]), 0.0
        self._linear, self._cubic = linear, cubic


class Packer:
    """Packs chunks into tasks as the pool asks for them, and learns from the seconds that tasks take."""

    def __init__(
        self,
        pool: Pool,
        chunks: Iterable[Chunk],
        sentence_ends: Callable[[Chunk], Iterable[tuple[int, int]]],
        to_come: Callable[[], float | None] = lambda: None,
    ) -> None:
        """``sentence_ends`` yields where a chunk's sentences end among its lines, and their lengths.

        ``to_come`` returns the ratio of the input that is still to come to what was read, or None.
        """
        self._pool = pool
        self._chunks = chunks
        self._sentence_ends = sentence_ends
        self._to_come = to_come
        self._tasks = 0
        self._submitted = Moments()
        self.costs = CostModel()

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, in the order of the sentences."""
        parts: list[Part] = []
        sentences, moments = 0, Moments()
        seconds, count = self._size()
        for chunk in self._chunks:
            begin = 0
            for end, length in self._sentence_ends(chunk):
                sentences += 1
                moments = Moments(moments.linear + length, moments.cubic + length**3)
                if sentences >= count or self.costs.expected(moments) >= seconds:
                    parts.append(_part(chunk, begin, end))
                    yield self._task(parts, moments)
                    begin, parts, sentences, moments = end, [], 0, Moments()
                    seconds, count = self._size()
            if begin < len(chunk.lines):
                parts.append(_part(chunk, begin, len(chunk.lines)))
        if parts:
            yield self._task(parts, moments)

    def _task(self, parts: list[Part], moments: Moments) -> Task:
        self._tasks += 1
        before = self._submitted
        self._submitted = Moments(before.linear + moments.linear, before.cubic + moments.cubic)
        return Task(tuple(parts), partial(self.costs.learn, moments), partial(self._limit, moments))

    def _limit(self, moments: Moments) -> float | None:
        """After how many seconds a task is given up, once it is known what tasks take."""
        return _LIMIT_SECONDS + _LIMIT_FACTOR * self.costs.expected(moments) if self.costs.fitted else None

    def _size(self) -> tuple[float, float]:
        """The seconds and the sentences of the next task."""
        before = self.costs.expected(self._submitted)
        workers = max(1, self._pool.size)
        growth = 2.0 ** max(0.0, (self._tasks - GROWTH_AFTER) / DOUBLING)
        to_come = self._to_come()
        if to_come is None:
            seconds = max(MIN_SECONDS, min(MAX_SECONDS, before / (TASKS_BEFORE_GROWTH * workers)))
        else:
            left = before * max(0.0, to_come)
            most = max(MAX_SECONDS, (before + left) / MOST_TASKS)
            seconds = max(MIN_SECONDS, min(most, left / (TASKS_LEFT * workers)))
        sentences = MOST_SENTENCES / most_under_way(self._pool) if self.costs.fitted else FIRST_SENTENCES
        return growth * seconds, growth * max(16, sentences)


def _part(chunk: Chunk, begin: int, end: int) -> Part:
    """Some lines of a chunk, that hold whole sentences."""
    lines = chunk.lines[begin:end]
    return Part(
        chunk._replace(first_line=chunk.first_line + begin, lines=lines), ends=end == len(chunk.lines)
    )
