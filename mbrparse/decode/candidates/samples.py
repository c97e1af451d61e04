"""Samples of a sentence's derivations: exact, independent, each as often as its probability says.

Top down: a node's way is drawn in proportion to its share of the node's inside value, then, of a production,
the split. A chain of unary rules is drawn rule by rule, since inside values are those above all chains: it
may go round a cycle, as often as the grammar says.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts import spans
from mbrparse.charts.exhaustive import factory, top_down
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints
from mbrparse.grammar.pcfg import FloatArray, IntArray

#: More nodes than are expected of any samples that are wanted: a gigabyte.
MOST_NODES = 1e8


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

    def constituents(self) -> npt.NDArray[np.bool_]:
        """Which nodes are constituents: all but the preterminals."""
        inner = self.end - self.start > 1
        inner[:-1] |= (self.start[1:] == self.start[:-1]) & (self.end[1:] == self.end[:-1])
        inner[self.first[1:] - 1] = False  # the last node of a derivation is a preterminal
        return inner

    def trees(self, name: Ints) -> list[SampledTree]:
        """The different trees of these derivations, the commonest first, then the one drawn first.

        ``name`` [symbol] is what a tree shows of a symbol, -1 where it shows nothing (of a continuation, in
        n-ary trees). Preterminals are not shown.
        """
        shown = self.constituents() & (name[self.symbol] >= 0)
        rows = np.column_stack([self.start, self.end, name[self.symbol]])[shown]
        bounds = np.concatenate([[0], np.cumsum(shown)])[self.first].tolist()
        found: dict[bytes, list[int]] = {}
        for derivation, (begin, last) in enumerate(itertools.pairwise(bounds)):
            found.setdefault(rows[begin:last].tobytes(), []).append(derivation)
        trees = [
            SampledTree(rows[bounds[drawn[0]] : bounds[drawn[0] + 1]], drawn) for drawn in found.values()
        ]
        return sorted(trees, key=lambda tree: -len(tree.drawn))

    def entries(self, label: Ints) -> spans.SpanEntries:
        """The share of samples that have a label over a span; ``label`` [symbol] is the symbol's."""
        count, length = len(self.first) - 1, int(self.end.max(initial=1))
        labels = int(label.max()) + 1
        cells = spans.cell_of(length, self.start.astype(np.int64), self.end.astype(np.int64))
        keys, first, found = np.unique(
            cells * labels + label[self.symbol], return_index=True, return_counts=True
        )
        starts, ends = self.start[first], self.end[first]
        return spans.entries_without_unaries(starts, ends, (keys % labels).astype(np.int32), found / count)

    def consistency(self, constituent: Ints, length: int) -> FloatArray:
        """c by cell (span_summary): the share of samples of which no constituent crosses the span.

        ``constituent`` [symbol] is -1 for what is none, 0 otherwise.
        """
        trees = self.trees(constituent)
        first = np.cumsum([0, *(len(tree.nodes) for tree in trees)])
        nodes = np.concatenate([tree.nodes for tree in trees])
        counts = np.array([len(tree.drawn) for tree in trees], np.int32)
        uncrossed = np.zeros(length * (length + 1) // 2, np.int32)
        add_uncrossed(first, nodes[:, 0].copy(), nodes[:, 1].copy(), counts, length, uncrossed)
        # Divided at the end: a sum of shares may be more than one.
        return uncrossed / (len(self.first) - 1)


class SampledTree(NamedTuple):
    """One of the different trees of samples.

    ``nodes`` [node, 3] are starts, ends and names in preorder, ``drawn`` the derivations that look like it.
    """

    nodes: Ints
    drawn: list[int]


def forest_samples(charts: factory.ForestCharts, terminal_ids: IntArray, count: int, seed: int) -> Samples:
    """So many derivations of a sentence which has one, drawn from its forest.

    The answer depends on the grammar, the sentence and the seed (zero or more), and on nothing else. Raises
    ChartOverflowError or MemoryError where its forest or samples do not fit, ValueError where it has none.
    """
    forest = top_down.top_down_forest(charts, terminal_ids)
    if forest.node_g.sum() * count > MOST_NODES:  # a chain of unary rules may be of any length
        raise MemoryError
    top_down.sum_up(forest.way_first, forest.way_share)
    top_down.sum_up(forest.edge_first, forest.edge_share)
    drawn = draw(forest, np.cumsum(forest.root), count, generator(terminal_ids, seed))
    return Samples(*drawn)


def generator(terminal_ids: IntArray, seed: int) -> np.random.Generator:
    """Random numbers of their own for each sentence."""
    return np.random.Generator(np.random.PCG64([seed, len(terminal_ids), *terminal_ids.tolist()]))


@kernel
def draw(
    forest: top_down.TopDownForest, roots: FloatArray, count: int, random: np.random.Generator
) -> tuple[Ints, Ints, Ints, Ints]:
    """So many derivations: where each one's nodes begin, and their starts, ends and symbols in preorder.

    Shares, and those of nodes as ``roots``, are cumulative here, from the first of each list on.
    """
    n = forest.length
    first = np.zeros(count + 1, np.int32)
    nodes = np.empty((3, (2 * n - 1) * count), np.int32)  # starts, ends, symbols
    stack = np.empty(n + 1, np.int32)
    place = 0
    for derivation in range(count):
        stack[0] = top_down.drawn_place(roots, 0, len(roots), random.random())
        height = 1
        while height:
            height -= 1
            node = stack[height]
            to = top_down.UNARY
            while to <= top_down.UNARY:
                if place == nodes.shape[1]:
                    # A chain may be of any length.
                    nodes = np.concatenate((nodes, np.empty_like(nodes)), axis=1)
                nodes[0, place], nodes[1, place] = forest.node_start[node], forest.node_end[node]
                nodes[2, place] = forest.node_symbol[node]
                place += 1
                first_way, last_way = forest.way_first[node], forest.way_first[node + 1]
                to = forest.way_to[
                    top_down.drawn_place(forest.way_share, first_way, last_way, random.random())
                ]
                if to <= top_down.UNARY:
                    node = top_down.UNARY - to
            if to != top_down.LEXICAL:
                first_edge, last_edge = forest.edge_first[to], forest.edge_first[to + 1]
                edge = top_down.drawn_place(forest.edge_share, first_edge, last_edge, random.random())
                stack[height], stack[height + 1] = forest.edge_right[edge], forest.edge_left[edge]
                height += 2
        first[derivation + 1] = place
    return first, nodes[0, :place].copy(), nodes[1, :place].copy(), nodes[2, :place].copy()


@kernel
def add_uncrossed(first: Ints, starts: Ints, ends: Ints, count: Ints, n: int, uncrossed: Ints) -> None:
    """Add the trees' counts to the cells (span_summary) that nothing of it crosses.

    The brackets of tree t are ``first[t]`` up to ``first[t + 1]``.
    """
    crossed = np.full(len(uncrossed), -1, np.int32)
    for tree in range(len(count)):
        for node in range(first[tree], first[tree + 1]):
            low, high = starts[node], ends[node]
            # One end of what crosses it lies within it, the other beyond.
            for inner in range(low + 1, high):
                for start in range(low):
                    crossed[start * n - start * (start - 1) // 2 + inner - start - 1] = tree
                for end in range(high + 1, n + 1):
                    crossed[inner * n - inner * (inner - 1) // 2 + end - inner - 1] = tree
        for cell in range(len(uncrossed)):
            if crossed[cell] != tree:
                uncrossed[cell] += count[tree]
