"""The sums of pairs of children over all splits, where only the nodes of a forest are known.

They are worked out once a sentence, as the forests of its core and of what trees may need have many cells
in common.
"""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.decode.derivations.kept_forest import Selection
from mbrparse.grammar.charts.forest.forest_nodes import ForestNodes
from mbrparse.grammar.charts.forest.packed_forest import Index, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.kernel import kernel, steady


@steady
class PairSums(NamedTuple):
    """By cell, its pairs of children and the sums over all splits of inside * inside."""

    first: Ints  # by cell; -1: they are not known
    last: Ints
    pair: Ints
    value: Floats
    used: Ints  # how many there are (one number)
    # Scratch, zero: sums by pair, and by [position, left symbol] the inside values of nodes that end there.
    of_pair: Floats
    left_value: Floats


@kernel
def sum_pairs(
    source: ForestNodes, tables: SparseTables, selection: Selection, sums: PairSums, n: int, stop: Ints
) -> bool:
    """Sum up the pairs of cells whose items are looked at while there is time; false if there is no room."""
    for start in range(n):
        if stop[0]:
            return True
        if not _sum_pairs_from(source, tables, selection, sums, start, n):
            return False
    return True


@kernel
def _sum_pairs_from(
    source: ForestNodes, tables: SparseTables, selection: Selection, sums: PairSums, start: int, n: int
) -> bool:
    """The same of the cells from a position on."""
    node_first, node_symbol, inside = source.node_first, source.node_symbol, source.inside
    pair_start, pair_left, left_index = tables.pair_start, tables.pair_left, tables.left_index
    left_value, of_pair, n_left = sums.left_value, sums.of_pair, tables.n_left
    listed = start + 1  # so far the nodes are entered
    pairs = len(pair_left)
    fits = True
    for end in range(start + 2, n + 1):
        cell = forest_cell(start, end)
        if not selection.items[cell] or sums.first[cell] >= 0 or node_first[cell] == node_first[cell + 1]:
            continue
        if sums.used[0] + pairs > len(sums.pair):
            fits = False
            break
        while listed < end:
            for node in range(
                node_first[forest_cell(start, listed)], node_first[forest_cell(start, listed) + 1]
            ):
                left = left_index[node_symbol[node]]
                if left >= 0:
                    left_value[listed * n_left + left] = inside[node]
            listed += 1
        for split in range(start + 1, end):
            right_cell = forest_cell(split, end)
            row = split * n_left
            for right in range(node_first[right_cell], node_first[right_cell + 1]):
                symbol, value = node_symbol[right], inside[right]
                for pair in range(Index(pair_start[symbol]), Index(pair_start[symbol + 1])):
                    of_pair[pair] += value * left_value[Index(row + pair_left[pair])]
        count = sums.used[0]
        sums.first[cell] = count
        for pair in range(pairs):
            if of_pair[pair] > 0:
                sums.pair[count], sums.value[count] = pair, of_pair[pair]
                count += 1
            of_pair[pair] = 0
        sums.last[cell], sums.used[0] = count, count
    left_value[: listed * n_left] = 0
    return fits
