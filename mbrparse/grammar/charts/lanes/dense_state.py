"""What the dense kernels work on: a group of sentences, one a lane (see ``vector``).

Row ``offsets[start] + end * n_wide + symbol`` of a chart belongs to a cell of the upper triangle.
Shorter sentences leave the cells beyond their end empty, so that sentences of different length may share
a group; no lane ever sees another one, hence the values of a sentence do not depend on its company.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints, Offsets
from mbrparse.grammar.charts.lanes.dense_tables import DenseTables
from mbrparse.grammar.kernel import kernel


class Entries(NamedTuple):
    """Lexical rules as they are entered into a group: those of terminal t are start[t] .. start[t + 1]."""

    start: Ints
    symbol: Ints
    prob: Floats  # scaled
    wide: Ints  # wide id of the symbol, or -1
    shift: Ints  # by terminal, the power of two that its probabilities are scaled by


class Group(NamedTuple):
    """The sentences of one group, by lane; its arrays may have room for longer ones."""

    length: Ints  # of each sentence; 0 for an empty lane
    entry_start: Ints  # [lane, position]: lexical entries of a token
    entry_symbol: Ints
    entry_prob: Floats  # scaled
    entry_wide: Ints  # wide id of the symbol, or -1
    shift: Ints  # by word, sentence after sentence: the power of two in the values of all that spans it
    power: Ints  # of each sentence, the sum of them


class DenseState(NamedTuple):
    """A grammar, a group, and where its cells are."""

    tables: DenseTables
    group: Group
    scratch: Floats  # a row for each pair of children
    offsets: Offsets  # by start: the cell (start, end) has the rows from offsets[start] + end * n_wide
    longest: int  # the length of the group's longest sentence
    n_wide: int
    least: int  # the width of the narrowest cells with wide symbols
    certain: bool  # whether each word has one symbol, which is narrow


def room_for_group(entries: Entries, lanes: int, longest: int) -> Group:
    """Room for as many sentences as there are lanes."""
    words = lanes * longest
    most = words * int(np.diff(entries.start).max(initial=0))
    return Group(
        np.zeros(lanes, np.int32),
        np.empty((lanes, longest + 1), np.int32),
        np.empty(most, np.int32),
        np.empty(most, entries.prob.dtype),
        np.empty(most, np.int32),
        np.empty(words, np.int32),
        np.zeros(lanes, np.int32),
    )


@kernel
def enter_words(entries: Entries, tokens: Ints, group: Group) -> int:
    """Enter the words of sentences whose lengths are there, one after the other; returns their entries."""
    word, entry = 0, 0
    for lane in range(len(group.length)):
        group.power[lane] = 0
        for position in range(group.entry_start.shape[1]):
            group.entry_start[lane, position] = entry
            if position >= group.length[lane]:
                continue
            token = tokens[word]
            group.shift[word] = entries.shift[token]
            group.power[lane] += entries.shift[token]
            word += 1
            for rule in range(entries.start[token], entries.start[token + 1]):
                group.entry_symbol[entry] = entries.symbol[rule]
                group.entry_prob[entry] = entries.prob[rule]
                group.entry_wide[entry] = entries.wide[rule]
                entry += 1
    return entry


def dense_state(
    tables: DenseTables, group: Group, scratch: Floats, longest: int, one_each: bool
) -> DenseState:
    """The state for a group; ``one_each`` is whether each of its words has one entry."""
    n_wide, least = len(tables.symbol), 1 if tables.wide_at_one else 2
    offsets = _offsets(longest, n_wide)
    return DenseState(tables, group, scratch, offsets, longest, n_wide, least, one_each and least == 2)


@lru_cache(64)
def _offsets(longest: int, n_wide: int) -> Offsets:
    start = np.arange(longest + 1)
    return (start * longest - start * (start - 1) // 2 - start - 1) * n_wide
