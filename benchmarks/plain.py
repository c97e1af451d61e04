"""The plain active-list kernel that the benchmark carries: what a competent user would write in numba.

One sentence at a time, probabilities as they are (no scaling: fit for some hundred tags), textbook loops:
for each span, each split, each symbol that is alive on the left, each rule with that left child. A cell
keeps a list of the symbols that are alive in it, next to its row of values by symbol; rows are cleared by
these lists, so that a large grammar does not pay for symbols that are not there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from mbrparse.grammar.pcfg import PCFG

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(function: Kernel) -> Kernel:
    """As the library compiles its own kernels."""
    return cast("Kernel", numba.njit(cache=True, error_model="numpy")(function))


class Rules(NamedTuple):
    """Binary rules sorted by left child, lexical rules by terminal."""

    first: Ints  # rules of left child b: first[b] .. first[b + 1]
    parent: Ints
    right: Ints
    prob: Floats
    lexical_first: Ints
    lexical_symbol: Ints
    lexical_prob: Floats
    root: Floats


class Cells(NamedTuple):
    """A chart: cells by start and end, values by symbol, and which symbols are alive."""

    inside: Floats  # [cell, symbol]; the best derivation's probability for Viterbi
    outside: Floats  # [cell, symbol]
    alive: Ints  # [cell, place]
    size: Ints  # [cell]: how many are alive


@compiled
def _cell(start: int, end: int) -> int:
    """Cells column by column: their numbers do not depend on the sentence's length."""
    return end * (end - 1) // 2 + start


@compiled
def _enter_words(rules: Rules, words: Ints, cells: Cells) -> None:
    for position in range(len(words)):
        cell = _cell(position, position + 1)
        for entry in range(rules.lexical_first[words[position]], rules.lexical_first[words[position] + 1]):
            symbol = rules.lexical_symbol[entry]
            cells.inside[cell, symbol] = rules.lexical_prob[entry]
            cells.alive[cell, cells.size[cell]] = symbol
            cells.size[cell] += 1


@compiled
def fill_inside(rules: Rules, words: Ints, cells: Cells) -> float:
    """Inside probabilities; returns the sentence's."""
    length = len(words)
    inside, alive, size = cells.inside, cells.alive, cells.size
    _enter_words(rules, words, cells)
    for width in range(2, length + 1):
        for start in range(length - width + 1):
            end = start + width
            cell = _cell(start, end)
            for split in range(start + 1, end):
                left_cell, right_cell = _cell(start, split), _cell(split, end)
                if size[right_cell] == 0:
                    continue
                for place in range(size[left_cell]):
                    left = alive[left_cell, place]
                    left_value = inside[left_cell, left]
                    for rule in range(rules.first[left], rules.first[left + 1]):
                        right_value = inside[right_cell, rules.right[rule]]
                        if right_value == 0.0:
                            continue
                        parent = rules.parent[rule]
                        if inside[cell, parent] == 0.0:
                            alive[cell, size[cell]] = parent
                            size[cell] += 1
                        inside[cell, parent] += left_value * right_value * rules.prob[rule]
    total = 0.0
    top = _cell(0, length)
    for place in range(size[top]):
        total += rules.root[alive[top, place]] * inside[top, alive[top, place]]
    return total


@compiled
def fill_outside(rules: Rules, length: int, cells: Cells) -> None:
    """Outside probabilities of all that is alive."""
    inside, outside, alive, size = cells.inside, cells.outside, cells.alive, cells.size
    top = _cell(0, length)
    for place in range(size[top]):
        outside[top, alive[top, place]] = rules.root[alive[top, place]]
    for width in range(length, 1, -1):
        for start in range(length - width + 1):
            end = start + width
            cell = _cell(start, end)
            live = False
            for place in range(size[cell]):
                live = live or outside[cell, alive[cell, place]] > 0.0
            if not live:
                continue
            for split in range(start + 1, end):
                left_cell, right_cell = _cell(start, split), _cell(split, end)
                if size[right_cell] == 0:
                    continue
                for place in range(size[left_cell]):
                    left = alive[left_cell, place]
                    left_value = inside[left_cell, left]
                    received = 0.0
                    for rule in range(rules.first[left], rules.first[left + 1]):
                        right = rules.right[rule]
                        right_value = inside[right_cell, right]
                        if right_value == 0.0:
                            continue
                        weight = outside[cell, rules.parent[rule]] * rules.prob[rule]
                        received += weight * right_value
                        outside[right_cell, right] += weight * left_value
                    outside[left_cell, left] += received


@compiled
def fill_viterbi(rules: Rules, words: Ints, cells: Cells, split_of: Ints, rule_of: Ints) -> float:
    """Maxima for sums; returns the probability of the best derivation."""
    length = len(words)
    best, alive, size = cells.inside, cells.alive, cells.size
    _enter_words(rules, words, cells)
    for width in range(2, length + 1):
        for start in range(length - width + 1):
            end = start + width
            cell = _cell(start, end)
            for split in range(start + 1, end):
                left_cell, right_cell = _cell(start, split), _cell(split, end)
                if size[right_cell] == 0:
                    continue
                for place in range(size[left_cell]):
                    left = alive[left_cell, place]
                    left_value = best[left_cell, left]
                    for rule in range(rules.first[left], rules.first[left + 1]):
                        right_value = best[right_cell, rules.right[rule]]
                        if right_value == 0.0:
                            continue
                        value = left_value * right_value * rules.prob[rule]
                        parent = rules.parent[rule]
                        if value > best[cell, parent]:
                            if best[cell, parent] == 0.0:
                                alive[cell, size[cell]] = parent
                                size[cell] += 1
                            best[cell, parent] = value
                            split_of[cell, parent] = split
                            rule_of[cell, parent] = rule
    largest = 0.0
    top = _cell(0, length)
    for place in range(size[top]):
        largest = max(largest, rules.root[alive[top, place]] * best[top, alive[top, place]])
    return largest


@compiled
def clear(cells: Cells, length: int, with_outside: bool) -> None:
    """Make the cells of a sentence empty again."""
    for cell in range(_cell(length - 1, length) + 1):
        for place in range(cells.size[cell]):
            cells.inside[cell, cells.alive[cell, place]] = 0.0
            if with_outside:
                cells.outside[cell, cells.alive[cell, place]] = 0.0
        cells.size[cell] = 0


class PlainCharts:
    """The kernels and the memory that they fill, for one grammar."""

    def __init__(self, grammar: PCFG, longest: int) -> None:
        order = np.lexsort((grammar.parent, grammar.right, grammar.left))
        symbols = len(grammar.symbols)
        self._rules = Rules(
            _starts(grammar.left[order], symbols),
            grammar.parent[order],
            grammar.right[order],
            np.exp(grammar.log_prob[order]),
            _starts(grammar.lexical_terminal, len(grammar.terminals)),
            grammar.lexical_symbol,
            np.exp(grammar.lexical_log_prob),
            np.exp(grammar.root_log_prob),
        )
        cells = longest * (longest + 1) // 2
        self._cells = Cells(
            np.zeros((cells, symbols)),
            np.zeros((cells, symbols)),
            np.zeros((cells, symbols), np.int32),
            np.zeros(cells, np.int32),
        )
        self._split_of, self._rule_of = (np.zeros((cells, symbols), np.int32) for _ in range(2))

    def inside_outside(self, words: Ints) -> float:
        """Fill inside and outside of a sentence; its log probability."""
        total = fill_inside(self._rules, words, self._cells)
        if total > 0.0:
            fill_outside(self._rules, len(words), self._cells)
        clear(self._cells, len(words), True)
        return math.log(total) if total > 0.0 else -math.inf

    def viterbi(self, words: Ints) -> float:
        """Fill the best derivations of a sentence; the best one's log probability."""
        best = fill_viterbi(self._rules, words, self._cells, self._split_of, self._rule_of)
        clear(self._cells, len(words), False)
        return math.log(best) if best > 0.0 else -math.inf


def _starts(keys: NDArray[Any], count: int) -> Ints:
    return np.searchsorted(keys, np.arange(count + 1)).astype(np.int32)
