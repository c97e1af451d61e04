"""Inside, outside and the best derivation of a forest, in logarithms (``log_forest``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.packed_forest import Forest, ForestState, forest_cell
from mbrparse.charts.base.rule_tables import Floats, Words
from mbrparse.charts.forest.forest_derivation import BestPaths, comes_before, split_of
from mbrparse.charts.kernel import kernel


class LogTables(NamedTuple):
    """Natural logarithms of a grammar's probabilities, in the order of its tables for forests."""

    rule: Floats
    root: Floats  # by symbol
    closure: Floats  # of the sums over chains of unary rules or, for maxima, of the best chain


class LogValues(NamedTuple):
    """Natural logarithms of a sentence's values; -inf for zero."""

    inside: Floats  # by node; for maxima the best derivation's probability
    outside: Floats
    lexical: Floats  # by node: its lexical rule's part of ``inside``
    own: Floats  # by node: ``inside`` without chains of unary rules
    group: Floats  # by group: the sum, or the maximum, over its edges
    weight: Floats  # by group: what comes down to it


@kernel
def _plus(first: float, second: float, maximize: bool) -> float:
    if maximize:
        return max(first, second)
    high, low = max(first, second), min(first, second)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@kernel
def log_inside(
    state: ForestState, tables: LogTables, words: Words, values: LogValues, maximize: bool
) -> None:
    """Fill ``inside``, ``lexical``, ``own`` and ``group`` of a forest's nodes and groups.

    The words' probabilities are unscaled. Nothing but the structure of the forest is looked at.
    """
    forest, n = state.forest, len(words.entry_start) - 1
    inside, group_value = values.inside, values.group
    count = forest.node_first[n * (n + 1) // 2]
    inside[:count], values.lexical[:count] = -np.inf, -np.inf
    group_value[: state.columns.counts[2]] = -np.inf
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            first, last = forest.node_first[cell], forest.node_first[cell + 1]
            if end - start == 1:
                _enter_words(forest, words, values, cell, start)
            group = forest.cell_group[cell]
            while group >= 0:
                for place in range(forest.production_first[group], forest.production_last[group]):
                    parent = forest.production_parent[place]
                    value = tables.rule[forest.production_rule[place]] + group_value[group]
                    inside[parent] = _plus(inside[parent], value, maximize)
                group = forest.group_next[group]
            for node in range(first, last):
                values.own[node] = inside[node]
            if len(state.unary.rule_parent):
                _close(state, tables, values, cell, maximize)
            for right in range(first, last):
                for edge in range(forest.edge_first[right], forest.edge_first[right + 1]):
                    left = forest.left_node[forest.left_first[right] + edge - forest.edge_first[right]]
                    group, value = forest.edge_group[edge], inside[left] + inside[right]
                    group_value[group] = _plus(group_value[group], value, maximize)


@kernel
def _enter_words(forest: Forest, words: Words, values: LogValues, cell: int, position: int) -> None:
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        for entry in range(words.entry_start[position], words.entry_start[position + 1]):
            if words.entry_symbol[entry] == forest.node_symbol[node]:
                values.lexical[node] = np.log(words.entry_prob[entry])
                values.inside[node] = values.lexical[node]


@kernel
def _close(state: ForestState, tables: LogTables, values: LogValues, cell: int, maximize: bool) -> None:
    """Close a cell's inside values under unary rules."""
    forest, unary, slot = state.forest, state.unary, state.columns.node_slot
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    for node in range(first, last):
        slot[forest.node_symbol[node]] = node
        values.inside[node] = -np.inf
    for node in range(first, last):
        symbol = forest.node_symbol[node]
        for place in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            above = slot[unary.closure_top[place]]
            # Nodes that derive others have all been made.
            value = tables.closure[place] + values.own[node]
            values.inside[above] = _plus(values.inside[above], value, maximize)
    for node in range(first, last):
        slot[forest.node_symbol[node]] = -1


@kernel
def log_outside(state: ForestState, tables: LogTables, values: LogValues, n: int) -> float:
    """Fill ``outside`` from the root down; returns the log probability of the sentence."""
    forest, unary, slot = state.forest, state.unary, state.columns.node_slot
    inside, outside, weight, own = values.inside, values.outside, values.weight, values.own
    root = forest_cell(0, n)
    outside[: forest.node_first[root + 1]] = -np.inf
    weight[: state.columns.counts[2]] = -np.inf
    total = -np.inf
    for node in range(forest.node_first[root], forest.node_first[root + 1]):
        outside[node] = tables.root[forest.node_symbol[node]]
        total = _plus(total, outside[node] + inside[node], False)
    for end in range(n, 0, -1):
        for start in range(end):
            cell = forest_cell(start, end)
            first, last = forest.node_first[cell], forest.node_first[cell + 1]
            for right in range(first, last):
                for edge in range(forest.edge_first[right], forest.edge_first[right + 1]):
                    left = forest.left_node[forest.left_first[right] + edge - forest.edge_first[right]]
                    passed = weight[forest.edge_group[edge]]
                    outside[right] = _plus(outside[right], passed + inside[left], False)
                    outside[left] = _plus(outside[left], passed + inside[right], False)
            if len(unary.rule_parent):
                for node in range(first, last):
                    slot[forest.node_symbol[node]] = node
                    own[node] = outside[node]
                for node in range(first, last):
                    symbol = forest.node_symbol[node]
                    outside[node] = -np.inf
                    for place in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
                        value = tables.closure[place] + own[slot[unary.closure_top[place]]]
                        outside[node] = _plus(outside[node], value, False)
                for node in range(first, last):
                    slot[forest.node_symbol[node]] = -1
            for place in range(forest.cell_production[cell], forest.cell_production[cell + 1]):
                group = forest.production_group[place]
                passed = tables.rule[forest.production_rule[place]]
                passed += outside[forest.production_parent[place]]
                weight[group] = _plus(weight[group], passed, False)
    return total


@kernel
def normalize(forest: Forest, values: LogValues, log_prob: float, n: int) -> None:
    """Replace a forest's values by such that their products are its posteriors: inside values are one."""
    for node in range(forest.node_first[n * (n + 1) // 2]):
        forest.inside[node] = 1.0
        forest.outside[node] = np.exp(values.inside[node] + values.outside[node] - log_prob)
        share = values.lexical[node] - values.inside[node]
        forest.lexical[node] = 0.0 if values.lexical[node] == -np.inf else np.exp(share)


@kernel
def log_best(state: ForestState, values: LogValues, best: BestPaths, n: int) -> None:
    """Keep what the best derivations of all nodes are made of, ``values`` being maxima.

    Of equally good ones the choice is that of ``forest_inside``. Candidates are compared as shares of the
    largest.
    """
    forest, share = state.forest, best.value
    node_start, node_symbol = forest.node_start, forest.node_symbol
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            first, last = forest.node_first[cell], forest.node_first[cell + 1]
            for node in range(first, last):
                # A lexical rule's share of the node's best value without unary rules.
                share[node] = _share(values.lexical[node], values.own[node])
                best.node_group[node] = -1
            group = forest.cell_group[cell]
            while group >= 0:
                for place in range(forest.production_first[group], forest.production_last[group]):
                    parent = forest.production_parent[place]
                    rule = np.log(state.tables.rule_prob[forest.production_rule[place]])
                    found = _share(rule + values.group[group], values.own[parent])
                    if found > 0 and found >= share[parent] * best.least_share:
                        old = best.node_group[parent]
                        if (
                            found * best.least_share > share[parent]
                            or old < 0
                            or not comes_before(
                                node_start, node_symbol, best.group_left, best.group_right, old, group
                            )
                        ):
                            best.node_group[parent] = group
                        share[parent] = max(share[parent], found)
                group = forest.group_next[group]
            if len(state.unary.rule_parent):
                _keep_log_chains(state, values, best, first, last)
            for right in range(first, last):
                for edge in range(forest.edge_first[right], forest.edge_first[right + 1]):
                    left = forest.left_node[forest.left_first[right] + edge - forest.edge_first[right]]
                    group = forest.edge_group[edge]
                    found = _share(values.inside[left] + values.inside[right], values.group[group])
                    # Splits come in descending order, and a group has one edge at each.
                    if found > 0 and found >= best.least_share:
                        best.group_left[group], best.group_right[group] = left, right


@kernel
def _share(value: float, largest: float) -> float:
    return 0.0 if value == -np.inf else np.exp(value - largest)


@kernel
def _keep_log_chains(state: ForestState, values: LogValues, best: BestPaths, first: int, last: int) -> None:
    """Keep the best chain of unary rules above each node of a cell (``forest_derivation.keep_chains``)."""
    unary, forest, chains, slot = state.unary, state.forest, best.chains, state.columns.node_slot
    for node in range(first, last):
        slot[forest.node_symbol[node]] = node
        best.node_bottom[node] = -1
    for node in range(first, last):
        if values.own[node] == -np.inf:
            continue
        symbol = forest.node_symbol[node]
        for place in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            top = slot[unary.closure_top[place]]
            value = np.log(chains.prob[place]) + values.own[node]
            if _share(value, values.inside[top]) < best.least_share:
                continue
            old = best.node_bottom[top]
            if old >= 0:
                mine = chains.length[place], split_of(forest, best, node), symbol
                kept = best.node_chain[top]
                if (chains.length[kept], split_of(forest, best, old), forest.node_symbol[old]) < mine:
                    continue
            best.node_bottom[top], best.node_chain[top] = node, place
    for node in range(first, last):
        slot[forest.node_symbol[node]] = -1
