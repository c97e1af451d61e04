"""Kernels of exact F: inside and outside values that count constituents, and the best trees of a size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mbrparse.charts.forest.forest import ONE, Forest, Index, forest_cell
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import SparseTables

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray


Complex = npt.NDArray[np.complex128]
Flags = npt.NDArray[np.bool_]


@kernel
def counting_inside(
    forest: Forest, tables: SparseTables, counted: Flags, n: int, z: complex, inside: Complex, group: Complex
) -> None:
    """Inside values of all nodes that have a posterior, where each counted constituent weighs ``z``."""
    node_first, left_node, rule_prob = forest.node_first, forest.left_node, tables.rule_prob
    edge_first, edge_group, known = forest.edge_first, forest.edge_group, forest.outside
    group[:] = 0
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            first, last = node_first[cell], node_first[cell + 1]
            for node in range(first, last):
                inside[node] = forest.lexical[node] if end - start == 1 else 0.0
            for production in range(forest.cell_production[cell], forest.cell_production[cell + 1]):
                passed = (
                    rule_prob[forest.production_rule[production]] * group[forest.production_group[production]]
                )
                inside[forest.production_parent[production]] += passed
            for right in range(first, last):
                if end - start > 1 and counted[forest.node_symbol[right]]:
                    inside[right] *= z
                if known[right] > 0:
                    value = inside[right]
                    place = Index(forest.left_first[right])
                    for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                        group[Index(edge_group[edge])] += value * inside[Index(left_node[place])]
                        place = Index(place + ONE)


@kernel
def counting_outside(
    forest: Forest,
    tables: SparseTables,
    counted: Flags,
    n: int,
    z: complex,
    inside: Complex,
    outside: Complex,
    group: Complex,
) -> None:
    """Their outside values; ``group`` gets what comes down to a group's edges."""
    node_first, left_node, rule_prob = forest.node_first, forest.left_node, tables.rule_prob
    edge_first, edge_group, known = forest.edge_first, forest.edge_group, forest.outside
    group[:] = 0
    root = forest_cell(0, n)
    outside[: node_first[root]] = 0
    for node in range(node_first[root], node_first[root + 1]):
        outside[node] = known[node]
    for end in range(n, 0, -1):
        for start in range(end):
            cell = forest_cell(start, end)
            for right in range(node_first[cell], node_first[cell + 1]):
                if known[right] > 0:
                    value, received = inside[right], outside[right]
                    place = Index(forest.left_first[right])
                    for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                        passed = group[Index(edge_group[edge])]
                        left = Index(left_node[place])
                        outside[left] += passed * value
                        received += passed * inside[left]
                        place = Index(place + ONE)
                    outside[right] = received
            for production in range(forest.cell_production[cell], forest.cell_production[cell + 1]):
                parent = forest.production_parent[production]
                passed = rule_prob[forest.production_rule[production]] * outside[parent]
                # Above one terminal there is no production.
                group[forest.production_group[production]] += (
                    passed * z if counted[forest.node_symbol[parent]] else passed
                )


@kernel
def fill_best(gains: FloatArray, most: int, best: FloatArray) -> None:
    """Fill best[start, end, c], the most that c constituents gain over a span, itself perhaps among them.

    There are up to ``most`` constituents; one of the whole sentence's is the root. ``gains`` are by cell.
    """
    length = len(best)
    below = np.zeros(length)
    for start in range(length - 1, -1, -1):
        row = start * length - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, length + 1):
            width = end - start
            below[:width] = -np.inf
            for split in range(start + 1, end):
                for left in range(min(split - start - 1, most) + 1):
                    value = best[start, split, left]
                    for right in range(min(end - split - 1, most - left) + 1):
                        total = value + best[split, end, right]
                        below[left + right] = max(below[left + right], total)
            own = gains[row + end]
            best[start, end, 0] = below[0]
            for count in range(1, min(width - 1, most) + 1):
                reached = own + below[count - 1]
                best[start, end, count] = reached if width == length else max(reached, below[count])


@kernel
def best_parts(best: FloatArray, start: int, end: int, count: int, tie: float) -> tuple[int, int, float]:
    """Where ``count`` constituents gain most on two parts of a span: split, count on the left, sum."""
    best_split, best_left, most = 0, 0, -np.inf
    for split in range(start + 1, end):
        for left in range(max(0, count - (end - split - 1)), min(split - start - 1, count) + 1):
            total = best[start, split, left] + best[split, end, count - left]
            if not best_split or total > most + tie * abs(most):
                best_split, best_left, most = split, left, total
    return best_split, best_left, most
