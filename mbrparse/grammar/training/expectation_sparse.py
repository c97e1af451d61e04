"""The E step for grammars with few of all possible rules, a treebank's say: rules by their left child.

The same sums as in ``expectation_dense``, over the rules whose children are there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.kernel import array_kernel, kernel
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.training.bracketed_corpus import BracketedCorpus, Splits, splits
from mbrparse.grammar.training.expectation_dense import BlockCounts
from mbrparse.grammar.training.expectation_scaling import DEAD, power, rescale


class SparseRules(NamedTuple):
    """Probabilities of rules, sorted by left child; ``place`` is a rule's position in the grammar.

    first                    [symbols + 1] where the rules of each left child begin
    parent, right, place     int32 [binary rules]
    probability              [binary rules]
    lexical_first            [terminals + 1] where the lexical rules of each terminal begin
    lexical_symbol           int32 [lexical rules], and lexical_probability
    start                    [symbols]
    """

    first: IntArray
    parent: IntArray
    right: IntArray
    place: IntArray
    probability: FloatArray
    lexical_first: IntArray
    lexical_symbol: IntArray
    lexical_probability: FloatArray
    start: FloatArray


def sparse_rules(grammar: PCFG, binary: FloatArray, lexical: FloatArray, start: FloatArray) -> SparseRules:
    """Lay the probabilities of a grammar's rules out."""
    order = np.lexsort((grammar.parent, grammar.right, grammar.left)).astype(np.int32)
    order = order[binary[order] > 0]
    symbols, terminals = np.arange(len(grammar.symbols) + 1), np.arange(len(grammar.terminals) + 1)
    return SparseRules(
        np.searchsorted(grammar.left[order], symbols).astype(np.int32),
        grammar.parent[order],
        grammar.right[order],
        order,
        binary[order],
        np.searchsorted(grammar.lexical_terminal, terminals).astype(np.int32),
        np.array(grammar.lexical_symbol),
        lexical,
        start,
    )


@array_kernel
def expect_sparse(
    corpus: BracketedCorpus, rules: SparseRules, first: int, last: int, size: int
) -> BlockCounts:
    """Sum up sentences from ``first`` up to ``last``, for a grammar of ``size`` binary rules.

    Returns, summed: the counts of binary rules, of lexical rules and of start symbols, in the grammar's
    order; and each sentence's log probability, -inf where it has none (it adds nothing to the counts).
    """
    binary = np.zeros(size)
    lexical = np.zeros_like(rules.lexical_probability)
    start = np.zeros_like(rules.start)
    log_probs = np.full(last - first, -np.inf)
    for sentence in range(first, last):
        words = corpus.words[corpus.word_first[sentence] : corpus.word_first[sentence + 1]]
        ways = splits(corpus, sentence)
        inside, exponents = _inside(words, ways, rules)
        root = len(inside) - 1
        mass = 0.0
        for a in range(len(start)):
            mass += rules.start[a] * inside[root, a]
        if mass == 0.0:
            continue
        log_probs[sentence - first] = np.log(mass) + exponents[root] * np.log(2.0)
        outside = np.zeros_like(inside)
        for a in range(len(start)):
            if inside[root, a] > 0.0:
                outside[root, a] = rules.start[a] / mass
                start[a] += inside[root, a] * outside[root, a]
        _outside(inside, exponents, outside, ways, rules, binary)
        for position, word in enumerate(words):
            for rule in range(rules.lexical_first[word], rules.lexical_first[word + 1]):
                a = rules.lexical_symbol[rule]
                lexical[rule] += inside[position, a] * outside[position, a]
    return binary, lexical, start, log_probs


@array_kernel
def _inside(words: IntArray, ways: Splits, rules: SparseRules) -> tuple[FloatArray, IntArray]:
    first, left, right = ways
    symbols = len(rules.start)
    cells = max(len(first) - 1, len(words))
    inside = np.zeros((cells, symbols))
    exponents = np.full(cells, DEAD, np.int32)
    for position, word in enumerate(words):
        if word >= 0:
            for rule in range(rules.lexical_first[word], rules.lexical_first[word + 1]):
                inside[position, rules.lexical_symbol[rule]] = rules.lexical_probability[rule]
            exponents[position] = rescale(inside[position], 0)
    for cell in range(len(words), cells):
        top = 2 * DEAD
        for x in range(first[cell], first[cell + 1]):
            if exponents[left[x]] != DEAD and exponents[right[x]] != DEAD:
                top = max(top, exponents[left[x]] + exponents[right[x]])
        if top == 2 * DEAD:
            continue
        values = inside[cell]
        for x in range(first[cell], first[cell + 1]):
            if exponents[left[x]] == DEAD or exponents[right[x]] == DEAD:
                continue
            factor = power(exponents[left[x]] + exponents[right[x]] - top)
            other = inside[right[x]]
            for b in range(symbols):
                value = inside[left[x], b] * factor
                if value > 0.0:
                    for rule in range(rules.first[b], rules.first[b + 1]):
                        values[rules.parent[rule]] += (
                            value * other[rules.right[rule]] * rules.probability[rule]
                        )
        exponents[cell] = rescale(values, top)
    return inside, exponents


@kernel
def _outside(
    inside: FloatArray,
    exponents: IntArray,
    outside: FloatArray,
    ways: Splits,
    rules: SparseRules,
    counts: FloatArray,
) -> None:
    """Fill ``outside`` from its root's values, and add the rules' counts to ``counts``."""
    first, left, right = ways
    for cell in range(len(inside) - 1, -1, -1):
        if exponents[cell] == DEAD:
            continue
        for x in range(first[cell], first[cell + 1]):
            one, other = left[x], right[x]
            if exponents[one] == DEAD or exponents[other] == DEAD:
                continue
            factor = power(exponents[one] + exponents[other] - exponents[cell])
            for b in range(len(rules.start)):
                value = inside[one, b]
                if value == 0.0:
                    continue
                to_left = 0.0
                for rule in range(rules.first[b], rules.first[b + 1]):
                    above = outside[cell, rules.parent[rule]]
                    c = rules.right[rule]
                    beside = inside[other, c]
                    if above > 0.0 and beside > 0.0:
                        weight = above * rules.probability[rule] * factor
                        to_left += weight * beside
                        outside[other, c] += weight * value
                        counts[rules.place[rule]] += weight * value * beside
                outside[one, b] += to_left
