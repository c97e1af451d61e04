"""What chunks of sentences cost, and how they are packed for workers that are far away.

A sentence of n words is taken to cost a n + c n^3 seconds; a and c are fitted on the way, by least squares
with the seconds that workers report. Tasks are packed to cost the same: up to a minute's work, less where
that would be few for each worker. Of an input of known size they get smaller towards its end, so that all
workers end together; of another, they grow with what was handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from mbrparse.decode.parallel import Part, Task, under_way
from mbrparse.decode.sentences import Chunk, stretches
from mbrparse.workers.pool import Pool

#: Seconds of work in a task, at least and at most.
FIRST, MOST = 1.0, 60.0
#: Where the input's size is not known: how many tasks of its size each worker has had by then.
HAD = 8
#: Where it is: how many of its size are left for each; and of how many tasks in all the larger ones are.
LEFT, ALL = 2, 6000
#: Sentences whose text or trees are held here at a time: a few hundred megabytes.
HELD = 2**20
#: Of so many sentences are tasks until it is known what they cost.
UNKNOWN = 200
#: After so many tasks they grow, to twice the size each so many more: there are never ten thousand of them.
MANY, DOUBLES = 7000, 250
#: A guess until the first task is done: a hundredth of a second for twenty words.
_GUESS = 0.01 / 20**3
#: A task is given up after so many seconds, and so many times what was expected of it.
_GENEROUS, _TIMES = 600.0, 20.0


class Moments(NamedTuple):
    """Of the lengths of some sentences: how many there are, and the sums of lengths and of their cubes."""

    sentences: int = 0
    linear: float = 0.0
    cubic: float = 0.0

    def plus(self, other: Moments) -> Moments:
        """Of both together."""
        return Moments(self.sentences + other.sentences, self.linear + other.linear, self.cubic + other.cubic)


class CostModel:
    """Seconds by length, from what tasks have taken; both coefficients are never negative."""

    def __init__(self) -> None:
        self._linear, self._cubic = 0.0, _GUESS
        # Weighted normal equations, and plain sums for where they say nothing.
        self._squares = [0.0, 0.0, 0.0]
        self._products = [0.0, 0.0]
        self._sums = [0.0, 0.0, 0.0]
        self.fitted = False

    def expected(self, linear: float, cubic: float) -> float:
        """Seconds for sentences whose lengths, and their cubes, have these sums."""
        return self._linear * linear + self._cubic * cubic

    def learn(self, moments: Moments, seconds: float) -> None:
        """Take note of what a task took; the error of a long one is larger."""
        if moments.linear <= 0 or seconds <= 0:
            return
        x, y = moments.linear, moments.cubic
        weight = 1.0 / seconds
        for place, value in enumerate((x * x, x * y, y * y)):
            self._squares[place] += weight * value
        for place, value in enumerate((x, y)):
            self._products[place] += weight * value * seconds
        for place, value in enumerate((x, y, seconds)):
            self._sums[place] += value
        self._solve()
        self.fitted = True

    def _solve(self) -> None:
        xx, xy, yy = self._squares
        xs, ys = self._products
        determinant = xx * yy - xy * xy
        linear, cubic = -1.0, -1.0
        if determinant > 1e-9 * xx * yy:
            linear, cubic = (xs * yy - ys * xy) / determinant, (ys * xx - xs * xy) / determinant
        total_x, total_y, seconds = self._sums
        if linear < 0:
            linear, cubic = 0.0, seconds / total_y
        elif cubic < 0:
            linear, cubic = seconds / total_x, 0.0
        self._linear, self._cubic = linear, cubic


class Packer:
    """Packs chunks for a pool, as it asks for them, and learns from what tasks take."""

    def __init__(
        self, pool: Pool, chunks: Iterable[Chunk], to_come: Callable[[], float | None] = lambda: None
    ) -> None:
        """``to_come``: how many times what was taken of the chunks they hold still, where that is known."""
        self._pool = pool
        self._chunks = chunks
        self._to_come = to_come
        self._tasks = 0
        self._handed_out = Moments()
        self.costs = CostModel()

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, in the order of the sentences."""
        held: list[Part] = []
        sentences = linear = cubic = 0
        seconds, count = self._size()
        costs = self.costs
        for chunk in self._chunks:
            begin = 0
            for end, length in stretches(chunk):
                sentences += 1
                linear += length
                cubic += length**3
                if sentences >= count or costs.expected(linear, cubic) >= seconds:
                    held.append(_piece(chunk, begin, end))
                    yield self._task(held, Moments(sentences, linear, cubic))
                    begin, held, sentences, linear, cubic = end, [], 0, 0, 0
                    seconds, count = self._size()
            if begin < len(chunk.lines):
                held.append(_piece(chunk, begin, len(chunk.lines)))
        if held:
            yield self._task(held, Moments(sentences, linear, cubic))

    def _task(self, held: list[Part], moments: Moments) -> Task:
        self._tasks += 1
        self._handed_out = self._handed_out.plus(moments)
        return Task(tuple(held), partial(self.costs.learn, moments), partial(self._limit, moments))

    def _limit(self, moments: Moments) -> float | None:
        """After how many seconds a task is given up, once it is known what tasks take."""
        return (
            _GENEROUS + _TIMES * self.costs.expected(moments.linear, moments.cubic)
            if self.costs.fitted
            else None
        )

    def _size(self) -> tuple[float, float]:
        """How many seconds, and how many sentences, the next task should have."""
        before = self.costs.expected(self._handed_out.linear, self._handed_out.cubic)
        workers = max(1, self._pool.size)
        growth = 2.0 ** max(0.0, (self._tasks - MANY) / DOUBLES)
        to_come = self._to_come()
        if to_come is None:
            seconds = max(FIRST, min(MOST, before / (HAD * workers)))
        else:
            left = before * max(0.0, to_come)
            seconds = max(FIRST, min(max(MOST, (before + left) / ALL), left / (LEFT * workers)))
        most = HELD / under_way(self._pool) if self.costs.fitted else UNKNOWN
        return growth * seconds, growth * max(16, most)


def _piece(chunk: Chunk, begin: int, end: int) -> Part:
    """Some lines of a chunk, that hold whole sentences."""
    lines = chunk.lines[begin:end]
    return Part(
        chunk._replace(first_line=chunk.first_line + begin, lines=lines), ends=end == len(chunk.lines)
    )
