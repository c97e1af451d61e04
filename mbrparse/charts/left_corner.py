"""The left-corner closure of a grammar: how often a symbol is expected at the left edge of another.

With P_L[A, B] the probability that the first child of A is B, in binary and unary rules,
(I - P_L)^-1 sums over all chains of first children, left recursion and unary cycles included (Jelinek &
Lafferty 1991; Stolcke 1995).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbrparse.charts.kernel import inner_kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.tree_statistics import expected_children, grown, lexical_mass

# A smaller pivot is zero but for rounding: the symbol's first children are never left.
_LEAST_PIVOT = 1e-13


class LeftCorners(NamedTuple):
    """(I - P_L)^T as a product of a lower and an upper triangular matrix, by columns.

    Nothing off their diagonals is above zero. Its negative is kept, and the inverse of the upper diagonal
    (the lower one is 1), so that values above zero are added up alone, and no digit is lost.
    """

    row_place: Ints  # by row of the matrix: its row in the factors
    column_place: Ints
    lower_start: Ints
    lower_row: Ints
    lower_value: Floats
    upper_start: Ints
    upper_row: Ints
    upper_value: Floats


def left_factors(grammar: PCFG) -> Any:
    """scipy's factors of (I - P_L)^T; raises GrammarError where left recursion is never left."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    first = expected_children(grammar, right=0.0)
    first.eliminate_zeros()
    matrix = (eye_array(len(grammar.symbols)) - first.T).tocsc()
    try:
        factors = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        left = grown(lexical_mass(grammar) > 0, first.dot)
        raise _never_left(grammar, int((~left).argmax())) from None
    pivots = factors.U.diagonal()
    if pivots.min() < _LEAST_PIVOT:
        raise _never_left(grammar, int(np.flatnonzero(factors.perm_c == pivots.argmin())[0]))
    return factors


def left_corners(grammar: PCFG) -> LeftCorners:
    """Factorize; raises GrammarError where left recursion is never left."""
    from scipy.sparse import csc_array, eye_array

    factors = left_factors(grammar)
    lower, upper = csc_array(eye_array(len(grammar.symbols)) - factors.L), csc_array(factors.U)
    for triangle in (lower, upper):
        triangle.eliminate_zeros()
        triangle.sort_indices()
    last = upper.indptr[1:] - 1
    values = -upper.data
    values[last] = 1 / upper.data[last]
    return LeftCorners(
        np.asarray(factors.perm_r, np.int32),
        np.asarray(factors.perm_c, np.int32),
        *(lower.indptr, lower.indices, lower.data),
        *(upper.indptr, upper.indices, values),
    )


def _never_left(grammar: PCFG, symbol: int) -> GrammarError:
    return GrammarError(
        f"the left recursion of {grammar.symbols[symbol]} has probability one, and is never left",
        remedy="give its symbols other rules too",
    )


@inner_kernel
def close_left(corners: LeftCorners, given: Floats, work: Floats, closed: Floats) -> float:
    """``closed`` = given (I - P_L)^-1 [symbols]; ``work`` is scratch. Returns the least product."""
    row_place, column_place, lower_start, lower_row, lower, upper_start, upper_row, upper = corners
    count, least = len(given), 1.0
    for symbol in range(count):
        work[row_place[symbol]] = given[symbol]
    for column in range(count):
        if work[column] != 0:
            for entry in range(lower_start[column], lower_start[column + 1]):
                value = lower[entry] * work[column]
                least = min(least, value)
                work[lower_row[entry]] += value
    for column in range(count - 1, -1, -1):
        if work[column] != 0:
            last = upper_start[column + 1] - 1
            work[column] *= upper[last]
            for entry in range(upper_start[column], last):
                value = upper[entry] * work[column]
                least = min(least, value)
                work[upper_row[entry]] += value
    for symbol in range(count):
        closed[symbol] = work[column_place[symbol]]
    return least
