"""The left-corner closure of a grammar: how often a symbol is expected at the left edge of another.

With P_L[A, B] the probability that the first child of A is B, in binary and unary rules,
(I - P_L)^-1 sums over all chains of first children, left recursion and unary cycles included (Jelinek &
Lafferty 1991; Stolcke 1995).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.tree_statistics import expected_children, lexical_mass

# A symbol whose first children are left less often never leaves them: sums would be beyond double precision.
_LEAST_PIVOT = 1e-150


class LeftCorners(NamedTuple):
    """(I - P_L)^T as a product of a lower and an upper triangular matrix, by columns.

    Nothing off their diagonals is above zero. Its negative is kept, and the inverse of the upper diagonal
    (the lower one is 1), so that values above zero are added up alone, and no digit is lost.
    """

    place: Ints  # by symbol: its row and column in the factors
    lower_start: Ints
    lower_row: Ints
    lower_value: Floats
    upper_start: Ints
    upper_row: Ints
    upper_value: Floats
    least: float  # the least product that was added up: below the range of numbers, digits are lost

    def starting(self, given: Floats) -> Floats:
        """given (I - P_L)^-1 [symbols]: with the first children of what is given."""
        closed = np.empty(len(given))
        _close_left(self, given, closed)
        return closed

    def above(self, given: Floats) -> Floats:
        """(I - P_L)^-1 given [symbols]: with what has the given as its first child."""
        closed = np.empty(len(given))
        _close_above(self, given, closed)
        return closed


def left_corners(grammar: PCFG) -> LeftCorners:
    """Factorize; raises GrammarError where left recursion is never left.

    A symbol's rules are taken to sum to one. Elimination without a subtraction, as ``grammar.unaries`` has
    it: every digit holds however near to one a left recursion's probability is.
    """
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    first = expected_children(grammar, right=0.0)
    first.eliminate_zeros()
    # Another matrix with these places, which has factors whatever the probabilities, for the order and where
    # the factors have entries.
    identity = eye_array(len(grammar.symbols))
    factors = splu((2 * identity - first.T).tocsc(), "MMD_AT_PLUS_A", 0.0, options={"SymmetricMode": True})
    lower, upper = csc_array(factors.L - identity), csc_array(factors.U)
    for triangle in (lower, upper):
        triangle.eliminate_zeros()
        triangle.sort_indices()
    exits = lexical_mass(grammar)
    exits[np.asarray(first.sum(axis=1)).ravel() == 0] = 1.0
    corners = LeftCorners(
        np.asarray(factors.perm_c, np.int32),
        *(lower.indptr, lower.indices, np.zeros(lower.nnz)),
        *(upper.indptr, upper.indices, np.zeros(upper.nnz)),
        least=1.0,
    )
    column, least = _eliminate(corners, first.indptr, first.indices, first.data, exits)
    if column >= 0:
        symbol = grammar.symbols[int(np.flatnonzero(corners.place == column)[0])]
        raise GrammarError(
            f"the left recursion of {symbol} has probability one, and is never left",
            remedy="give its symbols other rules too",
        )
    return corners._replace(least=least)


@kernel
def _eliminate(
    corners: LeftCorners, first: Ints, child: Ints, prob: Floats, exits: Floats
) -> tuple[int, float]:
    """Fill the factors in from the rows of P_L, and what leaves each symbol.

    Returns the place of a symbol that nothing leaves, or -1, and the least product.
    """
    place, lower_start, lower_row, lower, upper_start, upper_row, upper, _ = corners
    count, least = len(place), 1.0
    value, left, symbol_at = np.zeros(count), np.zeros(count), np.empty(count, np.int32)
    for symbol in range(count):
        symbol_at[place[symbol]] = symbol
    for column in range(count):
        symbol = symbol_at[column]
        leaves, last = exits[symbol], upper_start[column + 1] - 1
        for entry in range(first[symbol], first[symbol + 1]):
            value[place[child[entry]]] = prob[entry]
        for entry in range(upper_start[column], last):
            row = upper_row[entry]
            upper[entry] = value[row]
            leaves += left[row] * value[row]
            for below in range(lower_start[row], lower_start[row + 1]):
                passed = lower[below] * value[row]
                least = min(least, passed)
                value[lower_row[below]] += passed
            value[row] = 0.0
        value[column] = 0.0  # 1 - P_L[A, A] is made of the others
        pivot = leaves
        for entry in range(lower_start[column], lower_start[column + 1]):
            pivot += value[lower_row[entry]]
        if pivot < _LEAST_PIVOT:
            return column, least
        for entry in range(lower_start[column], lower_start[column + 1]):
            lower[entry] = value[lower_row[entry]] / pivot
            least = min(least, lower[entry])
            value[lower_row[entry]] = 0.0
        left[column], upper[last] = leaves / pivot, 1 / pivot
    return -1, least


@inner_kernel
def close_left(corners: LeftCorners, given: Floats, work: Floats, closed: Floats) -> float:
    """``closed`` = given (I - P_L)^-1 [symbols]; ``work`` is scratch. Returns the least product."""
    place, lower_start, lower_row, lower, upper_start, upper_row, upper, _ = corners
    count, least = len(given), 1.0
    for symbol in range(count):
        work[place[symbol]] = given[symbol]
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
        closed[symbol] = work[place[symbol]]
    return least


@kernel
def _close_left(corners: LeftCorners, given: Floats, closed: Floats) -> None:
    close_left(corners, given, np.empty(len(given)), closed)


@kernel
def _close_above(corners: LeftCorners, given: Floats, closed: Floats) -> None:
    place, lower_start, lower_row, lower, upper_start, upper_row, upper, _ = corners
    count = len(given)
    work = np.empty(count)
    for symbol in range(count):
        work[place[symbol]] = given[symbol]
    for column in range(count):
        last = upper_start[column + 1] - 1
        for entry in range(upper_start[column], last):
            work[column] += upper[entry] * work[upper_row[entry]]
        work[column] *= upper[last]
    for column in range(count - 1, -1, -1):
        for entry in range(lower_start[column], lower_start[column + 1]):
            work[column] += lower[entry] * work[lower_row[entry]]
    for symbol in range(count):
        closed[symbol] = work[place[symbol]]
