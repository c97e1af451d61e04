"""The passes of prefixes and of gaps over a sentence's inside values.

Left to right: u_k[C] is the expected number of C's whose first word is word k, without those at the left edge
of another such symbol, in derivations that begin with the first k words; y_k = u_k (I - P_L)^-1 adds these
(``left_corner``). u_0 are the roots, and

    u_k[C] = sum over i < k and rules A -> B C of y_i[A] p(A -> B C) inside(i, k)[B].

This is the prediction of Earley's parser (Stolcke 1995), without its items: O(n^2) once inside values are
there. The first k words and word w have the probability sum over A of y_k[A] p(A -> w).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.inside_nodes import InsideNodes
from mbrparse.charts.base.packed_forest import forest_cell
from mbrparse.charts.base.rule_tables import Floats, Ints, RulesByChild, Words
from mbrparse.charts.kernel import kernel
from mbrparse.decode.words.left_corner import LeftCorners, close_left

# A product below may have lost digits, or all of them, to the range of numbers.
TINY = 1e-290
# So improbable a word, next to those that were likely, may depend on what was lost.
LEAST_STEP = 1e-150


class PrefixTables(NamedTuple):
    """What the kernels read of a grammar."""

    by_left: RulesByChild
    corners: LeftCorners
    root: Floats
    lexical: Floats  # by symbol, the sum of its lexical rules
    is_lossy: bool  # whether products of left corners may have been lost to the range of numbers


class PrefixRoom(NamedTuple):
    """What is found for each k from 0 to the number of words, in units of 2^exponent[k]."""

    expected: Floats  # [n + 1, symbols]: y_k
    exponent: Ints
    prefix: Floats  # the probability of the first k words
    word: Floats  # that of word k after them (0 after the last)
    tag: Floats  # that of a word from some symbol which may be rewritten as it
    end: Floats  # that of the end


@kernel
def prefix_pass(tables: PrefixTables, nodes: InsideNodes, words: Words, room: PrefixRoom, stop: Ints) -> bool:
    """Fill the room (zero before), until ``stop``; False where the numbers' range does not suffice."""
    first, parent, right, prob = tables.by_left
    expected, exponent, root = room.expected, room.exponent, tables.root
    cell_first, symbol, inside, power = nodes
    n, count, lost = len(power) - 1, len(root), tables.is_lossy
    arriving, work = np.empty(count), np.empty(count)
    for k in range(n + 1):
        if stop[0]:
            return True
        unit, end_lost = 0, False
        if k == 0:
            arriving[:] = root
            room.prefix[0] = 1
        else:
            unit = exponent[k - 1]
            room.prefix[k] = room.word[k - 1]
            if room.prefix[k] == 0:
                return True
            arriving[:] = 0
            for start in range(k):
                before = expected[start]
                cell = forest_cell(start, k)
                factor = math.ldexp(1.0, exponent[start] - unit - (power[k] - power[start]))
                for node in range(cell_first[cell], cell_first[cell + 1]):
                    value = inside[node] * factor
                    lost = lost or value < TINY
                    for rule in range(first[symbol[node]], first[symbol[node] + 1]):
                        expectation = before[parent[rule]]
                        if expectation > 0:
                            passed = expectation * (prob[rule] * value)
                            lost = lost or passed < TINY
                            arriving[right[rule]] += passed
                if start == 0:
                    for node in range(cell_first[cell], cell_first[cell + 1]):
                        if root[symbol[node]] > 0:
                            passed = root[symbol[node]] * (inside[node] * math.ldexp(1.0, -unit - power[k]))
                            end_lost = end_lost or passed < TINY
                            room.end[k] += passed
        least = close_left(tables.corners, arriving, work, expected[k])
        lost = lost or least < TINY
        largest = expected[k].max()
        shift = max(math.frexp(largest)[1], -1000)
        scale = math.ldexp(1.0, -shift)
        expected[k] *= scale
        room.end[k] *= scale
        room.prefix[k] *= scale
        exponent[k] = unit + shift
        if k < n:
            for entry in range(words.entry_start[k], words.entry_start[k + 1]):
                expectation = expected[k, words.entry_symbol[entry]]
                if words.entry_prob[entry] > 0 and expectation > 0:
                    passed = expectation * words.entry_prob[entry]
                    lost = lost or passed < TINY
                    room.word[k] += passed
                    room.tag[k] += expectation * tables.lexical[words.entry_symbol[entry]]
            if room.word[k] < LEAST_STEP and (lost or room.word[k] > 0):
                return False
        elif room.end[k] < LEAST_STEP and end_lost:
            return False
    return True


class GapTables(NamedTuple):
    """What the pass of gaps reads of a grammar; unary rules as the closure U* by its bottom symbol."""

    by_left: RulesByChild
    by_right: RulesByChild
    root: Floats
    closure_start: Ints
    closure_top: Ints
    closure_value: Floats


@kernel
def gap_pass(tables: GapTables, nodes: InsideNodes, outside: Floats, stop: Ints) -> bool:
    """Fill ``outside`` [cell, symbol], zero before: of all symbols, whether they derive the span or not.

    Returns whether some value may have been lost to the range of numbers.
    """
    n, above, lost = len(nodes.power) - 1, np.empty(len(tables.root)), False
    outside[forest_cell(0, n)] = tables.root
    for end in range(n, 0, -1):
        for start in range(end):
            if stop[0]:
                return lost
            here = outside[forest_cell(start, end)]
            if here.max() == 0:
                continue
            above[:] = here
            for bottom in range(len(above)):
                here[bottom] = 0
                for entry in range(tables.closure_start[bottom], tables.closure_start[bottom + 1]):
                    passed = above[tables.closure_top[entry]] * tables.closure_value[entry]
                    lost = lost or (passed < TINY and above[tables.closure_top[entry]] > 0)
                    here[bottom] += passed
            for split in range(start + 1, end):
                left, right = forest_cell(start, split), forest_cell(split, end)
                lost = _pass_on(tables.by_right, nodes, right, here, outside[left]) or lost
                lost = _pass_on(tables.by_left, nodes, left, here, outside[right]) or lost
    return lost


@kernel
def _pass_on(rules: RulesByChild, nodes: InsideNodes, sibling: int, above: Floats, outside: Floats) -> bool:
    """Add to a cell what it has beside a sibling, whose rules are given, below the cell with ``above``."""
    first, parent, other, prob = rules
    lost = False
    for node in range(nodes.cell_first[sibling], nodes.cell_first[sibling + 1]):
        symbol, inside = nodes.symbol[node], nodes.inside[node]
        for rule in range(first[symbol], first[symbol + 1]):
            passed = above[parent[rule]] * prob[rule] * inside
            lost = lost or (passed < TINY and above[parent[rule]] > 0)
            outside[other[rule]] += passed
    return lost
