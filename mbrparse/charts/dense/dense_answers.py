"""What charts are asked for, answered by dense charts: one sentence after the other in the same memory."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.charts.chart import TOO_IMPROBABLE, Cell, Chart, Derivation, log_cell
from mbrparse.charts.dense.dense_passes import dense_inside, dense_outside, dense_root
from mbrparse.charts.dense.dense_tables import (
    DenseSentence,
    DenseTables,
    chart_size,
    dense_sentence,
    dense_tables,
)
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints, chart_rules, lexical_entries, lexicon, scaled_entries
from mbrparse.charts.spans import (
    SYMBOL_IDS,
    SpanEntries,
    Spans,
    SpanSummary,
    empty_summary,
    no_entries,
    summarize_entries,
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
    """The sentence whose inside and outside values are in memory."""

    terminal_ids: IntArray
    sentence: DenseSentence
    log_prob: float
    words: SpanEntries  # of preterminals


class DenseAnswers:
    """Answers for charts of two words and more of one grammar without unary rules.

    Posteriors are of ``label`` [symbol]. What is asked raises NumberRangeError where values may have left the
    range of numbers.
    """

    def __init__(self, grammar: PCFG, label: Ints, tie: float) -> None:
        rules = chart_rules(grammar)
        self._tie = tie
        self._tables = dense_tables(rules)
        self._lexicon = lexicon(rules, len(grammar.terminals))
        self._power, self._entry_prob = scaled_entries(self._lexicon)
        symbol = self._tables.symbol
        slot = np.empty(len(symbol), np.int32)
        slot[symbol] = np.arange(len(symbol))
        self._entry_slot = slot[self._lexicon.symbol]
        self._label = label[symbol]  # by slot
        self._labels = _labels(self._label[: self._tables.n_wide], tie)
        probs = np.concatenate([rules.prob, rules.root_prob])
        self._is_exact = bool(probs.min(initial=1.0, where=probs > 0) >= LEAST_RULE)
        self._scratch = aligned_floats(max(len(self._tables.tiles.right), 1) * LANES)
        self._inside, self._outside = aligned_floats(0), aligned_floats(0)
        self._sums: _Sums | None = None

    def log_prob(self, chart: Chart) -> float:
        """The natural logarithm of the sentence's probability, -inf without a parse."""
        return self._filled(chart).log_prob

    def summary(self, chart: Chart) -> SpanSummary:
        """The best label of each cell, its posterior, and the sum of all."""
        sums = self._filled(chart)
        if sums.log_prob == -math.inf:
            return empty_summary(chart.length)
        summary = summarize_entries(chart.length, sums.words, self._tie)
        charts = self._inside, self._outside
        _summarize(sums.sentence, self._labels, *charts, np.empty(3 * LANES), summary)
        return summary

    def entries(self, chart: Chart) -> SpanEntries:
        """All posteriors above zero."""
        sums, n = self._filled(chart), chart.length
        if sums.log_prob == -math.inf:
            return no_entries()
        size = len(sums.words.g) + n * (n - 1) // 2 * len(self._labels.label)
        starts, ends, label_ids = (np.empty(size, np.int32) for _ in range(3))
        g, lexical = np.empty(size), np.empty(size)
        room = SpanEntries(starts, ends, label_ids, g, lexical)
        charts = self._inside, self._outside
        count = _list_entries(sums.sentence, self._labels, *charts, sums.words, room)
        return SpanEntries(*(column[:count].copy() for column in room))

    def cell(self, chart: Chart, start: int, end: int) -> Cell:
        """The symbols of a span."""
        sums = self._filled(chart)
        sentence, wide = sums.sentence, slice(self._tables.n_wide)
        places = sentence.base[wide] + (end - start) * sentence.pitch + sentence.pad + end
        scale = float(sentence.power[start:end].sum()) * math.log(2.0)
        inside, outside = self._inside[places], self._outside[places]
        if sums.log_prob == -math.inf:
            outside = np.zeros_like(inside)
        return log_cell(self._tables.symbol[wide], inside, -scale, outside, scale + sums.log_prob)

    def viterbi(self, chart: Chart) -> Derivation:
        """The most probable derivation."""
        self._sums = None
        sentence = self._sentence(chart)
        self._fill(sentence, True)
        n, n_wide, tables = chart.length, self._tables.n_wide, self._tables
        top = sentence.base[:n_wide] + n * sentence.pitch + sentence.pad + n
        values = self._tables.root * self._inside[top]
        if not values.max(initial=0.0) > 0:
            return Derivation(-math.inf, [], [])
        root = int(np.argmax(values * (1 + self._tie) >= values.max()))
        nodes, tags = np.empty((3, n - 1), np.int32), np.empty(n, np.int32)
        _read_derivation(tables, sentence, self._inside, 1 - self._tie, root, nodes, tags)
        log_prob = math.log(values.max()) - float(sentence.power.sum()) * math.log(2.0)
        start, end, slot = nodes
        return Derivation(
            log_prob, Spans(start, end, tables.symbol[slot], SYMBOL_IDS), tables.symbol[tags].tolist()
        )

    def _sentence(self, chart: Chart) -> DenseSentence:
        tokens = chart.terminal_ids
        entries, begin = lexical_entries(self._lexicon, tokens)
        ends = np.arange(1, len(tokens) + 1, dtype=np.int32).repeat(np.diff(begin))
        listed = ends, self._entry_slot[entries], self._entry_prob[entries]
        sentence = dense_sentence(self._tables, self._scratch, listed, self._power[tokens])
        size = chart_size(self._tables, sentence)
        if len(self._inside) < size:
            self._inside, self._outside = aligned_floats(size), aligned_floats(size)
        return sentence

    def _fill(self, sentence: DenseSentence, maximize: bool | None) -> None:
        least, most = dense_inside(self._tables, sentence, self._inside, maximize)
        words = self._inside[sentence.base[sentence.entry_slot] + self._word_place(sentence)]
        words = words[sentence.entry_prob > 0]
        exact = self._is_exact and min(least, words.min(initial=least)) >= LEAST_VALUE
        if not exact or max(most, words.max(initial=0.0)) > MOST_VALUE:
            raise NumberRangeError(TOO_IMPROBABLE)

    @staticmethod
    def _word_place(sentence: DenseSentence) -> Ints:
        return sentence.entry_end + (sentence.pitch + sentence.pad)

    def _filled(self, chart: Chart) -> _Sums:
        """The inside and outside values of a chart's sentence, in memory."""
        if self._sums is not None and self._sums.terminal_ids is chart.terminal_ids:
            return self._sums
        self._sums = None
        sentence = self._sentence(chart)
        self._fill(sentence, None)
        total = dense_root(self._tables, sentence, self._inside)
        log_prob, words = -math.inf, no_entries()
        if total > 0:
            with_words = len(sentence.entry_end) > chart.length
            peak = dense_outside(self._tables, sentence, self._inside, self._outside, total, with_words)
            if not peak < _MOST_OUTSIDE:
                raise NumberRangeError(TOO_IMPROBABLE)
            log_prob = math.log(total) - float(sentence.power.sum()) * math.log(2.0)
            words = self._words(sentence, with_words)
        self._sums = _Sums(chart.terminal_ids, sentence, log_prob, words)
        return self._sums

    def _words(self, sentence: DenseSentence, with_words: bool) -> SpanEntries:
        """The posteriors of preterminals, which are one where words have one each."""
        ends, label = sentence.entry_end, self._label[sentence.entry_slot]
        if not with_words:
            one = np.ones(len(ends))
            return SpanEntries(ends - 1, ends, label, one, one)
        places = sentence.base[sentence.entry_slot] + self._word_place(sentence)
        g = self._inside[places] * self._outside[places]
        count = int(self._label.max(initial=0)) + 1
        keys, row = np.unique((ends - 1) * count + label, return_inverse=True)
        mass = np.bincount(row, g, len(keys))
        mass[np.bincount(keys // count)[keys // count] == 1] = 1.0
        keys, mass = keys[mass > 0], mass[mass > 0]
        start, label = (keys // count).astype(np.int32), (keys % count).astype(np.int32)
        return SpanEntries(start, start + np.int32(1), label, mass, mass)


def _labels(label: Ints, tie: float) -> DenseLabels:
    """The labels of wide symbols."""
    names, member = np.unique(label), np.argsort(label, kind="stable")
    start = np.searchsorted(label[member], np.append(names, names[-1:] + 1)).astype(np.int32)
    number = np.append(np.arange(float(len(names))), 1 + tie)
    return DenseLabels(start, member.astype(np.int32), names.astype(np.int32), number)


@kernel
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


@kernel
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
