"""Prefix probabilities with 40 digits and exponents of any size, after Jelinek & Lafferty (1991).

From the right to the left: what a symbol derives from a word on is the rest of the words, and more. The sums
over left corners are exact (``naive_unary.closure``).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np
from mpmath import log, mp, mpf
from naive import Grammar, P
from naive_digits import ZERO, Digits, Number
from naive_unary import closure

Key = TypeVar("Key")


def reachable(grammar: Grammar) -> Grammar:
    """The grammar without what its roots do not reach."""
    rules = [rule for part in (grammar.unary, grammar.binary) for rule, p in part.items() if p]
    found = [a for a, p in grammar.start.items() if p]
    for a in found:  # grows while it is read
        found.extend({b for rule in rules if rule[0] == a for b in rule[1:]}.difference(found))
    return Grammar(
        {a: p for a, p in grammar.start.items() if p},
        {rule: p for rule, p in grammar.binary.items() if p and rule[0] in found},
        {rule: p for rule, p in grammar.lexical.items() if p and rule[0] in found},
        {rule: p for rule, p in grammar.unary.items() if p and rule[0] in found},
    )


class PrefixDigits:
    """The prefixes of one sentence, of 60 words or fewer; values are mpf.

    A grammar's derivations are taken to end. Raises ValueError where left recursion is never left.
    """

    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        grammar = reachable(grammar)
        self._grammar, self._words = grammar, words
        self._inside = Digits(grammar, words).inside if words else {}
        first: defaultdict[tuple[str, str], Fraction] = defaultdict(Fraction)
        for (a, b, *_), p in [*grammar.binary.items(), *grammar.unary.items()]:
            first[a, b] += Fraction(p)
        chains = closure(Grammar(dict.fromkeys(grammar.symbols(), 1), {}, {}, dict(first)))
        self.corners = {key: mpf(p.numerator) / p.denominator for key, p in chains.items()}

    def prefix(self, length: int) -> Number:
        """The probability that a sentence begins with the first so many words."""
        return self.after(length - 1, self._words[length - 1]) if length else mpf(1)

    def after(self, length: int, word: str) -> Number:
        """That it begins with the first so many words and goes on with this one."""
        return self._ending(
            length + 1, {a: mpf(p) for (a, of), p in self._grammar.lexical.items() if of == word}
        )

    def symbol(self, length: int, word: str) -> Number:
        """That of the first so many words and a word from a symbol that may be rewritten as this one."""
        last = defaultdict[str, Number](mpf)
        for (a, _), p in self._grammar.lexical.items():
            if self._grammar.lexical.get((a, word)):
                last[a] += mpf(p)
        return self._ending(length + 1, last)

    def sentence(self, length: int | None = None) -> Number:
        """The probability of the sentence, or of its first so many words as one."""
        return self._from_root(self._inside.get((0, len(self._words) if length is None else length), {}))

    def _from_root(self, values: dict[str, Number]) -> Number:
        return sum((mpf(p) * values.get(a, ZERO) for a, p in self._grammar.start.items()), ZERO)

    def _ending(self, end: int, last: dict[str, Number]) -> Number:
        """Of the words before ``end``, the last of which a symbol has with the given probability."""
        onward: dict[int, dict[str, Number]] = {}
        for start in range(end - 1, -1, -1):
            given = defaultdict(mpf, last if start == end - 1 else {})
            for (a, b, c), p in self._grammar.binary.items():
                for split in range(start + 1, end):
                    given[a] += mpf(p) * self._inside[start, split].get(b, ZERO) * onward[split].get(c, ZERO)
            onward[start] = defaultdict(mpf)
            for (top, bottom), chained in self.corners.items():
                onward[start][top] += chained * given[bottom]
        return self._from_root(onward[0])


#: Of t, whose square is beyond what is compared.
_STEP = mpf(10) ** -12


class DerivationEntropies:
    """The entropies of the derivations of a sentence's prefixes, from sums of powers of their probabilities.

    With Z(t) the sum of p^t over some derivations, their entropy is log Z(1) - (log Z)'(1): a difference of
    40 digits. The powers are made a grammar whose symbols derive one in all (Chi 1999). ``sizes`` are by
    terminal how many words share it, at the beginning of a sentence and elsewhere.
    """

    def __init__(
        self, grammar: Grammar, words: Sequence[str], sizes: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        grammar = reachable(grammar)
        place = {a: at for at, a in enumerate(grammar.symbols())}
        children = np.zeros((len(place), len(place)))
        for (a, *below), p in [*grammar.unary.items(), *grammar.binary.items()]:
            for b in below:
                children[place[a], place[b]] += float(p)
        #: Of the expected children of symbols. From a modulus of one on some derivation never ends.
        self.eigenvalues = np.linalg.eigvals(children)
        self._grammar, self._words = grammar, words
        self._sizes = sizes or dict.fromkeys({word for _, word in grammar.lexical}, (1, 1))

    @cached_property
    def _sums(self) -> list[tuple[Number, Number]]:
        return list(zip(*(self._masses(1 + step) for step in (-_STEP, _STEP)), strict=True))

    def of_prefix(self, length: int) -> float:
        """In bits, of the derivations of all sentences that begin with the first so many words."""
        return self._entropy(self._sums[length], length)

    def of_sentence(self) -> float:
        """Of those of the sentence itself."""
        return self._entropy(self._sums[-1], len(self._words))

    def _entropy(self, sums: tuple[Number, Number], length: int) -> float:
        if not all(sums):
            return math.nan
        below, above = map(log, sums)
        # Words that are given are no choice any more.
        known = sum(log(self._sizes[word][1]) for word in self._words[:length])
        return float(((above + below) / 2 - (above - below) / (2 * _STEP) - known) / log(2))

    def _masses(self, t: Number) -> list[Number]:
        """Z(t) of each prefix, and of the sentence."""
        of = self._grammar
        start, binary = _powers(of.start, t), _powers(of.binary, t)
        lexical, unary = _powers(of.lexical, t), _powers(of.unary, t)
        lexical = {(a, word): p * mpf(self._sizes[word][1]) ** (1 - t) for (a, word), p in lexical.items()}
        z = _sums_of_symbols(Grammar(start, binary, lexical, unary))
        total = sum((p * z[a] for a, p in start.items()), ZERO)
        digits = PrefixDigits(
            Grammar(
                {a: _fraction(p * z[a] / total) for a, p in start.items()},
                {(a, b, c): _fraction(p * z[b] * z[c] / z[a]) for (a, b, c), p in binary.items()},
                {(a, word): _fraction(p / z[a]) for (a, word), p in lexical.items()},
                {(a, b): _fraction(p * z[b] / z[a]) for (a, b), p in unary.items()},
            ),
            self._words,
        )
        sizes = self._sizes.items()
        first = sum((digits.after(0, w) * (mpf(here) / later) ** (1 - t) for w, (here, later) in sizes), ZERO)
        prefixes = map(digits.prefix, range(1, len(self._words) + 1))
        return [total * mass for mass in (first, *prefixes, digits.sentence())]


def _sums_of_symbols(grammar: Grammar) -> dict[str, Number]:
    """What each symbol derives in all, which is nearly one: Newton's method."""
    place = {a: at for at, a in enumerate(grammar.symbols())}
    z = mp.matrix([1] * len(place))
    for _ in range(6):
        wrong, slope = -z, mp.eye(len(place))
        for (a, _), p in grammar.lexical.items():
            wrong[place[a]] += p
        for rule, p in [*grammar.unary.items(), *grammar.binary.items()]:
            above, *below = (place[a] for a in rule)
            wrong[above] += p * mp.fprod(z[one] for one in below)
            for at, one in enumerate(below):
                slope[above, one] -= p * mp.fprod(z[other] for other in below[:at] + below[at + 1 :])
        z += mp.lu_solve(slope, wrong)
    return {a: z[at] for a, at in place.items()}


def _powers(part: Mapping[Key, P], t: Number) -> dict[Key, Number]:
    return {key: mpf(p) ** t for key, p in part.items()}


def _fraction(number: Number) -> Fraction:
    sign, mantissa, exponent, _ = number._mpf_
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** int(exponent)
