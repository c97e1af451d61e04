"""A grammar's rules, arranged as the chart kernels read them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbrparse.grammar.pcfg import PCFG

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
