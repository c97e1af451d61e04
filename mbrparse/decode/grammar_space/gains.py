"""What nodes, productions and unary rules of a forest earn, for eight objectives side by side.

All gains are rows of eight lanes (grammar.charts.vector), a lane for each objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.decode.grammar_space.items import ItemTables
from mbrparse.grammar.charts.forest import Forest, ForestUnaries, forest_cell
from mbrparse.grammar.charts.tables import Floats, SparseTables
from mbrparse.grammar.charts.vector import load, multiply_add, spread, store, zeros
from mbrparse.grammar.kernel import kernel

Booleans = npt.NDArray[np.bool_]
LANES = 8
# Rows of the weights: what an objective may look at (decode.objectives.Item).
# Products of posteriors of productions with their splits telescope to those of rules and of the posteriors
# of nodes, whose logarithm LOG_NODE weighs; SPLIT weighs the posterior of a production with its split.
LABELLED, SPAN, CHILD, PRODUCTION, RULE, CONSTANT, LOG_NODE, SPLIT = range(8)
WEIGHTS = 8


class Gains(NamedTuple):
    """Rows by node, production and unary of a forest; see ``chains`` for those of chains."""

    node: Floats  # -inf for what has no posterior above zero
    production: Floats
    unary: Floats  # its items
    unary_rule: Floats  # its rule, which each use earns
    foot: Floats  # by start of a cell of width one: what a chain over its preterminal earns once
    # Numbers for the one lane that weighs posteriors of splits: by production what a unit of its
    # children's inside values earns, and the largest of these by group.
    share: Floats
    most_share: Floats


class Sums(NamedTuple):
    """Scratch, all zero between cells: sums over the symbols and rules that share an item."""

    label: Floats
    production: Floats
    child: Floats
    scalar: Floats  # four numbers on their way into vectors


def new_sums(items: ItemTables) -> Sums:
    """Scratch for these items."""
    return Sums(
        np.zeros(items.n_labels), np.zeros(items.n_productions), np.zeros(items.n_children + 1), np.zeros(4)
    )


@kernel
def item_gains(
    forest: Forest,
    tables: SparseTables,
    unaries: ForestUnaries,
    items: ItemTables,
    weights: Floats,
    sums: Sums,
    gains: Gains,
    n: int,
) -> None:
    """Fill ``gains``; ``weights`` [WEIGHTS, lanes].

    The posterior of an item is summed over all symbols, splits and rules that share it. A span's own
    gain goes to the production (or over a word to the foot of the chain), so that a chain of unary
    rules earns it once.
    """
    inside, outside, lexical = forest.inside, forest.outside, forest.lexical
    for cell in range(n * (n + 1) // 2):
        first, last = forest.node_first[cell], forest.node_first[cell + 1]
        if first == last:
            continue
        span = 0.0
        for node in range(first, last):
            # A preterminal is no constituent: over a word only what stands above it counts.
            mass = outside[node] * (inside[node] - lexical[node])
            sums.label[items.label[forest.node_symbol[node]]] += mass
            span += mass
        _sum_productions(forest, tables, items, sums, cell)
        _sum_unaries(forest, unaries, items, sums, cell)
        sums.scalar[3] = span
        _node_gains(forest, items, weights, sums, gains, cell)
        _production_gains(forest, tables, items, weights, sums, gains, cell)
        _unary_gains(forest, unaries, items, weights, sums, gains, cell)
        if lexical[first] > 0:
            store(
                gains.foot,
                forest.node_start[first],
                0,
                multiply_add(load(weights, SPAN, 0), spread(sums.scalar, 3), zeros(weights)),
            )
        _clear_sums(forest, items, sums, cell)


@kernel
def _sum_productions(forest: Forest, tables: SparseTables, items: ItemTables, sums: Sums, cell: int) -> None:
    outside, production_parent, rule_prob = forest.outside, forest.production_parent, tables.rule_prob
    production_sum, child_sum = sums.production, sums.child
    production, left_child, right_child = items.production, items.left_child, items.right_child
    group = forest.cell_group[cell]
    while group >= 0:
        total = forest.group_sum[group]
        rule = forest.group_rule[group]
        for place in range(forest.production_first[group], forest.production_last[group]):
            posterior = rule_prob[rule] * outside[production_parent[place]] * total
            production_sum[production[rule]] += posterior
            # Terminals have the item -1: the last place, which nobody reads.
            child_sum[left_child[rule]] += posterior
            child_sum[right_child[rule]] += posterior
            rule += 1
        group = forest.group_next[group]


@kernel
def _sum_unaries(forest: Forest, unaries: ForestUnaries, items: ItemTables, sums: Sums, cell: int) -> None:
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        posterior = (
            unaries.rule_prob[rule]
            * forest.outside[forest.unary_parent[place]]
            * forest.inside[forest.unary_child[place]]
        )
        sums.production[items.unary_production[rule]] += posterior
        sums.child[items.only_child[rule]] += posterior


@kernel
def _node_gains(
    forest: Forest, items: ItemTables, weights: Floats, sums: Sums, gains: Gains, cell: int
) -> None:
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
def _production_gains(
    forest: Forest,
    tables: SparseTables,
    items: ItemTables,
    weights: Floats,
    sums: Sums,
    gains: Gains,
    cell: int,
) -> None:
    scalar, production_sum, child_sum = sums.scalar, sums.production, sums.child
    production, left_child, right_child = items.production, items.left_child, items.right_child
    rule_log_prob, out = items.rule_log_prob, gains.production
    by_production, by_child, by_rule = (
        load(weights, PRODUCTION, 0),
        load(weights, CHILD, 0),
        load(weights, RULE, 0),
    )
    span = multiply_add(load(weights, SPAN, 0), spread(scalar, 3), zeros(weights))
    by_split = 0.0
    for lane in range(LANES):
        by_split = max(by_split, weights[SPLIT, lane])
    outside, rule_prob, production_parent = forest.outside, tables.rule_prob, forest.production_parent
    share, most_share = gains.share, gains.most_share
    group = forest.cell_group[cell]
    while group >= 0:
        rule = forest.group_rule[group]
        if by_split > 0:
            most = 0.0
            for place in range(forest.production_first[group], forest.production_last[group]):
                share[place] = by_split * rule_prob[rule] * outside[production_parent[place]]
                most = max(most, share[place])
                rule += 1
            most_share[group] = most
            rule = forest.group_rule[group]
        for place in range(forest.production_first[group], forest.production_last[group]):
            children = 0.0
            if left_child[rule] >= 0:
                children += child_sum[left_child[rule]]
            if right_child[rule] >= 0:
                children += child_sum[right_child[rule]]
            scalar[0] = children
            gain = multiply_add(by_production, spread(production_sum, production[rule]), span)
            gain = multiply_add(by_child, spread(scalar, 0), gain)
            store(out, place, 0, multiply_add(by_rule, spread(rule_log_prob, rule), gain))
            rule += 1
        group = forest.group_next[group]


@kernel
def _unary_gains(
    forest: Forest,
    unaries: ForestUnaries,
    items: ItemTables,
    weights: Floats,
    sums: Sums,
    gains: Gains,
    cell: int,
) -> None:
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        mass = spread(sums.production, items.unary_production[rule])
        gain = multiply_add(load(weights, PRODUCTION, 0), mass, zeros(weights))
        if items.only_child[rule] >= 0:
            gain = multiply_add(load(weights, CHILD, 0), spread(sums.child, items.only_child[rule]), gain)
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
def _clear_sums(forest: Forest, items: ItemTables, sums: Sums, cell: int) -> None:
    production_sum, child_sum = sums.production, sums.child
    production, left_child, right_child = items.production, items.left_child, items.right_child
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        sums.label[items.label[forest.node_symbol[node]]] = 0
    group = forest.cell_group[cell]
    while group >= 0:
        rule = forest.group_rule[group]
        for _ in range(forest.production_first[group], forest.production_last[group]):
            production_sum[production[rule]] = 0
            child_sum[left_child[rule]] = 0
            child_sum[right_child[rule]] = 0
            rule += 1
        group = forest.group_next[group]
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        production_sum[items.unary_production[rule]] = 0
        child_sum[items.only_child[rule]] = 0


@kernel
def lexical_gains(forest: Forest, items: ItemTables, weights: Floats, gains: Floats, n: int) -> None:
    """What preterminals earn; -inf for other nodes over a word, and for what has no posterior above zero."""
    for position in range(n):
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
def lexical_posterior_gains(
    forest: Forest, by_mass: Floats, by_log: Floats, free: Booleans, gains: Floats, n: int
) -> None:
    """The same in a forest of labels, by the posteriors in ``lexical``; 0 for symbols that are free."""
    for position in range(n):
        cell = forest_cell(position, position + 1)
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            mass = forest.lexical[node]
            for lane in range(LANES):
                if mass == 0:
                    gains[node, lane] = -np.inf
                elif free[forest.node_symbol[node]]:
                    gains[node, lane] = 0
                else:
                    gains[node, lane] = by_mass[lane] * mass
                    if by_log[lane] != 0:
                        gains[node, lane] += by_log[lane] * np.log(mass)
