"""Search of a forest for the tree with the largest sum of gains.

best(node) = max over productions of the production's gain and the best split of its pair, plus the node's own
gain; over unary rules the best chain, in which no label comes twice. What a chain earns is a sum along it:
what each step earns (``Gains.unary``), and what the node at its foot earns without a chain, over a word with
the span's gain.

A chain comes through the strongly connected components of the rules (of labels) one after the other, children
last, so that paths are tried within components only. A bound on what the labels that are not on the path may
still earn leaves most paths out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.packed_forest import ONE, Index, forest_cell
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.decode.span_decoders import TIE
from mbrparse.grammar.unaries import components


class Graph(NamedTuple):
    """What a search looks at of a forest (charts.packed_forest), or of a forest of labels."""

    node_first: Ints
    node_start: Ints
    node_symbol: Ints
    edge_first: Ints
    edge_group: Ints
    left_first: Ints
    left_node: Ints
    group_right: Ints
    cell_production: Ints
    production_parent: Ints
    production_group: Ints
    unary_first: Ints
    unary_parent: Ints
    unary_child: Ints
    step_first: Ints  # by node: its unaries are ``step[step_first[node]:step_first[node + 1]]``
    step: Ints  # both empty where there are no unaries


def graph_of(**arrays: Ints) -> Graph:
    """The graph of arrays that are named as a forest's."""
    parents, nodes = arrays["unary_parent"], np.arange(len(arrays["node_symbol"]) + 1)
    step = np.argsort(parents, kind="stable").astype(np.int32)
    first = np.searchsorted(parents[step], nodes if len(step) else nodes[:0]).astype(np.int32)
    own = {name: arrays[name] for name in Graph._fields[:-2]}
    return Graph(**own, step_first=first, step=step)


class Gains(NamedTuple):
    """What the parts of a graph earn. A span's own gain is its production's, or that of a chain's foot."""

    node: Floats  # -inf for what has no posterior above zero
    word: Floats  # by node, a preterminal's; -inf for other nodes over a word
    production: Floats
    unary: Floats  # a step of a chain, with the node above
    foot: Floats  # by cell, over a word what the foot of a chain earns; else 0
    edge: Floats  # empty where splits earn nothing
    root: Floats  # by node over the whole sentence, as the root; -inf for what is no root


class _Chains(NamedTuple):
    """The unary rules of a grammar and scratch for the chains of one cell, whose nodes are counted from 0."""

    label: Ints  # by symbol: what comes once in a chain
    rank: Ints  # by symbol: its label's component, children's before parents'
    order: npt.NDArray[np.int64]  # rank and node of those that are rewritten, by rank
    used: Ints  # by label: whether it is on the path; 0 between paths
    path: Ints  # by depth: nodes of the path, or of the chain that was read last
    cursor: Ints  # by depth: the next step to try
    earned: Floats  # by depth: what the path has earned
    rest: Floats  # by depth: what its continuation may earn at most
    chain: Floats  # by node: its best chain of one step or more
    leaving: Floats  # by node: its best chain that has no step within its component
    below: Floats  # by node: its best chain as one that goes on from above
    most: Floats  # by label: what a step to it may earn at most


class _State(NamedTuple):
    """A graph that is searched, what its parts earn, and the best values found."""

    graph: Graph
    gains: Gains
    chains: _Chains
    own: Floats  # by node, not rewritten by a unary rule
    best: Floats  # by node (the same array where there are no unary rules)
    split: Floats  # by group: its best two nodes, with what the split earns
    slack: float  # values of equal trees may differ by this,
    share: float  # and by this share of the value


@dataclass(frozen=True, eq=False)
class GrammarTree:
    """A tree and its score: constituents (start, end, symbol id) in preorder, and the ids of preterminals.

    Over a single terminal the lowest node is the preterminal, and no constituent.
    """

    score: float
    nodes: list[tuple[int, int, int]]
    preterminals: list[int]


class DerivationSearch:
    """Searches graphs whose symbols have these labels and unary rules."""

    def __init__(self, label: Ints, unary_parent: Ints, unary_child: Ints, unit: float) -> None:
        """``label`` [symbol] is what comes once in a chain of unary rules.

        Where logarithms are summed up, values of equal trees differ by a share of ``unit``, since where these
        are zero depends on how inside values are scaled; else (0) by a share of themselves.
        """
        self._chains = _new_chains(label, unary_parent, unary_child)
        self._slack = (TIE * unit, 0.0) if unit else (0.0, TIE)

    def best(self, graph: Graph, gains: Gains, n: int) -> GrammarTree | None:
        """The best tree of a sentence of n terminals, None where there is none.

        Of equal trees that of the lesser root, then of the earlier split, then of the lesser symbols; no
        chain, then the one listed first.
        """
        own, has_unaries = gains.word.copy(), len(graph.step) > 0
        best = np.empty_like(own) if has_unaries else own
        split = np.full(len(graph.group_right), -np.inf)
        state = _State(graph, gains, self._chains, own, best, split, *self._slack)
        depth = max(len(self._chains.path), 1) if has_unaries else 1
        listed, preterminals = np.empty((3, 2 * n * depth), np.int32), np.empty(n, np.int32)
        top, count = find_tree(state, n, listed, preterminals)
        if top == -np.inf:
            return None
        starts, ends, symbols = listed[:, :count].tolist()
        return GrammarTree(top, list(zip(starts, ends, symbols, strict=True)), preterminals.tolist())


def _new_chains(label: Ints, unary_parent: Ints, unary_child: Ints) -> _Chains:
    rules: dict[int, dict[int, float]] = {}
    for parent, child in zip(label[unary_parent].tolist(), label[unary_child].tolist(), strict=True):
        rules.setdefault(parent, {})[child] = 1.0
    labels = int(label.max(initial=-1)) + 1
    rank = np.arange(labels, dtype=np.int32)  # labels without unary rules come first, each for itself
    for number, members in enumerate(components(rules), start=labels):
        rank[members] = number
    nodes, depths = (len(label), min(len(label), labels) + 3) if rules else (0, 0)
    order, path, cursor = np.zeros(nodes, np.int64), np.zeros(depths, np.int32), np.zeros(depths, np.int32)
    earned, rest, chain, leaving, below = map(np.zeros, (depths, depths, nodes, nodes, nodes))
    used, most = np.zeros(labels, np.int32), np.zeros(labels)
    return _Chains(label, rank[label], order, used, path, cursor, earned, rest, chain, leaving, below, most)


@inner_kernel
def fill_best(state: _State, n: int) -> None:
    """Fill the values of all nodes and groups; those of preterminals are known."""
    graph, gains, own, best, split = state.graph, state.gains, state.own, state.best, state.split
    node_first, unary_first = graph.node_first, graph.unary_first
    edge_first, edge_group = graph.edge_first, graph.edge_group
    left_first, left_node = graph.left_first, graph.left_node
    cell_production, parent_of = graph.cell_production, graph.production_parent
    group_of, production, of_edge = graph.production_group, gains.production, gains.edge
    has_unaries, has_edges = len(graph.step) > 0, len(of_edge) > 0
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            first, last = Index(node_first[cell]), Index(node_first[cell + 1])
            if end - start > 1:
                for node in range(first, last):
                    own[node] = -np.inf
                for place in range(Index(cell_production[cell]), Index(cell_production[cell + 1])):
                    parent = Index(parent_of[place])
                    own[parent] = max(own[parent], split[Index(group_of[place])] + production[place])
                for node in range(first, last):
                    own[node] += gains.node[node]
            if unary_first[cell + 1] > unary_first[cell]:
                close_cell(state, cell)
            elif has_unaries:
                for node in range(first, last):  # to assign arrays takes numba seconds to compile
                    best[node] = own[node]
            for right in range(first, last):
                value = best[right]
                if value == -np.inf:
                    continue
                partner = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + ONE])):
                    group = Index(edge_group[edge])
                    total = value + best[Index(left_node[partner])]
                    partner = Index(partner + ONE)
                    if has_edges:
                        total += of_edge[edge]
                    split[group] = max(split[group], total)


@inner_kernel
def close_cell(state: _State, cell: int) -> None:
    """Fill ``best``, the values of a cell's nodes with the best chain below each; ``own`` are without."""
    graph, chains, own, best = state.graph, state.chains, state.own, state.best
    first, last = Index(graph.node_first[cell]), Index(graph.node_first[cell + 1])
    foot, symbol = state.gains.foot[cell], graph.node_symbol
    order, rank, label = chains.order, chains.rank, chains.label
    chain, leaving, below, most = chains.chain, chains.leaving, chains.below, chains.most
    step_first, step, unary_child = graph.step_first, graph.step, graph.unary_child
    count = 0
    for node in range(first, last):
        place, name = Index(node - first), Index(symbol[node])
        best[node], chain[place], most[Index(label[name])] = own[node], -np.inf, 0.0
        leaving[place] = below[place] = own[node] + foot
        if step_first[node] < step_first[node + ONE]:
            key, lower = np.int64(rank[name]) << 32 | np.int64(place), count
            while lower > 0 and order[lower - 1] > key:
                order[lower] = order[lower - 1]
                lower -= 1
            order[lower] = key
            count += 1
    lower = 0
    while lower < count:
        component, upper = order[lower] >> 32, lower
        # By depth 0 of the rest all that may follow a node of the component.
        highest, rest, is_cyclic = -np.inf, 0.0, False
        while upper < count and order[upper] >> 32 == component:
            place = Index(order[upper])
            top, value = Index(first + place), leaving[place]
            for at in range(Index(step_first[top]), Index(step_first[top + ONE])):
                unary = Index(step[at])
                child, gain = Index(unary_child[unary]), state.gains.unary[unary]
                name = Index(symbol[child])
                if rank[name] == component:
                    is_cyclic, highest = True, max(highest, own[child] + foot)
                    rest += max(gain - most[label[name]], 0.0)
                    most[label[name]] = max(most[label[name]], gain)
                else:
                    chain[place] = max(chain[place], gain + below[Index(child - first)])
            leaving[place] = max(value, chain[place])
            highest = max(highest, leaving[place])
            upper += 1
        chains.rest[0] = highest + rest
        for at in range(lower, upper):
            place = Index(order[at])
            if is_cyclic:
                extend_chain(state, cell, place)
            best[Index(first + place)] = max(own[Index(first + place)], chain[place])
            below[place] = max(leaving[place], chain[place])
        lower = upper


@inner_kernel
def extend_chain(state: _State, cell: int, top: np.uint32) -> None:
    """The best chain of a node that takes steps within its component first."""
    graph, chains, step_first = state.graph, state.chains, state.graph.step_first
    first, symbol, label, rank = graph.node_first[cell], graph.node_symbol, chains.label, chains.rank
    used, most, earned, rest = chains.used, chains.most, chains.earned, chains.rest
    path, cursor, chain = chains.path, chains.cursor, chains.chain
    component, name = rank[symbol[first + top]], label[symbol[first + top]]
    path[0], cursor[0], used[name] = top, step_first[first + top], 1
    earned[0], rest[1] = 0.0, rest[0] - most[name]
    depth = 0
    while depth >= 0:
        node, place = first + path[depth], cursor[depth]
        if place == step_first[node + 1]:
            used[label[symbol[node]]] = 0
            depth -= 1
            continue
        cursor[depth] += 1
        step = state.graph.step[place]
        child = graph.unary_child[step]
        name = label[symbol[child]]
        if used[name] or rank[symbol[child]] != component:
            continue
        reached = earned[depth] + state.gains.unary[step]
        chain[top] = max(chain[top], reached + chains.leaving[child - first])
        # Of depth 0 is what follows any node, so that the rest begins one later.
        rest[depth + 2] = rest[depth + 1] - most[name]
        if reached + rest[depth + 2] > chain[top]:
            depth += 1
            earned[depth], path[depth], cursor[depth] = reached, child - first, step_first[child]
            used[name] = 1


@inner_kernel
def read_chain(state: _State, cell: int, top: int, least: float) -> int:
    """Read the first chain from a node that reaches ``least``, in the order in which unaries are listed.

    Returns the number of its nodes, which are in ``path``.
    """
    graph, chains, step_first, best = state.graph, state.chains, state.graph.step_first, state.best
    symbol, label, used, foot = graph.node_symbol, chains.label, chains.used, state.gains.foot[cell]
    path, cursor, earned = chains.path, chains.cursor, chains.earned
    path[0], cursor[0], earned[0], used[label[symbol[top]]] = top, step_first[top], 0.0, 1
    depth, length = 0, 0
    while depth >= 0:
        node, place = path[depth], cursor[depth]
        if place == step_first[node + 1] or length > 0:
            used[label[symbol[node]]] = 0
            depth -= 1
            continue
        cursor[depth] += 1
        child = graph.unary_child[state.graph.step[place]]
        reached = earned[depth] + state.gains.unary[state.graph.step[place]]
        # No continuation is better than the child's own best chain.
        if used[label[symbol[child]]] or reached + best[child] + max(foot, 0.0) < least:
            continue
        depth += 1
        path[depth], cursor[depth], earned[depth] = child, step_first[child], reached
        used[label[symbol[child]]] = 1
        if reached + state.own[child] + foot >= least:
            length = depth + 1
    return length


@kernel
def find_tree(state: _State, n: int, listed: Ints, preterminals: Ints) -> tuple[float, int]:
    """List the nodes of the best tree; returns its score (-inf: there is none) and their number."""
    graph, own, best, root_gain = state.graph, state.own, state.best, state.gains.root
    fill_best(state, n)
    first, top, root = graph.node_first[-2], -np.inf, -1
    for place in range(len(root_gain)):
        top = max(top, best[first + place] + root_gain[place])
    if top == -np.inf:
        return top, 0
    least = top - state.slack - state.share * abs(top)
    for place in range(len(root_gain)):
        lesser = root < 0 or graph.node_symbol[first + place] < graph.node_symbol[root]
        if lesser and best[first + place] + root_gain[place] >= least:
            root = first + place
    stack = np.empty((n + 1, 2), np.int32)
    stack[0, 0], stack[0, 1] = root, n
    height, count = 1, 0
    while height > 0:
        height -= 1
        node, end = stack[height]
        start, value = graph.node_start[node], best[node]
        slack = state.slack + state.share * abs(value)
        if value > own[node] + slack or own[node] == -np.inf:
            length = 0
            while length == 0:
                length = read_chain(state, forest_cell(start, end), node, value - slack)
                # Where large values cancel, rounding may leave all chains below.
                slack = 4 * slack + 1e-12
            for place in range(length - 1):
                listed[0, count], listed[1, count] = start, end
                listed[2, count] = graph.node_symbol[state.chains.path[place]]
                count += 1
            node = state.chains.path[length - 1]
        if end - start == 1:
            preterminals[start] = graph.node_symbol[node]
            continue
        listed[0, count], listed[1, count], listed[2, count] = start, end, graph.node_symbol[node]
        count += 1
        left, right = best_children(state, node, end)
        stack[height, 0], stack[height, 1] = right, end
        stack[height + 1, 0], stack[height + 1, 1] = left, graph.node_start[right]
        height += 2
    return top, count


@inner_kernel
def best_children(state: _State, node: int, end: int) -> tuple[int, int]:
    """The two nodes that a node is best made of, without a chain."""
    graph, gains, best, symbol = state.graph, state.gains, state.best, state.graph.node_symbol
    start = graph.node_start[node]
    here, has_edges = forest_cell(start, end), len(gains.edge) > 0
    first, last = graph.cell_production[here], graph.cell_production[here + 1]
    top = -np.inf
    for place in range(first, last):
        if graph.production_parent[place] == node:
            top = max(top, state.split[graph.production_group[place]] + gains.production[place])
    least = top - state.slack - state.share * abs(top)
    found_left, found_right = -1, -1
    # Where large values cancel, rounding may leave all below: then the largest is taken.
    largest, largest_left, largest_right = -np.inf, -1, -1
    for place in range(first, last):
        group, gain = graph.production_group[place], gains.production[place]
        if graph.production_parent[place] != node or state.split[group] + gain < least:
            continue
        for split in range(start + 1, end):
            # A later split than the one at hand cannot come first.
            if found_right >= 0 and split > graph.node_start[found_right]:
                break
            cell = forest_cell(split, end)
            for right in range(graph.node_first[cell], graph.node_first[cell + 1]):
                if symbol[right] != graph.group_right[group]:
                    continue
                for edge in range(graph.edge_first[right], graph.edge_first[right + 1]):
                    if graph.edge_group[edge] != group:
                        continue
                    left = graph.left_node[graph.left_first[right] + edge - graph.edge_first[right]]
                    value = best[left] + best[right] + gain
                    if has_edges:
                        value += gains.edge[edge]
                    if value > largest:
                        largest, largest_left, largest_right = value, left, right
                    if value >= least and (
                        found_right < 0
                        or split < graph.node_start[found_right]
                        or (symbol[left], symbol[right]) < (symbol[found_left], symbol[found_right])
                    ):
                        found_left, found_right = left, right
    if found_left < 0:
        return largest_left, largest_right
    return found_left, found_right
