"""What nodes of each cell are expected, and so what of a forest is searched first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.gains import Booleans
from mbrparse.decode.derivations.kept_forest import Selection
from mbrparse.grammar.charts.forest.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel

# What is searched first, to know what some tree earns: cells with so many constituents, nodes and edges.
LIKELY_CELL, LIKELY_NODE = 2e-1, 1e-2
MANY = 4.0  # productions of one parent that come more often may earn most by being several


class CellMasses(NamedTuple):
    """What nodes of each cell are expected."""

    nodes: Ints  # how many have a posterior above zero
    constituents: Floats  # expected number of nodes, those rewritten as the word left out
    all: Floats  # the same with them
    largest_label: Floats  # of constituents
    free: Ints  # whether it is a word that is a terminal, which earns nothing
    # Of all nodes by symbol, and by label: the largest, and what a product may have beyond it.
    node: Floats
    node_excess: Floats
    label: Floats
    label_excess: Floats


def new_masses(cells: int) -> CellMasses:
    """Room for so many cells."""
    rows = np.zeros((7, cells))
    return CellMasses(
        nodes=np.zeros(cells, np.int32),
        constituents=rows[0],
        all=rows[1],
        largest_label=rows[2],
        free=np.zeros(cells, np.int32),
        node=rows[3],
        node_excess=rows[4],
        label=rows[5],
        label_excess=rows[6],
    )


class ItemLabels(NamedTuple):
    """The labels of symbols, and scratch."""

    label: Ints  # by symbol
    terminal: Booleans  # by label: whether it is a terminal's
    mass: Floats  # by label, zero between cells


@kernel
def survey(
    forest: Forest,
    labels: ItemLabels,
    masses: CellMasses,
    core: Selection,
    least_label: float,
    n: int,
) -> None:
    """Fill ``masses`` and ``core``.

    ``least_label`` is how probable labels are whose nodes are searched first.
    """
    _measure(forest, labels, masses, n)
    for end in range(1, n + 1):
        for start in range(end):
            cell = forest_cell(start, end)
            word = end - start == 1
            core.items[cell] = word or end - start == n or masses.constituents[cell] >= LIKELY_CELL
            core.least_mass[cell] = 0
            core.least[cell] = 0 if word else LIKELY_NODE
            core.least_label[cell] = 0 if word else least_label


@kernel
def _measure(forest: Forest, labels: ItemLabels, masses: CellMasses, n: int) -> None:
    """Fill ``masses``."""
    inside, outside, lexical, node_first = forest.inside, forest.outside, forest.lexical, forest.node_first
    node_symbol, label, terminal, by_label = forest.node_symbol, labels.label, labels.terminal, labels.mass
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            first, last = node_first[cell], node_first[cell + 1]
            count, total, constituents, largest, largest_node, excess = 0, 0.0, 0.0, 0.0, 0.0, 0.0
            free = False
            for node in range(first, last):
                posterior = inside[node] * outside[node]
                if not posterior > 0:
                    continue
                count += 1
                mass = posterior - lexical[node] * outside[node]
                total += posterior
                constituents += mass
                name = label[node_symbol[node]]
                by_label[name] += mass
                largest = max(largest, by_label[name])
                free = free or (end - start == 1 and terminal[name])
                largest_node = max(largest_node, posterior)
                excess += _beyond_one(posterior)
            masses.nodes[cell], masses.constituents[cell], masses.all[cell] = count, constituents, total
            masses.largest_label[cell], masses.free[cell] = largest, free
            masses.node[cell], masses.node_excess[cell] = largest_node, excess
            largest, excess = 0.0, 0.0
            for node in range(first, last):
                by_label[label[node_symbol[node]]] += lexical[node] * outside[node]
            for node in range(first, last):
                name = label[node_symbol[node]]
                largest = max(largest, by_label[name])
                excess += _beyond_one(by_label[name])
                by_label[name] = 0
            masses.label[cell], masses.label_excess[cell] = largest, excess


@kernel
def _beyond_one(posterior: float) -> float:
    """The logarithm of what a product of productions of one parent may have, where that is above one."""
    if posterior <= 1:
        return 0.0
    most: float = np.log(posterior) if posterior <= MANY else posterior / np.e
    return most
