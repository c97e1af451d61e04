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
LABELLED, SPAN, CHILD, PRODUCTION, RULE, CONSTANT = range(6)


class Gains(NamedTuple):
    """Rows by node, production and unary of a forest; see ``chains`` for those of chains."""

    node: Floats
    production: Floats
    unary: Floats  # its items
    unary_rule: Floats  # its rule, which each use earns
    foot: Floats  # by start of a cell of width one: what a chain over its preterminal earns once


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
    """Fill ``gains``; ``weights`` [6, lanes].

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
        _production_gains(forest, items, weights, sums, gains, cell)
        _unary_gains(forest, items, weights, sums, gains, cell)
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
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        mass = spread(sums.label, items.label[forest.node_symbol[node]])
        store(gains.node, node, 0, multiply_add(load(weights, LABELLED, 0), mass, load(weights, CONSTANT, 0)))


@kernel
def _production_gains(
    forest: Forest,
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
    group = forest.cell_group[cell]
    while group >= 0:
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
    forest: Forest, items: ItemTables, weights: Floats, sums: Sums, gains: Gains, cell: int
) -> None:
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        mass = spread(sums.production, items.unary_production[rule])
        gain = multiply_add(load(weights, PRODUCTION, 0), mass, zeros(weights))
        if items.only_child[rule] >= 0:
            gain = multiply_add(load(weights, CHILD, 0), spread(sums.child, items.only_child[rule]), gain)
        store(gains.unary, place, 0, gain)
        use = multiply_add(load(weights, RULE, 0), spread(items.unary_log_prob, rule), zeros(weights))
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
def lexical_gains(
    forest: Forest, by_mass: Floats, by_log: Floats, free: Booleans, gains: Floats, n: int
) -> None:
    """What preterminals earn: by what stands in ``forest.lexical`` and by its logarithm.

    -inf for other nodes over a word; nothing for symbols that are ``free`` (by symbol).
    """
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
