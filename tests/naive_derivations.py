"""Naive twin of the entropy of derivations: all of them are listed, each with its probability.

For grammars without cycles of unary rules and without recursion.
"""

import math
from collections.abc import Iterator
from itertools import product

from naive_prefixes import Words

from mbrparse.grammar.rules import RuleSet, is_terminal, unquote


def derivations(rules: RuleSet) -> list[tuple[Words, float]]:
    """The words and the probability of each derivation."""
    return [
        (words, root.probability * p)
        for name, root in rules.start.items()
        for words, p in _below(rules, name)
        if root.probability
    ]


def _below(rules: RuleSet, name: str) -> Iterator[tuple[Words, float]]:
    if is_terminal(name):
        yield (unquote(name),), 1.0
        return
    for (parent, children), weight in rules.rules.items():
        if parent == name and weight.probability:
            for parts in product(*(list(_below(rules, child)) for child in children)):
                words = tuple(word for part, _ in parts for word in part)
                yield words, weight.probability * math.prod(p for _, p in parts)


def entropy(masses: list[float]) -> float:
    """In bits, of what has these masses; NaN where there is none."""
    total = math.fsum(masses)
    return -math.fsum(p / total * math.log2(p / total) for p in masses if p) if total else math.nan


def entropies(rules: RuleSet, words: Words) -> list[float]:
    """Of the derivations that begin with each prefix, and at last of those of the words."""
    known = derivations(rules)
    given = [[p for found, p in known if found[:k] == words[:k]] for k in range(len(words) + 1)]
    return [entropy(masses) for masses in [*given, [p for found, p in known if found == words]]]
