"""The best chains of unary rules where each symbol has items of its own.

Gains add up along a path then, which comes through the strongly connected components of the unary rules
one after the other: paths need to be tried within components only, and those of treebank grammars have
few members. All lanes at once.

What is called for each node gets parts of the state: handing over all of it would take as long as its work.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.derivations.chain_scratch import MEMBERS, ChainScratch
from mbrparse.decode.derivations.gains import LANES, Gains
from mbrparse.decode.derivations.search_state import SearchState
from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.rule_tables import Floats
from mbrparse.grammar.charts.vector import add, load, maximum, store
from mbrparse.grammar.kernel import kernel


@kernel
def close_by_components(state: SearchState, cell: int) -> bool:
    """The values of a cell's nodes with the best chain below each, all lanes at once (after ``list_steps``).

    False, and nothing done, where a component has too many members.
    """
    forest, gains, chains = state.forest, state.gains, state.chains
    own, best = state.values.own, state.values.best
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
def _leave(forest: Forest, gains: Gains, chains: ChainScratch, cell: int, node: int) -> None:
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
def _wander(forest: Forest, gains: Gains, own: Floats, chains: ChainScratch, cell: int, top: int) -> None:
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
