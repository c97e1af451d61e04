"""Sentences that begin with given words, or have given lengths: sampled, and how probable each length is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from mbrparse.charts import rule_tables
from mbrparse.charts.left_corner import left_corners
from mbrparse.errors import InputMismatchError, shortened
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, FloatArray, IntArray
from mbrparse.grammar.rules import RuleSet, binarize_rules, quote
from mbrparse.grammar.sample import Sampler


class SpanMasses:
    """The probabilities of symbols to derive the words of a span, [symbols]: first given ones, then any.

    Those of given words are multiplied by powers of two. Without the length of the ``longest`` sentence,
    spans end with the given words, and what reaches that end goes on as it likes: with probability one.
    """

    def __init__(self, grammar: PCFG, given: Sequence[int] = (), longest: int | None = None) -> None:
        self.given, self.is_open = len(given), longest is None
        self.last = len(given) if longest is None else longest
        self.prob, size = np.exp(grammar.log_prob), len(grammar.symbols)
        words = rule_tables.lexicon(rule_tables.chart_rules(grammar), len(grammar.terminals))
        places, scaled = (
            [slice(*words.start[word : word + 2]) for word in given],
            rule_tables.scaled_entries(words)[1],
        )
        #: The lexical rules of each given word, and their values; at last those of any word.
        self.lexical = [*((place, scaled[place]) for place in places), (slice(None), words.prob)]
        entered = [np.bincount(words.symbol[place], prob, size) for place, prob in self.lexical]
        closure = rule_tables.unary_closure(grammar)
        below = np.arange(size).repeat(np.diff(closure.start))
        chains: Any = coo_array((closure.value, (closure.top, below)), (size, size)).tocsr()
        corners = left_corners(grammar) if self.is_open else None
        self._found = {(self.given, self.given): np.ones(size)}
        for end in range(1, self.last + 1):
            for start in range(min(end - 1, self.given), -1, -1):
                products = np.zeros(len(self.prob))
                for split in range(start + 1, end):
                    products += self(start, split)[grammar.left] * self(split, end)[grammar.right]
                total = np.bincount(grammar.parent, self.prob * products, size).astype(np.float64)
                if end == start + 1:
                    total += entered[start]
                if corners is not None and end == self.last:  # it goes on
                    self._found[start, end] = corners.above(total)
                else:
                    self._found[start, end] = chains @ total

    def __call__(self, start: int, end: int) -> FloatArray:
        """Those of a span; all that begin after the given words are alike."""
        later = max(0, start - self.given)
        return self._found[start - later, end - later]


def length_masses(grammar: PCFG, longest: int) -> FloatArray:
    """The probabilities of sentences of 1 .. ``longest`` words.

    >>> from mbrparse.grammar.rules import Rule, relative_frequencies
    >>> rules = relative_frequencies("words", {"S": 1}, {Rule("S", ("S", "S")): 1, Rule("S", ("'a'",)): 1})
    >>> length_masses(PCFG.from_rules(rules), 3).tolist()
    [0.5, 0.125, 0.0625]
    """
    masses, root = SpanMasses(grammar, longest=longest), np.exp(grammar.root_log_prob)
    return np.array([root @ masses(0, length) for length in range(1, longest + 1)])


class ConditionedSampler(Sampler):
    """Draws trees from the distribution of those that begin with words, or have one of some lengths.

    ``lengths`` are the first and the last; the words of a grammar of tags are tags. Raises
    InputMismatchError where no tree is so, and GrammarError where left recursion is never left.
    """

    def __init__(
        self, rules: RuleSet, seed: int, words: Sequence[str] = (), lengths: tuple[int, int] | None = None
    ) -> None:
        super().__init__(rules, seed)
        self._given = words
        binary = binarize_rules(rules).rules
        self._continued = {rule.parent for rule in binary.rules} - {rule.parent for rule in rules.rules}
        self._grammar = grammar = PCFG.from_rules(binary)
        given = grammar.encode(grammar.terminals_of(words))
        for word in np.array(words)[given == UNKNOWN_TERMINAL]:
            raise InputMismatchError(f"the grammar does not have {shortened(word)}")
        first, last = (len(given), None) if lengths is None else (max(len(given), lengths[0]), lengths[1])
        self._masses = SpanMasses(grammar, given.tolist(), last)
        self._ends = range(first, self._masses.last + 1)
        self._choices = {}
        if not any(weight for weight, _ in self._roots()):
            raise InputMismatchError(
                "the grammar has no such sentence", remedy="ask for other words, or lengths"
            )

    def _name(self, symbol: Any) -> str:
        return symbol if isinstance(symbol, str) else self._grammar.symbols[symbol[0]]

    def _draw(self, parent: Any) -> tuple[Any, ...]:
        if parent not in self._choices:
            weighed = self._roots() if parent is None else self._alternatives(*parent)
            weights, alternatives = zip(*weighed, strict=True)
            self._choices[parent] = list(alternatives), list(accumulate(weights))
        return super()._draw(parent)

    def _roots(self) -> Iterator[tuple[float, Any]]:
        root, symbols = (
            np.exp(self._grammar.root_log_prob),
            np.arange(len(self._grammar.symbols), dtype=np.int32),
        )
        for end in self._ends:
            yield from _weighed(root * self._masses(0, end), (symbols, 0, end))

    def _alternatives(self, symbol: int, start: int, end: int) -> Iterator[tuple[float, Any]]:
        grammar, masses = self._grammar, self._masses
        parents = (grammar.parent, grammar.unary_parent)
        binary, unary = (slice(*np.searchsorted(each, (symbol, symbol + 1))) for each in parents)
        left, right, child = grammar.left[binary], grammar.right[binary], grammar.unary_child[unary]
        goes_on = masses.is_open and end == masses.last
        for split in range(min(start + 1, end), end + goes_on):
            pairs = masses.prob[binary] * masses(start, split)[left] * masses(split, end)[right]
            yield from _weighed(pairs, (left, start, split), (right, split, end))
        chains = np.exp(grammar.unary_log_prob[unary]) * masses(start, end)[child]
        yield from _weighed(chains, (child, start, end))
        if end <= start + 1:
            place, prob = masses.lexical[min(start, masses.given)]
            mine = np.flatnonzero(grammar.lexical_symbol[place] == symbol)
            words = [(quote(grammar.terminals[word]),) for word in grammar.lexical_terminal[place][mine]]
            yield from zip(prob[mine].tolist(), words, strict=True)


def _weighed(weights: FloatArray, *parts: tuple[IntArray, int, int]) -> Iterator[tuple[float, Any]]:
    """The weights above zero, each with its children: their symbols, which are given by weight, and spans."""
    for place in np.flatnonzero(weights).tolist():
        yield float(weights[place]), tuple((int(symbols[place]), *span) for symbols, *span in parts)
