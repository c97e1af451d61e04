"""Posteriors of labels from a dense chart: of spans of width two and more, and of words.

A dense chart has no cells for narrow symbols, so that the posteriors of preterminals have a kernel of their
own; a word that has one tag needs none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.dense.dense_state import DenseState
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.charts.spans import SpanSummary
from mbrparse.charts.vector import (
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


class WideLabels(NamedTuple):
    """The wide symbols of each label, labels in order of text."""

    start: Ints
    member: Ints
    label: Ints  # the label's id
    number: Floats  # 0, 1, 2 .. as floats, and the tolerance factor at the end
    of_symbol: Ints  # the label's id of each symbol, wide or not


@kernel
def summarize(
    labels: WideLabels, inside: Floats, outside: Floats, base: int, unit: int, rows: Floats
) -> None:
    """Write the best label's posterior, that of all, and the best label's index into three rows.

    They are those of as many cells as a row has; values of symbol s begin at ``base + s * unit``.
    """
    start, members, label, number, _ = labels
    factor = spread(number, len(label))
    best = zeros(rows)
    total = best
    chosen = best
    for index in range(len(label)):
        mass = zeros(rows)
        for place in range(start[index], start[index + 1]):
            member = members[place] * unit
            mass = multiply_add(load_from(inside, base, member), load_from(outside, base, member), mass)
        total = add(total, mass)
        bound = multiply(best, factor)
        chosen = choose_greater(mass, bound, spread(number, index), chosen)
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
    lengths, offsets, n_wide, n = state.group.length, state.offsets, state.n_wide, state.longest
    lanes, names = rows.shape[1], labels.label
    label, posterior, total = summary
    certain_words(state, labels, summary)
    for start in range(n):
        for end in range(start + 2, n + 1):
            base = offsets[start] + end * n_wide
            summarize(labels, inside, outside, base * lanes, lanes, rows)
            for lane in range(len(lengths)):
                length = lengths[lane]
                if end <= length:
                    cell = start * length - start * (start - 1) // 2 + end - start - 1
                    posterior[lane, cell], total[lane, cell] = rows[0, lane], rows[1, lane]
                    label[lane, cell] = names[int(rows[2, lane])] if rows[0, lane] > 0 else -1


@kernel
def certain_words(state: DenseState, labels: WideLabels, summary: SpanSummary) -> None:
    """Enter the cells of width one where each word has one preterminal (tags), whose posterior is one."""
    if not state.certain:
        return
    lengths, entry_start, entry_symbol = state.group.length, state.group.entry_start, state.group.entry_symbol
    label, posterior, total = summary
    label_of = labels.of_symbol
    for lane in range(len(lengths)):
        length = lengths[lane]
        for start in range(length):
            cell = start * length - start * (start - 1) // 2
            label[lane, cell] = label_of[entry_symbol[entry_start[lane, start]]]
            posterior[lane, cell] = total[lane, cell] = 1


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
    member_start, members, names, _, _ = labels
    word_start, word_label, word_g = words
    starts, ends, label_ids, g, lexical, count = room
    size = g.shape[1]
    count[:] = 0
    for start in range(state.longest):
        for lane in range(len(length)):
            if start < length[lane]:
                for word in range(word_start[lane, start], word_start[lane, start + 1]):
                    place = count[lane]
                    count[lane] = place + 1
                    if place < size:
                        starts[lane, place], ends[lane, place] = start, start + 1
                        label_ids[lane, place] = word_label[word]
                        g[lane, place] = lexical[lane, place] = word_g[word]
        for end in range(start + 2, state.longest + 1):
            base = offsets[start] + end * n_wide
            for index in range(len(names)):
                mass = zeros(inside)
                for at in range(member_start[index], member_start[index + 1]):
                    member = members[at]
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
                            label_ids[lane, place] = names[index]
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
    offsets = state.offsets
    member_start, members, names, _, _ = labels
    word_start, word_label, word_g = words
    starts, ends, label_ids, g, lexical, count = room
    size, place = g.shape[1], 0
    for start in range(state.longest):
        for word in range(word_start[0, start], word_start[0, start + 1]):
            if place < size:
                starts[0, place], ends[0, place] = start, start + 1
                label_ids[0, place] = word_label[word]
                g[0, place] = lexical[0, place] = word_g[word]
            place += 1
        for end in range(start + 2, state.longest + 1):
            base = offsets[start] + end * state.n_wide
            for index in range(len(names)):
                mass = inside.dtype.type(0)  # a plain 0 would make the sum a double
                for at in range(member_start[index], member_start[index + 1]):
                    row = base + members[at]
                    mass += inside[row, 0] * outside[row, 0]
                if mass > 0:
                    if place < size:
                        starts[0, place], ends[0, place] = start, end
                        label_ids[0, place] = names[index]
                        g[0, place], lexical[0, place] = mass, 0
                    place += 1
    count[0] = place


@kernel
def dense_words(state: DenseState, inside: Floats, outside: Floats, total: Floats) -> Floats:
    """The posterior of each lexical entry of a narrow symbol."""
    offsets, n_wide = state.offsets, state.n_wide
    lengths, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = state.group
    left_start, left_parent, left_other, left_prob = state.tables.narrow_left
    right_start, right_parent, right_other, right_prob = state.tables.narrow_right
    both_start, both_parent, both_other, both_prob = state.tables.narrow_both
    posterior = np.zeros(len(entry_symbol), inside.dtype)
    least = state.least
    for lane in range(len(lengths)):
        length = lengths[lane]
        if total[lane] <= 0:
            continue
        for position in range(length):
            first, last = entry_start[lane, position], entry_start[lane, position + 1]
            for entry in range(first, last):
                if entry_wide[entry] >= 0:
                    continue
                if last - first == 1:
                    posterior[entry] = 1
                    continue
                symbol = entry_symbol[entry]
                mass = posterior[entry] * 0
                for end in range(position + 1 + least, length + 1):
                    base = offsets[position] + end * n_wide
                    rest = offsets[position + 1] + end * n_wide
                    for rule in range(left_start[symbol], left_start[symbol + 1]):
                        mass += (
                            left_prob[rule]
                            * outside[base + left_parent[rule], lane]
                            * inside[rest + left_other[rule], lane]
                        )
                for start in range(position - least + 1):
                    base = offsets[start] + (position + 1) * n_wide
                    front = base - n_wide
                    for rule in range(right_start[symbol], right_start[symbol + 1]):
                        mass += (
                            right_prob[rule]
                            * outside[base + right_parent[rule], lane]
                            * inside[front + right_other[rule], lane]
                        )
                posterior[entry] += entry_prob[entry] * mass
                if position + 1 < length:
                    base = offsets[position] + (position + 2) * n_wide
                    for rule in range(both_start[symbol], both_start[symbol + 1]):
                        for other in range(last, entry_start[lane, position + 2]):
                            if entry_symbol[other] == both_other[rule]:
                                mass = (
                                    entry_prob[entry]
                                    * both_prob[rule]
                                    * entry_prob[other]
                                    * outside[base + both_parent[rule], lane]
                                )
                                posterior[entry] += mass
                                if entry_start[lane, position + 2] - last > 1:
                                    posterior[other] += mass
                if position > 0 and entry_start[lane, position] - entry_start[lane, position - 1] == 1:
                    base = offsets[position - 1] + (position + 1) * n_wide
                    other = entry_start[lane, position - 1]
                    before = entry_symbol[other]
                    for rule in range(both_start[before], both_start[before + 1]):
                        if symbol == both_other[rule] and entry_wide[other] < 0:
                            posterior[entry] += (
                                entry_prob[entry]
                                * both_prob[rule]
                                * entry_prob[other]
                                * outside[base + both_parent[rule], lane]
                            )
    return posterior
