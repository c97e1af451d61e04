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

from typing import Any, NamedTuple

import numpy as np

from mbrparse.decode.derivations.gains import LANES, Booleans
from mbrparse.decode.derivations.pruned_forest import Selection
from mbrparse.grammar.charts.base.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.vector import add, choose_greater, load, maximum, store
from mbrparse.grammar.kernel import kernel

# What bounds a gain, rows of ``Lanes.weights``: the largest posterior of a label's constituents over a span;
# that of all constituents; that of a production with its split; the product of the posteriors of productions;
# the probability of rules, as a logarithm; and what each node earns by itself.
BY_LABEL, BY_SPAN, BY_SPLIT, BY_PRODUCT, BY_RULE, BY_NODE = range(6)
BOUNDS = 6

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


class Lanes(NamedTuple):
    """What bounds the gains of each lane's objective, and what some tree is known to earn."""

    weights: Floats  # [BOUNDS, lanes]
    magnitude: Floats  # by lane: how much a node earns, or loses, about
    lower: Floats  # by lane; infinite for lanes that are not in use
    in_use: int  # how many there are
    log_total: float  # of the sentence's probability, as the search scales it
    projected: bool  # productions with their splits are those of labels
    chains: bool  # a cell may have several nodes of a tree


class Bounds(NamedTuple):
    """By cell and lane what a tree earns at most."""

    most: Floats  # in the cell
    below: Floats
    within: Floats  # in the cell and below
    around: Floats  # outside
    cap: Floats  # in the cell above, if that lies with one production: it has no more than its children
    largest: Floats  # by cell: a posterior that no node's product or derivation exceeds


class Cells(NamedTuple):
    """What is known of a sentence's cells, and what is selected of them."""

    masses: CellMasses
    bounds: Bounds
    core: Selection  # what is searched first
    selection: Selection  # what trees may need


@kernel
def narrow(lanes: Lanes, cells: Cells, n: int, stop: Ints) -> None:
    """Select what trees may need that earn no less than ``lower``, bounds of cells being found.

    At each node a tree that is chosen may lose 1e-9 of what it earns below, or of a unit of a logarithm
    (``search_state.margin``); the slack is more.
    """
    lower = lanes.lower
    for lane in range(LANES):
        if lane >= lanes.in_use:
            lower[lane] = np.inf
        elif lower[lane] > -np.inf:  # else no tree is known
            lower[lane] -= 1e-7 * n * (n * lanes.magnitude[lane] + abs(lower[lane]))
    _bound_around(cells.bounds, n, stop)
    _select(lanes, cells, n, stop)


@kernel
def bound_cells(lanes: Lanes, cells: Cells, edge_most: Floats, n: int) -> None:
    """Fill ``largest``, ``cap`` and ``most``, but for what is known of the core in lanes that weigh items.

    Of the edges in the core comes by cell the largest posterior.
    """
    masses, bounds, core = cells.masses, cells.bounds, cells.core.items
    weights, chains, most, largest = lanes.weights, lanes.chains, bounds.most, bounds.largest
    node = masses.label if lanes.projected else masses.node
    excess = masses.label_excess if lanes.projected else masses.node_excess
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
            known = not lanes.projected and core[cell] != 0
            for lane in range(LANES):
                bounds.cap[cell, lane] = np.inf
                if weights[BY_SPLIT, lane] > 0 and not chains and _weighs_only(weights, lane, BY_SPLIT):
                    bounds.cap[cell, lane] = weights[BY_SPLIT, lane] * node[cell]
                if known and weights[BY_RULE, lane] == 0 and weights[BY_PRODUCT, lane] == 0:
                    if weights[BY_SPLIT, lane] > 0 and not chains:
                        most[cell, lane] = min(most[cell, lane], weights[BY_SPLIT, lane] * largest[cell])
                    continue
                earned = weights[BY_LABEL, lane] * mass + weights[BY_SPAN, lane] * masses.constituents[cell]
                earned += weights[BY_SPLIT, lane] * (masses.all[cell] if chains else largest[cell])
                constant = weights[BY_NODE, lane]
                if chains and constant > 0:
                    earned += constant * masses.nodes[cell]
                elif end - start > 1:
                    earned += constant
                if weights[BY_PRODUCT, lane] > 0:
                    earned += weights[BY_PRODUCT, lane] * product
                most[cell, lane] = earned


@kernel
def _minimum(first: Any, second: Any) -> Any:
    """The smaller of two vectors, lane by lane."""
    return choose_greater(first, second, second, first)


@kernel
def _weighs_only(weights: Floats, lane: int, item: int) -> bool:
    """Whether a lane weighs this and nothing else."""
    weighed = 0
    for other in range(len(weights)):
        weighed += weights[other, lane] != 0
    return weighed == 1 and weights[item, lane] != 0


@kernel
def bound_below(bounds: Bounds, n: int, stop: Ints) -> None:
    """Fill ``below`` and ``within``."""
    for end in range(1, n + 1):
        if stop[0]:
            return
        for start in range(end - 1, -1, -1):
            bound_cell(bounds, start, end)


@kernel
def bound_cell(bounds: Bounds, start: int, end: int) -> None:
    """Fill ``below`` and ``within`` for a cell, all lanes at once."""
    most, below, within, cap = bounds.most, bounds.below, bounds.within, bounds.cap
    cell = forest_cell(start, end)
    single = end - start == 1
    for lane in range(LANES):
        below[cell, lane] = 0 if single else -np.inf
        within[cell, lane] = most[cell, lane] if single else -np.inf
    highest, best, here = load(below, cell, 0), load(within, cell, 0), load(most, cell, 0)
    for split in range(start + 1, end):
        left, right = forest_cell(start, split), forest_cell(split, end)
        both = add(load(within, left, 0), load(within, right, 0))
        highest = maximum(highest, both)
        earned = _minimum(here, _minimum(load(cap, left, 0), load(cap, right, 0)))
        best = maximum(best, add(both, earned))
    store(below, cell, 0, highest)
    store(within, cell, 0, best)


@kernel
def _bound_around(bounds: Bounds, n: int, stop: Ints) -> None:
    """Fill ``around``, all lanes at once."""
    most, within, around, cap = bounds.most, bounds.within, bounds.around, bounds.cap
    cells = n * (n + 1) // 2
    for cell in range(cells):
        for lane in range(LANES):
            around[cell, lane] = 0 if cell == cells - 1 else -np.inf
    for end in range(n, 0, -1):
        if stop[0]:
            return
        for start in range(end):
            cell = forest_cell(start, end)
            above, here = load(around, cell, 0), load(most, cell, 0)
            for split in range(start + 1, end):
                left, right = forest_cell(start, split), forest_cell(split, end)
                earned = _minimum(here, _minimum(load(cap, left, 0), load(cap, right, 0)))
                passed = add(above, earned)
                to_left = add(passed, load(within, right, 0))
                store(around, left, 0, maximum(load(around, left, 0), to_left))
                to_right = add(passed, load(within, left, 0))
                store(around, right, 0, maximum(load(around, right, 0), to_right))


@kernel
def _select(lanes: Lanes, cells: Cells, n: int, stop: Ints) -> None:
    """Select what trees may need that earn no less than ``lower``, and all that words stand for."""
    masses, bounds, selection = cells.masses, cells.bounds, cells.selection
    below, within, around = bounds.below, bounds.within, bounds.around
    weights, projected, chains = lanes.weights, lanes.projected, lanes.chains
    least = selection.least_label if projected else selection.least
    excess = masses.label_excess if projected else masses.node_excess
    for end in range(1, n + 1):
        if stop[0]:
            return
        for start in range(end):
            cell = forest_cell(start, end)
            word = end - start == 1
            selection.items[cell] = word
            selection.least_mass[cell] = selection.least[cell] = 0 if word else np.inf
            selection.least_label[cell] = selection.least[cell]
            if masses.nodes[cell] == 0:
                continue
            log_largest = np.log(bounds.largest[cell]) + lanes.log_total
            for lane in range(LANES):
                # All around: the two parts, and the rest of the sentence.
                rest, lower = below[cell, lane] + around[cell, lane], lanes.lower[lane]
                if lower == np.inf or rest == -np.inf:
                    continue
                by_log, by_split = weights[BY_PRODUCT, lane], weights[BY_SPLIT, lane]
                by_rule = weights[BY_RULE, lane] if by_log == 0 else 0.0
                through = within[cell, lane] + around[cell, lane]
                if through + (by_rule * log_largest if by_rule > 0 else 0.0) < lower:
                    continue
                wanted = lower - rest
                if by_log > 0:
                    least[cell] = min(least[cell], np.exp(wanted / by_log - excess[cell]), MANY)
                elif by_split > 0 and projected and chains:
                    least[cell] = 0
                elif by_split > 0 and not chains and bounds.cap[cell, lane] < np.inf:
                    least[cell] = min(least[cell], _least_earned(bounds, start, end, lane, lower) / by_split)
                elif by_split > 0 and not chains:
                    least[cell] = min(least[cell], wanted / by_split)
                elif by_rule > 0 and _weighs_only(weights, lane, BY_RULE):
                    least[cell] = min(least[cell], np.exp(wanted / by_rule - lanes.log_total))
                else:
                    mass = 0.0
                    by_mass = weights[BY_LABEL, lane]
                    if by_mass > 0 and by_split == 0 and by_rule == 0 and not chains:
                        by_span = weights[BY_SPAN, lane] * masses.constituents[cell]
                        mass = (wanted - by_span - max(weights[BY_NODE, lane], 0.0)) / by_mass
                    selection.items[cell] = 1
                    selection.least_mass[cell] = min(selection.least_mass[cell], max(mass, 0.0))


@kernel
def _least_earned(bounds: Bounds, start: int, end: int, lane: int, lower: float) -> float:
    """What a cell's production earns at least in a tree that earns ``lower``, in a lane with ``cap``."""
    within, cap = bounds.within, bounds.cap
    cell = forest_cell(start, end)
    least = lower - bounds.around[cell, lane] if end == start + 1 else np.inf
    for split in range(start + 1, end):
        left, right = forest_cell(start, split), forest_cell(split, end)
        wanted = lower - bounds.around[cell, lane] - within[left, lane] - within[right, lane]
        if min(cap[left, lane], cap[right, lane]) >= wanted:
            least = min(least, wanted)
    return least
