"""Inside and outside values of states at the nodes of observed trees (Matsuzaki et al. 2005).

Both are scaled at each node: the greatest inside value is 1, and sums of inside * outside over a node's
states are 1, so that outside values are posteriors relative to inside values and need no logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts import vector
from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.rule_tables import Floats, Ints

LANES = 8


class TreeArrays(NamedTuple):
    """Nodes of binarized trees, children before parents; the last node of each tree is ROOT's.

    A child is its place in its tree, or -1: there is none, or it is a terminal.
    """

    first: Ints  # [trees + 1] nodes
    rule: Ints  # [nodes]
    left: Ints  # [nodes]
    right: Ints  # [nodes]


class StateTables(NamedTuple):
    """Rules with states: of each rule rows of a left and a right child's state, and in each row all parents'.

    A child without states (none, or a terminal) is in state 0. The parent's states fill vectors.
    """

    symbol: Ints  # by rule, its parent
    row_first: Ints  # [rules + 1] rows
    value_first: Ints  # by rule, in ``value``
    row_left: Ints  # [rows]
    row_right: Ints  # [rows]
    width: Ints  # by symbol, how many numbers its states take, a multiple of LANES
    value: Floats  # probabilities, zero beyond the last state


class Pairs(NamedTuple):
    """States 2i and 2i + 1 of a symbol, whose merger is weighed; without shares nothing is."""

    first: Ints  # by symbol, where its states begin
    share: Floats  # [states] of the pair's expected frequency
    loss: Floats  # [states] at the even ones, the sum of log(P_n / P) over nodes: to be added up


@kernel
def expect_trees(
    trees: TreeArrays, tables: StateTables, pairs: Pairs, begin: int, end: int, sums: Floats
) -> Floats:
    """Add expected counts of trees ``begin`` to ``end``, each divided by its probability, to ``sums``.

    Returns the trees' log probabilities; a tree of probability zero is in no sum.
    """
    log_probs = np.zeros(end - begin)
    most = 0
    for tree in range(begin, end):
        size = LANES
        for node in range(trees.first[tree], trees.first[tree + 1]):
            size += tables.width[tables.symbol[trees.rule[node]]]
        most = max(most, size)
    # Vector 0 is that of children without states, whose state 0 has the value 1.
    inside, outside, scale = np.zeros(most), np.zeros(most), np.zeros(most // LANES)  # [numbers], [node]
    inside[0] = 1.0
    place = np.zeros(most // LANES + 1, np.int32)  # [1 + node] where its values begin
    for tree in range(begin, end):
        first, last = trees.first[tree], trees.first[tree + 1]
        beyond = LANES
        for node in range(first, last):
            place[1 + node - first] = beyond
            beyond += tables.width[tables.symbol[trees.rule[node]]]
        log_prob = _inside(trees, tables, first, last, inside, scale, place)
        log_probs[tree - begin] = log_prob
        if log_prob == -np.inf:
            continue
        _outside(trees, tables, first, last, sums, (inside, outside, scale, place, beyond))
        if len(pairs.share):
            for node in range(first, last):
                symbol = tables.symbol[trees.rule[node]]
                _add_losses(pairs, symbol, inside, outside, place[1 + node - first])
    return log_probs


@kernel
def _inside(
    trees: TreeArrays, tables: StateTables, first: int, last: int, inside: Floats, scale: Floats, place: Ints
) -> float:
    row_left, row_right, value = tables.row_left, tables.row_right, tables.value
    log_prob = 0.0
    for node in range(first, last):
        rule = trees.rule[node]
        width = tables.width[tables.symbol[rule]]
        left, right = place[1 + trees.left[node]], place[1 + trees.right[node]]
        mine, at = place[1 + node - first], tables.value_first[rule]
        for lane in range(mine, mine + width, LANES):
            vector.store_to(inside, lane, 0, vector.zeros(inside))
        for row in range(tables.row_first[rule], tables.row_first[rule + 1]):
            factor = inside[left + row_left[row]] * inside[right + row_right[row]]
            if factor > 0:
                by = vector.repeated(inside, factor)
                for lane in range(0, width, LANES):
                    known = vector.load_from(inside, mine, lane)
                    vector.store_to(
                        inside, mine, lane, vector.multiply_add(by, vector.load_from(value, at, lane), known)
                    )
            at += width
        largest = vector.load_from(inside, mine, 0)
        for lane in range(LANES, width, LANES):
            largest = vector.maximum(largest, vector.load_from(inside, mine, lane))
        greatest = vector.largest_of(largest)
        if not greatest > 0:
            return -np.inf
        by = vector.repeated(inside, 1.0 / greatest)
        for lane in range(0, width, LANES):
            vector.store_to(inside, mine, lane, vector.multiply(by, vector.load_from(inside, mine, lane)))
        scale[node - first] = greatest
        log_prob += np.log(greatest)
    return log_prob


@kernel
def _outside(
    trees: TreeArrays,
    tables: StateTables,
    first: int,
    last: int,
    sums: Floats,
    work: tuple[Floats, Floats, Floats, Ints, int],
) -> None:
    inside, outside, scale, place, beyond = work
    row_left, row_right, value = tables.row_left, tables.row_right, tables.value
    for at in range(0, beyond, LANES):
        vector.store_to(outside, at, 0, vector.zeros(outside))
    outside[place[last - first]] = 1.0
    for node in range(last - 1, first - 1, -1):
        rule = trees.rule[node]
        width = tables.width[tables.symbol[rule]]
        left, right = place[1 + trees.left[node]], place[1 + trees.right[node]]
        mine, at = place[1 + node - first], tables.value_first[rule]
        by = vector.repeated(outside, 1.0 / scale[node - first])
        for lane in range(0, width, LANES):
            vector.store_to(outside, mine, lane, vector.multiply(by, vector.load_from(outside, mine, lane)))
        for row in range(tables.row_first[rule], tables.row_first[rule + 1]):
            of_left, of_right = left + row_left[row], right + row_right[row]
            factor = inside[of_left] * inside[of_right]
            spread_factor, met = vector.repeated(inside, factor), vector.zeros(inside)
            for lane in range(0, width, LANES):
                above = vector.load_from(outside, mine, lane)
                met = vector.multiply_add(above, vector.load_from(value, at, lane), met)
                vector.store_to(
                    sums,
                    at,
                    lane,
                    vector.multiply_add(above, spread_factor, vector.load_from(sums, at, lane)),
                )
            mass = vector.total_of(met)
            outside[of_left] += mass * inside[of_right]
            outside[of_right] += mass * inside[of_left]
            at += width
        # What a node's outside is scaled by concerns its children alone.
        by = vector.repeated(outside, scale[node - first])
        for lane in range(0, width, LANES):
            vector.store_to(outside, mine, lane, vector.multiply(by, vector.load_from(outside, mine, lane)))


@inner_kernel
def _add_losses(pairs: Pairs, symbol: int, inside: Floats, outside: Floats, place: int) -> None:
    """Add what is lost at a node if pairs are merged: Petrov et al. (2006), section 2.2."""
    share, loss = pairs.share, pairs.loss
    for state in range(pairs.first[symbol], pairs.first[symbol + 1] - 1, 2):
        first = place + state - pairs.first[symbol]
        apart = inside[first] * outside[first] + inside[first + 1] * outside[first + 1]
        mixed = share[state] * inside[first] + share[state + 1] * inside[first + 1]
        together = mixed * (outside[first] + outside[first + 1])
        loss[state] += np.log(max(1.0 - apart + together, 1e-300))
