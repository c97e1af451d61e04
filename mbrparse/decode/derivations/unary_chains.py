"""The best chains of unary rules within a cell: chains in which no label comes twice.

What a chain earns is a sum along it: what each step earns (``Gains.unary``); and what the node at its foot
earns without a chain, over a word with the span's gain. A chain comes through the strongly connected
components of the rules (of labels) one after the other, children last, so that paths are tried within
components only, all lanes at once, and those of treebank grammars are small. Where they are not, a bound on
what the labels that are not on the path may still earn leaves most paths out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.packed_forest import Forest, forest_cell
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.charts.vector import add, load, maximum, multiply, repeated, spread, store
from mbrparse.decode.derivations.gains import LANES, SPAN, Gains

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
    chain: Floats  # by node: its best chain of one step or more
    leaving: Floats  # by node: its best chain that has no step within its component
    below: Floats  # by node: its best chain as one that goes on from above
    most: Floats  # by label: what a step to it may earn at most
    earned: Floats  # by depth: what the path has earned
    rest: Floats  # by depth: what its continuation may earn at most
    stop: Ints  # not zero where the time is up (``Clock.stop``)


@kernel
def close_cell(
    forest: Forest, gains: Gains, own: Floats, best: Floats, chains: ChainScratch, cell: int
) -> None:
    """Fill ``best``, the values of a cell's nodes with the best chain below each; ``own`` are without."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    count, start = forest.node_first[cell + 1] - first, forest.node_start[first]
    order, rank, symbol = chains.order, chains.rank, forest.node_symbol
    head, following, unary_child = chains.head, chains.following, forest.unary_child
    unary, chain, leaving, below = gains.unary, chains.chain, chains.leaving, chains.below
    nothing, foot = repeated(own, -np.inf), repeated(own, 0.0)
    if cell == forest_cell(start, start + 1):
        foot = multiply(load(gains.weights, SPAN, 0), spread(gains.span, cell))
    _list_steps(forest, chains, cell)
    for node in range(count):
        place = node
        while place > 0 and rank[symbol[first + order[place - 1]]] > rank[symbol[first + node]]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = node
    lower = 0
    while lower < count:
        upper, component = lower + 1, rank[symbol[first + order[lower]]]
        while upper < count and rank[symbol[first + order[upper]]] == component:
            upper += 1
        for place in range(lower, upper):
            node = order[place]
            value, step = nothing, head[node]
            while step >= 0:
                child = unary_child[begin + step]
                if rank[symbol[child]] != component:
                    value = maximum(value, add(load(unary, begin, step), load(below, 0, child - first)))
                step = following[step]
            store(chain, 0, node, value)
            store(leaving, 0, node, maximum(add(load(own, first, node), foot), value))
        if upper > lower + 1:
            is_bounded = upper > lower + SMALL
            if is_bounded:
                _bound_steps(forest, unary, chains, cell, (lower, upper))
            for place in range(lower, upper):
                _stay(forest, unary, chains, cell, order[place], is_bounded)
        for place in range(lower, upper):
            node = order[place]
            store(best, first, node, maximum(load(own, first, node), load(chain, 0, node)))
            store(below, 0, node, maximum(load(leaving, 0, node), load(chain, 0, node)))
        lower = upper


@kernel
def _list_steps(forest: Forest, chains: ChainScratch, cell: int) -> None:
    """List the unaries of each of a cell's nodes, the first one first."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    head, following, unary_parent = chains.head, chains.following, forest.unary_parent
    head[: forest.node_first[cell + 1] - first] = -1
    for step in range(forest.unary_first[cell + 1] - begin - 1, -1, -1):
        parent = unary_parent[begin + step] - first
        following[step], head[parent] = head[parent], step


@kernel
def _bound_steps(
    forest: Forest, unary: Floats, chains: ChainScratch, cell: int, places: tuple[int, int]
) -> None:
    """By label what a step within a component earns at most; by depth 0 all that follows a node there."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    rank, symbol, label, most, rest = chains.rank, forest.node_symbol, chains.label, chains.most, chains.rest
    order, leaving, used = chains.order, chains.leaving, chains.used
    store(rest, 0, 0, repeated(most, -np.inf))
    for place in range(places[0], places[1]):
        store(most, label[symbol[first + order[place]]], 0, repeated(most, 0.0))
        store(rest, 0, 0, maximum(load(rest, 0, 0), load(leaving, 0, order[place])))
    for place in range(places[0], places[1]):
        step = chains.head[order[place]]
        while step >= 0:
            child = symbol[forest.unary_child[begin + step]]
            if rank[child] == rank[symbol[first + order[place]]]:
                store(most, label[child], 0, maximum(load(most, label[child], 0), load(unary, begin, step)))
            step = chains.following[step]
    for place in range(places[0], places[1]):
        name = label[symbol[first + order[place]]]
        if not used[name]:
            used[name] = 1
            store(rest, 0, 0, add(load(rest, 0, 0), load(most, name, 0)))
    for place in range(places[0], places[1]):
        used[label[symbol[first + order[place]]]] = 0


@kernel
def _stay(forest: Forest, unary: Floats, chains: ChainScratch, cell: int, top: int, is_bounded: bool) -> None:
    """The best chain of a node that takes steps within its component first."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    symbol, label, used, most = forest.node_symbol, chains.label, chains.used, chains.most
    chain, leaving, earned, rest = chains.chain, chains.leaving, chains.earned, chains.rest
    path, cursor, head, following = chains.path, chains.cursor, chains.head, chains.following
    unary_child, rank, stop = forest.unary_child, chains.rank, chains.stop
    component, name = rank[symbol[first + top]], label[symbol[first + top]]
    store(earned, 0, 0, repeated(earned, 0.0))
    path[0], cursor[0], used[name] = top, head[top], 1
    for lane in range(LANES if is_bounded else 0):
        rest[1, lane] = rest[0, lane] - most[name, lane]
    depth = 0
    while depth >= 0:
        step = cursor[depth]
        if step < 0 or stop[0]:
            used[label[symbol[first + path[depth]]]] = 0
            depth -= 1
            continue
        cursor[depth] = following[step]
        child = unary_child[begin + step] - first
        name = label[symbol[first + child]]
        if used[name] or rank[symbol[first + child]] != component:
            continue
        reached = add(load(earned, 0, depth), load(unary, begin, step))
        store(chain, 0, top, maximum(load(chain, 0, top), add(reached, load(leaving, 0, child))))
        store(earned, 0, depth + 1, reached)
        is_promising = not is_bounded
        for lane in range(LANES if is_bounded else 0):
            # Of depth 0 is what follows any node, so that rows begin one later.
            rest[depth + 2, lane] = rest[depth + 1, lane] - most[name, lane]
            total = earned[depth + 1, lane] + rest[depth + 2, lane]
            is_promising = is_promising or total > chain[top, lane]
        if is_promising:
            depth += 1
            path[depth], cursor[depth], used[name] = child, head[child], 1


@kernel
def read_chain(
    forest: Forest,
    gains: Gains,
    values: tuple[Floats, Floats],
    chains: ChainScratch,
    place: tuple[int, int],
    lane: int,
    least: float,
) -> int:
    """Read the first chain from a node that reaches ``least``, in the order in which unaries are listed.

    Returns the number of its nodes, which are in ``path``; values are those without chains, and with, the
    place is the cell and the node.
    """
    own, best = values
    cell, top = place
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    symbol, label, used = forest.node_symbol, chains.label, chains.used
    path, cursor, total = chains.path, chains.cursor, chains.total
    start = forest.node_start[first]
    is_word = cell == forest_cell(start, start + 1)
    foot = gains.weights[SPAN, lane] * gains.span[cell] if is_word else 0.0
    _list_steps(forest, chains, cell)
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
        reached = total[depth] + gains.unary[begin + step, lane]
        # No continuation is better than the child's own best chain.
        if reached + best[child, lane] + max(foot, 0.0) < least:
            continue
        depth += 1
        path[depth], cursor[depth], total[depth] = child, chains.head[child - first], reached
        used[label[symbol[child]]] = 1
        if reached + own[child, lane] + foot >= least:
            length = depth + 1
    return length
