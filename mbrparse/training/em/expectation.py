"""Expectation maximization: a grammar's probabilities from bracketed sentences (Pereira & Schabes 1992).

The E step sums inside and outside probabilities of the spans that the brackets allow over the corpus, with
1 / P(sentence, bracketing). The M step divides each rule's expected count by its parent's. Any grammar of
binary and lexical rules can be re-estimated; its start distribution is too. Rules with the probability zero
keep it. Units: log likelihoods are natural, cross-entropies in bits per terminal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.rules import Rule, RuleSet, Weight, is_terminal, quote
from mbrparse.jobs import Inline, share
from mbrparse.training.em.expectation_kernels import BracketedCorpus, RuleTables, expect_sentences
from mbrparse.training.iterations import alternate

#: Sentences per block. Blocks are added in order, so that sums are bitwise the same for any number of jobs.
BLOCK = 32
#: Probabilities below this count as zero: counts divided by them would overflow.
SMALLEST = 2.0**-900


class RuleValues(NamedTuple):
    """A number for each rule of a grammar, in its order: probabilities, or counts.

    binary [binary rules], lexical [lexical rules], start [symbols]
    """

    binary: FloatArray
    lexical: FloatArray
    start: FloatArray


class RuleEstimate(NamedTuple):
    """Probabilities, and the expected counts that they are shares of (None: those of a first grammar)."""

    rules: RuleValues
    counts: RuleValues | None = None


class Expectations(NamedTuple):
    """Expected counts, and each sentence's natural log probability with its brackets.

    A sentence that the grammar cannot derive has log probability -inf, and is in no count.
    """

    counts: RuleValues
    log_probs: FloatArray


class Fit(NamedTuple):
    """How well a grammar fits sentences; those that it cannot derive are left out."""

    log_likelihood: float
    terminals: int
    left_out: tuple[int, ...]

    @property
    def cross_entropy(self) -> float | None:
        """Bits per terminal; None where no sentence can be derived."""
        return -self.log_likelihood / math.log(2) / self.terminals if self.terminals else None


def probabilities(grammar: PCFG) -> RuleValues:
    """The probabilities of a grammar's rules."""
    return RuleValues(
        np.exp(grammar.log_prob), np.exp(grammar.lexical_log_prob), np.exp(grammar.root_log_prob)
    )


class EStep:
    """The E step for one corpus; an executor's workers share its blocks of sentences."""

    def __init__(self, grammar: PCFG, corpus: BracketedCorpus, executor: Executor | None = None) -> None:
        self.grammar = grammar
        self._corpus = corpus
        self._executor = executor or Inline()
        self._shared = share(self._executor, (grammar, corpus))

    def expect(self, rules: RuleValues) -> Expectations:
        """The expected counts with these probabilities; raises WorkersError if workers die."""
        kept = RuleValues(*(np.where(values < SMALLEST, 0.0, values) for values in rules))
        tables = share(self._executor, rule_tables(self.grammar, kept))
        blocks = range(0, self._corpus.sentences, BLOCK)
        futures = [self._executor.submit(_sums, self._shared, tables, first) for first in blocks]
        total, log_probs = RuleValues(*map(np.zeros_like, kept)), [np.zeros(0)]
        for future in futures:
            counts, more = future.result()
            for sums, values in zip(total, counts, strict=True):
                np.add(sums, values, out=sums)
            log_probs.append(more)
        return Expectations(total, np.concatenate(log_probs))

    def fit(self, expectations: Expectations) -> Fit:
        """The sum of the sentences' log probabilities."""
        derived = np.isfinite(expectations.log_probs)
        return Fit(
            math.fsum(expectations.log_probs[derived].tolist()),
            int(self._corpus.lengths[derived].sum()),
            tuple(np.flatnonzero(~derived).tolist()),
        )


def expect(grammar: PCFG, rules: RuleValues, corpus: BracketedCorpus) -> Expectations:
    """The expected counts of a corpus under a grammar with the probabilities ``rules``."""
    return EStep(grammar, corpus).expect(rules)


def maximize(grammar: PCFG, counts: RuleValues, old: RuleValues) -> RuleValues:
    """The M step: counts divided by their parent's sum; a parent without counts keeps its probabilities."""
    totals = totals_by_parent(grammar, counts)
    sums = totals[grammar.parent], totals[grammar.lexical_symbol], counts.start.sum()
    return RuleValues(
        *(
            np.where(total > 0, values / np.where(total > 0, total, 1.0), before)
            for values, total, before in zip(counts, sums, old, strict=True)
        )
    )


def reestimate(step: EStep, begin: RuleEstimate) -> Iterator[tuple[RuleEstimate, Expectations]]:
    """Yield an estimate, and each later one, with what is expected under it; the likelihood never falls."""

    def improved(estimate: RuleEstimate, expected: Expectations) -> RuleEstimate:
        return RuleEstimate(maximize(step.grammar, expected.counts, estimate.rules), expected.counts)

    return alternate(begin, lambda estimate: step.expect(estimate.rules), improved)


def totals_by_parent(grammar: PCFG, values: RuleValues) -> FloatArray:
    """The sum of the values of each symbol's rules [symbols]."""
    totals: FloatArray = np.bincount(grammar.parent, values.binary, len(grammar.symbols)).astype(np.float64)
    return totals + np.bincount(grammar.lexical_symbol, values.lexical, len(grammar.symbols))


def to_rules(grammar: PCFG, rules: RuleValues, counts: RuleValues | None = None) -> RuleSet:
    """Probabilities as rules for a grammar file, expected counts beside them; those of zero are left out."""
    names = grammar.symbols
    binary = zip(grammar.parent.tolist(), grammar.left.tolist(), grammar.right.tolist(), strict=True)
    lexical = zip(grammar.lexical_symbol.tolist(), grammar.lexical_terminal.tolist(), strict=True)
    keys: list[list[Rule]] = [
        [Rule(names[parent], (names[left], names[right])) for parent, left, right in binary],
        [Rule(names[symbol], (quote(grammar.terminals[terminal]),)) for symbol, terminal in lexical],
        [Rule(name, ()) for name in names],
    ]
    weights: dict[Rule, Weight] = {}
    for rules_of, masses, numbers in zip(keys, rules, counts or (None, None, None), strict=True):
        known = [None] * len(masses) if numbers is None else numbers.tolist()
        for rule, mass, number in zip(rules_of, masses.tolist(), known, strict=True):
            if mass > 0:
                weights[rule] = Weight(mass, number)
    start = {rule.parent: weights.pop(rule) for rule in keys[2] if rule in weights}
    # A tag in binary rules is its own symbol; files do not list its lexical rule.
    kept = {rule: weight for rule, weight in weights.items() if not is_terminal(rule.parent)}
    return RuleSet(grammar.terminal_kind, start, kept)


def is_dense(grammar: PCFG) -> bool:
    """Whether to multiply matrices over all pairs of symbols: few symbols, and many of all possible rules."""
    symbols = len(grammar.symbols)
    return symbols <= 64 and 8 * len(grammar.parent) >= symbols**3


def rule_tables(grammar: PCFG, rules: RuleValues) -> RuleTables:
    """Lay the probabilities of a grammar's rules out for the kernels."""
    symbols, terminals = len(grammar.symbols), len(grammar.terminals)
    order = np.zeros(0, np.int32)
    if is_dense(grammar):
        width = -(-symbols // 8) * 8
        by_parent = np.zeros((symbols, symbols * width))
        by_parent[grammar.parent, grammar.left * width + grammar.right] = rules.binary
        by_pair = np.zeros((symbols * width, width))
        by_pair[:, :symbols] = by_parent.T
    else:
        by_parent, by_pair = np.zeros((symbols, 0)), np.zeros((0, symbols))
        order = np.lexsort((grammar.parent, grammar.right, grammar.left)).astype(np.int32)
        order = order[rules.binary[order] > 0]
    return RuleTables(
        by_pair,
        by_parent,
        _starts(grammar.left[order], symbols),
        grammar.parent[order],
        grammar.right[order],
        order,
        rules.binary[order],
        _starts(grammar.lexical_terminal, terminals),
        np.array(grammar.lexical_symbol),
        rules.lexical,
        rules.start,
    )


def _starts(values: IntArray, count: int) -> IntArray:
    """Where each of the numbers 0 to ``count`` begins in ascending values."""
    return np.searchsorted(values, np.arange(count + 1)).astype(np.int32)


def _sums(shared: tuple[PCFG, BracketedCorpus], tables: RuleTables, first: int) -> Expectations:
    """The sums of the block of sentences from ``first`` on."""
    grammar, corpus = shared
    is_list = not len(tables.by_pair)
    binary = np.zeros((len(grammar.parent), 1)) if is_list else np.zeros_like(tables.by_pair)
    lexical, start = np.zeros_like(tables.lexical_probability), np.zeros_like(tables.start)
    last = min(first + BLOCK, corpus.sentences)
    log_probs = expect_sentences(corpus, tables, first, last, binary, lexical, start)
    if is_list:
        return Expectations(RuleValues(binary[:, 0], lexical, start), log_probs)
    pairs = grammar.left * tables.by_pair.shape[1] + grammar.right, grammar.parent
    # Where a rule has probability zero the sum is meaningless.
    probability = tables.by_pair[pairs]
    counts = np.where(probability > 0, binary[pairs], 0.0) * probability
    return Expectations(RuleValues(counts, lexical, start), log_probs)
