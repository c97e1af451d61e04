"""Naive twin of the n-ary space: every set of constituents that do not cross, listed one by one.

A tree over n words is a set of labelled spans, one label a span: the whole sentence always, and any other
spans (over one word too, where something stands over it) of which no two cross. What it earns is the sum
of w_L g(i, X, j) + w_B g(i, j) - cost over its spans, where no bracket is right more than once; F is
2 * (sum of gains) / (spans of the tree + E|G|).

With chains a span has one label or more. Its k labels gain w_L g each and together w_B for each constituent
that is expected over the span, k at most: ``over`` has the probabilities of one at least, of two, and so on.
Without it these are alternatives. E|G| is the sum of g, or is ``expected``.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, product
from typing import TypeAlias

from naive import crosses

Span: TypeAlias = tuple[int, int]
Listed: TypeAlias = Mapping[tuple[int, int, str], float]
Over: TypeAlias = Mapping[Span, Sequence[float]] | None


@cache
def trees(n: int, words: bool) -> tuple[frozenset[Span], ...]:
    """All sets of spans over n words; with ``words`` single words may have one, else not."""
    least = 1 if words else 2
    spans = [(i, j) for i in range(n) for j in range(i + least, n + 1) if (i, j) != (0, n) or n == 1]

    def grow(chosen: tuple[Span, ...], rest: tuple[Span, ...]) -> Iterator[tuple[Span, ...]]:
        if not rest:
            yield chosen
            return
        first, *others = rest
        yield from grow(chosen, tuple(others))
        if not any(crosses(first, one) for one in chosen):
            yield from grow((*chosen, first), tuple(others))

    root = ((0, n),) if n > 1 else ()
    return tuple(frozenset(found) for found in grow(root, tuple(spans)))


def searched(g: Listed, n: int) -> list[frozenset[Span]]:
    """The trees: over a single word that has labels there is one of them."""
    return [tree for tree in trees(n, True) if tree or not any(g.values())]


def all_spans(n: int) -> list[Span]:
    return [(i, j) for i in range(n) for j in range(i + 1, n + 1)]


def gain(g: Listed, span: Span, labelled: float, bracketed: float, cost: float) -> float:
    masses = [value for (i, j, _), value in g.items() if (i, j) == span]
    return labelled * max(masses, default=0.0) + bracketed * min(sum(masses), 1.0) - cost


def gains(g: Listed, n: int, labelled: float, bracketed: float, cost: float) -> dict[Span, float]:
    """What each span earns with its best label."""
    return {span: gain(g, span, labelled, bracketed, cost) for span in all_spans(n)}


def optimum(g: Listed, n: int, labelled: float, bracketed: float, cost: float = 0.0) -> float:
    """The most that a tree earns, every span with its best label."""
    earned = gains(g, n, labelled, bracketed, cost)
    return max(sum(earned[span] for span in sorted(tree)) for tree in searched(g, n))


def steps(g: Listed, span: Span, labelled: float, bracketed: float, over: Over = None) -> list[float]:
    """What the first, second, ... label of a span adds in a chain, the most probable first."""
    masses = sorted((value for (i, j, _), value in g.items() if (i, j) == span), reverse=True)
    total = sum(masses)
    together = [
        labelled * sum(masses[:k])
        + bracketed * (min(total, k) if over is None else sum(over.get(span, ())[:k]))
        for k in range(max(len(masses), 1) + 1)
    ]
    return [after - before for before, after in pairwise(together)]


def all_steps(g: Listed, n: int, labelled: float, bracketed: float, over: Over) -> dict[Span, list[float]]:
    """Those of each span."""
    return {span: steps(g, span, labelled, bracketed, over) for span in all_spans(n)}


def chain_optimum(
    g: Listed, n: int, labelled: float, bracketed: float, cost: float, over: Over = None
) -> float:
    """The most that a tree with chains earns."""
    best = {
        span: max(sum(one[:k]) - cost * k for k in range(1, len(one) + 1))
        for span, one in all_steps(g, n, labelled, bracketed, over).items()
    }
    return max(sum(best[span] for span in sorted(tree)) for tree in searched(g, n))


def chain_f_optimum(
    g: Listed, n: int, labelled: float, bracketed: float, over: Over = None, expected: float | None = None
) -> float:
    """The largest F of any tree with chains: one label a span, and so many others as pay, the best first."""
    best = 0.0
    expected = sum(g.values()) if expected is None else expected
    known = all_steps(g, n, labelled, bracketed, over)
    for tree in searched(g, n):
        added = [known[span] for span in sorted(tree)]
        others = sorted((value for one in added for value in one[1:]), reverse=True)
        for k in range(len(others) + 1):
            below = len(tree) + k + expected
            matches = sum(one[0] for one in added) + sum(others[:k])
            best = max(best, 2 * matches / below if below else 1.0)
    return best


def f_optimum(g: Listed, n: int, labelled: float, bracketed: float) -> float:
    """The largest expected F (a ratio of expectations) of any tree."""
    earned, expected = gains(g, n, labelled, bracketed, 0.0), sum(g.values())

    def f_of(tree: frozenset[Span]) -> float:
        both = len(tree) + expected
        return 2 * sum(earned[span] for span in sorted(tree)) / both if both else 1.0

    return max(map(f_of, searched(g, n)))


def count(n: int) -> int:
    """How many trees over n words have no constituent over a single one: little Schroeder numbers."""
    return len(trees(n, False))


# --- expected F of the sentence --------------------------------------------------------

Labelled: TypeAlias = frozenset[tuple[int, int, str]]
Truths: TypeAlias = Mapping[Labelled, float]
"""Every n-ary tree that may be the true one, as its labelled spans, and its probability."""


def expected_f(truths: Truths, tree: Labelled, labels: bool) -> float:
    """The expectation of 2 * (spans that both trees have) / (spans of both); two empty trees agree."""
    total = 0.0
    for truth, probability in truths.items():
        ours = tree if labels else {span[:2] for span in tree}
        theirs = truth if labels else {span[:2] for span in truth}
        size = len(tree) + len(truth)
        total += probability * (2 * len(ours & theirs) / size if size else 1.0)
    return total


def expected_f_optimum(truths: Truths, n: int, labels: bool) -> float:
    """The largest expected F of any tree over n words, whatever its labels."""
    seen: dict[Span, set[str]] = {}
    for i, j, label in (span for truth in truths for span in truth):
        seen.setdefault((i, j), set()).add(label)
    best = 0.0
    for tree in trees(n, False):
        spans = sorted(tree)
        # A label that no true tree has is as good as any other of these.
        choices = [sorted(seen.get(span, {"none"})) if labels else ["any"] for span in spans]
        for chosen in product(*choices):
            labelled = frozenset((i, j, label) for (i, j), label in zip(spans, chosen, strict=True))
            best = max(best, expected_f(truths, labelled, labels))
    return best
