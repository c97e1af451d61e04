"""What charts are asked for, answered by dense charts: one sentence after the other in the same memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mbrparse.charts.chart import TOO_IMPROBABLE, Chart, Derivation
from mbrparse.charts.exhaustive.dense_passes import dense_inside, dense_outside
from mbrparse.charts.exhaustive.dense_tables import (
    DenseSentence,
    DenseTables,
    dense_sentence,
    dense_tables,
)
from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.rule_tables import Floats, Ints, chart_rules, lexicon
from mbrparse.charts.spans import (
    SYMBOL_IDS,
    SpanEntries,
    Spans,
    SpanSummary,
    entries_without_unaries,
    no_entries,
    summarize_entries,
)
from mbrparse.charts.vector import LANES, aligned_floats
from mbrparse.errors import NumberRangeError
from mbrparse.grammar.pcfg import PCFG, IntArray

# Where all values that are not zero lie between, no product of two of them and a rule (of the least
# probability) is lost to zero: what is zero then has no derivation.
LEAST_VALUE, MOST_VALUE, LEAST_RULE = 2.0**-450, 2.0**450, 2.0**-106
# An outside value near the largest number may have met inside values below the smallest.
_MOST_OUTSIDE = 2.0**512
# How often other powers of two are tried.
_TRIES, _MOST_POWER = 4, 1000


class DenseAnswers:
    """Answers for charts of two words and more of one grammar without unary rules.

    Posteriors are of ``label`` [symbol]. What is asked raises NumberRangeError where values may have left the
    range of numbers.
    """

    def __init__(self, grammar: PCFG, label: Ints, tie: float) -> None:
        rules = chart_rules(grammar)
        self._tie = tie
        self._tables = tables = dense_tables(rules, lexicon(rules, len(grammar.terminals)))
        # The labels, and by slot the number of the symbol's.
        self._names, number = np.unique(label[tables.symbol], return_inverse=True)
        self._number = number.astype(np.int32)
        probs = np.concatenate([rules.prob, rules.root_prob])
        self._is_exact = bool(probs.min(initial=1.0, where=probs > 0) >= LEAST_RULE)
        self._scratch = aligned_floats(max(len(tables.tiles.right), 3) * LANES)
        self._inside, self._outside = aligned_floats(0), aligned_floats(0)
        # The last sentence, its log probability and posteriors.
        self._last: tuple[IntArray, float, SpanEntries] | None = None

    def log_prob(self, chart: Chart) -> float:
        """The natural logarithm of the sentence's probability, -inf without a parse."""
        return self._filled(chart)[0]

    def summary(self, chart: Chart) -> SpanSummary:
        """The best label of each cell, its posterior, and the sum of all."""
        return summarize_entries(chart.length, chart.span_posteriors(), self._tie)

    def entries(self, chart: Chart) -> SpanEntries:
        """All posteriors above zero."""
        return self._filled(chart)[1]

    def viterbi(self, chart: Chart) -> Derivation:
        """The most probable derivation."""
        tables, n = self._tables, chart.length
        nodes, tags = np.empty((3, n - 1), np.int32), np.empty(n, np.int32)
        share = 1 - self._tie

        def fill(sentence: DenseSentence) -> tuple[float, float, float]:
            return _best_derivation(tables, sentence, self._inside, share, nodes, tags)

        sentence, value = self._in_range(chart.terminal_ids, fill)
        if not value > 0:
            return Derivation(-math.inf, [], [])
        log_prob = math.log(value) - sentence.log_scale
        start, end, slot = nodes
        spans = Spans(start, end, tables.symbol[slot], SYMBOL_IDS)
        return Derivation(log_prob, spans, tables.symbol[tags].tolist())

    def _in_range(
        self, terminal_ids: IntArray, fill: Callable[[DenseSentence], tuple[Any, float, float]]
    ) -> tuple[DenseSentence, Any]:
        """Fill the chart of a sentence by powers of two with which its values are in the range of numbers.

        ``fill`` returns the least and the largest value last.
        """
        power, tables = 0, self._tables
        for _ in range(_TRIES if self._is_exact else 0):
            sentence = dense_sentence(tables, terminal_ids, self._scratch, power)
            if len(self._inside) < sentence.size:
                self._inside, self._outside = aligned_floats(sentence.size), aligned_floats(sentence.size)
            found, least, most = fill(sentence)
            if least >= LEAST_VALUE and most <= MOST_VALUE:
                return sentence, found
            # Of the widest cells with values, the power of two that brings these back to one.
            n, pad = sentence.length, sentence.pad
            planes = self._inside[: tables.n_wide * sentence.plane].reshape(tables.n_wide, n + 1, -1)
            for width in range(n, 0, -1):
                largest = planes[:, width, pad + width : pad + n + 1].max(initial=0.0)
                if 0 < largest < math.inf:
                    power = max(min(power - round(math.log2(largest) / width), _MOST_POWER), -_MOST_POWER)
                    break
        raise NumberRangeError(TOO_IMPROBABLE)

    def _filled(self, chart: Chart) -> tuple[float, SpanEntries]:
        """A sentence's log probability and its posteriors above zero."""
        if self._last is not None and self._last[0] is chart.terminal_ids:
            return self._last[1:]
        n = chart.length
        g = np.zeros((n * (n + 1) // 2, len(self._names)))

        def fill(sentence: DenseSentence) -> tuple[tuple[float, float], float, float]:
            return _posteriors(self._tables, sentence, self._number, self._inside, self._outside, g)

        sentence, (total, peak) = self._in_range(chart.terminal_ids, fill)
        log_prob, entries = -math.inf, no_entries()
        if total > 0:
            if not peak < _MOST_OUTSIDE:
                raise NumberRangeError(TOO_IMPROBABLE)
            log_prob = math.log(total) - sentence.log_scale
            above = np.flatnonzero(g > 0)
            cell, label = np.divmod(above, len(self._names))
            first, last = (column.astype(np.int32) for column in np.triu_indices(n))
            spans = first[cell], last[cell] + np.int32(1)
            entries = entries_without_unaries(*spans, self._names[label], g.reshape(-1)[above])
        self._last = chart.terminal_ids, log_prob, entries
        return log_prob, entries


@kernel
def _posteriors(
    tables: DenseTables, sentence: DenseSentence, label: Ints, inside: Floats, outside: Floats, g: Floats
) -> tuple[tuple[float, float], float, float]:
    """Fill both charts of a sentence, and ``g`` [cell, label]; ``label`` is by slot.

    Returns the sentence's probability (scaled), the largest outside value, the least and the largest inside
    value. That of a word's only label is one.
    """
    slots, least, most = dense_inside(tables, sentence, inside, False)
    n, pad, pitch, base = sentence.length, sentence.pad, sentence.pitch, sentence.base
    first, entries, _, _ = tables.words
    total, peak = 0.0, 0.0
    if least >= LEAST_VALUE and most <= MOST_VALUE:
        for symbol in range(tables.n_wide):
            total += tables.root[symbol] * inside[base[symbol] + n * pitch + pad + n]
    if not total > 0:
        return (total, peak), least, most
    peak = dense_outside(tables, sentence, slots, inside, outside, total)
    for symbol in range(tables.n_wide):
        cell = 0
        for start in range(n):
            cell += 1
            place = base[symbol] + 2 * pitch + pad + start + 2
            for _ in range(start + 2, n + 1):
                g[cell, label[symbol]] += inside[place] * outside[place]
                cell += 1
                place += pitch + 1
    cell = 0
    for start in range(n):
        token, place, is_only = sentence.tokens[start], pitch + pad + start + 1, True
        for entry in range(first[token], first[token + 1]):
            slot = entries[entry]
            g[cell, label[slot]] += inside[base[slot] + place] * outside[base[slot] + place]
            is_only = is_only and label[slot] == label[entries[first[token]]]
        if is_only:
            g[cell, label[entries[first[token]]]] = 1.0
        cell += n - start
    return (total, peak), least, most


@kernel
def _best_derivation(
    tables: DenseTables, sentence: DenseSentence, chart: Floats, share: float, nodes: Ints, tags: Ints
) -> tuple[float, float, float]:
    """Fill a chart with the values of nodes' best derivations, and read off the best as slots.

    ``nodes`` [start, end, slot] are in preorder, values of a ``share`` of the best as good. Returns the
    derivation's value, the least and the largest value.
    """
    _, least, most = dense_inside(tables, sentence, chart, True)
    top, best, root = sentence.length * sentence.pitch + sentence.pad + sentence.length, 0.0, tables.n_wide
    for symbol in range(tables.n_wide):
        value = tables.root[symbol] * chart[symbol * sentence.plane + top]
        if value * share > best:
            best, root = value, symbol
    if root < tables.n_wide and least >= LEAST_VALUE and most <= MOST_VALUE:
        _read_derivation(tables, sentence, chart, share, root, nodes, tags)
    return best, least, most


@inner_kernel
def _read_derivation(
    tables: DenseTables,
    sentence: DenseSentence,
    best: Floats,
    share: float,
    root: int,
    nodes: Ints,
    tags: Ints,
) -> None:
    """Read the best derivation off its nodes' values, as slots: ``nodes`` [start, end, slot] in preorder.

    Of a node's candidates that have this ``share`` of its value the first in order of split, left child and
    right child is taken. To look for it takes a hundredth of the time that filling the chart does.
    """
    first, lefts, rights, prob = tables.derivations
    base, pad, pitch, n_wide = sentence.base, sentence.pad, sentence.pitch, tables.n_wide
    stack = np.empty((sentence.length + 1, 3), np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, sentence.length, root
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        start, end, parent = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if end - start == 1:
            tags[start] = parent
            continue
        nodes[0, count], nodes[1, count], nodes[2, count] = start, end, parent
        count += 1
        bound = best[base[parent] + (end - start) * pitch + pad + end] * share
        found = False
        for split in range(start + 1, end):
            left_place = (split - start) * pitch + pad + split
            right_place = (end - split) * pitch + pad + end
            for rule in range(first[parent], first[parent + 1]):
                left, right = lefts[rule], rights[rule]
                if (split - start > 1 and left >= n_wide) or (end - split > 1 and right >= n_wide):
                    continue
                value = prob[rule] * (best[base[left] + left_place] * best[base[right] + right_place])
                if value >= bound:
                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = split, end, right
                    stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = start, split, left
                    depth += 2
                    found = True
                    break
            if found:
                break
        if not found:
            raise ValueError("the chart does not hold what it was filled from")
