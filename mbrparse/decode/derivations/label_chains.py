"""The best chain of unary productions in a forest of labels, which may visit a label again.

A label comes as often as it has symbols over the span (``times``), and each production earns once,
however often the chain uses it. So what a chain earns within a strongly connected component of a cell's
unaries is the sum over a set of steps that some walk takes in (``walks``); what it earns below is
independent of that. Components are taken children first, lane by lane.
"""

from __future__ import annotations

from mbrparse.decode.derivations.search_state import SearchState
from mbrparse.decode.derivations.strong_components import find_components
from mbrparse.decode.derivations.walk_scratch import WalkScratch
from mbrparse.decode.derivations.walks import best_walk, is_better, list_inner_steps
from mbrparse.grammar.kernel import kernel


@kernel
def close_labels(state: SearchState, cell: int) -> None:
    """The values of a cell's nodes with the best chain below each."""
    values, weights, found = state.values, state.edge_gains.weights, state.walks.chains.value
    first = state.forest.node_first[cell]
    count = state.forest.node_first[cell + 1] - first
    _list_steps(state, cell)
    find_components(state.walks.graph, state.walks.components, count)
    for lane in range(weights.shape[1]):
        in_use = weights[0, lane] != 0 or weights[1, lane] != 0
        if in_use:
            _enter_lane(state, cell, lane)
            _close(state.walks, count, weights[1, lane] != 0)
        for node in range(count):
            values.best[first + node, lane] = found[node] if in_use else values.own[first + node, lane]


@kernel
def best_label_chain(state: SearchState, cell: int, top: int, lane: int) -> int:
    """The number of nodes of the best chain from a node down; they are in ``chains.best_path``."""
    walks, path = state.walks, state.chains.best_path
    first = state.forest.node_first[cell]
    count = state.forest.node_first[cell + 1] - first
    logs = state.edge_gains.weights[1, lane] != 0
    _list_steps(state, cell)
    find_components(walks.graph, walks.components, count)
    _enter_lane(state, cell, lane)
    _close(walks, count, logs)
    number, order = walks.components.number, walks.components.order
    node, length = top - first, 0
    while True:
        begin = 0
        while number[order[begin]] != number[node]:
            begin += 1
        end = begin + 1
        while end < count and number[order[end]] == number[node]:
            end += 1
        list_inner_steps(walks, begin, end)
        visited = best_walk(walks, node, begin, end, logs)
        for place in range(visited):
            path[length] = first + walks.walk.best[place]
            length += 1
        step = walks.chains.leaving_step[walks.walk.best[visited - 1]]
        if step < 0:
            return length
        node = walks.graph.child[step]


@kernel
def _list_steps(state: SearchState, cell: int) -> None:
    """The cell's nodes and steps."""
    forest, graph = state.forest, state.walks.graph
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    for node in range(forest.node_first[cell + 1] - first):
        graph.head[node], graph.limit[node] = -1, state.times[first + node]
    for step in range(forest.unary_first[cell + 1] - begin - 1, -1, -1):
        parent = forest.unary_parent[begin + step] - first
        graph.parent[step], graph.child[step] = parent, forest.unary_child[begin + step] - first
        graph.following[step], graph.head[parent] = graph.head[parent], step


@kernel
def _enter_lane(state: SearchState, cell: int, lane: int) -> None:
    """What nodes and steps earn in a lane."""
    forest, graph, own, gain = state.forest, state.walks.graph, state.values.own, state.gains.unary_rule
    first, begin = forest.node_first[cell], forest.unary_first[cell]
    for node in range(forest.node_first[cell + 1] - first):
        graph.own[node] = own[first + node, lane]
    for step in range(forest.unary_first[cell + 1] - begin):
        graph.gain[step] = gain[begin + step, lane]


@kernel
def _close(walks: WalkScratch, count: int, logs: bool) -> None:
    """The best chains of so many nodes: their values and numbers of nodes."""
    graph, chains, number, order = walks.graph, walks.chains, walks.components.number, walks.components.order
    begin = 0
    while begin < count:
        end, inner = begin, False
        while end < count and number[order[end]] == number[order[begin]]:
            node = order[end]
            value, below, chosen = graph.own[node], 0, -1
            step = graph.head[node]
            while step >= 0:
                child = graph.child[step]
                if number[child] == number[node]:
                    inner = True
                elif is_better(
                    graph.gain[step] + chains.value[child], chains.nodes[child], value, below, logs
                ):
                    value, below, chosen = graph.gain[step] + chains.value[child], chains.nodes[child], step
                step = graph.following[step]
            chains.leaving[node], chains.nodes_below[node], chains.leaving_step[node] = value, below, chosen
            chains.value[node], chains.nodes[node] = value, 1 + below
            end += 1
        if inner:
            list_inner_steps(walks, begin, end)
            for place in range(begin, end):
                best_walk(walks, order[place], begin, end, logs)
        begin = end
