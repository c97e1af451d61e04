"""The k most probable derivations of a sentence by a DOP grammar, in exact order.

As for the most probable one, equal subtrees of the treebank are one, and fragments of different subtrees are
different derivations, though they look alike. Those of one score come in the order of addresses, of splits,
and of what ends at children before what goes on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.aside import aside
from mbrparse.decode.candidates.best_ways import SCALE
from mbrparse.decode.candidates.k_best import KBest
from mbrparse.decode.candidates.lazy_search import Found, LazySearch
from mbrparse.decode.candidates.sampler import Samples
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.dop.dop_charts import DopCharts, Filled
from mbrparse.grammar.charts.dop.dop_ways import BEGINS, DopWays, Way
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
        return aside(self._k_best, terminal_ids, k)

    def _k_best(self, terminal_ids: IntArray, k: int) -> KBest:
        filled = self._charts.filled(terminal_ids, best=True)
        search = _Search(filled, k, self._clock)
        found = search.root(k)
        nodes = np.array([search.nodes(rank) for rank in range(len(found))], np.int32)
        width = 2 * len(terminal_ids) - 1
        first = np.arange(len(found) + 1, dtype=np.int32) * width
        forest, nodes = filled.forest, nodes.ravel()
        samples = Samples(first, forest.start[nodes], forest.end[nodes], filled.symbols[nodes])
        return KBest(samples, np.array([-one.cost for one in found], np.float64) / SCALE)


class _Costs(NamedTuple):
    """A way of a vertex: what it costs by itself, and what it is made of."""

    cost: int
    children: tuple[_Vertex, ...]


class _Search(LazySearch[_Vertex]):
    """The derivations of one sentence."""

    def __init__(self, filled: Filled, k: int, clock: Clock) -> None:
        super().__init__(_ROOT, clock)
        self._chart = DopWays(filled.tables, filled.forest, filled.values)
        self._most = k
        self._costs: dict[_Vertex, int] = {}  # of the best derivations of vertices that some way is made of
        self._ways: dict[_Vertex, list[_Costs]] = {}

    def nodes(self, rank: int) -> list[int]:
        """The nodes of the sentence's derivation of this rank, in preorder, over single terminals too."""
        listed: list[int] = []
        stack = [(_ROOT, rank)]
        while stack:
            vertex, rank = stack.pop()
            found = self._vertex(vertex).found[rank]
            children = self._children(vertex, found.place)
            # A fragment that begins has its node from the address that it begins with.
            if len(children) != 1:
                listed.append(vertex[0])
            stack.extend(reversed(list(zip(children, found.ranks, strict=True))))
        return listed

    def _listed(self, vertex: _Vertex) -> tuple[int, list[Found]]:
        self._ways[vertex] = ways = self._ways_of(vertex)
        made = [self._made(vertex, place, (0,) * len(way.children)) for place, way in enumerate(ways)]
        return min(made).place, made

    def _ways_of(self, vertex: _Vertex) -> list[_Costs]:
        node, address = vertex
        if vertex == _ROOT:
            return list(map(self._known, self._chart.roots()))
        if self._chart.is_leaf(node):
            return [_Costs(self._costs[vertex], ())]
        # No more of them than derivations are wanted.
        if address == BEGINS:
            return list(map(self._known, self._chart.begun(node, self._most)))
        return list(map(self._known, self._chart.splits(node, address, self._most)))

    def _known(self, way: Way) -> _Costs:
        """The way, of whose parts the best derivations are known."""
        children = []
        for node, address, log_best in way.parts:
            children.append((node, address))
            self._costs[node, address] = _cost(log_best)
        return _Costs(_cost(way.log_weight), tuple(children))

    def _children(self, vertex: _Vertex, place: int) -> tuple[_Vertex, ...]:
        return self._ways[vertex][place].children

    def _made(self, vertex: _Vertex, place: int, ranks: tuple[int, ...]) -> Found:
        cost, children = self._ways[vertex][place]
        for child, rank in zip(children, ranks, strict=True):
            cost += self._vertex(child).found[rank].cost if rank else self._costs[child]
        return Found(cost, (place,), place, ranks)


def _cost(log: float) -> int:
    return -round(log * SCALE)
