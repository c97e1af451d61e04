"""The decoder of exact F: the n-ary tree T with the largest expected F, E[2 m / (|T| + |G|)].

G is the true n-ary tree and m what T and G share. Ratio F puts E|G| in the place of |G|; here, for each size
k of T, a constituent s gains 2 sum over m of P(s in G, |G| = m) / (k + m) (``size_posteriors``), and the best
tree of each size is found (``best_of_any_size``). A reference for ratio F: time grows with the fifth power of
the length and more, in place of the third.

P((i, X, j) in G and |G| = m) comes from generating functions: let every rule whose parent is a constituent be
weighted by z. Then inside * outside of a node is the sum over m of P(node, |G| = m) z^m. Without unary rules
|G| is below the length n, so n roots of unity tell all of it, and of conjugate ones one is enough. On the
unit circle no value is larger than for z = 1: what is added up rounds as the charts do, about 1e-15.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.charts.kernel import kernel
from mbrparse.charts.packed_forest import ONE, Forest, Index, forest_cell
from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import cell_of
from mbrparse.decode import span_posteriors, trees
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_decoders import TIE, best_preterminals
from mbrparse.errors import ObjectiveError
from mbrparse.grammar.pcfg import FloatArray

Complex = npt.NDArray[np.complex128]
Flags = npt.NDArray[np.bool_]


def size_posteriors(
    chart: Chart, charts: ForestCharts, counted: Flags
) -> tuple[Ints, Ints, Ints, FloatArray]:
    """Starts, ends and label ids of labelled spans, in this order, and [span, m]: each one's g with |G| = m.

    The sentence has two terminals or more, the grammar no unary rules; ``counted`` says which symbols are
    constituents. Raises ChartOverflowError if memory does not suffice.
    """
    forest, n = chart.forest(), chart.length
    nodes = int(forest.node_first[n * (n + 1) // 2])
    cells = np.repeat(np.arange(n * (n + 1) // 2), np.diff(forest.node_first[: n * (n + 1) // 2 + 1]))
    starts, ends = forest.node_start[:nodes], np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))[cells]
    symbols = forest.node_symbol[:nodes]
    chosen = (forest.outside[:nodes] > 0) & counted[symbols] & (ends - starts > 1)
    rows = np.column_stack([starts, ends, charts.label[symbols]])[chosen]
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    values = np.zeros((n // 2 + 1, len(distinct)), np.complex128)
    inside, outside = np.zeros((2, nodes), np.complex128)
    group = np.zeros(len(forest.group_sum), np.complex128)
    for power in range(n // 2 + 1):
        root = np.exp(-2j * np.pi * power / n)
        counting_inside(forest, counted, n, root, inside, group)
        counting_outside(forest, counted, n, root, inside, outside, group)
        mass = (inside * outside)[chosen]
        for part, weights in ((values.real, mass.real), (values.imag, mass.imag)):
            part[power] = np.bincount(number.reshape(-1), weights, len(distinct))
    g = np.fft.irfft(values, n, axis=0).T
    columns = distinct.astype(np.int32)
    return columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy(), g


def best_of_any_size(gains: FloatArray, length: int, tie: float = TIE) -> tuple[float, list[tuple[int, int]]]:
    """The tree T with the largest sum over its constituents of gains[|T| - 1], the root always among them.

    ``gains`` are by size and by cell (charts.spans), for sizes from 1 to length - 1; over
    single terminals they are not asked for. Of equal trees the one with fewer constituents, then the one
    that splits first.
    >>> gains = np.array([[0, 0, 0.5, 0, 0, 0], [0, 0.1, 0.3, 0, 0.3, 0]])
    >>> score, spans = best_of_any_size(gains, 3)
    >>> round(score, 9), spans
    (0.6, [(0, 3), (1, 3)])
    """
    square = length, length + 1, length
    best, parts, kept = np.zeros(square), np.zeros((*square, 2), np.int32), np.zeros(square, np.bool_)
    gains = np.ascontiguousarray(gains, np.float64)
    score, size = 0.0, 0
    for count in range(1, length):
        fill_best(gains[count - 1], count, tie, best, parts, kept)
        reached = float(best[0, length, count])
        if not size or reached > score + tie * abs(score):
            score, size = reached, count
    if size:
        fill_best(gains[size - 1], size, tie, best, parts, kept)
    spans, stack = [], [(0, length, size)]
    while stack:
        start, end, count = stack.pop()
        if not count:
            continue
        if kept[start, end, count]:
            spans.append((start, end))
            count -= 1
        split, left = parts[start, end, count].tolist()
        stack += [(split, end, count - left), (start, split, left)]
    return score, spans


class ExactFDecoder:
    """Decodes forests for objectives of exact F."""

    def __init__(self, charts: ForestCharts, objectives: Sequence[Objective], root: str) -> None:
        """``root`` labels a whole sentence of which no label is known.

        Raises ObjectiveError for a grammar with unary rules: its trees may be of any size.
        """
        if len(charts.grammar.unary_parent):
            raise ObjectiveError(
                f"exact F of {objectives[0].name} needs a grammar without unary rules: only there is the "
                "size of trees bounded",
                remedy="train on trees without (mbrparse binarize --unary top, bottom or join), or leave "
                "`exact` out",
            )
        self._charts = charts
        self._objectives = objectives
        self._root = root
        self._counted = ~span_posteriors.continuations(charts.labels)[charts.label]

    def decode(self, chart: Chart, posteriors: span_posteriors.Posteriors) -> list[trees.Decoded]:
        """The best trees; raises ChartOverflowError or MemoryError where memory does not suffice."""
        preterminals = best_preterminals(posteriors)
        expected = posteriors.expected_constituents(nary=True)
        if chart.length == 1:
            # No constituent on either side: all agrees.
            return [trees.Decoded([], preterminals, 1.0, constituents=expected) for _ in self._objectives]
        sizes, length = np.arange(1, chart.length), chart.length
        starts, ends, label_ids, g = size_posteriors(chart, self._charts, self._counted)
        # [span, |T| - 1]: what a labelled span gains in trees of that size.
        gains = g @ (2 / (sizes + np.arange(length)[:, None]))
        # Labels of one cell stand together.
        cell, first = np.unique(cell_of(length, starts, ends), return_index=True)
        bounds = pairwise([*first.tolist(), len(starts)])
        places = {one: slice(*rows) for one, rows in zip(cell.tolist(), bounds, strict=True)}
        decoded = []
        for objective in self._objectives:
            by_label, by_span = objective.weight(Item.LABELLED_SPAN), objective.weight(Item.SPAN)
            earned = np.zeros((length - 1, length * (length + 1) // 2))
            if len(cell):
                best, total = np.maximum.reduceat(gains, first), np.add.reduceat(gains, first)
                earned[:, cell] = (by_label * best + by_span * total).T
            score, tree = best_of_any_size(earned, length, TIE)
            # The best label depends on the size; for brackets alone it is the most probable one.
            worth = gains[:, len(tree) - 1] if by_label else g.sum(axis=1)
            spans = []
            for start, end in tree:
                label, here = self._root, places.get(cell_of(length, start, end))
                if here is not None:
                    # The first label within tolerance of the largest.
                    chosen = int(np.argmax(worth[here] >= worth[here].max() * (1 - TIE)))
                    label = self._charts.labels[label_ids[here][chosen]]
                spans.append((start, end, label))
            decoded.append(trees.Decoded(spans, preterminals, score, constituents=expected))
        return decoded


@kernel
def counting_inside(
    forest: Forest, counted: Flags, n: int, z: complex, inside: Complex, group: Complex
) -> None:
    """Inside values of all nodes that have a posterior, where each counted constituent weighs ``z``."""
    node_first, left_node, share = forest.node_first, forest.left_node, forest.edge_value
    edge_first, edge_group, known = forest.edge_first, forest.edge_group, forest.outside
    rule_prob, prob_place = forest.rule_prob, forest.prob_place
    group[:] = 0
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            first, last = node_first[cell], node_first[cell + 1]
            for node in range(first, last):
                inside[node] = forest.lexical[node] if end - start == 1 else 0.0
            for production in range(forest.cell_production[cell], forest.cell_production[cell + 1]):
                passed = rule_prob[prob_place[production]] * group[forest.production_group[production]]
                inside[forest.production_parent[production]] += passed
            for right in range(first, last):
                if end - start > 1 and counted[forest.node_symbol[right]]:
                    inside[right] *= z
                if known[right] > 0:
                    value = inside[right]
                    place = Index(forest.left_first[right])
                    for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                        passed = value * (share[edge] if len(share) else 1.0)
                        group[Index(edge_group[edge])] += passed * inside[Index(left_node[place])]
                        place = Index(place + ONE)


@kernel
def counting_outside(
    forest: Forest,
    counted: Flags,
    n: int,
    z: complex,
    inside: Complex,
    outside: Complex,
    group: Complex,
) -> None:
    """Their outside values; ``group`` gets what comes down to a group's edges."""
    node_first, left_node, share = forest.node_first, forest.left_node, forest.edge_value
    edge_first, edge_group, known = forest.edge_first, forest.edge_group, forest.outside
    rule_prob, prob_place = forest.rule_prob, forest.prob_place
    group[:] = 0
    root = forest_cell(0, n)
    outside[: node_first[root]] = 0
    for node in range(node_first[root], node_first[root + 1]):
        outside[node] = known[node]
    for end in range(n, 0, -1):
        for start in range(end):
            cell = forest_cell(start, end)
            for right in range(node_first[cell], node_first[cell + 1]):
                if known[right] > 0:
                    value, received = inside[right], outside[right]
                    place = Index(forest.left_first[right])
                    for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                        passed = group[Index(edge_group[edge])] * (share[edge] if len(share) else 1.0)
                        left = Index(left_node[place])
                        outside[left] += passed * value
                        received += passed * inside[left]
                        place = Index(place + ONE)
                    outside[right] = received
            for production in range(forest.cell_production[cell], forest.cell_production[cell + 1]):
                parent = forest.production_parent[production]
                passed = rule_prob[prob_place[production]] * outside[parent]
                # Above one terminal there is no production.
                group[forest.production_group[production]] += (
                    passed * z if counted[forest.node_symbol[parent]] else passed
                )


@kernel
def fill_best(gains: FloatArray, most: int, tie: float, best: FloatArray, parts: Ints, kept: Flags) -> None:
    """Fill best[start, end, c], the most that c constituents gain over a span, itself perhaps among them.

    There are up to ``most`` constituents; one of the whole sentence's is the root. ``gains`` are by cell.
    ``kept`` says whether the span is one of them, ``parts`` where the others are best parted: split, and how
    many are on the left.
    """
    length = len(best)
    below, chosen = np.zeros(length), np.zeros(length)
    for start in range(length - 1, -1, -1):
        row = start * length - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, length + 1):
            width = end - start
            below[:width] = chosen[:width] = -np.inf
            for split in range(start + 1, end):
                for left in range(min(split - start - 1, most) + 1):
                    value = best[start, split, left]
                    for right in range(min(end - split - 1, most - left) + 1):
                        total, count = value + best[split, end, right], left + right
                        below[count] = max(below[count], total)
                        known = chosen[count]
                        if known == -np.inf or total > known + tie * abs(known):
                            chosen[count] = total
                            parts[start, end, count, 0], parts[start, end, count, 1] = split, left
            own = gains[row + end]
            best[start, end, 0] = below[0]
            for count in range(1, min(width - 1, most) + 1):
                reached, known = own + below[count - 1], chosen[count]
                # As many as fit are there with the span itself alone.
                alone = width == length or count == width - 1
                kept[start, end, count] = alone or own + chosen[count - 1] > known + tie * abs(known)
                best[start, end, count] = reached if width == length else max(reached, below[count])
