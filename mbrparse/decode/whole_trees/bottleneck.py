"""The bracketing whose worst span is best: what bounds the probability of a tree from above.

A tree is no more probable than each of its spans: its mass is at most the smallest of their masses, and the
largest smallest mass of any binary tree bounds them all.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.free.bracketing import Bracketing, best_bracketing
from mbrparse.grammar.charts.rule_tables import Floats
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray

# What spans are worth that no tree of the largest bound has.
_FORBIDDEN = -1e6
_LEAST = 1e-300
# Rounding may have brought a mass a little below what it was made of.
_ROUNDING = 1e-12


def best_bound(masses: FloatArray, length: int) -> float:
    """The largest smallest mass of a binary tree's spans, by cell (span_summary); 1 for a single word."""
    if length < 2:
        return 1.0
    return float(_best_bound(masses, length, np.zeros((length, length + 1))))


def bracketing_of_bound(masses: FloatArray, length: int, bound: float) -> Bracketing:
    """Of the trees whose spans all reach the bound, that with the largest product of masses."""
    reached = masses >= bound * (1 - _ROUNDING)
    gains = np.where(reached, np.log(np.maximum(masses, _LEAST)), _FORBIDDEN)
    return best_bracketing(gains, length)


@kernel
def _best_bound(masses: Floats, length: int, bound: Floats) -> float:
    for start in range(length - 1, -1, -1):
        row = start * length - start * (start - 1) // 2 - start - 1
        bound[start, start + 1] = 1.0
        for end in range(start + 2, length + 1):
            best = 0.0
            for split in range(start + 1, end):
                best = max(best, min(bound[start, split], bound[split, end]))
            bound[start, end] = min(best, masses[row + end])
    return float(bound[0, length])
