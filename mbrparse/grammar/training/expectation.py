"""The E step: expected counts of a grammar's rules in bracketed sentences.

Pereira & Schabes 1992: inside and outside probabilities of the spans that the brackets allow, summed
over the corpus with 1 / P(sentence, bracketing).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mbrparse.aside import all_aside, aside
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.training.bracketed_corpus import BracketedCorpus
from mbrparse.grammar.training.expectation_dense import BlockCounts, dense_rules, expect_dense, rule_counts
from mbrparse.grammar.training.expectation_sparse import expect_sparse, sparse_rules

#: Sentences that are summed together. Blocks are added up in order, so that sums are the same, bit by
#: bit, whatever the number of jobs.
BLOCK = 32
#: Probabilities below this are taken as zero: counts divided by them would leave the floating point.
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


def is_dense(grammar: PCFG) -> bool:
    """Whether matrix products over all pairs of symbols pay: few symbols, and a good part of all rules."""
    symbols = len(grammar.symbols)
    return symbols <= 64 and 8 * len(grammar.parent) >= symbols**3


def expect(grammar: PCFG, rules: RuleValues, corpus: BracketedCorpus, jobs: int = 1) -> Expectations:
    """The expected counts of a corpus under a grammar with the probabilities ``rules``."""
    kept = RuleValues(*(np.where(values < SMALLEST, 0.0, values) for values in rules))
    blocks = [(first, min(first + BLOCK, corpus.sentences)) for first in range(0, corpus.sentences, BLOCK)]
    dense = is_dense(grammar)
    if dense:
        table = dense_rules(grammar, *kept)

        def work(block: tuple[int, int]) -> BlockCounts:
            return expect_dense(corpus, table, *block)
    else:
        lists = sparse_rules(grammar, *kept)

        def work(block: tuple[int, int]) -> BlockCounts:
            return expect_sparse(corpus, lists, *block, len(kept.binary))

    # Threads are enough: the kernels let go of the interpreter's lock.
    summed = aside(_summed, map(work, blocks)) if jobs == 1 else _summed(all_aside(work, blocks, jobs))
    binary, lexical, start, log_probs = summed
    if dense:
        binary = rule_counts(grammar, kept.binary, binary)
        lexical = lexical[grammar.lexical_terminal, grammar.lexical_symbol]
    return Expectations(RuleValues(binary, lexical, start), log_probs)


def _summed(blocks: Iterator[BlockCounts]) -> BlockCounts:
    binary, lexical, start, log_probs = next(blocks)
    parts = [log_probs]
    for more_binary, more_lexical, more_start, more_log_probs in blocks:
        binary += more_binary
        lexical += more_lexical
        start += more_start
        parts.append(more_log_probs)
    return binary, lexical, start, np.concatenate(parts)
