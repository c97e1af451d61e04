"""Forests of what is kept, one after the other, and the memory they share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbrparse.decode.derivations.cell_values import KeptSearch
from mbrparse.decode.derivations.keep_by_rules import SUMS, Rivals, RuleScratch, keep_by_rules
from mbrparse.decode.derivations.kept_forest import KeepingScratch, KeptForest, Selection, keep
from mbrparse.decode.derivations.pair_sums import PairSums
from mbrparse.decode.derivations.search_by_rules import search_by_rules
from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.charts.forest.forest_nodes import ForestNodes
from mbrparse.grammar.charts.forest.forests import MAX_SIZE, Forests
from mbrparse.grammar.charts.forest.packed_forest import (
    EDGES,
    GROUPS,
    NODES,
    PRODUCTIONS,
    UNARIES,
    empty_forest,
    new_floats,
    new_ints,
)
from mbrparse.grammar.charts.rule_tables import Ints, SparseTables

RuleArguments = tuple[
    ForestNodes,
    tuple[SparseTables, Ints],
    Selection,
    KeptForest,
    KeepingScratch,
    tuple[PairSums, RuleScratch],
]

# Room for so many at first.
_FIRST_SIZE = {
    NODES: 1 << 11,
    GROUPS: 1 << 12,
    EDGES: 1 << 14,
    PRODUCTIONS: 1 << 13,
    UNARIES: 1 << 12,
    SUMS: 1 << 15,
}


class KeptForests:
    """Makes one forest of what is kept after the other, in the same memory."""

    def __init__(self, forests: Forests, label: Ints, n_labels: int) -> None:
        self._forests, self._label, self._n_labels = forests, label, n_labels
        tables = forests.tables
        self._pair_right: Ints = np.repeat(
            np.arange(len(tables.left_index), dtype=np.int32), tables.pair_start[1:] - tables.pair_start[:-1]
        )
        self._size = dict(_FIRST_SIZE)
        self._source = (0, 0, 0)
        self._room: tuple[KeptForest, KeepingScratch] | None = None
        self._rule_room: tuple[PairSums, RuleScratch] | None = None
        self._summed: ForestNodes | None = None

    def keep(self, selection: Selection, length: int, nodes: ForestNodes | None = None) -> KeptForest:
        """What is selected of the forest that was filled last; it lives until the next call.

        ``nodes``: of a forest that these are the nodes of. Raises ChartOverflowError where it is too much,
        and TimeLimitError.
        """
        stop = self._forests.clock.stop
        if nodes is None:
            return self._fitted(lambda: self._keep_edges(selection, length, stop))
        kept = keep_by_rules
        return self._fitted(lambda: int(kept(*self._by_rules(nodes, selection, length), length, stop)))

    def search(
        self,
        selection: Selection,
        length: int,
        nodes: ForestNodes,
        search: Callable[[KeptForest], KeptSearch],
    ) -> KeptForest:
        """The same, searched as well, without what turns out not to be needed."""

        def fill() -> int:
            given = self._by_rules(nodes, selection, length)
            return int(search_by_rules(*given, search(given[3]), length))

        return self._fitted(fill)

    def _fitted(self, fill: Callable[[], int]) -> KeptForest:
        """The forest, once it has room for all that ``fill`` fills it with."""
        while True:
            try:
                full = fill()
            except MemoryError:  # so much is not asked for again
                self._size, self._source = dict(_FIRST_SIZE), (0, 0, 0)
                self._room = self._rule_room = None
                raise
            if full < 0:
                assert self._room is not None
                return self._room[0]
            self._forests.clock.check()
            if self._size[full] >= MAX_SIZE.get(full, MAX_SIZE[GROUPS]):
                raise ChartOverflowError("a forest too large for memory")
            self._size[full] *= 2
            self._room = self._rule_room = None

    def _keep_edges(self, selection: Selection, length: int, stop: Ints) -> int:
        forests, forest = self._forests, self._forests.forest
        kept, scratch = self._fitting(len(forest.node_first), len(forest.node_start), len(forest.group_sum))
        known = forests.weight, forests.tables.rule_prob, self._label, forests.groups
        return int(keep(forest, known, selection, kept, scratch, length, stop))

    def _by_rules(self, nodes: ForestNodes, selection: Selection, length: int) -> RuleArguments:
        """What the kernels take that make a forest by rules."""
        kept, scratch = self._fitting(len(nodes.node_first), len(nodes.node_start), 0)
        if self._rule_room is None or len(self._rule_room[1].node_at) < length:
            self._rule_room = self._rules_allocated(length)
            self._summed = None
        sums = self._rule_room[0]
        if self._summed is not nodes:
            sums.first[:], sums.used[:] = -1, 0
            self._summed = nodes
        return nodes, (self._forests.tables, self._label), selection, kept, scratch, self._rule_room

    def _fitting(self, *source: int) -> tuple[KeptForest, KeepingScratch]:
        """Room for what is kept of a forest of so many cells, nodes and groups."""
        if self._room is None or any(one > room for one, room in zip(source, self._source, strict=True)):
            self._room = self._rule_room = None  # the old one makes way first
            cells, nodes, groups = self._source
            self._source = max(source[0], cells), max(source[1], nodes), max(source[2], groups)
            self._room = self._allocated()
        return self._room

    def _allocated(self) -> tuple[KeptForest, KeepingScratch]:
        size = self._size
        nodes, edges = size[NODES], size[EDGES]
        unaries = size[UNARIES] if len(self._forests.unaries.rule_parent) else 0
        cells, source_nodes, source_groups = self._source
        kept = KeptForest(
            empty_forest(cells, nodes, size[GROUPS], edges, edges, size[PRODUCTIONS], unaries),
            new_floats(edges),
            new_floats(size[GROUPS]),
            new_floats(cells),
        )
        scratch = KeepingScratch(
            new_ints(source_nodes),
            new_ints(source_groups),
            new_ints(nodes),
            new_ints(nodes),
            new_floats(self._n_labels),
            new_floats(size[GROUPS]),
        )
        return kept, scratch

    def _rules_allocated(self, length: int) -> tuple[PairSums, RuleScratch]:
        tables, cells = self._forests.tables, self._source[0]
        pairs, sums = len(tables.pair_left), max(self._size[SUMS], 2 * len(tables.pair_left))
        pair_sums = PairSums(
            new_ints(cells),
            new_ints(cells),
            new_ints(sums),
            new_floats(sums),
            new_ints(1),
            new_floats(pairs),
            new_floats(length * tables.n_left),
        )
        scratch = RuleScratch(
            np.full((length, len(tables.left_index)), -1, np.int32),
            np.full((length, pairs), -1, np.int32),
            new_ints(length + 1, tables.n_left + 1),
            new_ints(self._size[NODES]),
            new_floats(self._size[NODES]),
            new_ints(self._size[GROUPS]),
            new_ints(len(tables.rule_prob)),
            Rivals(
                new_ints(self._size[GROUPS]),
                new_ints(self._size[EDGES]),
                new_floats(self._size[EDGES]),
                new_floats(self._size[EDGES]),
            ),
            self._pair_right,
        )
        return pair_sums, scratch
