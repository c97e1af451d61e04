"""A grammar's rules, arranged as the chart kernels read them: binary ones by symbol, lexical ones by word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import PCFG, IntArray


Ints = NDArray[np.int32]
Indices = NDArray[np.uint32]
Offsets = NDArray[np.int64]
Floats = NDArray[Any]


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


def starts(keys: NDArray[Any], count: int) -> Indices:
    """Where each key from 0 up to ``count`` begins among sorted ones."""
    return np.searchsorted(keys, np.arange(count + 1)).astype(np.uint32)


class RulesByChild(NamedTuple):
    """Binary rules by one child: those of symbol id s are start[s] .. start[s + 1]."""

    start: Indices
    parent: Indices
    other: Indices
    prob: Floats


def rules_by_child(rules: Rules, left: bool, chosen: Any = slice(None)) -> RulesByChild:
    """Arrange the rules, or those ``chosen`` of them, by their left or right children."""
    child, other = (rules.left, rules.right) if left else (rules.right, rules.left)
    child, other, parent, prob = child[chosen], other[chosen], rules.parent[chosen], rules.prob[chosen]
    # Neighbouring rules have different parents where possible: their sums can overlap in time.
    order = np.lexsort((parent, other, child))
    parent, other = parent[order].astype(np.uint32), other[order].astype(np.uint32)
    return RulesByChild(starts(child[order], rules.n_symbols), parent, other, prob[order])


def wide_symbols(rules: Rules) -> Ints:
    """The symbols that are parents of binary rules, in order.

    The others, *narrow* ones, only have lexical rules (in a treebank grammar: the tags).
    """
    return np.unique(rules.parent).astype(np.int32)


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
        pair_start=starts(rules.right[order][first], rules.n_symbols),
        pair_left=left[order][first].astype(np.uint32),
        rule_start=np.append(first, len(order)).astype(np.uint32),
        rule_parent=rules.parent[order].astype(np.uint32),
        rule_prob=rules.prob[order].astype(dtype),
        root=rules.root_prob.astype(dtype),
        n_left=len(left_symbols),
    )


class Lexicon(NamedTuple):
    """Lexical rules by terminal: entries start[t] .. start[t + 1]."""

    start: Ints
    symbol: Ints
    prob: NDArray[np.float64]
    shift: Ints  # power of two that brings the terminal's best entry near 1
    token_shift: int  # and the mean price of a token's binary rule


class Words(NamedTuple):
    """The lexical entries of a sentence: those of position i are entry_start[i] .. entry_start[i + 1]."""

    entry_start: Ints
    entry_symbol: Ints
    entry_prob: Floats


def lexicon(rules: Rules, n_terminals: int) -> Lexicon:
    """Arrange the lexical rules by terminal."""
    start = starts(rules.lexical_terminal, n_terminals).astype(np.int32)
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


def scaled_entries(words: Lexicon) -> tuple[Ints, NDArray[np.float64]]:
    """By terminal the power of two that a token's value is multiplied by, and so the entries' values.

    It brings the values of a sentence near one.
    """
    shift: Ints = words.shift + words.token_shift
    terminal = np.repeat(np.arange(len(shift)), np.diff(words.start))
    return shift, np.ldexp(words.prob, shift[terminal])


def lexical_entries(words: Lexicon, tokens: IntArray) -> tuple[Ints, Ints]:
    """The lexicon's entries of all tokens, and where each token's begin."""
    first = words.start[tokens]
    count = words.start[tokens + 1] - first
    begin = np.zeros(len(tokens) + 1, np.int32)
    count.cumsum(out=begin[1:])
    entries: Ints = np.arange(begin[-1], dtype=np.int32) + (first - begin[:-1]).repeat(count)
    return entries, begin


def words_of(words: Lexicon, entry_prob: Floats, tokens: IntArray) -> Words:
    """The lexical entries of a sentence, with the values given for the lexicon's."""
    entries, begin = lexical_entries(words, tokens)
    return Words(begin, words.symbol[entries], entry_prob[entries])
