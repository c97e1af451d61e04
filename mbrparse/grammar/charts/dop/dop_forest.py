"""A sentence's forest: which labels are alive, by which productions, and the memory of their values."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.vector import aligned_rows
from mbrparse.grammar.charts.dop.dop_forest_kernels import (
    BITS,
    Alive,
    DopForest,
    Rules,
    Vectors,
    arrange,
    count_productions,
    list_productions,
    place_values,
)
from mbrparse.grammar.charts.dop.dop_passes import DopValues
from mbrparse.grammar.charts.dop.dop_tables import LANES, DopTables
from mbrparse.grammar.pcfg import IntArray
from mbrparse.io.errors import ChartOverflowError

# Values that a chart may hold: 2 GB.
MAX_VALUES = 1 << 28
# Productions and pairs of a cell and a label: some 1 GB.
MAX_PRODUCTIONS = 1 << 26


def dop_forest(
    tables: DopTables,
    terminals: IntArray,
    starts: IntArray,
    ends: IntArray,
    labels: IntArray,
    kept: bool = True,
) -> DopForest:
    """The forest of labels over spans of two terminals and more, which come in order of start, end, label.

    Labels over one terminal are its own. Raises ChartOverflowError for a forest that is too large.
    """
    n, n_groups = len(terminals), len(tables.numbers)
    n_words = tables.word_start[terminals + 1] - tables.word_start[terminals]
    size = len(starts) + int(n_words.sum() + np.count_nonzero(tables.alone[terminals]))
    start, end, group, words = np.empty((4, size), np.int32)
    local = np.full(n_groups, -1, np.int32)
    rules = Rules(np.zeros(tables.n_labels + 1, np.int32), *np.empty((3, len(tables.first)), np.int32))
    n_local = arrange(tables, terminals, (starts, ends, labels), (start, end, group, words), local, rules)
    n_cells = n * (n + 1) // 2
    if n_cells * n_local > MAX_PRODUCTIONS:
        raise ChartOverflowError(f"a chart of {n_cells} cells with {n_local} labels")
    masks = np.zeros((2, n_local, n + 1, n // BITS + 1), np.uint64)
    alive = Alive(np.full((n_cells, n_local), -1, np.int32), masks[0], masks[1])
    production_start = np.empty(size + 1, np.int64)
    count_productions(n, (start, end, group, words), local, rules, alive, production_start)
    count = int(production_start[-1])
    if count > MAX_PRODUCTIONS:
        raise ChartOverflowError(f"a chart of {count} productions")

    rule, left, right, left_vector, right_vector = np.empty((5, count), np.int32)
    vector_rule, row, following = np.empty((3, 2 * count), np.int32)
    first_left, first_right = np.full((2, size), -1, np.int32)
    row_start, row_end = np.zeros((2, n), np.int32)
    vectors = Vectors(
        left_vector,
        right_vector,
        first_left,
        first_right,
        vector_rule,
        row,
        following,
        row_start,
        row_end,
        0,
        0,
    )
    table_start = np.zeros(size + 1, np.int64)
    if kept:
        np.cumsum(tables.numbers[group], out=table_start[1:])
    # Values begin after as many zeros as the largest rule has addresses: those of dead rules.
    dead = int(np.diff(tables.first).max(initial=1))
    forest = DopForest(
        n,
        start,
        end,
        group,
        production_start,
        rule,
        left,
        right,
        table_start,
        np.zeros(table_start[-1], np.int64),
        words,
        dead if kept else 0,
        dead,
        vectors,
    )
    uses = np.zeros((2, size + 1), np.int64)
    np.cumsum(tables.left_uses[group], out=uses[0, 1:])
    np.cumsum(tables.right_uses[group], out=uses[1, 1:])
    known = np.full(uses[0, -1], -1, np.int32), np.full(uses[1, -1], -1, np.int32)
    n_left, n_right = list_productions(tables, forest, rules, alive, (uses[0], uses[1], *known))
    n_values = place_values(tables, forest) if kept else 0
    if n_values + LANES * (n_left + 2 * n_right) > MAX_VALUES:
        raise ChartOverflowError(f"a chart of {n_values + LANES * (n_left + 2 * n_right)} values")
    vectors = vectors._replace(n_left=n_left, n_right=n_right)
    return forest._replace(n_values=n_values, vectors=vectors)


class Memory:
    """Arrays that sentence after sentence is parsed in: new ones would cost more than the parsing."""

    def __init__(self, tables: DopTables) -> None:
        rows = -(-tables.n_addresses // LANES)
        self._node, self._node_adjoint = (aligned_rows(rows, np.float64) for _ in range(2))
        self._rooms = [aligned_rows(0, np.float64) for _ in range(5)]

    def values(self, forest: DopForest, outside: bool = False) -> DopValues:
        """Room for a forest's values; ``outside``: with that for derivatives."""
        count, vectors = len(forest.group), forest.vectors
        of_start = int((vectors.row_end - vectors.row_start).max(initial=0)) if outside else 0
        of_right = vectors.n_right if outside else 0
        sizes = [vectors.n_left, of_start, vectors.n_right, of_right, -(-forest.n_values // LANES)]
        for place, size in enumerate(sizes):
            if len(self._rooms[place]) < size:
                self._rooms[place] = aligned_rows(0, np.float64)  # first the old one goes
                self._rooms[place] = aligned_rows(size * 17 // 16, np.float64)
        inside, outsides, posterior = np.zeros((3, count))
        exponent = np.zeros(count, np.int32)
        left, left_adjoint, right, right_adjoint, value = self._rooms
        return DopValues(
            inside,
            outsides,
            posterior,
            exponent,
            value.reshape(-1),
            left,
            left_adjoint,
            right,
            right_adjoint,
            self._node,
            self._node_adjoint,
        )
