"""The most probable derivation among the nodes that are probable enough to be in it.

A derivation is no more probable than each of its nodes can be: the best derivation of the node's words, times
all that may stand around it. So what is found among the nodes that reach a bound is the most probable of all
if it reaches the bound itself; if not, it is a lower bound for which that is certain. Where sums are known,
few nodes are left to search, in logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.lexicon import Words
from mbrparse.grammar.charts.nodes import Nodes
from mbrparse.grammar.charts.rule_tables import Ints, Offsets, Rules
from mbrparse.grammar.charts.sparse.sparse_state import SparseChart
from mbrparse.grammar.kernel import array_kernel, kernel

Doubles = npt.NDArray[np.float64]

# Bounds of the derivation's posterior: one after the other. Beyond, or with more nodes, nothing is gained.
_BOUNDS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_MOST_NODES = 1 << 13
# Posteriors are rounded, and derivations as good as the best one are wanted too.
_SLACK = 1e-3


class PairRules(NamedTuple):
    """Binary rules by their children: a table of pairs with open addressing."""

    key: Offsets  # left * symbols + right, or -1
    place: Ints  # of the pair: its rules are first[place] .. first[place + 1]
    first: Ints
    parent: Ints
    log_prob: Doubles
    log_root: Doubles  # by symbol
    node_of: Ints  # by symbol: scratch of one cell, all -1 between calls


class _Room(NamedTuple):
    """The nodes that are kept of a sentence, cell after cell; words first."""

    symbol: Ints
    value: Doubles  # the logarithm of the best derivation's probability
    least: Doubles  # what it must be
    first: Ints  # [start, end]
    last: Ints


def pair_rules(rules: Rules) -> PairRules:
    """Arrange the rules by pairs of children."""
    key = rules.left.astype(np.int64) * rules.n_symbols + rules.right
    order = np.argsort(key, kind="stable")
    keys, first = np.unique(key[order], return_index=True)
    size = 1 << max(len(keys), 1).bit_length() + 1
    with np.errstate(divide="ignore"):
        log_prob, log_root = np.log(rules.prob[order]), np.log(rules.root_prob)
    table = PairRules(
        np.full(size, -1, np.int64),
        np.zeros(size, np.int32),
        np.append(first, len(order)).astype(np.int32),
        rules.parent[order],
        log_prob,
        log_root,
        np.full(rules.n_symbols, -1, np.int32),
    )
    _enter(table, keys)
    return table


@kernel
def _enter(table: PairRules, keys: Offsets) -> None:
    for place in range(len(keys)):
        slot = _slot(table, keys[place])
        table.key[slot], table.place[slot] = keys[place], place


@kernel
def _slot(table: PairRules, key: int) -> int:
    """Where a pair is in the table, or would be."""
    mask = len(table.key) - 1
    slot = ((key * 0x9E3779B1) >> 13) & mask
    while table.key[slot] >= 0 and table.key[slot] != key:
        slot = (slot + 1) & mask
    return slot


@array_kernel
def probable_derivation(
    rules: PairRules, words: Words, chart: SparseChart, log_prob: float, tie: float
) -> tuple[Nodes, float]:
    """The nodes of the derivation, as ``sparse_derivation`` has them, and its log probability.

    The chart has inside and outside values of a grammar without unary rules, ``log_prob`` is the sentence's.
    No nodes, and -inf, where others than those looked at may be in it.
    """
    n = len(words.entry_start) - 1
    room = _Room(
        np.empty(_MOST_NODES, np.int32),
        np.empty(_MOST_NODES),
        np.empty(_MOST_NODES),
        np.zeros((n, n + 1), np.int32),
        np.zeros((n, n + 1), np.int32),
    )
    reached = 0.0
    for bound in _BOUNDS:
        # With a bound that was found the next search is the last.
        least = reached if reached >= _BOUNDS[-1] else bound
        top = _fill(rules, words, chart, least, room)
        reached = np.exp(top - log_prob) * (1 - _SLACK)
        if reached >= least:
            return _read_off(rules, n, top, tie, room), top
        if np.isnan(top):
            break
    return Nodes(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)), -np.inf


@kernel
def _fill(rules: PairRules, words: Words, chart: SparseChart, bound: float, room: _Room) -> float:
    """Find the best derivations of nodes that reach the bound, and of the sentence; not a number: no room."""
    n = len(words.entry_start) - 1
    symbols, values, node_of = room.symbol, room.value, rules.node_of
    count = words.entry_start[n]
    if count > len(symbols):
        return np.nan
    for position in range(n):
        room.first[position, position + 1] = words.entry_start[position]
        room.last[position, position + 1] = words.entry_start[position + 1]
    for entry in range(count):
        symbols[entry], values[entry] = words.entry_symbol[entry], np.log(np.float64(words.entry_prob[entry]))
    for start in range(n - 2, -1, -1):
        for end in range(start + 2, n + 1):
            first = count
            node = chart.cell_first[start, end]
            while node >= 0:
                inside = np.float64(chart.inside[node])
                g = inside * chart.outside[node]
                if g >= bound:
                    if count == len(symbols):
                        for new in range(first, count):
                            node_of[symbols[new]] = -1
                        return np.nan
                    symbols[count], values[count] = chart.symbol[node], -np.inf
                    room.least[count] = np.log(bound / g * inside) + chart.exponent[start, end] * np.log(2.0)
                    node_of[symbols[count]] = count
                    count += 1
                node = chart.cell_next[node]
            if count > first:
                _fill_cell(rules, start, end, room)
            last, count = count, first
            for new in range(first, last):
                node_of[symbols[new]] = -1
                if values[new] >= room.least[new]:
                    symbols[count], values[count] = symbols[new], values[new]
                    count += 1
            room.first[start, end], room.last[start, end] = first, count
    top = -np.inf
    for root in range(room.first[0, n], room.last[0, n]):
        top = max(top, rules.log_root[symbols[root]] + values[root])
    return top


@kernel
def _fill_cell(rules: PairRules, start: int, end: int, room: _Room) -> None:
    symbols, values, n_symbols = room.symbol, room.value, len(rules.node_of)
    for split in range(start + 1, end):
        first, last = room.first[split, end], room.last[split, end]
        if first == last:
            continue
        for left in range(room.first[start, split], room.last[start, split]):
            row = np.int64(symbols[left]) * n_symbols
            for right in range(first, last):
                slot = _slot(rules, row + symbols[right])
                if rules.key[slot] < 0:
                    continue
                value = values[left] + values[right]
                place = rules.place[slot]
                for rule in range(rules.first[place], rules.first[place + 1]):
                    node = rules.node_of[rules.parent[rule]]
                    if node >= 0:
                        values[node] = max(values[node], value + rules.log_prob[rule])


@array_kernel
def _read_off(rules: PairRules, n: int, top: float, tie: float, room: _Room) -> Nodes:
    """The first derivation within the tolerance of the best."""
    symbols, values = room.symbol, room.value
    nodes = Nodes(np.empty(2 * n - 1, np.int32), np.empty(2 * n - 1, np.int32), np.empty(2 * n - 1, np.int32))
    root = -1
    for node in range(room.first[0, n], room.last[0, n]):
        if rules.log_root[symbols[node]] + values[node] >= top - tie:
            root = node if root < 0 or symbols[node] < symbols[root] else root
    stack = np.empty((n + 1, 3), np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, root
    height, count = 1, 0
    while height:
        height -= 1
        start, end, node = stack[height, 0], stack[height, 1], stack[height, 2]
        nodes.start[count], nodes.end[count], nodes.symbol[count] = start, end, symbols[node]
        count += 1
        if end - start > 1:
            split, left, right = _children(rules, (start, end, node), tie, room)
            stack[height, 0], stack[height, 1], stack[height, 2] = split, end, right
            stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = start, split, left
            height += 2
    return nodes


@kernel
def _children(
    rules: PairRules, parent: tuple[int, int, int], tie: float, room: _Room
) -> tuple[int, int, int]:
    """The first, in order of split and symbols, that reach the parent's value."""
    start, end, node = parent
    symbols, values, n_symbols = room.symbol, room.value, len(rules.node_of)
    bound = values[node] - tie
    for split in range(start + 1, end):
        best_left, best_right = -1, -1
        for left in range(room.first[start, split], room.last[start, split]):
            row = np.int64(symbols[left]) * n_symbols
            for right in range(room.first[split, end], room.last[split, end]):
                value = values[left] + values[right]
                if value < bound:
                    continue
                slot = _slot(rules, row + symbols[right])
                if rules.key[slot] < 0:
                    continue
                place = rules.place[slot]
                for rule in range(rules.first[place], rules.first[place + 1]):
                    reached = value + rules.log_prob[rule] >= bound
                    if reached and rules.parent[rule] == symbols[node]:
                        pair = symbols[best_left], symbols[best_right]
                        if best_left < 0 or (symbols[left], symbols[right]) < pair:
                            best_left, best_right = left, right
        if best_left >= 0:
            return split, best_left, best_right
    raise ValueError("the cells do not hold what they were filled from")
