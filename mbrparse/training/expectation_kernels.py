"""Expected counts of rules: inside and outside probabilities within brackets (Pereira & Schabes 1992).

Inside (eq. 5), outside and counts (eqs. 6-8) visit only the spans that the brackets allow. Children are
combined in one of two ways. Where a grammar has few symbols and many of the possible rules, the products of
the children's values are summed over splits into pairs[B, C] first, and the rules are applied once per cell;
outside and counts are two products of the same form. Every inner loop runs over neighbouring numbers and
sums into different places, so that the compiler vectorizes it without reordering a sum. Other grammars, a
treebank's say, are lists of rules by left child, applied at each split.

Cells are scaled by powers of two, which rounds nothing and lets no length underflow. A cell's inside
probabilities are its values times 2**exponent, the largest value between 1/2 and 1. Its outside values are
its outside probabilities times 2**exponent / P(sentence), so that inside value times outside value is a
posterior as it stands, and the outside pass needs no exponents.

Beside each other in a cell, values have the range of numbers. Sentences that need some that are too small for
that are told (``expect_sentences``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import inner_kernel, kernel

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]


Splits = tuple[IntArray, IntArray, IntArray]

#: The exponent of a cell that nothing derives.
DEAD = -(2**30)
#: Values below this share of their cell's largest are dropped: a posterior never divides by less.
TINY = 2.0**-1000
# Binary logarithms. Values that lie further below the largest products of their cell are perhaps not exact,
# what lies _LEAST below is perhaps zero, and what is _NEGLIGIBLE beside a sentence's probability is nothing.
_FAR, _LEAST, _NEGLIGIBLE = 450, 890, 80


class BracketedCorpus(NamedTuple):
    """Sentences with their local charts (``bracketings.local_charts``), all int32.

    words         [terminals] terminal ids, UNKNOWN_TERMINAL (-1) for those that the grammar lacks
    word_first    [sentences + 1] where each sentence's words begin
    chart_first   [sentences + 1] where its charts begin
    child_first   [charts + 1] where the children of each chart begin
    child_cell    [children] the cell of each child, numbered within its sentence
    first_cell    [charts] the first cell of each chart's own
    cells         [sentences] the number of cells
    bracket       [charts, 2] where the span of each chart begins and ends
    """

    words: IntArray
    word_first: IntArray
    chart_first: IntArray
    child_first: IntArray
    child_cell: IntArray
    first_cell: IntArray
    cells: IntArray
    bracket: IntArray

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.cells)

    @property
    def lengths(self) -> IntArray:
        """The number of terminals of each sentence."""
        return np.diff(self.word_first)


class RuleTables(NamedTuple):
    """The probabilities of a grammar's rules, the binary ones in one of two forms.

    by_pair               [symbols * width, width]: the pair (B, C) stands in row B * width + C, its parents
                          in columns; ``width`` is the number of symbols, rounded up to whole vectors.
                          [0, symbols] where rules are listed instead
    by_parent             [symbols, symbols * width]: the same, transposed
    first                 [symbols + 1] where the listed rules of each left child begin
    parent, right, place  int32 [listed rules]; place is the rule's position in the grammar
    probability           [listed rules]
    lexical_first         [terminals + 1] where the lexical rules of each terminal begin
    lexical_symbol        int32 [lexical rules]
    lexical_probability   [lexical rules]
    start                 [symbols]
    least                 the exponent of the least probability, DEAD where less was left out
    """

    by_pair: FloatArray
    by_parent: FloatArray
    first: IntArray
    parent: IntArray
    right: IntArray
    place: IntArray
    probability: FloatArray
    lexical_first: IntArray
    lexical_symbol: IntArray
    lexical_probability: FloatArray
    start: FloatArray
    least: int


@kernel
def expect_sentences(
    corpus: BracketedCorpus,
    rules: RuleTables,
    first: int,
    last: int,
    binary: FloatArray,
    lexical: FloatArray,
    start: FloatArray,
) -> FloatArray:
    """Add the expected counts of the sentences from ``first`` up to ``last``.

    ``binary`` gets the counts of listed rules [binary rules, 1], or those of all pairs and parents divided
    by the rules' probabilities [symbols * width, width]; ``lexical`` [lexical rules] and ``start`` [symbols]
    get counts. Returns each sentence's natural log probability, -inf where it has none, and nan where values
    lack digits for it; neither adds anything.
    """
    log_probs = np.full(last - first, -np.inf)
    for sentence in range(first, last):
        words = corpus.words[corpus.word_first[sentence] : corpus.word_first[sentence + 1]]
        parts = splits(corpus, sentence)
        if words.min() < 0:
            continue
        inside, exponents, least = _inside(words, parts, rules)
        lacking = _lacking(len(words), parts, exponents, least, rules.least)
        root = len(inside) - 1
        mass, derived = 0.0, False
        for a in range(len(start)):
            mass += rules.start[a] * inside[root, a]
            derived |= rules.start[a] > 0.0 and inside[root, a] > 0.0
        if not derived and lacking == 2 * DEAD:
            continue
        if mass < 2.0**-_FAR or exponents[root] + math.frexp(mass)[1] - _NEGLIGIBLE < lacking:
            log_probs[sentence - first] = np.nan
            continue
        log_probs[sentence - first] = np.log(mass) + exponents[root] * np.log(2.0)
        outside = np.zeros_like(inside)
        for a in range(len(start)):
            if inside[root, a] > 0.0:
                outside[root, a] = rules.start[a] / mass
                start[a] += inside[root, a] * outside[root, a]
        _outside(inside, exponents, outside, parts, rules, binary)
        for position, word in enumerate(words):
            for rule in range(rules.lexical_first[word], rules.lexical_first[word + 1]):
                a = rules.lexical_symbol[rule]
                lexical[rule] += inside[position, a] * outside[position, a]
    return log_probs


@kernel
def splits(corpus: BracketedCorpus, sentence: int) -> Splits:
    """The splits of each cell of a sentence into two allowed cells.

    Those of cell c are left[x], right[x] for x from first[c] up to first[c + 1]; parts have smaller
    numbers than their wholes.
    """
    cells = corpus.cells[sentence]
    begin, end = corpus.chart_first[sentence], corpus.chart_first[sentence + 1]
    total = 0
    for chart in range(begin, end):
        k = corpus.child_first[chart + 1] - corpus.child_first[chart]
        total += (k + 1) * k * (k - 1) // 6
    first = np.zeros(cells + 1, np.int32)
    left = np.empty(total, np.int32)
    right = np.empty(total, np.int32)
    filled = 0
    for chart in range(begin, end):
        children = corpus.child_cell[corpus.child_first[chart] : corpus.child_first[chart + 1]]
        k = len(children)
        cell = corpus.first_cell[chart]
        # The first cell of each width; width 1 are the children's own cells.
        of_width = np.zeros(k + 1, np.int32)
        for width in range(2, k + 1):
            of_width[width] = cell
            for start in range(k - width + 1):
                for part in range(1, width):
                    rest = width - part
                    middle = start + part
                    left[filled] = children[start] if part == 1 else of_width[part] + start
                    right[filled] = children[middle] if rest == 1 else of_width[rest] + middle
                    filled += 1
                cell += 1
                first[cell] = filled
    return first, left, right


@kernel
def _inside(words: IntArray, parts: Splits, rules: RuleTables) -> tuple[FloatArray, IntArray, IntArray]:
    """Inside values [cells, columns of by_pair], exponents [cells], and those of the least values."""
    first, left, right = parts
    cells = max(len(first) - 1, len(words))
    inside = np.zeros((cells, rules.by_pair.shape[1]))
    exponents, least = np.full(cells, DEAD, np.int32), np.full(cells, -DEAD, np.int32)
    pairs = np.zeros((len(rules.by_pair) // inside.shape[1], inside.shape[1]))
    flat_pairs = pairs.ravel()
    for position, word in enumerate(words):
        if word >= 0:
            for rule in range(rules.lexical_first[word], rules.lexical_first[word + 1]):
                inside[position, rules.lexical_symbol[rule]] = rules.lexical_probability[rule]
            exponents[position], least[position] = rescale(inside[position], 0)
    for cell in range(len(words), cells):
        top = 2 * DEAD
        for x in range(first[cell], first[cell + 1]):
            if exponents[left[x]] != DEAD and exponents[right[x]] != DEAD:
                top = max(top, exponents[left[x]] + exponents[right[x]])
        if top == 2 * DEAD:
            continue
        values = inside[cell]
        flat_pairs[:] = 0.0
        for x in range(first[cell], first[cell + 1]):
            if exponents[left[x]] == DEAD or exponents[right[x]] == DEAD:
                continue
            factor = math.ldexp(1.0, exponents[left[x]] + exponents[right[x]] - top)
            one, other = inside[left[x]], inside[right[x]]
            for b in range(len(rules.start)):
                value = one[b] * factor
                if value > 0.0 and len(pairs):
                    for c in range(len(values)):
                        pairs[b, c] += value * other[c]
                elif value > 0.0:
                    for rule in range(rules.first[b], rules.first[b + 1]):
                        product = value * other[rules.right[rule]]
                        values[rules.parent[rule]] += product * rules.probability[rule]
        for pair in range(len(flat_pairs)):
            value = flat_pairs[pair]
            if value > 0.0:
                for a in range(len(values)):
                    values[a] += value * rules.by_pair[pair, a]
        exponents[cell], least[cell] = rescale(values, top)
    return inside, exponents, least


@kernel
def _lacking(words: int, parts: Splits, exponents: IntArray, least: IntArray, of_rules: int) -> int:
    """The binary logarithm of more than what values that are not exact add to the sentence's probability.

    2 * DEAD where all are exact. In all trees together the words outside of a cell are less probable than
    4**words times the product of their most probable lexical rules, and than one. ``of_rules`` is the
    exponent of the least probability of a rule.
    """
    first, left, right = parts
    bits = np.zeros(len(exponents), np.int32)
    bits[:words] = 2 + np.maximum(exponents[:words], -_LEAST)
    total, most = bits[:words].sum(), 2 * DEAD
    for cell in range(len(exponents)):
        top, product = exponents[cell], 2 * -DEAD
        if cell >= words:
            top = 2 * DEAD
            bits[cell] = bits[left[first[cell]]] + bits[right[first[cell]]]
        for x in range(first[cell], first[cell + 1]):
            if exponents[left[x]] != DEAD and exponents[right[x]] != DEAD:
                top = max(top, exponents[left[x]] + exponents[right[x]])
                product = min(product, least[left[x]] + least[right[x]])
        beyond = min(0, total - bits[cell])
        if of_rules == DEAD or product + of_rules < top - _LEAST:
            most = max(most, (top if cell >= words else 0) - _LEAST + beyond)
        if least[cell] < top - _FAR:
            most = max(most, top - _FAR + beyond)
    return most


@kernel
def _outside(
    inside: FloatArray,
    exponents: IntArray,
    outside: FloatArray,
    parts: Splits,
    rules: RuleTables,
    counts: FloatArray,
) -> None:
    """Fill ``outside`` from its root's values, and add to the counts of binary rules."""
    first, left, right = parts
    width = inside.shape[1]
    pairs = np.zeros((len(rules.by_pair) // width, width))
    weights = np.zeros_like(pairs)
    flat_pairs, flat_weights = pairs.ravel(), weights.ravel()
    to_right = np.zeros(width)
    for cell in range(len(inside) - 1, -1, -1):
        above = outside[cell]
        if exponents[cell] == DEAD or first[cell] == first[cell + 1] or above.max() == 0.0:
            continue
        flat_pairs[:] = 0.0
        flat_weights[:] = 0.0
        for a in range(len(rules.start)):
            value = above[a]
            if value > 0.0:
                for pair in range(len(flat_weights)):
                    flat_weights[pair] += value * rules.by_parent[a, pair]
        for x in range(first[cell], first[cell + 1]):
            one, other = left[x], right[x]
            if exponents[one] == DEAD or exponents[other] == DEAD:
                continue
            # Kept below overflow.
            factor = math.ldexp(1.0, min(exponents[one] + exponents[other] - exponents[cell], 1000))
            to_right[:] = 0.0
            for b in range(len(rules.start)):
                value = inside[one, b]
                # A symbol without inside probability is in no tree, and its outside value may overflow.
                if value == 0.0:
                    continue
                scaled, to_left = value * factor, 0.0
                if len(pairs):
                    for c in range(width):
                        pairs[b, c] += scaled * inside[other, c]
                        to_left += weights[b, c] * inside[other, c]
                        to_right[c] += weights[b, c] * value
                    outside[one, b] += to_left * factor
                    continue
                for rule in range(rules.first[b], rules.first[b + 1]):
                    c = rules.right[rule]
                    if above[rules.parent[rule]] > 0.0 and inside[other, c] > 0.0:
                        weight = above[rules.parent[rule]] * rules.probability[rule] * factor
                        to_left += weight * inside[other, c]
                        outside[other, c] += weight * value
                        counts[rules.place[rule], 0] += weight * value * inside[other, c]
                outside[one, b] += to_left
            for c in range(width):
                if to_right[c] > 0.0 and inside[other, c] > 0.0:
                    outside[other, c] += to_right[c] * factor
        for pair in range(len(flat_pairs)):
            value = flat_pairs[pair]
            if value > 0.0:
                for a in range(width):
                    counts[pair, a] += value * above[a]


@inner_kernel
def rescale(values: FloatArray, exponent: int) -> tuple[int, int]:
    """Scale a cell whose values count in 2**exponent, in place; return its exponent, or DEAD.

    And the exponent of its least value, even if that is dropped; without values it is -DEAD.
    """
    top, low = 0.0, np.inf
    for value in values:
        top = max(top, value)
        low = min(low, value if value > 0.0 else np.inf)
    least = exponent + math.frexp(low)[1] if top > 0.0 else -DEAD
    if top < TINY:
        values[:] = 0.0
        return DEAD, least
    shift = math.frexp(top)[1]
    factor = math.ldexp(1.0, -shift)
    for position in range(len(values)):
        value = values[position] * factor
        values[position] = value if value >= TINY else 0.0
    return exponent + shift, least
