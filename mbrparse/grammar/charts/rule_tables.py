"""A grammar's rules, arranged as the chart kernels read them.

Symbols fall into two kinds.  *Wide* ones are parents of binary rules: they
stand in cells of any width.  *Narrow* ones only have lexical rules (in a
treebank grammar: the tags); they live in cells of width one and are kept out
of all loops over wider cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbrparse.grammar.pcfg import PCFG

Ints = NDArray[np.int32]
Indices = NDArray[np.uint32]
Offsets = NDArray[np.int64]
Floats = NDArray[Any]

TILE = 4  # pairs with the same left child that are summed side by side


class Rules(NamedTuple):
    """What the tables are built from; symbol ids are in order of their text."""

    n_symbols: int
    parent: Ints
    left: Ints
    right: Ints
    prob: NDArray[np.float64]
    lexical_symbol: Ints  # one entry a lexical rule, sorted by terminal
    lexical_terminal: Ints
    lexical_prob: NDArray[np.float64]
    root_prob: NDArray[np.float64]  # by symbol
    label: Ints  # the projected label of each symbol
    n_labels: int


class DenseTables(NamedTuple):
    """Rules for the kernels that hold every wide symbol in every cell."""

    tile_left: Indices  # wide id of the left child of tile q
    tile_right: Indices  # wide ids of its TILE right children (some idle)
    sum_start: Indices  # rules between wide children, by parent: rows sum_start[A]..
    sum_pair: Indices
    sum_prob: Floats
    pair_start: Indices  # the same rules by pair, for the way down
    pair_parent: Indices
    pair_prob: Floats
    narrow: NarrowRules
    root: Floats  # by wide id
    symbol: Ints  # symbol id of each wide id
    wide_at_one: bool  # whether some wide symbol is lexical too


class NarrowRules(NamedTuple):
    """Rules with a narrow child; each group is indexed by its narrow child."""

    left_start: Indices  # narrow left, wide right
    left_parent: Indices
    left_other: Indices
    left_prob: Floats
    right_start: Indices  # wide left, narrow right
    right_parent: Indices
    right_other: Indices
    right_prob: Floats
    both_start: Indices  # two narrow children, by the left one
    both_parent: Indices
    both_other: Indices
    both_prob: Floats


class SparseTables(NamedTuple):
    """Rules for the kernels that hold lists of the symbols that are there."""

    left_index: Ints  # position of a symbol among the left children, or -1
    pair_start: Indices  # by right child: its pairs pair_start[C]..
    pair_left: Indices  # the pair's left child, as left_index
    rule_start: Indices  # by pair: its rules
    rule_parent: Indices
    rule_prob: Floats
    root: Floats  # by symbol
    n_left: int


class Lexicon(NamedTuple):
    """Lexical rules by terminal: entries start[t] .. start[t + 1]."""

    start: Ints
    symbol: Ints
    prob: NDArray[np.float64]
    shift: Ints  # power of two that brings the terminal's best entry near 1
    token_shift: int  # and the mean price of a token's binary rule


def chart_rules(grammar: PCFG) -> Rules:
    """A grammar's rules in linear space."""
    return Rules(
        len(grammar.symbols),
        grammar.parent,
        grammar.left,
        grammar.right,
        np.exp(grammar.log_prob),
        grammar.lexical_symbol,
        grammar.lexical_terminal,
        np.exp(grammar.lexical_log_prob),
        np.exp(grammar.root_log_prob),
        grammar.label_ids,
        len(grammar.labels),
    )


def _starts(keys: NDArray[Any], count: int) -> Indices:
    return np.searchsorted(keys, np.arange(count + 1)).astype(np.uint32)


def wide_symbols(rules: Rules) -> Ints:
    """The symbols that are parents of binary rules, in order."""
    return np.unique(rules.parent).astype(np.int32)


def dense_tables(rules: Rules, dtype: Any = np.float64) -> DenseTables:
    """Arrange the rules for dense cells."""
    symbol = wide_symbols(rules)
    wide_id = np.full(rules.n_symbols, -1, np.int64)
    wide_id[symbol] = np.arange(len(symbol))
    parent, left, right = (wide_id[ids] for ids in (rules.parent, rules.left, rules.right))
    inner = np.flatnonzero((left >= 0) & (right >= 0))
    tile_left, tile_right, slot = _tiles(left[inner], right[inner], len(symbol))
    order = np.lexsort((slot, parent[inner]))
    by_pair = np.lexsort((parent[inner], slot))
    prob = rules.prob[inner].astype(dtype)
    lexical_wide = wide_id[rules.lexical_symbol] >= 0
    return DenseTables(
        tile_left=tile_left,
        tile_right=tile_right,
        sum_start=_starts(parent[inner][order], len(symbol)),
        sum_pair=slot[order].astype(np.uint32),
        sum_prob=prob[order],
        pair_start=_starts(slot[by_pair], len(tile_right)),
        pair_parent=parent[inner][by_pair].astype(np.uint32),
        pair_prob=prob[by_pair],
        narrow=_narrow_rules(rules, wide_id, dtype),
        root=rules.root_prob[symbol].astype(dtype),
        symbol=symbol,
        wide_at_one=bool(lexical_wide.any()),
    )


def _tiles(
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


def _narrow_rules(rules: Rules, wide_id: NDArray[np.int64], dtype: Any) -> NarrowRules:
    left_wide, right_wide = wide_id[rules.left] >= 0, wide_id[rules.right] >= 0
    groups: list[NDArray[Any]] = []
    for chosen, key, other, other_ids in (
        (~left_wide & right_wide, rules.left, rules.right, wide_id),
        (left_wide & ~right_wide, rules.right, rules.left, wide_id),
        (~left_wide & ~right_wide, rules.left, rules.right, np.arange(rules.n_symbols)),
    ):
        picked = np.flatnonzero(chosen)
        # Neighbouring rules have different parents where possible: their sums can overlap in time.
        picked = picked[np.lexsort((rules.parent[picked], other[picked], key[picked]))]
        groups += [
            _starts(key[picked], rules.n_symbols),
            wide_id[rules.parent[picked]].astype(np.uint32),
            other_ids[other[picked]].astype(np.uint32),
            rules.prob[picked].astype(dtype),
        ]
    return NarrowRules(*groups)


def sparse_tables(rules: Rules, dtype: Any = np.float64) -> SparseTables:
    """Arrange the rules for lists of active symbols."""
    left_symbols = np.unique(rules.left)
    left_index = np.full(rules.n_symbols, -1, np.int32)
    left_index[left_symbols] = np.arange(len(left_symbols))
    left = left_index[rules.left].astype(np.int64)
    order = np.lexsort((rules.parent, left, rules.right))
    key = rules.right[order].astype(np.int64) * max(len(left_symbols), 1) + left[order]
    _, first = np.unique(key, return_index=True)
    return SparseTables(
        left_index=left_index,
        pair_start=_starts(rules.right[order][first], rules.n_symbols),
        pair_left=left[order][first].astype(np.uint32),
        rule_start=np.append(first, len(order)).astype(np.uint32),
        rule_parent=rules.parent[order].astype(np.uint32),
        rule_prob=rules.prob[order].astype(dtype),
        root=rules.root_prob.astype(dtype),
        n_left=len(left_symbols),
    )


def lexicon(rules: Rules, n_terminals: int) -> Lexicon:
    """Arrange the lexical rules by terminal."""
    start = _starts(rules.lexical_terminal, n_terminals).astype(np.int32)
    best = np.zeros(n_terminals)
    np.maximum.at(best, rules.lexical_terminal, rules.lexical_prob)
    shift = np.zeros(n_terminals, np.int32)
    shift[best > 0] = -np.rint(np.log2(best[best > 0])).astype(np.int32)
    return Lexicon(start, rules.lexical_symbol, rules.lexical_prob, shift, token_shift(rules))


def token_shift(rules: Rules, generations: int = 100) -> int:
    """Bits that the binary rules of a sentence cost per token, in the mean.

    Chart values are multiplied by this power of two for each token, so that
    they stay near one; powers of two leave every digit as it is, thus the
    exact figure does not matter.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = np.where(rules.prob > 0, -rules.prob * np.log2(rules.prob), 0.0)
    expected: Floats = rules.root_prob.copy()
    cost, count = 0.0, 0.0
    for _ in range(generations):
        weight = expected[rules.parent]
        cost += float(weight @ surprise)
        uses = weight * rules.prob
        count += float(uses.sum())
        expected = np.bincount(rules.left, uses, rules.n_symbols) + np.bincount(
            rules.right, uses, rules.n_symbols
        )
        total = expected.sum()
        if total < 1e-3:
            break
        if total > 1.0:  # a supercritical grammar: only the proportions matter
            expected = expected / total
    return int(np.rint(cost / count)) if count else 0
