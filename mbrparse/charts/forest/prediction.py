"""What may begin where, in view of what ends there: the step of Earley's algorithm that predicts.

A symbol begins at a position only if it is a left corner of the right sibling of some node that ends there,
or at the sentence's begin a left corner of a root. Others are of no tree, and forests leave them
out, which among the symbols of large grammars are most. Sets of symbols are bits. In very large grammars
neighbours share one: more is predicted then, and nothing lost.
"""

from __future__ import annotations

import numpy as np

from mbrparse.charts.packed_forest import Bits, Prediction
from mbrparse.charts.rule_tables import Ints, Rules

# A set of symbols has so many bits at most, and so many left children have sets of their own: 4 MB.
_MOST_SYMBOLS, _MOST_LEFTS = 1 << 13, 1 << 12


def prediction(
    rules: Rules, unary_parent: Ints, unary_child: Ints, left_index: Ints, n_left: int
) -> Prediction:
    """What a grammar's rules predict.

    >>> one, none = np.ones(1, np.int32), np.zeros(0, np.int32)  # S=2 -> A=0 B=1
    >>> rules = Rules(3, 2 * one, 0 * one, one, np.ones(1), none, none, none, np.eye(3)[2], none, 0)
    >>> predicted = prediction(rules, none, none, np.array([0, -1, -1], np.int32), 1)
    >>> predicted.first.tolist(), predicted.after.tolist()  # S and A, and B after A
    ([5], [[2]])
    """
    shift = max(int(rules.n_symbols - 1).bit_length() - _MOST_SYMBOLS.bit_length() + 1, 0)
    left_shift = max(int(n_left - 1).bit_length() - _MOST_LEFTS.bit_length() + 1, 0)
    count = (rules.n_symbols - 1 >> shift) + 1
    corners = np.zeros((count, (count + 63) // 64), np.uint64)
    own = np.arange(count)
    corners[own, own >> 6] = np.uint64(1) << (own & 63).astype(np.uint64)
    parent, child = (
        np.append(rules.parent, unary_parent) >> shift,
        np.append(rules.left, unary_child) >> shift,
    )
    after = np.zeros((max((n_left - 1 >> left_shift) + 1, 1), corners.shape[1]), np.uint64)
    siblings = _different(left_index[rules.left] >> left_shift, rules.right >> shift)
    _close(corners, _different(parent, child))
    _add_sets(after, corners, siblings)
    first = np.bitwise_or.reduce(corners[np.flatnonzero(rules.root_prob > 0) >> shift], axis=0)
    # A small grammar predicts nearly all of its symbols; to look at each takes longer.
    is_selective = bool(np.bitwise_count(after).sum() < len(after) * count / 2)
    return Prediction(is_selective, shift, left_shift, first, after)


def _different(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """The different ones of pairs."""
    pairs = np.unique(first.astype(np.int64) << 32 | second)
    return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)


def _close(corners: Bits, children: tuple[Ints, Ints]) -> None:
    """Add to the set of each parent those of its children, until nothing is new."""
    before = np.zeros_like(corners)
    while not np.array_equal(before, corners):
        before = corners.copy()
        _add_sets(corners, corners, children)


def _add_sets(into: Bits, sets: Bits, pairs: tuple[Ints, Ints]) -> None:
    """Add to the set of the first of each pair that of the second; pairs are in order of the first."""
    to, taken = pairs
    # So many pairs at once take some megabytes.
    step = max((1 << 20) // sets.shape[1], 1)
    for begin in range(0, len(to), step):
        chosen = slice(begin, begin + step)
        rows, first = np.unique(to[chosen], return_index=True)
        into[rows] |= np.bitwise_or.reduceat(sets[taken[chosen]], first, axis=0)
