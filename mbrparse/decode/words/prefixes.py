"""The prefixes of a sentence: how probable they are, what may come next, and what any word may be.

Exact for a grammar whose derivations end with probability one (``tree_statistics``): what is still to come
of an unfinished constituent then has probability one.

Left to right: u_k[C] is the expected number of C's whose first word is word k, without those at the left edge
of another such symbol, in derivations that begin with the first k words; y_k = u_k (I - P_L)^-1 adds these
(``left_corner``). u_0 are the roots, and

    u_k[C] = sum over i < k and rules A -> B C of y_i[A] p(A -> B C) inside(i, k)[B].

This is the prediction of Earley's parser (Stolcke 1995), without its items: O(n^2) once inside values are
there. The sum over i comes first, for each pair of A and B. The first k words and word w have the probability
sum over A of y_k[A] p(A -> w).

What a word may be, given all others, follows from its outside values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mbrparse.charts import rule_tables
from mbrparse.charts.chart import TOO_IMPROBABLE, TOO_LARGE
from mbrparse.charts.exhaustive.factory import default_max_length
from mbrparse.charts.exhaustive.forests import Forests
from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.left_corner import LeftCorners, Logs, close_left, left_corners, plus, times, zero_of
from mbrparse.charts.packed_forest import InsideNodes, forest_cell
from mbrparse.charts.rule_tables import Closure, Floats, Indices, Ints, RulesByChild, Words
from mbrparse.charts.spans import begins
from mbrparse.errors import ChartOverflowError, NumberRangeError
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, FloatArray, IntArray
from mbrparse.grammar.tree_statistics import lexical_mass

# A product below may have lost digits, or all of them, to the range of numbers.
TINY = 1e-290
# What all such products of a step have lost is below this.
LOST = 1e-280
# What is next to impossible beside those that were likely may depend on what was lost.
LEAST_STEP = 1e-150
_DIGITS = 1e20
_MOST_BYTES = 2 << 30
Found = TypeVar("Found")
_NO_NODES = InsideNodes(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(1, np.int32))


class PrefixTables(NamedTuple):
    """What the pass of prefixes reads of a grammar."""

    pair_start: Indices  # by left child: its pairs with a parent
    pair_parent: Ints
    rule_start: Indices  # by pair: its rules
    right: Ints
    prob: Floats
    root: Floats
    lexical: Floats  # by symbol, the sum of its lexical rules


class PrefixRoom(NamedTuple):
    """What is found for each k from 0 to the number of words, in units of 2^exponent[k]."""

    expected: Floats  # [n + 1, symbols]: y_k
    exponent: Ints
    prefix: Floats  # the probability of the first k words
    word: Floats  # that of word k after them (nothing after the last)
    tag: Floats  # that of a word from some symbol which may be rewritten as it
    end: Floats  # that of the end


@kernel
def prefix_pass(
    tables: PrefixTables,
    corners: LeftCorners,
    nodes: InsideNodes,
    words: Words,
    room: PrefixRoom,
    logs: Logs,
) -> bool:
    """Fill the room (of nothing before); False where the numbers' range does not suffice."""
    root, lexical, expected, exponent = tables.root, tables.lexical, room.expected, room.exponent
    cell_first, symbol, inside, power = nodes
    zero, tiny = zero_of(logs), TINY if logs is None else -np.inf
    # Of what comes from the words before so much may be missing, in units of 2^exponent.
    n, count, missing = len(power) - 1, len(root), 0.0
    arriving, work, sums = np.empty(count), np.empty(count), np.empty(len(tables.pair_parent))
    for k in range(n + 1):
        unit, lost, end_lost = 0, False, False
        if k == 0:
            for one in range(count):  # to assign arrays takes numba seconds to compile
                arriving[one] = root[one]
            room.prefix[0] = 1.0 if logs is None else 0.0
        else:
            unit = exponent[k - 1]
            room.prefix[k] = room.word[k - 1]
            if room.prefix[k] == zero:
                return True
            lost = _arrive(tables, nodes, room, k, sums, arriving, logs)
            cell = forest_cell(0, k)
            for node in range(cell_first[cell], cell_first[cell + 1]):
                if root[symbol[node]] > zero:
                    value = inside[node]
                    if logs is None:
                        value *= math.ldexp(1.0, -unit - power[k])
                    passed = times(root[symbol[node]], value, logs)
                    end_lost |= passed < tiny
                    room.end[k] = plus(room.end[k], passed, logs)
        lost |= close_left(corners, arriving, work, expected[k], logs) < tiny
        exponent[k], scale = unit, 1.0
        if logs is None:
            shift = max(math.frexp(expected[k].max())[1], -1000)
            scale = math.ldexp(1.0, -shift)
            missing = (missing + (LOST if lost else 0.0)) * scale
            expected[k] *= scale
            room.end[k], room.prefix[k] = room.end[k] * scale, room.prefix[k] * scale
            exponent[k] = unit + shift
        if k < n:
            for entry in range(words.entry_start[k], words.entry_start[k + 1]):
                expectation = expected[k, words.entry_symbol[entry]]
                if words.entry_prob[entry] > zero and expectation > zero:
                    passed = times(expectation, words.entry_prob[entry], logs)
                    missing = max(missing, LOST if passed < tiny else 0.0)
                    room.word[k] = plus(room.word[k], passed, logs)
                    of_symbol = times(expectation, lexical[words.entry_symbol[entry]], logs)
                    room.tag[k] = plus(room.tag[k], of_symbol, logs)
            if logs is None and room.word[k] < missing * _DIGITS:
                return False
        elif logs is None and room.end[k] < (missing + (LOST * scale if end_lost else 0.0)) * _DIGITS:
            return False
    return True


@inner_kernel
def _arrive(
    tables: PrefixTables,
    nodes: InsideNodes,
    room: PrefixRoom,
    k: int,
    sums: Floats,
    arriving: Floats,
    logs: Logs,
) -> bool:
    """Fill u_k (``arriving``); ``sums`` is scratch. Returns whether some value may have been lost."""
    pair_start, pair_parent, rule_start, right, prob = tables[:5]
    cell_first, symbol, inside, power = nodes
    lost, zero, tiny = False, zero_of(logs), TINY if logs is None else -np.inf
    arriving[:] = zero
    sums[:] = zero
    for start in range(k):
        before, cell, factor = room.expected[start], forest_cell(start, k), 0.0
        if logs is None:
            scale = room.exponent[start] - room.exponent[k - 1] - (power[k] - power[start])
            factor = math.ldexp(1.0, scale)
        for node in range(cell_first[cell], cell_first[cell + 1]):
            value = times(inside[node], factor, logs)
            lost |= value < tiny
            for pair in range(pair_start[symbol[node]], pair_start[symbol[node] + 1]):
                expectation = before[pair_parent[pair]]
                passed = times(expectation, value, logs)
                lost |= (passed < tiny) & (expectation > zero)
                sums[pair] = plus(sums[pair], passed, logs)
    for pair in range(len(sums)):
        if sums[pair] > zero:
            for rule in range(rule_start[pair], rule_start[pair + 1]):
                passed = times(sums[pair], prob[rule], logs)
                lost |= passed < tiny
                arriving[right[rule]] = plus(arriving[right[rule]], passed, logs)
    return lost


@kernel
def gap_pass(
    by_left: RulesByChild,
    by_right: RulesByChild,
    closure: Closure,
    root: Floats,
    nodes: InsideNodes,
    outside: Floats,
    logs: Logs,
) -> bool:
    """Fill ``outside`` [cell, symbol], nothing before: of all symbols, whether they derive the span or not.

    Unary rules are given as their closure. Returns whether some value may have been lost to the range of
    numbers.
    """
    n, above, lost = len(nodes.power) - 1, np.empty(len(root)), False
    zero, tiny = zero_of(logs), TINY if logs is None else -np.inf
    for one in range(len(root)):
        outside[forest_cell(0, n), one] = root[one]
    for end in range(n, 0, -1):
        for start in range(end):
            here = outside[forest_cell(start, end)]
            largest = zero
            for one in range(len(above)):
                above[one] = here[one]
                largest = max(largest, here[one])
            if largest == zero:
                continue
            for bottom in range(len(above)):
                here[bottom] = zero
                for entry in range(closure.start[bottom], closure.start[bottom + 1]):
                    passed = times(above[closure.top[entry]], closure.value[entry], logs)
                    lost |= (passed < tiny) & (above[closure.top[entry]] > zero)
                    here[bottom] = plus(here[bottom], passed, logs)
            for split in range(start + 1, end):
                left, right = forest_cell(start, split), forest_cell(split, end)
                lost |= _pass_on(by_right, nodes, right, here, outside[left], logs)
                lost |= _pass_on(by_left, nodes, left, here, outside[right], logs)
    return lost


@inner_kernel
def _pass_on(
    rules: RulesByChild, nodes: InsideNodes, sibling: int, above: Floats, outside: Floats, logs: Logs
) -> bool:
    """Add to a cell what it has beside a sibling, whose rules are given, below the cell with ``above``."""
    first, parent, other, prob = rules
    lost, zero, tiny = False, zero_of(logs), TINY if logs is None else -np.inf
    for node in range(nodes.cell_first[sibling], nodes.cell_first[sibling + 1]):
        symbol, inside = nodes.symbol[node], nodes.inside[node]
        for rule in range(first[symbol], first[symbol + 1]):
            passed = times(times(above[parent[rule]], prob[rule], logs), inside, logs)
            lost |= (passed < tiny) & (above[parent[rule]] > zero)
            outside[other[rule]] = plus(outside[other[rule]], passed, logs)
    return lost


@dataclass(frozen=True, eq=False)
class PrefixValues:
    """The prefixes of a sentence of n words, arrays by their lengths k, from 0 to n.

    A prefix that the grammar has no sentence for has the log probability -inf, and NaN for all that is
    conditioned on it. ``reason`` says why there is nothing at all but NaN, if so. What is above one by
    rounding is one.
    """

    #: Natural logarithms of the probabilities that a sentence begins with the first k words, [n + 1].
    log_prefix: FloatArray
    #: That of the probability of the sentence: of all its words, and the end.
    log_prob: float
    #: -log2 P(word k | the words before it), in bits, [n + 1]; the last is the end's (Hale 2001).
    surprisal: FloatArray
    #: The part of the surprisal that a preterminal of the word accounts for (Roark et al. 2009): -log2 of the
    #: probability that the next word is of some symbol that has the word. The rest is lexical: this word and
    #: no other of these symbols. The end has no lexical part.
    syntactic: FloatArray
    expected: FloatArray  # by symbol (``PrefixRoom``), in the units of ``prefix``, and so is ``end``
    prefix: FloatArray
    end: FloatArray
    lexical: Any  # scipy's sparse matrix [symbols, terminals]: p(A -> t)
    reason: str | None = None

    def next_words(self) -> FloatArray:
        """The distributions of the next word, [n + 1, terminals + 1]; the last column is the end's."""
        joint = np.hstack([self.expected @ self.lexical, self.end[:, None]])
        with np.errstate(invalid="ignore"):
            return np.minimum(joint / self.prefix[:, None], 1.0)

    def entropy(self, members: IntArray | None = None) -> FloatArray:
        """The entropy of each of them in bits: the expectation of the next word's surprisal, [n + 1].

        With ``members`` it is that of words, so many of which share a terminal equally (``class_sizes``).
        """
        p = self.next_words()
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.asarray(-np.where(p == 0, 0.0, p * np.log2(p)).sum(axis=1) + 0.0)
        if members is not None and (members > 1).any():
            choices = np.log2(np.maximum(members, 1))
            entropy += np.append(p[:1, :-1] @ choices[0], p[1:, :-1] @ choices[1])
        return entropy


class Prefixes:
    """Computes prefixes and gaps of sentences, which are arrays of terminal ids (``PCFG.encode``).

    A sentence without a chart says so (``reason``): it is too long, or too large. Where values leave the
    range of numbers they are computed once more, in logarithms.
    """

    def __init__(self, grammar: PCFG, max_length: int | None = None) -> None:
        self.grammar = grammar
        self._max_length = max_length or default_max_length(grammar)
        self._rules = rules = rule_tables.chart_rules(grammar)
        self._lexicon = rule_tables.lexicon(rules, len(grammar.terminals))
        self._forests = Forests(grammar)
        shape = len(grammar.symbols), len(grammar.terminals)
        places = rules.lexical_symbol, rules.lexical_terminal
        self._lexical: Any = csr_array((rules.lexical_prob, places), shape)
        self._tables, self._gap_tables = cache(self._new_tables), cache(self._new_gap_tables)

    def _new_tables(self, logs: Logs) -> tuple[PrefixTables, LeftCorners]:
        """The rules by pairs of left child and parent, and left corners."""
        rules, corners = self._rules, left_corners(self.grammar, logs)
        order = np.lexsort((rules.right, rules.parent, rules.left))
        left, parent = rules.left[order], rules.parent[order]
        first = np.flatnonzero(begins(left, parent))
        values = rules.prob[order], rules.root_prob, lexical_mass(self.grammar)
        places = rule_tables.starts(left[first], rules.n_symbols), parent[first]
        begun = np.append(first, len(order)).astype(np.uint32)
        return PrefixTables(*places, begun, rules.right[order], *_numbers(logs, *values)), corners

    def _new_gap_tables(self, logs: Logs) -> tuple[RulesByChild, RulesByChild, Closure, Floats]:
        tables = [rule_tables.rules_by_child(self._rules, left) for left in (True, False)]
        closure = rule_tables.unary_closure(self.grammar)
        values = _numbers(logs, *(one.prob for one in tables), closure.value, self._rules.root_prob)
        by_left, by_right = (one._replace(prob=prob) for one, prob in zip(tables, values[:2], strict=True))
        return by_left, by_right, closure._replace(value=values[2]), values[3]

    def read(self, tokens: IntArray) -> PrefixValues:
        """The prefixes of a sentence; raises GrammarError where left recursion is never left.

        What comes after a terminal that the grammar lacks has probability zero.
        """
        unknown = np.flatnonzero(tokens == UNKNOWN_TERMINAL)
        known = tokens[: unknown[0]] if len(unknown) else tokens
        found, reason = _in_range(lambda logs: self._read(known, len(tokens), logs))
        if found is None:
            nothing = np.full((len(tokens) + 1, len(self.grammar.symbols)), np.nan)
            row = np.full(len(tokens) + 1, np.nan)
            return PrefixValues(row, math.nan, row, row, nothing, row, row, self._lexical, reason)
        return found

    def _read(self, tokens: IntArray, n: int, logs: Logs) -> PrefixValues:
        """Those of a sentence of n words that begins with these; raises as ``_nodes`` does."""
        tables, corners = self._tables(logs)
        nodes = self._nodes(tokens, logs)
        entries = _numbers(logs, self._lexicon.prob)[0]
        words = rule_tables.words_of(self._lexicon, entries, tokens)
        zero = zero_of(logs)
        figures = np.full((4, n + 1), zero)
        expected = np.full((n + 1, len(self.grammar.symbols)), zero)
        room = PrefixRoom(expected, np.zeros(n + 1, np.int32), *figures)
        lossy = logs is None and corners.least < TINY
        if lossy or not prefix_pass(tables, corners, nodes, words, room, logs):
            raise NumberRangeError(TOO_IMPROBABLE)
        bit = math.log(2.0)
        prefix, end = room.prefix, room.end
        joint = [np.append(one[:-1], end[-1]) for one in (room.word, room.tag)]
        with np.errstate(divide="ignore", invalid="ignore"):
            if logs is None:
                log_prefix = np.log(prefix) + room.exponent * bit
                log_prob = np.log(end[-1]) + room.exponent[-1] * bit
                bits = [np.log2(prefix) - np.log2(one) for one in joint]
            else:
                log_prefix, log_prob = prefix, end[-1]
                bits = [(prefix - one) / bit for one in joint]
                expected, end = np.exp(expected - prefix[:, None]), np.exp(end - prefix)
                prefix = np.ones(n + 1)
        log_prefix = np.minimum(log_prefix, 0.0)
        surprisal, syntactic = np.maximum(bits, 0.0)
        total = float(np.minimum(log_prob, log_prefix[-1]))
        return PrefixValues(log_prefix, total, surprisal, syntactic, expected, prefix, end, self._lexical)

    def masked(self, tokens: IntArray) -> tuple[FloatArray, str | None]:
        """P(word | all other words) for each word of a sentence, [n, terminals], from outside values.

        NaN where the others have no sentence, or where there is a reason.
        """
        n, gaps = len(tokens), np.flatnonzero(tokens == UNKNOWN_TERMINAL)
        found = np.full((n, len(self.grammar.terminals)), np.nan)
        if len(gaps) > 1 or n == 0:
            return found, None
        rows = gaps if len(gaps) else np.arange(n)
        # Any word will do in the place of an unknown one, which is not looked at.
        probs, reason = _in_range(lambda logs: self._masked(np.maximum(tokens, 0), rows, logs))
        if probs is not None:
            found[rows] = probs
        return found, reason

    def _masked(self, tokens: IntArray, places: NDArray[Any], logs: Logs) -> FloatArray:
        """Those of some places; raises as ``_nodes`` does."""
        n, rules = len(tokens), self._rules
        nodes = self._nodes(tokens, logs)
        shape = n * (n + 1) // 2, len(self.grammar.symbols)
        if 8 * math.prod(shape) > _MOST_BYTES:
            raise ChartOverflowError(TOO_LARGE)
        outside = np.full(shape, zero_of(logs))
        lost = gap_pass(*self._gap_tables(logs), nodes, outside, logs)
        outside = outside[places * (places + 1) // 2]
        if logs is not None:
            joint = np.full((len(places), len(self.grammar.terminals)), -np.inf)
            values = outside[:, rules.lexical_symbol] + _numbers(logs, rules.lexical_prob)[0]
            np.logaddexp.at(joint.T, rules.lexical_terminal, values.T)
            with np.errstate(invalid="ignore"):
                probs = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        else:
            joint = outside @ self._lexical
            totals = joint.sum(axis=1, keepdims=True)
            lost |= outside.min(initial=1, where=outside > 0) * rules.lexical_prob.min() < TINY
            if not np.isfinite(totals).all() or (lost and totals.min() < LEAST_STEP):
                raise NumberRangeError(TOO_IMPROBABLE)
            with np.errstate(invalid="ignore"):
                probs = joint / totals
        return np.asarray(np.minimum(probs, 1.0))

    def _nodes(self, tokens: IntArray, logs: Logs) -> InsideNodes:
        """The inside values of some words of a sentence; raises ChartOverflowError or NumberRangeError."""
        if len(tokens) > self._max_length:
            raise ChartOverflowError(f"longer than {self._max_length} terminals")
        if not len(tokens):
            return _NO_NODES
        forests = self._forests
        return forests.inside_nodes(tokens) if logs is None else forests.log_inside_nodes(tokens)


def _in_range(compute: Callable[[Logs], Found]) -> tuple[Found | None, str | None]:
    """What is computed, in logarithms where numbers lack the range, or why it is not."""
    try:
        with suppress(NumberRangeError):
            return compute(None), None
        return compute(True), None
    except ChartOverflowError as error:
        return None, error.message


def _numbers(logs: Logs, *values: Floats) -> list[Floats]:
    """Values as they are, or their logarithms."""
    with np.errstate(divide="ignore"):
        return [value if logs is None else np.log(value) for value in values]
