"""The most probable derivation: of a forest that is filled with sums, and read off what is kept of the best.

A derivation is no more probable than each of its nodes: among the nodes whose posterior reaches a bound the
best derivation is found for certain if its own posterior reaches that bound.
"""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.charts.base.closure import BestChains
from mbrparse.charts.base.packed_forest import ONE, Forest, ForestState, Index, forest_cell
from mbrparse.charts.base.rule_tables import Floats, Ints
from mbrparse.charts.kernel import kernel


class Nodes(NamedTuple):
    """Nodes in pre-order, preterminals included; none when there is no parse."""

    start: Ints
    end: Ints
    symbol: Ints


class BestPaths(NamedTuple):
    """What is kept of the best derivations of a forest's groups and nodes.

    With unary rules a node's best derivation is a chain down to another node of its cell, its bottom, which
    has the production.
    """

    group_left: Ints  # by group: the children of its best edge
    group_right: Ints
    node_group: Ints  # by node: the group of its best production; -1 for a word
    node_bottom: Ints  # by node, with unary rules
    node_chain: Ints  # and the entry of the closure that is the chain
    chains: BestChains
    least_share: float  # of the best value, what is as good: one less the tolerance
    value: Floats  # by node: the best derivation's probability (``best_of_forest``)
    group_value: Floats


@kernel
def comes_before(
    node_start: Ints, node_symbol: Ints, lefts: Ints, rights: Ints, group: int, other: int
) -> bool:
    """Whether the best edge of a group comes before another's: in order of splits, left and right symbols.

    ``lefts`` and ``rights`` are the children of groups' best edges.
    """
    left, right, other_left, other_right = lefts[group], rights[group], lefts[other], rights[other]
    if node_start[right] != node_start[other_right]:
        return bool(node_start[right] < node_start[other_right])
    if node_symbol[left] != node_symbol[other_left]:
        return bool(node_symbol[left] < node_symbol[other_left])
    return bool(node_symbol[right] < node_symbol[other_right])


@kernel
def keep_chains(state: ForestState, best: BestPaths, values: Floats, begin: int, bottoms: int) -> None:
    """Keep the best chain of each node of a cell that is closed under unary rules.

    Nodes from ``begin`` to ``bottoms`` can be bottoms; ``base`` has their values without unary rules,
    ``node_slot`` all nodes of the cell.
    """
    unary, forest, columns = state.unary, state.forest, state.columns
    slot, base, chains = columns.node_slot, columns.base, best.chains
    for node in range(begin, bottoms):
        symbol = forest.node_symbol[node]
        for place in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            if slot[unary.closure_top[place]] >= 0:
                best.node_bottom[slot[unary.closure_top[place]]] = -1
    for node in range(begin, bottoms):
        symbol = forest.node_symbol[node]
        for place in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            top = slot[unary.closure_top[place]]
            if top < 0 or chains.prob[place] * base[node - begin] < values[top] * best.least_share:
                continue
            old = best.node_bottom[top]
            if old >= 0:
                mine = chains.length[place], split_of(forest, best, node), symbol
                other = (
                    chains.length[best.node_chain[top]],
                    split_of(forest, best, old),
                    forest.node_symbol[old],
                )
                if other < mine:
                    continue
            best.node_bottom[top], best.node_chain[top] = node, place


@kernel
def split_of(forest: Forest, best: BestPaths, node: int) -> int:
    """Where a node's best children meet; -1 over a single terminal."""
    group = best.node_group[node]
    return forest.node_start[best.group_right[group]] if group >= 0 else -1


@kernel
def best_of_forest(state: ForestState, best: BestPaths, bound: float, n: int) -> float:
    """Find the best derivations among the nodes of a filled forest that have a posterior of ``bound``.

    Returns the value of the sentence's best one, scaled as inside values are; 0 where it has none of them.
    """
    tables, forest, columns = state.tables, state.forest, state.columns
    value, group_value, node_group = best.value, best.group_value, best.node_group
    production_first, production_last = forest.production_first, forest.production_last
    cell_group, node_start, node_symbol = forest.cell_group, forest.node_start, forest.node_symbol
    group_left, group_right, least_share = best.group_left, best.group_right, best.least_share
    inside, outside, lexical, rule_prob = forest.inside, forest.outside, forest.lexical, tables.rule_prob
    production_parent, production_rule = forest.production_parent, forest.production_rule
    node_first, left_first, left_node = forest.node_first, forest.left_first, forest.left_node
    edge_first, edge_group, group_next = forest.edge_first, forest.edge_group, forest.group_next
    group_value[: columns.counts[2]] = 0
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            begin, last = node_first[cell], node_first[cell + 1]
            for node in range(begin, last):
                reached = inside[node] * outside[node] >= bound
                # Others have a value below zero, which nothing improves.
                value[node] = lexical[node] if reached else -1.0
                node_group[node] = -1
            group = cell_group[cell]
            while group >= 0:
                if group_value[group] > 0:
                    for place in range(production_first[group], production_last[group]):
                        parent = production_parent[place]
                        if value[parent] >= 0:
                            found = rule_prob[production_rule[place]] * group_value[group]
                            if found * least_share > value[parent]:
                                value[parent], node_group[parent] = found, group
                            elif found >= value[parent] * least_share:
                                value[parent], old = max(value[parent], found), node_group[parent]
                                if old < 0 or not comes_before(
                                    node_start, node_symbol, group_left, group_right, old, group
                                ):
                                    node_group[parent] = group
                group = group_next[group]
            if begin < last and len(state.unary.rule_parent):
                _close_best(state, best, begin, last)
            for right in range(Index(begin), Index(last)):
                if not value[right] > 0:
                    continue
                partner = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + ONE])):
                    left = Index(left_node[partner])
                    partner = Index(partner + ONE)
                    if value[left] > 0:
                        group = edge_group[edge]
                        product = value[left] * value[right]
                        # Splits come in descending order, and a group has one edge at each.
                        if product >= group_value[group] * least_share:
                            group_value[group] = max(group_value[group], product)
                            group_left[group], group_right[group] = left, right
    root = best_root(state, value, n, least_share)[1]
    return 0.0 if root < 0 else tables.root[forest.node_symbol[root]] * value[root]


@kernel
def _close_best(state: ForestState, best: BestPaths, begin: int, last: int) -> None:
    """Close a cell's values under unary rules, and keep the best chains."""
    unary, forest, columns, value = state.unary, state.forest, state.columns, best.value
    slot, base = columns.node_slot, columns.base
    for node in range(begin, last):
        base[node - begin] = max(value[node], 0.0)
        if value[node] >= 0:
            value[node] = 0
            slot[forest.node_symbol[node]] = node
    for node in range(begin, last):
        symbol = forest.node_symbol[node]
        for place in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            top = slot[unary.closure_top[place]]
            if top >= 0:
                value[top] = max(value[top], best.chains.prob[place] * base[node - begin])
    keep_chains(state, best, value, begin, last)
    for node in range(begin, last):
        slot[forest.node_symbol[node]] = -1


@kernel
def best_root(state: ForestState, values: Floats, n: int, least_share: float) -> tuple[float, int]:
    """The value of the best derivation, and its root: the first in order of symbols, or -1."""
    root_prob, symbols, first = state.tables.root, state.forest.node_symbol, state.forest.node_first
    cell = forest_cell(0, n)
    top, root = 0.0, -1
    for node in range(first[cell], first[cell + 1]):
        top = max(top, root_prob[symbols[node]] * values[node])
    for node in range(first[cell], first[cell + 1]):
        value = root_prob[symbols[node]] * values[node]
        if value > 0 and value >= top * least_share:
            root = node if root < 0 or symbols[node] < symbols[root] else root
    return top, root


@kernel
def read_derivation(
    state: ForestState, best: BestPaths, values: Floats, root: int, stack: Ints, nodes: Nodes
) -> tuple[float, int]:
    """List the nodes of the best derivation from ``root`` down (-1: from the best root), in preorder.

    Returns the value of the best root and how many nodes there are; none where there is no root. Of several
    nodes over one span the upper ones come first. ``stack`` [length + 1, 2] is scratch. What does not fit
    into ``nodes`` is counted, but not listed.
    """
    unary, forest, chains = state.unary, state.forest, best.chains
    top, found = best_root(state, values, len(stack) - 1, best.least_share)
    if root < 0:
        root = found
    if root < 0:
        return top, 0
    stack[0, 0], stack[0, 1] = root, len(stack) - 1
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        node, end = stack[depth, 0], stack[depth, 1]
        start = forest.node_start[node]
        if len(unary.rule_parent) > 0:
            entry = best.node_chain[node]
            node = best.node_bottom[node]
            while chains.length[entry] > 0:
                _list_node(nodes, count, start, end, unary.closure_top[entry])
                count += 1
                entry = chains.below[entry]
        _list_node(nodes, count, start, end, forest.node_symbol[node])
        count += 1
        group = best.node_group[node]
        if group >= 0:
            right = best.group_right[group]
            stack[depth, 0], stack[depth, 1] = right, end
            stack[depth + 1, 0], stack[depth + 1, 1] = best.group_left[group], forest.node_start[right]
            depth += 2
    return top, count


@kernel
def _list_node(nodes: Nodes, place: int, start: int, end: int, symbol: int) -> None:
    if place < len(nodes.start):
        nodes.start[place], nodes.end[place], nodes.symbol[place] = start, end, symbol
