"""What a search of a forest finds: the best values of nodes, and the trees that are read off them.

Every array of values is [.., lanes] (``gains``): a lane for each objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.gains import EdgeGains, Gains, production_gain
from mbrparse.decode.derivations.unary_chains import ChainScratch, read_chain
from mbrparse.grammar.charts.base.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel


class BestValues(NamedTuple):
    """The best that nodes and groups reach, and the trees read off."""

    own: Floats  # [node, lane] of a node that is not rewritten by a unary rule
    best: Floats  # [node, lane] (the same array where there are no unary rules)
    split: Floats  # [group, lane]: its best two nodes, with what the split earns
    lexical: Floats  # [node, lane] what preterminals earn; -inf for other nodes over a word
    shared: Floats  # [production] in the lane of shares its best two nodes, with what the split earns
    left_value: Floats  # inside values of the forest's ``left_node``
    tree_nodes: Ints  # [3, any number] room for trees: start, end and symbol of their nodes
    tree_stack: Ints  # [height, 2] scratch: nodes that are still to be read off, and their ends
    tree_end: Ints  # by lane
    tree_value: Floats


class SearchState(NamedTuple):
    """A forest that is searched, what its parts earn, and the best values found."""

    forest: Forest
    gains: Gains
    edge_gains: EdgeGains
    chains: ChainScratch
    values: BestValues
    tie: float  # by which values of equal trees may differ (``margin``)
    unit: Floats  # by lane: of a sum of logarithms what ``tie`` is a share of, else 0
    stop: Ints  # not zero where the time is up (``Clock.stop``)


@kernel
def margin(state: SearchState, lane: int, value: float) -> float:
    """How much less than a value counts as equal to it: a share of it.

    Of a unit, where logarithms are summed up: where these are zero depends on how inside values are scaled.
    """
    unit = state.unit[lane]
    return state.tie * (unit if unit > 0 else abs(value))


@kernel
def best_trees(state: SearchState, root_gains: Floats, lanes: int, n: int) -> None:
    """The nodes of the first lanes' best trees in preorder, preterminals included, and their values.

    They go to ``values.tree_nodes``. ``root_gains`` [node of the root cell, lane] are -inf where a node
    is no root. Of equal candidates the earlier split, then the lesser symbols; no chain, then the
    one listed first. No node, and -inf, where there is no tree.
    """
    count = 0
    for lane in range(lanes):
        count, top = _best_tree(state, root_gains, lane, n, count)
        state.values.tree_end[lane] = count
        state.values.tree_value[lane] = top


@kernel
def best_values(state: SearchState, root_gains: Floats, found: Floats, n: int) -> None:
    """By lane what its best tree earns, -inf where there is none."""
    forest, best = state.forest, state.values.best
    found[:] = -np.inf
    first, last = forest.node_first[forest_cell(0, n)], forest.node_first[forest_cell(0, n) + 1]
    for node in range(first, last):
        for lane in range(best.shape[1]):
            found[lane] = max(found[lane], best[node, lane] + root_gains[node - first, lane])


@kernel
def _best_tree(state: SearchState, root_gains: Floats, lane: int, n: int, count: int) -> tuple[int, float]:
    """One of them, its nodes from place ``count`` on; returns the place after them, and its value."""
    forest, values, chains = state.forest, state.values, state.chains
    starts, ends, symbols = values.tree_nodes[0], values.tree_nodes[1], values.tree_nodes[2]
    best, own = values.best, values.own
    first = forest.node_first[forest_cell(0, n)]
    last = forest.node_first[forest_cell(0, n) + 1]
    top = -np.inf
    for node in range(first, last):
        top = max(top, best[node, lane] + root_gains[node - first, lane])
    if not np.isfinite(top):
        return count, -np.inf
    root = -1
    for node in range(first, last):
        if best[node, lane] + root_gains[node - first, lane] >= top - margin(state, lane, top):
            if root < 0 or forest.node_symbol[node] < forest.node_symbol[root]:
                root = node
    stack = values.tree_stack
    stack[0, 0], stack[0, 1] = root, n
    height = 1
    while height > 0:
        height -= 1
        node, end = stack[height, 0], stack[height, 1]
        start = forest.node_start[node]
        cell = forest_cell(start, end)
        if (
            best[node, lane] > own[node, lane] + margin(state, lane, own[node, lane])
            or own[node, lane] == -np.inf
        ):
            length = _chain(state, cell, node, lane)
            for place in range(length - 1):
                starts[count], ends[count] = start, end
                symbols[count] = forest.node_symbol[chains.path[place]]
                count += 1
            node = chains.path[length - 1]
        starts[count], ends[count], symbols[count] = start, end, forest.node_symbol[node]
        count += 1
        if end - start > 1:
            left, right = _best_split(state, lane, node, end)
            stack[height, 0], stack[height, 1] = right, end
            stack[height + 1, 0], stack[height + 1, 1] = left, forest.node_start[right]
            height += 2
    return count, top


@kernel
def _chain(state: SearchState, cell: int, node: int, lane: int) -> int:
    """The number of nodes of the best chain from a node down; they are in ``chains.path``."""
    values = state.values
    value = values.best[node, lane]
    slack, length = margin(state, lane, value), 0
    while length == 0:
        length = read_chain(
            state.forest,
            state.gains,
            (values.own, values.best),
            state.chains,
            cell,
            node,
            lane,
            value - slack,
        )
        # Where large values cancel, rounding may leave all chains below.
        slack = 4 * slack + 1e-12
    return length


@kernel
def _best_split(state: SearchState, lane: int, node: int, end: int) -> tuple[int, int]:
    """The two nodes that a node is best made of, without a chain."""
    forest, gains, edge_gains, values = state.forest, state.gains, state.edge_gains, state.values
    best, symbol, production_rule = values.best, forest.node_symbol, forest.production_rule
    start = forest.node_start[node]
    here = forest_cell(start, end)
    wanted = -np.inf
    parent, group_of = forest.production_parent, forest.production_group
    productions = range(forest.cell_production[here], forest.cell_production[here + 1])
    for place in productions:
        if parent[place] == node:
            found = (
                values.shared[place] if lane == edge_gains.share_lane else values.split[group_of[place], lane]
            )
            wanted = max(wanted, found + production_gain(gains, place, production_rule[place], here, lane))
    least = wanted - margin(state, lane, wanted)
    found_left, found_right = -1, -1
    # Where large values cancel, rounding may leave all below: then the largest is taken.
    largest, largest_left, largest_right = -np.inf, -1, -1
    for place in productions:
        if parent[place] != node:
            continue
        group = group_of[place]
        gain = production_gain(gains, place, production_rule[place], here, lane)
        found = values.shared[place] if lane == edge_gains.share_lane else values.split[group, lane]
        if found + gain < least:
            continue
        for split in range(start + 1, end):
            cell = forest_cell(split, end)
            # A later split than the one at hand cannot come first.
            if found_right >= 0 and split > forest.node_start[found_right]:
                break
            for right in range(forest.node_first[cell], forest.node_first[cell + 1]):
                if symbol[right] != forest.group_right[group]:
                    continue
                for edge in range(forest.edge_first[right], forest.edge_first[right + 1]):
                    if forest.edge_group[edge] != group:
                        continue
                    left = forest.left_node[forest.left_first[right] + edge - forest.edge_first[right]]
                    value = best[left, lane] + best[right, lane] + gain
                    if lane == edge_gains.share_lane:
                        value += gains.share[place] * forest.inside[left] * forest.inside[right]
                    if len(edge_gains.mass):
                        value += edge_gains.weights[0, lane] * edge_gains.mass[edge]
                        value += edge_gains.weights[1, lane] * edge_gains.log_mass[edge]
                    if value > largest:
                        largest, largest_left, largest_right = value, left, right
                    if value < least:
                        continue
                    if (
                        found_right < 0
                        or split < forest.node_start[found_right]
                        or (symbol[left], symbol[right]) < (symbol[found_left], symbol[found_right])
                    ):
                        found_left, found_right = left, right
    if found_left < 0:
        return largest_left, largest_right
    return found_left, found_right
