"""How probable a constituent is together with the size of its tree: P((i, X, j) in G and |G| = m).

G is the true n-ary tree, |G| the number of its constituents: continuations and preterminals are none. Let
every rule whose parent is a constituent be weighted by z. Then inside * outside of a node is the generating
function of what is sought, sum over m of P(node, |G| = m) z^m. Without unary rules |G| is below the length n,
so n roots of unity tell all of it, and of conjugate ones one is enough. On the unit circle no value is
larger than for z = 1: what is added up rounds as the charts do, about 1e-15.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.chart import Chart
from mbrparse.grammar.charts.forest.packed_forest import ONE, Forest, Index, forest_cell
from mbrparse.grammar.charts.forest_charts import ForestCharts
from mbrparse.grammar.charts.rule_tables import Ints, SparseTables
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray

Complex = npt.NDArray[np.complex128]
Flags = npt.NDArray[np.bool_]


class SizePosteriors(NamedTuple):
    """Labelled spans in the order of start, end, label id, and [span, m]: its probability with |G| = m."""

    starts: Ints
    ends: Ints
    label_ids: Ints
    g: FloatArray


def size_posteriors(chart: Chart, charts: ForestCharts, counted: Flags) -> SizePosteriors:
    """Those of a sentence of two terminals or more, by a grammar without unary rules.

    ``counted`` says which symbols are constituents. Raises ChartOverflowError if memory does not suffice,
    TimeLimitError where the clock's time is up.
    """
    forest, tables, n = chart.forest(), charts.forests.tables, chart.length
    nodes = int(forest.node_first[n * (n + 1) // 2])
    cells = np.repeat(np.arange(n * (n + 1) // 2), np.diff(forest.node_first[: n * (n + 1) // 2 + 1]))
    starts, ends = forest.node_start[:nodes], np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))[cells]
    symbols = forest.node_symbol[:nodes]
    chosen = (forest.outside[:nodes] > 0) & counted[symbols] & (ends - starts > 1)
    rows = np.column_stack([starts, ends, charts.label[symbols]])[chosen]
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    values = np.zeros((n // 2 + 1, len(distinct)), np.complex128)
    inside, outside = np.zeros((2, nodes), np.complex128)
    group = np.zeros(len(forest.group_start), np.complex128)
    for power in range(n // 2 + 1):
        root = np.exp(-2j * np.pi * power / n)
        charts.clock.check()
        _pass(forest, tables, counted, n, root, inside, outside, group)
        mass = (inside * outside)[chosen]
        for part, weights in ((values.real, mass.real), (values.imag, mass.imag)):
            part[power] = np.bincount(number.reshape(-1), weights, len(distinct))
    g = np.fft.irfft(values, n, axis=0).T
    columns = distinct.astype(np.int32)
    return SizePosteriors(columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy(), g)


@kernel
def _pass(
    forest: Forest,
    tables: SparseTables,
    counted: Flags,
    n: int,
    z: complex,
    inside: Complex,
    outside: Complex,
    group: Complex,
) -> None:
    """Inside and outside values of all nodes that have a posterior, for one z."""
    _way_up(forest, tables, counted, n, z, inside, group)
    _way_down(forest, tables, counted, n, z, inside, outside, group)


@kernel
def _way_up(
    forest: Forest, tables: SparseTables, counted: Flags, n: int, z: complex, inside: Complex, group: Complex
) -> None:
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
def _way_down(
    forest: Forest,
    tables: SparseTables,
    counted: Flags,
    n: int,
    z: complex,
    inside: Complex,
    outside: Complex,
    group: Complex,
) -> None:
    """``group`` has what comes down to a group's edges."""
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
