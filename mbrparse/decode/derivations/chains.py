"""The best chain of unary rules from a node down to one that is rewritten otherwise.

A chain visits no node twice, and each distinct item earns once: a label that comes again (two symbols of
one label) earns nothing more, nor does the same pair of labels. So gains do not add up along a path, and
what remains is to try the paths; a bound on all that could still be earned leaves most of them out, and
treebank grammars have few to begin with.

Where each symbol has items of its own, gains do add up along a path, which comes through the strongly
connected components of the unary rules one after the other: paths need to be tried within components only,
and those of treebank grammars have few members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.gains import LANES, Gains
from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.vector import add, load, maximum, store
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.unary_cycles import components


class Chains(NamedTuple):
    """Scratch for the chains of one cell; nodes are counted from the cell's first."""

    head: Ints  # by node: its first unary as a parent, or -1
    following: Ints  # by unary of the cell: the parent's next one, or -1
    on_path: Ints  # by node: whether it is on the path
    most: Floats  # by node: what it and the step to it may earn at most
    path: Ints  # by depth: nodes of the path
    cursor: Ints
    value: Floats
    rest: Floats
    best_path: Ints  # the best path found, from the top down
    rank: Ints  # by symbol: its component, children before parents; empty where gains do not add up
    order: Ints  # nodes by rank
    # Rows of lanes by node: its best chain; the best that leaves its component at once; its best with or
    # without a chain, as the foot of one from above; and by depth what a path has earned.
    chain: Floats
    leaving: Floats
    below: Floats
    earned: Floats


MEMBERS = 4  # of a component in a cell whose paths are all tried


def ranks(symbols: int, parents: Ints, children: Ints) -> Ints:
    """By symbol the component of its unary rules, children before parents."""
    rules: dict[int, dict[int, float]] = {}
    for parent, child in zip(parents.tolist(), children.tolist(), strict=True):
        rules.setdefault(parent, {})[child] = 1.0
    found = components(rules)
    # The others come first, each for itself.
    rank = np.arange(symbols, dtype=np.int32)
    for number, members in enumerate(found):
        rank[members] = symbols + number
    return rank


def new_chains(nodes: int, unaries: int, rank: Ints) -> Chains:
    """Scratch for cells of so many nodes and unaries; ``rank`` (``ranks``) is empty if labels are shared."""

    def ints(size: int) -> Ints:
        return np.zeros(size + 1, np.int32)

    return Chains(
        ints(nodes),
        ints(unaries),
        ints(nodes),
        np.zeros(nodes + 1),
        ints(nodes),
        ints(nodes),
        np.zeros(nodes + 1),
        np.zeros(nodes + 1),
        ints(nodes),
        rank,
        ints(nodes),
        np.zeros((nodes + 1, LANES)),
        np.zeros((nodes + 1, LANES)),
        np.zeros((nodes + 1, LANES)),
        np.zeros((MEMBERS + 1, LANES)),
    )


@kernel
def close_by_components(
    forest: Forest, gains: Gains, own: Floats, best: Floats, chains: Chains, cell: int
) -> bool:
    """The values of a cell's nodes with the best chain below each, all lanes at once (after ``list_steps``).

    False, and nothing done, where a component has too many members.
    """
    first = forest.node_first[cell]
    count = forest.node_first[cell + 1] - first
    order, rank, chain, below, head = chains.order, chains.rank, chains.chain, chains.below, chains.head
    node_symbol = forest.node_symbol
    for node in range(count):
        own_rank = rank[node_symbol[first + node]]
        place = node
        while place > 0 and rank[node_symbol[first + order[place - 1]]] > own_rank:
            order[place] = order[place - 1]
            place -= 1
        order[place] = node
    for place in range(MEMBERS, count):
        node, other = order[place], order[place - MEMBERS]
        if rank[node_symbol[first + node]] == rank[node_symbol[first + other]]:
            return False
    # Over a word a foot earns its span once.
    single = forest.lexical[first] > 0
    foot = forest.node_start[first]
    begin = 0
    while begin < count:
        node = order[begin]
        end = begin + 1
        while end < count and rank[node_symbol[first + order[end]]] == rank[node_symbol[first + node]]:
            end += 1
        for place in range(begin, end):
            _leave(forest, gains, chains, cell, order[place])
        if end > begin + 1:
            for place in range(begin, end):
                _wander(forest, gains, own, chains, cell, order[place])
        for place in range(begin, end):
            node = order[place]
            value = load(own, first, node)
            if head[node] < 0:
                store(best, first, node, value)
            else:
                store(best, first, node, maximum(value, load(chain, 0, node)))
            if single:
                value = add(value, load(gains.foot, foot, 0))
            store(below, 0, node, value if head[node] < 0 else maximum(value, load(chain, 0, node)))
        begin = end
    return True


@kernel
def _leave(forest: Forest, gains: Gains, chains: Chains, cell: int, node: int) -> None:
    """The best chain of a node whose first step leaves its component."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    rank, node_symbol, chain = chains.rank, forest.node_symbol, chains.chain
    for lane in range(LANES):
        chain[node, lane] = -np.inf
    step = chains.head[node]
    while step >= 0:
        child = forest.unary_child[begin + step]
        if rank[node_symbol[child]] != rank[node_symbol[first + node]]:
            gain = add(load(gains.unary, begin, step), load(gains.unary_rule, begin, step))
            gain = add(gain, load(gains.node, first, node))
            total = add(gain, load(chains.below, 0, child - first))
            store(chain, 0, node, maximum(load(chain, 0, node), total))
        step = chains.following[step]
    store(chains.leaving, 0, node, load(chain, 0, node))


@kernel
def _wander(forest: Forest, gains: Gains, own: Floats, chains: Chains, cell: int, top: int) -> None:
    """The best chain of a node that takes steps within its component first: all its paths are tried."""
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    rank, node_symbol, chain, earned = chains.rank, forest.node_symbol, chains.chain, chains.earned
    path, cursor, on_path = chains.path, chains.cursor, chains.on_path
    single = forest.lexical[first] > 0
    for lane in range(LANES):
        earned[0, lane] = 0
    path[0], cursor[0], on_path[top] = top, chains.head[top], 1
    depth = 0
    while depth >= 0:
        node, step = path[depth], cursor[depth]
        if step < 0:
            on_path[node] = 0
            depth -= 1
            continue
        cursor[depth] = chains.following[step]
        child = forest.unary_child[begin + step] - first
        if on_path[child] or rank[node_symbol[first + child]] != rank[node_symbol[first + node]]:
            continue
        gain = add(load(gains.unary, begin, step), load(gains.unary_rule, begin, step))
        reached = add(load(earned, 0, depth), add(gain, load(gains.node, first, node)))
        rest = load(own, first, child)
        if single:
            rest = add(rest, load(gains.foot, forest.node_start[first], 0))
        rest = maximum(rest, load(chains.leaving, 0, child))
        store(chain, 0, top, maximum(load(chain, 0, top), add(reached, rest)))
        depth += 1
        store(earned, 0, depth, reached)
        path[depth], cursor[depth], on_path[child] = child, chains.head[child], 1


@kernel
def list_steps(forest: Forest, chains: Chains, cell: int) -> None:
    """Prepare a cell: the unaries of each parent, the first listed first."""
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    begin = forest.unary_first[cell]
    for node in range(last - first):
        chains.head[node] = -1
        chains.on_path[node] = 0
    for place in range(forest.unary_first[cell + 1] - 1, begin - 1, -1):
        parent = forest.unary_parent[place] - first
        chains.following[place - begin] = chains.head[parent]
        chains.head[parent] = place - begin


@kernel
def bound_steps(forest: Forest, gains: Gains, own: Floats, chains: Chains, cell: int, lane: int) -> float:
    """Prepare a lane: what each node may earn at most; returns what the best foot has."""
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    best = -np.inf
    over_word = forest.lexical[first] > 0
    for node in range(first, last):
        chains.most[node - first] = 0
        if own[node, lane] > -np.inf:
            # A foot whose label is there already is spared the loss that it would bring.
            spared = 0.0 if over_word else min(0.0, gains.node[node, lane])
            best = max(best, own[node, lane] - spared)
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        child = forest.unary_child[place] - first
        step = gains.unary[place, lane] + gains.unary_rule[place, lane]
        chains.most[child] = max(chains.most[child], step)
    for node in range(first, last):
        chains.most[node - first] += max(0.0, gains.node[node, lane])
    if over_word:
        best += max(0.0, gains.foot[forest.node_start[first], lane])
    return best


@kernel
def best_chain(
    forest: Forest,
    label: Ints,
    gains: Gains,
    own: Floats,
    chains: Chains,
    at: tuple[int, int, int],
    foot: float,
) -> tuple[float, int]:
    """The value of the best chain from a node down, and its length; its nodes are in ``best_path``.

    ``at`` is (cell, top node, lane), ``foot`` what ``bound_steps`` returned, ``own`` [node, lane] what
    nodes have without a chain. Of equal chains the first found, and none at all before all others.
    """
    cell, top, lane = at
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    path, cursor, value, rest = chains.path, chains.cursor, chains.value, chains.rest
    single = forest.lexical[first] > 0
    once = gains.foot[forest.node_start[first], lane] if single else 0.0
    best = own[top, lane]
    length = 1
    chains.best_path[0] = top
    path[0], cursor[0], value[0], rest[0] = top, chains.head[top - first], 0.0, 0.0
    for node in range(forest.node_first[cell + 1] - first):
        rest[0] += chains.most[node]
    rest[0] -= chains.most[top - first]
    chains.on_path[top - first] = 1
    depth = 0
    while depth >= 0:
        node = path[depth]
        step = cursor[depth]
        if step < 0:
            chains.on_path[node - first] = 0
            depth -= 1
            continue
        cursor[depth] = chains.following[step]
        child = forest.unary_child[begin + step]
        if chains.on_path[child - first]:
            continue
        reached = value[depth] + gains.unary_rule[begin + step, lane]
        name, below = label[forest.node_symbol[node]], label[forest.node_symbol[child]]
        # What the path above has earned already is earned no more.
        new, fresh, known = True, True, below == name
        for above in range(depth):
            earlier, later = (
                label[forest.node_symbol[path[above]]],
                label[forest.node_symbol[path[above + 1]]],
            )
            new = new and earlier != name
            known = known or earlier == below
            fresh = fresh and not (earlier == name and later == below)
        if new:
            reached += gains.node[node, lane]
        if fresh:
            reached += gains.unary[begin + step, lane]
        total = reached + own[child, lane] + once
        if known and not single:
            total -= gains.node[child, lane]
        if total > best and (best == -np.inf or total > best + 1e-9 * abs(best)):
            best = total
            length = depth + 2
            for place in range(depth + 1):
                chains.best_path[place] = path[place]
            chains.best_path[depth + 1] = child
        if reached + rest[depth] + foot > best:
            depth += 1
            path[depth], cursor[depth], value[depth] = child, chains.head[child - first], reached
            rest[depth] = rest[depth - 1] - chains.most[child - first]
            chains.on_path[child - first] = 1
    return best, length
