"""The E step: expected counts of a grammar's rules in bracketed sentences.

Pereira & Schabes 1992: inside and outside probabilities of the spans that the brackets allow, summed
over the corpus with 1 / P(sentence, bracketing).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.training.bracketed_corpus import BracketedCorpus
from mbrparse.grammar.training.expectation_dense import (
    BlockCounts,
    DenseRules,
    dense_rules,
    expect_dense,
    rule_counts,
)
from mbrparse.grammar.training.expectation_sparse import SparseRules, expect_sparse, sparse_rules
from mbrparse.run.jobs import Jobs, open_pool
from mbrparse.run.pool import Pool, TaskFunction, WorkerDied, WorkersError

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


def expect(grammar: PCFG, rules: RuleValues, corpus: BracketedCorpus, jobs: Jobs = 1) -> Expectations:
    """The expected counts of a corpus under a grammar with the probabilities ``rules``."""
    with open_pool(jobs) as pool:
        return EStep(grammar, corpus, pool).expect(rules)


class EStep:
    """The E step for one corpus, in a pool whose workers get corpus and grammar once."""

    def __init__(self, grammar: PCFG, corpus: BracketedCorpus, pool: Pool) -> None:
        self._grammar = grammar
        self._corpus = corpus
        self._pool = pool
        self._work = TaskFunction(partial(_Blocks, grammar, corpus))

    def expect(self, rules: RuleValues) -> Expectations:
        """The expected counts with these probabilities; raises WorkersError where workers die of them."""
        grammar = self._grammar
        kept = RuleValues(*(np.where(values < SMALLEST, 0.0, values) for values in rules))
        groups = self._pool.group(_costs(self._corpus))
        binary, lexical, start, log_probs = _summed(self._in_order(groups, self._pool.share(kept)))
        if is_dense(grammar):
            binary = rule_counts(grammar, kept.binary, binary)
            lexical = lexical[grammar.lexical_terminal, grammar.lexical_symbol]
        return Expectations(RuleValues(binary, lexical, start), log_probs)

    def _in_order(self, groups: list[range], kept: RuleValues) -> Iterator[BlockCounts]:
        """Yield the sums of each block, in the order of blocks."""
        waiting = deque((blocks, self._pool.submit(self._work, blocks, kept)) for blocks in groups)
        while waiting:
            blocks, future = waiting.popleft()
            try:
                yield from future.result()
            except WorkerDied as death:
                if len(blocks) == 1:
                    first = blocks[0] * BLOCK
                    raise WorkersError(
                        f"workers died ({death}) of sentences {first + 1} to {first + BLOCK} of the training "
                        "text",
                        remedy="have they memory enough? --max-length leaves long sentences out",
                    ) from None
                waiting.extendleft(
                    (one, self._pool.submit(self._work, one, kept))
                    for one in (range(block, block + 1) for block in reversed(blocks))
                )


class _Blocks:
    """Sums over blocks of sentences, in one worker; the rules are laid out once for all blocks."""

    def __init__(self, grammar: PCFG, corpus: BracketedCorpus) -> None:
        self._grammar = grammar
        self._corpus = corpus
        self._laid_out: tuple[RuleValues, DenseRules | SparseRules] | None = None
        self._lock = threading.Lock()

    def __call__(self, blocks: range, kept: RuleValues) -> list[BlockCounts]:
        with self._lock:
            if self._laid_out is None or self._laid_out[0] is not kept:
                lay_out = dense_rules if is_dense(self._grammar) else sparse_rules
                self._laid_out = kept, lay_out(self._grammar, *kept)
            table = self._laid_out[1]
        found = []
        for block in blocks:
            first, last = block * BLOCK, min((block + 1) * BLOCK, self._corpus.sentences)
            if isinstance(table, DenseRules):
                found.append(expect_dense(self._corpus, table, first, last))
            else:
                found.append(expect_sparse(self._corpus, table, first, last, len(kept.binary)))
        return found


def _costs(corpus: BracketedCorpus) -> list[float]:
    """About how much work each block is: the splits of its charts."""
    children = np.diff(corpus.child_first).astype(np.float64)
    before = np.concatenate([[0.0], np.cumsum((children + 1) * children * (children - 1) / 6)])
    firsts = np.arange(0, corpus.sentences, BLOCK)
    splits = np.diff(before[corpus.chart_first[np.append(firsts, corpus.sentences)]])
    costs: list[float] = (splits + 1.0).tolist()
    return costs


def _summed(blocks: Iterator[BlockCounts]) -> BlockCounts:
    binary, lexical, start, log_probs = next(blocks)
    parts = [log_probs]
    for more_binary, more_lexical, more_start, more_log_probs in blocks:
        binary += more_binary
        lexical += more_lexical
        start += more_start
        parts.append(more_log_probs)
    return binary, lexical, start, np.concatenate(parts)
