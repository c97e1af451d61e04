"""All derivations of a sentence, each step with its probability given the node that is taken apart.

A *node* is a symbol over a span, as a chart's. Its *edges* are the ways to make it of two smaller nodes; the
``share`` of an edge is its probability given the node. So nothing here is smaller than the sentence's own
probability has to be: whatever the length, every value is between zero and one. With unary rules a node has
two sides: what stands at the bottom of its cell's chains (edges lead there), and at their top (which edges
come from); *chains* lead from one to the other.

Nodes are numbered cell by cell, cells column by column (packed_forest.forest_cell), so that every node comes
after those that it is made of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.crossing.graph_rules import Doubles, Flags, GraphRules
from mbrparse.grammar.charts.live_nodes import LiveNodes
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.kernel import array_kernel


class DerivationGraph(NamedTuple):
    """Arrays by cell, node, edge and chain."""

    length: int
    node_first: Ints  # by cell
    node_start: Ints
    node_end: Ints
    node_symbol: Ints
    node_continuation: Flags  # whether it may stand over a closed cell
    g_bottom: Doubles  # by node: the probability that its cell's chain ends in it
    root: Doubles  # by node: the probability that it is the root
    edge_first: Ints  # by cell
    edge_parent: Ints
    edge_left: Ints
    edge_right: Ints
    edge_share: Doubles
    chain_first: Ints  # by cell
    chain_top: Ints
    chain_bottom: Ints
    chain_share: Doubles
    chain_closed: Doubles  # the share where nothing but continuations may stand


class Room(NamedTuple):
    """Where edges and chains are made; it is used again for sentence after sentence."""

    parent: Ints
    left: Ints
    right: Ints
    share: Doubles
    chain_top: Ints
    chain_bottom: Ints
    chain_share: Doubles
    chain_closed: Doubles
    slot: Ints  # by symbol: the node of the cell at work; -1 between calls


class Values(NamedTuple):
    """Logarithms of inside values, and the values over the largest of their cell (``peak`` is its log)."""

    log_inside: Doubles
    inside: Doubles
    peak: Doubles  # by cell


class GraphBuilder:
    """Builds the graphs of one grammar's sentences."""

    def __init__(self, rules: GraphRules) -> None:
        self._rules = rules
        self._room = _room(1 << 16, len(rules.log_root))

    def build(self, length: int, nodes: LiveNodes, spines: bool = False) -> DerivationGraph:
        """The graph of a sentence of which these are the live nodes.

        With ``spines`` edges from what is no continuation to what is none may be missing.
        """
        rules = self._rules
        cell = nodes.end * (nodes.end - 1) // 2 + nodes.end - 1 - nodes.start
        order = np.lexsort((nodes.symbol, cell))
        start, end, symbol = (column[order].astype(np.int32) for column in nodes[:3])
        log_inside, g = nodes.log_inside[order], nodes.g[order]
        cells = length * (length + 1) // 2
        first = np.searchsorted(cell[order], np.arange(cells + 1)).astype(np.int32)
        edge_first, chain_first = np.zeros(cells + 1, np.int32), np.zeros(cells + 1, np.int32)
        sizes = np.diff(first)
        peak = np.full(cells, -np.inf)
        if len(symbol):
            peak[sizes > 0] = np.maximum.reduceat(log_inside, first[:-1][sizes > 0])
        values = Values(log_inside, np.exp(log_inside - np.repeat(peak, sizes)), peak)
        g_bottom = g.copy()
        while True:
            steps = edge_first, chain_first
            found = _build(rules, first, symbol, values, g_bottom, steps, self._room, spines)
            if found[0] >= 0:
                break
            size = 2 * len(self._room.parent)
            self._room = self._room._replace(slot=np.zeros(0, np.int32))
            self._room = _room(size, len(rules.log_root))
            g_bottom = g.copy()
        edges, chains = found
        room = self._room
        return DerivationGraph(
            length,
            first,
            start,
            end,
            symbol,
            rules.continuation[symbol],
            g_bottom,
            _roots(rules, symbol, log_inside, int(first[cells - 1]), int(first[cells])),
            edge_first,
            room.parent[:edges].copy(),
            room.left[:edges].copy(),
            room.right[:edges].copy(),
            room.share[:edges].copy(),
            chain_first,
            room.chain_top[:chains].copy(),
            room.chain_bottom[:chains].copy(),
            room.chain_share[:chains].copy(),
            room.chain_closed[:chains].copy(),
        )


def _room(size: int, symbols: int) -> Room:
    chains = max(size >> 3, 1)
    return Room(
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size),
        np.zeros(chains, np.int32),
        np.zeros(chains, np.int32),
        np.zeros(chains),
        np.zeros(chains),
        np.full(symbols, -1, np.int32),
    )


def _roots(rules: GraphRules, symbol: Ints, log_inside: Doubles, first: int, last: int) -> Doubles:
    """By node, the probability that it is the root."""
    root = np.zeros(len(symbol))
    logs = log_inside[first:last] + rules.log_root[symbol[first:last]]
    shares = np.exp(logs - logs.max(initial=-np.inf))
    root[first:last] = shares / shares.sum()
    return root


@array_kernel
def _build(
    rules: GraphRules,
    node_first: Ints,
    symbols: Ints,
    values: Values,
    g_bottom: Doubles,
    steps: tuple[Ints, Ints],
    room: Room,
    spines: bool,
) -> tuple[int, int]:
    """Make edges and chains; returns their numbers, or -1 where there is no room for them.

    ``g_bottom`` holds g, and is brought to what of it has the node at the bottom of a chain.
    """
    edge_first, chain_first = steps
    slot, pair_right, rule_start = room.slot, rules.pair_right, rules.rule_start
    rule_parent, rule_log_prob, rule_prob = rules.rule_parent, rules.rule_log_prob, rules.rule_prob
    log_inside, inside, continuation = values.log_inside, values.inside, rules.continuation
    out_parent, out_left, out_right, out_share = room.parent, room.left, room.right, room.share
    capacity = len(out_parent)
    unary = len(rules.chain_top) > 0
    made = np.zeros(len(symbols))
    cells = len(node_first) - 1
    length = int((np.sqrt(8.0 * cells + 1) - 1) / 2 + 0.5)
    edges, chains = 0, 0
    for end in range(1, length + 1):
        base = end * (end - 1) // 2 + end - 1
        for start in range(end - 1, -1, -1):
            cell = base - start
            edge_first[cell], chain_first[cell] = edges, chains
            first, last = node_first[cell], node_first[cell + 1]
            if first == last or end - start == 1:
                continue
            for node in range(first, last):
                slot[symbols[node]] = node
            full = False
            for split in range(start + 1, end):
                one = split * (split - 1) // 2 + split - 1 - start
                other = base - split
                log_factor = values.peak[one] + values.peak[other] - values.peak[cell]
                if not log_factor > -np.inf:
                    continue
                factor = np.exp(log_factor)
                # Beyond, values of weight might leave the numbers' range.
                ordinary = -400 < log_factor < 400
                for left in range(node_first[one], node_first[one + 1]):
                    row = rules.pair_start[symbols[left]]
                    row_end = rules.pair_start[symbols[left] + 1]
                    if row == row_end:
                        continue
                    # Both are in the order of symbols.
                    for right in range(node_first[other], node_first[other + 1]):
                        wanted = symbols[right]
                        low, high = row, row_end
                        while low < high:
                            middle = (low + high) >> 1
                            if pair_right[middle] < wanted:
                                low = middle + 1
                            else:
                                high = middle
                        row = low
                        if low == row_end:
                            break
                        if pair_right[low] != wanted:
                            continue
                        passing = spines and not unary and not continuation[wanted]
                        product = inside[left] * inside[right] * factor
                        for rule in range(rule_start[low], rule_start[low + 1]):
                            node = slot[rule_parent[rule]]
                            if node < 0 or (passing and not continuation[rule_parent[rule]]):
                                continue
                            if edges == capacity:
                                full = True
                                break
                            if ordinary:
                                share = rule_prob[rule] * product / inside[node]
                            else:
                                above = log_inside[left] + log_inside[right] - log_inside[node]
                                share = np.exp(rule_log_prob[rule] + above)
                            out_parent[edges], out_left[edges], out_right[edges] = node, left, right
                            out_share[edges] = share
                            made[node] += share
                            edges += 1
            if unary and not full:
                for edge in range(edge_first[cell], edges):
                    room.share[edge] /= made[room.parent[edge]]
                for bottom in range(first, last):
                    g_bottom[bottom] *= made[bottom]
                    if made[bottom] == 0:
                        continue
                    symbol = symbols[bottom]
                    for entry in range(rules.chain_start[symbol], rules.chain_start[symbol + 1]):
                        top = slot[rules.chain_top[entry]]
                        if top < 0:
                            continue
                        if chains == len(room.chain_top):
                            full = True
                            break
                        scale = made[bottom] * np.exp(log_inside[bottom] - log_inside[top])
                        room.chain_top[chains], room.chain_bottom[chains] = top, bottom
                        room.chain_share[chains] = rules.chain_open[entry] * scale
                        room.chain_closed[chains] = rules.chain_closed[entry] * scale
                        chains += 1
            for node in range(first, last):
                slot[symbols[node]] = -1
            if full:
                return -1, -1
    edge_first[cells], chain_first[cells] = edges, chains
    return edges, chains
