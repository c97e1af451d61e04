"""Charts by the dense kernels: groups of sentences, one a lane, and the memory they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.chart import Chart, Derivation, Wanted
from mbrparse.grammar.charts.dense import Group, dense_inside, dense_outside, dense_roots
from mbrparse.grammar.charts.dense_viterbi import dense_derivation, dense_viterbi
from mbrparse.grammar.charts.rule_tables import Floats, Ints, Lexicon, chart_rules, dense_tables, lexicon
from mbrparse.grammar.charts.span_summary import (
    SpanEntries,
    SpanSummary,
    WideLabels,
    cell_of,
    certain_words,
    dense_entries,
    dense_summary,
    dense_words,
    entries_without_unaries,
)
from mbrparse.grammar.charts.vector import VECTOR_BYTES
from mbrparse.grammar.pcfg import PCFG, IntArray

Scaled = tuple[npt.NDArray[np.float64], float]


class _Arranged(NamedTuple):
    """Sentences by lane, the longest length, and each lane's power of two."""

    group: Group
    longest: int
    shift: npt.NDArray[np.int64]


class _Filled(NamedTuple):
    """The charts of a group; they live until the next group is filled."""

    group: Group
    longest: int
    inside: Floats
    outside: Floats
    total: Floats  # scaled probabilities by lane
    log_prob: npt.NDArray[np.float64]
    sound: npt.NDArray[np.bool_]  # whether no value of weight left the numbers' range


class DenseCharts:
    """Drives the dense kernels for one grammar in one precision."""

    def __init__(self, grammar: PCFG, dtype: Any, tie: float) -> None:
        rules = chart_rules(grammar)
        self.dtype = np.dtype(dtype)
        self.lanes = VECTOR_BYTES // self.dtype.itemsize
        self._tie = tie
        self._label_ids = grammar.label_ids
        self._tables = dense_tables(rules, dtype)
        self._lexicon = lexicon(rules, len(grammar.terminals))
        self._wide_id = np.full(len(grammar.symbols), -1, np.int32)
        self._wide_id[self._tables.symbol] = np.arange(len(self._tables.symbol))
        # Values are multiplied by a power of two for each token, so that they stay near one.
        self._token_shift = self._lexicon.shift + self._lexicon.token_shift
        terminal = np.repeat(np.arange(len(grammar.terminals)), np.diff(self._lexicon.start))
        self._entry_prob = np.ldexp(self._lexicon.prob, self._token_shift[terminal]).astype(dtype)
        self._entry_wide = self._wide_id[self._lexicon.symbol]
        self._labels = _wide_labels(grammar.label_ids[self._tables.symbol], tie, self.dtype)
        self._scratch = _aligned_rows(max(len(self._tables.tile_right), 4), self.dtype)
        self._rows = np.zeros((3, self.lanes), self.dtype)
        self._charts = [_aligned_rows(0, self.dtype), _aligned_rows(0, self.dtype)]

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> list[Chart]:
        """Fill up to ``lanes`` charts; returns those that need a kernel with more range."""
        failed: dict[int, Chart] = {}
        arranged = self._group([chart.terminal_ids for chart in charts])
        if wanted.summaries or wanted.entries:
            filled = self._inside_outside(arranged)
            failed.update((lane, chart) for lane, chart in enumerate(charts) if not filled.sound[lane])
            summaries = self._summaries(filled)
            for lane, chart in enumerate(charts):
                if lane not in failed:
                    chart.put(log_prob=float(filled.log_prob[lane]), summary=summaries[lane])
                    if wanted.entries:
                        chart.put(entries=self._entries(filled, lane, summaries[lane]))
        if wanted.derivations:
            for lane, derivation in enumerate(self._derivations(arranged, len(charts))):
                # Zero may be an underflow: only the sparse kernel knows.
                if derivation is None:
                    failed[lane] = charts[lane]
                elif lane not in failed:
                    charts[lane].put(derivation=derivation)
        return list(failed.values())

    def cell(self, chart: Chart, start: int, end: int) -> tuple[IntArray, Scaled, Scaled]:
        """Wide symbols of a span, their inside and outside values, each with its log scale."""
        filled = self._inside_outside(self._group([chart.terminal_ids]))
        count = len(self._tables.symbol)
        base = cell_of(filled.longest, start, end) * count
        shift = float(self._token_shift[chart.terminal_ids[start:end]].sum()) * math.log(2.0)
        return (
            self._tables.symbol,
            (filled.inside[base : base + count, 0].astype(np.float64), -shift),
            (filled.outside[base : base + count, 0].astype(np.float64), shift + float(filled.log_prob[0])),
        )

    def _chart(self, which: int, longest: int) -> Floats:
        """A zeroed chart for sentences of up to ``longest`` tokens."""
        rows = longest * (longest + 1) // 2 * len(self._tables.symbol)
        if len(self._charts[which]) < rows:
            self._charts[which] = _aligned_rows(rows, self.dtype)
        chart = self._charts[which][:rows]
        chart[:] = 0
        return chart

    def _group(self, sentences: Sequence[IntArray]) -> _Arranged:
        """Arrange sentences by lane."""
        length = np.zeros(self.lanes, np.int32)
        length[: len(sentences)] = [len(tokens) for tokens in sentences]
        longest = int(length.max())
        tokens = np.concatenate(sentences)
        entries, begin = lexical_entries(self._lexicon, tokens)
        first = np.concatenate(([0], np.cumsum(length)[:-1]))
        position = first[:, None] + np.minimum(np.arange(longest + 1)[None, :], length[:, None])
        shift = np.add.reduceat(self._token_shift[tokens], first[: len(sentences)])
        group = Group(
            length,
            begin[position],
            self._lexicon.symbol[entries],
            self._entry_prob[entries],
            self._entry_wide[entries],
        )
        return _Arranged(group, longest, np.pad(shift, (0, self.lanes - len(sentences))))

    def _inside_outside(self, arranged: _Arranged) -> _Filled:
        group, longest, shift = arranged
        inside, outside = self._chart(0, longest), self._chart(1, longest)
        dense_inside(self._tables, group, inside, self._scratch, longest)
        total = dense_roots(self._tables, group, inside, longest)
        peak = _aligned_rows(1, self.dtype)
        dense_outside(self._tables, group, inside, outside, total, peak, longest)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prob = np.log(total.astype(np.float64)) - shift * math.log(2.0)
        # An outside value near the largest number may have met inside values below the smallest.
        sound = (total > 0) & np.isfinite(total) & (peak[0] < np.sqrt(np.finfo(self.dtype).max))
        return _Filled(group, longest, inside, outside, total, log_prob, sound)

    def _summaries(self, filled: _Filled) -> list[SpanSummary]:
        group, longest = filled.group, filled.longest
        shape = (self.lanes, longest * (longest + 1) // 2)
        joint = SpanSummary(
            np.full(shape, -1, np.int32), np.zeros(shape, self.dtype), np.zeros(shape, self.dtype)
        )
        dense_summary(
            self._tables, self._labels, group, filled.inside, filled.outside, joint, self._rows, longest
        )
        if len(group.entry_symbol) == group.length.sum() and not self._tables.wide_at_one:
            certain_words(group, self._label_ids, joint)
        else:
            self._word_summary(filled, joint)
        cells = group.length * (group.length + 1) // 2
        return [SpanSummary(*(array[lane, : cells[lane]] for array in joint)) for lane in range(self.lanes)]

    def _word_summary(self, filled: _Filled, joint: SpanSummary) -> None:
        for lane in range(self.lanes):
            length = int(filled.group.length[lane])
            for position, masses in enumerate(self._word_posteriors(filled, lane) if length else []):
                cell = cell_of(length, position, position + 1)
                for label, mass in sorted(masses.items()):
                    if mass > joint.best[lane, cell] * (1 + self._tie):
                        joint.best[lane, cell], joint.label[lane, cell] = mass, label
                joint.total[lane, cell] = sum(masses.values())

    def _word_posteriors(self, filled: _Filled, lane: int) -> list[dict[int, float]]:
        """For each word of a lane the posteriors of its preterminals' labels."""
        group = filled.group
        narrow = dense_words(self._tables, group, filled.inside, filled.outside, filled.total, filled.longest)
        masses: list[dict[int, float]] = []
        for position in range(int(group.length[lane])):
            row = cell_of(filled.longest, position, position + 1) * len(self._tables.symbol)
            found: dict[int, float] = {}
            for entry in range(group.entry_start[lane, position], group.entry_start[lane, position + 1]):
                wide = int(group.entry_wide[entry])
                mass = narrow[entry]
                if wide >= 0:
                    mass = filled.inside[row + wide, lane] * filled.outside[row + wide, lane]
                label = int(self._label_ids[group.entry_symbol[entry]])
                found[label] = found.get(label, 0.0) + float(mass)
            masses.append(found)
        return masses

    def _entries(self, filled: _Filled, lane: int, summary: SpanSummary) -> SpanEntries:
        """All posteriors of a lane: those of wider spans, and the words' merged in."""
        wider = dense_entries(
            self._tables, self._labels, filled.group, filled.inside, filled.outside, lane, filled.longest
        )
        length = int(filled.group.length[lane])
        if len(filled.group.entry_symbol) == filled.group.length.sum() and not self._tables.wide_at_one:
            cell = cell_of(length, np.arange(length), np.arange(length) + 1)
            rows = [(p, int(label), 1.0) for p, label in enumerate(summary.label[cell].tolist())]
        else:
            words = self._word_posteriors(filled, lane)
            rows = [(p, label, g) for p, found in enumerate(words) for label, g in sorted(found.items()) if g]
        starts = np.concatenate((wider.starts, np.array([p for p, _, _ in rows], np.int32)))
        ends = np.concatenate((wider.ends, np.array([p + 1 for p, _, _ in rows], np.int32)))
        label_ids = np.concatenate((wider.label_ids, np.array([label for _, label, _ in rows], np.int32)))
        g = np.concatenate((wider.g, np.array([g for _, _, g in rows])))
        order = np.lexsort((label_ids, ends, starts))
        return entries_without_unaries(starts[order], ends[order], label_ids[order], g[order])

    def _derivations(self, arranged: _Arranged, count: int) -> list[Derivation | None]:
        group, longest, shift = arranged
        best = self._chart(0, longest)
        dense_viterbi(self._tables, group, best, self._scratch, longest)
        found: list[Derivation | None] = []
        for lane in range(count):
            nodes, prob = dense_derivation(self._tables, group, best, lane, longest, self._tie)
            if not 0 < prob < math.inf:
                found.append(None)
                continue
            log_prob = math.log(prob) - float(shift[lane]) * math.log(2.0)
            found.append(derivation_of(nodes.start, nodes.end, nodes.symbol, log_prob))
        return found


def lexical_entries(words: Lexicon, tokens: Ints) -> tuple[Ints, Ints]:
    """The lexicon's entries of all tokens, and where each token's begin."""
    count = words.start[tokens + 1] - words.start[tokens]
    begin = np.zeros(len(tokens) + 1, np.int32)
    np.cumsum(count, out=begin[1:])
    entries = np.arange(begin[-1], dtype=np.int32) + np.repeat(words.start[tokens] - begin[:-1], count)
    return entries.astype(np.int32), begin


def derivation_of(start: Ints, end: Ints, symbol: Ints, log_prob: float) -> Derivation:
    """A derivation from all of its nodes in preorder, preterminals included.

    Of the nodes over a single terminal the lowest is the preterminal.
    """
    inner = end - start > 1
    inner[:-1] |= (start[1:] == start[:-1]) & (end[1:] == end[:-1])
    nodes = zip(start[inner].tolist(), end[inner].tolist(), symbol[inner].tolist(), strict=True)
    return Derivation(log_prob, list(nodes), symbol[~inner].tolist())


def _aligned_rows(rows: int, dtype: Any) -> Floats:
    """Zeros [rows, lanes], each row on a cache line of its own."""
    raw = np.zeros((rows + 1) * VECTOR_BYTES, np.uint8)
    offset = -raw.ctypes.data % VECTOR_BYTES
    lanes = VECTOR_BYTES // np.dtype(dtype).itemsize
    aligned: Floats = raw[offset : offset + rows * VECTOR_BYTES].view(dtype).reshape(rows, lanes)
    return aligned


def _wide_labels(label: Ints, tie: float, dtype: Any) -> WideLabels:
    order = np.argsort(label, kind="stable")
    names = np.unique(label)
    start = np.searchsorted(label[order], np.append(names, names[-1] + 1 if len(names) else 0))
    number = np.append(np.arange(len(names)), 1 + tie)
    return WideLabels(
        start.astype(np.int32), order.astype(np.int32), names.astype(np.int32), number.astype(dtype)
    )
