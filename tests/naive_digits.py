"""Inside, outside, Viterbi and optima over spans with 40 digits and exponents of any size: no number is lost.

Plain recursions over spans, of grammars whose unary rules may form cycles; the closure of these is exact
(``naive_unary``). Sentences may have 60 words.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import naive_unary
from mpmath import log, mp, mpf
from naive import Grammar, LabelledSpan, Projection, project

mp.dps = 40

Number: TypeAlias = Any  # mpf; mpmath has no types
Cell: TypeAlias = dict[str, Number]
Span: TypeAlias = tuple[int, int]
Kept: TypeAlias = Callable[[int, int, Cell], Cell]
ZERO = mpf(0)


class Digits:
    """One sentence by one grammar. Values are mpf, logarithms too.

    ``kept`` says what of a cell's values stays (start, end, the values), by default all.
    """

    def __init__(self, grammar: Grammar, words: Sequence[str], kept: Kept = lambda *cell: cell[-1]) -> None:
        self._kept = kept
        self._words, self.length = words, len(words)
        self._terminals = grammar.terminals()
        self._start = {a: mpf(p) for a, p in grammar.start.items() if p}
        self._lexical = {key: mpf(p) for key, p in grammar.lexical.items() if p}
        self._unary = {key: mpf(p) for key, p in grammar.unary.items() if p}
        self._by_left: dict[str, list[tuple[str, str, Number]]] = defaultdict(list)
        for (a, b, c), p in grammar.binary.items():
            if p:
                self._by_left[b].append((c, a, mpf(p)))
        self._chains: dict[str, list[tuple[str, Number]]] = defaultdict(list)
        for (top, bottom), chained in naive_unary.closure(grammar).items():
            self._chains[bottom].append((top, mpf(chained.numerator) / chained.denominator))
        self.inside = self._upwards(self._closed, lambda one, other: one + other, kept)
        root = self.inside[0, self.length]
        self.total: Number = sum((p * root.get(a, ZERO) for a, p in self._start.items()), ZERO)

    @property
    def log_prob(self) -> Number:
        """The logarithm of the sentence's probability."""
        return log(self.total) if self.total else -mp.inf

    def log_best(self) -> Number:
        """That of its most probable derivation's."""
        best = self._upwards(self._best_chains, max, self._kept)[0, self.length]
        found: Number = max((p * best.get(a, ZERO) for a, p in self._start.items()), default=ZERO)
        return log(found) if found else -mp.inf

    def derivation(self, nodes: Sequence[LabelledSpan], preterminals: Sequence[str]) -> Number:
        """The log probability of one derivation, its constituents in preorder."""
        tops = list(preterminals)
        ends = list(range(1, self.length + 1))
        words = zip(preterminals, self._words, strict=True)
        total: Number = sum((log(self._lexical[pair]) for pair in words), ZERO)
        for start, end, symbol in reversed(nodes):
            if ends[start] == end:
                total += log(self._unary[symbol, tops[start]])
            else:
                split = ends[start]
                assert ends[split] == end
                rules = self._by_left[tops[start]]
                total += log(next(p for c, a, p in rules if (c, a) == (tops[split], symbol)))
            tops[start], ends[start] = symbol, end
        assert ends[0] == self.length
        return total + log(self._start[tops[0]])

    def posteriors(self, projection: Projection | None = None) -> dict[LabelledSpan, Number]:
        """The probability of each label as a constituent over each span, and over words as a preterminal."""
        found = defaultdict(mpf, self.at_least_one(lambda a: project(a, projection)))
        for place, word in enumerate(self._words):
            for a, around in self.outside.get((place, place + 1), {}).items():
                if a in self.inside[place, place + 1] and (a, word) in self._lexical:
                    mass = self._lexical[a, word] * around / self.total
                    found[place, place + 1, project(a, projection)] += mass
        return dict(found)

    def at_least_one(self, kind_of: Callable[[str], str]) -> dict[LabelledSpan, Number]:
        """The probability that a constituent of a kind is over a span; preterminals are none.

        What comes to a kind from above is shared among its symbols by where it comes first: with the closure
        C over chains, first C = outside.
        """
        found: dict[LabelledSpan, Number] = defaultdict(mpf)
        for (start, end), cell in self.outside.items():
            kinds: dict[str, list[str]] = defaultdict(list)
            for a in cell:
                kinds[kind_of(a)].append(a)
            for kind, own in kinds.items():
                for a, around in zip(own, self._first(own, [cell[a] for a in own]), strict=True):
                    inner = self.inside[start, end].get(a, ZERO)
                    if inner and end - start == 1:
                        inner -= self._lexical.get((a, self._words[start]), ZERO)
                    if inner:
                        found[start, end, kind] += inner * around / self.total
        return dict(found)

    def _first(self, own: Sequence[str], around: Sequence[Number]) -> Sequence[Number]:
        chained = {(top, a): p for a in own for top, p in self._chains.get(a, ()) if top in own}
        if all(p == 1 if top == a else not p for (top, a), p in chained.items()):
            return around
        closure = mp.matrix([[chained.get((top, a), ZERO) for top in own] for a in own])
        return list(mp.lu_solve(closure, mp.matrix(list(around))))

    def _spans(self) -> list[Span]:
        n = self.length
        return [(i, i + width) for width in range(1, n + 1) for i in range(n - width + 1)]

    def _upwards(
        self, close: Callable[[Cell], Cell], plus: Callable[[Number, Number], Number], kept: Kept
    ) -> dict[Span, Cell]:
        cells: dict[Span, Cell] = {}
        for start, end in self._spans():
            base: Cell = {}
            if end - start == 1:
                word = self._words[start]
                base = {a: p for (a, of), p in self._lexical.items() if of == word}
            for split in range(start + 1, end):
                right = cells[split, end]
                for b, left in cells[start, split].items():
                    for c, a, p in self._by_left.get(b, ()):
                        if c in right:
                            base[a] = plus(base.get(a, ZERO), p * left * right[c])
            cells[start, end] = kept(start, end, close(base) if self._unary else base)
        return cells

    def _closed(self, base: Cell) -> Cell:
        found: Cell = defaultdict(mpf)
        for bottom, value in base.items():
            for top, chained in self._chains[bottom]:
                found[top] += chained * value
        return dict(found)

    def _best_chains(self, base: Cell) -> Cell:
        found = dict(base)
        for _ in self._chains:
            for (a, b), p in self._unary.items():
                if b in found:
                    found[a] = max(found.get(a, ZERO), p * found[b])
        return found

    @cached_property
    def outside(self) -> dict[Span, Cell]:
        """What may stand around each symbol; nothing of sentences of probability zero."""
        if not self.total:
            return {}
        around: dict[Span, Cell] = {span: defaultdict(mpf) for span in self._spans()}
        around[0, self.length] = dict(self._start)
        for start, end in reversed(self._spans()):
            above = around[start, end]
            if self._unary:
                closed: Cell = {}
                for bottom, chains in self._chains.items():
                    value = sum((above.get(top, ZERO) * chained for top, chained in chains), ZERO)
                    if value:
                        closed[bottom] = value
                above = around[start, end] = closed
            for split in range(start + 1, end):
                left, right = self.inside[start, split], self.inside[split, end]
                into_left, into_right = around[start, split], around[split, end]
                for b, of_left in left.items():
                    for c, a, p in self._by_left.get(b, ()):
                        if c in right and a in above:
                            passed = above[a] * p
                            into_left[b] = into_left.get(b, ZERO) + passed * right[c]
                            into_right[c] = into_right.get(c, ZERO) + passed * of_left
        return around
