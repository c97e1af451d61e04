"""The strongly connected components of a cell's unaries."""

from __future__ import annotations

from mbrparse.decode.derivations.walk_scratch import Components, StepGraph
from mbrparse.grammar.kernel import kernel


@kernel
def find_components(graph: StepGraph, components: Components, count: int) -> None:
    """Number the components of so many nodes, children before parents (Tarjan 1972, without recursion)."""
    number, found, lowest, opened = components.number, components.found, components.lowest, components.opened
    path, cursor = components.path, components.cursor
    for node in range(count):
        found[node], number[node] = -1, -1
    height, discovered, ordered, numbered = 0, 0, 0, 0
    for root in range(count):
        if found[root] >= 0:
            continue
        depth, fresh = 0, root
        while depth >= 0:
            if fresh >= 0:
                path[depth], cursor[depth] = fresh, graph.head[fresh]
                found[fresh], lowest[fresh] = discovered, discovered
                discovered += 1
                opened[height] = fresh
                height += 1
                fresh = -1
            node, step = path[depth], cursor[depth]
            if step >= 0:
                cursor[depth] = graph.following[step]
                child = graph.child[step]
                if found[child] < 0:
                    fresh = child
                    depth += 1
                elif number[child] < 0:
                    lowest[node] = min(lowest[node], found[child])
                continue
            depth -= 1
            if depth >= 0:
                lowest[path[depth]] = min(lowest[path[depth]], lowest[node])
            if lowest[node] == found[node]:
                member = -1
                while member != node:
                    height -= 1
                    member = opened[height]
                    number[member] = numbered
                    components.order[ordered] = member
                    ordered += 1
                numbered += 1
