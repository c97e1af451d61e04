"""A grammar's binary rules by the pair of their children: what an agenda of items looks them up by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.pcfg import FloatArray, IntArray


class PairRules(NamedTuple):
    """Pairs (left, right) of children in text order, and the rules of each in the order of their parents.

    first_of_left    int32 [symbols + 1]: pairs with left child B are first_of_left[B]:first_of_left[B + 1]
    right            int32 [pairs]
    first_rule       int32 [pairs + 1]: where each pair's rules begin
    parent           int32 [rules]; log_prob float64 [rules]
    first_of_right   int32 [symbols + 1], into by_right and left, which are in the order of (right, left)
    by_right         int32 [pairs]: pairs
    left             int32 [pairs]: their left children
    root             float64 [symbols]: log probability of being the root
    """

    first_of_left: IntArray
    right: IntArray
    first_rule: IntArray
    parent: IntArray
    log_prob: FloatArray
    first_of_right: IntArray
    by_right: IntArray
    left: IntArray
    root: FloatArray


def pair_rules(
    parent: IntArray, left: IntArray, right: IntArray, log_prob: FloatArray, root: FloatArray
) -> PairRules:
    """The tables of a grammar of so many symbols as ``root`` has."""
    symbols = np.arange(len(root) + 1)
    order = np.lexsort((parent, right, left))
    left, right = left[order], right[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    firsts = np.flatnonzero(begins)
    left, right = left[firsts], right[firsts]
    by_right = np.lexsort((left, right)).astype(np.int32)
    return PairRules(
        np.searchsorted(left, symbols).astype(np.int32),
        right,
        np.append(firsts, len(order)).astype(np.int32),
        parent[order],
        log_prob[order],
        np.searchsorted(right[by_right], symbols).astype(np.int32),
        by_right,
        left[by_right],
        root,
    )
