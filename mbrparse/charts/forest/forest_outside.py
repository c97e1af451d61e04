"""The way down in forests: outside values, and the posteriors of labelled spans that they give."""

from __future__ import annotations

import numpy as np

from mbrparse.charts.base.closure import UnaryTables
from mbrparse.charts.base.packed_forest import (
    ONE,
    Columns,
    Forest,
    ForestState,
    Index,
    Partners,
    forest_cell,
)
from mbrparse.charts.base.rule_tables import Ints
from mbrparse.charts.base.span_summary import SpanEntries, SpanSummary
from mbrparse.charts.kernel import kernel


@kernel
def forest_outside(state: ForestState, n: int) -> float:
    """Fill ``forest.outside`` from the root down; returns the scaled probability of the sentence.

    0 where there is no parse.
    """
    tables, forest, partners, weight = state.tables, state.forest, state.partners, state.weight
    inside, outside = forest.inside, forest.outside
    node_first, edge_first, edge_group = forest.node_first, forest.edge_first, forest.edge_group
    left_first, partner_value, partner_passed = forest.left_first, partners.value, partners.passed
    cell_production, production_parent = forest.cell_production, forest.production_parent
    production_rule, production_group = forest.production_rule, forest.production_group
    rule_prob = tables.rule_prob
    root = forest_cell(0, n)
    weight[: state.columns.counts[2]] = 0
    outside[: node_first[root + 1]] = 0
    partner_passed[: partners.first[state.columns.counts[1]]] = 0
    total = 0.0
    for node in range(node_first[root], node_first[root + 1]):
        total += tables.root[forest.node_symbol[node]] * inside[node]
    if not total > 0:
        return 0.0
    for node in range(node_first[root], node_first[root + 1]):
        outside[node] = tables.root[forest.node_symbol[node]] / total
    for end in range(n, 0, -1):
        if end < n:
            _pass_to_left(forest, partners, end)
        for start in range(end):
            cell = forest_cell(start, end)
            for right in range(node_first[cell], node_first[cell + 1]):
                value = inside[right]
                received = outside[right]
                partner = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                    passed = weight[Index(edge_group[edge])]
                    partner_passed[partner] += passed * value
                    received += passed * partner_value[partner]
                    partner = Index(partner + ONE)
                outside[right] = received
            if forest.unary_first[cell + 1] > forest.unary_first[cell]:
                _close_outside(state.unary, forest, state.columns, cell)
            for place in range(Index(cell_production[cell]), Index(cell_production[cell + 1])):
                passed = rule_prob[Index(production_rule[place])] * outside[Index(production_parent[place])]
                weight[Index(production_group[place])] += passed
    return total


@kernel
def _pass_to_left(forest: Forest, partners: Partners, position: int) -> None:
    """Give to the nodes that end at a position what their right partners have for them."""
    outside, left_node, passed = forest.outside, forest.left_node, partners.passed
    first, older = partners.first, partners.older
    chosen = partners.head[position]
    while chosen >= 0:
        for partner in range(Index(first[chosen]), Index(first[chosen + 1])):
            outside[Index(left_node[partner])] += passed[partner]
        chosen = older[chosen]


@kernel
def _close_outside(unary: UnaryTables, forest: Forest, columns: Columns, cell: int) -> None:
    """Pass on to a cell's nodes what comes from above through unary rules."""
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    node_symbol, outside, slot, base = forest.node_symbol, forest.outside, columns.node_slot, columns.base
    start, top, share = unary.closure_start, unary.closure_top, unary.closure_value
    for node in range(first, last):
        slot[node_symbol[node]] = node
        base[node - first] = outside[node]
    for node in range(first, last):
        symbol = node_symbol[node]
        received = 0.0
        for place in range(start[symbol], start[symbol + 1]):
            received += share[place] * base[slot[top[place]] - first]
        outside[node] = received
    for node in range(first, last):
        slot[node_symbol[node]] = -1


@kernel
def summarize_forest(
    forest: Forest, label: Ints, n_labels: int, n: int, tolerance: float, summary: SpanSummary
) -> None:
    mass = np.zeros(n_labels)
    inside, outside, node_symbol = forest.inside, forest.outside, forest.node_symbol
    lexical, node_first = forest.lexical, forest.node_first
    best_label, best, totals = summary
    for start in range(n):
        for end in range(start + 1, n + 1):
            place = start * n - start * (start - 1) // 2 + end - start - 1
            cell = forest_cell(start, end)
            nodes = range(node_first[cell], node_first[cell + 1])
            values = lexical if end - start == 1 else inside
            largest, total = 0.0, 0.0
            for node in nodes:
                value = values[node] * outside[node]
                mass[label[node_symbol[node]]] += value
                total += value
            for node in nodes:
                largest = max(largest, mass[label[node_symbol[node]]])
            totals[place] = total
            for node in nodes:
                name = label[node_symbol[node]]
                # The first label within tolerance of the largest.
                if mass[name] > 0 and mass[name] >= largest * (1 - tolerance):
                    if best_label[place] < 0 or name < best_label[place]:
                        best_label[place], best[place] = name, mass[name]
            for node in nodes:
                mass[label[node_symbol[node]]] = 0


@kernel
def list_forest_entries(forest: Forest, label: Ints, n_labels: int, n: int, room: SpanEntries) -> int:
    """Enter them into arrays with room for one of each node; returns how many there are."""
    starts, ends, label_ids, g, lexical = room
    inside, outside, node_symbol = forest.inside, forest.outside, forest.node_symbol
    lexical_part, node_first = forest.lexical, forest.node_first
    mass, own = np.zeros(n_labels), np.zeros(n_labels)
    seen = np.zeros(n_labels, np.bool_)
    names = np.empty(n_labels, np.int32)
    place = 0
    for start in range(n):
        for end in range(start + 1, n + 1):
            cell, found = forest_cell(start, end), 0
            for node in range(node_first[cell], node_first[cell + 1]):
                value, name = inside[node] * outside[node], label[node_symbol[node]]
                if value > 0 and not seen[name]:
                    seen[name] = True
                    names[found] = name
                    found += 1
                mass[name] += value
                if end - start == 1:
                    own[name] += lexical_part[node] * outside[node]
            for name in np.sort(names[:found]):
                starts[place], ends[place], label_ids[place] = start, end, name
                g[place] = mass[name]
                lexical[place] = min(own[name], mass[name])
                place += 1
                mass[name], own[name] = 0, 0
                seen[name] = False
    return place
