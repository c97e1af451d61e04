"""Naive twin of what crosses what: every derivation listed, its continuations taken out, every span compared.

The n-ary tree of a derivation is the set of its constituents that are no continuations. A span is consistent
with it if none of them crosses it; a binary bracketing, if all of its spans are.
"""

from collections.abc import Callable, Collection, Sequence

import naive
from naive import Grammar, Span, crosses

IsContinuation = Callable[[str], bool]


def n_ary_trees(
    grammar: Grammar, sentence: Sequence[str], is_continuation: IsContinuation
) -> list[tuple[frozenset[Span], float]]:
    """The spans of each derivation's n-ary tree, and the derivation's share of the sentence's probability."""
    found = naive.derivations(grammar, sentence)
    total = sum(p for _, p in found)
    return [
        (
            frozenset((c.start, c.end) for c in naive.constituents(tree) if not is_continuation(c.symbol)),
            float(p / total),
        )
        for tree, p in found
    ]


def consistent(trees: list[tuple[frozenset[Span], float]], span: Span) -> float:
    """The probability that no constituent crosses the span."""
    return sum(p for spans, p in trees if not any(crosses(span, one) for one in spans))


def mass(trees: list[tuple[frozenset[Span], float]], bracketing: Collection[Span]) -> float:
    """The probability that no constituent crosses any of the spans."""
    return sum(p for spans, p in trees if not any(crosses(a, b) for a in bracketing for b in spans))
