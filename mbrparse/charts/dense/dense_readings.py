"""What is read off filled dense charts: the posteriors of labels, by cell and one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbrparse.charts.dense.dense_state import DenseState, DenseTables, Group
from mbrparse.charts.dense.dense_summary import (
    EntryRoom,
    WideLabels,
    WordEntries,
    dense_entries,
    dense_entries_alone,
    dense_words,
)
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.charts.spans import SpanEntries, SpanSummary, cell_of

WordMasses = list[list[dict[int, float]]]  # [lane][position]: posteriors of preterminals' labels

# So many labels of a cell, in the mean, have room for their posteriors at once.
_LIKELY_LABELS = 16


def wide_labels(label_ids: Ints, wide: Ints, tie: float, dtype: Any) -> WideLabels:
    """The labels of ``wide`` symbols; ``label_ids`` are those of all."""
    label = label_ids[wide]
    order = np.argsort(label, kind="stable")
    names = np.unique(label)
    start = np.searchsorted(label[order], np.append(names, names[-1] + 1 if len(names) else 0))
    number = np.append(np.arange(len(names)), 1 + tie)
    return WideLabels(
        start.astype(np.int32),
        order.astype(np.int32),
        names.astype(np.int32),
        number.astype(dtype),
        label_ids,
    )


def entry_room(lanes: int, size: int) -> EntryRoom:
    """Room for so many entries of each lane."""
    starts, ends, label_ids = np.empty((3, lanes, size), np.int32)
    g, lexical = np.empty((2, lanes, size))
    return EntryRoom(starts, ends, label_ids, g, lexical, np.zeros(lanes, np.int32))


class Filled(NamedTuple):
    """The charts of a group; they live until the next group is filled."""

    state: DenseState
    inside: Floats
    outside: Floats
    joint: SpanSummary  # arrays [lane, cell]; words that are not certain are not in it at first
    total: Floats  # scaled probabilities by lane
    log_prob: list[float]
    sound: list[bool]  # whether no value of weight left the numbers' range


class DenseReadings:
    """Reads off charts of one grammar in one precision."""

    def __init__(self, tables: DenseTables, labels: WideLabels, tie: float, rows: Floats) -> None:
        self._tables, self._labels, self._tie = tables, labels, tie
        self._rows = rows  # scratch

    def summaries(self, filled: Filled, words: WordMasses | None) -> list[SpanSummary]:
        """Of each lane, what stands in ``joint``, with that of the words (None: they are certain)."""
        group, (label, best, total) = filled.state.group, filled.joint
        if words is not None:
            self._word_summary(group, words, filled.joint)
        cells = [length * (length + 1) // 2 for length in group.length.tolist()]
        return [
            SpanSummary(label[lane, :count], best[lane, :count], total[lane, :count])
            for lane, count in enumerate(cells)
        ]

    def _word_summary(self, group: Group, words: WordMasses, joint: SpanSummary) -> None:
        for lane, lane_words in enumerate(words):
            length = int(group.length[lane])
            for position, masses in enumerate(lane_words):
                cell = cell_of(length, position, position + 1)
                for label, mass in sorted(masses.items()):
                    if mass > joint.best[lane, cell] * (1 + self._tie):
                        joint.best[lane, cell], joint.label[lane, cell] = mass, label
                joint.total[lane, cell] = sum(masses.values())

    def word_masses(self, filled: Filled) -> WordMasses:
        """For each word of each lane the posteriors of its preterminals' labels."""
        group, longest = filled.state.group, filled.state.longest
        narrow = dense_words(filled.state, filled.inside, filled.outside, filled.total)
        lanes: WordMasses = [[] for _ in group.length]
        for lane, masses in enumerate(lanes):
            for position in range(int(group.length[lane])):
                row = cell_of(longest, position, position + 1) * len(self._tables.symbol)
                found: dict[int, float] = {}
                for entry in range(group.entry_start[lane, position], group.entry_start[lane, position + 1]):
                    wide = int(group.entry_wide[entry])
                    mass = narrow[entry]
                    if wide >= 0:
                        mass = filled.inside[row + wide, lane] * filled.outside[row + wide, lane]
                    label = int(self._labels.of_symbol[group.entry_symbol[entry]])
                    found[label] = found.get(label, 0.0) + float(mass)
                masses.append(found)
        return lanes

    def entries(
        self, filled: Filled, summaries: list[SpanSummary], words: WordMasses | None
    ) -> list[SpanEntries]:
        """All posteriors, by lane."""
        state, length = filled.state, filled.state.group.length
        start = np.zeros((len(length), state.longest + 1), np.int32)
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

        def enter(room: EntryRoom) -> None:
            given = state, self._labels, filled.inside, filled.outside, by_word, room
            if len(length) == 1:
                dense_entries_alone(*given)
            else:
                dense_entries(*given, self._rows)

        room = entry_room(len(length), _LIKELY_LABELS * state.longest * (state.longest + 1) // 2)
        enter(room)
        if room.used.max() > room.g.shape[1]:
            room = entry_room(len(length), int(room.used.max()))
            enter(room)
        *columns, counts = room
        return [
            SpanEntries(*(column[lane, :count].copy() for column in columns))
            for lane, count in enumerate(counts.tolist())
        ]
