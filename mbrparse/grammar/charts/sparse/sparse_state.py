"""What the sparse kernels work on.

The chart is a list of nodes, symbols over spans, column by column (a column
is all nodes with the same end).  The nodes of a complete column are bucketed by
symbol, to be found as left children.

Values are kept relative to 2 ** exponent of their cell, so that no sentence
is too long; factors between cells are powers of two and cost no digit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.closure import BestChains, UnaryTables
from mbrparse.grammar.charts.lexicon import Words
from mbrparse.grammar.charts.prediction import Bits, Flags, Prediction
from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.kernel import array_kernel, kernel

MAX_SHIFT = 1000  # powers of two beyond this are treated as zero or infinite


class SparseChart(NamedTuple):
    """Arrays by node, and pointers into them.

    It is also the work space of the kernels; sentence after sentence is
    parsed in the same arrays (new memory would cost more than the parsing).
    """

    start: Ints
    symbol: Ints
    inside: Floats  # or the best derivation's
    outside: Floats  # divided by the sentence's probability
    column_start: Ints  # nodes that end at e: column_start[e] .. column_start[e + 1]
    cell_first: Ints  # [start, end]: the cell's newest node, or -1
    cell_next: Ints  # by node: the cell's next one, or -1
    exponent: Ints  # [start, end]
    powers: Floats  # 2 ** (i - MAX_SHIFT)


class Buckets(NamedTuple):
    """The nodes that end at e, as left children: members first[e, b] .. first[e, b + 1].

    ``slots`` [symbol, start] is the node of the column at work, or -1; all -1
    between calls.  ``mass`` [symbol] is scratch for one cell.
    """

    first: Ints
    node: Ints
    start: Ints
    value: Floats
    factor: Floats
    slots: Ints
    mass: Floats
    predicted: Flags  # [position, symbol]: whether it may begin there (``prediction``)
    row: Bits  # scratch of a prediction


class SparseState(NamedTuple):
    """A grammar, a sentence, and its chart."""

    tables: SparseTables
    unary: UnaryTables
    prediction: Prediction
    words: Words
    chart: SparseChart
    buckets: Buckets


class BestPaths(NamedTuple):
    """What is kept of the best derivations beside their values.

    ``back`` [node, 2] tells the nodes of the two children that are best without a unary rule. With unary
    rules it is [node, 4]: then come the node at the bottom of the best chain, and the chain.
    """

    back: Ints
    chains: BestChains
    tolerance: float  # within which, relative, two derivations are equally good


@kernel
def enter_node(chart: SparseChart, slots: Ints, span: tuple[int, int], symbol: int, node: int) -> None:
    """Enter a new node into its cell."""
    start, end = span
    chart.start[node] = start
    chart.symbol[node] = symbol
    chart.cell_next[node] = chart.cell_first[start, end]
    chart.cell_first[start, end] = node
    slots[symbol, start] = node


@array_kernel
def fill_buckets(tables: SparseTables, chart: SparseChart, buckets: Buckets, end: int) -> None:
    """Sort the column's nodes by symbol, left children only."""
    begin = chart.column_start[end]
    place = np.zeros(tables.n_left + 1, np.int32)
    for node in range(begin, chart.column_start[end + 1]):
        left = tables.left_index[chart.symbol[node]]
        if left >= 0:
            place[left + 1] += 1
    place[0] = begin
    for left in range(tables.n_left):
        place[left + 1] += place[left]
    buckets.first[end] = place
    for node in range(begin, chart.column_start[end + 1]):
        left = tables.left_index[chart.symbol[node]]
        if left >= 0:
            member = place[left]
            place[left] += 1
            buckets.node[member] = node
            buckets.start[member] = chart.start[node]
            buckets.value[member] = chart.inside[node]


@kernel
def normalize(chart: SparseChart, start: int, end: int) -> None:
    """Bring the largest value of a complete cell near one."""
    largest = chart.inside[0] * 0
    node = chart.cell_first[start, end]
    while node >= 0:
        largest = max(largest, chart.inside[node])
        node = chart.cell_next[node]
    if largest > 0:
        shift = int(np.floor(np.log2(largest)))
        _scale_cell(chart, start, end, shift)


@kernel
def _scale_cell(chart: SparseChart, start: int, end: int, shift: int) -> None:
    """Divide a cell's values by 2 ** shift and note it in its exponent."""
    factor = chart.powers[MAX_SHIFT - min(max(shift, -MAX_SHIFT), MAX_SHIFT)]
    node = chart.cell_first[start, end]
    while node >= 0:
        chart.inside[node] *= factor
        node = chart.cell_next[node]
    chart.exponent[start, end] += shift


@kernel
def set_factors(chart: SparseChart, factor: Floats, split: int, end: int) -> None:
    """Powers of two that bring products at this split to the scale of the cells they go to.

    A cell takes its scale from the first split that reaches it, and a larger
    one when a later split would overflow it.
    """
    for start in range(split):
        if chart.cell_first[start, split] < 0:
            continue
        product = chart.exponent[start, split] + chart.exponent[split, end]
        if chart.cell_first[start, end] < 0:
            chart.exponent[start, end] = product
        elif product - chart.exponent[start, end] > 100:
            _scale_cell(chart, start, end, product - chart.exponent[start, end])
        shift = product - chart.exponent[start, end]
        factor[start] = chart.powers[MAX_SHIFT + max(shift, -MAX_SHIFT)]
