"""Samples of a sentence's derivations: exact, independent, each as often as its probability says.

Top down: a node's way is drawn in proportion to its share of the node's inside value, then, of a production,
the split. A chain of unary rules is drawn rule by rule, since inside values are those above all chains: it
may go round a cycle, as often as the grammar says.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from mbrparse.aside import aside
from mbrparse.decode.candidates.ways import LEXICAL, UNARY, Ways, ways_of
from mbrparse.decode.derivations.forest_charts import ForestCharts
from mbrparse.grammar.charts.forest.packed_forest import ONE, Index, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import IntArray


class Samples(NamedTuple):
    """Derivations of one sentence, one after the other.

    The nodes of derivation d are those from ``first[d]`` up to ``first[d + 1]``, in preorder, preterminals
    included: node ``symbol`` ids over ``start`` .. ``end``. Of several nodes over one span the upper ones
    come first; over a single terminal the lowest is the preterminal.
    """

    first: Ints
    start: Ints
    end: Ints
    symbol: Ints

    def trees(self, name: Ints) -> list[SampledTree]:
        """The different trees of these derivations, the commonest first, then the one drawn first.

        ``name`` [symbol] is what a tree shows of a symbol, -1 where it shows nothing (of a continuation, in
        n-ary trees). Preterminals are not shown.
        """
        inner = self.end - self.start > 1
        inner[:-1] |= (self.start[1:] == self.start[:-1]) & (self.end[1:] == self.end[:-1])
        inner[self.first[1:] - 1] = False  # the last node of a derivation is a preterminal
        shown = inner & (name[self.symbol] >= 0)
        rows = np.column_stack([self.start, self.end, name[self.symbol]])[shown]
        bounds = np.concatenate([[0], np.cumsum(shown)])[self.first].tolist()
        found: dict[bytes, list[int]] = {}
        for derivation, (begin, last) in enumerate(itertools.pairwise(bounds)):
            found.setdefault(rows[begin:last].tobytes(), []).append(derivation)
        trees = [
            SampledTree(rows[bounds[drawn[0]] : bounds[drawn[0] + 1]], drawn) for drawn in found.values()
        ]
        return sorted(trees, key=lambda tree: -len(tree.drawn))


class SampledTree(NamedTuple):
    """One of the different trees of samples.

    ``nodes`` [node, 3] are starts, ends and names in preorder, ``drawn`` the derivations that look like it.
    """

    nodes: Ints
    drawn: list[int]


class Sampler:
    """Draws derivations of sentences; the forests that it fills may be shared with charts."""

    def __init__(self, charts: ForestCharts) -> None:
        self._charts = charts

    def samples(self, terminal_ids: IntArray, count: int, seed: int) -> Samples:
        """So many derivations of a sentence which has one.

        The answer depends on the grammar, the sentence and the seed (zero or more), and on nothing else.
        Raises ChartOverflowError or MemoryError where its forest does not fit, ValueError where it has none.
        """
        return aside(self._samples, terminal_ids, count, seed)

    def _samples(self, terminal_ids: IntArray, count: int, seed: int) -> Samples:
        self._charts.forest_of(terminal_ids)
        length = len(terminal_ids)
        ways = ways_of(self._charts.forests, length)
        random = np.random.Generator(np.random.PCG64([seed, length, *terminal_ids.tolist()]))
        return Samples(*_draw(ways, count, random))


@kernel
def _draw(ways: Ways, count: int, random: np.random.Generator) -> tuple[Ints, Ints, Ints, Ints]:
    forest, n = ways.forest, ways.length
    root = forest_cell(0, n)
    roots = range(forest.node_first[root], forest.node_first[root + 1])
    total = 0.0
    for node in roots:
        total += ways.tables.root[forest.node_symbol[node]] * forest.inside[node]
    first = np.zeros(count + 1, np.int32)
    nodes = np.empty((3, (2 * n - 1) * count), np.int32)  # starts, ends, symbols
    stack = np.empty((n + 1, 2), np.int32)  # node and end
    place = 0
    for derivation in range(count):
        point = random.random() * total
        chosen = -1
        for node in roots:
            value = ways.tables.root[forest.node_symbol[node]] * forest.inside[node]
            # The last one with a value takes what rounding leaves over.
            if value > 0 and (chosen < 0 or point >= 0):
                chosen = node
            point -= value
        stack[0, 0], stack[0, 1] = chosen, n
        height = 1
        while height:
            height -= 1
            node, end = stack[height, 0], stack[height, 1]
            way = UNARY
            while way <= UNARY:
                if place == nodes.shape[1]:
                    # A chain may be of any length.
                    nodes = np.concatenate((nodes, np.empty_like(nodes)), axis=1)
                nodes[0, place], nodes[1, place] = forest.node_start[node], end
                nodes[2, place] = forest.node_symbol[node]
                place += 1
                way = ways.way[_drawn(ways.until, ways.first[node], ways.first[node + 1], random)]
                if way <= UNARY:
                    node = forest.unary_child[UNARY - way]
            if way != LEXICAL:
                group = forest.production_group[way]
                edge = _drawn(ways.edge_until, ways.edge_first[group], ways.edge_first[group + 1], random)
                stack[height, 0], stack[height, 1] = ways.right[edge], end
                stack[height + 1, 0] = ways.left[edge]
                stack[height + 1, 1] = forest.node_start[ways.right[edge]]
                height += 2
        first[derivation + 1] = place
    return first, nodes[0, :place].copy(), nodes[1, :place].copy(), nodes[2, :place].copy()


@kernel
def _drawn(until: Floats, first: int, last: int, random: np.random.Generator) -> int:
    """One of the places first .. last, by its share: the first whose sum exceeds a number up to the last."""
    bound = until[last - 1]
    point = random.random() * bound
    if point >= bound:  # by rounding
        point = 0.0
    low, high = Index(first), Index(last - 1)
    while low < high:
        middle = Index((low + high) >> ONE)
        if until[middle] > point:
            high = middle
        else:
            low = Index(middle + ONE)
    return int(low)
