"""The items of a grammar's rules: which rules share an item once symbols are projected to labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import is_terminal

NO_ITEM = -1
LEFT, RIGHT, ONLY = 0, 1, 2


class ItemTables(NamedTuple):
    """Items by symbol, binary rule and unary rule, in the order of the forest's tables.

    Sima'an (2003): <i, A_B^side, j> says that A over i..j has the child B on that side (here also as
    its only child), <i, A -> B C, j> that A is so rewritten, wherever the split. A child that is a
    terminal is no item.
    """

    label: Ints  # by symbol
    production: Ints  # by binary rule
    left_child: Ints  # by binary rule, or NO_ITEM
    right_child: Ints
    unary_production: Ints  # by unary rule
    only_child: Ints
    rule_log_prob: Floats
    unary_log_prob: Floats
    terminal: npt.NDArray[np.bool_]  # by label: whether it is a terminal's
    production_labels: Ints  # [production, 3]: parent, left child (-1: none), right or only child
    child_labels: Ints  # [child item, 3]: side (LEFT, RIGHT, ONLY), parent, child
    n_labels: int
    n_productions: int
    n_children: int


def item_tables(grammar: PCFG, forests: Forests, label: Ints) -> ItemTables:
    """The items of a grammar whose symbols have these labels (the symbols' own ids: no projection)."""
    tables, unaries = forests.tables, forests.unaries
    count = len(grammar.symbols)
    pair = np.repeat(np.arange(len(tables.pair_left)), _sizes(tables.rule_start))
    left_symbols = np.flatnonzero(tables.left_index >= 0)
    left_of_pair = left_symbols[tables.pair_left]
    right_of_pair = np.repeat(np.arange(count), _sizes(tables.pair_start))
    parent, left, right = tables.rule_parent, left_of_pair[pair], right_of_pair[pair]
    below = np.repeat(np.arange(count), _sizes(unaries.rule_start))
    nonterminal = np.array([not is_terminal(name) for name in grammar.symbols])
    # A terminal shares its name with no label.
    label = np.where(nonterminal, label, label.max(initial=0) + 1 + np.arange(count))
    children = np.concatenate(
        [
            _rows(np.full_like(parent, LEFT), label[parent], label[left]),
            _rows(np.full_like(parent, RIGHT), label[parent], label[right]),
            _rows(np.full_like(below, ONLY), label[unaries.rule_parent], label[below]),
        ]
    )
    child, child_labels = _numbered(children)
    child[~nonterminal[np.concatenate([left, right, below])]] = NO_ITEM
    productions = np.concatenate(
        [
            _rows(label[parent], label[left], label[right]),
            _rows(label[unaries.rule_parent], np.full_like(below, -1), label[below]),
        ]
    )
    production, production_labels = _numbered(productions)
    terminal = np.zeros(int(label.max(initial=-1)) + 1, np.bool_)
    terminal[label[~nonterminal]] = True
    rules = len(parent)
    with np.errstate(divide="ignore"):
        rule_log_prob, unary_log_prob = np.log(tables.rule_prob), np.log(unaries.rule_prob)
    return ItemTables(
        label=label.astype(np.int32),
        production=production[:rules],
        left_child=child[:rules],
        right_child=child[rules : 2 * rules],
        unary_production=production[rules:],
        only_child=child[2 * rules :],
        rule_log_prob=rule_log_prob,
        unary_log_prob=unary_log_prob,
        terminal=terminal,
        production_labels=production_labels,
        child_labels=child_labels,
        n_labels=int(label.max(initial=-1)) + 1,
        n_productions=len(production_labels),
        n_children=len(child_labels),
    )


def _sizes(starts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    wide = starts.astype(np.int64)
    return wide[1:] - wide[:-1]


def _rows(*columns: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    return np.column_stack([column.astype(np.int64) for column in columns])


def _numbered(rows: npt.NDArray[np.int64]) -> tuple[Ints, Ints]:
    """Number rows from 0 on, equal ones alike; also the distinct rows."""
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.int32), distinct.astype(np.int32)
