"""Prefix probabilities with 40 digits and exponents of any size, after Jelinek & Lafferty (1991).

From the right to the left, with sums over the starts of the *second* child: what a symbol derives from a word
on is the rest of the sentence, and more. The left corners are solved anew for each word.
"""

from collections.abc import Sequence

from mpmath import lu_solve, matrix, mpf
from naive import Grammar
from naive_digits import Digits, Number


class PrefixDigits:
    """The prefixes of one sentence, of 60 words or fewer; values are mpf.

    A grammar's derivations are taken to end, and its rules need not sum to one.
    """

    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        self._grammar, self._words = grammar, words
        self._inside = Digits(grammar, words).inside if words else {}
        self._names = sorted(grammar.symbols())
        self._corners = matrix(len(self._names), len(self._names))
        for place, name in enumerate(self._names):
            self._corners[place, place] += 1
            firsts = [(b, p) for (a, b, _), p in grammar.binary.items() if a == name]
            for b, p in [*firsts, *((b, p) for (a, b), p in grammar.unary.items() if a == name)]:
                self._corners[place, self._names.index(b)] -= mpf(p)

    def prefix(self, length: int) -> Number:
        """The probability that a sentence begins with the first so many words."""
        if not length:
            return mpf(1)
        word = self._words[length - 1]
        last = {a: mpf(p) for (a, of), p in self._grammar.lexical.items() if of == word}
        return self._ending(length, last)

    def symbol(self, length: int) -> Number:
        """That of all but the last of these and a word from a symbol that may be rewritten as the last."""
        word, lexical = self._words[length - 1], self._grammar.lexical
        over = {a for (a, of), p in lexical.items() if of == word and p}
        last = {a: sum((mpf(p) for (b, _), p in lexical.items() if b == a), mpf(0)) for a in over}
        return self._ending(length, last)

    def sentence(self, length: int) -> Number:
        """The probability of the first so many words as a sentence."""
        top = self._inside[0, length] if length else {}
        return sum((mpf(p) * top.get(a, mpf(0)) for a, p in self._grammar.start.items()), mpf(0))

    def _ending(self, end: int, last: dict[str, Number]) -> Number:
        """Of the words before ``end``, the last of which a symbol derives with the given probability."""
        from_start: dict[int, dict[str, Number]] = {}
        for start in range(end - 1, -1, -1):
            given = matrix(len(self._names), 1)
            for place, name in enumerate(self._names):
                given[place] = last.get(name, mpf(0)) if start == end - 1 else mpf(0)
                for (a, b, c), p in self._grammar.binary.items():
                    if a == name:
                        for split in range(start + 1, end):
                            given[place] += mpf(p) * self._inside[start, split].get(b, 0) * from_start[split][c]
            solved = lu_solve(self._corners, given)
            from_start[start] = {name: solved[place] for place, name in enumerate(self._names)}
        return sum((mpf(p) * from_start[0].get(a, mpf(0)) for a, p in self._grammar.start.items()), mpf(0))
