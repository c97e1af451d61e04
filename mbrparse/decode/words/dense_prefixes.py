"""Prefixes of a group of sentences, one a lane, from dense charts: what ``prefix_pass`` does for one.

The sums over starts are those of dense cells over splits: y takes the place of the left children, a rule
A -> B C that of one which makes C of A and B. It takes a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.inside_nodes import powers
from mbrparse.charts.base.memory import aligned_rows
from mbrparse.charts.base.rule_tables import (
    Floats,
    Ints,
    Rules,
    RulesByChild,
    rules_by_child,
    starts,
    wide_symbols,
)
from mbrparse.charts.base.vector import load, multiply, multiply_add, spread, store, zeros
from mbrparse.charts.dense.dense_charts import DenseCharts
from mbrparse.charts.dense.dense_splits import Splits, apply_rules, sum_splits
from mbrparse.charts.dense.dense_state import DenseState, Tiles, WideRules, tiles_of
from mbrparse.charts.kernel import kernel
from mbrparse.decode.words.prefix_kernels import PrefixRoom, PrefixTables
from mbrparse.grammar.pcfg import IntArray

# Values between are exact: what is lost to the range of numbers is far below their last digits.
_LEAST, _MOST = 2.0**-400, 2.0**400


class _Tables(NamedTuple):
    tiles: Tiles  # of pairs of a parent and its left child, which is wide
    rules: WideRules  # by right child, with the pair of each
    narrow: RulesByChild  # by left child, which is not wide
    prefix: PrefixTables


class _Room(NamedTuple):
    """What is found for each k, by lane: y_k [(n + 1) * symbols, lanes], others [n + 1, lanes]; scratch.

    Values are multiplied by the powers of two of the first k words, those of ``word`` by word k's too.
    """

    expected: Floats
    word: Floats
    tag: Floats
    end: Floats
    arriving: Floats  # scratch
    work: Floats
    pairs: Floats


class DensePrefixes:
    """Prefixes by the lanes of a grammar."""

    def __init__(self, lanes: DenseCharts, rules: Rules, tables: PrefixTables) -> None:
        self.lanes = lanes
        wide = np.full(rules.n_symbols, -1, np.int64)
        wide[wide_symbols(rules)] = np.arange(len(wide_symbols(rules)))
        inner = np.flatnonzero(wide[rules.left] >= 0)
        left, right, slot = tiles_of(
            rules.parent[inner].astype(np.int64), wide[rules.left[inner]], int(wide.max()) + 1
        )
        order = np.lexsort((slot, rules.right[inner]))
        start = starts(rules.right[inner][order], rules.n_symbols)
        pairs = WideRules(start, slot[order].astype(np.uint32), rules.prob[inner][order])
        narrow = rules_by_child(rules, True, wide[rules.left] < 0)
        self._tables = _Tables(Tiles(left, right), pairs, narrow, tables)
        self._scratch = [aligned_rows(rows, np.float64) for rows in (*[rules.n_symbols] * 2, len(right))]

    def rooms(self, sentences: Sequence[IntArray]) -> list[PrefixRoom | None]:
        """Of each sentence; None where values may have left the range of numbers, or a prefix is impossible.

        Raises TimeLimitError.
        """
        state, inside = self.lanes.inside(sentences)
        symbols, height = len(self._tables.prefix.root), state.longest + 1
        columns = [aligned_rows(rows, np.float64) for rows in (height * symbols, *[height] * 3)]
        room = _Room(*columns, *self._scratch)
        _dense_prefixes(self._tables, state, inside, room, self.lanes.clock.stop)
        self.lanes.clock.check()
        found, word = list[PrefixRoom | None](), 0
        expected = room.expected.reshape(height, symbols, -1)
        most = np.maximum(expected.max(axis=1), room.end)
        for lane, tokens in enumerate(sentences):
            n = len(tokens)
            shift = state.group.shift[word : word + n]
            word += n
            scaled, end = room.word[:n, lane], room.end[: n + 1, lane].copy()
            # Not a number, too.
            if not (np.minimum(scaled, end[n]).min() >= _LEAST and most[: n + 1, lane].max() <= _MOST):
                found.append(None)
                continue
            each = np.append(1.0, scaled), np.append(np.ldexp(scaled, -shift), 0.0)
            tag = room.tag[: n + 1, lane].copy()
            found.append(PrefixRoom(expected[: n + 1, :, lane].copy(), -powers(shift), *each, tag, end))
        return found


@kernel
def _dense_prefixes(tables: _Tables, state: DenseState, inside: Floats, room: _Room, stop: Ints) -> None:
    tiles, rules, narrow, prefix = tables
    first, parent, right, prob = narrow
    expected, word, tag, end, arriving, work, pairs = room
    group, offsets, n_wide, least = state.group, state.offsets, state.n_wide, state.least
    length, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = group
    root, count, lanes = prefix.root, len(prefix.root), expected.shape[1]
    for k in range(state.longest + 1):
        if stop[0]:
            return
        number = k - least + 1  # of the starts of wide symbols that end here
        if k == 0:
            for symbol in range(count):
                arriving[symbol] = root[symbol]
        else:
            if number > 0:
                splits = Splits(
                    number,
                    0,
                    count * lanes,
                    lanes,
                    (offsets[0] + k * n_wide) * lanes,
                    (offsets[1] - offsets[0]) * lanes,
                    n_wide * lanes,
                    lanes,
                )
                sum_splits(tiles, pairs, expected, inside, splits, None)
            for symbol in range(count):
                total = zeros(arriving)
                if number > 0:
                    total = apply_rules(rules, pairs, symbol, total, None)
                store(arriving, symbol, 0, total)
            before = (k - 1) * count
            for lane in range(lanes):
                if k > length[lane]:
                    continue
                for entry in range(entry_start[lane, k - 1], entry_start[lane, k]):
                    symbol = entry_symbol[entry]
                    if entry_wide[entry] < 0:
                        for rule in range(first[symbol], first[symbol + 1]):
                            value = entry_prob[entry] * prob[rule] * expected[before + parent[rule], lane]
                            arriving[right[rule], lane] += value
                        if k == 1:
                            end[1, lane] += root[symbol] * entry_prob[entry]
                if number > 0:
                    for wide in range(n_wide):
                        value = inside[offsets[0] + k * n_wide + wide, lane]
                        end[k, lane] += root[state.tables.symbol[wide]] * value
        _close(prefix, arriving, work, expected, k * count)
        for lane in range(lanes):
            if k < length[lane]:
                for entry in range(entry_start[lane, k], entry_start[lane, k + 1]):
                    symbol = entry_symbol[entry]
                    if entry_prob[entry] > 0:
                        value = expected[k * count + symbol, lane]
                        tag[k, lane] += value * prefix.lexical[symbol]
                        word[k, lane] += value * entry_prob[entry]


@kernel
def _close(tables: PrefixTables, given: Floats, work: Floats, closed: Floats, base: int) -> None:
    """``left_corner.close_left`` of vectors, into the rows of ``closed`` from ``base`` on."""
    row_place, column_place, lower_start, lower_row, lower, upper_start, upper_row, upper = tables.corners
    count = len(row_place)
    for symbol in range(count):
        store(work, row_place[symbol], 0, load(given, symbol, 0))
    for column in range(count):
        value = load(work, column, 0)
        for entry in range(lower_start[column], lower_start[column + 1]):
            row = lower_row[entry]
            store(work, row, 0, multiply_add(spread(lower, entry), value, load(work, row, 0)))
    for column in range(count - 1, -1, -1):
        last = upper_start[column + 1] - 1
        value = multiply(spread(upper, last), load(work, column, 0))
        store(work, column, 0, value)
        for entry in range(upper_start[column], last):
            row = upper_row[entry]
            store(work, row, 0, multiply_add(spread(upper, entry), value, load(work, row, 0)))
    for symbol in range(count):
        store(closed, base, symbol, load(work, column_place[symbol], 0))
