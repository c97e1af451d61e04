"""What the nodes, productions and unary rules of a forest earn by the posteriors of their items.

Gains are rows of eight lanes (charts.vector), a lane for each of eight objectives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.packed_forest import Forest, Index, forest_cell
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Indices, Ints
from mbrparse.charts.vector import load, multiply_add, repeated, spread, store

Booleans = npt.NDArray[np.bool_]
LANES = 8
# Rows of the weights: what an objective may look at (decode.objectives.Item).
# Products of posteriors of productions with their splits telescope to those of rules and of the posteriors
# of nodes, whose logarithm LOG_NODE weighs; SPLIT weighs the posterior of a production with its split.
LABELLED, SPAN, CHILD, PRODUCTION, RULE, CONSTANT, LOG_NODE, SPLIT = range(8)
WEIGHTS = 8


class ItemTables(NamedTuple):
    """Items by symbol, binary rule and unary rule, in the order of the forest's tables.

    Sima'an (2003): <i, A_B^side, j> says that A over i..j has the child B on that side (here also as
    its only child), <i, A -> B C, j> that A is so rewritten, wherever the split. A child that is a
    terminal is no item: its number is that of the child items, one more than the last.
    """

    label: Ints  # by symbol
    terminal: Booleans  # by label: whether it is a terminal's
    root: Floats  # by symbol: the probability as the root
    rule_prob: Floats  # by binary rule
    rule_log_prob: Floats
    production: Indices
    left_child: Indices
    right_child: Indices
    unary_prob: Floats  # by unary rule
    unary_log_prob: Floats
    unary_production: Indices
    only_child: Indices
    production_labels: Ints  # [production, 3]: parent, left child (-1: none), right or only child
    child_labels: Ints  # [child item, 3]: side (LEFT, RIGHT, ONLY), parent, child


class ItemSums(NamedTuple):
    """Scratch, zero between cells: sums over the symbols and rules that share an item."""

    label: Floats
    production: Floats
    child: Floats  # the last place is that of children that are no items


class Gains(NamedTuple):
    """What the nodes and unaries of a forest earn, rows of lanes; see ``unary_chains`` for chains.

    A production's row is the sum of a few numbers times ``weights``: rows of all productions would cost more
    to write than to compute. A span's own gain goes to the production, or over a word to the foot of the
    chain, so that a chain of unary rules earns it once.
    """

    weights: Floats  # [WEIGHTS, lanes]
    roots: Floats  # by symbol, as the root; -inf for what is no root
    node: Floats  # -inf for what has no posterior above zero
    unary: Floats  # a step of a chain, with the node above
    production: Floats  # by production, the posterior of its item
    children: Floats  # and of its children's items
    span: Floats  # by cell, the expected number of constituents
    rule_log_prob: Floats  # by binary rule
    # For the one lane that weighs posteriors of splits: by production what a unit of its children's inside
    # values earns.
    share: Floats


class EdgeGains(NamedTuple):
    """What splits earn: ``weights[0]`` [lane] times ``mass`` [edge] and ``weights[1]`` times ``log_mass``.

    Without edges: none of the objectives looks at splits, or one alone, in ``share_lane``.
    """

    mass: Floats
    log_mass: Floats
    weights: Floats  # [2, lanes]
    share_lane: int  # a lane whose productions earn ``Gains.share`` times their children's inside, or -1
    group_weight: Floats  # by group the sum of outside * probability over its productions


@kernel
def node_gains(forest: Forest, items: ItemTables, sums: ItemSums, gains: Gains, n: int) -> None:
    """What nodes earn, and the posteriors of spans; the posterior of a label is summed over its symbols.

    A preterminal is no constituent: over a word only what stands above it counts.
    """
    inside, outside, lexical, node_symbol = forest.inside, forest.outside, forest.lexical, forest.node_symbol
    node_first, label, label_sum = forest.node_first, items.label, sums.label
    weights, gain_of, span = gains.weights, gains.node, gains.span
    by_label, constant = load(weights, LABELLED, 0), load(weights, CONSTANT, 0)
    by_log = load(weights, LOG_NODE, 0)
    has_logarithms = False
    for lane in range(LANES):
        has_logarithms = has_logarithms or weights[LOG_NODE, lane] != 0
    for cell in range(n * (n + 1) // 2):
        first, last = Index(node_first[cell]), Index(node_first[cell + 1])
        total = 0.0
        for node in range(first, last):
            mass = outside[node] * (inside[node] - lexical[node])
            label_sum[label[Index(node_symbol[node])]] += mass
            total += mass
        span[cell] = total
        for node in range(first, last):
            posterior = inside[node] * outside[node]
            if posterior > 0:
                mass_of_label = spread(label_sum, label[Index(node_symbol[node])])
                gain = multiply_add(by_label, mass_of_label, constant)
                if has_logarithms:
                    gain = multiply_add(by_log, repeated(weights, np.log(posterior)), gain)
                store(gain_of, node, 0, gain)
            else:
                store(gain_of, node, 0, repeated(weights, -np.inf))
        for node in range(first, last):
            label_sum[label[Index(node_symbol[node])]] = 0


@kernel
def production_gains(forest: Forest, items: ItemTables, sums: ItemSums, gains: Gains, n: int) -> None:
    """What productions earn; the posterior of an item is summed over splits and the rules that share it."""
    outside, group_sum, cell_production = forest.outside, forest.group_sum, forest.cell_production
    parent_of, group_of, rule_of = forest.production_parent, forest.production_group, forest.production_rule
    rule_prob, item = items.rule_prob, items.production
    left_child, right_child = items.left_child, items.right_child
    item_sum, child_sum = sums.production, sums.child
    production, children, share, weights = gains.production, gains.children, gains.share, gains.weights
    by_items, by_split = False, 0.0
    for lane in range(LANES):
        by_items = by_items or weights[PRODUCTION, lane] != 0 or weights[CHILD, lane] != 0
        by_split = max(by_split, weights[SPLIT, lane])
    for cell in range(n * (n + 1) // 2):
        first, last = Index(cell_production[cell]), Index(cell_production[cell + 1])
        if by_split > 0:
            for place in range(first, last):
                share[place] = by_split * rule_prob[Index(rule_of[place])] * outside[Index(parent_of[place])]
        if not by_items:
            continue
        for place in range(first, last):
            rule = Index(rule_of[place])
            mass = rule_prob[rule] * outside[Index(parent_of[place])] * group_sum[Index(group_of[place])]
            item_sum[item[rule]] += mass
            child_sum[left_child[rule]] += mass
            child_sum[right_child[rule]] += mass
        child_sum[len(child_sum) - 1] = 0
        for place in range(first, last):
            rule = Index(rule_of[place])
            production[place] = item_sum[item[rule]]
            children[place] = child_sum[left_child[rule]] + child_sum[right_child[rule]]
        for place in range(first, last):
            rule = Index(rule_of[place])
            item_sum[item[rule]], child_sum[left_child[rule]], child_sum[right_child[rule]] = 0, 0, 0


@kernel
def unary_gains(forest: Forest, items: ItemTables, sums: ItemSums, gains: Gains, n: int) -> None:
    """What unaries earn: by their items and by their rule, which each use earns, with the node above."""
    inside, outside, unary_first = forest.inside, forest.outside, forest.unary_first
    parent_of, child_of, rule_of = forest.unary_parent, forest.unary_child, forest.unary_rule
    prob, log_prob = items.unary_prob, items.unary_log_prob
    item, child = items.unary_production, items.only_child
    item_sum, child_sum, weights = sums.production, sums.child, gains.weights
    gain_of, node_gain = gains.unary, gains.node
    by_item, by_child = load(weights, PRODUCTION, 0), load(weights, CHILD, 0)
    by_rule, by_split = load(weights, RULE, 0), load(weights, SPLIT, 0)
    for cell in range(n * (n + 1) // 2):
        first, last = unary_first[cell], unary_first[cell + 1]
        for place in range(first, last):
            rule = rule_of[place]
            mass = prob[rule] * outside[parent_of[place]] * inside[child_of[place]]
            item_sum[item[rule]] += mass
            child_sum[child[rule]] += mass
        child_sum[len(child_sum) - 1] = 0
        for place in range(first, last):
            rule = rule_of[place]
            mass = prob[rule] * outside[parent_of[place]] * inside[child_of[place]]
            gain = multiply_add(by_item, spread(item_sum, item[rule]), load(node_gain, parent_of[place], 0))
            gain = multiply_add(by_child, spread(child_sum, child[rule]), gain)
            gain = multiply_add(by_rule, spread(log_prob, rule), gain)
            store(gain_of, place, 0, multiply_add(by_split, repeated(weights, mass), gain))
        for place in range(first, last):
            rule = rule_of[place]
            item_sum[item[rule]], child_sum[child[rule]] = 0, 0


@kernel
def lexical_gains(forest: Forest, items: ItemTables, weights: Floats, values: Floats, n: int) -> None:
    """What preterminals earn, into the values [node, lane] of nodes over words.

    -inf for other nodes over a word, and for what has no posterior above zero.
    """
    for position in range(n):
        cell = forest_cell(position, position + 1)
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            mass, posterior = forest.lexical[node], forest.inside[node] * forest.outside[node]
            earns = not items.terminal[items.label[forest.node_symbol[node]]]
            for lane in range(LANES):
                if not (mass > 0 and posterior > 0):
                    values[node, lane] = -np.inf
                    continue
                gain = 0.0
                if weights[RULE, lane] != 0:
                    gain += weights[RULE, lane] * np.log(mass)
                if earns and weights[LOG_NODE, lane] != 0:
                    gain += weights[LOG_NODE, lane] * np.log(posterior)
                if earns:
                    gain += weights[SPLIT, lane] * mass * forest.outside[node]
                values[node, lane] = gain
