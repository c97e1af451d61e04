"""A sentence's forest: which labels are alive, by which productions, and the values that passes compute."""

from __future__ import annotations

import math

import numpy as np

from mbrparse.charts.base.memory import aligned_rows
from mbrparse.charts.dop.dop_forest_kernels import (
    BITS,
    Alive,
    DopForest,
    Rules,
    arrange,
    count_productions,
    list_productions,
)
from mbrparse.charts.dop.dop_passes import DopValues, dop_inside, dop_outside
from mbrparse.charts.dop.dop_tables import LANES, DopTables
from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.pcfg import FloatArray, IntArray

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
) -> DopForest:
    """The forest of labels over spans of two terminals and more, in the order of start, end, label.

    Labels over one terminal are its own. Raises ChartOverflowError for a forest that is too large.
    """
    n = len(terminals)
    n_words = tables.word_start[terminals + 1] - tables.word_start[terminals]
    size = len(starts) + int(n_words.sum() + np.count_nonzero(tables.alone[terminals]))
    start, end, group, words = np.empty((4, size), np.int32)
    nodes = start, end, group, words
    number = np.full(len(tables.uses), -1, np.int32)
    first = np.zeros(tables.n_labels + 1, np.int32)
    rule, left, right = np.empty((3, len(tables.first)), np.int32)
    rules = Rules(first, rule, left, right)
    groups = arrange(tables, terminals, (starts, ends, labels), nodes, number, rules)
    n_cells = n * (n + 1) // 2
    if n_cells * groups > MAX_PRODUCTIONS:
        raise ChartOverflowError(f"a chart of {n_cells} cells with {groups} labels")
    masks = np.zeros((2, groups, n + 1, n // BITS + 1), np.uint64)
    alive = Alive(np.full((n_cells, groups), -1, np.int32), masks[0], masks[1])
    expansion_start = np.empty(size + 1, np.int64)
    count = count_productions(n, nodes, number, rules, alive, expansion_start)
    if count > MAX_PRODUCTIONS:
        raise ChartOverflowError(f"a chart of {count} productions")
    listed = list_productions(tables, n, nodes, rules, alive, expansion_start, count)
    expansions, productions, vectors = listed
    return DopForest(n, *nodes, expansion_start, *expansions, *productions, vectors)


class Memory:
    """Arrays that sentence after sentence is parsed in: new ones would cost more than the parsing."""

    def __init__(self, tables: DopTables) -> None:
        rows = -(-(tables.first_word + len(tables.word_up)) // LANES)
        self._node, self._node_adjoint = (aligned_rows(rows, np.float64) for _ in range(2))
        self._arrays = [aligned_rows(0, np.float64) for _ in range(3)]

    def values(self, forest: DopForest, kept: bool = False, outside: bool = False) -> DopValues:
        """Memory for a forest's values, which are valid until the next call.

        ``kept``: with values of addresses, for derivations; ``outside``: with derivatives. Raises
        ChartOverflowError where there are too many.
        """
        of_vectors = forest.vectors.n_rows
        sizes = [int(forest.value_row[-1]) if kept else 0, of_vectors, of_vectors if outside else 0]
        if LANES * sum(sizes) > MAX_VALUES:
            raise ChartOverflowError(f"a chart of {LANES * sum(sizes)} values")
        for place, size in enumerate(sizes):
            if len(self._arrays[place]) < size:
                self._arrays[place] = aligned_rows(0, np.float64)  # first the old one goes
                self._arrays[place] = aligned_rows(size * 17 // 16, np.float64)
        value, rows, adjoint = (array[:size] for array, size in zip(self._arrays, sizes, strict=True))
        inside, outsides, posterior = np.zeros((3, len(forest.group)))
        exponent = np.zeros(len(forest.group), np.int32)
        of_node = self._node, self._node_adjoint
        return DopValues(inside, outsides, posterior, exponent, value, rows, adjoint, *of_node)


def inside_pass(tables: DopTables, forest: DopForest, values: DopValues, best: bool) -> float:
    """Fill inside values; returns the natural logarithm of the sentence's probability.

    With ``best`` it is that of the most probable derivation, and values are those of best derivations.
    """
    dop_inside(tables, forest, values, best)
    _, masses, exponent = root_masses(tables, forest, values)
    if not len(masses):
        return -math.inf
    return math.log(masses.max() if best else masses.sum()) + exponent * math.log(2.0)


def outside_pass(tables: DopTables, forest: DopForest, values: DopValues) -> None:
    """Fill outside values and posteriors of a sentence that has a parse."""
    nodes, masses, exponent = root_masses(tables, forest, values)
    weights = tables.root[forest.group[nodes]] / masses.sum()
    values.outside[:] = 0
    values.outside[nodes] = np.ldexp(weights, values.exponent[nodes] - exponent)
    dop_outside(tables, forest, values)


def root_masses(tables: DopTables, forest: DopForest, values: DopValues) -> tuple[IntArray, FloatArray, int]:
    """The nodes over the sentence that may be its root, their parts of its probability, and the exponent.

    These parts are relative to 2 ** exponent.
    """
    labels = (forest.group < tables.n_labels) & (values.inside > 0)
    nodes = np.flatnonzero(labels & (forest.end - forest.start == forest.n)).astype(np.int32)
    nodes = nodes[tables.root[forest.group[nodes]] > 0]
    if not len(nodes):
        return nodes, np.zeros(0), 0
    exponents = values.exponent[nodes]
    top = int(exponents.max())
    masses: FloatArray = np.ldexp(tables.root[forest.group[nodes]] * values.inside[nodes], exponents - top)
    return nodes, masses, top
