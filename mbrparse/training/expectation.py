"""The E step of inside-outside (Pereira & Schabes 1992): expected counts of rules in bracketed sentences.

Sums over the spans that the brackets allow, with 1 / P(sentence, bracketing). Sentences whose values leave
the range of numbers are counted by their forests, which have these in logarithms then. Units: log likelihoods
are natural, cross-entropies in bits per terminal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.charts.packed_forest import SpanFilter
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.jobs import Inline, share
from mbrparse.training import iterations
from mbrparse.training.expectation_kernels import DEAD, BracketedCorpus, RuleTables, expect_sentences

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


class Expectations(NamedTuple):
    """Expected counts, and each sentence's natural log probability with its brackets.

    A sentence that the grammar cannot derive has log probability -inf, and is in no count.
    """

    counts: RuleValues
    log_probs: FloatArray


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
        tables = share(self._executor, (rules, rule_tables(self.grammar, rules)))
        blocks = range(0, self._corpus.sentences, BLOCK)
        futures = [self._executor.submit(_sums, self._shared, tables, first) for first in blocks]
        total, log_probs = RuleValues(*map(np.zeros_like, rules)), [np.zeros(0)]
        for future in futures:
            counts, more = future.result()
            for sums, values in zip(total, counts, strict=True):
                np.add(sums, values, out=sums)
            log_probs.append(more)
        return Expectations(total, np.concatenate(log_probs))

    def figures(self, log_probs: FloatArray) -> iterations.Row:
        """How well a grammar fits the sentences that it derives; without any it has no cross-entropy."""
        derived = np.isfinite(log_probs)
        log_likelihood = math.fsum(log_probs[derived].tolist())
        terminals = int(self._corpus.lengths[derived].sum())
        return {
            "log_likelihood": log_likelihood,
            "cross_entropy": max(0.0, -log_likelihood / math.log(2) / terminals) if terminals else None,
            "left_out": int(np.count_nonzero(~derived)),
        }


def is_dense(grammar: PCFG) -> bool:
    """Whether to multiply matrices over all pairs of symbols: few symbols, and many of all possible rules."""
    symbols = len(grammar.symbols)
    return symbols <= 64 and 8 * len(grammar.parent) >= symbols**3


def rule_tables(grammar: PCFG, rules: RuleValues) -> RuleTables:
    """Lay the probabilities of a grammar's rules out for the kernels, but for those below ``SMALLEST``."""
    is_lacking = any(((values > 0) & (values < SMALLEST)).any() for values in rules)
    rules = RuleValues(*(np.where(values < SMALLEST, 0.0, values) for values in rules))
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
    positive = np.concatenate([values[values > 0] for values in rules])
    least = np.frexp(positive.min(initial=1.0))[1]
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
        DEAD if is_lacking else int(least),
    )


def _starts(values: IntArray, count: int) -> IntArray:
    """Where each of the numbers 0 to ``count`` begins in ascending values."""
    return np.searchsorted(values, np.arange(count + 1)).astype(np.int32)


def _sums(
    shared: tuple[PCFG, BracketedCorpus], values: tuple[RuleValues, RuleTables], first: int
) -> Expectations:
    """The sums of the block of sentences from ``first`` on."""
    (grammar, corpus), (rules, tables) = shared, values
    is_list = not len(tables.by_pair)
    binary = np.zeros((len(grammar.parent), 1)) if is_list else np.zeros_like(tables.by_pair)
    lexical, start = np.zeros_like(tables.lexical_probability), np.zeros_like(tables.start)
    last = min(first + BLOCK, corpus.sentences)
    log_probs = expect_sentences(corpus, tables, first, last, binary, lexical, start)
    if is_list:
        counts = RuleValues(binary[:, 0], lexical, start)
    else:
        pairs = grammar.left * tables.by_pair.shape[1] + grammar.right, grammar.parent
        # Where a rule has probability zero the sum is meaningless.
        probability = tables.by_pair[pairs]
        counts = RuleValues(np.where(probability > 0, binary[pairs], 0.0) * probability, lexical, start)
    far = np.flatnonzero(np.isnan(log_probs))
    if len(far):
        log_probs[far] = _add_by_forests(grammar, corpus, rules, first + far, counts)
    return Expectations(counts, log_probs)


def _add_by_forests(
    grammar: PCFG, corpus: BracketedCorpus, rules: RuleValues, sentences: Iterable[int], counts: RuleValues
) -> list[float]:
    """Add the expected counts of sentences by their forests; returns their log probabilities."""
    binary, lexical = np.flatnonzero(rules.binary > 0), np.flatnonzero(rules.lexical > 0)
    with np.errstate(divide="ignore"):
        roots = np.log(rules.start)
    kept = replace(
        grammar,
        parent=grammar.parent[binary],
        left=grammar.left[binary],
        right=grammar.right[binary],
        log_prob=np.log(rules.binary[binary]),
        lexical_symbol=grammar.lexical_symbol[lexical],
        lexical_terminal=grammar.lexical_terminal[lexical],
        lexical_log_prob=np.log(rules.lexical[lexical]),
        root_log_prob=roots,
        rules=None,
    )
    charts, log_probs = ForestCharts(kept, "symbol"), []
    binary = binary[np.lexsort((kept.parent, kept.left, kept.right))]  # in the order of forests
    known = kept.lexical_terminal.astype(np.int64) * len(grammar.symbols) + kept.lexical_symbol
    for sentence in sentences:
        words = corpus.words[slice(*corpus.word_first[sentence : sentence + 2])]
        brackets = corpus.bracket[slice(*corpus.chart_first[sentence : sentence + 2])].tolist()
        rows = dict.fromkeys(map(tuple, brackets), 0)
        charts.spans = SpanFilter.of_brackets(len(words), np.ones((1, len(grammar.symbols)), np.bool_), rows)
        chart = charts.chart(words)
        log_probs.append(chart.log_prob)
        if not chart.has_parse:
            continue
        forest = chart.forest()
        made = forest.rule_prob[forest.prob_place] * forest.group_sum[forest.production_group]
        made *= forest.outside[forest.production_parent]
        np.add.at(counts.binary, binary[forest.production_rule], made)
        nodes = np.flatnonzero(forest.lexical > 0)
        rule = words[forest.node_start[nodes]].astype(np.int64) * len(grammar.symbols)
        rule = lexical[np.searchsorted(known, rule + forest.node_symbol[nodes])]
        np.add.at(counts.lexical, rule, forest.lexical[nodes] * forest.outside[nodes])
        top = forest.node_symbol[slice(*forest.node_first[-2:])]
        np.add.at(counts.start, top, forest.root_share)
    return log_probs
