"""The forest of a sentence: every derivation, packed.

A *node* is a symbol over a span. Nodes
are numbered cell by cell, and cells column by column (a column is all cells with the same end), each column
from its last start to its first: every node comes after those that it is built of. A *group* is a pair of
symbols that rewrites nodes of one cell: its *edges* are the splits (a left and a right node), its
*productions* the rules whose children are this pair. So an edge is looked at once for all of its group's
productions, and a production once for all of its splits. A *unary* is a unary rule between two nodes of one
cell.

Inside values are multiplied by a power of two for each position (``Columns.shift``), the same for all cells
that end there, so that no factor stands between a node and its parts.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.kernel import inner_kernel
from mbrparse.charts.rule_tables import Floats, Ints, Words
from mbrparse.charts.spans import SpanEntries, crossing

Bits = NDArray[np.uint64]


class Forest(NamedTuple):
    """Arrays by cell (``forest_cell``), node, group, edge, production and unary.

    ``x_first[c] .. x_first[c + 1]`` are those of cell c. Edges are listed by their right node: the edges
    of node r are ``edge_first[r] .. edge_first[r + 1]``, and their left nodes stand in this order in
    ``left_node`` from ``left_first[r]`` on. (Right nodes of one symbol that begin at one position have the
    same left nodes, listed once.)

    The last arrays are filled when a forest is asked for. Where values leave the range of numbers they are
    *normalized*: inside values and sums of groups are one, and probabilities conditional, those of a
    production, a unary and a lexical rule given the node, those of an edge given its group.
    A production's probability is ``rule_prob[prob_place[production]]``.
    """

    node_first: Ints  # by cell
    node_start: Ints  # where its span begins
    node_symbol: Ints
    inside: Floats
    outside: Floats  # divided by the sentence's probability: inside * outside is its expected number
    lexical: Floats  # the part of inside that is its lexical rule's
    group_right: Ints  # the symbol of its right nodes
    group_sum: Floats  # sum over edges of inside * inside
    edge_first: Ints  # by right node
    edge_group: Ints
    left_first: Ints  # by right node
    left_node: Ints
    cell_production: Ints  # by cell: its productions are cell_production[c] .. cell_production[c + 1]
    production_parent: Ints
    production_group: Ints
    production_rule: Ints
    unary_first: Ints  # by cell
    unary_parent: Ints
    unary_child: Ints
    unary_rule: Ints
    prob_place: Ints  # by production: its rule, or itself where values are normalized
    rule_prob: Floats  # by binary rule, or production
    unary_prob: Floats
    edge_value: Floats  # inside * inside of its nodes; empty, but where values are normalized
    root_share: Floats  # by node of the whole sentence: the probability that it is the root
    log_unit: Floats  # by node: the logarithm of what inside values were divided by
    log_scale: float  # the logarithm of what inside values of the whole sentence are multiplied by


class Partners(NamedTuple):
    """By position and right child's symbol, the left nodes before it that make a pair with it, in lists.

    The nodes of list l are the forest's left nodes first[l] .. first[l + 1].
    """

    listed: Ints  # [position, symbol]: the list of a right child's partners, or -1
    first: Ints  # by list
    head: Ints  # by position: the newest of its lists, or -1
    older: Ints  # by list: an older one of its position, or -1
    place: Ints  # that of the pair from the partner's start on (``Columns``)
    value: Floats  # the node's inside value
    passed: Floats  # its outside value, as far as it comes from this list's right children


class Columns(NamedTuple):
    """The columns: what is kept of complete ones, and scratch for the one at work.

    Pairs that begin somewhere have *places*, numbered as they are met first: what is looked up for each edge
    lies close together, as pairs that are met together do.
    """

    place_at: Ints  # [pair * length + start]: its place, if there is such a one and it is this pair's
    place_pair: Ints
    place_start: Ints
    place_group: Ints  # the newest group; not the column's if it is older
    length: int  # for how long sentences the places are
    cell_group: Ints  # by cell: its first group, or -1
    group_next: Ints  # the next group of its cell, or -1
    group_pair: Ints
    group_weight: Floats  # what comes down to its edges
    node_slot: Ints  # [symbol]: the node of the cell at work, or -1; all -1 between cells
    bucket_first: Ints  # [position, left symbol]: nodes that end there
    bucket_node: Ints
    base: Floats  # by node of the cell
    shift: Ints  # by end: powers of two that the column was divided by
    counts: Ints  # of productions, partner lists, groups and places; last, whether values left the range


class SpanFilter(NamedTuple):
    """The labels that are allowed over the spans of a sentence, and each symbol's labels.

    One is looked at where a binary or lexical rule makes the symbol, the other where a binary rule takes it.
    """

    bits: Bits  # [end, start, label // 64]; empty where everything is allowed
    label: Ints
    taken: Ints

    @classmethod
    def of_posteriors(
        cls, length: int, entries: SpanEntries, threshold: float, label: Ints, n_labels: int
    ) -> SpanFilter:
        """The labels whose posterior is more than a threshold.

        >>> one, two = np.ones(1, np.int32), np.zeros(1, np.int32)
        >>> entries = SpanEntries(two, one, 70 * one, np.zeros(1), np.ones(1))
        >>> SpanFilter.of_posteriors(1, entries, 0.5, one, 71).bits[1, 0].tolist()
        [0, 64]
        """
        bits = np.zeros((length + 1, length, (n_labels + 63) // 64), np.uint64)
        starts, ends, label_ids, *_ = entries
        kept = np.flatnonzero(entries.g > threshold)
        marks = np.uint64(1) << (label_ids[kept] & 63).astype(np.uint64)
        np.bitwise_or.at(bits, (ends[kept], starts[kept], label_ids[kept] >> 6), marks)
        return cls(bits, label, label)

    @classmethod
    def of_brackets(
        cls, length: int, made: NDArray[np.bool_], rows: Mapping[tuple[int, int], int]
    ) -> SpanFilter:
        """Brackets, each with its row of ``made`` [row, symbol]: what rules may make over it.

        Over other spans that is row 0, and nothing over those that cross a bracket.
        """
        classes, label = np.unique(made, axis=1, return_inverse=True)
        count, masks = classes.shape[1], np.zeros((len(made), classes.shape[1] // 64 + 1), np.uint64)
        # One more for whatever is taken.
        row, bit = np.nonzero(np.hstack([classes, np.ones_like(made[:, :1])]))
        np.bitwise_or.at(masks, (row, bit >> 6), np.uint64(1) << (bit & 63).astype(np.uint64))
        ends, starts = np.indices((length + 1, length))
        bits = np.where(crossing(starts, ends, rows)[:, :, None], np.uint64(0), masks[0])
        for (start, end), row_of_span in rows.items():
            bits[end, start] = masks[row_of_span]
        of_symbol: Ints = label.reshape(-1).astype(np.int32)
        return cls(bits, of_symbol, np.full(len(of_symbol), count, np.int32))

    def entries(self, entries: SpanEntries) -> SpanEntries:
        """The entries of symbols that are allowed over their spans."""
        kept = self._allowed(entries.starts, entries.ends, entries.label_ids)
        return SpanEntries(*(column[kept] for column in entries))

    def words(self, words: Words) -> Words:
        """The lexical entries of symbols that are allowed over their words."""
        position = np.repeat(np.arange(len(words.entry_start) - 1), np.diff(words.entry_start))
        kept = np.flatnonzero(self._allowed(position, position + 1, words.entry_symbol))
        first = np.searchsorted(kept, words.entry_start).astype(np.int32)
        return Words(first, words.entry_symbol[kept], words.entry_prob[kept])

    def _allowed(self, starts: NDArray[Any], ends: NDArray[Any], symbols: NDArray[Any]) -> NDArray[np.bool_]:
        label = self.label[symbols]
        bits = self.bits[ends, starts, label >> 6] >> (label & 63).astype(np.uint64)
        kept: NDArray[np.bool_] = (bits & np.uint64(1)).astype(np.bool_)
        return kept


NO_FILTER = SpanFilter(np.zeros((0, 0, 0), np.uint64), *[np.zeros(0, np.int32)] * 2)


# As an index an unsigned number needs no look whether it counts from the end.
Index = np.uint32
ONE = np.uint32(1)

# What inside values must lie between, so that sums are exact: what a product of two of them and a rule loses
# to zero is then far below the last digit of every sum, and outside values (posteriors over inside values),
# and products with them, stay finite.
LEAST_VALUE, MOST_VALUE = 2.0**-450, 2.0**450
# The place of ``counts`` that tells.
OUT_OF_RANGE = 4

# Memory of this size in bytes is the system's own.
_LARGE = 1 << 17

# What may be too small.
NODES, GROUPS, EDGES, PRODUCTIONS, UNARIES, PARTNERS = range(6)


@inner_kernel
def forest_cell(start: int, end: int) -> int:
    """The number of a cell in the order in which cells are completed."""
    return end * (end - 1) // 2 + end - 1 - start


def new_ints(*shape: int) -> Ints:
    """Zeros, which take memory when they are written; raises MemoryError where there is none."""
    return cast("Ints", _zeros(shape, np.int32))


def new_floats(*shape: int) -> Floats:
    """The same in double precision."""
    return cast("Floats", _zeros(shape, np.float64))


def _zeros(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[np.generic]:
    """Memory that is given back to the system as soon as nobody holds it.

    What ``malloc`` frees makes it take as large a piece from its own heap the next time, which has holes, is
    not given back, and where zeros are written.
    """
    count, size = math.prod(shape), math.prod(shape) * np.dtype(kind).itemsize
    if size < _LARGE:
        return np.zeros(shape, kind)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no {size} bytes") from error
    return np.frombuffer(memory, kind, count).reshape(shape)


def forest_sizes(
    cells: int, nodes: int, groups: int, edges: int, lefts: int, productions: int, unaries: int
) -> list[int]:
    """The lengths of a forest's arrays, in the order of its fields."""
    of_nodes, of_edges = [cells + 1, *[nodes] * 5], [nodes + 1, edges, nodes, lefts]
    of_parts = [cells + 1, *[productions] * 3, cells + 1, *[unaries] * 3]
    return [*of_nodes, *[groups] * 2, *of_edges, *of_parts, *[0] * 6]


def node_ends(forest: Forest, n: int) -> Ints:
    """By node of a sentence of n words, where its span ends."""
    last = np.arange(n + 1)
    counts = np.diff(forest.node_first[last * (last + 1) // 2])
    return np.repeat(np.arange(1, n + 1, dtype=np.int32), counts)
