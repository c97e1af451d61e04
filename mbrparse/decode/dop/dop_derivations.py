"""Derivations of sentences by a DOP grammar: samples, and the k most probable in exact order.

As for the most probable one, equal subtrees of the treebank are one, and fragments of different subtrees are
different derivations, though they look alike. Those of one score come in the order of addresses, of splits,
and of what ends at children before what goes on.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.candidates.k_best import KBest
from mbrparse.decode.candidates.lazy_search import SCALE, Alternative, LazySearch, Order
from mbrparse.decode.candidates.samples import Samples, generator
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.dop.dop_charts import DopCharts, Filled
from mbrparse.grammar.charts.dop.dop_descent import BEGINS, DopCompositions
from mbrparse.grammar.charts.dop.dop_draws import Sums, dop_draw
from mbrparse.grammar.pcfg import IntArray

# A node and the address that a fragment goes on with there, or BEGINS.
_Vertex = tuple[int, int]
_ROOT = (-1, BEGINS)


class DopKBestSearch:
    """Finds the k best derivations of sentences."""

    def __init__(self, charts: DopCharts, clock: Clock = NO_LIMIT) -> None:
        self._charts = charts
        self._clock = clock

    def k_best(self, terminal_ids: IntArray, k: int) -> KBest:
        """The k most probable derivations of a sentence, or all if there are fewer.

        Raises ChartOverflowError or MemoryError where a chart does not fit, TimeLimitError, ValueError where
        there is no derivation.
        """
        filled = self._charts.filled(terminal_ids, best=True)
        search = _DopSearch(filled, k, self._clock)
        found = search.root(k)
        # A fragment that begins has its node from the address that it begins with.
        nodes = [
            vertex[0] for rank in range(len(found)) for vertex, parts in search.vertices(rank) if parts != 1
        ]
        samples = _samples(filled, np.array(nodes, np.int32), len(terminal_ids))
        return KBest(samples, np.array([-one.cost for one in found], np.float64) / SCALE)


class _DopSearch(LazySearch[_Vertex]):
    """The derivations of one sentence."""

    def __init__(self, filled: Filled, k: int, clock: Clock) -> None:
        super().__init__(_ROOT, clock)
        self._chart = DopCompositions(filled.tables, filled.forest, filled.values)
        self._most = k
        self._costs: dict[_Vertex, int] = {}  # of the best derivations of vertices that some composition has

    def _best(self, vertex: _Vertex) -> tuple[int, Order]:
        return self._costs[vertex], ()

    def _alternatives(self, vertex: _Vertex) -> tuple[list[Alternative[_Vertex]], int | None]:
        node, address = vertex
        if vertex == _ROOT:
            compositions = self._chart.roots()
        elif self._chart.is_leaf(node):
            return [Alternative(self._costs[vertex], (0,), ())], None
        # No more of them than derivations are wanted.
        elif address == BEGINS:
            compositions = self._chart.begun(node, self._most)
        else:
            compositions = self._chart.splits(node, address, self._most)
        found = []
        for place, composition in enumerate(compositions):
            parts = composition.parts
            children = tuple((part.node, part.address) for part in parts)
            self._costs.update(zip(children, (_cost(part.log_best) for part in parts), strict=True))
            found.append(Alternative(_cost(composition.log_weight), (place,), children))
        return found, None


class DopSampler:
    """Draws derivations of sentences from charts' inside values."""

    def __init__(self, charts: DopCharts, clock: Clock = NO_LIMIT) -> None:
        self._charts = charts
        self._clock = clock

    def samples(self, terminal_ids: IntArray, count: int, seed: int) -> Samples:
        """So many derivations of a sentence which has one.

        The answer depends on the grammar, the sentence, the charts' threshold and the seed (zero or more),
        and on nothing else. Raises ChartOverflowError or MemoryError where a chart does not fit,
        TimeLimitError, ValueError where there is no derivation.
        """
        return self.draws(terminal_ids, seed).more(count)

    def draws(self, terminal_ids: IntArray, seed: int) -> Draws:
        """The same in parts: what is drawn is the same however it is divided."""
        return Draws(self._charts.filled(terminal_ids), self._clock, seed)


class Draws:
    """One sentence's derivations, some at a time."""

    def __init__(self, filled: Filled, clock: Clock, seed: int) -> None:
        self._filled = filled
        self._clock = clock
        self._length = len(filled.terminal_ids)
        at = np.full(len(filled.forest.group), -1, np.int64)
        self._sums = Sums(at, np.empty(0), np.empty(0, np.int64), np.empty(0), np.zeros(2, np.int64))
        self._random = generator(filled.terminal_ids, seed)

    def more(self, count: int) -> Samples:
        """So many more, while the charts hold the sentence; raises TimeLimitError."""
        filled, forest = self._filled, self._filled.forest
        drawn = np.empty((count, 2 * self._length - 1), np.int32)
        self._sums = dop_draw(
            filled.tables, forest, filled.values, self._sums, drawn, self._random, self._clock.stop
        )
        self._clock.check()
        return _samples(filled, drawn.ravel(), self._length)


def _samples(filled: Filled, nodes: IntArray, length: int) -> Samples:
    """Derivations of nodes one after the other; each has 2 n - 1."""
    first = np.arange(0, len(nodes) + 1, 2 * length - 1, dtype=np.int32)
    return Samples(first, filled.forest.start[nodes], filled.forest.end[nodes], filled.symbols[nodes])


def _cost(log: float) -> int:
    return -round(log * SCALE)
