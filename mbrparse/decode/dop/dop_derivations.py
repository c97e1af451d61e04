"""Derivations of sentences by a DOP grammar: samples, and the k most probable in exact order.

As for the most probable one, equal subtrees of the treebank are one, and fragments of different subtrees are
different derivations, though they look alike. Those of one score come in the order of addresses, of splits,
and of what ends at children before what goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mbrparse.charts.dop.dop_charts import BEGINS, DopCharts, DopDescent, Filled
from mbrparse.charts.dop.dop_passes import Sums, dop_draw, root_masses
from mbrparse.charts.spans import rows
from mbrparse.decode.candidates.k_best import SCALE, Alternative, KBest, LazySearch, Order
from mbrparse.decode.candidates.samples import Samples, generator
from mbrparse.grammar.pcfg import IntArray

# A node and the address that a fragment goes on with there, or BEGINS.
_Vertex = tuple[int, int]
_ROOT = (-1, BEGINS)


class DopKBestSearch:
    """Finds the k best derivations of sentences."""

    def __init__(self, charts: DopCharts) -> None:
        self._charts = charts

    def k_best(self, terminal_ids: IntArray, k: int) -> KBest:
        """The k most probable derivations of a sentence, or all if there are fewer.

        Raises ChartOverflowError or MemoryError where a chart does not fit, TimeLimitError, ValueError where
        there is no derivation.
        """
        filled = self._charts.filled(terminal_ids, best=True)
        search = _DopSearch(filled, k)
        found = search.root(k)
        # A fragment that begins has its node from the address that it begins with.
        nodes = [
            vertex[0] for rank in range(len(found)) for vertex, parts in search.vertices(rank) if parts != 1
        ]
        samples = _samples(filled, np.array(nodes, np.int32), len(terminal_ids))
        return KBest(samples, np.array([-one.cost for one in found], np.float64) / SCALE)


class _DopSearch(LazySearch[_Vertex]):
    """The derivations of one sentence."""

    def __init__(self, filled: Filled, k: int) -> None:
        super().__init__(_ROOT)
        self._descent = DopDescent(filled.tables, filled.forest, filled.values)
        self._most = k
        self._costs: dict[_Vertex, int] = {}  # of the best derivations of vertices that some alternative has

    def _best(self, vertex: _Vertex) -> tuple[int, Order]:
        return self._costs[vertex], ()

    def _alternatives(self, vertex: _Vertex) -> tuple[list[Alternative[_Vertex]], int | None]:
        node, address = vertex
        found: list[Alternative[_Vertex]] = []
        if vertex == _ROOT:
            for root, weight, best in rows(*self._descent.roots()):
                self._add(found, weight, [((root, BEGINS), best)])
        elif self._descent.is_leaf(node):
            found.append(Alternative(self._costs[vertex], (0,), ()))
        # No more of them than derivations are wanted.
        elif address == BEGINS:
            for at, weight, best in rows(*self._descent.fragments(node, self._most)):
                self._add(found, weight, [((node, at), best)])
        else:
            self._add_splits(found, node, address)
        return found, None

    def _add_splits(self, found: list[Alternative[_Vertex]], node: int, address: int) -> None:
        """Add the best splits of an address, where fragments end at the children or go on."""
        keep = self._descent.log_keep(address)
        left, right = self._descent.sides(node, address)
        scores = (left.scores[:, :, None] + right.scores[:, None, :]).ravel()
        order = np.argsort(-scores, kind="stable")[: self._most]
        for place in order[scores[order] > -np.inf].tolist():
            split, *chosen = place >> 2, place >> 1 & 1, place & 1
            weight, children = keep, []
            for side, goes_on in zip((left, right), chosen, strict=True):
                weight += 0.0 if goes_on else side.log_cut
                child = int(side.nodes[split])
                children.append(((child, side.address if goes_on else BEGINS), side.logs[split, goes_on]))
            self._add(found, weight, children)

    def _add(
        self,
        found: list[Alternative[_Vertex]],
        log_weight: float,
        children: Sequence[tuple[_Vertex, float]],
    ) -> None:
        """Add an alternative, made of children whose best derivations have these logarithms."""
        self._costs.update((child, _cost(log_best)) for child, log_best in children)
        vertices = tuple(child for child, _ in children)
        found.append(Alternative(_cost(log_weight), (len(found),), vertices))


class DopSampler:
    """Draws derivations of sentences from charts' inside values."""

    def __init__(self, charts: DopCharts) -> None:
        self._charts = charts

    def samples(self, terminal_ids: IntArray, count: int, seed: int) -> Samples:
        """So many derivations of a sentence which has one.

        The answer depends on the grammar, the sentence, the charts' threshold and the seed (zero or more),
        and on nothing else. Raises ChartOverflowError or MemoryError where a chart does not fit,
        TimeLimitError, ValueError where there is no derivation.
        """
        return self.drawing(terminal_ids, seed)(count)

    def drawing(self, terminal_ids: IntArray, seed: int) -> Callable[[int], Samples]:
        """What draws so many more derivations of a sentence, while the charts hold its values.

        What is drawn is the same however it is divided. Raises as ``samples``.
        """
        filled, length = self._charts.filled(terminal_ids), len(terminal_ids)
        tables, forest, values = filled.tables, filled.forest, filled.values
        nodes, masses, _ = root_masses(tables, forest, values)
        visited = np.zeros(len(forest.group), np.bool_)
        by_expansion, by_address = np.empty(len(forest.rule)), np.empty(values.value.size)
        sums = Sums(nodes, np.cumsum(masses), visited, by_expansion, by_address)
        random = generator(terminal_ids, seed)

        def draw(count: int) -> Samples:
            drawn = np.empty((count, 2 * length - 1), np.int32)
            dop_draw(tables, forest, values, sums, drawn, random)
            return _samples(filled, drawn.ravel(), length)

        return draw


def _samples(filled: Filled, nodes: IntArray, length: int) -> Samples:
    """Derivations of nodes one after the other; each has 2 n - 1."""
    first = np.arange(0, len(nodes) + 1, 2 * length - 1, dtype=np.int32)
    forest = filled.forest
    return Samples(first, forest.start[nodes], forest.end[nodes], filled.symbols[nodes])


def _cost(log: float) -> int:
    return -round(log * SCALE)
