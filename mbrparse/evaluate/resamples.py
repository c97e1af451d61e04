"""Resamples of a table of counts, block after block, here or by workers: the same numbers whoever draws them.

Arrays are [sentence, file, criterion] unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbrparse.evaluate.columns import Floats
from mbrparse.evaluate.criteria import quotients

if TYPE_CHECKING:
    from mbrparse.workers.pool import Pool

#: How many weights are held at once: 32 MB.
_CELLS = 2**22
#: Differences that rounding alone makes unequal count as equal.
EQUAL = 1e-12


class Bootstrap:
    """Sentences drawn with replacement: the rates of each resample."""

    def __init__(self, above: Floats, below: Floats) -> None:
        self._sides = above, below
        self.sentences = len(above)

    def draw(self, random: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Which sentences are taken, [resample, sentence]."""
        return random.integers(0, self.sentences, size=(size, self.sentences))

    def found(self, drawn: NDArray[Any]) -> Floats:
        """The rates of a block, [resample, file, criterion]."""
        size, sentences = drawn.shape
        drawn += np.arange(size)[:, None] * sentences
        weights = np.bincount(drawn.ravel(), minlength=size * sentences).reshape(size, sentences)
        return quotients(*(_weighted(weights.astype(float), side) for side in self._sides))


class Randomization:
    """Sentences of two files swapped by chance: how many swaps differ as much as what was observed."""

    def __init__(self, above: Floats, below: Floats, observed: Floats) -> None:
        self._sides = above, below
        self._observed = observed
        self.sentences = len(above)

    def draw(self, random: np.random.Generator, size: int) -> NDArray[np.bool_]:
        """Which sentences are swapped, [resample, sentence]."""
        return random.random((size, self.sentences), dtype=np.float32) < 0.5

    def found(self, drawn: NDArray[Any]) -> NDArray[np.int64]:
        """The counts of a block, [file, file, criterion], each pair once."""
        above, below = self._sides
        _, files, criteria = above.shape
        extreme = np.zeros((files, files, criteria), dtype=int)
        totals = above.sum(axis=0), below.sum(axis=0)
        swapped = drawn.astype(float)
        for one in range(files):
            for other in range(one):
                moved = [swapped @ (side[:, other] - side[:, one]) for side in self._sides]
                rates = [
                    quotients(totals[0][file] + sign * moved[0], totals[1][file] + sign * moved[1])
                    for file, sign in ((one, 1), (other, -1))
                ]
                least = np.abs(self._observed[one] - self._observed[other]) - EQUAL
                extreme[one, other] += (~(np.abs(rates[0] - rates[1]) < least)).sum(axis=0)
        return extreme


def of_blocks(
    how: Bootstrap | Randomization, resamples: int, random: np.random.Generator, pool: Pool | None
) -> Iterator[Any]:
    """Yield what is found of each block of resamples, in their order.

    A worker draws again what is drawn here, where it tells in what state the next block begins. Raises
    WorkersError where workers die of it.
    """
    sizes = list(_blocks(resamples, how.sentences))
    if pool is None or not pool.far:
        yield from (how.found(how.draw(random, size)) for size in sizes)
        return
    from mbrparse.workers.pool import WorkerDied, WorkersError
    from mbrparse.workers.work import Work

    work = Work(partial(_Redrawn, how))
    futures = []
    for size in sizes:
        futures.append(pool.submit(work, random.bit_generator.state, size))
        how.draw(random, size)
    for future in futures:
        try:
            yield future.result()
        except WorkerDied as death:
            raise WorkersError(
                f"workers died of resamples ({death})", remedy="evaluate without --scheduler"
            ) from None


class _Redrawn:
    """Blocks of resamples, in a worker."""

    def __init__(self, how: Bootstrap | Randomization) -> None:
        self._how = how

    def __call__(self, state: Any, size: int) -> Any:
        random = np.random.default_rng()
        random.bit_generator.state = state
        return self._how.found(self._how.draw(random, size))


def _weighted(weights: Floats, side: Floats) -> Floats:
    return (weights @ side.reshape(len(side), -1)).reshape(len(weights), *side.shape[1:])


def _blocks(resamples: int, sentences: int) -> Iterator[int]:
    """How many resamples to make at a time, so that memory stays bounded."""
    most = max(1, _CELLS // sentences)
    for done in range(0, resamples, most):
        yield min(most, resamples - done)
