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

from mbrparse.grammar.charts.base.clock import NO_LIMIT
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.training.expectation_kernels import BracketedCorpus, RuleTables, expect_sentences
from mbrparse.run.jobs import Jobs, open_pool
from mbrparse.run.pool import Pool, TaskFunction, WorkerDied, WorkersError

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


def expect(grammar: PCFG, rules: RuleValues, corpus: BracketedCorpus, jobs: Jobs = 1) -> Expectations:
    """The expected counts of a corpus under a grammar with the probabilities ``rules``."""
    with open_pool(jobs) as pool:
        return EStep(grammar, corpus, pool).expect(rules)


class EStep:
    """The E step for one corpus, in a pool whose workers get corpus and grammar once."""

    def __init__(self, grammar: PCFG, corpus: BracketedCorpus, pool: Pool) -> None:
        self._corpus = corpus
        self._pool = pool
        self._work = TaskFunction(partial(_Blocks, grammar, corpus))

    def expect(self, rules: RuleValues) -> Expectations:
        """The expected counts with these probabilities; raises WorkersError if workers die."""
        kept = RuleValues(*(np.where(values < SMALLEST, 0.0, values) for values in rules))
        groups = self._pool.group(_costs(self._corpus))
        return _summed(self._in_order(groups, self._pool.share(kept)))

    def _in_order(self, groups: list[range], kept: RuleValues) -> Iterator[Expectations]:
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
    """Sums over blocks of sentences, in one worker; the tables of rules are made once an iteration."""

    def __init__(self, grammar: PCFG, corpus: BracketedCorpus) -> None:
        self._grammar = grammar
        self._corpus = corpus
        self._tables: tuple[RuleValues, RuleTables] | None = None
        self._lock = threading.Lock()

    def __call__(self, blocks: range, kept: RuleValues) -> list[Expectations]:
        with self._lock:
            if self._tables is None or self._tables[0] is not kept:
                self._tables = kept, rule_tables(self._grammar, kept)
            tables = self._tables[1]
        return [self._block(block * BLOCK, kept, tables) for block in blocks]

    def _block(self, first: int, kept: RuleValues, tables: RuleTables) -> Expectations:
        last = min(first + BLOCK, self._corpus.sentences)
        listed = not len(tables.by_pair)
        binary = np.zeros((len(kept.binary), 1)) if listed else np.zeros_like(tables.by_pair)
        lexical, start = np.zeros_like(kept.lexical), np.zeros_like(kept.start)
        log_probs = expect_sentences(self._corpus, tables, first, last, binary, lexical, start)
        NO_LIMIT.check()  # sums are of no use where it was interrupted
        counts = binary[:, 0] if listed else _counts_of_pairs(self._grammar, kept.binary, binary)
        return Expectations(RuleValues(counts, lexical, start), log_probs)


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
        NO_LIMIT.stop,
    )


def _starts(values: IntArray, count: int) -> IntArray:
    """Where each of the numbers 0 to ``count`` begins in ascending values."""
    return np.searchsorted(values, np.arange(count + 1)).astype(np.int32)


def _counts_of_pairs(grammar: PCFG, binary: FloatArray, by_pair: FloatArray) -> FloatArray:
    """The counts of the rules, in the grammar's order, from the sums of pairs and parents."""
    sums = by_pair[grammar.left * by_pair.shape[1] + grammar.right, grammar.parent]
    # Where a rule has probability zero the sum is meaningless.
    return np.where(binary > 0, sums, 0.0) * binary


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
