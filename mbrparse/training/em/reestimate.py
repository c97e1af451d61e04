"""Expectation maximization: a grammar's probabilities from bracketed sentences, step by step.

Pereira & Schabes 1992: each rule's new probability is its expected count divided by its parent's. Any
grammar of binary and lexical rules can be re-estimated; its start distribution is too. Rules with the
probability zero keep it. Units: log likelihoods are natural, cross-entropies in bits per terminal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.rules import Rule, RuleSet, Weight, is_terminal, quote
from mbrparse.run.jobs import InProcess
from mbrparse.run.pool import Pool
from mbrparse.training.em.expectation import EStep, Expectations, RuleValues, probabilities
from mbrparse.training.em.expectation_kernels import BracketedCorpus

#: Rules of a lower re-estimated probability are left out of trained grammars: products of such numbers would
#: leave the range of floating point.
SMALLEST_PROBABILITY = 1e-30


@dataclass(frozen=True, eq=False)
class Estimate:
    """Probabilities after so many iterations, and the counts that they are shares of (at first: None)."""

    iteration: int
    rules: RuleValues
    counts: RuleValues | None = None


class Fit(NamedTuple):
    """How well an estimate fits sentences; those that it cannot derive are left out."""

    log_likelihood: float
    terminals: int
    left_out: tuple[int, ...]

    @property
    def cross_entropy(self) -> float:
        """Bits per terminal."""
        return -self.log_likelihood / math.log(2) / self.terminals if self.terminals else math.nan


def fit(corpus: BracketedCorpus, log_probs: FloatArray) -> Fit:
    """Sum the sentences' log probabilities up."""
    derived = np.isfinite(log_probs)
    return Fit(
        math.fsum(log_probs[derived].tolist()),
        int(corpus.lengths[derived].sum()),
        tuple(np.flatnonzero(~derived).tolist()),
    )


def first_estimate(grammar: PCFG) -> Estimate:
    """The grammar's own probabilities."""
    return Estimate(0, probabilities(grammar))


def reestimate(
    grammar: PCFG, corpus: BracketedCorpus, begin: Estimate, iterations: int, pool: Pool | None = None
) -> Iterator[tuple[Estimate, Fit]]:
    """Yield ``begin`` and each later estimate up to ``iterations``, with its fit to the corpus.

    The likelihood never falls from one to the next. The caller may stop at any of them. ``pool``: who does
    the work, if not this process alone.
    """
    estimate = begin
    step = EStep(grammar, corpus, pool or InProcess())
    while True:
        expectations = step.expect(estimate.rules)
        yield estimate, fit(corpus, expectations.log_probs)
        if estimate.iteration >= iterations:
            return
        estimate = maximize(grammar, estimate, expectations)


def maximize(grammar: PCFG, estimate: Estimate, expectations: Expectations) -> Estimate:
    """The M step: counts divided by their parent's sum; a parent without counts stays as it is."""
    counts, old = expectations.counts, estimate.rules
    totals = totals_by_parent(grammar, counts)

    def shares(counts: FloatArray, totals: FloatArray, old: FloatArray) -> FloatArray:
        return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), old)

    rules = RuleValues(
        shares(counts.binary, totals[grammar.parent], old.binary),
        shares(counts.lexical, totals[grammar.lexical_symbol], old.lexical),
        shares(counts.start, counts.start.sum(), old.start),
    )
    return Estimate(estimate.iteration + 1, rules, counts)


def totals_by_parent(grammar: PCFG, values: RuleValues) -> FloatArray:
    """The sum of the values of each symbol's rules [symbols]."""
    totals: FloatArray = np.bincount(grammar.parent, values.binary, len(grammar.symbols)).astype(np.float64)
    return totals + np.bincount(grammar.lexical_symbol, values.lexical, len(grammar.symbols))


def without_improbable(estimate: Estimate) -> tuple[Estimate, int]:
    """The estimate with zero for probabilities below SMALLEST_PROBABILITY, and how many these are."""
    if estimate.counts is None:
        return estimate, 0
    small = [(values > 0) & (values < SMALLEST_PROBABILITY) for values in estimate.rules]
    kept = (np.where(drop, 0.0, values) for drop, values in zip(small, estimate.rules, strict=True))
    return replace(estimate, rules=RuleValues(*kept)), sum(map(np.count_nonzero, small))


def to_rules(grammar: PCFG, estimate: Estimate) -> RuleSet:
    """An estimate as rules for a grammar file, the expected counts beside the probabilities."""
    names = grammar.symbols
    counts = estimate.counts or (None, None, None)
    binary, lexical, start = map(_weights, estimate.rules, counts)
    found: dict[Rule, Weight] = {}
    triples = zip(grammar.parent.tolist(), grammar.left.tolist(), grammar.right.tolist(), strict=True)
    for (parent, left, right), weight in zip(triples, binary, strict=True):
        if weight.probability > 0:
            found[Rule(names[parent], (names[left], names[right]))] = weight
    pairs = zip(grammar.lexical_symbol.tolist(), grammar.lexical_terminal.tolist(), strict=True)
    for (symbol, terminal), weight in zip(pairs, lexical, strict=True):
        # A tag in binary rules is its own symbol; files do not list its lexical rule.
        if weight.probability > 0 and not is_terminal(names[symbol]):
            found[Rule(names[symbol], (quote(grammar.terminals[terminal]),))] = weight
    starts = {name: weight for name, weight in zip(names, start, strict=True) if weight.probability > 0}
    return RuleSet(grammar.terminal_kind, starts, found)


def _weights(values: FloatArray, counts: FloatArray | None) -> list[Weight]:
    if counts is None:
        return [Weight(probability) for probability in values.tolist()]
    return list(map(Weight, values.tolist(), counts.tolist()))
