"""Charts by the dense kernels: groups of sentences, one a lane, and the memory they share."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.clock import Clock
from mbrparse.charts.base.memory import aligned_rows
from mbrparse.charts.chart import Chart, Derivation, Wanted
from mbrparse.charts.dense.dense_nodes import dense_nodes
from mbrparse.charts.dense.dense_passes import (
    GroupCharts,
    dense_derivations,
    dense_inside,
    dense_posteriors,
    enter_words,
)
from mbrparse.charts.dense.dense_readings import DenseReadings, Filled, wide_labels
from mbrparse.charts.dense.dense_state import (
    DenseState,
    Entries,
    Group,
    dense_state,
    dense_tables,
    room_for_group,
)
from mbrparse.charts.dense.diagonal_charts import DiagonalCharts, Recognition, room_for_nodes
from mbrparse.charts.dense.number_range import NumberRange
from mbrparse.charts.rule_tables import Floats, chart_rules, lexicon, scaled_entries
from mbrparse.charts.spans import (
    SYMBOL_IDS,
    Spans,
    SpanSummary,
    cell_of,
    empty_summary,
    no_entries,
)
from mbrparse.charts.vector import VECTOR_BYTES
from mbrparse.grammar.pcfg import PCFG, IntArray

Scaled = tuple[npt.NDArray[np.float64], float]

# Beyond, charts are filled one by one: it takes less time, and the scales of words are not enough.
_LONGEST_IN_COMPANY = 64
_LONGEST_UNSCALED = {"float64": 100, "float32": 48}


class DenseCharts:
    """Drives the dense kernels for one grammar in one precision."""

    def __init__(self, grammar: PCFG, dtype: Any, tie: float, clock: Clock) -> None:
        rules = chart_rules(grammar)
        self.clock = clock
        self.dtype = np.dtype(dtype)
        self.lanes = VECTOR_BYTES // self.dtype.itemsize
        self._longest_unscaled = _LONGEST_UNSCALED[self.dtype.name]
        self._highest = math.sqrt(np.finfo(dtype).max)
        self._tie = tie
        self._tables = dense_tables(rules, dtype)
        words = lexicon(rules, len(grammar.terminals))
        wide_id = np.full(len(grammar.symbols), -1, np.int32)
        wide_id[self._tables.symbol] = np.arange(len(self._tables.symbol))
        # Values are multiplied by a power of two for each token, so that they stay near one.
        shift, prob = scaled_entries(words)
        with np.errstate(over="ignore"):  # such entries are not exact (``number_range``)
            entry_prob = prob.astype(dtype)
        self._entries = Entries(words.start, words.symbol, entry_prob, wide_id[words.symbol], shift)
        # By lanes; and by lanes, length, and whether words have one entry each.
        self._rooms: dict[int, Group] = {}
        self._states: dict[tuple[int, int, bool], DenseState] = {}
        self._range = NumberRange(rules, words, dtype)
        self._labels = wide_labels(grammar.label_ids, self._tables.symbol, tie, self.dtype)
        self._scratch = aligned_rows(max(len(self._tables.tiles.right), 4), self.dtype)
        self._rows, self._peak = aligned_rows(3, self.dtype), aligned_rows(1, self.dtype)
        self._readings = DenseReadings(self._tables, self._labels, tie, self._rows)
        self._diagonals = DiagonalCharts(self._labels, self._scratch, clock)
        # Made for the first sentence that asks: its tables are as many as all others.
        self._recognition = cache(partial(Recognition, rules, words, self.dtype, self._diagonals))
        self._charts = [aligned_rows(0, self.dtype), aligned_rows(0, self.dtype)]
        # What was last asked for a cell: its sentence, since charts that are held would hold this in turn.
        self._held: tuple[IntArray, Filled] | None = None

    def groups(self, charts: Sequence[Chart]) -> Iterator[list[Chart]]:
        """Which charts are filled at once: those of like length, one a lane.

        Where there are few, or long ones, each for itself: by diagonals (``diagonal_state``), which takes an
        eighth of the memory, and from some length on less time.
        """
        ordered = sorted(charts, key=attrgetter("length"))
        short = [one for one in ordered if one.length <= _LONGEST_IN_COMPANY]
        number = -(-len(short) // self.lanes) if 2 * len(short) > self.lanes else len(short)
        for group in range(number):
            yield short[group * len(short) // number : (group + 1) * len(short) // number]
        for one in ordered[len(short) :]:
            yield [one]

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> list[Chart]:
        """Fill the charts of a group; returns those that need a kernel with more range.

        Raises TimeLimitError.
        """
        failed: dict[int, Chart] = {}
        empty: set[int] = set()
        sentences = [chart.terminal_ids for chart in charts]
        if wanted.nodes:
            return [chart for chart in charts if not self._put_nodes(chart)]
        state = self._arrange(sentences)
        if wanted.summaries or wanted.entries:
            filled = self._inside_outside(state, sentences, wanted.entries)
            for lane, chart in enumerate(charts):
                if filled.sound[lane]:
                    continue
                if self._has_no_tree(chart.terminal_ids, filled.total[lane]):
                    empty.add(lane)
                    chart.put(-math.inf, empty_summary(chart.length, self.dtype), None, no_entries())
                else:
                    failed[lane] = chart
            if len(failed) + len(empty) < len(charts):
                self._put(filled, charts, {*failed, *empty}, wanted)
        if wanted.derivations:
            if len(charts) == 1 and self._long(state):  # it was rescaled
                state = self._arrange(sentences)
            for lane, derivation in enumerate(self._derivations(state, sentences, empty)):
                if derivation is None:
                    failed[lane] = charts[lane]
                elif lane not in failed:
                    charts[lane].put(derivation=derivation)
        return list(failed.values())

    def inside(self, sentences: Sequence[IntArray]) -> tuple[DenseState, Floats]:
        """The inside values of two sentences or more, [rows, lanes], until others are asked for."""
        state = self._arrange(sentences)
        rows = self._chart(0, state.longest * (state.longest + 1) // 2)
        dense_inside(state, rows, None, self.clock.stop)
        self.clock.check()
        return state, rows

    def _put_nodes(self, chart: Chart) -> bool:
        """Tell a chart its inside values; whether they stayed in range."""
        state = self._arrange([chart.terminal_ids])
        rows = self._diagonals.inside(state, self._long(state))
        kept = rows is not None and self._is_exact(chart.terminal_ids, state, rows[:, 0])
        if rows is not None and kept:
            chart.nodes = dense_nodes(state, rows)
        return kept

    def _put(self, filled: Filled, charts: Sequence[Chart], left_out: Container[int], wanted: Wanted) -> None:
        """Tell charts what was found, but those that are left out."""
        words = None if filled.state.certain else self._readings.word_masses(filled)
        summaries = self._readings.summaries(filled, words)
        entries = self._readings.entries(filled, summaries, words) if wanted.entries else None
        for lane, chart in enumerate(charts):
            if lane not in left_out:
                chart.put(log_prob=filled.log_prob[lane], summary=summaries[lane])
                if entries is not None:
                    chart.put(entries=entries[lane])

    def cell(self, chart: Chart, start: int, end: int) -> tuple[IntArray, Scaled, Scaled] | None:
        """Wide symbols of a span, their inside and outside values, each with its log scale.

        None where that needs a kernel with more range.
        """
        if self._held is None or self._held[0] is not chart.terminal_ids:
            state = self._arrange([chart.terminal_ids])
            filled = self._inside_outside(state, [chart.terminal_ids], with_cells=True)
            self._held = (chart.terminal_ids, filled)
        filled = self._held[1]
        if not filled.sound[0]:
            return None
        count = len(self._tables.symbol)
        base = cell_of(chart.length, start, end) * count
        shift = float(filled.state.group.shift[start:end].sum()) * math.log(2.0)
        return (
            self._tables.symbol,
            (filled.inside[base : base + count, 0].astype(np.float64), -shift),
            (filled.outside[base : base + count, 0].astype(np.float64), shift + filled.log_prob[0]),
        )

    def _chart(self, which: int, cells: int) -> Floats:
        """A zeroed chart of so many cells."""
        rows = cells * len(self._tables.symbol)
        if len(self._charts[which]) < rows:
            self._charts[which] = aligned_rows(rows, self.dtype)
        chart = self._charts[which][:rows]
        chart[:] = 0
        return chart

    def _arrange(self, sentences: Sequence[IntArray]) -> DenseState:
        """Sentences by lane; one sentence is alone."""
        lengths = [len(tokens) for tokens in sentences]
        self._held = None  # its words lie where these will
        lanes, longest = 1 if len(sentences) == 1 else self.lanes, max(lengths)
        group = self._room(lanes, longest)
        group.length[:] = 0
        group.length[: len(lengths)] = lengths
        tokens = sentences[0] if len(sentences) == 1 else np.concatenate(sentences)
        one_each = enter_words(self._entries, tokens, group) == len(tokens)
        key = lanes, longest, one_each
        if key not in self._states:
            self._states[key] = dense_state(self._tables, group, self._scratch, longest, one_each)
        return self._states[key]

    def _room(self, lanes: int, longest: int) -> Group:
        """Where a group's words are entered."""
        if lanes not in self._rooms or self._rooms[lanes].entry_start.shape[1] <= longest:
            self._rooms[lanes] = room_for_group(self._entries, lanes, longest)
            self._states.clear()
        return self._rooms[lanes]

    def _inside_outside(self, state: DenseState, sentences: Sequence[IntArray], with_cells: bool) -> Filled:
        """Fill charts; those of one sentence are of use ``with_cells`` only, its summary is anyway."""
        n_cells = state.longest * (state.longest + 1) // 2
        joint = _no_summary(len(state.group.length), n_cells, self.dtype)
        if len(joint.best) == 1:
            return self._alone(state, sentences, joint, with_cells)
        inside, outside = self._chart(0, n_cells), self._chart(1, n_cells + state.longest + 1)
        peak = self._peak
        peak[:] = 0
        charts = GroupCharts(inside, outside, peak, self._rows)
        total = dense_posteriors(state, self._labels, charts, joint, self.clock.stop)
        self.clock.check()
        log_prob, sound = self._judged(state.group, total.tolist(), peak[0].tolist())
        if not self._is_exact_for_any(state):
            for lane, tokens in enumerate(sentences):
                sound[lane] = sound[lane] and self._is_exact(tokens, state, inside[:, lane])
        return Filled(state, inside, outside, joint, total, log_prob, sound)

    def _alone(
        self, state: DenseState, sentences: Sequence[IntArray], joint: SpanSummary, with_cells: bool
    ) -> Filled:
        diagonals = self._diagonals
        total, peak = diagonals.posteriors(state, joint, self._long(state))
        log_prob, sound = self._judged(state.group, [total], [peak])
        sound[0] = sound[0] and self._is_exact(sentences[0], state, None)
        inside = outside = self._scratch[:0]
        if sound[0] and (with_cells or not state.certain):
            inside, outside = diagonals.rows(state)
        return Filled(state, inside, outside, joint, np.array([total]), log_prob, sound)

    def _long(self, state: DenseState) -> bool:
        """Whether a sentence is so long that its words' powers of two may not fit them."""
        return state.longest > self._longest_unscaled

    def _judged(
        self, group: Group, total: Sequence[float], peak: Sequence[float]
    ) -> tuple[list[float], list[bool]]:
        """By lane the log probability, and whether no value of weight left the numbers' range."""
        # An outside value near the largest number may have met inside values below the smallest.
        sound = [0 < prob < math.inf and most < self._highest for prob, most in zip(total, peak, strict=True)]
        log_prob = [
            math.log(prob) - power * math.log(2.0) if is_sound else -math.inf
            for prob, power, is_sound in zip(total, group.power.tolist(), sound, strict=True)
        ]
        return log_prob, sound

    def _has_no_tree(self, tokens: IntArray, prob: float) -> bool:
        """Whether there is none for a sentence whose probability came out as this."""
        if prob > 0:
            return False
        if prob == 0 and len(tokens) <= self._longest_unscaled and self._range.holds(tokens):
            return True
        # The range was left, or may have been.
        return not self._recognition().derives(tokens, self._arrange([tokens]))

    def _is_exact_for_any(self, state: DenseState) -> bool:
        """Whether no inside value is lost to zero in sentences of that length, whatever their words are."""
        return not self._long(state) and self._range.holds_for_any(state.longest)

    def _is_exact(self, tokens: IntArray, state: DenseState, values: Floats | None) -> bool:
        """Whether no inside value of a sentence was lost to zero; ``values`` None: those of diagonals."""
        if not self._long(state) and self._range.holds(tokens):
            return True
        rows = self._diagonals.inside_rows(state) if values is None else values
        return self._range.contains(tokens, rows)

    def _derivations(
        self, state: DenseState, sentences: Sequence[IntArray], empty: Container[int]
    ) -> list[Derivation | None]:
        """The most probable one of each sentence; None: that needs a kernel with more range.

        Those of some lanes, which are ``empty``, are known to have none.
        """
        if len(sentences) == 1:
            if 0 in empty:
                return [_no_derivation()]
            nodes = self._diagonals.derivation(state, self._long(state), self._tie)
            if nodes is None:
                return [_no_derivation() if self._has_no_tree(sentences[0], math.nan) else None]
        else:
            best = self._chart(0, state.longest * (state.longest + 1) // 2)
            nodes, stack = room_for_nodes(self.lanes, state.longest)
            dense_derivations(state, best, self._tie, stack, nodes, self.clock.stop)
            self.clock.check()
        powers = state.group.power.tolist()
        found: list[Derivation | None] = []
        for lane, (tokens, prob) in enumerate(zip(sentences, nodes.top.tolist(), strict=False)):
            n = len(tokens)
            if lane in empty or self._has_no_tree(tokens, prob):
                found.append(_no_derivation())
                continue
            values = None if len(sentences) == 1 else best[:, lane]
            exact = self._is_exact_for_any(state) or self._is_exact(tokens, state, values)
            if not 0 < prob < math.inf or not exact:
                found.append(None)
                continue
            log_prob = math.log(prob) - float(powers[lane]) * math.log(2.0)
            start, end, symbol = (column[lane, : n - 1] for column in nodes[:3])
            inner = Spans(start, end, symbol, SYMBOL_IDS)
            found.append(Derivation(log_prob, inner, nodes.tag[lane, :n].tolist()))
        return found


def _no_derivation() -> Derivation:
    return Derivation(-math.inf, [], [])


def _no_summary(lanes: int, n_cells: int, dtype: npt.DTypeLike) -> SpanSummary:
    """Room for the summaries of a group, arrays [lane, cell]."""
    label = np.empty((lanes, n_cells), np.int32)
    label.fill(-1)
    best, total = np.zeros((2, lanes, n_cells), dtype)
    return SpanSummary(label, best, total)
