"""What the outside of an item is at most, whatever the words are: the estimates of A* (Klein & Manning 2003).

An item X over t_j .. t_{k-1} of n terminals leaves l = j terminals to its left and r = n - k to its right.
Its summary is (X, l, r), their SX, and its estimate the probability of the best derivation of a root from l
terminals, X and r terminals, the terminals being the most probable ones:

    inside(X, 1) = max over terminals t of p(X -> t)
    inside(X, w) = max over X -> Y Z, u + v = w of p(X -> Y Z) inside(Y, u) inside(Z, v)
    bound(X, 0, 0) = root(X)
    bound(Y, l, r) = max of
        over X -> Y Z, w of   bound(X, l, r - w) p(X -> Y Z) inside(Z, w)
        over X -> Z Y, w of   bound(X, l - w, r) p(X -> Z Y) inside(Z, w)

**It is never too small**: inside(Z, w) is at least the best derivation of Z over any w terminals, so that
bound is at least the best outside of X among any l and r terminals. **It is consistent**: with in(.) for the
best derivations of the sentence, let Y and Z make X. Then

    in(Y) bound(Y) >= in(Y) bound(X) p(X -> Y Z) inside(Z, w) >= in(Y) in(Z) p(X -> Y Z) bound(X)

so that no item's merit, in(.) bound(.), is above that of what it is made of. Both hold of the grammar itself,
without a coarser one; the tables depend on the grammar and on the longest sentence, not on words, and are
made once.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.best_first.viterbi.pair_rules import PairRules
from mbrparse.grammar.kernel import array_kernel, kernel
from mbrparse.grammar.pcfg import PCFG, FloatArray

# The table takes about rules * longest ** 3 steps and symbols * longest ** 2 / 2 numbers.
MOST_STEPS = 6e9
MOST_NUMBERS = 8_000_000


class OutsideBounds:
    """The tables of a grammar, made for the longest sentence that was asked for until now.

    Where sentences are longer than a table may be (some 58 terminals with 5,000 symbols and 140 with 91),
    nothing is known of their items' outside: it is at most one. The search is then Knuth's, and as exact.
    """

    def __init__(self, grammar: PCFG, rules: PairRules) -> None:
        self._rules = rules
        self._narrow = np.full(len(grammar.symbols), -np.inf)
        np.maximum.at(self._narrow, grammar.lexical_symbol, grammar.lexical_log_prob)
        steps = (MOST_STEPS / max(len(grammar.parent), 1)) ** (1 / 3)
        self.longest = int(min(steps, (2 * MOST_NUMBERS / len(grammar.symbols)) ** 0.5))
        """How many terminals a sentence has at most if something is known of its items' outside."""
        self._made = 0
        self._table = np.zeros((0, 0))

    def table(self, length: int) -> FloatArray:
        """log bound(X, l, r) [symbols, n (n + 1) / 2] at (l + r) (l + r + 1) / 2 + l, for some n >= length.

        Empty for sentences that are too long.
        """
        if length > self.longest:
            return np.zeros((0, 0))
        if length > self._made:
            self._made = min(self.longest, max(length, self._made * 5 // 4))
            self._table = context_bounds(self._rules, self._narrow, self._made)
        return self._table


@array_kernel
def widest_inside(rules: PairRules, narrow: FloatArray, length: int) -> FloatArray:
    """log inside(X, w) [symbols, length] for w below ``length``; ``narrow`` [symbols] has those of w = 1."""
    inside = np.full((len(narrow), max(length, 2)), -np.inf)
    inside[:, 1] = narrow
    for width in range(2, length):
        for left in range(len(narrow)):
            for pair in range(rules.first_of_left[left], rules.first_of_left[left + 1]):
                right = rules.right[pair]
                best = -np.inf
                for part in range(1, width):
                    best = max(best, inside[left, part] + inside[right, width - part])
                if best > -np.inf:
                    for rule in range(rules.first_rule[pair], rules.first_rule[pair + 1]):
                        parent = rules.parent[rule]
                        inside[parent, width] = max(inside[parent, width], best + rules.log_prob[rule])
    return inside


@array_kernel
def context_bounds(rules: PairRules, narrow: FloatArray, length: int) -> FloatArray:
    """The table of ``OutsideBounds`` for sentences of up to ``length`` terminals."""
    inside = widest_inside(rules, narrow, length)
    bounds = np.full((len(narrow), length * (length + 1) // 2), -np.inf)
    bounds[:, 0] = rules.root
    for outer in range(1, length):
        row = outer * (outer + 1) // 2
        for left in range(len(narrow)):
            for pair in range(rules.first_of_left[left], rules.first_of_left[left + 1]):
                right = rules.right[pair]
                for width in range(1, outer + 1):
                    above = (outer - width) * (outer - width + 1) // 2
                    log_left, log_right = inside[left, width], inside[right, width]
                    for rule in range(rules.first_rule[pair], rules.first_rule[pair + 1]):
                        sources = bounds[rules.parent[rule], above : above + outer - width + 1]
                        if log_right > -np.inf:
                            _raise(bounds[left, row:], sources, rules.log_prob[rule] + log_right)
                        if log_left > -np.inf:
                            _raise(bounds[right, row + width :], sources, rules.log_prob[rule] + log_left)
    return bounds


@kernel
def _raise(bounds: FloatArray, sources: FloatArray, log_step: float) -> None:
    """Let the first bounds be no less than their sources after one step."""
    for place in range(len(sources)):
        bounds[place] = max(bounds[place], sources[place] + log_step)


@kernel
def outside_bound(bounds: FloatArray, symbol: int, start: int, end: int, length: int) -> float:
    """log bound of an item of a sentence; 0 where nothing is known."""
    if len(bounds) == 0:
        return 0.0
    outer = start + length - end
    return bounds[symbol, outer * (outer + 1) // 2 + start]  # type: ignore[no-any-return]
