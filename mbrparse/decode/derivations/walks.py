"""The best walk within a strongly connected component, where each step earns once.

Walks are tried depth first, and bounds leave most of them out:

- A walk takes in of the steps to a node no more than the node may still be visited, at most the best ones.
- Where no gain is above zero (logarithms), no walk is better than the best path.
- A walk that returns to a node has earned something on the way: otherwise it does as well without it.
- Of chains that earn the same the one of fewest nodes is wanted, and a step brings one gain at most.
- Walks that have taken the same steps and visited the same nodes as often, in whatever order, go on alike.

The last are known by the sum of random 64-bit codes, in a table whose entries are overwritten.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.derivations.walk_scratch import TABLE_BITS, InnerSteps, StepGraph, Walk, WalkScratch
from mbrparse.grammar.kernel import kernel

TIE = 1e-9  # chains whose values differ relatively by no more are equal (of products, not of logarithms)
# Where very many labels derive each other, the best walk stands once so many more were not better.
MOST_WALKS = 1 << 16
_FACTOR, _SUMMAND = np.uint64(6364136223846793005), np.uint64(1442695040888963407)  # Knuth's generator
_SHIFT = np.uint64(64 - TABLE_BITS)


@kernel
def is_better(total: float, nodes: int, value: float, value_nodes: int, logs: bool) -> bool:
    """Whether a chain is better than another, or as good with fewer nodes."""
    if total == -np.inf or value == -np.inf:
        return total > value
    margin = _margin(value, logs)
    return total > value + margin or (total >= value - margin and nodes < value_nodes)


@kernel
def _margin(value: float, logs: bool) -> float:
    if logs:
        return TIE
    return TIE * abs(value) if value > -np.inf else 0.0


@kernel
def list_inner_steps(walks: WalkScratch, begin: int, end: int) -> None:
    """List the steps within a component, whose nodes are these places of the order."""
    graph, steps, leaving = walks.graph, walks.steps, walks.chains.leaving
    number, order, ranked, gain = walks.components.number, walks.components.order, steps.ranked, graph.gain
    count = 0
    furthest = -np.inf
    for place in range(begin, end):
        node = order[place]
        steps.out_head[node], steps.in_head[node] = -1, -1
        steps.reach[node] = leaving[node]
        furthest = max(furthest, leaving[node])
        step = graph.head[node]
        while step >= 0:
            if number[graph.child[step]] == number[node]:
                position = count
                while position > 0 and gain[ranked[position - 1]] < gain[step]:
                    ranked[position] = ranked[position - 1]
                    position -= 1
                ranked[position] = step
                count += 1
            step = graph.following[step]
    steps.listed[0] = count
    for position in range(count - 1, -1, -1):
        step = ranked[position]
        parent, child = graph.parent[step], graph.child[step]
        steps.out_next[step], steps.out_head[parent] = steps.out_head[parent], step
        steps.in_next[step], steps.in_head[child] = steps.in_head[child], step
    if count > 0 and gain[ranked[0]] > 0:
        # A step that lost something is free when it is taken again.
        for place in range(begin, end):
            steps.reach[order[place]] = furthest
        return
    changed = True
    while changed:
        changed = False
        for position in range(count):
            step = ranked[position]
            reached = gain[step] + steps.reach[graph.child[step]]
            if reached > steps.reach[graph.parent[step]]:
                steps.reach[graph.parent[step]] = reached
                changed = True


@kernel
def best_walk(walks: WalkScratch, top: int, begin: int, end: int, logs: bool) -> int:
    """The number of nodes of the best walk from a node of the component; they are in ``walk.best``.

    Also the value and the number of nodes of the whole chain from this node down.
    """
    graph, steps, walk, chains, stop = walks.graph, walks.steps, walks.walk, walks.chains, walks.stop
    _start(walks, top, begin, end)
    best, best_nodes, length = chains.leaving[top], 1 + chains.nodes_below[top], 1
    walk.best[0] = top
    depth, tried = 0, 0
    while depth >= 0:
        step = walk.cursor[depth]
        if step < 0 or tried == MOST_WALKS or stop[0]:
            if depth > 0:
                _step_back(walk, depth)
            depth -= 1
            continue
        walk.cursor[depth] = steps.out_next[step]
        if not _step(graph, steps, walk, step, depth):
            continue
        depth += 1
        if _is_known(walk, depth):
            walk.cursor[depth] = -1
            continue
        tried += 1
        node = walk.node[depth]
        total, nodes = walk.earned[depth] + chains.leaving[node], depth + 1 + chains.nodes_below[node]
        if is_better(total, nodes, best, best_nodes, logs):
            best, best_nodes, length, tried = total, nodes, depth + 1, 0
            for place in range(length):
                walk.best[place] = walk.node[place]
        bound = walk.earned[depth] + walk.rest[depth] + steps.reach[node]
        margin = _margin(best, logs)
        if bound == -np.inf or bound < best - margin:
            walk.cursor[depth] = -1
        elif bound <= best + margin:
            wanted = best - margin - walk.earned[depth] - steps.reach[node]
            if depth + 1 + _least_steps(graph, steps, walk, wanted) >= best_nodes:
                walk.cursor[depth] = -1
    chains.value[top], chains.nodes[top] = best, best_nodes
    return length


@kernel
def _start(walks: WalkScratch, top: int, begin: int, end: int) -> None:
    """A walk of one node."""
    graph, steps, walk, order = walks.graph, walks.steps, walks.walk, walks.components.order
    for place in range(steps.listed[0]):
        walk.uses[steps.ranked[place]] = 0
    for place in range(begin, end):
        walk.visits[order[place]], walk.earned_at[order[place]] = 0, 0
    walk.visits[top] = 1
    rest = 0.0
    for place in range(begin, end):
        node = order[place]
        walk.more[node] = _more(graph, steps, walk, node)
        rest += walk.more[node]
    walk.node[0], walk.cursor[0], walk.taken[0] = top, steps.out_head[top], 0
    walk.earned[0], walk.rest[0] = 0.0, rest
    # What other searches left in the table means nothing to this one.
    walk.search[0] = walk.search[0] * _FACTOR + _SUMMAND
    walk.state[0] = walk.search[0]


@kernel
def _step(graph: StepGraph, steps: InnerSteps, walk: Walk, step: int, depth: int) -> bool:
    """Take a step, one deeper; false, and nothing done, where it leads nowhere."""
    node = graph.child[step]
    brings = graph.gain[step] if walk.uses[step] == 0 else 0.0
    taken = walk.taken[depth] + (brings > 0)
    visits = walk.visits[node]
    if visits == graph.limit[node] or (visits > 0 and taken == walk.earned_at[node]):
        return False
    depth += 1
    walk.node[depth], walk.cursor[depth], walk.came[depth] = node, steps.out_head[node], step
    walk.taken[depth], walk.earned[depth] = taken, walk.earned[depth - 1] + brings
    walk.earned_before[depth], walk.more_before[depth] = walk.earned_at[node], walk.more[node]
    walk.state[depth] = walk.state[depth - 1] + walk.visit_code[node]
    if walk.uses[step] == 0:
        walk.state[depth] += walk.step_code[step]
    walk.uses[step] += 1
    walk.visits[node] += 1
    walk.earned_at[node] = taken
    walk.more[node] = _more(graph, steps, walk, node)
    walk.rest[depth] = walk.rest[depth - 1] + walk.more[node] - walk.more_before[depth]
    return True


@kernel
def _is_known(walk: Walk, depth: int) -> bool:
    """Whether a walk like this one has been here before; if not, it is noted."""
    code = walk.state[depth] + walk.here_code[walk.node[depth]]
    place = code >> _SHIFT
    if walk.known[place] == code:
        return True
    walk.known[place] = code
    return False


@kernel
def _step_back(walk: Walk, depth: int) -> None:
    """Undo the step that led to this depth."""
    node = walk.node[depth]
    walk.uses[walk.came[depth]] -= 1
    walk.visits[node] -= 1
    walk.earned_at[node], walk.more[node] = walk.earned_before[depth], walk.more_before[depth]


@kernel
def _more(graph: StepGraph, steps: InnerSteps, walk: Walk, node: int) -> float:
    """What steps to a node may still bring: the best that are left, one for each visit that is left."""
    total = 0.0
    left = graph.limit[node] - walk.visits[node]
    step = steps.in_head[node]
    while step >= 0 and left > 0 and graph.gain[step] > 0:
        if walk.uses[step] == 0:
            total += graph.gain[step]
            left -= 1
        step = steps.in_next[step]
    return total


@kernel
def _least_steps(graph: StepGraph, steps: InnerSteps, walk: Walk, wanted: float) -> int:
    """How many more steps it takes at least, and one in any case, to earn so much."""
    count = 0
    for place in range(steps.listed[0]):
        step = steps.ranked[place]
        if wanted <= 0 or graph.gain[step] <= 0:
            break
        if walk.uses[step] == 0:
            wanted -= graph.gain[step]
            count += 1
    return max(count, 1)
