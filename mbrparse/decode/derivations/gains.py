"""The posteriors of a forest's items, and what nodes, productions and unary rules earn by them.

Gains are rows of eight lanes (grammar.charts.base.vector), a lane for each of eight objectives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.base.closure import UnaryTables
from mbrparse.grammar.charts.base.packed_forest import Forest, Index, forest_cell
from mbrparse.grammar.charts.base.rule_tables import Floats, Indices, Ints, SparseTables
from mbrparse.grammar.charts.base.vector import load, multiply_add, spread, store, zeros
from mbrparse.grammar.kernel import kernel

Booleans = npt.NDArray[np.bool_]
LANES = 8
# Rows of the weights: what an objective may look at (decode.base.objectives.Item).
# Products of posteriors of productions with their splits telescope to those of rules and of the posteriors
# of nodes, whose logarithm LOG_NODE weighs; SPLIT weighs the posterior of a production with its split.
LABELLED, SPAN, CHILD, PRODUCTION, RULE, CONSTANT, LOG_NODE, SPLIT = range(8)
WEIGHTS = 8
NO_ITEM = -1


class ItemTables(NamedTuple):
    """Items by symbol, binary rule and unary rule, in the order of the forest's tables.

    Sima'an (2003): <i, A_B^side, j> says that A over i..j has the child B on that side (here also as
    its only child), <i, A -> B C, j> that A is so rewritten, wherever the split. A child that is a
    terminal is no item.
    """

    label: Ints  # by symbol
    production: Ints  # by binary rule
    left_child: Ints  # by binary rule, or NO_ITEM
    right_child: Ints
    unary_production: Ints  # by unary rule
    only_child: Ints
    rule_log_prob: Floats
    unary_log_prob: Floats
    terminal: npt.NDArray[np.bool_]  # by label: whether it is a terminal's
    production_labels: Ints  # [production, 3]: parent, left child (-1: none), right or only child
    child_labels: Ints  # [child item, 3]: side (LEFT, RIGHT, ONLY), parent, child
    n_labels: int
    n_productions: int
    n_children: int


class ItemForest(NamedTuple):
    """What the posteriors of items are worked out of."""

    forest: Forest
    tables: SparseTables
    unaries: UnaryTables
    items: ItemTables


class Gains(NamedTuple):
    """What the nodes, unaries and productions of a forest earn; see ``unary_chains`` for chains.

    Rows of lanes by node, unary and position. A production's row is the sum of a few numbers times
    ``weights`` (``production_gain``): rows of all productions would cost more to write than to work out.
    """

    node: Floats  # -inf for what has no posterior above zero
    unary: Floats  # its items
    unary_rule: Floats  # its rule, which each use earns
    foot: Floats  # by start of a cell of width one: what a chain over its preterminal earns once
    production: Floats  # by production, the posterior of its item
    children: Floats  # and of its children's items
    span: Floats  # by cell, its posterior
    rule_log_prob: Floats
    weights: Floats  # [WEIGHTS, lanes]
    # Numbers for the one lane that weighs posteriors of splits: by production what a unit of its
    # children's inside values earns, and the sum of these by group but for the weight.
    share: Floats
    group_share: Floats
    scratch: Floats  # a row


class EdgeGains(NamedTuple):
    """What splits earn: ``weights[0]`` [lane] times ``mass`` [edge] and ``weights[1]`` times ``log_mass``.

    Without edges: none of the objectives looks at splits.
    """

    mass: Floats
    log_mass: Floats
    weights: Floats  # [2, lanes]
    share_lane: int  # a lane whose productions earn ``Gains.share`` times their children's inside, or -1


@kernel
def production_gain(gains: Gains, place: int, rule: int, cell: int, lane: int) -> float:
    """What a production earns in a lane, but for its split's posterior."""
    weights = gains.weights
    gain = weights[SPAN, lane] * gains.span[cell]
    gain = weights[PRODUCTION, lane] * gains.production[place] + gain
    gain = weights[CHILD, lane] * gains.children[place] + gain
    total: float = weights[RULE, lane] * gains.rule_log_prob[rule] + gain
    return total


class ItemSums(NamedTuple):
    """Scratch, all zero between cells: sums over the symbols and rules that share an item.

    A child that is no item counts in the last place of ``child``, which is set to zero before it is read.
    """

    label: Floats
    production: Floats
    child: Floats
    left_child: Indices  # by rule: its place in ``child``
    right_child: Indices
    only_child: Indices
    scalar: Floats  # four numbers on their way into vectors


@kernel
def item_gains(source: ItemForest, sums: ItemSums, gains: Gains, span_mass: Floats, n: int) -> None:
    """Fill ``gains``, whose weights stand; of spans come the posteriors, by cell.

    The posterior of an item is summed over all symbols, splits and rules that share it. A span's own
    gain goes to the production (or over a word to the foot of the chain), so that a chain of unary
    rules earns it once.
    """
    forest, items = source.forest, source.items
    inside, outside, lexical = forest.inside, forest.outside, forest.lexical
    weights = gains.weights
    by_items, by_split = _weighs_items(weights), 0.0
    for lane in range(LANES):
        by_split = max(by_split, weights[SPLIT, lane])
    for cell in range(n * (n + 1) // 2):
        first, last = forest.node_first[cell], forest.node_first[cell + 1]
        if first == last:
            continue
        for node in range(first, last):
            # A preterminal is no constituent: over a word only what stands above it counts.
            mass = outside[node] * (inside[node] - lexical[node])
            sums.label[items.label[forest.node_symbol[node]]] += mass
        # Not all of the cell's nodes may be there.
        gains.span[cell] = sums.scalar[3] = span_mass[cell]
        _node_gains(source, sums, gains, cell)
        if by_split > 0:
            _shares(source, gains, cell, by_split)
        if by_items:
            _sum_productions(source, sums, cell)
            _sum_unaries(source, sums, cell)
            _production_gains(source, sums, gains, cell)
        _unary_gains(source, sums, gains, cell)
        if lexical[first] > 0:
            store(
                gains.foot,
                forest.node_start[first],
                0,
                multiply_add(load(weights, SPAN, 0), spread(sums.scalar, 3), zeros(weights)),
            )
        for node in range(first, last):
            sums.label[items.label[forest.node_symbol[node]]] = 0
        if by_items:
            _clear_sums(source, sums, cell)


@kernel
def _weighs_items(weights: Floats) -> bool:
    """Whether some lane weighs items of productions or of their children."""
    for lane in range(LANES):  # noqa: SIM110  # kernels know no generators
        if weights[PRODUCTION, lane] != 0 or weights[CHILD, lane] != 0:
            return True
    return False


@kernel
def _shares(source: ItemForest, gains: Gains, cell: int, weight: float) -> None:
    forest, tables = source.forest, source.tables
    outside, production_parent, rule_prob = forest.outside, forest.production_parent, tables.rule_prob
    production_rule, share = forest.production_rule, gains.share
    for place in range(Index(forest.cell_production[cell]), Index(forest.cell_production[cell + 1])):
        rule, parent = Index(production_rule[place]), Index(production_parent[place])
        share[place] = weight * rule_prob[rule] * outside[parent]


@kernel
def _sum_productions(source: ItemForest, sums: ItemSums, cell: int) -> None:
    forest, tables, items = source.forest, source.tables, source.items
    outside, production_parent, rule_prob = forest.outside, forest.production_parent, tables.rule_prob
    production_rule, production_group = forest.production_rule, forest.production_group
    production_sum, child_sum, group_sum = sums.production, sums.child, forest.group_sum
    production, left_child, right_child = items.production, sums.left_child, sums.right_child
    for place in range(Index(forest.cell_production[cell]), Index(forest.cell_production[cell + 1])):
        rule, parent = Index(production_rule[place]), Index(production_parent[place])
        posterior = rule_prob[rule] * outside[parent] * group_sum[Index(production_group[place])]
        production_sum[Index(production[rule])] += posterior
        child_sum[left_child[rule]] += posterior
        child_sum[right_child[rule]] += posterior


@kernel
def _sum_unaries(source: ItemForest, sums: ItemSums, cell: int) -> None:
    forest, unaries, items = source.forest, source.unaries, source.items
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        posterior = (
            unaries.rule_prob[rule]
            * forest.outside[forest.unary_parent[place]]
            * forest.inside[forest.unary_child[place]]
        )
        sums.production[items.unary_production[rule]] += posterior
        sums.child[sums.only_child[rule]] += posterior


@kernel
def _node_gains(source: ItemForest, sums: ItemSums, gains: Gains, cell: int) -> None:
    """Fill the rows of a cell's nodes, its labels being summed up."""
    forest, items, weights = source.forest, source.items, gains.weights
    logarithms = False
    for lane in range(LANES):
        logarithms = logarithms or weights[LOG_NODE, lane] != 0
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        posterior = forest.inside[node] * forest.outside[node]
        if not posterior > 0:
            for lane in range(LANES):
                gains.node[node, lane] = -np.inf
            continue
        mass = spread(sums.label, items.label[forest.node_symbol[node]])
        gain = multiply_add(load(weights, LABELLED, 0), mass, load(weights, CONSTANT, 0))
        if logarithms:
            sums.scalar[1] = np.log(posterior)
            gain = multiply_add(load(weights, LOG_NODE, 0), spread(sums.scalar, 1), gain)
        store(gains.node, node, 0, gain)


@kernel
def _production_gains(source: ItemForest, sums: ItemSums, gains: Gains, cell: int) -> None:
    """Fill what a cell's productions earn, their items being summed up."""
    forest, items = source.forest, source.items
    production_sum, child_sum = sums.production, sums.child
    production, left_child, right_child = items.production, sums.left_child, sums.right_child
    own, children, production_rule = gains.production, gains.children, forest.production_rule
    child_sum[len(child_sum) - 1] = 0
    for place in range(Index(forest.cell_production[cell]), Index(forest.cell_production[cell + 1])):
        rule = Index(production_rule[place])
        own[place] = production_sum[Index(production[rule])]
        children[place] = child_sum[left_child[rule]] + child_sum[right_child[rule]]


@kernel
def _unary_gains(source: ItemForest, sums: ItemSums, gains: Gains, cell: int) -> None:
    forest, unaries, items, weights = source.forest, source.unaries, source.items, gains.weights
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        mass = spread(sums.production, items.unary_production[rule])
        gain = multiply_add(load(weights, PRODUCTION, 0), mass, zeros(weights))
        gain = multiply_add(load(weights, CHILD, 0), spread(sums.child, sums.only_child[rule]), gain)
        store(gains.unary, place, 0, gain)
        use = multiply_add(load(weights, RULE, 0), spread(items.unary_log_prob, rule), zeros(weights))
        sums.scalar[1] = (
            unaries.rule_prob[rule]
            * forest.outside[forest.unary_parent[place]]
            * forest.inside[forest.unary_child[place]]
        )
        use = multiply_add(load(weights, SPLIT, 0), spread(sums.scalar, 1), use)
        store(gains.unary_rule, place, 0, use)


@kernel
def _clear_sums(source: ItemForest, sums: ItemSums, cell: int) -> None:
    forest, items = source.forest, source.items
    production_sum, child_sum = sums.production, sums.child
    production, left_child, right_child = items.production, sums.left_child, sums.right_child
    production_rule = forest.production_rule
    for place in range(Index(forest.cell_production[cell]), Index(forest.cell_production[cell + 1])):
        rule = Index(production_rule[place])
        production_sum[Index(production[rule])] = 0
        child_sum[left_child[rule]] = 0
        child_sum[right_child[rule]] = 0
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        production_sum[items.unary_production[rule]] = 0
        child_sum[sums.only_child[rule]] = 0


@kernel
def lexical_gains(forest: Forest, items: ItemTables, weights: Floats, gains: Floats, position: int) -> None:
    """What preterminals earn; -inf for other nodes over a word, and for what has no posterior above zero."""
    cell = forest_cell(position, position + 1)
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        mass, posterior = forest.lexical[node], forest.inside[node] * forest.outside[node]
        earns = not items.terminal[items.label[forest.node_symbol[node]]]
        for lane in range(LANES):
            if not (mass > 0 and posterior > 0):
                gains[node, lane] = -np.inf
                continue
            gain = 0.0
            if weights[RULE, lane] != 0:
                gain += weights[RULE, lane] * np.log(mass)
            if earns and weights[LOG_NODE, lane] != 0:
                gain += weights[LOG_NODE, lane] * np.log(posterior)
            if earns:
                gain += weights[SPLIT, lane] * mass * forest.outside[node]
            gains[node, lane] = gain


@kernel
def item_mass(source: ItemForest, of_rule: tuple[Ints, Ints], of_unary: Ints, cell: int, item: int) -> float:
    """The posterior of an item that rules and unary rules have; of rules either of two may be it."""
    forest, tables, unaries = source.forest, source.tables, source.unaries
    one, other = of_rule
    mass = 0.0
    group = forest.cell_group[cell]
    while group >= 0:
        for place in range(forest.production_first[group], forest.production_last[group]):
            rule = forest.production_rule[place]
            if one[rule] == item or other[rule] == item:
                parent = forest.production_parent[place]
                mass += tables.rule_prob[rule] * forest.outside[parent] * forest.group_sum[group]
        group = forest.group_next[group]
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        if of_unary[rule] == item:
            parent, child = forest.unary_parent[place], forest.unary_child[place]
            mass += unaries.rule_prob[rule] * forest.outside[parent] * forest.inside[child]
    return mass


@kernel
def split_mass(source: ItemForest, cell: int, item: int, right_cell: int) -> float:
    """The posterior of a production whose right child is in a cell."""
    forest, items = source.forest, source.items
    start = forest.node_start[forest.node_first[cell]]
    right_label = items.production_labels[item, 2]
    mass = 0.0
    for right in range(forest.node_first[right_cell], forest.node_first[right_cell + 1]):
        if items.label[forest.node_symbol[right]] != right_label:
            continue
        for edge in range(forest.edge_first[right], forest.edge_first[right + 1]):
            group = forest.edge_group[edge]
            if forest.group_start[group] != start:
                continue
            passed = 0.0
            for place in range(forest.production_first[group], forest.production_last[group]):
                rule = forest.production_rule[place]
                if items.production[rule] == item:
                    passed += source.tables.rule_prob[rule] * forest.outside[forest.production_parent[place]]
            left = forest.left_node[forest.left_first[right] + edge - forest.edge_first[right]]
            mass += passed * forest.inside[right] * forest.inside[left]
    return mass


@kernel
def lexical_mass(source: ItemForest, cell: int, label: int) -> float:
    """The posterior of a label that is rewritten as the word."""
    forest, items = source.forest, source.items
    mass = 0.0
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        if items.label[forest.node_symbol[node]] == label:
            mass += forest.lexical[node] * forest.outside[node]
    return mass
