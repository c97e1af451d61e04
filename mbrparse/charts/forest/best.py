"""The most probable derivation of a forest: maxima from the words up, read from the root down.

A derivation is no more probable than each of its nodes: among the nodes whose posterior reaches a bound the
best derivation is found for certain if its own posterior reaches that bound.

Of equally good ones (within a tolerance) the first in order of splits is taken, then of the symbols of the
children; of chains of unary rules the one with the fewest nodes, then the one over the earliest split, then
the first in order of symbols.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.chart import Derivation, derivation_of
from mbrparse.charts.kernel import kernel
from mbrparse.charts.packed_forest import ONE, ForestState, Index, forest_cell
from mbrparse.charts.rule_tables import BestChains, Floats
from mbrparse.grammar.pcfg import IntArray


class Maxima(NamedTuple):
    """The probability of the best derivation, 0 or less of what has none; or its logarithm."""

    node: Floats  # by node
    own: Floats  # by node: without unary rules at the top
    group: Floats  # by group
    rule: Floats  # probabilities of binary rules, or their logarithms
    root: Floats  # by symbol
    chain: Floats  # by entry of the closure, of the best chain
    are_logs: bool
    least: float  # what is as good: the best one times this share, or with this logarithm added


@kernel
def fill_maxima(state: ForestState, maxima: Maxima, bound: float, n: int) -> None:
    """Find the maxima of a filled forest over the nodes that have a posterior of ``bound``.

    With a bound of 0 they are over all nodes, and outside values are not looked at.
    """
    forest, unary = state.forest, state.unary
    value, own, group_value = maxima.node, maxima.own, maxima.group
    production_parent, production_rule = forest.production_parent, forest.production_rule
    production_group, cell_production = forest.production_group, forest.cell_production
    inside, outside, lexical = forest.inside, forest.outside, forest.lexical
    rule_prob, chain_prob = maxima.rule, maxima.chain
    node_first, left_first, left_node = forest.node_first, forest.left_first, forest.left_node
    edge_first, edge_group, node_symbol = forest.edge_first, forest.edge_group, forest.node_symbol
    slot, closure_start, closure_top = state.columns.node_slot, unary.closure_start, unary.closure_top
    has_unaries = len(unary.rule_parent) > 0
    group_value[: state.columns.counts[2]] = 0
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            begin, last = node_first[cell], node_first[cell + 1]
            for node in range(begin, last):
                # Others have a value below zero, which nothing improves.
                reached = bound == 0.0 or inside[node] * outside[node] >= bound
                value[node] = lexical[node] if reached else -1.0
            for place in range(Index(cell_production[cell]), Index(cell_production[cell + 1])):
                parent = Index(production_parent[place])
                product = (
                    rule_prob[Index(production_rule[place])] * group_value[Index(production_group[place])]
                )
                if value[parent] >= 0 and product > value[parent]:
                    value[parent] = product
            if has_unaries:
                for node in range(begin, last):
                    own[node] = value[node]
                    if value[node] >= 0:
                        slot[node_symbol[node]] = node
                for node in range(begin, last):
                    symbol = node_symbol[node]
                    if own[node] > 0:
                        for place in range(closure_start[symbol], closure_start[symbol + 1]):
                            top = slot[closure_top[place]]
                            if top >= 0:
                                value[top] = max(value[top], chain_prob[place] * own[node])
                for node in range(begin, last):
                    slot[node_symbol[node]] = -1
            for right in range(Index(begin), Index(last)):
                if not value[right] > 0:
                    value[right] = 0.0
                    continue
                partner = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + ONE])):
                    product = value[Index(left_node[partner])] * value[right]
                    partner = Index(partner + ONE)
                    group_value[Index(edge_group[edge])] = max(group_value[Index(edge_group[edge])], product)


@kernel
def read_best(
    state: ForestState, maxima: Maxima, chains: BestChains, n: int, nodes: IntArray
) -> tuple[float, int]:
    """List the nodes of the best derivation in ``nodes`` [3, room]: starts, ends and symbols in preorder.

    Returns its probability (as maxima are) and how many nodes there are; none where there is no derivation.
    Of several nodes over one span the upper ones come first. What finds no room is counted, but not listed.
    """
    forest, unary, value = state.forest, state.unary, maxima.node
    symbols, cell = forest.node_symbol, forest_cell(0, n)
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    top, root, count = -np.inf if maxima.are_logs else 0.0, -1, 0
    for node in range(first, last):
        top = max(top, _times(maxima, maxima.root[symbols[node]], value[node]))
    if top > (-np.inf if maxima.are_logs else 0.0):
        for node in range(first, last):
            score = _times(maxima, maxima.root[symbols[node]], value[node])
            if score >= _times(maxima, top, maxima.least) and (root < 0 or symbols[node] < symbols[root]):
                root = node
    stack = np.empty((n + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = root, n
    depth = 1 if root >= 0 else 0
    while depth > 0:
        depth -= 1
        node, end = stack[depth, 0], stack[depth, 1]
        start = forest.node_start[node]
        if len(unary.rule_parent) > 0:
            node, entry = _best_chain(state, maxima, chains, node, start, end)
            while chains.length[entry] > 0:
                _list_node(nodes, count, start, end, unary.closure_top[entry])
                count += 1
                entry = chains.below[entry]
        _list_node(nodes, count, start, end, symbols[node])
        count += 1
        if end - start > 1:
            split, left, right = _best_split(state, maxima, node, start, end)
            stack[depth, 0], stack[depth, 1] = right, end
            stack[depth + 1, 0], stack[depth + 1, 1] = left, split
            depth += 2
    return top, count


@kernel
def _times(maxima: Maxima, first: float, second: float) -> float:
    return first + second if maxima.are_logs else first * second


@kernel
def _list_node(nodes: IntArray, place: int, start: int, end: int, symbol: int) -> None:
    if place < nodes.shape[1]:
        nodes[0, place], nodes[1, place], nodes[2, place] = start, end, symbol


@kernel
def _best_chain(
    state: ForestState, maxima: Maxima, chains: BestChains, top: int, start: int, end: int
) -> tuple[int, int]:
    """The node at the bottom of the best chain of unary rules, and the chain's entry in the closure."""
    forest, unary, cell = state.forest, state.unary, forest_cell(start, end)
    least = _times(maxima, maxima.node[top], maxima.least)
    bottom, chain, split = -1, -1, -1
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        own, symbol = maxima.own[node], forest.node_symbol[node]
        if own < least:  # no chain is more probable than one
            continue
        for entry in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            if (
                unary.closure_top[entry] == forest.node_symbol[top]
                and _times(maxima, maxima.chain[entry], own) >= least
            ):
                at = _best_split(state, maxima, node, start, end)[0] if end - start > 1 else -1
                mine = chains.length[entry], at, symbol
                if bottom < 0 or mine < (chains.length[chain], split, forest.node_symbol[bottom]):
                    bottom, chain, split = node, entry, at
    return bottom, chain


@kernel
def _best_split(state: ForestState, maxima: Maxima, node: int, start: int, end: int) -> tuple[int, int, int]:
    """The best split of a node without unary rules, and its children there."""
    forest, cell = state.forest, forest_cell(start, end)
    parents, symbols, groups = forest.production_parent, forest.node_symbol, forest.production_group
    least = _times(maxima, maxima.own[node], maxima.least)
    split, left, right = end, -1, -1
    for place in range(forest.cell_production[cell], forest.cell_production[cell + 1]):
        if parents[place] != node:
            continue
        best = maxima.group[groups[place]]
        if _times(maxima, maxima.rule[forest.production_rule[place]], best) < least:
            continue
        # Splits come in descending order, and a group has one edge at each: the last one is the first split.
        first, last = -1, -1
        for child in range(forest.node_first[forest_cell(end - 1, end)], forest.node_first[cell]):
            if symbols[child] != forest.group_right[groups[place]]:
                continue
            for edge in range(forest.edge_first[child], forest.edge_first[child + 1]):
                if forest.edge_group[edge] == groups[place]:
                    before = forest.left_node[forest.left_first[child] + edge - forest.edge_first[child]]
                    score = _times(maxima, maxima.node[before], maxima.node[child])
                    if score >= _times(maxima, best, maxima.least):
                        first, last = before, child
        mine = forest.node_start[last], symbols[first], symbols[last]
        if right < 0 or mine < (split, symbols[left], symbols[right]):
            split, left, right = forest.node_start[last], first, last
    return split, left, right


def best_derivation(
    state: ForestState, maxima: Maxima, chains: BestChains, n: int, log_scale: float
) -> Derivation:
    """The best derivation by the maxima of a sentence's forest.

    ``log_scale`` is the logarithm of what they are multiplied by.
    """
    count, room = 2 * n - 1, 0
    while count > room:
        room = count
        nodes = np.empty((3, room), np.int32)
        top, count = read_best(state, maxima, chains, n, nodes)
    if not count:
        return Derivation(-np.inf, [], [])
    log_prob = top if maxima.are_logs else float(np.log(top))
    return derivation_of(nodes[0, :count], nodes[1, :count], nodes[2, :count], log_prob - log_scale)


def ranges(first: IntArray, ids: IntArray) -> tuple[IntArray, IntArray]:
    """The numbers from ``first[i]`` up to ``first[i + 1]`` for each of the ids, and whose they are.

    >>> [part.tolist() for part in ranges(np.array([0, 2, 5]), np.array([1, 0]))]
    [[0, 0, 0, 1, 1], [2, 3, 4, 0, 1]]
    """
    begin = first[ids].astype(np.int64)
    counts = first[ids + 1].astype(np.int64) - begin
    owner: IntArray = np.repeat(np.arange(len(ids)), counts)
    places: IntArray = np.arange(len(owner)) + np.repeat(begin - np.cumsum(counts) + counts, counts)
    return owner, places
