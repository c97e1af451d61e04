"""Rounds of EM for a grammar with states on observed trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.clock import NO_LIMIT
from mbrparse.charts.base.rule_tables import Floats
from mbrparse.run.pool import Pool, TaskFunction, WorkerDied, WorkersError
from mbrparse.training.split_merge.state_grammar import Layout, StateGrammar
from mbrparse.training.split_merge.state_kernels import Pairs, StateTables, expect_trees
from mbrparse.training.split_merge.tree_arrays import TreeArrays

# The trees are so many parts, whose sums are added in order: so sums do not depend on the number of jobs.
_PARTS = 8
#: Probabilities below this become zero, as they would in a few rounds more.
SMALLEST = 1e-30
#: A change of probabilities by their layout, in place, after each round: smoothing.
Change = Callable[[Layout, Floats], None]
_NO_PAIRS = Pairs(np.zeros(1, np.int32), np.zeros(0), np.zeros(0))


class Expected(NamedTuple):
    """Sums over all trees."""

    counts: Floats  # by number of the layout, expected counts divided by the probability
    loss: Floats  # as ``Pairs`` has them
    log_likelihood: float
    left_out: int  # trees without a derivation


class Round(NamedTuple):
    """A round's result: the log likelihood is that of the grammar before it."""

    before: StateGrammar
    layout: Layout
    values: Floats
    log_likelihood: float
    left_out: int  # trees without a derivation

    def grammar(self) -> StateGrammar:
        """The grammar after it."""
        return self.before.changed(self.before.states, self.layout.blocks(self.before, self.values))


class Expectation:
    """The E step on some trees, by the workers of a pool."""

    def __init__(self, trees: TreeArrays, pool: Pool) -> None:
        self._pool = pool
        ends = np.searchsorted(trees.first, np.linspace(0, trees.first[-1], _PARTS + 1)[1:])
        self._parts = [
            (begin, end) for begin, end in zip([0, *ends[:-1]], ends.tolist(), strict=True) if end > begin
        ]
        self._work = TaskFunction(partial(partial, _sums, trees))

    def expect(self, layout: Layout, values: Floats, pairs: Pairs = _NO_PAIRS) -> Expected:
        """The sums for these probabilities."""
        shared = self._pool.share((layout.tables._replace(value=values), pairs))
        futures = [self._pool.submit(self._work, part, shared) for part in self._parts]
        try:
            return reduce(_added, (future.result() for future in futures))
        except WorkerDied as death:
            raise WorkersError(
                f"workers died ({death}) of a part of the training trees",
                remedy="have they memory enough? --resume goes on after the last whole cycle",
            ) from None


def _added(total: Expected, more: Expected) -> Expected:
    """The sum of two, whose arrays are the first's."""
    np.add(total.counts, more.counts, out=total.counts)
    np.add(total.loss, more.loss, out=total.loss)
    return Expected(
        total.counts,
        total.loss,
        total.log_likelihood + more.log_likelihood,
        total.left_out + more.left_out,
    )


def _sums(trees: TreeArrays, part: tuple[int, int], shared: tuple[StateTables, Pairs]) -> Expected:
    tables, pairs = shared
    sums = np.zeros(len(tables.value))
    mine = pairs._replace(loss=np.zeros_like(pairs.loss))
    log_probs = expect_trees(trees, tables, mine, *part, sums, NO_LIMIT.stop)
    NO_LIMIT.check()  # sums are of no use where it was interrupted
    derived = np.isfinite(log_probs)
    return Expected(sums, mine.loss, float(log_probs[derived].sum()), int((~derived).sum()))


def rounds(step: Expectation, grammar: StateGrammar, change: Change | None = None) -> Iterator[Round]:
    """Yield the results of one round of EM after the other; all share the array of values."""
    layout = Layout.of(grammar)
    values = layout.tables.value
    while True:
        found = step.expect(layout, values)
        values *= found.counts
        maximize(layout, values)
        if change is not None:
            change(layout, values)
        yield Round(grammar, layout, values, found.log_likelihood, found.left_out)


def maximize(layout: Layout, counts: Floats) -> None:
    """The M step, in place: each parent's state has a sum of one, or of zero if it was never used."""
    for block in layout.of_parents(counts):
        total = block.sum(axis=0)
        np.multiply(block, np.divide(1.0, total, out=np.zeros_like(total), where=total > 0), out=block)
        block[block < SMALLEST] = 0.0
