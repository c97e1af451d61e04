"""Inside, outside and best probabilities of sentences of any length, in log space: slow, plain, and exact.

Listing trees ends at eight terminals; this is what long sentences are compared with. It shares nothing with
the library, neither code nor the linear space and its scales. ``values[symbol][width][start]`` is a log
probability.
"""

from collections.abc import Callable, Sequence

import naive
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Values = dict[str, list[Array]]


def log_inside(
    grammar: naive.Grammar,
    words: Sequence[str],
    plus: Callable[[Array, Array], Array] = np.logaddexp,
) -> Values:
    """Of each symbol and span; with ``np.maximum`` those of the best derivations."""
    n = len(words)
    values: Values = {
        symbol: [np.full(n - width + 1, -np.inf) for width in range(n + 1)] for symbol in grammar.symbols()
    }
    for (symbol, word), p in grammar.lexical.items():
        values[symbol][1][[p > 0 and word == other for other in words]] = np.log(float(p)) if p else -np.inf
    for width in range(2, n + 1):
        for (parent, left, right), p in grammar.binary.items():
            for first in range(1, width) if p else ():
                lefts = values[left][first][: n - width + 1]
                rights = values[right][width - first][first : first + n - width + 1]
                values[parent][width] = plus(values[parent][width], lefts + rights + np.log(float(p)))
    return values


def log_root(grammar: naive.Grammar, inside: Values, plus: Callable[[Array, Array], Array]) -> float:
    """The sentence's log probability, or that of its best derivation."""
    total = np.array([-np.inf])
    for symbol, p in grammar.start.items():
        if p > 0:
            total = plus(total, inside[symbol][-1] + np.log(float(p)))
    return float(total[0])


def log_outside(grammar: naive.Grammar, inside: Values) -> Values:
    """Of each symbol and span."""
    n = len(next(iter(inside.values()))) - 1
    values: Values = {
        symbol: [np.full(n - width + 1, -np.inf) for width in range(n + 1)] for symbol in inside
    }
    for symbol, p in grammar.start.items():
        values[symbol][n][:] = np.log(float(p)) if p else -np.inf
    for width in range(n, 1, -1):
        for (parent, left, right), p in grammar.binary.items():
            for first in range(1, width) if p else ():
                above = values[parent][width] + np.log(float(p))
                lefts = slice(0, n - width + 1)
                rights = slice(first, first + n - width + 1)
                for_left = above + inside[right][width - first][rights]
                for_right = above + inside[left][first][lefts]
                values[left][first][lefts] = np.logaddexp(values[left][first][lefts], for_left)
                there = values[right][width - first]
                there[rights] = np.logaddexp(there[rights], for_right)
    return values
