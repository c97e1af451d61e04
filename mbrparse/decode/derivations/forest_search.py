"""Search of a forest for the tree with the largest sum of gains, for eight objectives side by side.

best(node) = max over productions of the production's gain and the best split of its pair, plus the node's
own gain; over unary rules the best chain. Every array of values is [.., lanes] (``gains``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.chains import (
    Chains,
    best_chain,
    bound_steps,
    close_by_components,
    list_steps,
)
from mbrparse.decode.derivations.gains import (
    CHILD,
    LANES,
    PRODUCTION,
    RULE,
    SPAN,
    SPLIT,
    Gains,
    production_gain,
)
from mbrparse.grammar.charts.forest.packed_forest import ONE, Forest, Index, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.vector import add, load, maximum, multiply, multiply_add, spread, store
from mbrparse.grammar.kernel import kernel


class EdgeGains(NamedTuple):
    """What splits earn: ``by_mass`` [lane] times ``mass`` [edge] and ``by_log`` times ``log_mass``.

    Without edges: none of the objectives looks at splits.
    """

    mass: Floats
    log_mass: Floats
    weights: Floats  # [2, lanes]
    share_lane: int  # a lane whose productions earn ``Gains.share`` times their children's inside, or -1


class Values(NamedTuple):
    """Best values."""

    own: Floats  # [node, lane] of a node that is not rewritten by a unary rule
    best: Floats  # [node, lane] (the same array where there are no unary rules)
    split: Floats  # [group, lane]: its best two nodes, with what the split earns
    lexical: Floats  # [node, lane] what preterminals earn; -inf for other nodes over a word
    shared: Floats  # [production] in the lane of shares its best two nodes, with what the split earns
    left_value: Floats  # inside values of the forest's ``left_node``
    tree_nodes: Ints  # [3, any number] room for trees: start, end and symbol of their nodes
    tree_end: Ints  # by lane
    tree_value: Floats


@kernel
def search_forest(
    forest: Forest, label: Ints, gains: Gains, edge_gains: EdgeGains, chains: Chains, values: Values, n: int
) -> None:
    """Fill ``values``; ``label`` is by symbol (``ItemTables``)."""
    own, best, split = values.own, values.best, values.split
    node_first, edge_first, unary_first = forest.node_first, forest.edge_first, forest.unary_first
    edge_group, left_first, left_node = forest.edge_group, forest.left_first, forest.left_node
    weights = edge_gains.weights
    weighs_splits = len(edge_gains.mass) > 0
    share, group_share, shared, left_value = gains.share, gains.group_share, values.shared, values.left_value
    production_first, production_last = forest.production_first, forest.production_last
    inside = forest.inside
    lane = edge_gains.share_lane
    by_split = gains.weights[SPLIT, max(lane, 0)]
    for end in range(1, n + 1):
        _forget(forest, values, end, lane >= 0)
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            if node_first[cell] == node_first[cell + 1]:
                continue
            _complete(forest, gains, values, cell, end - start == 1, lane)
            if unary_first[cell + 1] > unary_first[cell]:
                _close(forest, label, gains, chains, values, cell)
            elif len(forest.unary_rule):
                for node in range(node_first[cell], node_first[cell + 1]):
                    store(best, node, 0, load(own, node, 0))
            for right in range(node_first[cell], node_first[cell + 1]):
                if not _is_found(best, right):
                    continue
                value = load(best, right, 0)
                if lane >= 0:
                    here, factor = best[right, lane], inside[right]
                    most = by_split * factor
                    place = Index(left_first[right])
                    for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                        group = Index(edge_group[edge])
                        left = Index(left_node[place])
                        base = here + best[left, lane]
                        # No production of the group gains by more than this.
                        if base + group_share[group] * (most * left_value[place]) > split[group, lane]:
                            below = factor * left_value[place]
                            first, last = Index(production_first[group]), Index(production_last[group])
                            for production in range(first, last):
                                reached = base + share[production] * below
                                shared[production] = max(shared[production], reached)
                        total = add(value, load(best, left, 0))
                        store(split, group, 0, maximum(load(split, group, 0), total))
                        place = Index(place + ONE)
                    continue
                place = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                    group = Index(edge_group[edge])
                    total = add(value, load(best, Index(left_node[place]), 0))
                    place = Index(place + ONE)
                    if weighs_splits:
                        total = multiply_add(load(weights, 0, 0), spread(edge_gains.mass, edge), total)
                        total = multiply_add(load(weights, 1, 0), spread(edge_gains.log_mass, edge), total)
                    store(split, group, 0, maximum(load(split, group, 0), total))


@kernel
def _forget(forest: Forest, values: Values, end: int, shares: bool) -> None:
    """Nothing is known of the groups of a column."""
    split, shared = values.split, values.shared
    nothing = -np.inf
    first, last = forest_cell(end - 1, end), forest_cell(0, end)
    if shares:
        shared[forest.cell_production[first] : forest.cell_production[last + 1]] = nothing
    for cell in range(first, last + 1):
        group = forest.cell_group[cell]
        while group >= 0:
            for lane in range(LANES):
                split[Index(group), lane] = nothing
            group = forest.group_next[group]


@kernel
def _is_found(best: Floats, node: int) -> bool:
    """Whether a node has a value in some lane."""
    for lane in range(LANES):  # noqa: SIM110  # kernels know no generators
        if best[Index(node), lane] > -np.inf:
            return True
    return False


@kernel
def _complete(forest: Forest, gains: Gains, values: Values, cell: int, single: bool, share_lane: int) -> None:
    """The values of a cell's nodes without chains, all its splits being found."""
    own, split, node_gain = values.own, values.split, gains.node
    production, children, weights, log_prob = (
        gains.production,
        gains.children,
        gains.weights,
        gains.rule_log_prob,
    )
    by_production, by_child, by_rule = (
        load(weights, PRODUCTION, 0),
        load(weights, CHILD, 0),
        load(weights, RULE, 0),
    )
    span = multiply(load(weights, SPAN, 0), spread(gains.span, cell))
    shared, production_rule, production_group = values.shared, forest.production_rule, forest.production_group
    production_parent = forest.production_parent
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        if single:
            store(own, node, 0, load(values.lexical, node, 0))
        else:
            for lane in range(LANES):
                own[node, lane] = -np.inf
    for place in range(Index(forest.cell_production[cell]), Index(forest.cell_production[cell + 1])):
        parent = Index(production_parent[place])
        total = add(load(split, Index(production_group[place]), 0), span)
        total = multiply_add(by_production, spread(production, place), total)
        total = multiply_add(by_child, spread(children, place), total)
        total = multiply_add(by_rule, spread(log_prob, Index(production_rule[place])), total)
        store(own, parent, 0, maximum(load(own, parent, 0), total))
    if share_lane >= 0:
        # This lane weighs nothing else of productions.
        for place in range(Index(forest.cell_production[cell]), Index(forest.cell_production[cell + 1])):
            parent = Index(production_parent[place])
            own[parent, share_lane] = max(own[parent, share_lane], shared[place])
    if not single:
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            store(own, node, 0, add(load(own, node, 0), load(node_gain, node, 0)))


@kernel
def _close(forest: Forest, label: Ints, gains: Gains, chains: Chains, values: Values, cell: int) -> None:
    """The values of a cell's nodes with the best chain below each."""
    list_steps(forest, chains, cell)
    if len(chains.rank) and close_by_components(forest, gains, values.own, values.best, chains, cell):
        return
    first = forest.node_first[cell]
    for lane in range(LANES):
        foot = bound_steps(forest, gains, values.own, chains, cell, lane)
        for node in range(first, forest.node_first[cell + 1]):
            if chains.head[node - first] < 0:
                values.best[node, lane] = values.own[node, lane]
            else:
                at = (cell, node, lane)
                values.best[node, lane], _ = best_chain(forest, label, gains, values.own, chains, at, foot)


class Question(NamedTuple):
    """Which tree is asked for (or how many), and how to choose among equals."""

    lane: int
    tie: float
    length: int


@kernel
def best_trees(
    forest: Forest,
    label: Ints,
    gains: Gains,
    edge_gains: EdgeGains,
    chains: Chains,
    values: Values,
    root_gains: Floats,
    question: Question,
) -> None:
    """The nodes of the lanes' best trees in preorder, preterminals included, and their values.

    They go to ``values.tree_nodes``, those of the question's first lanes. ``root_gains`` [node of the
    root cell, lane] are -inf where a node is no root. Of equal candidates the earlier split, then the
    lesser symbols; a chain of fewer nodes first. No node, and -inf, where there is no tree.
    """
    lanes, tie, n = question
    count = 0
    for lane in range(lanes):
        asked = Question(lane, tie, n)
        count, top = _best_tree(forest, label, gains, edge_gains, chains, values, root_gains, (asked, count))
        values.tree_end[lane] = count
        values.tree_value[lane] = top


@kernel
def _best_tree(
    forest: Forest,
    label: Ints,
    gains: Gains,
    edge_gains: EdgeGains,
    chains: Chains,
    values: Values,
    root_gains: Floats,
    at: tuple[Question, int],
) -> tuple[int, float]:
    """One of them, its nodes from this place on; returns the place after them, and its value."""
    question, count = at
    lane, tie, n = question
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
        if best[node, lane] + root_gains[node - first, lane] >= top - tie * abs(top):
            if root < 0 or forest.node_symbol[node] < forest.node_symbol[root]:
                root = node
    stack = np.empty((n + 1, 2), np.int32)  # node and end
    stack[0, 0], stack[0, 1] = root, n
    height = 1
    while height > 0:
        height -= 1
        node, end = stack[height, 0], stack[height, 1]
        start = forest.node_start[node]
        cell = forest_cell(start, end)
        if best[node, lane] > own[node, lane] + tie * abs(own[node, lane]) or own[node, lane] == -np.inf:
            list_steps(forest, chains, cell)
            foot = bound_steps(forest, gains, own, chains, cell, lane)
            _, length = best_chain(forest, label, gains, own, chains, (cell, node, lane), foot)
            for place in range(length - 1):
                starts[count], ends[count] = start, end
                symbols[count] = forest.node_symbol[chains.best_path[place]]
                count += 1
            node = chains.best_path[length - 1]
        starts[count], ends[count], symbols[count] = start, end, forest.node_symbol[node]
        count += 1
        if end - start > 1:
            left, right = _best_split(forest, gains, edge_gains, values, node, end, question)
            stack[height, 0], stack[height, 1] = right, end
            stack[height + 1, 0], stack[height + 1, 1] = left, forest.node_start[right]
            height += 2
    return count, top


@kernel
def _best_split(
    forest: Forest,
    gains: Gains,
    edge_gains: EdgeGains,
    values: Values,
    node: int,
    end: int,
    question: Question,
) -> tuple[int, int]:
    """The two nodes that a node is best made of, without a chain."""
    lane, tie = question.lane, question.tie
    best, symbol = values.best, forest.node_symbol
    start = forest.node_start[node]
    here = forest_cell(start, end)
    wanted = -np.inf
    group = forest.cell_group[here]
    while group >= 0:
        for place in range(forest.production_first[group], forest.production_last[group]):
            if forest.production_parent[place] == node:
                rule = forest.group_rule[group] + place - forest.production_first[group]
                found = values.shared[place] if lane == edge_gains.share_lane else values.split[group, lane]
                wanted = max(wanted, found + production_gain(gains, place, rule, here, lane))
        group = forest.group_next[group]
    least = wanted - tie * abs(wanted)
    found_left, found_right = -1, -1
    # Where large values cancel, rounding may leave all below: then the largest is taken.
    largest, largest_left, largest_right = -np.inf, -1, -1
    group = forest.cell_group[here]
    while group >= 0:
        for place in range(forest.production_first[group], forest.production_last[group]):
            if forest.production_parent[place] != node:
                continue
            rule = forest.group_rule[group] + place - forest.production_first[group]
            gain = production_gain(gains, place, rule, here, lane)
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
        group = forest.group_next[group]
    if found_left < 0:
        return largest_left, largest_right
    return found_left, found_right
