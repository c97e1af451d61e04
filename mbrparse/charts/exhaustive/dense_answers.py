"""What charts are asked for, answered by dense charts: one sentence after the other in the same memory."""

from __future__ import annotations

import math
from typing import NamedTuple

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
from mbrparse.charts.rule_tables import Floats, Ints, chart_rules, lexical_entries, lexicon
from mbrparse.charts.spans import (
    SYMBOL_IDS,
    SpanEntries,
    Spans,
    SpanSummary,
    empty_summary,
    no_entries,
    summarize_entries,
    word_cells,
)
from mbrparse.charts.vector import (
    LANES,
    add,
    aligned_floats,
    choose_greater,
    load_from,
    multiply,
    multiply_add,
    repeated,
    spread,
    store_to,
    zeros,
)
from mbrparse.errors import NumberRangeError
from mbrparse.grammar.pcfg import PCFG, IntArray

# Where all values that are not zero lie between, no product of two of them and a rule (of the least
# probability) is lost to zero: what is zero then has no derivation.
LEAST_VALUE, MOST_VALUE, LEAST_RULE = 2.0**-450, 2.0**450, 2.0**-106
# An outside value near the largest number may have met inside values below the smallest.
_MOST_OUTSIDE = 2.0**512


class DenseLabels(NamedTuple):
    """The wide symbols of each label, labels in order of their ids."""

    start: Ints
    member: Ints  # slots
    label: Ints  # the label's id
    number: Floats  # 0, 1, 2 .. as floats, and the tolerance factor at the end


class _Sums(NamedTuple):
    """What is known of the last sentence."""

    terminal_ids: IntArray
    sentence: DenseSentence
    log_prob: float
    words: SpanEntries  # of preterminals
    summary: SpanSummary


class DenseAnswers:
    """Answers for charts of two words and more of one grammar without unary rules.

    Posteriors are of ``label`` [symbol]. What is asked raises NumberRangeError where values may have left the
    range of numbers.
    """

    def __init__(self, grammar: PCFG, label: Ints, tie: float) -> None:
        rules = chart_rules(grammar)
        self._tie = tie
        self._tables = tables = dense_tables(rules, lexicon(rules, len(grammar.terminals)))
        self._label = label[tables.symbol]  # by slot
        begin, count = tables.words.start[:-1], np.diff(tables.words.start)
        self._is_certain = count == 1  # by terminal: whether it has one preterminal, and the label of that
        self._label_of = np.zeros(len(count), np.int32)
        self._label_of[self._is_certain] = self._label[tables.words.slot[begin[self._is_certain]]]
        self._labels = _labels(self._label[: tables.n_wide], tie)
        probs = np.concatenate([rules.prob, rules.root_prob])
        self._is_exact = bool(probs.min(initial=1.0, where=probs > 0) >= LEAST_RULE)
        self._scratch = aligned_floats(max(len(tables.tiles.right), 3) * LANES)
        self._inside, self._outside = aligned_floats(0), aligned_floats(0)
        self._sums: _Sums | None = None
        self._has_values = False  # whether the values of ``_sums`` are in memory still

    def log_prob(self, chart: Chart) -> float:
        """The natural logarithm of the sentence's probability, -inf without a parse."""
        return self._sums_of(chart).log_prob

    def summary(self, chart: Chart) -> SpanSummary:
        """The best label of each cell, its posterior, and the sum of all."""
        return self._sums_of(chart).summary

    def entries(self, chart: Chart) -> SpanEntries:
        """All posteriors above zero."""
        sums, n = self._filled(chart), chart.length
        if sums.log_prob == -math.inf:
            return no_entries()
        size = len(sums.words.g) + n * (n - 1) // 2 * len(self._labels.label)
        starts, ends, label_ids = (np.empty(size, np.int32) for _ in range(3))
        room = SpanEntries(starts, ends, label_ids, np.empty(size), np.empty(size))
        count = _list_entries(sums.sentence, self._labels, self._inside, self._outside, sums.words, room)
        return SpanEntries(*(column[:count].copy() for column in room))

    def viterbi(self, chart: Chart) -> Derivation:
        """The most probable derivation."""
        self._has_values = False
        sentence, tables, n = self._sentence(chart.terminal_ids), self._tables, chart.length
        nodes, tags = np.empty((3, n - 1), np.int32), np.empty(n, np.int32)
        value, least, most = _best_derivation(tables, sentence, self._inside, 1 - self._tie, nodes, tags)
        self._check(least, most)
        if not value > 0:
            return Derivation(-math.inf, [], [])
        log_prob = math.log(value) - float(sentence.power.sum()) * math.log(2.0)
        start, end, slot = nodes
        spans = Spans(start, end, tables.symbol[slot], SYMBOL_IDS)
        return Derivation(log_prob, spans, tables.symbol[tags].tolist())

    def _sentence(self, terminal_ids: IntArray) -> DenseSentence:
        sentence = dense_sentence(self._tables, terminal_ids, self._scratch)
        if len(self._inside) < sentence.size:
            self._inside, self._outside = aligned_floats(sentence.size), aligned_floats(sentence.size)
        return sentence

    def _check(self, least: float, most: float) -> None:
        if not (self._is_exact and least >= LEAST_VALUE and most <= MOST_VALUE):
            raise NumberRangeError(TOO_IMPROBABLE)

    def _sums_of(self, chart: Chart) -> _Sums:
        """The sums of a chart's sentence."""
        if self._sums is not None and self._sums.terminal_ids is chart.terminal_ids:
            return self._sums
        return self._filled(chart)

    def _filled(self, chart: Chart) -> _Sums:
        """The same, with the inside and outside values in memory."""
        if self._has_values and self._sums is not None and self._sums.terminal_ids is chart.terminal_ids:
            return self._sums
        self._sums, self._has_values = None, False
        sentence, summary = self._sentence(chart.terminal_ids), empty_summary(chart.length)
        with_words = not self._is_certain[chart.terminal_ids].all()
        total, peak, least, most = _posteriors(
            self._tables, sentence, self._labels, self._inside, self._outside, with_words, summary
        )
        self._check(least, most)
        log_prob, words = -math.inf, no_entries()
        if total > 0:
            if not peak < _MOST_OUTSIDE:
                raise NumberRangeError(TOO_IMPROBABLE)
            log_prob = math.log(total) - float(sentence.power.sum()) * math.log(2.0)
            words = self._words(sentence, with_words)
            _enter(words, summary, chart.length, self._tie)
        self._has_values = True
        self._sums = _Sums(chart.terminal_ids, sentence, log_prob, words, summary)
        return self._sums

    def _words(self, sentence: DenseSentence, with_words: bool) -> SpanEntries:
        """The posteriors of preterminals, which are one where words have one each."""
        ends = np.arange(1, sentence.length + 1, dtype=np.int32)
        if not with_words:
            one = np.ones(sentence.length)
            return SpanEntries(ends - np.int32(1), ends, self._label_of[sentence.tokens], one, one)
        entries, begin = lexical_entries(self._tables.words.start, sentence.tokens)
        slot, ends = self._tables.words.slot[entries], ends.repeat(np.diff(begin))
        places = sentence.base[slot] + ends + (sentence.pitch + sentence.pad)
        count = int(self._label.max(initial=0)) + 1
        keys, row = np.unique((ends - 1) * count + self._label[slot], return_inverse=True)
        mass = np.bincount(row, self._inside[places] * self._outside[places], len(keys))
        mass[np.bincount(keys // count)[keys // count] == 1] = 1.0
        keys, mass = keys[mass > 0], mass[mass > 0]
        start, label = (keys // count).astype(np.int32), (keys % count).astype(np.int32)
        return SpanEntries(start, start + np.int32(1), label, mass, mass)


def _enter(words: SpanEntries, summary: SpanSummary, n: int, tie: float) -> None:
    """Enter the posteriors of preterminals into a summary."""
    cells = word_cells(n)
    if len(words.g) == n:
        summary.label[cells], summary.best[cells], summary.total[cells] = words.label_ids, words.g, words.g
        return
    for column, values in zip(summary, summarize_entries(n, words, tie), strict=True):
        column[cells] = values[cells]


def _labels(label: Ints, tie: float) -> DenseLabels:
    """The labels of wide symbols."""
    names, member = np.unique(label), np.argsort(label, kind="stable")
    start = np.searchsorted(label[member], np.append(names, names[-1:] + 1)).astype(np.int32)
    number = np.append(np.arange(float(len(names))), 1 + tie)
    return DenseLabels(start, member.astype(np.int32), names.astype(np.int32), number)


@kernel
def _posteriors(
    tables: DenseTables,
    sentence: DenseSentence,
    labels: DenseLabels,
    inside: Floats,
    outside: Floats,
    with_words: bool,
    summary: SpanSummary,
) -> tuple[float, float, float, float]:
    """Fill both charts of a sentence, and the summary of the cells of width two and more.

    Returns the sentence's probability (scaled), the largest outside value, the least and the largest inside
    value.
    """
    slots, least, most = dense_inside(tables, sentence, inside, False)
    top, total, peak = sentence.length * sentence.pitch + sentence.pad + sentence.length, 0.0, 0.0
    if least >= LEAST_VALUE and most <= MOST_VALUE:
        for symbol in range(tables.n_wide):
            total += tables.root[symbol] * inside[symbol * sentence.plane + top]
    if total > 0:
        peak = dense_outside(tables, sentence, slots, inside, outside, total, with_words)
        _summarize(sentence, labels, inside, outside, sentence.scratch, summary)
    return total, peak, least, most


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
    if root < tables.n_wide and most < math.inf:
        _read_derivation(tables, sentence, chart, share, root, nodes, tags)
    return best, least, most


@inner_kernel
def _summarize(
    sentence: DenseSentence,
    labels: DenseLabels,
    inside: Floats,
    outside: Floats,
    figures: Floats,
    summary: SpanSummary,
) -> None:
    """Enter the cells of width two and more; ``figures`` is scratch of three vectors."""
    n, pad, pitch, plane = sentence.length, sentence.pad, sentence.pitch, sentence.plane
    start, members, names, number = labels
    label, posterior, total = summary
    factor = spread(number, len(names))
    for width in range(2, n + 1):
        for first in range((pad + width) // LANES * LANES, pad + n + 1, LANES):
            place = width * pitch + first
            best = zeros(figures)
            mass_of_all = best
            chosen = best
            for index in range(len(names)):
                mass = zeros(figures)
                for at in range(start[index], start[index + 1]):
                    member = members[at] * plane
                    mass = multiply_add(
                        load_from(inside, member, place), load_from(outside, member, place), mass
                    )
                mass_of_all = add(mass_of_all, mass)
                bound = multiply(best, factor)
                chosen = choose_greater(mass, bound, repeated(figures, float(index)), chosen)
                best = choose_greater(mass, bound, mass, best)
            store_to(figures, 0, 0, best)
            store_to(figures, LANES, 0, mass_of_all)
            store_to(figures, 2 * LANES, 0, chosen)
            for lane in range(LANES):
                begin = first + lane - pad - width
                if begin >= 0:
                    cell = begin * n - begin * (begin - 1) // 2 + width - 1
                    posterior[cell], total[cell] = figures[lane], figures[LANES + lane]
                    label[cell] = names[int(figures[2 * LANES + lane])] if figures[lane] > 0 else -1


@kernel
def _list_entries(
    sentence: DenseSentence,
    labels: DenseLabels,
    inside: Floats,
    outside: Floats,
    words: SpanEntries,
    room: SpanEntries,
) -> int:
    """List the posteriors above zero, those of words among them; returns how many there are."""
    member_start, members, names, _ = labels
    starts, ends, label_ids, g, lexical = room
    count, word = 0, 0
    for start in range(sentence.length):
        while word < len(words.g) and words.starts[word] == start:
            starts[count], ends[count], label_ids[count] = start, start + 1, words.label_ids[word]
            g[count] = lexical[count] = words.g[word]
            count, word = count + 1, word + 1
        for end in range(start + 2, sentence.length + 1):
            place = (end - start) * sentence.pitch + sentence.pad + end
            for index in range(len(names)):
                mass = 0.0
                for at in range(member_start[index], member_start[index + 1]):
                    member = members[at] * sentence.plane + place
                    mass += inside[member] * outside[member]
                if mass > 0:
                    starts[count], ends[count], label_ids[count] = start, end, names[index]
                    g[count], lexical[count] = mass, 0
                    count += 1
    return count


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
