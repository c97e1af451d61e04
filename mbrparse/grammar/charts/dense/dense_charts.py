"""Charts by the dense kernels: groups of sentences, one a lane, and the memory they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.chart import Chart, Derivation, Wanted
from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.dense.dense_derivation import dense_derivation
from mbrparse.grammar.charts.dense.dense_inside import dense_inside, dense_roots, dense_viterbi
from mbrparse.grammar.charts.dense.dense_nodes import dense_nodes
from mbrparse.grammar.charts.dense.dense_outside import dense_outside
from mbrparse.grammar.charts.dense.dense_state import DenseState, Group, dense_state
from mbrparse.grammar.charts.dense.dense_summary import (
    WordEntries,
    dense_entries,
    dense_summary,
    entry_room,
    wide_labels,
)
from mbrparse.grammar.charts.dense.dense_tables import dense_tables
from mbrparse.grammar.charts.dense.dense_words import certain_words, dense_words
from mbrparse.grammar.charts.lexicon import lexical_entries, lexicon, scaled_entries
from mbrparse.grammar.charts.live_nodes import LiveNodes
from mbrparse.grammar.charts.nodes import derivation_of
from mbrparse.grammar.charts.rule_tables import Floats, chart_rules
from mbrparse.grammar.charts.span_summary import SpanEntries, SpanSummary, cell_of
from mbrparse.grammar.charts.vector import VECTOR_BYTES, aligned_rows
from mbrparse.grammar.pcfg import PCFG, IntArray

Scaled = tuple[npt.NDArray[np.float64], float]
WordMasses = list[list[dict[int, float]]]  # [lane][position]: posteriors of preterminals' labels

# So many labels of a cell, in the mean, have room for their posteriors at once.
_LIKELY_LABELS = 16


class _Arranged(NamedTuple):
    """Sentences by lane, and each lane's power of two."""

    state: DenseState
    shift: npt.NDArray[np.int64]


class _Filled(NamedTuple):
    """The charts of a group; they live until the next group is filled."""

    state: DenseState
    inside: Floats
    outside: Floats
    total: Floats  # scaled probabilities by lane
    log_prob: npt.NDArray[np.float64]
    sound: npt.NDArray[np.bool_]  # whether no value of weight left the numbers' range


class DenseCharts:
    """Drives the dense kernels for one grammar in one precision."""

    def __init__(self, grammar: PCFG, dtype: Any, tie: float, clock: Clock) -> None:
        rules = chart_rules(grammar)
        self._clock = clock
        self.dtype = np.dtype(dtype)
        self.lanes = VECTOR_BYTES // self.dtype.itemsize
        self._tie = tie
        self._label_ids = grammar.label_ids
        self._tables = dense_tables(rules, dtype)
        self._lexicon = lexicon(rules, len(grammar.terminals))
        wide_id = np.full(len(grammar.symbols), -1, np.int32)
        wide_id[self._tables.symbol] = np.arange(len(self._tables.symbol))
        self._entry_wide = wide_id[self._lexicon.symbol]
        # Values are multiplied by a power of two for each token, so that they stay near one.
        self._token_shift, entry_prob = scaled_entries(self._lexicon)
        self._entry_prob = entry_prob.astype(dtype)
        self._labels = wide_labels(grammar.label_ids[self._tables.symbol], tie, self.dtype)
        self._scratch = aligned_rows(max(len(self._tables.tile_right), 4), self.dtype)
        self._rows = np.zeros((3, self.lanes), self.dtype)
        self._charts = [aligned_rows(0, self.dtype), aligned_rows(0, self.dtype)]
        # What was last asked for a cell: its sentence, since charts that are held would hold this in turn.
        self._held: tuple[IntArray, _Filled] | None = None

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> list[Chart]:
        """Fill up to ``lanes`` charts; returns those that need a kernel with more range.

        Raises TimeLimitError.
        """
        self._held = None
        failed: dict[int, Chart] = {}
        arranged = self._group([chart.terminal_ids for chart in charts])
        if wanted.summaries or wanted.entries or wanted.nodes:
            filled = self._inside_outside(arranged)
            failed.update((lane, chart) for lane, chart in enumerate(charts) if not filled.sound[lane])
            words = None if self._certain(filled.state.group) else self._word_masses(filled)
            summaries = self._summaries(filled, words)
            entries = self._entries(filled, summaries, words) if wanted.entries else None
            for lane, chart in enumerate(charts):
                if lane not in failed:
                    chart.put(log_prob=float(filled.log_prob[lane]), summary=summaries[lane])
                    if entries is not None:
                        chart.put(entries=entries[lane])
                    if wanted.nodes:
                        chart.put(nodes=self._nodes(filled, lane))
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
        if self._held is None or self._held[0] is not chart.terminal_ids:
            self._held = None
            self._held = (chart.terminal_ids, self._inside_outside(self._group([chart.terminal_ids])))
        filled = self._held[1]
        count = len(self._tables.symbol)
        base = cell_of(chart.length, start, end) * count
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
            self._charts[which] = aligned_rows(rows, self.dtype)
        chart = self._charts[which][:rows]
        chart[:] = 0
        return chart

    def _group(self, sentences: Sequence[IntArray]) -> _Arranged:
        """Arrange sentences by lane."""
        length = np.zeros(self.lanes, np.int32)
        length[: len(sentences)] = [len(tokens) for tokens in sentences]
        tokens = np.concatenate(sentences)
        entries, begin = lexical_entries(self._lexicon, tokens)
        first = np.concatenate(([0], np.cumsum(length)[:-1]))
        position = first[:, None] + np.minimum(np.arange(length.max() + 1)[None, :], length[:, None])
        shift = np.add.reduceat(self._token_shift[tokens], first[: len(sentences)])
        group = Group(
            length,
            begin[position],
            self._lexicon.symbol[entries],
            self._entry_prob[entries],
            self._entry_wide[entries],
        )
        state = dense_state(self._tables, group, self._scratch)
        return _Arranged(state, np.pad(shift, (0, self.lanes - len(sentences))))

    def _inside_outside(self, arranged: _Arranged) -> _Filled:
        state, shift = arranged
        inside, outside = self._chart(0, state.longest), self._chart(1, state.longest)
        dense_inside(state, inside, self._clock.stop)
        self._clock.check()
        total = dense_roots(state, inside)
        peak = aligned_rows(1, self.dtype)
        dense_outside(state, inside, outside, total, peak, self._clock.stop)
        self._clock.check()
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prob = np.log(total.astype(np.float64)) - shift * math.log(2.0)
        # An outside value near the largest number may have met inside values below the smallest.
        sound = (total > 0) & np.isfinite(total) & (peak[0] < np.sqrt(np.finfo(self.dtype).max))
        return _Filled(state, inside, outside, total, log_prob, sound)

    def _certain(self, group: Group) -> bool:
        """Whether each word has one preterminal."""
        return len(group.entry_symbol) == group.length.sum() and not self._tables.wide_at_one

    def _summaries(self, filled: _Filled, words: WordMasses | None) -> list[SpanSummary]:
        group, longest = filled.state.group, filled.state.longest
        shape = (self.lanes, longest * (longest + 1) // 2)
        joint = SpanSummary(
            np.full(shape, -1, np.int32), np.zeros(shape, self.dtype), np.zeros(shape, self.dtype)
        )
        dense_summary(filled.state, self._labels, filled.inside, filled.outside, joint, self._rows)
        if words is None:
            certain_words(group, self._label_ids, joint)
        else:
            self._word_summary(group, words, joint)
        cells = group.length * (group.length + 1) // 2
        return [SpanSummary(*(array[lane, : cells[lane]] for array in joint)) for lane in range(self.lanes)]

    def _word_summary(self, group: Group, words: WordMasses, joint: SpanSummary) -> None:
        for lane, lane_words in enumerate(words):
            length = int(group.length[lane])
            for position, masses in enumerate(lane_words):
                cell = cell_of(length, position, position + 1)
                for label, mass in sorted(masses.items()):
                    if mass > joint.best[lane, cell] * (1 + self._tie):
                        joint.best[lane, cell], joint.label[lane, cell] = mass, label
                joint.total[lane, cell] = sum(masses.values())

    def _word_masses(self, filled: _Filled) -> WordMasses:
        """For each word of each lane the posteriors of its preterminals' labels."""
        group, longest = filled.state.group, filled.state.longest
        narrow = dense_words(filled.state, filled.inside, filled.outside, filled.total)
        lanes: WordMasses = [[] for _ in range(self.lanes)]
        for lane, masses in enumerate(lanes):
            for position in range(int(group.length[lane])):
                row = cell_of(longest, position, position + 1) * len(self._tables.symbol)
                found: dict[int, float] = {}
                for entry in range(group.entry_start[lane, position], group.entry_start[lane, position + 1]):
                    wide = int(group.entry_wide[entry])
                    mass = narrow[entry]
                    if wide >= 0:
                        mass = filled.inside[row + wide, lane] * filled.outside[row + wide, lane]
                    label = int(self._label_ids[group.entry_symbol[entry]])
                    found[label] = found.get(label, 0.0) + float(mass)
                masses.append(found)
        return lanes

    def _entries(
        self, filled: _Filled, summaries: list[SpanSummary], words: WordMasses | None
    ) -> list[SpanEntries]:
        """All posteriors, by lane."""
        state, length = filled.state, filled.state.group.length
        start = np.zeros((self.lanes, state.longest + 1), np.int32)
        if words is None:
            found = [
                [(int(label), 1.0)]
                for n, summary in zip(length.tolist(), summaries, strict=True)
                for label in summary.label[cell_of(n, np.arange(n), np.arange(n) + 1)].tolist()
            ]
        else:
            found = [
                [(label, g) for label, g in sorted(masses.items()) if g] for lane in words for masses in lane
            ]
        until = np.cumsum([0, *map(len, found)])
        first = np.concatenate(([0], np.cumsum(length)))
        for lane, n in enumerate(length.tolist()):
            start[lane, : n + 1] = until[first[lane] : first[lane] + n + 1]
        flat = [pair for pairs in found for pair in pairs]
        by_word = WordEntries(
            start,
            np.array([label for label, _ in flat], np.int32),
            np.array([g for _, g in flat], np.float64),
        )
        charts = filled.inside, filled.outside
        room = entry_room(self.lanes, _LIKELY_LABELS * state.longest * (state.longest + 1) // 2)
        dense_entries(state, self._labels, *charts, by_word, room, self._rows)
        if room.used.max() > room.g.shape[1]:
            room = entry_room(self.lanes, int(room.used.max()))
            dense_entries(state, self._labels, *charts, by_word, room, self._rows)
        *columns, counts = room
        return [
            SpanEntries(*(column[lane, :count].copy() for column in columns))
            for lane, count in enumerate(counts.tolist())
        ]

    def _nodes(self, filled: _Filled, lane: int) -> LiveNodes:
        return dense_nodes(filled.state, self._tables.symbol, filled.inside, filled.outside, lane)

    def _derivations(self, arranged: _Arranged, count: int) -> list[Derivation | None]:
        state, shift = arranged
        best = self._chart(0, state.longest)
        dense_viterbi(state, best, self._clock.stop)
        self._clock.check()
        found: list[Derivation | None] = []
        for lane in range(count):
            nodes, prob = dense_derivation(state, best, lane, self._tie)
            if not 0 < prob < math.inf:
                found.append(None)
                continue
            log_prob = math.log(prob) - float(shift[lane]) * math.log(2.0)
            found.append(derivation_of(*nodes, log_prob))
        return found
