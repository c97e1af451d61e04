"""What the dense kernels take: a grammar's rules, a group of sentences, and where their cells are.

Symbols fall into two kinds.  *Wide* ones are parents of binary rules: they
stand in cells of any width.  *Narrow* ones only have lexical rules (in a
treebank grammar: the tags); they live in cells of width one and are kept out
of all loops over wider cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.rule_tables import (
    Floats,
    Indices,
    Ints,
    Offsets,
    Rules,
    RulesByChild,
    rules_by_child,
    starts,
    wide_symbols,
)

TILE = 4  # pairs with the same left child that are summed side by side


class DenseTables(NamedTuple):
    """Rules for the kernels that hold every wide symbol in every cell."""

    tiles: Tiles
    by_parent: WideRules  # which have the pair of each rule
    by_pair: WideRules  # the same rules, for the way down; they have its parent
    # By the narrow child; parents, and the other child if it is wide, are wide ids.
    narrow_left: RulesByChild  # narrow left child, wide right one
    narrow_right: RulesByChild  # wide left child, narrow right one
    narrow_both: RulesByChild  # two narrow children, by the left one
    root: Floats  # by wide id
    symbol: Ints  # symbol id of each wide id
    wide_at_one: bool  # whether some wide symbol is lexical too


class Tiles(NamedTuple):
    """Pairs of wide children by number: pair p has the left child left[p // TILE]."""

    left: Indices  # wide ids
    right: Indices  # some are idle


class WideRules(NamedTuple):
    """Rules with two wide children: those of one parent, or pair, are start[number] .. start[number + 1]."""

    start: Indices
    other: Indices  # the pair, or the parent
    prob: Floats


def dense_tables(rules: Rules, dtype: Any = np.float64) -> DenseTables:
    """Arrange the rules for dense cells."""
    symbol = wide_symbols(rules)
    wide_id = np.full(rules.n_symbols, -1, np.int64)
    wide_id[symbol] = np.arange(len(symbol))
    parent, left, right = (wide_id[ids] for ids in (rules.parent, rules.left, rules.right))
    inner = np.flatnonzero((left >= 0) & (right >= 0))
    tile_left, tile_right, slot = tiles_of(left[inner], right[inner], len(symbol))
    order = np.lexsort((slot, parent[inner]))
    by_pair = np.lexsort((parent[inner], slot))
    prob = rules.prob[inner].astype(dtype)
    narrow_left, narrow_right, narrow_both = _narrow_rules(rules, wide_id, dtype)
    lexical_wide = wide_id[rules.lexical_symbol] >= 0
    return DenseTables(
        Tiles(tile_left, tile_right),
        WideRules(starts(parent[inner][order], len(symbol)), slot[order].astype(np.uint32), prob[order]),
        WideRules(
            starts(slot[by_pair], len(tile_right)), parent[inner][by_pair].astype(np.uint32), prob[by_pair]
        ),
        narrow_left,
        narrow_right,
        narrow_both,
        rules.root_prob[symbol].astype(dtype),
        symbol,
        bool(lexical_wide.any()),
    )


def tiles_of(
    left: NDArray[Any], right: NDArray[Any], n_wide: int
) -> tuple[Indices, Indices, NDArray[np.int64]]:
    """Cut the distinct pairs into tiles; also each rule's pair as a slot of the tiles."""
    pairs, rule_pair = np.unique(left * n_wide + right, return_inverse=True)
    tile_left: list[int] = []
    tile_right: list[int] = []
    slot = np.zeros(len(pairs), np.int64)
    for first in np.unique(pairs // max(n_wide, 1)):
        members = np.flatnonzero(pairs // n_wide == first)
        for begin in range(0, len(members), TILE):
            chunk = members[begin : begin + TILE]
            slot[chunk] = len(tile_right) + np.arange(len(chunk))
            seconds = [int(pair % n_wide) for pair in pairs[chunk]]
            tile_left.append(int(first))
            # Idle places take other symbols: the same one twice would wait for itself.
            idle = [symbol for symbol in range(n_wide) if symbol not in seconds] + TILE * seconds[-1:]
            tile_right += (seconds + idle)[:TILE]
    return np.array(tile_left, np.uint32), np.array(tile_right, np.uint32), slot[rule_pair]


def _narrow_rules(rules: Rules, wide_id: NDArray[np.int64], dtype: Any) -> Iterator[RulesByChild]:
    """Rules whose narrow child is the left one, the right one, and rules of two, with wide ids."""
    left_wide, right_wide = wide_id[rules.left] >= 0, wide_id[rules.right] >= 0
    for chosen, left, other_ids in (
        (~left_wide & right_wide, True, wide_id),
        (left_wide & ~right_wide, False, wide_id),
        (~left_wide & ~right_wide, True, np.arange(rules.n_symbols)),
    ):
        start, parent, other, prob = rules_by_child(rules, left, chosen)
        ids = wide_id[parent].astype(np.uint32), other_ids[other].astype(np.uint32)
        yield RulesByChild(start, *ids, prob.astype(dtype))


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
