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
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mbrparse.charts import rule_tables
from mbrparse.charts.chart import TOO_IMPROBABLE, TOO_LARGE
from mbrparse.charts.exhaustive.factory import default_max_length
from mbrparse.charts.exhaustive.forests import Forests
from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.left_corner import LeftCorners, close_left, left_corners
from mbrparse.charts.packed_forest import InsideNodes, forest_cell
from mbrparse.charts.rule_tables import Closure, Floats, Indices, Ints, Rules, RulesByChild, Words
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
def prefix_pass(
    tables: PrefixTables, corners: LeftCorners, nodes: InsideNodes, words: Words, room: PrefixRoom
) -> bool:
    """Fill the room (zero before); False where the numbers' range does not suffice."""
    pair_start, pair_parent, rule_start, right, prob, root, lexical, is_lossy = tables
    expected, exponent = room.expected, room.exponent
    cell_first, symbol, inside, power = nodes
    # Of what comes from the words before so much may be missing, in units of 2^exponent.
    n, count, missing = len(power) - 1, len(root), 0.0
    arriving, work, sums = np.empty(count), np.empty(count), np.empty(len(pair_parent))
    for k in range(n + 1):
        unit, lost, end_lost = 0, is_lossy, False
        if k == 0:
            for one in range(count):  # to assign arrays takes numba seconds to compile
                arriving[one] = root[one]
            room.prefix[0] = 1
        else:
            unit = exponent[k - 1]
            room.prefix[k] = room.word[k - 1]
            if room.prefix[k] == 0:
                return True
            arriving[:] = 0
            sums[:] = 0
            for start in range(k):
                before = expected[start]
                cell = forest_cell(start, k)
                factor = math.ldexp(1.0, exponent[start] - unit - (power[k] - power[start]))
                for node in range(cell_first[cell], cell_first[cell + 1]):
                    value = inside[node] * factor
                    lost |= value < TINY
                    for pair in range(pair_start[symbol[node]], pair_start[symbol[node] + 1]):
                        expectation = before[pair_parent[pair]]
                        passed = expectation * value
                        lost |= (passed < TINY) & (expectation > 0)
                        sums[pair] += passed
            for pair in range(len(sums)):
                if sums[pair] > 0:
                    for rule in range(rule_start[pair], rule_start[pair + 1]):
                        passed = sums[pair] * prob[rule]
                        lost |= passed < TINY
                        arriving[right[rule]] += passed
            cell = forest_cell(0, k)
            for node in range(cell_first[cell], cell_first[cell + 1]):
                if root[symbol[node]] > 0:
                    passed = root[symbol[node]] * (inside[node] * math.ldexp(1.0, -unit - power[k]))
                    end_lost |= passed < TINY
                    room.end[k] += passed
        lost |= close_left(corners, arriving, work, expected[k]) < TINY
        shift = max(math.frexp(expected[k].max())[1], -1000)
        scale = math.ldexp(1.0, -shift)
        missing = (missing + (LOST if lost else 0.0)) * scale
        expected[k] *= scale
        room.end[k], room.prefix[k] = room.end[k] * scale, room.prefix[k] * scale
        exponent[k] = unit + shift
        if k < n:
            for entry in range(words.entry_start[k], words.entry_start[k + 1]):
                expectation = expected[k, words.entry_symbol[entry]]
                if words.entry_prob[entry] > 0 and expectation > 0:
                    passed = expectation * words.entry_prob[entry]
                    missing = max(missing, LOST if passed < TINY else 0.0)
                    room.word[k] += passed
                    room.tag[k] += expectation * lexical[words.entry_symbol[entry]]
            if room.word[k] < missing * _DIGITS:
                return False
        elif room.end[k] < (missing + (LOST * scale if end_lost else 0.0)) * _DIGITS:
            return False
    return True


@kernel
def gap_pass(
    by_left: RulesByChild,
    by_right: RulesByChild,
    closure: Closure,
    root: Floats,
    nodes: InsideNodes,
    outside: Floats,
) -> bool:
    """Fill ``outside`` [cell, symbol], zero before: of all symbols, whether they derive the span or not.

    Unary rules are given as their closure. Returns whether some value may have been lost to the range of
    numbers.
    """
    n, above, lost = len(nodes.power) - 1, np.empty(len(root)), False
    for one in range(len(root)):
        outside[forest_cell(0, n), one] = root[one]
    for end in range(n, 0, -1):
        for start in range(end):
            here = outside[forest_cell(start, end)]
            largest = 0.0
            for one in range(len(above)):
                above[one] = here[one]
                largest = max(largest, here[one])
            if largest == 0:
                continue
            for bottom in range(len(above)):
                here[bottom] = 0
                for entry in range(closure.start[bottom], closure.start[bottom + 1]):
                    passed = above[closure.top[entry]] * closure.value[entry]
                    lost |= (passed < TINY) & (above[closure.top[entry]] > 0)
                    here[bottom] += passed
            for split in range(start + 1, end):
                left, right = forest_cell(start, split), forest_cell(split, end)
                lost |= _pass_on(by_right, nodes, right, here, outside[left])
                lost |= _pass_on(by_left, nodes, left, here, outside[right])
    return lost


@inner_kernel
def _pass_on(rules: RulesByChild, nodes: InsideNodes, sibling: int, above: Floats, outside: Floats) -> bool:
    """Add to a cell what it has beside a sibling, whose rules are given, below the cell with ``above``."""
    first, parent, other, prob = rules
    lost = False
    for node in range(nodes.cell_first[sibling], nodes.cell_first[sibling + 1]):
        symbol, inside = nodes.symbol[node], nodes.inside[node]
        for rule in range(first[symbol], first[symbol + 1]):
            passed = above[parent[rule]] * prob[rule] * inside
            lost |= (passed < TINY) & (above[parent[rule]] > 0)
            outside[other[rule]] += passed
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

    @classmethod
    def of_room(cls, room: PrefixRoom, lexical: Any, reason: str | None) -> PrefixValues:
        """Those of a filled room."""
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prefix = np.minimum(np.log(room.prefix) + room.exponent * math.log(2.0), 0.0)
            log_prob = np.log(room.end[-1]) + room.exponent[-1] * math.log(2.0)
            surprisal, syntactic = [
                np.maximum(np.log2(room.prefix) - np.log2(np.append(joint[:-1], room.end[-1])), 0.0)
                for joint in (room.word, room.tag)
            ]
        total = float(np.minimum(log_prob, log_prefix[-1]))
        return cls(
            log_prefix, total, surprisal, syntactic, room.expected, room.prefix, room.end, lexical, reason
        )

    @classmethod
    def of_logarithms(cls, room: PrefixRoom, lexical: Any) -> PrefixValues:
        """Those of a room that is filled with natural logarithms."""
        with np.errstate(invalid="ignore"):
            prefix = np.minimum(room.prefix, 0.0)
            surprisal, syntactic = [
                np.maximum((prefix - np.append(joint[:-1], room.end[-1])) / math.log(2.0), 0.0)
                for joint in (room.word, room.tag)
            ]
            expected, end = np.exp(room.expected - prefix[:, None]), np.exp(room.end - prefix)
        total = min(float(room.end[-1]), float(prefix[-1]))
        return cls(prefix, total, surprisal, syntactic, expected, np.ones(len(prefix)), end, lexical)

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

    A sentence without a chart says so (``reason``): it is too long, or its values left the range of numbers.
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

    @cached_property
    def _tables(self) -> tuple[PrefixTables, LeftCorners]:
        corners = left_corners(self.grammar)
        return _tables(self._rules, lexical_mass(self.grammar), corners.least < TINY), corners

    @cached_property
    def _gap_tables(self) -> tuple[RulesByChild, RulesByChild, Closure, Floats]:
        by_left, by_right = (rule_tables.rules_by_child(self._rules, left) for left in (True, False))
        return by_left, by_right, rule_tables.unary_closure(self.grammar), self._rules.root_prob

    def read(self, tokens: IntArray) -> PrefixValues:
        """The prefixes of a sentence; raises GrammarError where left recursion is never left.

        What comes after a terminal that the grammar lacks has probability zero.
        """
        n, unknown = len(tokens), np.flatnonzero(tokens == UNKNOWN_TERMINAL)
        known = tokens[: unknown[0]] if len(unknown) else tokens
        figures = np.zeros((4, n + 1))
        expected = np.zeros((n + 1, len(self.grammar.symbols)))
        room = PrefixRoom(expected, np.zeros(n + 1, np.int32), *figures)
        nodes, reason = self._nodes(known)
        if nodes is not None:
            words = rule_tables.words_of(self._lexicon, self._lexicon.prob, known)
            reason = None if prefix_pass(*self._tables, nodes, words, room) else TOO_IMPROBABLE
        if reason == TOO_IMPROBABLE and not self._tables[0].is_lossy:
            try:
                return PrefixValues.of_logarithms(self._in_logarithms(known, n), self._lexical)
            except ChartOverflowError:
                reason = TOO_LARGE
        if reason is not None:
            figures[:] = expected[:] = np.nan
        return PrefixValues.of_room(room, self._lexical, reason)

    def _in_logarithms(self, tokens: IntArray, n: int) -> PrefixRoom:
        """What ``prefix_pass`` finds for a sentence of n words that begins with these, in logarithms."""
        tables, corners = self._tables
        pair_start = tables.pair_start.astype(np.int32)
        first, symbol, inside, _ = self._forests.log_inside_nodes(tokens)
        words = rule_tables.words_of(self._lexicon, self._lexicon.prob, tokens)
        with np.errstate(divide="ignore"):
            given = tables.prob, tables.root, tables.lexical, words.entry_prob
            rule, root, lexical, entry = map(np.log, given)
        prefix, word, tag, end = np.full((4, n + 1), -np.inf)
        expected = np.full((n + 1, len(root)), -np.inf)
        prefix[0] = 0.0
        for k in range(len(tokens) + 1):
            arriving = np.full(len(root), -np.inf) if k else root
            if k:
                prefix[k] = word[k - 1]
                sums = np.full(len(tables.pair_parent), -np.inf)
                for start in range(k):
                    cell = forest_cell(start, k)
                    nodes = np.arange(first[cell], first[cell + 1])
                    node, pairs = rule_tables.ranges(pair_start, symbol[nodes])
                    passed = expected[start, tables.pair_parent[pairs]] + inside[nodes[node]]
                    np.logaddexp.at(sums, pairs, passed)
                np.logaddexp.at(arriving, tables.right, np.repeat(sums, np.diff(tables.rule_start)) + rule)
                top = slice(first[forest_cell(0, k)], first[forest_cell(0, k) + 1])
                end[k] = np.logaddexp.reduce(root[symbol[top]] + inside[top], initial=-np.inf)
            expected[k] = _log_closed(corners, arriving)
            if k < len(tokens):
                here = slice(words.entry_start[k], words.entry_start[k + 1])
                begun = expected[k, words.entry_symbol[here]]
                word[k] = np.logaddexp.reduce(begun + entry[here], initial=-np.inf)
                tag[k] = np.logaddexp.reduce(begun + lexical[words.entry_symbol[here]], initial=-np.inf)
                if word[k] == -np.inf:
                    break
        return PrefixRoom(expected, np.zeros(n + 1, np.int32), prefix, word, tag, end)

    def masked(self, tokens: IntArray) -> tuple[FloatArray, str | None]:
        """P(word | all other words) for each word of a sentence, [n, terminals], from outside values.

        NaN where the others have no sentence, or where there is a reason.
        """
        n, gaps = len(tokens), np.flatnonzero(tokens == UNKNOWN_TERMINAL)
        found = np.full((n, len(self.grammar.terminals)), np.nan)
        if len(gaps) > 1 or n == 0:
            return found, None
        # Any word will do in the place of an unknown one, which is not looked at.
        nodes, reason = self._nodes(np.maximum(tokens, 0))
        shape = n * (n + 1) // 2, len(self.grammar.symbols)
        if nodes is None or 8 * math.prod(shape) > _MOST_BYTES:
            return found, reason or TOO_LARGE
        outside = np.zeros(shape)
        lost = gap_pass(*self._gap_tables, nodes, outside)
        rows = gaps if len(gaps) else np.arange(n)
        outside = outside[rows * (rows + 1) // 2]
        joint = outside @ self._lexical
        totals = joint.sum(axis=1, keepdims=True)
        lost |= outside.min(initial=1, where=outside > 0) * self._rules.lexical_prob.min() < TINY
        if not np.isfinite(totals).all() or (lost and totals.min() < LEAST_STEP):
            return found, TOO_IMPROBABLE
        with np.errstate(invalid="ignore"):
            found[rows] = np.minimum(joint / totals, 1.0)
        return found, None

    def _nodes(self, tokens: IntArray) -> tuple[InsideNodes | None, str | None]:
        """The inside values of some words of a sentence, or why there are none."""
        if len(tokens) > self._max_length:
            return None, f"longer than {self._max_length} terminals"
        try:
            return (self._forests.inside_nodes(tokens) if len(tokens) else _NO_NODES), None
        except ChartOverflowError:
            return None, TOO_LARGE
        except NumberRangeError as error:
            return None, error.message


def _log_closed(corners: LeftCorners, given: FloatArray) -> FloatArray:
    """What ``close_left`` finds, in logarithms."""
    with np.errstate(divide="ignore"):
        lower, upper = np.log(corners.lower_value), np.log(corners.upper_value)
    work = np.empty(len(given))
    work[corners.place] = given
    for column in np.flatnonzero(np.diff(corners.lower_start)).tolist():
        place = slice(corners.lower_start[column], corners.lower_start[column + 1])
        rows = corners.lower_row[place]
        work[rows] = np.logaddexp(work[rows], lower[place] + work[column])
    for column in range(len(given) - 1, -1, -1):
        place = slice(corners.upper_start[column], corners.upper_start[column + 1] - 1)
        rows = corners.upper_row[place]
        work[column] += upper[place.stop]
        work[rows] = np.logaddexp(work[rows], upper[place] + work[column])
    return work[corners.place]


def _tables(rules: Rules, lexical: FloatArray, is_lossy: bool) -> PrefixTables:
    """Arrange the rules by pairs of left child and parent."""
    order = np.lexsort((rules.right, rules.parent, rules.left))
    left, parent = rules.left[order], rules.parent[order]
    first = np.flatnonzero(begins(left, parent))
    return PrefixTables(
        rule_tables.starts(left[first], rules.n_symbols),
        parent[first],
        np.append(first, len(order)).astype(np.uint32),
        rules.right[order],
        rules.prob[order],
        rules.root_prob,
        lexical,
        is_lossy,
    )
