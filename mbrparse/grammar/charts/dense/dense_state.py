"""What the dense kernels work on: a group of sentences, one a lane (see ``vector``).

Row ``offsets[start] + end * n_wide + symbol`` of a chart belongs to a cell of the upper triangle.
Shorter sentences leave the cells beyond their end empty, so that sentences of different length may share
a group; no lane ever sees another one, hence the values of a sentence do not depend on its company.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.dense.dense_tables import DenseTables
from mbrparse.grammar.charts.rule_tables import Floats, Ints, Offsets
from mbrparse.grammar.kernel import steady


class Group(NamedTuple):
    """The sentences of one group, by lane."""

    length: Ints  # of each sentence; 0 for an empty lane
    entry_start: Ints  # [lane, position]: lexical entries of a token
    entry_symbol: Ints
    entry_prob: Floats  # scaled
    entry_wide: Ints  # wide id of the symbol, or -1
    shift: Ints  # by word, sentence after sentence: the power of two in the values of all that spans it


@steady
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


def dense_state(tables: DenseTables, group: Group, scratch: Floats) -> DenseState:
    """The state for a group."""
    longest, n_wide = int(group.length.max()), len(tables.symbol)
    offsets = _offsets(longest, n_wide)
    least = 1 if tables.wide_at_one else 2
    certain = least == 2 and len(group.entry_symbol) == len(group.shift)
    return DenseState(tables, group, scratch, offsets, longest, n_wide, least, certain)


@lru_cache(64)
def _offsets(longest: int, n_wide: int) -> Offsets:
    start = np.arange(longest + 1)
    return (start * longest - start * (start - 1) // 2 - start - 1) * n_wide
