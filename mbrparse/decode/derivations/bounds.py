"""What trees through a cell earn at most, and so what a search may leave out.

A tree's gains are bounded cell by cell: ``most`` is what any tree earns in a cell, and the best bracketing of
the sentence, of whatever cells, is found by a chart without symbols. A node or an edge is left out where the
best bracketing through its cell, and the most that it may earn there, stay below what some tree is known to
earn; less a slack, so that all trees that count as equally good keep all of their nodes. What bounds gains
are posteriors:

- A node's items are expected no more often than the node, and those of one label no more than the label.
- A derivation is no more probable than any of its nodes, and than any of its edges.
- The posteriors of productions that come in one cell and have one parent sum up to no more than the
  parent's, and so their product is no larger than it, while that is one at most (``_beyond_one``).
- An edge that is not among the likely ones has no more than they all have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.cell_masses import LIKELY_NODE, MANY, CellMasses, new_masses
from mbrparse.decode.derivations.gains import (
    CHILD,
    CONSTANT,
    LABELLED,
    LANES,
    LOG_NODE,
    PRODUCTION,
    RULE,
    SPAN,
    SPLIT,
)
from mbrparse.decode.derivations.kept_forest import Selection
from mbrparse.grammar.charts.forest.packed_forest import forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.vector import add, load, maximum, store
from mbrparse.grammar.kernel import kernel


class Earnings(NamedTuple):
    """What each lane's objective earns, and what some tree is known to earn."""

    weights: Floats  # [WEIGHTS, lanes]
    lower: Floats  # by lane; infinite for lanes that are not in use
    lanes: int  # how many are in use
    log_total: float  # of the sentence's probability, as the search scales it
    projected: bool  # productions with their splits are those of labels
    chains: bool  # a cell may have several nodes of a tree
    adds_up: bool  # what a tree earns in a cell of the core is known, in lanes that weigh items


class Bounds(NamedTuple):
    """By cell and lane what a tree earns at most."""

    most: Floats  # in the cell
    within: Floats  # in the cell and below
    around: Floats  # outside
    largest: Floats  # by cell: a posterior that no node's product or derivation exceeds


class Cells(NamedTuple):
    """What is known of a sentence's cells, and what is selected of them."""

    masses: CellMasses
    bounds: Bounds
    core: Selection  # what is searched first
    selection: Selection  # what trees may need


def new_cells(count: int) -> Cells:
    """Room for so many cells."""
    most, within, around = np.zeros((3, count, LANES))
    core, selection = (Selection(np.zeros(count, np.int32), *np.zeros((2, count))) for _ in range(2))
    return Cells(new_masses(count), Bounds(most, within, around, np.zeros(count)), core, selection)


@kernel
def narrow(earnings: Earnings, cells: Cells, edge_most: Floats, n: int, stop: Ints) -> None:
    """Add to a selection what trees may need that earn no less than ``lower``.

    At each node a tree that is chosen may lose 1e-9 of what it earns below (ties); the slack is more. Of the
    edges in the core comes by cell the largest posterior.
    """
    lower = earnings.lower
    for lane in range(LANES):
        if lane >= earnings.lanes:
            lower[lane] = np.inf
        elif lower[lane] > -np.inf:  # else no tree is known
            lower[lane] -= 1e-7 * n * (n + abs(lower[lane]))
    _bound_cells(earnings, cells, edge_most, n)
    _bound_trees(cells.bounds, n, stop)
    _select(earnings, cells, n)


@kernel
def _bound_cells(earnings: Earnings, cells: Cells, edge_most: Floats, n: int) -> None:
    """Fill ``largest`` and ``most``, but for what is known of the core in lanes that weigh items."""
    masses, bounds, core = cells.masses, cells.bounds, cells.core.items
    weights, chains, most, largest = earnings.weights, earnings.chains, bounds.most, bounds.largest
    node = masses.label if earnings.projected else masses.node
    excess = masses.label_excess if earnings.projected else masses.node_excess
    for end in range(1, n + 1):
        for start in range(end):
            cell = forest_cell(start, end)
            if masses.nodes[cell] == 0:
                for lane in range(LANES):
                    most[cell, lane] = -np.inf
                continue
            largest[cell] = node[cell]
            if end - start > 1:
                largest[cell] = min(node[cell], max(edge_most[cell], LIKELY_NODE))
            product = np.log(largest[cell])
            if masses.free[cell]:
                product = max(0.0, product)
            product += excess[cell]
            mass = masses.constituents[cell] if chains else masses.largest_label[cell]
            known = earnings.adds_up and core[cell] != 0
            for lane in range(LANES):
                if known and weights[RULE, lane] == 0 and weights[LOG_NODE, lane] == 0:
                    if weights[SPLIT, lane] > 0 and not chains:
                        most[cell, lane] = min(most[cell, lane], weights[SPLIT, lane] * largest[cell])
                    continue
                weight = weights[LABELLED, lane] + 2 * weights[CHILD, lane] + weights[PRODUCTION, lane]
                earned = weight * mass + weights[SPAN, lane] * masses.constituents[cell]
                earned += weights[SPLIT, lane] * (masses.all[cell] if chains else largest[cell])
                constant = weights[CONSTANT, lane]
                if chains and constant > 0:
                    earned += constant * masses.nodes[cell]
                elif end - start > 1:
                    earned += constant
                if weights[LOG_NODE, lane] > 0:
                    earned += weights[LOG_NODE, lane] * product
                most[cell, lane] = earned


@kernel
def _bound_trees(bounds: Bounds, n: int, stop: Ints) -> None:
    """Fill ``within`` and ``around``, all lanes at once."""
    most, within, around = bounds.most, bounds.within, bounds.around
    cells = n * (n + 1) // 2
    for end in range(1, n + 1):
        if stop[0]:
            return
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            for lane in range(LANES):
                within[cell, lane] = 0 if end - start == 1 else -np.inf
                around[cell, lane] = -np.inf
            best = load(within, cell, 0)
            for split in range(start + 1, end):
                both = add(
                    load(within, forest_cell(start, split), 0), load(within, forest_cell(split, end), 0)
                )
                best = maximum(best, both)
            store(within, cell, 0, add(best, load(most, cell, 0)))
    for lane in range(LANES):
        around[cells - 1, lane] = 0
    for end in range(n, 0, -1):
        if stop[0]:
            return
        for start in range(end):
            cell = forest_cell(start, end)
            here = add(load(around, cell, 0), load(most, cell, 0))
            for split in range(start + 1, end):
                left, right = forest_cell(start, split), forest_cell(split, end)
                passed = add(here, load(within, right, 0))
                store(around, left, 0, maximum(load(around, left, 0), passed))
                passed = add(here, load(within, left, 0))
                store(around, right, 0, maximum(load(around, right, 0), passed))


@kernel
def _select(earnings: Earnings, cells: Cells, n: int) -> None:
    """Add to the selection what trees may need that earn no less than ``lower``."""
    masses, bounds, selection = cells.masses, cells.bounds, cells.selection
    most, within, around, largest = bounds.most, bounds.within, bounds.around, bounds.largest
    weights, projected, chains = earnings.weights, earnings.projected, earnings.chains
    least = selection.least_label if projected else selection.least
    excess = masses.label_excess if projected else masses.node_excess
    for cell in range(n * (n + 1) // 2):
        if masses.nodes[cell] == 0:
            continue
        log_largest = np.log(largest[cell]) + earnings.log_total
        for lane in range(LANES):
            if earnings.lower[lane] == np.inf:
                continue
            # All around: the two parts, and the rest of the sentence.
            rest = within[cell, lane] - most[cell, lane] + around[cell, lane]
            if rest == -np.inf:
                continue
            wanted = earnings.lower[lane] - rest
            by_log, by_split = weights[LOG_NODE, lane], weights[SPLIT, lane]
            by_rule = weights[RULE, lane] if by_log == 0 else 0.0
            if most[cell, lane] + (by_rule * log_largest if by_rule > 0 else 0.0) < wanted:
                continue
            if by_log > 0:
                least[cell] = min(least[cell], np.exp(wanted / by_log - excess[cell]), MANY)
            elif by_split > 0 and projected:
                least[cell] = 0 if chains else min(least[cell], wanted / by_split)
            elif by_split > 0 and not chains:
                least[cell] = min(least[cell], wanted / by_split)
            elif by_rule > 0 and most[cell, lane] == 0:
                least[cell] = min(least[cell], np.exp(wanted / by_rule - earnings.log_total))
            else:
                selection.items[cell] = 1


def can_be_bounded(weights: Floats) -> bool:
    """Whether the bounds hold: what counts against a tree has none, but for a constant."""
    return bool((np.delete(weights, CONSTANT, axis=0) >= 0).all())
