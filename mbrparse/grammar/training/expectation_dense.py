"""The E step for small grammars with (nearly) all binary rules: matrix products.

Inside (Pereira & Schabes 1992, eq. 5): the products of the children's values are summed over splits
into pairs[B, C] first, and the rules are applied once per cell, not once per split. Outside and counts
(eqs. 6-8) are two products of the same form. Every inner loop runs over neighbouring numbers and sums
into different places, so that the compiler vectorizes it without reordering a sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.kernel import array_kernel, kernel
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.training.bracketed_corpus import BracketedCorpus, Splits, splits
from mbrparse.grammar.training.expectation_scaling import DEAD, power, rescale

BlockCounts = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


class DenseRules(NamedTuple):
    """Probabilities; ``width`` is the number of symbols, rounded up to whole vectors.

    by_parent     [symbols, symbols * width]: the pair (B, C) stands at B * width + C
    by_pair       [symbols * width, width]: the same, turned
    lexical       [terminals, width]
    start         [symbols]
    """

    by_parent: FloatArray
    by_pair: FloatArray
    lexical: FloatArray
    start: FloatArray


def dense_rules(grammar: PCFG, binary: FloatArray, lexical: FloatArray, start: FloatArray) -> DenseRules:
    """Lay the probabilities of a grammar's rules out."""
    symbols = len(grammar.symbols)
    width = -(-symbols // 8) * 8
    by_parent = np.zeros((symbols, symbols * width))
    by_parent[grammar.parent, grammar.left * width + grammar.right] = binary
    by_pair = np.zeros((symbols * width, width))
    by_pair[:, :symbols] = by_parent.T
    of_terminal = np.zeros((len(grammar.terminals), width))
    of_terminal[grammar.lexical_terminal, grammar.lexical_symbol] = lexical
    return DenseRules(by_parent, by_pair, of_terminal, start)


def rule_counts(grammar: PCFG, binary: FloatArray, by_pair: FloatArray) -> FloatArray:
    """The counts of the rules, in the grammar's order, from the sums of ``expect_dense``."""
    sums = by_pair[grammar.left * by_pair.shape[1] + grammar.right, grammar.parent]
    # Where there is no rule the sum is of things that cannot be, and may be anything.
    return np.where(binary > 0, sums, 0.0) * binary


@array_kernel
def expect_dense(corpus: BracketedCorpus, rules: DenseRules, first: int, last: int) -> BlockCounts:
    """Sum up sentences from ``first`` up to ``last``.

    Returns, summed: the counts of binary rules divided by their probabilities [symbols * width, width], the
    counts of lexical rules [terminals, width], of start symbols [symbols]; and each sentence's log
    probability, -inf where it has none (it adds nothing to the counts).
    """
    by_pair = np.zeros_like(rules.by_pair)
    lexical = np.zeros_like(rules.lexical)
    start = np.zeros_like(rules.start)
    log_probs = np.full(last - first, -np.inf)
    symbols = len(rules.start)
    for sentence in range(first, last):
        words = corpus.words[corpus.word_first[sentence] : corpus.word_first[sentence + 1]]
        ways = splits(corpus, sentence)
        inside, exponents = _inside(words, ways, rules)
        root = len(inside) - 1
        mass = 0.0
        for a in range(symbols):
            mass += rules.start[a] * inside[root, a]
        if mass == 0.0:
            continue
        log_probs[sentence - first] = np.log(mass) + exponents[root] * np.log(2.0)
        outside = np.zeros_like(inside)
        for a in range(symbols):
            if inside[root, a] > 0.0:
                outside[root, a] = rules.start[a] / mass
                start[a] += inside[root, a] * outside[root, a]
        _outside(inside, exponents, outside, ways, rules, by_pair)
        for position in range(len(words)):
            for a in range(symbols):
                lexical[words[position], a] += inside[position, a] * outside[position, a]
    return by_pair, lexical, start, log_probs


@array_kernel
def _inside(words: IntArray, ways: Splits, rules: DenseRules) -> tuple[FloatArray, IntArray]:
    first, left, right = ways
    by_pair = rules.by_pair
    symbols, width = len(rules.start), by_pair.shape[1]
    cells = max(len(first) - 1, len(words))
    inside = np.zeros((cells, width))
    exponents = np.full(cells, DEAD, np.int32)
    pairs = np.zeros((symbols, width))
    flat_pairs = pairs.ravel()
    for position in range(len(words)):
        if words[position] >= 0:
            inside[position] = rules.lexical[words[position]]
            exponents[position] = rescale(inside[position], 0)
    for cell in range(len(words), cells):
        top = 2 * DEAD
        for x in range(first[cell], first[cell + 1]):
            if exponents[left[x]] != DEAD and exponents[right[x]] != DEAD:
                top = max(top, exponents[left[x]] + exponents[right[x]])
        if top == 2 * DEAD:
            continue
        flat_pairs[:] = 0.0
        for x in range(first[cell], first[cell + 1]):
            if exponents[left[x]] != DEAD and exponents[right[x]] != DEAD:
                factor = power(exponents[left[x]] + exponents[right[x]] - top)
                _add_pairs(pairs, inside[left[x]], inside[right[x]], factor)
        values = inside[cell]
        for pair in range(len(flat_pairs)):
            value = flat_pairs[pair]
            if value > 0.0:
                for a in range(width):
                    values[a] += value * by_pair[pair, a]
        exponents[cell] = rescale(values, top)
    return inside, exponents


@kernel
def _add_pairs(pairs: FloatArray, left: FloatArray, right: FloatArray, factor: float) -> None:
    for b in range(pairs.shape[0]):
        value = left[b] * factor
        if value > 0.0:
            for c in range(pairs.shape[1]):
                pairs[b, c] += value * right[c]


@array_kernel
def _outside(
    inside: FloatArray,
    exponents: IntArray,
    outside: FloatArray,
    ways: Splits,
    rules: DenseRules,
    by_pair: FloatArray,
) -> None:
    """Fill ``outside`` from its root's values, and add the counts to ``by_pair``."""
    first, left, right = ways
    by_parent = rules.by_parent
    symbols, width = len(rules.start), by_pair.shape[1]
    pairs = np.zeros((symbols, width))
    weights = np.zeros((symbols, width))
    flat_pairs, flat_weights = pairs.ravel(), weights.ravel()
    to_left = np.zeros(width)
    to_right = np.zeros(width)
    for cell in range(len(inside) - 1, -1, -1):
        if exponents[cell] == DEAD or first[cell] == first[cell + 1]:
            continue
        above = outside[cell]
        flat_weights[:] = 0.0
        reached = False
        for a in range(symbols):
            if above[a] > 0.0:
                reached = True
                value = above[a]
                for pair in range(len(flat_weights)):
                    flat_weights[pair] += value * by_parent[a, pair]
        if not reached:
            continue
        flat_pairs[:] = 0.0
        for x in range(first[cell], first[cell + 1]):
            one, other = left[x], right[x]
            if exponents[one] == DEAD or exponents[other] == DEAD:
                continue
            factor = power(exponents[one] + exponents[other] - exponents[cell])
            _add_pairs(pairs, inside[one], inside[other], factor)
            to_right[:] = 0.0
            for b in range(symbols):
                total = 0.0
                value = inside[one, b]
                for c in range(width):
                    weight = weights[b, c]
                    total += weight * inside[other, c]
                    to_right[c] += weight * value
                to_left[b] = total
            # What has no inside is no part of a tree, and its outside may be beyond all bounds.
            for b in range(symbols):
                if inside[one, b] > 0.0:
                    outside[one, b] += to_left[b] * factor
                if inside[other, b] > 0.0:
                    outside[other, b] += to_right[b] * factor
        for pair in range(len(flat_pairs)):
            value = flat_pairs[pair]
            if value > 0.0:
                for a in range(width):
                    by_pair[pair, a] += value * above[a]
