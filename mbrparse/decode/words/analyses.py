"""The analyses of a prefix: the most probable of its partial trees.

An *analysis* of the first k words is the part of a derivation that reaches them: the constituents that hold
one of them, and beside these, as single symbols, what is still to come of those that are open. It is what a
top-down parser has built after word k: the first rules of a derivation in preorder, up to the k-th word's.
Its probability is that of its rules, which is that of all derivations that begin so. Left recursion gives a
prefix infinitely many, each chain less probable than a shorter one.

From the word upwards an analysis is a path: its preterminal is expected at the word; a symbol is expected at
a place as a root, as the first child of one that is expected there, or as the second child of one that is
expected where its finished first child begins. The pass over prefixes has the best of each of these
(``left_corner.Logs``), so the search for the K best looks at K derivations in part at a time: it takes a part
that is open, puts the K best ways to make it in its place, and keeps the K of all that lead to the best ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mbrparse.charts.exhaustive.prefix_passes import TINY
from mbrparse.charts.exhaustive.prefix_tables import PairedRules
from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.left_corner import LEAST_COST
from mbrparse.charts.packed_forest import forest_cell
from mbrparse.charts.rule_tables import Floats, Ints, Offsets
from mbrparse.charts.vector import LANES
from mbrparse.decode.tree_probability import share
from mbrparse.decode.words.prefixes import FilledPass, Prefixes, PrefixValues
from mbrparse.decode.words.written_words import OF_WORDS, Row
from mbrparse.grammar.pcfg import UNKNOWN_TERMINAL, IntArray
from mbrparse.grammar.rules import is_terminal, unquote
from mbrparse.treebank.labels import SIBLING, is_continuation_label, parse_label, unescape
from mbrparse.treebank.tree import bracket_free


class Ways(NamedTuple):
    """The K best ways to make something, the best first.

    A way is a rule (parent, left and right child; -1: none), and two things that are to be made in turn (-1:
    none): nodes, or a symbol that is expected at a place (``_expected``).
    """

    score: Floats  # [K, 2]: with the best of what it leads to, and its own
    way: Offsets  # [K, 5]


@inner_kernel
def _insert(values: Floats, rows: Offsets, count: int, value: float) -> int:
    """Make room for a value among the best, which are sorted by their first columns; -1: it is none of them.

    Of equal ones the first is best.
    """
    if value == -np.inf or (count == len(values) and value <= values[count - 1, 0]):
        return -1
    place = min(count, len(values) - 1)
    while place > 0 and values[place - 1, 0] < value:
        for column in range(values.shape[1]):
            values[place, column] = values[place - 1, column]
        for column in range(rows.shape[1]):
            rows[place, column] = rows[place - 1, column]
        place -= 1
    values[place, 0] = value
    return place


@inner_kernel
def _offer(
    ways: Ways, count: int, value: float, own: float, parent: int, left: int, right: int, one: int, two: int
) -> int:
    """Keep a way if it is among the best; returns how many there are."""
    place = _insert(ways.score, ways.way, count, value)
    if place < 0:
        return count
    way = ways.way[place]
    ways.score[place, 1] = own
    way[0], way[1], way[2], way[3], way[4] = parent, left, right, one, two
    return min(count + 1, len(ways.way))


@inner_kernel
def _place_of(symbols: Ints, first: int, last: int, symbol: int) -> int:
    """Where a symbol stands among those sorted from first to last; -1: nowhere."""
    low: Any = np.int64(first)
    high: Any = np.int64(last)
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    return low if low < last and symbols[low] == symbol else -1


@inner_kernel
def _lanes(rules: PairedRules, pair: int) -> Any:
    """The places of a pair's rules; none of no pair."""
    if pair < 0:
        return 0, 0
    return LANES * np.int64(rules.block_start[pair]), LANES * np.int64(rules.block_start[pair + 1])


@inner_kernel
def _ways_of_node(filled: FilledPass, node: int, end: int, ways: Ways) -> int:
    """Fill the ways of a constituent that ends somewhere."""
    tables, words, memory, _ = filled
    rules, unary, inside, symbols = tables.by_left, tables.unary, memory.inside, memory.symbol
    cells, start, symbol, count = memory.cell_first, memory.begin[node], symbols[node], 0
    if end - start == 1:
        for entry in range(words.start[start], words.start[end]):
            if words.symbol[entry] == symbol:
                count = _offer(ways, count, words.prob[entry], words.prob[entry], symbol, -1, -1, -1, -1)
    for split in range(start + 1, end):
        cell = forest_cell(split, end)
        first, last, cell = cells[cell], cells[cell + 1], forest_cell(start, split)
        for left in range(cells[cell], cells[cell + 1]):
            other = symbols[left]
            pair = _place_of(rules.other, rules.start[other], rules.start[other + 1], symbol)
            for place in range(*_lanes(rules, pair)):
                own, third = rules.prob[place], rules.third[place // LANES] + place % LANES
                right = _place_of(symbols, first, last, third) if own > -np.inf else -1
                if right >= 0:
                    value = own + inside[left] + inside[right]
                    count = _offer(ways, count, value, own, symbol, other, third, left, right)
    cell = forest_cell(start, end)
    for child in range(cells[cell], cells[cell + 1]):
        for rule in range(unary.rule_start[symbols[child]], unary.rule_start[symbols[child] + 1]):
            if unary.rule_parent[rule] == symbol:
                own = unary.rule_prob[rule]
                count = _offer(ways, count, own + inside[child], own, symbol, symbols[child], -1, child, -1)
    return count


@inner_kernel
def _ways_of_expected(filled: FilledPass, at: int, symbol: int, nodes: int, ways: Ways) -> int:
    """Fill the ways in which a symbol is expected at a place; ``nodes`` is the number of all constituents."""
    tables, _, memory, room = filled
    expected, unary, rules, count = room.expected, tables.unary, tables.by_right, 0
    size, here = expected.shape[1], nodes + at * expected.shape[1]
    if at == 0:
        count = _offer(ways, count, tables.root[symbol], tables.root[symbol], -1, -1, -1, -1, -1)
    for pair in range(np.int64(rules.start[symbol]), np.int64(rules.start[symbol + 1])):
        node = memory.newest[at, rules.other[pair]] if at > 0 else -1
        while node >= 0:
            begin, left = memory.begin[node], memory.symbol[node]
            for place in range(*_lanes(rules, pair)):
                own, parent = rules.prob[place], rules.third[place // LANES] + place % LANES
                if own > -np.inf:
                    value = own + expected[begin, parent] + memory.inside[node]
                    up = nodes + begin * size + parent
                    count = _offer(ways, count, value, own, parent, left, symbol, node, up)
            node = memory.older[node]
    rules = tables.by_left
    for pair in range(np.int64(rules.start[symbol]), np.int64(rules.start[symbol + 1])):
        parent = rules.other[pair]
        for place in range(*_lanes(rules, pair)):
            own, third = rules.prob[place], rules.third[place // LANES] + place % LANES
            value, up = own + expected[at, parent], here + parent
            count = _offer(ways, count, value, own, parent, symbol, third, -1, up)
    for rule in range(unary.rule_start[symbol], unary.rule_start[symbol + 1]):
        own, parent = unary.rule_prob[rule], unary.rule_parent[rule]
        value, up = own + expected[at, parent], here + parent
        count = _offer(ways, count, value, own, parent, symbol, -1, -1, up)
    return count


@inner_kernel
def _ways_of_last(filled: FilledPass, k: int, nodes: int, ways: Ways) -> int:
    """Fill the ways of the last word of a prefix, or with one word more than there are, of the sentence."""
    (tables, words, memory, room), count = filled, 0
    if k < len(words.start):
        for entry in range(words.start[k - 1], words.start[k]):
            symbol, own = words.symbol[entry], words.prob[entry]
            value, up = own + room.expected[k - 1, symbol], nodes + (k - 1) * room.expected.shape[1] + symbol
            count = _offer(ways, count, value, own, symbol, -1, -1, -1, up)
        return count
    cell = forest_cell(0, k - 1)
    for node in range(memory.cell_first[cell], memory.cell_first[cell + 1]):
        own = tables.root[memory.symbol[node]]
        count = _offer(ways, count, own + memory.inside[node], own, -1, -1, -1, node, -1)
    return count


@kernel
def best_analyses(filled: FilledPass, last: int, most: int) -> tuple[Any, Any, Any]:
    """The ``most`` best analyses of the first 1, 2, .. ``last`` words, and of the sentence if these are all.

    Returns lists: of ways (two scores, then as ``Ways``, then whether it is along the path), of the ways of
    all analyses in preorder, and of where each ends, behind its number of words (n + 1: the sentence).
    """
    size, cell_first = filled.room.expected.shape[1], filled.memory.cell_first
    nodes, until = cell_first[forest_cell(0, last) + 1], last + (last == len(filled.words.start) - 1)
    finals = nodes + last * size
    node_end, first = np.empty(nodes, np.int32), np.full((finals + until + 1, 2), -1, np.int64)
    for end in range(1, last + 1):
        cells = cell_first[forest_cell(end - 1, end) : forest_cell(0, end) + 2]
        node_end[cells[0] : cells[-1]] = end
    kept = Ways(np.empty((most, 2)), np.empty((most, 5), np.int64))
    # Empty lists, whose kind is known.
    ways, taken = [(0.0, 0.0, 0, 0, 0, 0, 0, 0) for _ in range(0)], [0 for _ in range(0)]
    ends = [(0, 0) for _ in range(0)]
    for k in range(1, until + 1):
        # Lists that share their ends: of what is to be made, and of the ways taken (-1: empty). The best
        # derivations in part, each with one list of both.
        link: Any = [(np.int64(finals + k), np.int64(-1))]
        total, lists, held = np.zeros((most, 2)), np.full((most, 2), -1, np.int64), 1
        lists[0, 0] = chosen = 0
        while chosen < held:
            if lists[chosen, 0] < 0:
                chosen += 1
                continue
            (part, rest), before = link[lists[chosen, 0]], lists[chosen, 1]
            if first[part, 0] < 0:
                if part < nodes:
                    found = _ways_of_node(filled, part, node_end[part], kept)
                elif part < finals:
                    at, symbol = (part - nodes) // size, (part - nodes) % size
                    found = _ways_of_expected(filled, at, symbol, nodes, kept)
                else:
                    found = _ways_of_last(filled, k, nodes, kept)
                first[part, 0], first[part, 1] = len(ways), len(ways) + found
                for one in range(found):
                    new, (value, own) = kept.way[one], (kept.score[one, 0], kept.score[one, 1])
                    ways.append((value, own, new[0], new[1], new[2], new[3], new[4], int(part >= nodes)))
            base, held = total[chosen, 0] - ways[first[part, 0]][0] if before >= 0 else 0.0, held - 1
            for place in range(chosen, held):
                total[place], lists[place] = total[place + 1], lists[place + 1]
            for way in range(first[part, 0], first[part, 1]):
                place = _insert(total, lists, held, base + ways[way][0])
                if place < 0:
                    break
                held, stack = min(held + 1, most), rest
                for child in (ways[way][6], ways[way][5]):
                    if child >= 0:
                        link.append((child, stack))
                        stack = np.int64(len(link) - 1)
                link.append((np.int64(way), before))
                lists[place, 0], lists[place, 1] = stack, len(link) - 1
            chosen = 0
        for one in range(held):
            # Along the path upwards, each with what is below it, and the last one first.
            at, segment = lists[one, 1], len(taken)
            while at >= 0:
                way, at = link[at]
                taken.insert(segment, way)
                if ways[way][7]:
                    segment = len(taken)
            ends.append((k, len(taken)))
    return ways, taken, ends


#: So many may be asked for.
MOST = 1000
#: An analysis is alive while the best is not so many times as probable.
ALIVE = 10.0
#: What stands for the words of a constituent that is still to come.
TO_COME = "..."


class Analysis(NamedTuple):
    """An analysis: its rules (parent, left and right child; -1: none) in preorder.

    ``log_probs`` are those of the root as such and of the rules, ``log_prob`` is their sum.
    """

    rules: tuple[tuple[int, ...], ...]
    log_probs: Floats
    log_prob: float

    def until(self, k: int) -> int:
        """How many of the rules are of the first k words."""
        ends = [place for place, rule in enumerate(self.rules, start=1) if rule[1] < 0]
        return ends[min(k, len(ends)) - 1]


class Analyses:
    """Finds the ``most`` best analyses of the prefixes of sentences, and tells what becomes of them."""

    def __init__(self, prefixes: Prefixes, most: int) -> None:
        self._prefixes, self._most = prefixes, most
        symbols, least = prefixes.grammar.symbols, prefixes.lexicon.prob.min(initial=1.0)
        self._logs = None if prefixes.corners(None).least * least > TINY else True
        names = [bracket_free(unquote(one) if is_terminal(one) else one) for one in symbols]
        self._opening = [f" ({name}" for name in names]
        self._bare = [
            f" {name}" if is_terminal(one) else "" for one, name in zip(symbols, names, strict=True)
        ]
        self._is_continuation = list(map(is_continuation_label, symbols))
        self._beginnings = lru_cache(maxsize=256)(self._beginning_with)
        self._to_come = list(map(_to_come, symbols, self._is_continuation, names))

    def of_prefixes(self, tokens: IntArray) -> list[list[Analysis]]:
        """Those of the first 1, 2, .. words, and at last those of the sentence: its trees.

        Raises ChartOverflowError.
        """
        n, unknown = len(tokens), np.flatnonzero(tokens == UNKNOWN_TERMINAL)
        found: list[list[Analysis]] = [[] for _ in range(n + 1)]
        known = tokens[: unknown[0]] if len(unknown) else tokens
        filled = self._prefixes.filled(known, n, False)
        last = int(np.isfinite(filled.room.prefix).sum()) - 1
        if last == 0:
            return found
        ways, taken, ends = best_analyses(filled, last, self._most)
        listed, begin = [ways[way][2:5] for way in taken], 0
        logs = np.array([ways[way][1] for way in taken])
        logs[logs >= -LEAST_COST] = 0.0
        for k, end in ends:
            own = logs[begin:end]
            found[k - 1].append(Analysis(tuple(listed[begin + 1 : end]), own, float(own.sum())))
            begin = end
        return found

    def rows(
        self, words: Sequence[str], tokens: IntArray, values: PrefixValues
    ) -> tuple[list[Row], list[list[Row]]]:
        """For each word and the end, columns of its row (``OF_WORDS``), and the rows of its analyses.

        What wins is the most probable tree of the sentence, or where there is none the best analysis of all
        words.
        """
        found, n, spoken = self.of_prefixes(tokens), len(tokens), list(map(bracket_free, words))
        winner = next((one[0] for one in (found[n], *found[n - 1 : n]) if one), None)
        totals = [*values.log_prefix[1:].tolist(), values.log_prob]
        of_words, listed, before = list[Row](), list[list[Row]](), dict[object, int]()
        for k, (best, total) in enumerate(zip(found, totals, strict=True), start=1):
            follows = self._beginnings(int(tokens[k])) if k < n else None
            rows, ranks, end = list[Row](), dict[object, int](), winner.until(k) if winner else 0
            wins = winner.rules[:end] if winner else ()
            for rank, one in enumerate(best, start=1):
                text, open_brackets, expected = self._written(one, spoken)
                log_next = 0.0 if expected < 0 and k == n else -math.inf
                if expected >= 0 and follows is not None:
                    log_next = float(follows[expected])
                row: Row = {"analysis_rank": rank, "probability": share(one.log_prob, total)}
                row["continues"] = before.get(one.rules[: one.until(k - 1)], math.nan)
                row["continued"] = share(one.log_prob + log_next, totals[k] if k <= n else -math.inf)
                row["open_brackets"], row["analysis"] = open_brackets, text
                row["wins"], ranks[one.rules] = int(wins == one.rules), rank
                rows.append(row)
            alive = sum(row["probability"] * ALIVE >= rows[0]["probability"] for row in rows)
            row = rows[0] if rows else {"analysis": "", "probability": math.nan, "open_brackets": math.nan}
            columns = [row["analysis"], row["probability"], row["open_brackets"], alive, math.nan, math.nan]
            if winner:
                log_prob = float(winner.log_probs[: end + 1].sum())
                columns[-2:] = ranks.get(wins, math.nan), share(log_prob, total)
            of_words.append(dict(zip(OF_WORDS, columns, strict=True)))
            before = ranks
            listed.append(rows)
        return of_words, listed

    def _beginning_with(self, terminal: int) -> Floats:
        """By symbol, the log probability that what it derives begins with a terminal."""
        lexicon, logs, given = self._prefixes.lexicon, self._logs, np.zeros(len(self._opening))
        if terminal != UNKNOWN_TERMINAL:
            some = slice(*lexicon.start[terminal : terminal + 2])
            given[lexicon.symbol[some]] = lexicon.prob[some]
        with np.errstate(divide="ignore"):
            corners = self._prefixes.corners(logs)
            return np.log(corners.above(given, None)) if logs is None else corners.above(np.log(given), logs)

    def _written(self, analysis: Analysis, words: Sequence[str]) -> tuple[str, int, int]:
        """An analysis in brackets, without continuations.

        Returns it, the number of constituents that are open, and the symbol that comes next (-1: none).
        """
        end, spoken, parts = -1, iter(words), list[str]()
        stack = [analysis.rules[0][0]]  # symbols, and the ends of constituents
        for symbol, left, right in analysis.rules:
            while stack.pop() == end:
                parts.append(")")
            if left < 0:
                word = next(spoken)
                parts.append(self._bare[symbol] or f"{self._opening[symbol]} {word})")
                continue
            if not (self._is_continuation[symbol] and parts):
                parts.append(self._opening[symbol])
                stack.append(end)
            stack += (right, left) if right >= 0 else (left,)
        open_brackets, following = 0, -1
        for one in reversed(stack):
            if one != end and following < 0:
                following = one
            open_brackets += one == end and following >= 0
            parts.append(")" if one == end else f" {self._to_come[one]}")
        return "".join(parts)[1:], open_brackets, following


def _to_come(symbol: str, is_continuation: bool, name: str) -> str:
    """What is written for a symbol that is still to come; a continuation may name its siblings."""
    if not is_continuation:
        return f"({name} {TO_COME})"
    siblings = [unescape(mark[1:]) for mark in parse_label(symbol).annotations if mark.startswith(SIBLING)]
    return " ".join(f"({unquote(one) if is_terminal(one) else one} {TO_COME})" for one in siblings) or TO_COME
