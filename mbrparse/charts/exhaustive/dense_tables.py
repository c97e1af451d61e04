"""A grammar's rules as the dense kernels read them, and the layout of a sentence's chart.

Symbols fall into two kinds. *Wide* ones are parents of binary rules: they stand in cells of any width.
*Narrow* ones only have lexical rules (in a treebank grammar: the tags) and stand in cells of width one.
Symbols are numbered by *slot*, wide ones first.

A chart is an array of numbers, a *plane* for each wide symbol, with a row for each width; behind the planes
there is a row of width one for each narrow symbol. The value of a slot over a span is at
``base[slot] + width * pitch + pad + end``. So cells of equal width lie side by side, and since they have
equal splits, a vector does for LANES of them, a *block* of ends, what a number does for one. ``pad`` is such
that the last end is the last lane of its block, and that of the first block is none. Cells that would begin
before the sentence are zero; a vector that begins to the left of its row meets nothing but such.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.rule_tables import (
    Floats,
    Indices,
    Ints,
    Lexicon,
    Offsets,
    Rules,
    scaled_entries,
    starts,
    wide_symbols,
)
from mbrparse.charts.vector import LANES

TILE = 4  # pairs with the same left child that are summed side by side


class Tiles(NamedTuple):
    """Pairs of wide children by number: pair p has the left child left[p // TILE]."""

    left: Indices  # slots
    right: Indices  # some are idle


class RulesOfPairs(NamedTuple):
    """Rules with two wide children: those of one parent, or pair, are start[number] .. start[number + 1]."""

    start: Indices
    other: Indices  # the pair, or the parent
    prob: Floats


class RulesOfWords(NamedTuple):
    """Rules with a narrow child, by its slot; parents and other children as slots."""

    start: Indices
    parent: Indices
    other: Indices
    prob: Floats


class RulesOfParents(NamedTuple):
    """All rules by their parent's slot, in the order of the left and the right child's text."""

    start: Indices
    left: Indices
    right: Indices
    prob: Floats


class WordEntries(NamedTuple):
    """Lexical rules by terminal: those of terminal t are start[t] .. start[t + 1]."""

    start: Ints
    slot: Ints
    prob: Floats  # multiplied by the power of two of the terminal
    power: Ints  # by terminal


class DenseTables(NamedTuple):
    """Rules for the kernels that hold every wide symbol in every cell."""

    words: WordEntries

    tiles: Tiles
    by_parent: RulesOfPairs  # which have the pair of each rule
    by_pair: RulesOfPairs  # the same rules, for the way down; they have its parent
    first_word: RulesOfWords  # narrow left child, wide right one
    last_word: RulesOfWords  # wide left child, narrow right one
    two_words: RulesOfWords  # two narrow children, by the left one
    derivations: RulesOfParents
    root: Floats  # by slot of wide symbols
    symbol: Ints  # by slot: the symbol's id
    n_wide: int
    least: int  # the width of the narrowest cells with wide symbols


def dense_tables(rules: Rules, words: Lexicon) -> DenseTables:
    """Arrange the rules for dense cells."""
    power, entry_prob = scaled_entries(words)
    wide = wide_symbols(rules)
    symbol = np.concatenate([wide, np.setdiff1d(np.arange(rules.n_symbols), wide)]).astype(np.int32)
    slot = np.empty(rules.n_symbols, np.int64)
    slot[symbol] = np.arange(rules.n_symbols)
    parent, left, right = slot[rules.parent], slot[rules.left], slot[rules.right]
    left_wide, right_wide = left < len(wide), right < len(wide)
    inner = np.flatnonzero(left_wide & right_wide)
    tiles, pair = _tiles(left[inner], right[inner], len(wide))
    prob = rules.prob[inner]
    by_parent, by_pair = np.lexsort((pair, parent[inner])), np.lexsort((parent[inner], pair))

    def of_words(chosen: NDArray[np.bool_], child: NDArray[Any], other: NDArray[Any]) -> RulesOfWords:
        # Neighbouring rules have different parents where possible: their sums can overlap in time.
        places = np.flatnonzero(chosen)
        order = places[np.lexsort((parent[places], other[places], child[places]))]
        begin = starts(child[order], rules.n_symbols)
        return RulesOfWords(begin, _indices(parent[order]), _indices(other[order]), rules.prob[order])

    text = np.lexsort((rules.right, rules.left, parent))
    derivations = RulesOfParents(
        starts(parent[text], len(wide)), _indices(left[text]), _indices(right[text]), rules.prob[text]
    )
    return DenseTables(
        WordEntries(words.start, slot[words.symbol].astype(np.int32), entry_prob, power),
        tiles,
        RulesOfPairs(starts(parent[inner][by_parent], len(wide)), _indices(pair[by_parent]), prob[by_parent]),
        RulesOfPairs(
            starts(pair[by_pair], len(tiles.right)), _indices(parent[inner][by_pair]), prob[by_pair]
        ),
        of_words(~left_wide & right_wide, left, right),
        of_words(left_wide & ~right_wide, right, left),
        of_words(~left_wide & ~right_wide, left, right),
        derivations,
        rules.root_prob[wide],
        symbol,
        len(wide),
        1 if (slot[rules.lexical_symbol] < len(wide)).any() else 2,
    )


def _indices(values: NDArray[Any]) -> Indices:
    return values.astype(np.uint32)


def _tiles(left: NDArray[Any], right: NDArray[Any], n_wide: int) -> tuple[Tiles, NDArray[np.int64]]:
    """Cut the distinct pairs into tiles; also each rule's pair as a place in the tiles."""
    pairs, rule_pair = np.unique(left * n_wide + right, return_inverse=True)
    tile_left: list[int] = []
    tile_right: list[int] = []
    place = np.zeros(len(pairs), np.int64)
    for first in np.unique(pairs // max(n_wide, 1)):
        members = np.flatnonzero(pairs // n_wide == first)
        for begin in range(0, len(members), TILE):
            chunk = members[begin : begin + TILE]
            place[chunk] = len(tile_right) + np.arange(len(chunk))
            seconds = [int(pair % n_wide) for pair in pairs[chunk]]
            tile_left.append(int(first))
            # Idle places take other symbols: the same one twice would wait for itself.
            idle = [slot for slot in range(n_wide) if slot not in seconds] + TILE * seconds[-1:]
            tile_right += (seconds + idle)[:TILE]
    return Tiles(np.array(tile_left, np.uint32), np.array(tile_right, np.uint32)), place[rule_pair]


class DenseSentence(NamedTuple):
    """The words of a sentence, and where its chart has what."""

    length: int
    pad: int
    pitch: int
    plane: int
    size: int  # of the chart
    base: Offsets  # by slot
    tokens: Ints
    log_scale: float  # the logarithm of what values of the whole sentence are multiplied by
    factor: float  # what values of a word are multiplied by, beside the power of two of its terminal
    scratch: Floats  # a vector for each pair of children


def dense_sentence(tables: DenseTables, tokens: Ints, scratch: Floats, power: int) -> DenseSentence:
    """Lay out a sentence's chart; ``power`` is that of two that each word is multiplied by as well."""
    n, n_wide, n_slots = len(tokens), tables.n_wide, len(tables.symbol)
    blocks = n // LANES + 1
    # An odd number of cache lines: neighbouring rows do not fight for the same places of a cache.
    pitch = (blocks | 1) * LANES
    plane = (n + 1) * pitch
    base = np.arange(n_slots, dtype=np.int64) * plane
    base[n_wide:] = np.arange(-1, n_slots - n_wide - 1) * pitch + n_wide * plane
    size = n_wide * plane + (n_slots - n_wide) * pitch
    pad = blocks * LANES - 1 - n
    log_scale = (int(tables.words.power[tokens].sum()) + n * power) * math.log(2.0)
    return DenseSentence(n, pad, pitch, plane, size, base, tokens, log_scale, 2.0**power, scratch)
