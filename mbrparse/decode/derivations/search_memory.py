"""Memory for searches of forests: it grows to the largest sentence, and serves one after the other."""

from __future__ import annotations

import numpy as np

from mbrparse.decode.derivations.best_trees import BestValues
from mbrparse.decode.derivations.bounds import Bounds, CellMasses, Cells
from mbrparse.decode.derivations.gains import LANES, NO_ITEM, Gains, ItemForest, ItemSums, ItemTables
from mbrparse.decode.derivations.pruned_forest import (
    ProjectionScratch,
    PrunedForest,
    PruningScratch,
    Selection,
    project_forest,
    prune,
)
from mbrparse.decode.derivations.unary_chains import ChainScratch
from mbrparse.grammar.charts.base.packed_forest import (
    EDGES,
    GROUPS,
    NODES,
    PRODUCTIONS,
    UNARIES,
    Forest,
    empty_forest,
    new_floats,
    new_ints,
)
from mbrparse.grammar.charts.base.rule_tables import Floats, Indices, Ints
from mbrparse.grammar.charts.forest.forests import MAX_SIZE, Forests
from mbrparse.grammar.unary_cycles import components
from mbrparse.io.errors import ChartOverflowError

NO_NUMBERS: Floats = np.zeros(0)
# Room for so many at first.
_FIRST_SIZE = {
    NODES: 1 << 11,
    GROUPS: 1 << 12,
    EDGES: 1 << 14,
    PRODUCTIONS: 1 << 13,
    UNARIES: 1 << 12,
}


class PrunedForests:
    """Prunes one forest after the other, in the same memory."""

    def __init__(self, forests: Forests, label: Ints, n_labels: int) -> None:
        self._forests, self._label, self._n_labels = forests, label, n_labels
        self._size = dict(_FIRST_SIZE)
        self._source = (0, 0, 0)
        self._room: tuple[PrunedForest, PruningScratch] | None = None

    def prune(self, selection: Selection, length: int) -> PrunedForest:
        """What is selected of the forest that was filled last; it lives until the next call.

        Raises ChartOverflowError where it is too much, and TimeLimitError.
        """
        forests = self._forests
        while True:
            forest = forests.forest
            known = forests.weight, forests.tables.rule_prob, self._label, forests.groups
            try:
                pruned, scratch = self._fitting(
                    len(forest.node_first), len(forest.node_start), len(forest.group_sum)
                )
                full = int(prune(forest, known, selection, pruned, scratch, length, forests.clock.stop))
            except MemoryError:  # so much is not asked for again
                self._size, self._source = dict(_FIRST_SIZE), (0, 0, 0)
                self._room = None
                raise
            if full < 0:
                return pruned
            forests.clock.check()
            if self._size[full] >= MAX_SIZE[full]:
                raise ChartOverflowError("a forest too large for memory")
            self._size[full] *= 2
            self._room = None

    def _fitting(self, *source: int) -> tuple[PrunedForest, PruningScratch]:
        """Room for what is left of a forest of so many cells, nodes and groups."""
        if self._room is None or any(one > room for one, room in zip(source, self._source, strict=True)):
            self._room = None  # the old one makes way first
            cells, nodes, groups = self._source
            self._source = max(source[0], cells), max(source[1], nodes), max(source[2], groups)
            self._room = self._allocated()
        return self._room

    def _allocated(self) -> tuple[PrunedForest, PruningScratch]:
        size = self._size
        nodes, edges = size[NODES], size[EDGES]
        unaries = size[UNARIES] if len(self._forests.unaries.rule_parent) else 0
        cells, source_nodes, source_groups = self._source
        pruned = PrunedForest(
            empty_forest(cells, nodes, size[GROUPS], edges, edges, size[PRODUCTIONS], unaries),
            new_floats(edges),
            new_floats(size[GROUPS]),
            new_floats(cells),
            *(NO_NUMBERS,) * 3,
        )
        scratch = PruningScratch(
            new_ints(source_nodes),
            new_ints(source_groups),
            new_ints(nodes),
            new_floats(self._n_labels),
            new_floats(size[GROUPS]),
        )
        return pruned, scratch


class ProjectedForests:
    """Projects one forest after the other to labels, in the same memory."""

    def __init__(self, forests: Forests, items: ItemTables) -> None:
        self._forests = forests
        self._items = items
        self._edges = 1 << 14
        self._room: tuple[Forest, PrunedForest, ProjectionScratch] | None = None

    def project(self, forest: Forest, length: int) -> PrunedForest:
        """The forest of labels of a forest; it lives until the next one.

        Raises ChartOverflowError where memory does not suffice, and TimeLimitError.
        """
        forests = self._forests
        source = ItemForest(forest, forests.tables, forests.unaries, self._items)
        if self._room is None or self._room[0] is not source.forest:
            self._room = self._allocate(source.forest, self._edges)
        while not project_forest(source, *self._room[1:], length, forests.clock.stop):
            forests.clock.check()
            if self._edges >= MAX_SIZE[EDGES]:
                raise ChartOverflowError("a forest of labels too large for memory")
            self._room = self._allocate(source.forest, 2 * self._edges)
            self._edges *= 2
        return self._room[1]

    def _allocate(self, forest: Forest, edges: int) -> tuple[Forest, PrunedForest, ProjectionScratch]:
        nodes, productions, unaries = (
            len(forest.node_start),
            len(forest.production_parent),
            len(forest.unary_rule),
        )
        labels = PrunedForest(
            empty_forest(len(forest.node_first), nodes, productions, edges, edges, productions, unaries),
            NO_NUMBERS,
            NO_NUMBERS,
            new_floats(len(forest.node_first)),
            new_floats(edges),
            new_floats(edges),
            new_floats(unaries),
        )
        scratch = ProjectionScratch(
            np.full(self._items.n_labels, -1, np.int32),
            np.full(self._items.n_productions, -1, np.int32),
            new_ints(nodes),
            new_ints(productions),
            new_ints(productions),
            np.zeros(4, np.int32),
        )
        return forest, labels, scratch


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


def new_cells(count: int, searches: int) -> list[Cells]:
    """Room for so many cells, for each of some searches that have their core in common."""
    masses, core = new_masses(count), _new_selection(count)
    found = []
    for _ in range(searches):
        most, below, within, around, cap = np.zeros((5, count, LANES))
        bounds = Bounds(most, below, within, around, cap, np.zeros(count))
        found.append(Cells(masses, bounds, core, _new_selection(count)))
    return found


def _new_selection(count: int) -> Selection:
    return Selection(np.zeros(count, np.int32), *np.zeros((3, count)))


def new_sums(items: ItemTables) -> ItemSums:
    """Scratch for these items."""

    def places(item: Ints) -> Indices:
        return np.where(item == NO_ITEM, items.n_children, item).astype(np.uint32)

    return ItemSums(
        np.zeros(items.n_labels),
        np.zeros(items.n_productions),
        np.zeros(items.n_children + 1),
        places(items.left_child),
        places(items.right_child),
        places(items.only_child),
        np.zeros(4),
    )


def new_gains(pruned: PrunedForest, rule_log_prob: Floats, weights: Floats) -> Gains:
    """Room for the gains of a forest."""
    forest = pruned.forest
    nodes, unaries, productions = _sizes(forest)
    return Gains(
        node=_rows(nodes),
        unary=_rows(unaries),
        unary_rule=_rows(unaries),
        foot=_rows(len(forest.node_first)),
        production=new_floats(productions),
        children=new_floats(productions),
        span=np.zeros(len(forest.node_first)),
        rule_log_prob=rule_log_prob,
        weights=weights,
        share=new_floats(productions),
        group_share=pruned.weight,
        scratch=np.zeros((1, LANES)),
    )


def new_values(pruned: PrunedForest) -> BestValues:
    """Room for the best values of a forest."""
    forest = pruned.forest
    nodes, unaries, productions = _sizes(forest)
    own = _rows(nodes)
    return BestValues(
        own=own,
        best=_rows(nodes) if unaries else own,
        split=_rows(len(forest.group_pair)),
        lexical=_rows(nodes),
        shared=new_floats(productions),
        left_value=pruned.left_value,
        # A tree has a node no more than once.
        tree_nodes=new_ints(3, LANES * nodes),
        tree_stack=new_ints(nodes + 1, 2),
        tree_end=np.zeros(LANES, np.int32),
        tree_value=np.zeros(LANES),
    )


def _sizes(forest: Forest) -> tuple[int, int, int]:
    return len(forest.node_start), len(forest.unary_rule), len(forest.production_parent)


def _rows(count: int) -> Floats:
    return new_floats(count, LANES)


def new_chains(label: Ints, unary_parent: Ints, unary_child: Ints, stop: Ints) -> ChainScratch:
    """Scratch for chains of these unary rules between symbols with these labels."""
    rules: dict[int, dict[int, float]] = {}
    for parent, child in zip(label[unary_parent].tolist(), label[unary_child].tolist(), strict=True):
        rules.setdefault(parent, {})[child] = 1.0
    labels = int(label.max(initial=-1)) + 1
    rank = np.arange(labels, dtype=np.int32)  # labels without unary rules come first, each for itself
    for number, members in enumerate(components(rules), start=labels):
        rank[members] = number
    # Without unary rules nothing is asked for.
    nodes, depths = (len(label), min(len(label), labels) + 2) if rules else (0, 0)

    def ints(size: int) -> Ints:
        return np.zeros(size, np.int32)

    def rows(size: int) -> Floats:
        return np.zeros((size, LANES))

    return ChainScratch(
        label=label,
        rank=rank[label],
        order=ints(nodes),
        head=ints(nodes),
        following=ints(len(unary_parent)),
        used=ints(labels),
        path=ints(depths),
        cursor=ints(depths),
        total=np.zeros(depths),
        chain=rows(nodes),
        leaving=rows(nodes),
        below=rows(nodes),
        most=rows(labels if rules else 0),
        earned=rows(depths),
        rest=rows(depths),
        stop=stop,
    )
