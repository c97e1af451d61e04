"""Hypothesis strategies: small grammars with unary rules, and sentences that they derive.

The grammars are proper: of each nonterminal the binary, unary and lexical rules together sum
to one, as do the start symbols, in exact fractions. Nonterminals carry annotations, and
several share a label once these are projected away. Some words are terminals used directly
in binary rules, some stand under preterminals, some are both. There may be rules of
probability zero, unreachable symbols and symbols that derive nothing.

Ambiguity is bounded, so that all trees can be listed.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from naive import Grammar, P
from naive_objectives import max_rule_trees, projection_of
from naive_unary import closure
from strategies import sentences, shares

NONTERMINALS = ("NP^S", "NP^VP", "X_Cont", "NP~1", "VP@2", "X_Cont>NN", "VP", "S&1", "S^NP", "QP")
"""What nonterminals other than S are drawn from; S is always among them."""
FEW_LABELS = ("S&1", "S^NP", "S~1", "NP^S", "NP~1")
"""Nonterminals of few labels: most chains hold a label twice."""
WORDS = ("x", "y", "z")
MOST_TREES = 300
"""How many derivations, or trees of max-rule, the sentences of `unary_cases` have at most."""


def _some(draw: st.DrawFn, choices: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """A few different ones of the choices, as many as one of the sizes if there are."""
    size = min(draw(st.sampled_from(sizes)), len(choices))
    return draw(st.lists(st.sampled_from(choices), min_size=size, max_size=size, unique=True)) if size else []


@st.composite
def unary_grammars(
    draw: st.DrawFn,
    cyclic: bool = False,
    nonterminals: Sequence[str] = NONTERMINALS,
    *,
    unaries: bool = True,
    terminals: bool = True,
    shared: Callable[[st.DrawFn, int], list[Fraction]] = shares,
) -> Grammar:
    """A proper grammar of S and 1-4 more nonterminals, 1-3 words and a few unary rules.

    Without `cyclic` the unary rules form no cycle, and one at least has positive probability. With it they
    form at least one of positive probability, a rule A -> A perhaps, and none of a
    probability of one. There may be no `unaries` at all, and no `terminals` in binary rules; `shared` draws
    probabilities.
    """
    others = draw(st.lists(st.sampled_from(nonterminals), min_size=1, max_size=4, unique=True))
    order = draw(st.permutations(["S", *others]))
    words = WORDS[: draw(st.sampled_from([2, 1, 3]))]
    tags = _some(draw, words, [1, 2, 0] if terminals else [0])
    pairs = [" ".join(pair) for pair in product([*order, *tags], repeat=2)]
    binary: dict[tuple[str, str, str], P] = {}
    unary: dict[tuple[str, str], P] = {}
    lexical: dict[tuple[str, str], P] = {(word, word): Fraction(1) for word in tags}
    for index, symbol in enumerate(order):
        children = order if cyclic else order[index + 1 :]
        below = _some(draw, children if unaries else (), [1, 2, 1, 0] if cyclic else [1, 2, 0])
        sides = _some(draw, pairs, [2, 3, 1] if symbol == "S" else [1, 2, 0])
        least = [] if below or sides else [1, 2]
        tokens = _some(draw, words, least or [1, 2, 0])
        probabilities = iter(shared(draw, len(below) + len(sides) + len(tokens)))
        unary |= {(symbol, child): next(probabilities) for child in below}
        for side in sides:
            left, right = side.split()
            binary[symbol, left, right] = next(probabilities)
        lexical |= {(symbol, word): next(probabilities) for word in tokens}
    start: dict[str, P] = {"S": Fraction(1)}
    if draw(st.booleans()):
        start = dict(zip(order, shares(draw, len(order)), strict=True))
    grammar = Grammar(start, binary, lexical, unary)
    assume(any(unary.values()) == unaries and grammar.has_unary_cycle() == cyclic)
    try:
        closure(grammar)
    except ValueError:
        assume(False)
    return grammar


def tree_counts(grammar: Grammar, words: Sequence[str]) -> dict[tuple[int, int, str], int]:
    """How many trees `naive.subtrees` lists of each symbol over each span."""
    rules = [rule for rule, p in grammar.unary.items() if p > 0]
    paths: list[tuple[str, ...]] = [(symbol,) for symbol in grammar.symbols()]
    for path in paths:  # grows while it is read
        paths.extend((parent, *path) for parent, child in rules if child == path[0] and parent not in path)
    counts: dict[tuple[int, int, str], int] = defaultdict(int)
    n = len(words)
    for start, end in ((i, i + width) for width in range(1, n + 1) for i in range(n - width + 1)):
        base: dict[str, int] = defaultdict(int)
        for (symbol, word), p in grammar.lexical.items():
            base[symbol] += p > 0 and [word] == list(words[start:end])
        for ((parent, left, right), p), split in product(grammar.binary.items(), range(start + 1, end)):
            base[parent] += (p > 0) * counts[start, split, left] * counts[split, end, right]
        for path in paths:
            counts[start, end, path[0]] += base[path[-1]]
    return {key: count for key, count in counts.items() if count}


def few_trees(grammar: Grammar, words: list[str]) -> bool:
    """Whether all trees of all spaces can be listed in little time."""
    counts = tree_counts(grammar, words)
    roots = [counts.get((0, len(words), symbol), 0) for symbol, p in grammar.start.items() if p > 0]
    if sum(roots) > MOST_TREES or sum(counts.values()) > 5 * MOST_TREES:
        return False
    return all(
        len(list(islice(max_rule_trees(grammar, words, projection), MOST_TREES + 1))) <= MOST_TREES
        for projection in (None, projection_of(grammar))
    )


@st.composite
def unary_cases(
    draw: st.DrawFn,
    /,
    cyclic: bool | None = None,
    longest: int = 6,
    nonterminals: Sequence[str] = NONTERMINALS,
    **more: Any,
) -> tuple[Grammar, list[str]]:
    """A grammar of `unary_grammars` and a sentence of few enough trees; by default cyclic or not."""
    grammar = draw(unary_grammars(draw(st.booleans()) if cyclic is None else cyclic, nonterminals, **more))
    for limit in range(longest, 0, -1):
        words = draw(sentences(grammar, limit))
        if few_trees(grammar, words):
            return grammar, words
    assume(False)
    raise AssertionError
