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
_FIRST_SIZE = {NODES: 1 << 11, GROUPS: 1 << 12, EDGES: 1 << 14, PRODUCTIONS: 1 << 13, UNARIES: 1 << 12}


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
        forests, forest = self._forests, self._forests.forest
        source = len(forest.node_first), len(forest.node_start), len(forest.group_sum)
        if source != self._source:
            self._source, self._room = source, None
        while True:
            if self._room is None:
                self._room = self._allocated()
            stop = forests.clock.stop
            known = forests.weight, forests.tables.rule_prob, self._label, forests.groups
            full = int(keep(forest, known, selection, *self._room, length, stop))
            if full < 0:
                return self._room[0]
            forests.clock.check()
            if self._size[full] >= MAX_SIZE[full]:
                raise ChartOverflowError("a forest too large for memory")
            self._size[full] *= 2
            self._room = None

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
