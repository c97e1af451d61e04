"""What a best-first search holds: arrays that its kernel fills, and their growth.

All logs are natural; inside probabilities are kept as logs, so that no length underflows. Chains are
linked lists in arrays: a head per position (or constituent), a ``next`` per entry, -1 at the end. What
belongs to one constituent, or to one edge, stands in one row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray

LongArray = npt.NDArray[np.int64]
NONE = -1
NOT_WAITING = -2

# Columns of Search.items (int32), one row a constituent: its span and symbol; where it stands on the
# agenda (-1: in the chart); chains of the chart's constituents by start and by end; of the edges that it is
# the left, the right child of; of those whose increment is to be passed on; of all constituents by start.
START, END, SYMBOL, PLACE, NEXT_START, NEXT_END, LEFT_EDGES, RIGHT_EDGES, NEXT_WAITING, NEXT_PROPOSED = range(
    10
)
# Columns of Search.logs (float64): the inside estimate; as much of it as the edges above were told (-inf: not
# in the chart); the increment since; the figure of merit.
INSIDE, PASSED, PENDING, MERIT = range(4)
# Columns of Search.edges (int32): an id of Rules, the constituents, chains by left and by right child.
RULE, PARENT, LEFT, RIGHT, NEXT_LEFT, NEXT_RIGHT = range(6)
# Rows of Search.heads (int32): heads of the chains by start, by end, by width, and by start of all.
BY_START, BY_END, WAITING, PROPOSED_AT = range(4)
# Entries of Search.counts.
CONSTITUENTS, EDGES, AGENDA, POPPED, PARSES, NEXT_DRAIN = range(6)
# Layers of Search.prefix: log alpha_L, as much of it as was passed on, the increment since.
TOTAL, PREFIX_PASSED, PREFIX_PENDING = range(3)


class Rules(NamedTuple):
    """Binary rules in sparse rows, ids in the order of (left, right, parent).

    first_of_left    int32 [symbols + 1]: rules with left child B are first_of_left[B]:first_of_left[B + 1]
    right, parent    int32 [rules]; log_prob float64 [rules]
    first_of_right   int32 [symbols + 1], into by_right and left_of, in the order of (right, left, parent)
    by_right         int32 [rules]: rule ids
    left_of          int32 [rules]: their left children
    root             float64 [symbols]: log probability of being the root
    """

    first_of_left: IntArray
    right: IntArray
    parent: IntArray
    log_prob: FloatArray
    first_of_right: IntArray
    by_right: IntArray
    left_of: IntArray
    root: FloatArray


class Search(NamedTuple):
    """All that changes while a sentence of n terminals is searched.

    items, logs, edges   as above, rows in the order in which constituents were proposed, edges made
    heap                 int32 [capacity of constituents]
    heads                int32 [4, n + 1]
    keys, values         int64, int32: open-addressing table of constituents, keys -1 where free
    counts               int64 [6]: constituents, edges, agenda, popped, roots popped, and the number of
                         edges at which withheld increments are passed on to judge the mass
    log_mass             float64 [1]: log of the sentence probability that has been found
    prefix               float64 [3, n, symbols], or [3, 0, 0] where alpha_L is not needed
    prefix_dirty         int8 [n] or [0]: whether there are increments of alpha_L
    """

    items: IntArray
    logs: FloatArray
    edges: IntArray
    heap: IntArray
    heads: IntArray
    keys: LongArray
    values: IntArray
    counts: LongArray
    log_mass: FloatArray
    prefix: FloatArray
    prefix_dirty: npt.NDArray[np.int8]


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


def empty_search(length: int, prefix_symbols: int, constituents: int, edges: int) -> Search:
    """A search of a sentence of ``length`` terminals before its first step.

    ``prefix_symbols`` is the number of symbols if alpha_L is to be kept, 0 otherwise; ``constituents``, a
    power of two, and ``edges`` are what there is room for.
    """
    rows = length if prefix_symbols else 0
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
        np.full((3, rows, prefix_symbols), -np.inf),
        np.zeros(rows, np.int8),
    )


def with_more_edges(search: Search, limit: int) -> Search:
    """The same search with twice the room for edges, up to ``limit``."""
    old = search.edges
    edges = np.empty((min(2 * len(old), limit), old.shape[1]), np.int32)
    edges[: len(old)] = old
    return search._replace(edges=edges)


def with_more_constituents(search: Search) -> Search:
    """The same search with twice the room for constituents; their table is empty and to be filled."""
    size = 2 * len(search.items)
    items, logs = _items(size), np.full((size, 4), -np.inf)
    heap = np.empty(size, np.int32)
    for new, old in ((items, search.items), (logs, search.logs), (heap, search.heap)):
        new[: len(old)] = old
    return search._replace(
        items=items,
        logs=logs,
        heap=heap,
        keys=np.full(4 * size, NONE, np.int64),
        values=np.empty(4 * size, np.int32),
    )


def _items(size: int) -> IntArray:
    items = np.full((size, 10), NONE, np.int32)
    items[:, NEXT_WAITING] = NOT_WAITING
    return items
