"""Sentences that begin with given words, or have given lengths: sampled, and how probable each length is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mbrparse import arguments, errors
from mbrparse.charts import left_corner, rule_tables
from mbrparse.grammar.grammar_files import known_rules
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, FloatArray, IntArray
from mbrparse.grammar.rules import RuleSet, binarize_rules, quote
from mbrparse.grammar.sample import Sampler
from mbrparse.grammar.tree_statistics import tree_statistics
from mbrparse.treebank.tree import Tree

# Pairs of a binary rule and two spans that are looked at, at most: minutes.
MOST_PAIRS = 2e10
# As many take as long as one pair of symbols in a unary chain.
_CHAIN = 10
# As many are looked at together.
_TOGETHER = 1 << 14
# The ways to make a symbol over a span are kept while there are no more of them.
_KEPT = 1000
# What a way has instead of a right child: a unary rule, or a word.
_UNARY, _LEXICAL = -1, -2


class SpanMasses:
    """How probably symbols derive the words of a span, [symbols], in logarithms: first given ones, then any.

    Without the length of the ``longest`` sentence, spans end with the given words, and what reaches that end
    goes on as it likes: with probability one. Raises InputMismatchError for what would take too long.
    """

    def __init__(self, grammar: PCFG, given: Sequence[int] = (), longest: int | None = None) -> None:
        self.given, self.is_open = len(given), longest is None
        self.last = len(given) if longest is None else longest
        size, spans = len(grammar.symbols), range(self.given + 1)
        widths = np.array([self.last - start for start in spans], np.float64)

        def refuse_longer(chains: int) -> None:
            if len(grammar.left) * (widths**2).sum() / 2 + _CHAIN * chains * widths.sum() > MOST_PAIRS:
                raise errors.InputMismatchError(
                    f"sentences of {self.last} words are too long for {len(grammar.left)} binary rules and "
                    f"{chains} pairs of symbols in unary chains",
                    remedy="ask for shorter ones: it would take hours",
                )

        # First the pairs in cycles alone, whose closure takes long.
        rules = np.ones(len(grammar.unary_parent)), (grammar.unary_parent, grammar.unary_child)
        cycles = connected_components(coo_array(rules, (size, size)), connection="strong")[1]
        refuse_longer(int((np.bincount(cycles) ** 2).sum()))
        closure = rule_tables.unary_closure(grammar)
        refuse_longer(len(closure.top))
        words = rule_tables.lexicon(rule_tables.chart_rules(grammar), len(grammar.terminals))
        places = [*(slice(*words.start[word : word + 2]) for word in given), slice(None)]
        #: The lexical rules of each given word; at last those of any word.
        self.lexical = [(place, grammar.lexical_log_prob[place]) for place in places]
        entered = [_gathered(words.symbol[place], logs, size) for place, logs in self.lexical]
        below, chains = np.arange(size).repeat(np.diff(closure.start)), np.log(closure.value)
        corners = left_corner.left_corners(grammar, logs=True) if self.is_open else None
        pairs, pair_of = np.unique(np.stack([grammar.left, grammar.right]), axis=1, return_inverse=True)
        left, right = pairs
        # By symbol, the widths of spans over which it has been found; others need not be looked at.
        narrowest, widest = np.full(size, self.last), np.zeros(size, np.int64)
        # By start and width.
        self._found = [np.full((self.last + 1 - start, size), -np.inf) for start in spans]
        self._found[-1][0] = 0.0
        for end in range(1, self.last + 1):
            for start in range(min(end - 1, self.given), -1, -1):
                width, pairs = end - start, np.full(len(left), -np.inf)
                some = narrowest[left] + narrowest[right] <= width
                some &= widest[left] + widest[right] >= width
                step = 1 + _TOGETHER // (1 + int(some.sum()))
                for split in range(start + 1, end, step):
                    splits = range(split, min(split + step, end))
                    both = _log_sums(self.parts(start, splits, end, left[some], right[some]))
                    pairs[some] = np.logaddexp(pairs[some], both)
                total = _gathered(grammar.parent, grammar.log_prob + pairs[pair_of.ravel()], size)
                if end == start + 1:
                    total = np.logaddexp(total, entered[start])
                if corners is not None and end == self.last:  # it goes on
                    total = corners.above(total, True)
                else:
                    total = _gathered(closure.top, chains + total[below], size)
                self._found[start][width] = total
                narrowest[total > -np.inf] = np.minimum(narrowest, width)[total > -np.inf]
                widest[total > -np.inf] = np.maximum(widest, width)[total > -np.inf]

    def __call__(self, start: int, end: int) -> FloatArray:
        """Those of a span; all that begin after the given words are alike."""
        found: FloatArray = self._found[min(start, self.given)][end - start]
        return found

    def parts(self, start: int, splits: range, end: int, left: IntArray, right: IntArray) -> FloatArray:
        """Those of pairs of symbols over both parts of a span, [splits, pairs]."""
        late = max(splits.start, min(self.given, splits.stop))
        rows = [self(split, end)[None, right] for split in range(splits.start, late)]
        later = self._found[-1][end - splits.stop + 1 : end - late + 1].take(right, axis=1)[::-1]
        before = self._found[min(start, self.given)][splits.start - start : splits.stop - start]
        first: FloatArray = before.take(left, axis=1)
        first += np.concatenate([*rows, later])
        return first


def _gathered(symbols: IntArray, logs: FloatArray, size: int) -> FloatArray:
    """By symbol, the sum of what is given in logarithms."""
    found = np.full(size, -np.inf)
    np.logaddexp.at(found, symbols, logs)
    return found


def _log_sums(logs: FloatArray) -> FloatArray:
    """The sums of columns, in logarithms; three times as fast as np.logaddexp.reduce."""
    top = logs.max(axis=0, initial=-1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=0)) + top)


def length_masses(grammar: PCFG, longest: int) -> FloatArray:
    """The probabilities of sentences of 1 .. ``longest`` words.

    >>> from mbrparse.grammar.rules import Rule, relative_frequencies
    >>> rules = relative_frequencies("words", {"S": 1}, {Rule("S", ("S", "S")): 1, Rule("S", ("'a'",)): 1})
    >>> length_masses(PCFG.from_rules(rules), 3).round(12).tolist()
    [0.5, 0.125, 0.0625]
    """
    masses = SpanMasses(grammar, longest=longest)
    roots = [grammar.root_log_prob + masses(0, length) for length in range(1, longest + 1)]
    return np.exp([np.logaddexp.reduce(row) for row in roots])


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
            raise errors.InputMismatchError(f"the grammar does not have {errors.shortened(word)}")
        first, last = (len(given), None) if lengths is None else (max(len(given), lengths[0]), lengths[1])
        self._masses = SpanMasses(grammar, given.tolist(), last)
        self._ends = np.arange(first, self._masses.last + 1)
        self._ways: dict[Any, tuple[NDArray[Any], NDArray[Any]]] = {}
        if not len(self._ways_of(None)[1]):
            raise errors.InputMismatchError(
                "the grammar has no such sentence", remedy="ask for other words, or lengths"
            )

    def _name(self, symbol: Any) -> str:
        return symbol if isinstance(symbol, str) else self._grammar.symbols[symbol[0]]

    def _draw(self, parent: Any) -> tuple[Any, ...]:
        ways, bounds = self._ways_of(parent)
        way = self._random.choices(range(len(bounds)), cum_weights=bounds.tolist())[0]
        return self._children(parent, *ways[:, way].tolist())

    def _children(self, parent: Any, left: int, right: int, split: int) -> tuple[Any, ...]:
        """What a way makes of a symbol over a span."""
        _, start, end = parent or (None, 0, None)
        if right == _LEXICAL:
            return (quote(self._grammar.terminals[left]),)
        return ((left, start, split),) if right == _UNARY else ((left, start, split), (right, split, end))

    def _ways_of(self, parent: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ways to make a symbol over a span, or a tree: children and split, and cumulated weights."""
        if parent not in self._ways:
            logs, *ways = self._roots() if parent is None else self._alternatives(*parent)
            some = np.flatnonzero(logs > -np.inf)
            logs = logs[some]
            found = np.stack(ways)[:, some], np.exp(logs - logs.max(initial=-np.inf)).cumsum()
            if len(some) > _KEPT:
                return found
            self._ways[parent] = found
        return self._ways[parent]

    def _roots(self) -> tuple[NDArray[Any], ...]:
        size, ends = len(self._grammar.symbols), self._ends
        logs = [self._grammar.root_log_prob + self._masses(0, end) for end in ends.tolist()]
        symbols = np.tile(np.arange(size), len(ends))
        return np.ravel(logs), symbols, np.full(len(symbols), _UNARY), ends.repeat(size)

    def _alternatives(self, symbol: int, start: int, end: int) -> tuple[NDArray[Any], ...]:
        grammar, masses = self._grammar, self._masses
        parents = (grammar.parent, grammar.unary_parent)
        binary, unary = (slice(*np.searchsorted(each, (symbol, symbol + 1))) for each in parents)
        left, right, child = grammar.left[binary], grammar.right[binary], grammar.unary_child[unary]
        goes_on = masses.is_open and end == masses.last
        splits = range(min(start + 1, end), end + goes_on)
        pairs = grammar.log_prob[binary] + masses.parts(start, splits, end, left, right)
        chains = grammar.unary_log_prob[unary] + masses(start, end)[child]
        rows = [
            (
                pairs.ravel(),
                np.tile(left, len(splits)),
                np.tile(right, len(splits)),
                np.arange(splits.start, splits.stop).repeat(len(left)),
            ),
            (chains, child, np.full(len(child), _UNARY), np.full(len(child), end)),
        ]
        if end <= start + 1:
            place, logs = masses.lexical[min(start, masses.given)]
            mine = np.flatnonzero(grammar.lexical_symbol[place] == symbol)
            word = grammar.lexical_terminal[place][mine]
            rows.append((logs[mine], word, np.full(len(mine), _LEXICAL), np.full(len(mine), end)))
        return tuple(np.concatenate(column) for column in zip(*rows, strict=True))


@arguments.checked
def sample(
    grammar: PCFG,
    count: int,
    seed: int = 0,
    *,
    conditioned: Sequence[str] = (),
    lengths: tuple[int, int] | None = None,
) -> list[Tree]:
    """Trees of a grammar, drawn by their probabilities.

    ``conditioned`` are words that all begin with, ``lengths`` the least and the greatest number of words.
    Raises GrammarError where a tree does not end, InputMismatchError where no tree is so.

    >>> from mbrparse.grammar.grammar_files import grammar
    >>> print(*sample(grammar("S -> A S | A\\nA -> 'a' | 'b'"), 2, lengths=(2, 2)), sep=", ")
    (S (A a) (S (A b))), (S (A a) (S (A b)))
    """
    rules = known_rules(grammar)
    if conditioned or lengths:
        return list(ConditionedSampler(rules, seed, conditioned, lengths).trees(count))
    return list(Sampler(rules, seed).trees(count))


@arguments.checked
def entropy(grammar: PCFG, lengths: int = 0) -> dict[str, float]:
    """What ``mbrparse grammar info --entropy`` prints: of trees and sentences, and of ``lengths`` in words.

    >>> from mbrparse.grammar.grammar_files import grammar
    >>> {name: round(value, 2) for name, value in entropy(grammar("S -> S S [.25] | 'a' [.75]")).items()}
    {'spectral radius': 0.5, 'words': 1.5, 'nodes': 2.0, 'entropy in bits': 1.62, 'bits a word': 1.08}
    """
    masses = enumerate(length_masses(grammar, lengths).tolist(), 1)
    return tree_statistics(grammar) | {f"length {length}": mass for length, mass in masses}
