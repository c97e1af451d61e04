"""What a search of a forest finds: the best values of nodes, and the trees that are read off them.

Every array of values is [.., lanes] (``gains``): a lane for each objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.packed_forest import Forest, forest_cell
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.decode.derivations.gains import CHILD, LOG_NODE, PRODUCTION, RULE, SPAN, EdgeGains, Gains
from mbrparse.decode.derivations.unary_chains import ChainScratch, read_chain

_SMALL = 1e-300  # in place of zero, whose logarithm would only be in the way


class BestValues(NamedTuple):
    """The best that nodes and groups reach."""

    own: Floats  # [node, lane] of a node that is not rewritten by a unary rule
    best: Floats  # [node, lane] (the same array where there are no unary rules)
    split: Floats  # [group, lane]: its best two nodes, with what the split earns
    shared: Floats  # [production] in the lane of shares its best two nodes, with what the split earns


class BestTrees(NamedTuple):
    """Trees that are read off, one after the other: their constituents in preorder, and preterminals."""

    nodes: Ints  # [3, any number]: start, end and symbol
    preterminals: Ints  # [lane, position]: symbols
    end: Ints  # by lane, the end of its nodes
    value: Floats  # by lane; -inf where there is no tree
    stack: Ints  # [height, 2] scratch: nodes that are still to be read off, and their ends


class SearchState(NamedTuple):
    """A forest that is searched, what its parts earn, and the best values found."""

    forest: Forest
    gains: Gains
    edge_gains: EdgeGains
    chains: ChainScratch
    values: BestValues
    trees: BestTrees
    tie: float  # by which values of equal trees may differ (``margin``)
    unit: Floats  # by lane: of a sum of logarithms what ``tie`` is a share of, else 0


@kernel
def margin(state: SearchState, lane: int, value: float) -> float:
    """How much less than a value counts as equal to it: a share of it.

    Of a unit, where logarithms are summed up: where these are zero depends on how inside values are scaled.
    """
    unit = state.unit[lane]
    return state.tie * (unit if unit > 0 else abs(value))


@kernel
def best_trees(state: SearchState, lanes: int, n: int) -> None:
    """Read off the best trees of the first lanes, into ``trees``.

    Of equal candidates the earlier split, then the lesser symbols; no chain, then the one listed first.
    """
    count = 0
    for lane in range(lanes):
        root, state.trees.value[lane] = _best_root(state, lane, n)
        if root >= 0:
            count = _best_tree(state, root, lane, n, count)
        state.trees.end[lane] = count


@kernel
def _best_root(state: SearchState, lane: int, n: int) -> tuple[int, float]:
    """The root of the best tree, and the tree's value; -1 and -inf where there is none.

    Nodes without an inside value above zero are no roots. The posteriors of a tree's nodes telescope to the
    root's inside value, in lanes that weigh their logarithms.
    """
    forest, roots, best = state.forest, state.gains.roots, state.values.best
    by_log, cell = state.gains.weights[LOG_NODE, lane], forest_cell(0, n)
    root, top = -1, -np.inf
    for is_known in (False, True):
        least = top - margin(state, lane, top) if is_known else top
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            symbol, inside = forest.node_symbol[node], forest.inside[node]
            value = best[node, lane] + roots[symbol, lane]
            if by_log != 0:
                value -= by_log * np.log(max(inside, _SMALL))
            if not (inside > 0 and np.isfinite(value)):
                continue
            if not is_known:
                top = max(top, value)
            elif value >= least and (root < 0 or symbol < forest.node_symbol[root]):
                root = node
    return root, top


@kernel
def _best_tree(state: SearchState, root: int, lane: int, n: int, count: int) -> int:
    """List the nodes of a root's best tree from place ``count`` on; returns the place after them."""
    forest, chains, own, best = state.forest, state.chains, state.values.own, state.values.best
    starts, ends, symbols = state.trees.nodes[0], state.trees.nodes[1], state.trees.nodes[2]
    preterminals, stack = state.trees.preterminals[lane], state.trees.stack
    stack[0, 0], stack[0, 1] = root, n
    height = 1
    while height > 0:
        height -= 1
        node, end = stack[height, 0], stack[height, 1]
        start, value = forest.node_start[node], best[node, lane]
        if value > own[node, lane] + margin(state, lane, own[node, lane]) or own[node, lane] == -np.inf:
            slack, length = margin(state, lane, value), 0
            while length == 0:
                cell = forest_cell(start, end)
                length = read_chain(
                    forest, state.gains, (own, best), chains, (cell, node), lane, value - slack
                )
                # Where large values cancel, rounding may leave all chains below.
                slack = 4 * slack + 1e-12
            for place in range(length - 1):
                starts[count], ends[count] = start, end
                symbols[count] = forest.node_symbol[chains.path[place]]
                count += 1
            node = chains.path[length - 1]
        if end - start == 1:
            preterminals[start] = forest.node_symbol[node]
            continue
        starts[count], ends[count], symbols[count] = start, end, forest.node_symbol[node]
        count += 1
        left, right = _best_split(state, lane, node, end)
        stack[height, 0], stack[height, 1] = right, end
        stack[height + 1, 0], stack[height + 1, 1] = left, forest.node_start[right]
        height += 2
    return count


@kernel
def _best_split(state: SearchState, lane: int, node: int, end: int) -> tuple[int, int]:
    """The two nodes that a node is best made of, without a chain."""
    forest, gains, edge_gains, values = state.forest, state.gains, state.edge_gains, state.values
    best, symbol, group_of, weights = values.best, forest.node_symbol, forest.production_group, gains.weights
    edge_first, edge_group = forest.edge_first, forest.edge_group
    left_first, left_node, node_first = forest.left_first, forest.left_node, forest.node_first
    start = forest.node_start[node]
    here = forest_cell(start, end)
    first, last = forest.cell_production[here], forest.cell_production[here + 1]
    is_shared, has_masses = lane == edge_gains.share_lane, len(edge_gains.mass) > 0
    least = np.inf
    found_left, found_right = -1, -1
    # Where large values cancel, rounding may leave all below: then the largest is taken.
    largest, largest_left, largest_right = -np.inf, -1, -1
    for is_known in (False, True):
        wanted = -np.inf
        for place in range(first, last):
            if forest.production_parent[place] != node:
                continue
            group = group_of[place]
            gain = weights[SPAN, lane] * gains.span[here]
            gain += weights[PRODUCTION, lane] * gains.production[place]
            gain += weights[CHILD, lane] * gains.children[place]
            if weights[RULE, lane] != 0:
                gain += weights[RULE, lane] * gains.rule_log_prob[forest.production_rule[place]]
            found = gain + (values.shared[place] if is_shared else values.split[group, lane])
            wanted = max(wanted, found)
            if not is_known or found < least:
                continue
            for split in range(start + 1, end):
                # A later split than the one at hand cannot come first.
                if found_right >= 0 and split > forest.node_start[found_right]:
                    break
                cell = forest_cell(split, end)
                for right in range(node_first[cell], node_first[cell + 1]):
                    if symbol[right] != forest.group_right[group]:
                        continue
                    for edge in range(edge_first[right], edge_first[right + 1]):
                        if edge_group[edge] != group:
                            continue
                        left = left_node[left_first[right] + edge - edge_first[right]]
                        value = best[left, lane] + best[right, lane] + gain
                        if is_shared:
                            value += gains.share[place] * forest.inside[left] * forest.inside[right]
                        if has_masses:
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
        least = wanted - margin(state, lane, wanted)
    if found_left < 0:
        return largest_left, largest_right
    return found_left, found_right
