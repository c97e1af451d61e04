"""Forests of what is kept, one after the other, and the memory they share."""

from __future__ import annotations

from mbrparse.decode.derivations.kept_forest import KeepingScratch, KeptForest, Selection, keep
from mbrparse.errors import ChartOverflowError
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
from mbrparse.grammar.charts.rule_tables import Ints

# Room for so many at first.
_FIRST_SIZE = {
    NODES: 1 << 11,
    GROUPS: 1 << 12,
    EDGES: 1 << 14,
    PRODUCTIONS: 1 << 13,
    UNARIES: 1 << 12,
}


class KeptForests:
    """Makes one forest of what is kept after the other, in the same memory."""

    def __init__(self, forests: Forests, label: Ints, n_labels: int) -> None:
        self._forests, self._label, self._n_labels = forests, label, n_labels
        self._size = dict(_FIRST_SIZE)
        self._source = (0, 0, 0)
        self._room: tuple[KeptForest, KeepingScratch] | None = None

    def keep(self, selection: Selection, length: int) -> KeptForest:
        """What is selected of the forest that was filled last; it lives until the next call.

        Raises ChartOverflowError where it is too much, and TimeLimitError.
        """
        forests = self._forests
        while True:
            forest = forests.forest
            known = forests.weight, forests.tables.rule_prob, self._label, forests.groups
            try:
                kept, scratch = self._fitting(
                    len(forest.node_first), len(forest.node_start), len(forest.group_sum)
                )
                full = int(keep(forest, known, selection, kept, scratch, length, forests.clock.stop))
            except MemoryError:  # so much is not asked for again
                self._size, self._source = dict(_FIRST_SIZE), (0, 0, 0)
                self._room = None
                raise
            if full < 0:
                return kept
            forests.clock.check()
            if self._size[full] >= MAX_SIZE[full]:
                raise ChartOverflowError("a forest too large for memory")
            self._size[full] *= 2
            self._room = None

    def _fitting(self, *source: int) -> tuple[KeptForest, KeepingScratch]:
        """Room for what is kept of a forest of so many cells, nodes and groups."""
        if self._room is None or any(one > room for one, room in zip(source, self._source, strict=True)):
            self._room = None  # the old one makes way first
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
            new_floats(self._n_labels),
            new_floats(size[GROUPS]),
        )
        return kept, scratch
