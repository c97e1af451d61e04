"""Hypothesis strategies: small grammars with unary rules, and sentences that they derive.

Nonterminals carry annotations, and several share a label once these are projected away. Some words are
terminals used directly in binary rules, some stand under preterminals, some are both.

Ambiguity is bounded, so that all trees can be listed.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice, product
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from naive import Grammar
from naive_objectives import max_rule_trees, projection_of
from strategies import NONTERMINALS, proper_grammars, sentences

FEW_LABELS = ("S&1", "S^NP", "S~1", "NP^S", "NP~1")
"""Nonterminals of few labels: most chains hold a label twice."""
MOST_TREES = 300
"""How many derivations, or trees of max-rule, the sentences of `unary_cases` have at most."""


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
    """A grammar of `proper_grammars` and a sentence of few enough trees; by default cyclic or not."""
    grammar = draw(proper_grammars(draw(st.booleans()) if cyclic is None else cyclic, nonterminals, **more))
    for limit in range(longest, 0, -1):
        words = draw(sentences(grammar, limit))
        if few_trees(grammar, words):
            return grammar, words
    assume(False)
    raise AssertionError
