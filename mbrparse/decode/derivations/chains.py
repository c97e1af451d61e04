"""The best chain of unary rules from a node down to one that is rewritten otherwise.

A chain visits no node twice, and each distinct item earns once: a label that comes again (two symbols of
one label) earns nothing more, nor does the same pair of labels. So gains do not add up along a path, and
what remains is to try the paths; a bound on all that could still be earned leaves most of them out, and
treebank grammars have few to begin with.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.derivations.search_state import SearchState, margin
from mbrparse.grammar.kernel import kernel


@kernel
def list_steps(state: SearchState, cell: int) -> None:
    """Prepare a cell: the unaries of each parent, the first listed first."""
    forest, chains = state.forest, state.chains
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
def bound_steps(state: SearchState, cell: int, lane: int) -> float:
    """Prepare a lane: what each node may earn at most; returns what the best foot has."""
    forest, gains, own, chains = state.forest, state.gains, state.values.own, state.chains
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
def best_chain(state: SearchState, cell: int, top: int, lane: int, foot: float) -> tuple[float, int]:
    """The value of the best chain from a node down, and its length; its nodes are in ``best_path``.

    ``foot`` is what ``bound_steps`` returned. Of equal chains the first found, and none at all before
    all others.
    """
    forest, label, gains, chains = state.forest, state.label, state.gains, state.chains
    own, stop = state.values.own, state.stop
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
        if step < 0 or stop[0]:
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
        if total > best and (best == -np.inf or total > best + margin(state, lane, best)):
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
