"""The way up in sparse charts: inside values, or those of the best derivations.

A column is filled from its last start to its first.  When the cell (split,
end) is complete, each of its nodes looks, as a right child, for partners among
the nodes that end at ``split``: these are bucketed by symbol, so that every
step of the innermost loop is a product that is not zero.

A complete cell is closed under unary rules before anything is made of it: its
inside values b become U* b, on the way back its outside values t become t U*
(see ``closure``), so that inside * outside counts how often a symbol is
expected over the span, any number of times in one chain.

One text serves both semirings: where ``best`` is None, products are added up, else their maximum is
taken and where it came from is kept. numba compiles it once for each and drops the branches that are
not its own: two texts were no faster (0.97 to 1.02 of their rates). The forest's way up is another
algorithm (see ``packed_forest``).
"""

from __future__ import annotations

from mbrparse.grammar.charts.prediction import predict
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.sparse.alive import Alive, is_alive
from mbrparse.grammar.charts.sparse.sparse_state import (
    BestPaths,
    SparseChart,
    SparseState,
    enter_node,
    fill_buckets,
    normalize,
    set_factors,
)
from mbrparse.grammar.kernel import kernel


@kernel
def sparse_inside(state: SparseState, alive: Alive | None, stop: Ints) -> bool:
    """Fill the chart with all nodes of a sentence.

    With ``alive`` binary rules make nothing else. (Words do not, either; and unary rules are above what is.)
    They make only what is predicted, if ``prediction`` says anything of it.

    False when they do not fit, and where ``stop`` (``Clock.stop``) is set.
    """
    full: bool = _fill(state, None, alive, stop)
    return full


@kernel
def sparse_viterbi(state: SparseState, best: BestPaths, alive: Alive | None, stop: Ints) -> bool:
    """The same with maxima, and the way to each in ``best``.

    Ties as in ``dense_derivations``; among chains of unary rules over a span the one with the fewest
    nodes comes first, then the one over the earliest split, then the first in order of symbols.
    """
    full: bool = _fill(state, best, alive, stop)
    return full


@kernel
def _fill(state: SparseState, best: BestPaths | None, alive: Alive | None, stop: Ints) -> bool:
    tables, unary, prediction, words, chart, buckets = state
    n = len(words.entry_start) - 1
    chains = len(unary.rule_parent) > 0
    capacity = len(chart.inside)
    node_start, node_symbol, inside = chart.start, chart.symbol, chart.inside
    cell_first, cell_next, column_start = chart.cell_first, chart.cell_next, chart.column_start
    slots, factor, predicted = buckets.slots, buckets.factor, buckets.predicted
    buckets.first[0] = 0
    cell_first[: n + 1, : n + 1] = -1
    chart.exponent[: n + 1, : n + 1] = 0
    count = 0
    for end in range(1, n + 1):
        column_start[end] = count
        predict(predicted, prediction, buckets.row, buckets.first[end - 1], end - 1)
        for entry in range(words.entry_start[end - 1], words.entry_start[end]):
            if count == capacity:
                slots[:] = -1
                return False
            enter_node(chart, slots, (end - 1, end), words.entry_symbol[entry], count)
            inside[count] = words.entry_prob[entry]
            count += 1
        for split in range(end - 1, 0, -1):
            if cell_first[split, end] < 0:
                continue
            if stop[0]:
                slots[:] = -1
                return False
            if chains:
                if best is None:
                    normalize(chart, split, end)  # sums over chains may be large: first make room
                count = _close(state, best, split, end, count)
                if count < 0:
                    return False
            normalize(chart, split, end)
            set_factors(chart, factor, split, end)
            right = cell_first[split, end]
            while right >= 0:
                symbol = node_symbol[right]
                for pair in range(tables.pair_start[symbol], tables.pair_start[symbol + 1]):
                    left = tables.pair_left[pair]
                    first = buckets.first[split, left]
                    last = buckets.first[split, left + 1]
                    if first == last:
                        continue
                    for rule in range(tables.rule_start[pair], tables.rule_start[pair + 1]):
                        parent = tables.rule_parent[rule]
                        weight = tables.rule_prob[rule] * inside[right]
                        for member in range(first, last):
                            start = buckets.start[member]
                            if alive is not None:
                                if not is_alive(alive, start, end, parent):
                                    continue
                            value = weight * buckets.value[member] * factor[start]
                            node = slots[parent, start]
                            is_new = node < 0
                            if is_new:
                                if prediction.is_selective and not predicted[start, parent]:
                                    continue
                                if count == capacity:
                                    slots[:] = -1
                                    return False
                                node = count
                                count += 1
                                slots[parent, start] = node
                                node_start[node] = start
                                inside[node] = 0
                                node_symbol[node] = parent
                                cell_next[node] = cell_first[start, end]
                                cell_first[start, end] = node
                            if best is None:
                                inside[node] += value
                                continue
                            if is_new:
                                inside[node] = value
                            elif value < inside[node] * (1 - best.tolerance):
                                continue
                            elif value <= inside[node] * (1 + best.tolerance):
                                # A tie: splits come in descending order, symbols in none.
                                inside[node] = max(inside[node], value)
                                old_right = best.back[node, 1]
                                if node_start[old_right] == split and (
                                    node_symbol[best.back[node, 0]],
                                    node_symbol[old_right],
                                ) < (node_symbol[buckets.node[member]], symbol):
                                    continue
                            else:
                                inside[node] = value
                            best.back[node, 0] = buckets.node[member]
                            best.back[node, 1] = right
                right = cell_next[right]
        if chains:
            if best is None:
                normalize(chart, 0, end)
            count = _close(state, best, 0, end, count)
            if count < 0:
                return False
        normalize(chart, 0, end)
        column_start[end + 1] = count
        for node in range(column_start[end], count):
            slots[node_symbol[node], node_start[node]] = -1
        fill_buckets(tables, chart, buckets, end)
    return True


@kernel
def _close(state: SparseState, best: BestPaths | None, start: int, end: int, count: int) -> int:
    """Close a complete cell under unary rules; return the new number of nodes, -1 if they do not fit."""
    unary, chart, slots, mass = state.unary, state.chart, state.buckets.slots, state.buckets.mass
    inside = chart.inside
    newest = chart.cell_first[start, end]  # new nodes come before it
    node = newest
    while node >= 0:
        mass[chart.symbol[node]] = inside[node]
        inside[node] = 0
        node = chart.cell_next[node]
    node = newest
    while node >= 0:
        symbol = chart.symbol[node]
        for entry in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            top = slots[unary.closure_top[entry], start]
            if top < 0:
                if count == len(inside):
                    slots[:] = -1
                    return -1
                top = count
                enter_node(chart, slots, (start, end), unary.closure_top[entry], count)
                inside[top] = 0
                count += 1
            if best is None:
                inside[top] += unary.closure_value[entry] * mass[symbol]
            else:
                inside[top] = max(inside[top], best.chains.prob[entry] * mass[symbol])
        node = chart.cell_next[node]
    if best is not None:
        _keep_chains(state, best, newest, start, end)
    return count


@kernel
def _keep_chains(state: SparseState, best: BestPaths, newest: int, start: int, end: int) -> None:
    """Keep the best chain of each node of a closed cell; from ``newest`` on its nodes can be bottoms."""
    unary, chart, slots, mass = state.unary, state.chart, state.buckets.slots, state.buckets.mass
    back, chains = best.back, best.chains
    node = chart.cell_first[start, end]
    while node >= 0:
        back[node, 2] = -1
        node = chart.cell_next[node]
    node = newest
    while node >= 0:
        symbol = chart.symbol[node]
        for entry in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            top = slots[unary.closure_top[entry], start]
            if chains.prob[entry] * mass[symbol] >= chart.inside[top] * (1 - best.tolerance):
                old = back[top, 2]
                if old >= 0:
                    mine = (chains.length[entry], _split(chart, back, node, end), symbol)
                    other = (
                        chains.length[back[top, 3]],
                        _split(chart, back, old, end),
                        chart.symbol[old],
                    )
                    if other < mine:
                        continue
                back[top, 2] = node
                back[top, 3] = entry
        node = chart.cell_next[node]


@kernel
def _split(chart: SparseChart, back: Ints, node: int, end: int) -> int:
    """Where a node's best children meet; 0 over a single terminal."""
    start = chart.start[node]
    return chart.start[back[node, 1]] - start if end - start > 1 else 0
