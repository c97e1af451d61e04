"""Posteriors of labels from a dense chart: of spans of width two and more, and of words.

A dense chart has no cells for narrow symbols, so that the posteriors of preterminals have a kernel of their
own; a word that has one tag needs none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.span_summary import SpanSummary
from mbrparse.grammar.charts.base.vector import (
    add,
    any_positive,
    choose_greater,
    load,
    load_from,
    multiply,
    multiply_add,
    spread,
    store,
    zeros,
)
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.kernel import kernel


class WideLabels(NamedTuple):
    """The wide symbols of each label, labels in order of text."""

    start: Ints
    member: Ints
    label: Ints  # the label's id
    number: Floats  # 0, 1, 2 .. as floats, and the tolerance factor at the end
    of_symbol: Ints  # the label's id of each symbol, wide or not


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


@kernel
def summarize(
    labels: WideLabels, inside: Floats, outside: Floats, base: int, unit: int, rows: Floats
) -> None:
    """Write the best label's posterior, that of all, and the best label's index into three rows.

    They are those of as many cells as a row has; values of symbol s begin at ``base + s * unit``.
    """
    factor = spread(labels.number, len(labels.label))
    best = zeros(rows)
    total = best
    chosen = best
    for index in range(len(labels.label)):
        mass = zeros(rows)
        for place in range(labels.start[index], labels.start[index + 1]):
            member = labels.member[place] * unit
            mass = multiply_add(load_from(inside, base, member), load_from(outside, base, member), mass)
        total = add(total, mass)
        bound = multiply(best, factor)
        chosen = choose_greater(mass, bound, spread(labels.number, index), chosen)
        best = choose_greater(mass, bound, mass, best)
    store(rows, 0, 0, best)
    store(rows, 0, 1, total)
    store(rows, 0, 2, chosen)


@kernel
def dense_summary(
    state: DenseState,
    labels: WideLabels,
    inside: Floats,
    outside: Floats,
    summary: SpanSummary,
    rows: Floats,
) -> None:
    """Summarize the cells of width two and more, and certain words; arrays of ``summary`` are [lane, cell].

    ``rows`` is scratch of three rows.
    """
    group, offsets, n_wide, n = state.group, state.offsets, state.n_wide, state.longest
    lanes = rows.shape[1]
    certain_words(state, labels, summary)
    for start in range(n):
        for end in range(start + 2, n + 1):
            base = offsets[start] + end * n_wide
            summarize(labels, inside, outside, base * lanes, lanes, rows)
            for lane in range(len(group.length)):
                length = group.length[lane]
                if end <= length:
                    cell = start * length - start * (start - 1) // 2 + end - start - 1
                    summary.best[lane, cell] = rows[0, lane]
                    summary.total[lane, cell] = rows[1, lane]
                    summary.label[lane, cell] = labels.label[int(rows[2, lane])] if rows[0, lane] > 0 else -1


@kernel
def certain_words(state: DenseState, labels: WideLabels, summary: SpanSummary) -> None:
    """Enter the cells of width one where each word has one preterminal (tags), whose posterior is one."""
    if not state.certain:
        return
    group = state.group
    for lane in range(len(group.length)):
        length = group.length[lane]
        for start in range(length):
            cell = start * length - start * (start - 1) // 2
            summary.label[lane, cell] = labels.of_symbol[group.entry_symbol[group.entry_start[lane, start]]]
            summary.best[lane, cell] = 1
            summary.total[lane, cell] = 1


class EntryRoom(NamedTuple):
    """Room for the posteriors of all lanes [lane, place], as SpanEntries has them, and how many there are."""

    starts: Ints
    ends: Ints
    label_ids: Ints
    g: Floats
    lexical: Floats
    used: Ints  # by lane


class WordEntries(NamedTuple):
    """Posteriors of preterminals: those of a lane's word are start[lane, position] .. up to the next's."""

    start: Ints
    label_id: Ints
    g: Floats


def entry_room(lanes: int, size: int) -> EntryRoom:
    """Room for so many entries of each lane."""
    starts, ends, label_ids = np.empty((3, lanes, size), np.int32)
    g, lexical = np.empty((2, lanes, size))
    return EntryRoom(starts, ends, label_ids, g, lexical, np.zeros(lanes, np.int32))


@kernel
def dense_entries(
    state: DenseState,
    labels: WideLabels,
    inside: Floats,
    outside: Floats,
    words: WordEntries,
    room: EntryRoom,
    rows: Floats,
) -> None:
    """All projected labels above zero of all lanes, in the order of start, end, label.

    Those that there is no room for are counted only. ``rows`` is scratch.
    """
    offsets, n_wide, length = state.offsets, state.n_wide, state.group.length
    starts, ends, label_ids, g, lexical, count = room
    size = g.shape[1]
    count[:] = 0
    for start in range(state.longest):
        for lane in range(len(length)):
            if start < length[lane]:
                for word in range(words.start[lane, start], words.start[lane, start + 1]):
                    place = count[lane]
                    count[lane] = place + 1
                    if place < size:
                        starts[lane, place], ends[lane, place] = start, start + 1
                        label_ids[lane, place] = words.label_id[word]
                        g[lane, place] = lexical[lane, place] = words.g[word]
        for end in range(start + 2, state.longest + 1):
            base = offsets[start] + end * n_wide
            for index in range(len(labels.label)):
                mass = zeros(inside)
                for at in range(labels.start[index], labels.start[index + 1]):
                    member = labels.member[at]
                    mass = add(mass, multiply(load(inside, base, member), load(outside, base, member)))
                if not any_positive(mass):
                    continue
                store(rows, 0, 0, mass)
                for lane in range(len(length)):
                    if rows[0, lane] > 0:
                        place = count[lane]
                        count[lane] = place + 1
                        if place < size:
                            starts[lane, place], ends[lane, place] = start, end
                            label_ids[lane, place] = labels.label[index]
                            g[lane, place], lexical[lane, place] = rows[0, lane], 0


@kernel
def dense_entries_alone(
    state: DenseState,
    labels: WideLabels,
    inside: Floats,
    outside: Floats,
    words: WordEntries,
    room: EntryRoom,
) -> None:
    """The same for one sentence, whose charts are [rows, 1]."""
    starts, ends, label_ids, g, lexical, count = room
    size, place = g.shape[1], 0
    for start in range(state.longest):
        for word in range(words.start[0, start], words.start[0, start + 1]):
            if place < size:
                starts[0, place], ends[0, place] = start, start + 1
                label_ids[0, place] = words.label_id[word]
                g[0, place] = lexical[0, place] = words.g[word]
            place += 1
        for end in range(start + 2, state.longest + 1):
            base = state.offsets[start] + end * state.n_wide
            for index in range(len(labels.label)):
                mass = inside.dtype.type(0)  # a plain 0 would make the sum a double
                for at in range(labels.start[index], labels.start[index + 1]):
                    row = base + labels.member[at]
                    mass += inside[row, 0] * outside[row, 0]
                if mass > 0:
                    if place < size:
                        starts[0, place], ends[0, place] = start, end
                        label_ids[0, place] = labels.label[index]
                        g[0, place], lexical[0, place] = mass, 0
                    place += 1
    count[0] = place


@kernel
def dense_words(state: DenseState, inside: Floats, outside: Floats, total: Floats) -> Floats:
    """The posterior of each lexical entry of a narrow symbol."""
    group, narrow, offsets, n_wide = state.group, state.tables.narrow, state.offsets, state.n_wide
    posterior = np.zeros(len(group.entry_symbol), inside.dtype)
    least = state.least
    for lane in range(len(group.length)):
        length = group.length[lane]
        if total[lane] <= 0:
            continue
        for position in range(length):
            first, last = group.entry_start[lane, position], group.entry_start[lane, position + 1]
            for entry in range(first, last):
                if group.entry_wide[entry] >= 0:
                    continue
                if last - first == 1:
                    posterior[entry] = 1
                    continue
                symbol = group.entry_symbol[entry]
                mass = posterior[entry] * 0
                for end in range(position + 1 + least, length + 1):
                    base = offsets[position] + end * n_wide
                    rest = offsets[position + 1] + end * n_wide
                    for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                        mass += (
                            narrow.left_prob[rule]
                            * outside[base + narrow.left_parent[rule], lane]
                            * inside[rest + narrow.left_other[rule], lane]
                        )
                for start in range(position - least + 1):
                    base = offsets[start] + (position + 1) * n_wide
                    front = base - n_wide
                    for rule in range(narrow.right_start[symbol], narrow.right_start[symbol + 1]):
                        mass += (
                            narrow.right_prob[rule]
                            * outside[base + narrow.right_parent[rule], lane]
                            * inside[front + narrow.right_other[rule], lane]
                        )
                posterior[entry] += group.entry_prob[entry] * mass
                if position + 1 < length:
                    base = offsets[position] + (position + 2) * n_wide
                    for rule in range(narrow.both_start[symbol], narrow.both_start[symbol + 1]):
                        for other in range(last, group.entry_start[lane, position + 2]):
                            if group.entry_symbol[other] == narrow.both_other[rule]:
                                mass = (
                                    group.entry_prob[entry]
                                    * narrow.both_prob[rule]
                                    * group.entry_prob[other]
                                    * outside[base + narrow.both_parent[rule], lane]
                                )
                                posterior[entry] += mass
                                if group.entry_start[lane, position + 2] - last > 1:
                                    posterior[other] += mass
                if (
                    position > 0
                    and group.entry_start[lane, position] - group.entry_start[lane, position - 1] == 1
                ):
                    base = offsets[position - 1] + (position + 1) * n_wide
                    other = group.entry_start[lane, position - 1]
                    before = group.entry_symbol[other]
                    for rule in range(narrow.both_start[before], narrow.both_start[before + 1]):
                        if symbol == narrow.both_other[rule] and group.entry_wide[other] < 0:
                            posterior[entry] += (
                                group.entry_prob[entry]
                                * narrow.both_prob[rule]
                                * group.entry_prob[other]
                                * outside[base + narrow.both_parent[rule], lane]
                            )
    return posterior
