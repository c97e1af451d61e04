"""The E step: expected counts of a grammar's rules in bracketed sentences.

Pereira & Schabes 1992: inside and outside probabilities of the spans that the brackets allow, summed
over the corpus with 1 / P(sentence, bracketing).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.clock import NO_LIMIT
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.run.jobs import InProcess
from mbrparse.run.pool import Pool, TaskFunction, WorkerDied, WorkersError
from mbrparse.training.em.expectation_kernels import BracketedCorpus, RuleTables, expect_sentences

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


def is_dense(grammar: PCFG) -> bool:
    """Whether to multiply matrices over all pairs of symbols: few symbols, and many of all possible rules."""
    symbols = len(grammar.symbols)
    return symbols <= 64 and 8 * len(grammar.parent) >= symbols**3


def expect(grammar: PCFG, rules: RuleValues, corpus: BracketedCorpus) -> Expectations:
    """The expected counts of a corpus under a grammar with the probabilities ``rules``."""
    return EStep(grammar, corpus, InProcess()).expect(rules)


class EStep:
    """The E step for one corpus, in a pool whose workers get corpus and grammar once."""

    def __init__(self, grammar: PCFG, corpus: BracketedCorpus, pool: Pool) -> None:
        self._grammar = grammar
        self._corpus = corpus
        self._pool = pool
        self._work = TaskFunction(partial(partial, _sums, grammar, corpus))

    def expect(self, rules: RuleValues) -> Expectations:
        """The expected counts with these probabilities; raises WorkersError if workers die."""
        kept = RuleValues(*(np.where(values < SMALLEST, 0.0, values) for values in rules))
        groups = self._pool.group(_costs(self._corpus))
        return _summed(self._in_order(groups, self._pool.share(rule_tables(self._grammar, kept))))

    def _in_order(self, groups: list[range], tables: RuleTables) -> Iterator[Expectations]:
        """Yield the sums of each block, in the order of blocks."""
        waiting = deque((blocks, self._pool.submit(self._work, blocks, tables)) for blocks in groups)
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
                    (one, self._pool.submit(self._work, one, tables))
                    for one in (range(block, block + 1) for block in reversed(blocks))
                )


def _sums(grammar: PCFG, corpus: BracketedCorpus, blocks: range, tables: RuleTables) -> list[Expectations]:
    """The sums of each of these blocks of sentences."""
    found = []
    for first in (block * BLOCK for block in blocks):
        listed = not len(tables.by_pair)
        binary = np.zeros((len(grammar.parent), 1)) if listed else np.zeros_like(tables.by_pair)
        lexical, start = np.zeros_like(tables.lexical_probability), np.zeros_like(tables.start)
        last = min(first + BLOCK, corpus.sentences)
        log_probs = expect_sentences(corpus, tables, first, last, binary, lexical, start, NO_LIMIT.stop)
        NO_LIMIT.check()  # sums are of no use where it was interrupted
        if listed:
            counts = binary[:, 0]
        else:
            pairs = grammar.left * tables.by_pair.shape[1] + grammar.right, grammar.parent
            # Where a rule has probability zero the sum is meaningless.
            probability = tables.by_pair[pairs]
            counts = np.where(probability > 0, binary[pairs], 0.0) * probability
        found.append(Expectations(RuleValues(counts, lexical, start), log_probs))
    return found


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


def _costs(corpus: BracketedCorpus) -> list[float]:
    """An estimate of each block's work: the splits of its charts."""
    children = np.diff(corpus.child_first).astype(np.float64)
    before = np.concatenate([[0.0], np.cumsum((children + 1) * children * (children - 1) / 6)])
    firsts = np.arange(0, corpus.sentences, BLOCK)
    splits = np.diff(before[corpus.chart_first[np.append(firsts, corpus.sentences)]])
    costs: list[float] = (splits + 1.0).tolist()
    return costs


def _summed(blocks: Iterator[Expectations]) -> Expectations:
    """The blocks' counts, added up in order, and all log probabilities."""
    total, log_probs = next(blocks)
    parts = [log_probs]
    for counts, more in blocks:
        for sums, values in zip(total, counts, strict=True):
            np.add(sums, values, out=sums)
        parts.append(more)
    return Expectations(total, np.concatenate(parts))
