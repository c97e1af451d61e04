"""Prefix probabilities with 40 digits and exponents of any size, after Jelinek & Lafferty (1991).

From the right to the left: what a symbol derives from a word on is the rest of the words, and more. The sums
over left corners are exact (``naive_unary.closure``).
"""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from mpmath import mpf
from naive import Grammar
from naive_digits import ZERO, Digits, Number
from naive_unary import closure


class PrefixDigits:
    """The prefixes of one sentence, of 60 words or fewer; values are mpf.

    A grammar's derivations are taken to end. Raises ValueError where left recursion is never left.
    """

    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        self._grammar, self._words = grammar, words
        self._inside = Digits(grammar, words).inside if words else {}
        first: defaultdict[tuple[str, str], Fraction] = defaultdict(Fraction)
        for (a, b, *_), p in [*grammar.binary.items(), *grammar.unary.items()]:
            first[a, b] += Fraction(p)
        chains = closure(Grammar(dict.fromkeys(grammar.symbols(), 1), {}, {}, dict(first)))
        self._corners = {key: mpf(p.numerator) / p.denominator for key, p in chains.items()}

    def prefix(self, length: int) -> Number:
        """The probability that a sentence begins with the first so many words."""
        if not length:
            return mpf(1)
        word = self._words[length - 1]
        return self._ending(length, {a: mpf(p) for (a, of), p in self._grammar.lexical.items() if of == word})

    def symbol(self, length: int) -> Number:
        """That of all but the last of these and a word from a symbol that may be rewritten as the last."""
        word, last = self._words[length - 1], defaultdict[str, Number](mpf)
        for (a, _), p in self._grammar.lexical.items():
            if self._grammar.lexical.get((a, word)):
                last[a] += mpf(p)
        return self._ending(length, last)

    def sentence(self) -> Number:
        """The probability of the sentence."""
        return self._from_root(self._inside.get((0, len(self._words)), {}))

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
            for (top, bottom), chained in self._corners.items():
                onward[start][top] += chained * given[bottom]
        return self._from_root(onward[0])
