"""Inside and outside probabilities in fractions, which nothing is too small for."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

Span = tuple[int, int, str]
Rules = dict[tuple[str, tuple[str, ...]], Fraction]


class Exact:
    """A chart of one sentence. Rules have two symbols or one, without cycles, or a terminal."""

    def __init__(self, root: str, rules: Rules, words: list[str]) -> None:
        self.root, self.rules, self.words = root, rules, words
        self.symbols = {parent for parent, _ in rules}
        self.binary = {rule: p for rule, p in rules.items() if len(rule[1]) == 2}
        unary = [rule for rule in rules if len(rule[1]) == 1 and rule[1][0] in self.symbols]
        self.unary = self._bottom_up(unary)
        self.inside: dict[Span, Fraction] = defaultdict(Fraction)
        self.best: dict[Span, Fraction] = defaultdict(Fraction)
        n = len(words)
        for width in range(1, n + 1):
            for i in range(n - width + 1):
                self._fill(i, i + width)
        self.total = self.inside[0, n, root]

    def _bottom_up(self, unary: list[tuple[str, tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
        """Unary rules, those of a parent after all those of its child."""
        ordered: list[tuple[str, tuple[str, ...]]] = []
        while len(ordered) < len(unary):
            left = [rule for rule in unary if rule not in ordered]
            parents = {parent for parent, _ in left}
            ordered += [rule for rule in left if rule[1][0] not in parents]
        return ordered

    def _fill(self, i: int, j: int) -> None:
        if j - i == 1:
            for parent in self.symbols:
                value = self.rules.get((parent, (self.words[i],)), Fraction(0))
                self.inside[i, j, parent] = self.best[i, j, parent] = value
        for (parent, (left, right)), p in self.binary.items():
            for k in range(i + 1, j):
                self.inside[i, j, parent] += p * self.inside[i, k, left] * self.inside[k, j, right]
                found = p * self.best[i, k, left] * self.best[k, j, right]
                self.best[i, j, parent] = max(self.best[i, j, parent], found)
        for parent, (child,) in self.unary:
            p = self.rules[parent, (child,)]
            self.inside[i, j, parent] += p * self.inside[i, j, child]
            self.best[i, j, parent] = max(self.best[i, j, parent], p * self.best[i, j, child])

    def posteriors(self) -> dict[Span, float]:
        """How often each symbol is expected over each span, tags included."""
        n = len(self.words)
        outside: dict[Span, Fraction] = defaultdict(Fraction)
        outside[0, n, self.root] = Fraction(1)
        for width in range(n, 0, -1):
            for i in range(n - width + 1):
                j = i + width
                for parent, (child,) in reversed(self.unary):
                    outside[i, j, child] += self.rules[parent, (child,)] * outside[i, j, parent]
                for (parent, (left, right)), p in self.binary.items():
                    above = p * outside[i, j, parent]
                    for k in range(i + 1, j) if above else ():
                        outside[i, k, left] += above * self.inside[k, j, right]
                        outside[k, j, right] += above * self.inside[i, k, left]
        return {key: float(self.inside[key] * outside[key] / self.total) for key in list(self.inside)}


def log(value: Fraction) -> float:
    """The natural logarithm of a fraction of any size."""
    if not value:
        return -math.inf
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(value / Fraction(2) ** shift) + shift * math.log(2)
