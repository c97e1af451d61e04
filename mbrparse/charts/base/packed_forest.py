"""The forest of a sentence: every derivation, packed.

A *node* is a symbol over a span; in view of what ends before it, it may begin there (``prediction``). Nodes
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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints, SparseTables, UnaryTables

Bits = NDArray[np.uint64]
Flags = NDArray[np.uint8]


class Forest(NamedTuple):
    """Arrays by cell (``forest_cell``), node, group, edge, production and unary.

    ``x_first[c] .. x_first[c + 1]`` are those of cell c. Edges are listed by their right node: the edges
    of node r are ``edge_first[r] .. edge_first[r + 1]``, and their left nodes stand in this order in
    ``left_node`` from ``left_first[r]`` on. (Right nodes of one symbol that begin at one position have the
    same left nodes, listed once.)
    """

    node_first: Ints  # by cell
    node_start: Ints  # where its span begins
    node_symbol: Ints
    inside: Floats
    outside: Floats  # divided by the sentence's probability: inside * outside is its expected number
    lexical: Floats  # the part of inside that is its lexical rule's
    cell_group: Ints  # by cell: its first group, or -1
    group_next: Ints  # the next group of its cell, or -1
    group_start: Ints
    group_pair: Ints
    group_right: Ints  # the symbol of its right nodes
    group_sum: Floats  # sum over edges of inside * inside
    edge_first: Ints  # by right node
    edge_group: Ints
    left_first: Ints  # by right node
    left_node: Ints
    production_first: Ints  # by group: its productions are production_first[g] .. production_last[g],
    production_last: Ints  # the pair's rules in the same order, but for parents that are not there
    cell_production: Ints  # by cell: its productions are cell_production[c] .. cell_production[c + 1]
    production_parent: Ints
    production_group: Ints
    production_rule: Ints
    unary_first: Ints  # by cell
    unary_parent: Ints
    unary_child: Ints
    unary_rule: Ints


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
    node_slot: Ints  # [symbol]: the node of the cell at work, or -1; all -1 between cells
    bucket_first: Ints  # [position, left symbol]: nodes that end there
    bucket_node: Ints
    base: Floats  # by node of the cell
    predicted: Flags  # [position, symbol]: whether it may begin there (``prediction``)
    row: Bits  # scratch of a prediction
    shift: Ints  # by end: powers of two that the column was divided by
    counts: Ints  # of productions, partner lists, groups and places; last, whether values left the range


class Prediction(NamedTuple):
    """Symbols that may come next, in words of bits: symbol s is bit ``s >> shift``."""

    is_selective: bool  # else everything is predicted
    shift: int
    left_shift: int
    first: Bits  # [words] those that begin a sentence
    after: Bits  # [left >> left_shift, words] those that begin where such a left child ends (``left_index``)


class Alive(NamedTuple):
    """The labels that may stand over the spans of a sentence, and each symbol's label."""

    bits: Bits  # [end, start, label // 64]
    label: Ints


class ForestState(NamedTuple):
    """A grammar, its forest of a sentence, and what it takes to fill it."""

    tables: SparseTables
    unary: UnaryTables
    prediction: Prediction
    forest: Forest
    partners: Partners
    columns: Columns
    weight: Floats  # by group: what comes down to it, the sum of outside * probability over productions


# As an index an unsigned number needs no look whether it counts from the end.
Index = np.uint32
ONE = np.uint32(1)

# What inside values must lie between, so that sums are exact: what a product of two of them and a rule loses
# to zero is then far below the last digit of every sum, and outside values (posteriors over inside values),
# and products with them, stay finite.
LEAST_VALUE, MOST_VALUE = 2.0**-450, 2.0**450
# The place of ``counts`` that tells.
OUT_OF_RANGE = 4

# What may be too small.
NODES, GROUPS, EDGES, PRODUCTIONS, UNARIES, PARTNERS = range(6)


@kernel
def forest_cell(start: int, end: int) -> int:
    """The number of a cell in the order in which cells are completed."""
    return end * (end - 1) // 2 + end - 1 - start
