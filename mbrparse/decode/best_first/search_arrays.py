"""The arrays of a best-first search: from a grammar, for a sentence, and enlarged when full."""

from __future__ import annotations

import numpy as np

from mbrparse.decode.best_first.merit_kernels import LeftCorners, closure_row
from mbrparse.decode.best_first.search_state import (
    NEXT_WAITING,
    NONE,
    NOT_WAITING,
    PREFIX_PASSED,
    TOTAL,
    Rules,
    Search,
    index_all,
)
from mbrparse.grammar.pcfg import PCFG, IntArray


def rules_of(grammar: PCFG) -> Rules:
    """A grammar's binary rules by left and by right child."""
    symbols = np.arange(len(grammar.symbols) + 1)
    order = np.lexsort((grammar.parent, grammar.right, grammar.left))
    left, right, parent = grammar.left[order], grammar.right[order], grammar.parent[order]
    by_right = np.lexsort((parent, left, right))
    return Rules(
        np.searchsorted(left, symbols).astype(np.int32),
        right,
        parent,
        grammar.log_prob[order],
        np.searchsorted(right[by_right], symbols).astype(np.int32),
        by_right.astype(np.int32),
        left[by_right],
        grammar.root_log_prob,
    )


def empty_search(length: int, corners: LeftCorners, constituents: int, edges: int) -> Search:
    """A search of a sentence of ``length`` terminals before its first step.

    There is room for so many ``constituents``, a power of two, and ``edges``.
    """
    symbols = len(corners.root)
    rows = length if symbols else 0
    prefix = np.full((3, rows, symbols), -np.inf)
    if rows:
        prefix[(TOTAL, PREFIX_PASSED), 0] = corners.root
    return Search(
        _items(constituents),
        np.full((constituents, 4), -np.inf),
        np.empty((edges, 6), np.int32),
        np.empty(constituents, np.int32),
        np.full((4, length + 1), NONE, np.int32),
        np.full(4 * constituents, NONE, np.int64),
        np.empty(4 * constituents, np.int32),
        np.zeros(6, np.int64),
        np.full(1, -np.inf),
        prefix,
        np.zeros(rows, np.int8),
    )


def with_more_edges(search: Search, limit: int) -> Search:
    """The same search with twice the room for edges, up to ``limit``."""
    old = search.edges
    edges = np.empty((min(2 * len(old), limit), old.shape[1]), np.int32)
    edges[: len(old)] = old
    return search._replace(edges=edges)


def with_more_constituents(search: Search, symbols: int) -> Search:
    """The same search with twice the room for constituents; ``symbols`` is the grammar's number of them."""
    size = 2 * len(search.items)
    items, logs = _items(size), np.full((size, 4), -np.inf)
    heap = np.empty(size, np.int32)
    for new, old in ((items, search.items), (logs, search.logs), (heap, search.heap)):
        new[: len(old)] = old
    larger = search._replace(
        items=items,
        logs=logs,
        heap=heap,
        keys=np.full(4 * size, NONE, np.int64),
        values=np.empty(4 * size, np.int32),
    )
    index_all(larger, symbols)
    return larger


def _items(size: int) -> IntArray:
    items = np.full((size, 10), NONE, np.int32)
    items[:, NEXT_WAITING] = NOT_WAITING
    return items


def no_corners() -> LeftCorners:
    """An empty closure, for merits without alpha_L."""
    return LeftCorners(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0))


def left_corners(grammar: PCFG) -> LeftCorners:
    """The closure of a grammar's left corners."""
    count = len(grammar.symbols)
    order = np.lexsort((grammar.left, grammar.parent))
    first = np.searchsorted(grammar.parent[order], np.arange(count + 1)).astype(np.int32)
    left, prob = grammar.left[order], np.exp(grammar.log_prob[order])
    rows = [closure_row(symbol, first, left, prob) for symbol in range(count)]
    sizes = [len(symbols) for symbols, _ in rows]
    root = np.zeros(count)
    for symbol, mass in enumerate(np.exp(grammar.root_log_prob).tolist()):
        if mass > 0.0:
            root[rows[symbol][0]] += mass * rows[symbol][1]
    with np.errstate(divide="ignore"):
        return LeftCorners(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            np.concatenate([symbols for symbols, _ in rows]).astype(np.int32),
            np.concatenate([weights for _, weights in rows]),
            np.log(root),
        )
