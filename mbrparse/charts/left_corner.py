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
from mbrparse.grammar import pcfg, tree_statistics

# A symbol whose first children are left less often never leaves them: sums would be beyond double precision.
_LEAST_PIVOT = 1e-150
#: How numbers are given: None as they are, True as natural logarithms; False as logarithms whose greater one
#: stands for the sum, so that what is found is of the best derivation. Kernels are compiled for both types.
Logs = bool | None
# The logarithms of the best are multiples of this: sums do not depend on the order, and equal ones are equal.
_UNIT = 2.0**-46
#: What a rule costs in them at least: no cycle is free.
LEAST_COST = 2.0**-36


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

    def above(self, given: Floats, logs: Logs) -> Floats:
        """(I - P_L)^-1 given [symbols]: with what has the given as its first child."""
        closed = np.empty(len(given))
        _close_above(self, given, closed, logs)
        return closed


def left_corners(grammar: pcfg.PCFG, logs: Logs = None) -> LeftCorners:
    """Factorize, with ``logs`` in logarithms; raises GrammarError where left recursion is never left.

    A symbol's rules are taken to sum to one. Elimination without a subtraction, as ``grammar.unaries`` has
    it: every digit holds however near to one a left recursion's probability is.
    """
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    first = tree_statistics.expected_children(grammar, right=0.0)
    first.eliminate_zeros()
    first.sum_duplicates()
    # Another matrix with these places, which has factors whatever the probabilities, none of them too small
    # for a number, for the order and where the factors have entries.
    places, identity = first.copy(), eye_array(len(grammar.symbols))
    places.data = 1 / np.repeat(np.diff(first.indptr), np.diff(first.indptr))
    another = ((1 + 1e-9) * identity - places.T).tocsc()
    factors = splu(another, "MMD_AT_PLUS_A", 0.0, options={"SymmetricMode": True})
    lower, upper = csc_array(factors.L - identity), csc_array(factors.U)
    for triangle in (lower, upper):
        triangle.eliminate_zeros()
        triangle.sort_indices()
    exits = tree_statistics.lexical_mass(grammar)
    exits[np.asarray(first.sum(axis=1)).ravel() == 0] = 1.0
    corners = LeftCorners(
        np.asarray(factors.perm_c, np.int32),
        *(lower.indptr, lower.indices, np.zeros(lower.nnz)),
        *(upper.indptr, upper.indices, np.zeros(upper.nnz)),
        least=1.0,
    )
    prob = first.data
    if logs is not None:
        with np.errstate(divide="ignore"):
            prob, exits = np.log(prob), np.log(exits)
    if logs is False:
        size, rows = len(grammar.symbols), np.repeat(np.arange(len(grammar.symbols)), np.diff(first.indptr))
        parents = np.concatenate((grammar.parent, grammar.unary_parent))
        children = np.concatenate((grammar.left, grammar.unary_child))
        scores = best_units(np.concatenate((grammar.log_prob, grammar.unary_log_prob)))
        keys = rows * size + first.indices
        rules = parents.astype(np.int64) * size + children
        there = np.isin(rules, keys)  # not those that no root reaches
        prob[:] = -np.inf
        np.maximum.at(prob, np.searchsorted(keys, rules[there]), scores[there])
    column, least = _eliminate(corners, first.indptr, first.indices, prob, exits, logs)
    if column >= 0:
        symbol = grammar.symbols[int(np.flatnonzero(corners.place == column)[0])]
        raise GrammarError(
            f"the left recursion of {symbol} has probability one, and is never left",
            remedy="give its symbols other rules too",
        )
    return corners._replace(least=least)


def best_units(logs: Floats) -> Floats:
    """The logarithms of rules as the best derivations have them."""
    return np.minimum(np.rint(logs / _UNIT) * _UNIT, -LEAST_COST)


@inner_kernel
def plus(one: float, other: float, logs: Logs) -> float:
    """The sum of two numbers, or of what they are logarithms of."""
    if logs is None:
        return one + other
    return np.logaddexp(one, other) if logs else max(one, other)


@inner_kernel
def times(one: float, other: float, logs: Logs) -> float:
    """The product of two numbers, or of what they are logarithms of."""
    if logs is None:
        return one * other
    return one + other


@inner_kernel
def over(one: float, other: float, logs: Logs) -> float:
    """The quotient of two numbers, or of what they are logarithms of; the best goes around no cycle."""
    if logs is None:
        return one / other
    return one - other if logs else one


@inner_kernel
def zero_of(logs: Logs) -> float:
    """Nothing, or its logarithm."""
    if logs is None:
        return 0.0
    return -np.inf


@kernel
def _eliminate(
    corners: LeftCorners, first: Ints, child: Ints, prob: Floats, exits: Floats, logs: Logs
) -> tuple[int, float]:
    """Fill the factors in from the rows of P_L, and what leaves each symbol.

    Returns the place of a symbol that nothing leaves, or -1, and the least product.
    """
    place, lower_start, lower_row, lower, upper_start, upper_row, upper, _ = corners
    count, least, zero = len(place), 1.0, zero_of(logs)
    value, left, symbol_at = np.full(count, zero), np.full(count, zero), np.empty(count, np.int32)
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
            leaves = plus(leaves, times(left[row], value[row], logs), logs)
            for below in range(lower_start[row], lower_start[row + 1]):
                passed = times(lower[below], value[row], logs)
                least = min(least, passed)
                value[lower_row[below]] = plus(value[lower_row[below]], passed, logs)
            value[row] = zero
        value[column] = zero  # 1 - P_L[A, A] is made of the others
        pivot = leaves
        for entry in range(lower_start[column], lower_start[column + 1]):
            pivot = plus(pivot, value[lower_row[entry]], logs)
        if (logs is None or logs) and pivot < (_LEAST_PIVOT if logs is None else np.log(_LEAST_PIVOT)):
            return column, least
        for entry in range(lower_start[column], lower_start[column + 1]):
            lower[entry] = over(value[lower_row[entry]], pivot, logs)
            least = min(least, lower[entry])
            value[lower_row[entry]] = zero
        left[column], upper[last] = over(leaves, pivot, logs), over(1.0 if logs is None else 0.0, pivot, logs)
    return -1, least


@inner_kernel
def close_left(corners: LeftCorners, given: Floats, work: Floats, closed: Floats, logs: Logs) -> float:
    """``closed`` = given (I - P_L)^-1 [symbols]; ``work`` is scratch. Returns the least product."""
    place, lower_start, lower_row, lower, upper_start, upper_row, upper, _ = corners
    count, least, zero = len(given), 1.0, zero_of(logs)
    for symbol in range(count):
        work[place[symbol]] = given[symbol]
    for column in range(count):
        if work[column] > zero:
            for entry in range(lower_start[column], lower_start[column + 1]):
                value = times(lower[entry], work[column], logs)
                least = min(least, value)
                work[lower_row[entry]] = plus(work[lower_row[entry]], value, logs)
    for column in range(count - 1, -1, -1):
        if work[column] > zero:
            last = upper_start[column + 1] - 1
            work[column] = times(work[column], upper[last], logs)
            for entry in range(upper_start[column], last):
                value = times(upper[entry], work[column], logs)
                least = min(least, value)
                work[upper_row[entry]] = plus(work[upper_row[entry]], value, logs)
    for symbol in range(count):
        closed[symbol] = work[place[symbol]]
    return least


@kernel
def _close_left(corners: LeftCorners, given: Floats, closed: Floats) -> None:
    close_left(corners, given, np.empty(len(given)), closed, None)


@kernel
def _close_above(corners: LeftCorners, given: Floats, closed: Floats, logs: Logs) -> None:
    place, lower_start, lower_row, lower, upper_start, upper_row, upper, _ = corners
    count = len(given)
    work = np.empty(count)
    for symbol in range(count):
        work[place[symbol]] = given[symbol]
    for column in range(count):
        last = upper_start[column + 1] - 1
        for entry in range(upper_start[column], last):
            work[column] = plus(work[column], times(upper[entry], work[upper_row[entry]], logs), logs)
        work[column] = times(work[column], upper[last], logs)
    for column in range(count - 1, -1, -1):
        for entry in range(lower_start[column], lower_start[column + 1]):
            work[column] = plus(work[column], times(lower[entry], work[lower_row[entry]], logs), logs)
    for symbol in range(count):
        closed[symbol] = work[place[symbol]]
