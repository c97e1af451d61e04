"""What free-space objectives need to know of a chart: per span the best label, its posterior, and the
sum of all posteriors; and the posteriors themselves, as a list.

Cells are numbered row by row over the upper triangle of the sentence itself (see ``cell_of``).
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.dense import Group, row_offsets
from mbrparse.grammar.charts.rule_tables import DenseTables, Floats, Ints
from mbrparse.grammar.charts.sparse import MAX_SHIFT, Items, Words
from mbrparse.grammar.charts.vector import (
    add,
    choose_greater,
    load,
    multiply,
    multiply_add,
    spread,
    store,
    zeros,
)
from mbrparse.grammar.kernel import kernel

Position = TypeVar("Position", int, npt.NDArray[np.int_], npt.NDArray[np.int32])


def cell_of(n: int, start: Position, end: Position) -> Position:
    """The number of the span's cell in a sentence of n terminals; also of arrays of spans.

    >>> [cell_of(3, i, j) for i in range(3) for j in range(i + 1, 4)]
    [0, 1, 2, 3, 4, 5]
    """
    return start * n - start * (start - 1) // 2 + end - start - 1


class SpanSummary(NamedTuple):
    """By cell; at width one of the symbols that are rewritten as the word itself: preterminals, or
    phrases over one word."""

    label: Ints  # projected label with the largest posterior, or -1
    best: Floats  # its posterior
    total: Floats  # the sum over labels


class WideLabels(NamedTuple):
    """The wide symbols of each label, labels in order of text."""

    start: Ints
    member: Ints
    label: Ints  # the label's id
    number: Floats  # 0, 1, 2 .. as floats, and the tolerance factor at the end


@kernel
def dense_summary(
    tables: DenseTables,
    labels: WideLabels,
    group: Group,
    inside: Floats,
    outside: Floats,
    summary: SpanSummary,
    rows: Floats,
    n: int,
) -> None:
    """Summarize the cells of width two and more; arrays of ``summary`` are [lane, cell].

    ``rows`` is scratch of three rows.
    """
    n_wide = len(tables.symbol)
    offsets = row_offsets(n, n_wide)
    factor = spread(labels.number, len(labels.label))
    for start in range(n):
        for end in range(start + 2, n + 1):
            base = offsets[start] + end * n_wide
            best = zeros(inside)
            total = best
            chosen = best
            for index in range(len(labels.label)):
                mass = zeros(inside)
                for place in range(labels.start[index], labels.start[index + 1]):
                    member = labels.member[place]
                    mass = multiply_add(load(inside, base, member), load(outside, base, member), mass)
                total = add(total, mass)
                bound = multiply(best, factor)
                chosen = choose_greater(mass, bound, spread(labels.number, index), chosen)
                best = choose_greater(mass, bound, mass, best)
            store(rows, 0, 0, best)
            store(rows, 0, 1, total)
            store(rows, 0, 2, chosen)
            for lane in range(len(group.length)):
                length = group.length[lane]
                if end <= length:
                    cell = start * length - start * (start - 1) // 2 + end - start - 1
                    summary.best[lane, cell] = rows[0, lane]
                    summary.total[lane, cell] = rows[1, lane]
                    summary.label[lane, cell] = labels.label[int(rows[2, lane])] if rows[0, lane] > 0 else -1


@kernel
def certain_words(group: Group, label_ids: Ints, summary: SpanSummary) -> None:
    """Enter the cells of width one where each word has one preterminal (tags), whose posterior is one."""
    for lane in range(len(group.length)):
        length = group.length[lane]
        for start in range(length):
            cell = start * length - start * (start - 1) // 2
            symbol = group.entry_symbol[group.entry_start[lane, start]]
            summary.label[lane, cell] = label_ids[symbol]
            summary.best[lane, cell] = 1
            summary.total[lane, cell] = 1


@kernel
def dense_words(
    tables: DenseTables, group: Group, inside: Floats, outside: Floats, total: Floats, n: int
) -> Floats:
    """The posterior of each lexical entry of a narrow symbol."""
    n_wide = len(tables.symbol)
    offsets = row_offsets(n, n_wide)
    narrow = tables.narrow
    posterior = np.zeros(len(group.entry_symbol), inside.dtype)
    least = 1 if tables.wide_at_one else 2
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


@kernel
def sparse_summary(items: Items, label: Ints, n_labels: int, n: int, tolerance: float) -> SpanSummary:
    """Summarize all cells of a sentence; ``label`` projects symbols."""
    n_cells = n * (n + 1) // 2
    summary = SpanSummary(
        np.full(n_cells, -1, np.int32),
        np.zeros(n_cells, items.inside.dtype),
        np.zeros(n_cells, items.inside.dtype),
    )
    mass = np.zeros(n_labels, items.inside.dtype)
    for start in range(n):
        for end in range(start + 1, n + 1):
            cell = start * n - start * (start - 1) // 2 + end - start - 1
            item = items.cell_first[start, end]
            while item >= 0:
                mass[label[items.symbol[item]]] += items.inside[item] * items.outside[item]
                item = items.cell_next[item]
            largest = mass[0] * 0
            item = items.cell_first[start, end]
            while item >= 0:
                largest = max(largest, mass[label[items.symbol[item]]])
                summary.total[cell] += items.inside[item] * items.outside[item]
                item = items.cell_next[item]
            item = items.cell_first[start, end]
            while item >= 0:
                name = label[items.symbol[item]]
                # The first label within tolerance of the largest.
                if mass[name] > 0 and mass[name] >= largest * (1 - tolerance):
                    if summary.label[cell] < 0 or name < summary.label[cell]:
                        summary.label[cell] = name
                        summary.best[cell] = mass[name]
                item = items.cell_next[item]
            item = items.cell_first[start, end]
            while item >= 0:
                mass[label[items.symbol[item]]] = 0
                item = items.cell_next[item]
    return summary


class SpanEntries(NamedTuple):
    """Posteriors above zero in the order of start, end, label; parallel arrays.

    With unary rules ``g`` is the expected number of occurrences, at width one too. ``lexical`` is the part
    of g whose nodes are rewritten as the word itself: preterminals, which are no constituents.
    """

    starts: Ints
    ends: Ints
    label_ids: Ints
    g: Floats
    lexical: Floats  # 0 but at width one, never above g

    @property
    def constituents(self) -> Floats:
        """The expected numbers of constituents."""
        return self.g - self.lexical


def entries_without_unaries(starts: Ints, ends: Ints, label_ids: Ints, g: Floats) -> SpanEntries:
    """Entries of a model in which nothing but preterminals stands over a single terminal.

    >>> one = np.zeros(2, np.int32)
    >>> entries_without_unaries(one, one + [1, 2], one, np.ones(2)).constituents.tolist()
    [0.0, 1.0]
    """
    return SpanEntries(starts, ends, label_ids, g, np.where(ends - starts == 1, g, 0.0))


@kernel
def summarize_entries(n: int, entries: SpanEntries, tolerance: float) -> SpanSummary:
    """The summary of a list of posteriors, from whatever model."""
    n_cells = n * (n + 1) // 2
    summary = SpanSummary(np.full(n_cells, -1, np.int32), np.zeros(n_cells), np.zeros(n_cells))
    for entry in range(len(entries.g)):
        start = entries.starts[entry]
        cell = start * n - start * (start - 1) // 2 + entries.ends[entry] - start - 1
        value = entries.g[entry]
        summary.total[cell] += value
        if value > summary.best[cell] * (1 + tolerance):
            summary.best[cell] = value
            summary.label[cell] = entries.label_ids[entry]
    return summary


@kernel
def sparse_entries(words: Words, items: Items, label: Ints, n_labels: int) -> SpanEntries:
    """All projected labels above zero; labels of a cell in order."""
    n = len(words.entry_start) - 1
    mass = np.zeros(n_labels, items.inside.dtype)
    own = np.zeros(n_labels, items.inside.dtype)  # what of a label is rewritten as the word
    word_prob = np.zeros(len(label), items.inside.dtype)
    seen = np.zeros(n_labels, np.bool_)
    count = items.column_start[n + 1]
    starts, ends, label_ids = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    g, lexical = np.empty(count), np.zeros(count)
    names = np.empty(count, np.int32)
    place = 0
    for start in range(n):
        for end in range(start + 1, n + 1):
            found = 0
            if end - start == 1:
                _add_lexical(words, items, label, own, word_prob, start)
            item = items.cell_first[start, end]
            while item >= 0:
                value = items.inside[item] * items.outside[item]
                name = label[items.symbol[item]]
                if value > 0 and not seen[name]:
                    seen[name] = True
                    names[found] = name
                    found += 1
                mass[name] += value
                item = items.cell_next[item]
            for name in np.sort(names[:found]):
                starts[place], ends[place], label_ids[place] = start, end, name
                g[place] = mass[name]
                lexical[place] = min(own[name], mass[name])
                place += 1
                mass[name] = 0
                seen[name] = False
            if end - start == 1:
                for entry in range(words.entry_start[start], words.entry_start[end]):
                    own[label[words.entry_symbol[entry]]] = 0
    return SpanEntries(
        starts[:place].copy(),
        ends[:place].copy(),
        label_ids[:place].copy(),
        g[:place].copy(),
        lexical[:place].copy(),
    )


@kernel
def _add_lexical(
    words: Words, items: Items, label: Ints, own: Floats, word_prob: Floats, position: int
) -> None:
    """Add up, by label, outside(X) * P(X -> word); ``word_prob`` [symbol] is scratch, zero between calls."""
    shift = items.exponent[position, position + 1]
    scale = words.powers[MAX_SHIFT - min(max(shift, -MAX_SHIFT), MAX_SHIFT)]
    entries = range(words.entry_start[position], words.entry_start[position + 1])
    for entry in entries:
        word_prob[words.entry_symbol[entry]] = words.entry_prob[entry] * scale
    # In the order of items: without unary rules it is the same sum as that of all nodes.
    item = items.cell_first[position, position + 1]
    while item >= 0:
        symbol = items.symbol[item]
        own[label[symbol]] += word_prob[symbol] * items.outside[item]
        item = items.cell_next[item]
    for entry in entries:
        word_prob[words.entry_symbol[entry]] = 0


@kernel
def dense_entries(
    tables: DenseTables, labels: WideLabels, group: Group, inside: Floats, outside: Floats, lane: int, n: int
) -> SpanEntries:
    """The same from one lane of a dense chart, for the spans of width two and more."""
    n_wide = len(tables.symbol)
    offsets = row_offsets(n, n_wide)
    length = group.length[lane]
    capacity = length * (length + 1) // 2 * len(labels.label)
    starts = np.empty(capacity, np.int32)
    ends = np.empty(capacity, np.int32)
    label_ids = np.empty(capacity, np.int32)
    g = np.empty(capacity)
    place = 0
    for start in range(length):
        for end in range(start + 2, length + 1):
            base = offsets[start] + end * n_wide
            for index in range(len(labels.label)):
                mass = inside[0, 0] * 0
                for at in range(labels.start[index], labels.start[index + 1]):
                    row = base + labels.member[at]
                    mass += inside[row, lane] * outside[row, lane]
                if mass > 0:
                    starts[place], ends[place], label_ids[place] = start, end, labels.label[index]
                    g[place] = mass
                    place += 1
    none = np.zeros(place)
    return SpanEntries(
        starts[:place].copy(), ends[:place].copy(), label_ids[:place].copy(), g[:place].copy(), none
    )
