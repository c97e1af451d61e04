"""Which labels may stand over which spans of a sentence: what a pruned chart has nodes of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.base.packed_forest import Alive
from mbrparse.charts.rule_tables import Ints, Words
from mbrparse.charts.spans import SpanEntries


def alive_labels(length: int, entries: SpanEntries, threshold: float, label: Ints, n_labels: int) -> Alive:
    """Those whose posterior is more than the threshold.

    >>> one, two = np.ones(1, np.int32), np.zeros(1, np.int32)
    >>> entries = SpanEntries(two, one, 70 * one, np.ones(1), np.ones(1))
    >>> alive_labels(1, entries, 0.5, one, 71).bits[1, 0].tolist()
    [0, 64]
    """
    bits = np.zeros((length + 1, length, (n_labels + 63) // 64), np.uint64)
    starts, ends, label_ids, g, _ = entries
    kept = np.flatnonzero(g > threshold)
    marks = np.uint64(1) << (label_ids[kept] & 63).astype(np.uint64)
    np.bitwise_or.at(bits, (ends[kept], starts[kept], label_ids[kept] >> 6), marks)
    return Alive(bits, label)


def still_alive(alive: Alive, entries: SpanEntries) -> SpanEntries:
    """The entries of symbols that may stand over their spans."""
    starts, ends, symbols, _, _ = entries
    kept = _is_alive(alive, starts, ends, symbols)
    return SpanEntries(*(column[kept] for column in entries))


def alive_words(words: Words, alive: Alive) -> Words:
    """The lexical entries of symbols that may stand over their words."""
    position = np.repeat(np.arange(len(words.entry_start) - 1), np.diff(words.entry_start))
    kept = np.flatnonzero(_is_alive(alive, position, position + 1, words.entry_symbol))
    first = np.searchsorted(kept, words.entry_start).astype(np.int32)
    return Words(first, words.entry_symbol[kept], words.entry_prob[kept])


def _is_alive(
    alive: Alive, starts: NDArray[Any], ends: NDArray[Any], symbols: NDArray[Any]
) -> NDArray[np.bool_]:
    label = alive.label[symbols]
    bits = alive.bits[ends, starts, label >> 6] >> (label & 63).astype(np.uint64)
    kept: NDArray[np.bool_] = (bits & np.uint64(1)).astype(np.bool_)
    return kept
