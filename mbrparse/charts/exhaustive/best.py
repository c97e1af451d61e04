"""The most probable derivation of a forest: maxima from the words up, read from the root down.

Of equally good ones (within a tolerance) the first in order of splits is taken, then of the symbols of the
children; of chains of unary rules the one with the fewest nodes, then the one over the earliest split, then
the first in order of symbols.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbrparse.charts.chart import Derivation, derivation_of
from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.packed_forest import ONE, Forest, Index, forest_cell
from mbrparse.charts.rule_tables import BestChains, Floats, Ints, UnaryTables
from mbrparse.grammar.pcfg import IntArray


class Maxima(NamedTuple):
    """The probability of the best derivation, 0 of what has none; or its logarithm.

    Those of groups are zero before they are filled in.
    """

    node: Floats  # by node
    own: Floats  # by node: without unary rules at the top
    group: Floats  # by group
    rule: Floats  # probabilities of binary rules, or their logarithms
    root: Floats  # by symbol
    chain: Floats  # by entry of the closure, of the best chain
    are_logs: bool
    least: float  # what is as good: the best one times this share, or with this logarithm added


@kernel
def fill_maxima(forest: Forest, unary: UnaryTables, slot: Ints, maxima: Maxima, n: int) -> None:
    """Find the maxima of a filled forest; ``slot`` [symbol] is -1 before and after."""
    value, own, group_value = maxima.node, maxima.own, maxima.group
    rule_prob, chain_prob = maxima.rule, maxima.chain
    production_parent, production_rule = forest.production_parent, forest.production_rule
    production_group, cell_production = forest.production_group, forest.cell_production
    node_first, node_symbol, lexical = forest.node_first, forest.node_symbol, forest.lexical
    left_first, left_node = forest.left_first, forest.left_node
    edge_first, edge_group = forest.edge_first, forest.edge_group
    closure_start, closure_top = unary.closure_start, unary.closure_top
    has_unaries = len(unary.rule_parent) > 0
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            begin, last = node_first[cell], node_first[cell + 1]
            for node in range(begin, last):
                value[node] = lexical[node]
            for place in range(Index(cell_production[cell]), Index(cell_production[cell + 1])):
                parent = Index(production_parent[place])
                best = group_value[Index(production_group[place])]
                value[parent] = max(value[parent], rule_prob[Index(production_rule[place])] * best)
            if has_unaries:
                for node in range(begin, last):
                    own[node] = value[node]
                    slot[node_symbol[node]] = node
                for node in range(begin, last):
                    symbol = node_symbol[node]
                    if own[node] > 0:
                        for place in range(closure_start[symbol], closure_start[symbol + 1]):
                            top = slot[closure_top[place]]
                            value[top] = max(value[top], chain_prob[place] * own[node])
                for node in range(begin, last):
                    slot[node_symbol[node]] = -1
            for right in range(Index(begin), Index(last)):
                partner = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + ONE])):
                    product = value[Index(left_node[partner])] * value[right]
                    partner = Index(partner + ONE)
                    group_value[Index(edge_group[edge])] = max(group_value[Index(edge_group[edge])], product)


@kernel
def read_best(
    forest: Forest, unary: UnaryTables, maxima: Maxima, chains: BestChains, n: int, nodes: IntArray
) -> tuple[float, int]:
    """List the nodes of the best derivation in ``nodes`` [3, room]: starts, ends and symbols in preorder.

    Returns its probability (as maxima are) and how many nodes there are; none where there is no derivation.
    Of several nodes over one span the upper ones come first. What finds no room is counted, but not listed.
    """
    symbols, starts, cell, value = forest.node_symbol, forest.node_start, forest_cell(0, n), maxima.node
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    root_value, logs, least = maxima.root, maxima.are_logs, maxima.least
    lengths, belows, tops = chains.length, chains.below, unary.closure_top
    nothing = -np.inf if logs else 0.0
    top, root = nothing, -1
    count: Any = np.int64(0)
    for node in range(first, last):
        top = max(top, _times(logs, root_value[symbols[node]], value[node]))
    if top > nothing:
        for node in range(first, last):
            score = _times(logs, root_value[symbols[node]], value[node])
            if score >= _times(logs, top, least) and (root < 0 or symbols[node] < symbols[root]):
                root = node
    stack = np.empty((n + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = root, n
    depth = 1 if root >= 0 else 0
    while depth > 0:
        depth -= 1
        node, end = stack[depth, 0], stack[depth, 1]
        start: Any = np.int64(starts[node])
        node, entry, split, left, right = _best_chain(forest, unary, maxima, lengths, node, start, end)
        while entry >= 0:
            if count < nodes.shape[1]:
                nodes[0, count], nodes[1, count], nodes[2, count] = start, end, tops[entry]
            count += 1
            entry = belows[entry] if lengths[entry] > 0 else -1
        if end - start > 1:
            stack[depth, 0], stack[depth, 1] = right, end
            stack[depth + 1, 0], stack[depth + 1, 1] = left, split
            depth += 2
    return top, count


@inner_kernel
def _times(are_logs: bool, first: float, second: float) -> float:
    return first + second if are_logs else first * second


@inner_kernel
def _best_chain(
    forest: Forest, unary: UnaryTables, maxima: Maxima, lengths: Ints, top: int, start: int, end: int
) -> tuple[int, int, int, int, int]:
    """The node below the best chain of unary rules, the chain's entry in the closure, the node's split."""
    symbols, node_first, cell = forest.node_symbol, forest.node_first, forest_cell(start, end)
    own, chain_value, logs = maxima.own, maxima.chain, maxima.are_logs
    closure_start, closure_top = unary.closure_start, unary.closure_top
    least = _times(logs, maxima.node[top], maxima.least)
    bottom, chain, split, left, right = -1, -1, -1, -1, -1
    for node in range(np.int64(node_first[cell]), np.int64(node_first[cell + 1])):
        if own[node] < least:  # no chain is more probable than one
            continue
        symbol = symbols[node]
        for entry in range(closure_start[symbol], closure_start[symbol + 1]):
            if closure_top[entry] == symbols[top] and _times(logs, chain_value[entry], own[node]) >= least:
                at, first, last = -1, -1, -1
                if end - start > 1:
                    at, first, last = _best_split(forest, maxima, node, start, end)
                mine = lengths[entry], at, symbol
                if bottom < 0 or mine < (lengths[chain], split, symbols[bottom]):
                    bottom, chain, split, left, right = node, entry, at, first, last
    return bottom, chain, split, left, right


@inner_kernel
def _best_split(forest: Forest, maxima: Maxima, node: int, start: int, end: int) -> tuple[int, int, int]:
    """The best split of a node without unary rules, and its children there."""
    cell, node_first, starts = forest_cell(start, end), forest.node_first, forest.node_start
    parents, symbols, groups = forest.production_parent, forest.node_symbol, forest.production_group
    rules, rights, cell_production = forest.production_rule, forest.group_right, forest.cell_production
    edge_first, edge_group = forest.edge_first, forest.edge_group
    left_first, left_node = forest.left_first, forest.left_node
    value, of_group, of_rule, logs = maxima.node, maxima.group, maxima.rule, maxima.are_logs
    share = maxima.least
    least = _times(logs, maxima.own[node], share)
    split, left, right = end, -1, -1
    for place in range(cell_production[cell], cell_production[cell + 1]):
        if parents[place] != node:
            continue
        best = of_group[groups[place]]
        if _times(logs, of_rule[rules[place]], best) < least:
            continue
        # Splits come in descending order, and a group has one edge at each: the last one is the first split.
        first, last = -1, -1
        for child in range(node_first[forest_cell(end - 1, end)], node_first[cell]):
            if symbols[child] != rights[groups[place]]:
                continue
            for edge in range(edge_first[child], edge_first[child + 1]):
                if edge_group[edge] == groups[place]:
                    before = left_node[left_first[child] + edge - edge_first[child]]
                    if _times(logs, value[before], value[child]) >= _times(logs, best, share):
                        first, last = before, child
        mine = starts[last], symbols[first], symbols[last]
        if right < 0 or mine < (split, symbols[left], symbols[right]):
            split, left, right = starts[last], first, last
    return split, left, right


def best_derivation(
    forest: Forest, unary: UnaryTables, maxima: Maxima, chains: BestChains, n: int, log_scale: float
) -> Derivation:
    """The best derivation by the maxima of a sentence's forest.

    ``log_scale`` is the logarithm of what they are multiplied by.
    """
    count, room = 2 * n - 1, 0
    while count > room:
        room = count
        nodes = np.empty((3, room), np.int32)
        top, count = read_best(forest, unary, maxima, chains, n, nodes)
    if not count:
        return Derivation(-np.inf, [], [])
    log_prob = top if maxima.are_logs else float(np.log(top))
    return derivation_of(nodes[0, :count], nodes[1, :count], nodes[2, :count], log_prob - log_scale)
