"""Marginals of labelled spans, and the best tree, by listing every tree of a sentence with its weight."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator

Span = tuple[int, int]
Scores = dict[tuple[int, int, int], float]


def _cuts(start: int, end: int, most: int) -> Iterator[list[Span]]:
    """The ways to divide a span into two parts or more, at most so many."""
    for parts in range(2, min(most, end - start) + 1):
        for inner in itertools.combinations(range(start + 1, end), parts - 1):
            bounds = [start, *inner, end]
            yield list(itertools.pairwise(bounds))


def bracketings(start: int, end: int, most: int) -> Iterator[list[Span]]:
    """The spans of more words than one of each tree over a span, itself included."""
    for parts in _cuts(start, end, most):
        wide = [part for part in parts if part[1] - part[0] > 1]
        for below in itertools.product(*(list(bracketings(*part, most)) for part in wide)):
            yield [(start, end), *itertools.chain.from_iterable(below)]


def weighed(
    scores: Scores, length: int, labels: int, null: int | None = None
) -> list[tuple[float, list[tuple[int, int, int]]]]:
    """All trees and the sums over *all* spans of the score of what it is there.

    Without ``null`` a tree is a binary bracketing with a label on each of its spans; spans outside of it
    weigh nothing. With it, it is an n-ary bracketing, some words labelled as well, and all other spans have
    the label ``null``.
    """
    single = [(word, word + 1) for word in range(length)]
    every = [(i, j) for i in range(length) for j in range(i + 1, length + 1)]
    trees: list[list[Span]] = []
    for spans in bracketings(0, length, 2 if null is None else length) if length > 1 else [[]]:
        if null is None:
            trees.append(spans + single)
            continue
        for chosen in itertools.product([False, True], repeat=length):
            words = [span for span, is_one in zip(single, chosen, strict=True) if is_one]
            if length > 1 or words:
                trees.append(spans + words)
    names = [label for label in range(labels) if label != null]
    logs: list[tuple[float, list[tuple[int, int, int]]]] = []
    for tree in trees:
        rest = 0.0 if null is None else sum(scores[(*span, null)] for span in every if span not in tree)
        for given in itertools.product(names, repeat=len(tree)):
            items = [(*span, label) for span, label in zip(tree, given, strict=True)]
            logs.append((rest + sum(scores[item] for item in items), items))
    return logs


def marginals(scores: Scores, length: int, labels: int, null: int | None = None) -> Scores:
    """P(span, label), where a tree weighs exp of its sum."""
    logs = weighed(scores, length, labels, null)
    top = max(log for log, _ in logs)
    found: Scores = defaultdict(float)
    for log, items in logs:
        for item in items:
            found[item] += math.exp(log - top)
    total = math.fsum(math.exp(log - top) for log, _ in logs)
    return {item: mass / total for item, mass in found.items()}
