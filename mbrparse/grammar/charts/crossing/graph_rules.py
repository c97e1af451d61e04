"""A grammar's rules as derivation graphs are built with, and what of its symbols are continuations."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.closure import unary_closure
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import is_terminal
from mbrparse.treebank.labels import is_continuation

Flags = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]


class GraphRules(NamedTuple):
    """Rules by their pair of children, pairs by their left child with the right ones in order.

    Chains of unary rules are the entries of ``closure.Closure``; ``chain_closed`` is what of them stays where
    nothing but continuations may stand.
    """

    pair_start: Ints  # by left child
    pair_right: Ints
    rule_start: Ints  # by pair
    rule_parent: Ints
    rule_log_prob: Doubles
    rule_prob: Doubles
    log_root: Doubles  # by symbol
    continuation: Flags  # by symbol
    chain_start: Ints  # by bottom symbol; empty without unary rules
    chain_top: Ints
    chain_open: Doubles
    chain_closed: Doubles


def continuations(grammar: PCFG) -> Flags:
    """Which symbols are continuations: no constituents of the n-ary tree."""
    return np.array([not is_terminal(name) and is_continuation(name) for name in grammar.symbols], np.bool_)


def linear(grammar: PCFG, continuation: Flags) -> str | None:
    """``right`` where continuations are right children only, ``left`` where left ones only; else None.

    Nor may they take part in unary rules. Then what lies between two children of a constituent of the n-ary
    tree is told by one chain of nodes that end (begin) together.
    """
    if continuation[grammar.unary_parent].any() or continuation[grammar.unary_child].any():
        return None
    if not continuation[grammar.left].any():
        return "right"
    return None if continuation[grammar.right].any() else "left"


def graph_rules(grammar: PCFG, continuation: Flags, mirrored: bool = False) -> GraphRules:
    """Arrange a grammar's rules; ``mirrored`` for sentences read from their end.

    ``continuation`` [symbols] says which symbols may stand over what is closed.
    """
    left, right = (grammar.right, grammar.left) if mirrored else (grammar.left, grammar.right)
    order = np.lexsort((grammar.parent, right, left))
    left, right = left[order], right[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    first = np.flatnonzero(fresh)
    symbols = len(grammar.symbols)
    none = np.zeros(0)
    chain_start, chain_top, chain_open, chain_closed = (
        np.zeros(1, np.int32),
        np.zeros(0, np.int32),
        none,
        none,
    )
    if grammar.has_unaries:
        closure = unary_closure(grammar)
        chain_start, chain_top, chain_open = closure.start, closure.top, closure.value
        chain_closed = _closed(grammar, continuation, chain_start, chain_top)
    return GraphRules(
        np.searchsorted(left[first], np.arange(symbols + 1)).astype(np.int32),
        right[first].astype(np.int32),
        np.append(first, len(order)).astype(np.int32),
        grammar.parent[order],
        grammar.log_prob[order],
        np.exp(grammar.log_prob[order]),
        np.asarray(grammar.root_log_prob),
        continuation,
        chain_start,
        chain_top,
        chain_open,
        chain_closed,
    )


def _closed(grammar: PCFG, continuation: Flags, start: Ints, top: Ints) -> Doubles:
    """The chains that have nothing but continuations in them, by entry of the closure of all."""
    kept = continuation[grammar.unary_parent] & continuation[grammar.unary_child]
    within = unary_closure(
        replace(
            grammar,
            unary_parent=grammar.unary_parent[kept],
            unary_child=grammar.unary_child[kept],
            unary_log_prob=grammar.unary_log_prob[kept],
        )
    )
    symbols = len(grammar.symbols)
    key = np.repeat(np.arange(symbols), np.diff(start)) * symbols + top
    inner = np.repeat(np.arange(symbols), np.diff(within.start)) * symbols + within.top
    values = np.zeros(len(key))
    # Whatever is reached by some chains is reached by all.
    values[np.searchsorted(key, inner)] = within.value
    bottom = np.repeat(np.arange(symbols), np.diff(start))
    values[~(continuation[bottom] & continuation[top])] = 0.0
    return values
