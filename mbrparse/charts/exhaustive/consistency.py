"""c(start, end): the probability that no constituent of the true n-ary tree crosses a span.

Continuations are no constituents and may cross. It is the inside probability of the sentence when all cells
that cross the span are closed to labels that are no continuations, over the sentence's probability. For most
binarizations each span has a pass of its own. Where continuations are right-linear (or left-linear, the
mirror image) one pass has them all:

Nothing crosses (i, j) if it is a node of the binary tree, or if two or more children of one constituent of
the n-ary tree make it up. These children then hang from one spine: continuations that all end at some b > j,
below a node over (i, b); the last of them hangs from the continuation that is split at j. So for each (i, b)
the posterior of its nodes is sent down the spine, and c(i, j) collects what is split at j below the first
node. This is the closed formula with U, W and E of the paper's nodes, node by node, in probabilities.

A *closed* cell has no node but continuations: no constituent of the n-ary tree stands there. Where all cells
that cross some brackets are closed, what is left is the probability that the true tree crosses none of them.

Kernels of what crosses spans: inside and outside passes of masked forests, and spines of continuations.

All values are ratios or probabilities between zero and one: whatever the length, none leaves the range of
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive.top_down import TopDownForest, top_down_forest
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Closure, Ints, unary_closure
from mbrparse.charts.spans import cell_of, crossing
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.rules import is_terminal
from mbrparse.treebank.labels import is_continuation

if TYPE_CHECKING:
    from mbrparse.charts.exhaustive.factory import ForestCharts

Booleans = npt.NDArray[np.bool_]

# Less than this is not sent down: with all that it stands for it is far below the last digit of interest.
LEAST = 1e-20


class CrossingForest(NamedTuple):
    """The derivations of a sentence, with chains of unary rules all at once.

    With unary rules a node has two sides: the *bottom* of its cell's chains, made by binary rules, and the
    *top*, which wider nodes are made of; chains lead from one to the other.
    """

    forest: TopDownForest
    continuation: Booleans  # by node: whether it may stand over a closed cell
    g_bottom: FloatArray  # by node: the probability that its cell's chain ends in it
    chain_first: Ints  # by cell; all zero without unary rules
    chain_top: Ints
    chain_bottom: Ints
    chain_share: FloatArray  # the bottom's part of the top's inside value
    chain_closed: FloatArray  # the same where nothing but continuations may stand


class Masked(NamedTuple):
    """Inside values of a masked forest over those of the whole: by node and group."""

    bottom: FloatArray
    top: FloatArray
    group: FloatArray  # -1: not computed yet


class Conditioned(NamedTuple):
    """What is left of the shares and posteriors of a forest; all arrays are zero before they are filled."""

    way_share: FloatArray
    edge_share: FloatArray
    g_bottom: FloatArray  # by node
    g_top: FloatArray
    g_group: FloatArray


@kernel
def masked_inside(crossing: CrossingForest, closed: Booleans, alive: Booleans, values: Masked) -> float:
    """The probability that all nodes are ``alive``, and nothing but continuations in ``closed`` cells."""
    forest, bottom, top, value = crossing.forest, values.bottom, values.top, values.group
    node_first, way_first, way_to = forest.node_first, forest.way_first, forest.way_to
    edge_first, edge_left, edge_right = forest.edge_first, forest.edge_left, forest.edge_right
    way_share, edge_share = forest.way_share, forest.edge_share
    value[:] = -1.0
    for cell in range(len(node_first) - 1):
        first, last = node_first[cell], node_first[cell + 1]
        if first < last and forest.node_end[first] - forest.node_start[first] == 1:
            top[first:last] = 1.0
            continue
        for node in range(first, last):
            total = 0.0
            for way in range(way_first[node], way_first[node + 1] if alive[node] else way_first[node]):
                group = way_to[way]
                if group < 0:
                    break  # unary rules come last, and are in chains
                if value[group] < 0:
                    product = 0.0
                    for edge in range(edge_first[group], edge_first[group + 1]):
                        product += edge_share[edge] * top[edge_left[edge]] * top[edge_right[edge]]
                    value[group] = product
                total += way_share[way] * value[group]
            bottom[node] = top[node] = total
        if len(crossing.chain_top) and first < last:
            share = crossing.chain_closed if closed[cell] else crossing.chain_share
            top[first:last] = 0.0
            for chain in range(crossing.chain_first[cell], crossing.chain_first[cell + 1]):
                if alive[crossing.chain_top[chain]]:
                    top[crossing.chain_top[chain]] += share[chain] * bottom[crossing.chain_bottom[chain]]
    total = 0.0
    for node in range(node_first[len(node_first) - 2], node_first[len(node_first) - 1]):
        total += forest.root[node] * top[node]
    return total


@kernel
def masked_outside(
    crossing: CrossingForest, closed: Booleans, values: Masked, mass: float, given: Conditioned
) -> None:
    """Shares and posteriors given what ``masked_inside`` has found, with a ``mass`` above zero."""
    forest, bottom, top, value = crossing.forest, values.bottom, values.top, values.group
    way_to, edge_left, edge_right = forest.way_to, forest.edge_left, forest.edge_right
    g_bottom, g_top, g_group = given.g_bottom, given.g_top, given.g_group
    cells = len(forest.node_first) - 1
    for node in range(forest.node_first[cells - 1], forest.node_first[cells]):
        g_top[node] = forest.root[node] * top[node] / mass
    # A node's g_top is its probability to be entered, and in all chains from it those below add up.
    for cell in range(cells - 1, -1, -1):
        first, last = forest.node_first[cell], forest.node_first[cell + 1]
        if crossing.chain_first[cell] < crossing.chain_first[cell + 1]:
            share = crossing.chain_closed if closed[cell] else crossing.chain_share
            for chain in range(crossing.chain_first[cell], crossing.chain_first[cell + 1]):
                above, below = crossing.chain_top[chain], crossing.chain_bottom[chain]
                if g_top[above] > 0:
                    g_bottom[below] += g_top[above] * share[chain] * bottom[below] / top[above]
        else:
            for node in range(first, last):
                g_bottom[node] = g_top[node]
        if first == last or forest.node_end[first] - forest.node_start[first] == 1:
            continue
        for node in range(first, last):
            ways = forest.way_first[node + 1] if g_bottom[node] > 0 else forest.way_first[node]
            for way in range(forest.way_first[node], ways):
                group = way_to[way]
                if group >= 0:
                    given.way_share[way] = forest.way_share[way] * value[group] / bottom[node]
                    g_group[group] += g_bottom[node] * given.way_share[way]
        for way in range(forest.way_first[first], forest.way_first[last]):
            group = way_to[way]
            if group < 0 or g_group[group] == 0:
                continue
            for edge in range(forest.edge_first[group], forest.edge_first[group + 1]):
                left, right = edge_left[edge], edge_right[edge]
                part = forest.edge_share[edge] * top[left] * top[right] / value[group]
                given.edge_share[edge] = part
                g_top[left] += g_group[group] * part
                g_top[right] += g_group[group] * part
            g_group[group] = 0.0


@kernel
def consistent_spans(
    crossing: CrossingForest, given: Conditioned, mirrored: bool, cell_first: Ints, cell_last: Ints
) -> FloatArray:
    """c by cell (``span_summary.cell_of``), of spans of two words or more.

    Continuations are on the right only, with ``mirrored`` on the left only. Positions and cells are counted
    from the side where spines begin; ``cell_first`` and ``cell_last`` are the nodes of such a cell.
    """
    forest, continuation = crossing.forest, crossing.continuation
    n, nodes = forest.length, len(continuation)
    inner = forest.edge_left if mirrored else forest.edge_right
    place = forest.node_end if mirrored else forest.node_start
    way_first, way_to, edge_first = forest.way_first, forest.way_to, forest.edge_first
    way_share, edge_share, g_bottom = given.way_share, given.edge_share, given.g_bottom
    # By continuation and split, the sum of its edges' shares.
    split_first = np.zeros(nodes + 1, np.int64)
    for node in range(nodes):
        width = forest.node_end[node] - forest.node_start[node] if continuation[node] else 0
        split_first[node + 1] = split_first[node] + width
    split = np.zeros(split_first[nodes])
    # By node, the continuations that it goes on with. All inner children of a group have one symbol.
    most = 0
    for group in way_to:
        if group >= 0 and edge_first[group] < edge_first[group + 1]:
            if continuation[inner[edge_first[group]]]:
                most += edge_first[group + 1] - edge_first[group]
    step_first, step_to = np.zeros(nodes + 1, np.int32), np.zeros(most, np.int32)
    step_share, newest = np.zeros(most), np.full(nodes, -1, np.int32)
    count = 0
    for node in range(nodes):
        begun = count
        step_first[node] = count
        for way in range(way_first[node], way_first[node + 1]):
            group = way_to[way]
            if group < 0 or way_share[way] == 0:
                continue
            first, last = edge_first[group], edge_first[group + 1]
            if first == last or not (continuation[node] or continuation[inner[first]]):
                continue
            for edge in range(first, last):
                child, value = inner[edge], way_share[way] * edge_share[edge]
                if value == 0:
                    continue
                if continuation[node]:
                    split[split_first[node] + abs(place[child] - place[node])] += value
                if continuation[child]:
                    if newest[child] < begun:
                        newest[child] = count
                        count += 1
                    step_to[newest[child]] = child
                    step_share[newest[child]] += value
    step_first[nodes] = count
    consistent, mass = np.zeros(n * (n + 1) // 2), np.zeros(nodes)
    for start in range(n):
        row = start * n - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, n + 1):
            live = False
            for node in range(cell_first[row + end], cell_last[row + end]):
                value = g_bottom[node]
                consistent[row + end] += value
                if value > LEAST:
                    for step in range(step_first[node], step_first[node + 1]):
                        mass[step_to[step]] += value * step_share[step]
                        live = True
            if not live:
                continue
            for below in range(start + 1, end - 1):
                beneath = below * n - below * (below - 1) // 2 - below - 1
                for node in range(cell_first[beneath + end], cell_last[beneath + end]):
                    value = mass[node]
                    if value == 0:
                        continue
                    mass[node] = 0
                    if value <= LEAST:
                        continue
                    for width in range(1, end - below):
                        consistent[row + below + width] += value * split[split_first[node] + width]
                    for step in range(step_first[node], step_first[node + 1]):
                        mass[step_to[step]] += value * step_share[step]
    return consistent


class Chains(NamedTuple):
    """A grammar's chains of unary rules; those of nothing but continuations may stand over closed cells."""

    closure: Closure
    closed: FloatArray  # by entry of the closure, the part of the latter


class MaskedForest:
    """One sentence's forest, and the memory to compute probabilities in it again and again."""

    def __init__(self, crossing: CrossingForest) -> None:
        forest = self.forest = crossing.forest
        self.crossing = crossing
        self.length = forest.length
        self.none = np.zeros(len(forest.node_first) - 1, np.bool_)
        nodes = len(forest.node_symbol)
        self._values = Masked(np.zeros(nodes), np.zeros(nodes), np.zeros(len(forest.edge_first) - 1))
        rows, columns = np.tril_indices(self.length)
        self._cell_start, self._cell_end = rows - columns, rows + 1

    @classmethod
    def of(cls, forest: TopDownForest, continuation: Booleans, chains: Chains | None) -> MaskedForest:
        """A sentence's forest; ``continuation`` is by symbol, ``chains`` None without unary rules."""
        g_bottom, wide = forest.node_g, forest.node_end - forest.node_start > 1
        first, nodes = np.zeros(len(forest.node_first), np.int32), np.zeros((2, 0), np.int32)
        shares = np.zeros((2, 0))
        if chains is not None:
            binary = np.where(forest.way_to >= 0, forest.way_share, 0.0)
            of_rules = np.bincount(nodes_of_ways(forest), binary, len(forest.node_symbol))
            g_bottom = np.where(wide, g_bottom * of_rules, g_bottom)
            bottoms = np.flatnonzero(wide & (g_bottom > 0)).astype(np.int32)
            first, nodes, shares = _chains(forest, bottoms, chains)
        may_close = continuation[forest.node_symbol]
        return cls(CrossingForest(forest, may_close, g_bottom, first, *nodes, *shares))

    @property
    def has_chains(self) -> bool:
        """Whether there are unary rules in it."""
        return bool(len(self.crossing.chain_top))

    @cached_property
    def cost(self) -> int:
        """How many pairs of a rule and a split there are."""
        return self.edges_left(self.forest)

    def edges_left(self, shares: Conditioned | TopDownForest) -> int:
        """How many of these pairs have a share above zero."""
        edges = np.diff(np.append(0, np.cumsum(shares.edge_share > 0))[self.forest.edge_first])
        groups = self.forest.way_to[shares.way_share > 0]
        return int(edges[groups[groups >= 0]].sum())

    def cells_across(self, brackets: Iterable[tuple[int, int]]) -> Booleans:
        """The cells (packed_forest.forest_cell) that cross one of the brackets, or several."""
        return crossing(self._cell_start, self._cell_end, brackets)

    def mass(self, closed: Booleans, alive: Booleans | None = None) -> float:
        """The probability that no constituent stands in closed cells, and that all nodes are ``alive``."""
        if self.length < 2:
            return 1.0
        if alive is None:
            alive = ~np.repeat(closed, np.diff(self.forest.node_first)) | self.crossing.continuation
        return min(float(masked_inside(self.crossing, closed, alive, self._values)), 1.0)

    def conditioned(self, closed: Booleans, alive: Booleans | None = None) -> tuple[float, Conditioned]:
        """The same, and what is probable given this."""
        crossing, forest = self.crossing, self.forest
        mass = self.mass(closed, alive)
        nodes, groups = len(forest.node_symbol), len(forest.edge_first) - 1
        sizes = len(forest.way_share), len(forest.edge_share), nodes, nodes, groups
        given = Conditioned(*map(np.zeros, sizes))
        if mass > 0 and self.length > 1:
            masked_outside(crossing, closed, self._values, mass, given)
        return mass, given

    def restricted(self, given: Conditioned) -> MaskedForest:
        """The derivations that are left, with probabilities given that; of forests without unary rules."""
        forest = self.forest
        ways, edges = given.way_share > 0, given.edge_share > 0
        way_first = np.append(0, np.cumsum(ways))[forest.way_first].astype(np.int32)
        edge_first = np.append(0, np.cumsum(edges))[forest.edge_first].astype(np.int32)
        root = np.where(np.arange(len(forest.root)) < forest.node_first[-2], 0.0, given.g_bottom)
        left = forest._replace(
            root=root,
            way_first=way_first,
            way_to=forest.way_to[ways],
            way_rule=forest.way_rule[ways],
            way_share=given.way_share[ways],
            edge_first=edge_first,
            edge_left=forest.edge_left[edges],
            edge_right=forest.edge_right[edges],
            edge_share=given.edge_share[edges],
        )
        return MaskedForest(self.crossing._replace(forest=left, g_bottom=given.g_bottom))


def _chains(
    forest: TopDownForest, bottoms: IntArray, chains: Chains
) -> tuple[IntArray, IntArray, FloatArray]:
    """The chains between nodes of a cell, from these bottoms up.

    Returns where each cell's begin, the top and bottom nodes [2, chain], and what all chains of two such
    nodes, and the closed ones, make of the top's inside value [2, chain].
    """
    start, tops, values = chains.closure
    symbol, symbols = forest.node_symbol, len(start) - 1
    cells = np.repeat(np.arange(len(forest.node_first) - 1), np.diff(forest.node_first))
    counts = start[symbol[bottoms] + 1] - start[symbol[bottoms]]
    bottom = np.repeat(bottoms, counts)
    entry = np.arange(len(bottom)) + np.repeat(start[symbol[bottoms]] - np.cumsum(counts) + counts, counts)
    keys = cells * symbols + symbol
    wanted = cells[bottom] * symbols + tops[entry]
    order = np.argsort(keys)
    top = order[np.searchsorted(keys, wanted, sorter=order) % len(keys)]
    found = keys[top] == wanted
    top, bottom, entry = top[found], bottom[found], entry[found]
    scale = forest.inside[bottom] / forest.inside[top]
    root = np.exp((forest.log_unit[bottom] - forest.log_unit[top]) / 2)  # its square may be too large
    first = np.searchsorted(cells[bottom], np.arange(len(forest.node_first))).astype(np.int32)
    nodes = np.stack([top, bottom]).astype(np.int32)
    return first, nodes, np.stack([values[entry], chains.closed[entry]]) * scale * root * root


def nodes_of_ways(forest: TopDownForest) -> IntArray:
    """The node that each way makes."""
    nodes = np.arange(len(forest.node_symbol), dtype=np.int32)
    return np.repeat(nodes, np.diff(forest.way_first))


#: Nodes expected less often are left out: together they are far below the last digit of interest.
NEGLIGIBLE = 1e-18
ROUNDING = 1e-12


class Consistency:
    """What one grammar's forests say of spans that nothing crosses."""

    def __init__(self, grammar: PCFG, continuation: Booleans | None = None) -> None:
        """``continuation`` [symbols]: what is no constituent; by default the grammar's continuations."""
        if continuation is None:
            symbols = grammar.symbols
            continuation = np.array([not is_terminal(name) and is_continuation(name) for name in symbols])
        self.continuation = flags = continuation
        unary = flags[grammar.unary_parent].any() or flags[grammar.unary_child].any()
        #: Whether continuations are left children only: spines of these go on to the left.
        self.mirrored = not unary and bool(flags[grammar.left].any()) and not flags[grammar.right].any()
        self.one_pass = self.mirrored or not (unary or flags[grammar.left].any())
        self._chains: Chains | None = None
        if grammar.has_unaries:
            closure = unary_closure(grammar)
            self._chains = Chains(closure, _closed(grammar, flags, closure))

    def forest(self, charts: ForestCharts, terminal_ids: IntArray) -> MaskedForest:
        """The derivations of a sentence; raises as ``top_down_forest`` does."""
        forest = top_down_forest(charts, terminal_ids, NEGLIGIBLE)
        return MaskedForest.of(forest, self.continuation, self._chains)

    def of_sentence(self, charts: ForestCharts, terminal_ids: IntArray) -> FloatArray:
        """c by cell (charts.spans)."""
        forest = self.forest(charts, terminal_ids)
        return self.joint(forest, forest.none)

    def joint(self, forest: MaskedForest, closed: Booleans) -> FloatArray:
        """By cell, the probability that closed cells have no constituent, and that none crosses the span."""
        if self.one_pass:
            return self.joint_of(forest, *forest.conditioned(closed))
        n = forest.length
        found = np.full(n * (n + 1) // 2, forest.mass(closed))
        for start in range(n):
            for end in range(start + 2, n + 1):
                if end - start < n:
                    found[cell_of(n, start, end)] = forest.mass(closed | forest.cells_across([(start, end)]))
        return found

    def joint_of(self, masked: MaskedForest, mass: float, given: Conditioned) -> FloatArray:
        """The same in one pass, from what is left where cells are closed, of probability ``mass``.

        It takes n^4 / 24 steps for each continuation of a cell.
        """
        n, node_first = masked.length, masked.forest.node_first
        starts, ends = np.triu_indices(n)
        turned = cell_of(n, n - 1 - ends, n - starts)  # each cell's mirror image
        if self.mirrored:
            starts, ends = n - 1 - ends, n - 1 - starts
        cells = (ends + 1) * ends // 2 + ends - starts
        found = consistent_spans(
            masked.crossing, given, self.mirrored, node_first[cells], node_first[cells + 1]
        )
        found[np.cumsum(np.append(0, np.arange(n, 1, -1)))] = 1.0  # nothing crosses a single terminal
        # What differs from one by rounding is one: logarithms of it would tell equal trees apart.
        found[found > 1 - ROUNDING] = 1.0
        return mass * (found[turned] if self.mirrored else found)


def _closed(grammar: PCFG, continuation: Booleans, closure: Closure) -> FloatArray:
    """The chains that have nothing but continuations in them, by entry of the closure of all."""
    within = unary_closure(grammar, continuation[grammar.unary_parent] & continuation[grammar.unary_child])
    symbols = len(grammar.symbols)
    bottom = np.repeat(np.arange(symbols), np.diff(closure.start))
    inner = np.repeat(np.arange(symbols), np.diff(within.start)) * symbols + within.top
    values = np.zeros(len(bottom))
    # Whatever is reached by some chains is reached by all.
    values[np.searchsorted(bottom * symbols + closure.top, inner)] = within.value
    values[~(continuation[bottom] & continuation[closure.top])] = 0.0
    return values
