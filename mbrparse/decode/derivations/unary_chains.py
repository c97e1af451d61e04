"""The best chains of unary rules within a cell: chains in which no label comes twice.

What a chain earns is a sum along it: for each step the items of the unary, its rule, and the node above; and
what the node at its foot earns without a chain. A chain comes through the strongly connected components of
the rules (of labels) one after the other, children last, so that paths are tried within components only, all
lanes at once, and those of treebank grammars are small. Where they are not, a bound on what the labels that
are not on the path may still earn leaves most paths out.

Functions that are called for each node take parts of the state: to hand over all of it would take as long as
their work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.gains import LANES, Gains
from mbrparse.grammar.charts.base.packed_forest import Forest
from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.vector import add, load, maximum, store
from mbrparse.grammar.kernel import kernel

SMALL = 4  # a component of so many nodes has too few paths for bounds to pay


class ChainScratch(NamedTuple):
    """Scratch for the chains of one cell; nodes and unaries are counted from the cell's first."""

    label: Ints  # by symbol
    rank: Ints  # by symbol: its label's component, children's before parents'
    order: Ints  # nodes by rank
    head: Ints  # by node: its first unary as a parent, or -1
    following: Ints  # by unary: the parent's next one, or -1
    used: Ints  # by label: whether it is on the path; 0 between paths
    path: Ints  # by depth: nodes of the path, or of the chain that was read last
    cursor: Ints  # by depth: the next unary to try
    total: Floats  # by depth: what the path has earned, in the lane that is read off
    # Rows of lanes.
    chain: Floats  # by node: its best chain
    leaving: Floats  # by node: its best chain that leaves its component at once
    below: Floats  # by node: its best value below a unary
    most: Floats  # by label: what a step to it may earn at most
    earned: Floats  # by depth: what the path has earned
    rest: Floats  # by depth: what its continuation may earn at most
    stop: Ints  # not zero where the time is up (``Clock.stop``)


@kernel
def close_cell(
    forest: Forest, gains: Gains, own: Floats, best: Floats, chains: ChainScratch, cell: int
) -> None:
    """Fill ``best``, the values of a cell's nodes with the best chain below each; ``own`` are without."""
    first, count = forest.node_first[cell], forest.node_first[cell + 1] - forest.node_first[cell]
    order, rank, symbol, head = chains.order, chains.rank, forest.node_symbol, chains.head
    chain, below = chains.chain, chains.below
    list_steps(forest, chains, cell)
    _sort_nodes(forest, chains, cell)
    single, foot = forest.lexical[first] > 0, forest.node_start[first]
    begin = 0
    while begin < count:
        end = begin + 1
        while end < count and rank[symbol[first + order[end]]] == rank[symbol[first + order[begin]]]:
            end += 1
        for place in range(begin, end):
            _leave(forest, gains, chains, cell, order[place])
        if end - begin > SMALL:
            _bound_steps(forest, gains, own, chains, cell, (begin, end))
        if end > begin + 1:
            for place in range(begin, end):
                _stay(forest, gains, own, chains, cell, order[place], end - begin > SMALL)
        for place in range(begin, end):
            node = order[place]
            value = load(own, first, node)
            store(best, first, node, value if head[node] < 0 else maximum(value, load(chain, 0, node)))
            if single:  # the span is earned at the foot
                value = add(value, load(gains.foot, foot, 0))
            store(below, 0, node, value if head[node] < 0 else maximum(value, load(chain, 0, node)))
        begin = end


@kernel
def list_steps(forest: Forest, chains: ChainScratch, cell: int) -> None:
    """List the unaries of each of a cell's nodes, the first one first."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    head, following, unary_parent = chains.head, chains.following, forest.unary_parent
    head[: forest.node_first[cell + 1] - first] = -1
    for step in range(forest.unary_first[cell + 1] - begin - 1, -1, -1):
        parent = unary_parent[begin + step] - first
        following[step], head[parent] = head[parent], step


@kernel
def _sort_nodes(forest: Forest, chains: ChainScratch, cell: int) -> None:
    first, order, rank, symbol = forest.node_first[cell], chains.order, chains.rank, forest.node_symbol
    for node in range(forest.node_first[cell + 1] - first):
        place = node
        while place > 0 and rank[symbol[first + order[place - 1]]] > rank[symbol[first + node]]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = node


@kernel
def _leave(forest: Forest, gains: Gains, chains: ChainScratch, cell: int, node: int) -> None:
    """The best chain of a node whose first step leaves its component."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    rank, symbol, chain = chains.rank, forest.node_symbol, chains.chain
    for lane in range(LANES):
        chain[node, lane] = -np.inf
    step = chains.head[node]
    while step >= 0:
        child = forest.unary_child[begin + step]
        if rank[symbol[child]] != rank[symbol[first + node]]:
            gain = add(load(gains.unary, begin, step), load(gains.unary_rule, begin, step))
            gain = add(gain, load(gains.node, first, node))
            total = add(gain, load(chains.below, 0, child - first))
            store(chain, 0, node, maximum(load(chain, 0, node), total))
        step = chains.following[step]
    store(chains.leaving, 0, node, load(chain, 0, node))


@kernel
def _bound_steps(
    forest: Forest, gains: Gains, own: Floats, chains: ChainScratch, cell: int, places: tuple[int, int]
) -> None:
    """By label what a step within a component earns at most; by depth 0 all that follows a node there."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    rank, symbol, label, most, rest = chains.rank, forest.node_symbol, chains.label, chains.most, chains.rest
    foot = gains.foot[forest.node_start[first]]
    single = forest.lexical[first] > 0
    for lane in range(LANES):
        rest[0, lane] = -np.inf
    for place in range(places[0], places[1]):
        node = chains.order[place]
        for lane in range(LANES):
            most[label[symbol[first + node]], lane] = 0
            ends = own[first + node, lane] + foot[lane] if single else own[first + node, lane]
            rest[0, lane] = max(rest[0, lane], ends, chains.leaving[node, lane])
    for place in range(places[0], places[1]):
        node = chains.order[place]
        step = chains.head[node]
        while step >= 0:
            child = forest.unary_child[begin + step]
            if rank[symbol[child]] == rank[symbol[first + node]]:
                name = label[symbol[child]]
                gain = add(load(gains.unary, begin, step), load(gains.unary_rule, begin, step))
                gain = add(gain, load(gains.node, first, node))
                store(most, name, 0, maximum(load(most, name, 0), gain))
            step = chains.following[step]
    for place in range(places[0], places[1]):
        name = label[symbol[first + chains.order[place]]]
        if not chains.used[name]:
            chains.used[name] = 1
            store(rest, 0, 0, add(load(rest, 0, 0), load(most, name, 0)))
    for place in range(places[0], places[1]):
        chains.used[label[symbol[first + chains.order[place]]]] = 0


@kernel
def _stay(
    forest: Forest, gains: Gains, own: Floats, chains: ChainScratch, cell: int, top: int, bounded: bool
) -> None:
    """The best chain of a node that takes steps within its component first."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    rank, symbol, label, used = chains.rank, forest.node_symbol, chains.label, chains.used
    chain, earned, path, cursor, rest = chains.chain, chains.earned, chains.path, chains.cursor, chains.rest
    single = forest.lexical[first] > 0
    for lane in range(LANES):
        earned[0, lane] = 0
    path[0], cursor[0], used[label[symbol[first + top]]] = top, chains.head[top], 1
    if bounded:
        name = label[symbol[first + top]]
        for lane in range(LANES):
            rest[1, lane] = rest[0, lane] - chains.most[name, lane]
    depth = 0
    while depth >= 0:
        node, step = path[depth], cursor[depth]
        if step < 0 or chains.stop[0]:
            used[label[symbol[first + node]]] = 0
            depth -= 1
            continue
        cursor[depth] = chains.following[step]
        child = forest.unary_child[begin + step] - first
        name = label[symbol[first + child]]
        if used[name] or rank[symbol[first + child]] != rank[symbol[first + node]]:
            continue
        gain = add(load(gains.unary, begin, step), load(gains.unary_rule, begin, step))
        reached = add(load(earned, 0, depth), add(gain, load(gains.node, first, node)))
        ends = load(own, first, child)
        if single:
            ends = add(ends, load(gains.foot, forest.node_start[first], 0))
        ends = maximum(ends, load(chains.leaving, 0, child))
        store(chain, 0, top, maximum(load(chain, 0, top), add(reached, ends)))
        store(earned, 0, depth + 1, reached)
        if bounded:
            promising = False
            for lane in range(LANES):
                # Of depth 0 is what follows any node, so that rows begin one later.
                rest[depth + 2, lane] = rest[depth + 1, lane] - chains.most[name, lane]
                total = earned[depth + 1, lane] + rest[depth + 2, lane]
                promising = promising or total > chain[top, lane]
            if not promising:
                continue
        depth += 1
        path[depth], cursor[depth], used[name] = child, chains.head[child], 1


@kernel
def read_chain(
    forest: Forest,
    gains: Gains,
    values: tuple[Floats, Floats],
    chains: ChainScratch,
    cell: int,
    top: int,
    lane: int,
    least: float,
) -> int:
    """Read the first chain from a node that reaches ``least``, in the order in which unaries are listed.

    Returns the number of its nodes, which are in ``path``; values are those without chains, and with.
    """
    own, best = values
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    symbol, label, used = forest.node_symbol, chains.label, chains.used
    path, cursor, total = chains.path, chains.cursor, chains.total
    foot = gains.foot[forest.node_start[first], lane] if forest.lexical[first] > 0 else 0.0
    list_steps(forest, chains, cell)
    path[0], cursor[0], total[0], used[label[symbol[top]]] = top, chains.head[top - first], 0.0, 1
    depth, length = 0, 0
    while depth >= 0:
        node, step = path[depth], cursor[depth]
        if step < 0 or length > 0:
            used[label[symbol[node]]] = 0
            depth -= 1
            continue
        cursor[depth] = chains.following[step]
        child = forest.unary_child[begin + step]
        if used[label[symbol[child]]]:
            continue
        reached = total[depth] + gains.unary[begin + step, lane] + gains.unary_rule[begin + step, lane]
        reached += gains.node[node, lane]
        # No continuation is better than the child's own best chain.
        if reached + best[child, lane] + max(foot, 0.0) < least:
            continue
        depth += 1
        path[depth], cursor[depth], total[depth] = child, chains.head[child - first], reached
        used[label[symbol[child]]] = 1
        if reached + own[child, lane] + foot >= least:
            length = depth + 1
    return length
