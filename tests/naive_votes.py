"""Naive twin of votes over trees: nested lists of brackets, counted item by item.

A tree is a pair of a label and a list of trees and words. Its items are the constituents (start, end, label,
k), k telling equal labels over one span apart, and the tags (start, end, label) of words.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, zip_longest
from typing import Any

from hypothesis import strategies as st

Brackets = Any
LABELS = ("S", "VP", "NP", "X_Cont")


def text(tree: Brackets) -> str:
    """The tree in brackets."""
    return tree if isinstance(tree, str) else f"({tree[0]} {' '.join(map(text, tree[1]))})"


def is_tag(tree: Brackets) -> bool:
    return len(tree[1]) == 1 and isinstance(tree[1][0], str)


def items(tree: Brackets, start: int = 0) -> tuple[int, list[tuple[int, int, str]], list[tuple[int, str]]]:
    """Where the tree ends, its constituents (parents first), its tags."""
    if isinstance(tree, str):
        return start + 1, [], []
    if is_tag(tree):
        return start + 1, [], [(start, tree[0])]
    end, below, tags = start, [], []
    for child in tree[1]:
        end, constituents, of_words = items(child, end)
        below += constituents
        tags += of_words
    return end, [(start, end, tree[0]), *below], tags


def numbered(tree: Brackets) -> set[tuple[int, int, str, int]]:
    seen: Counter[tuple[int, int, str]] = Counter()
    found = set()
    for one in items(tree)[1]:
        found.add((*one, seen[one]))
        seen[one] += 1
    return found


def votes(trees: Sequence[Brackets], weights: Sequence[int]) -> dict[tuple[int, int, str, int], Fraction]:
    """The share of the weights of trees that have each constituent."""
    total = sum(weights)
    shares = [Fraction(weight, total) if total else Fraction(1, len(trees)) for weight in weights]
    found: Counter[tuple[int, int, str, int]] = Counter()
    for tree, share in zip(trees, shares, strict=True):
        for item in numbered(tree):
            found[item] += share  # type: ignore[assignment]
    return {item: share for item, share in found.items() if share}  # type: ignore[misc]


Votes = tuple[dict[tuple[int, int, str, int], float], dict[tuple[int, int], list[float]]]


def votes_by_label(trees: Sequence[Brackets], weights: Mapping[str, Sequence[int]], length: int) -> Votes:
    """Shares of votes where systems have weights by label (others: those of ""), and of brackets.

    Those of a span are its first, second, ... bracket's: of each tree's chain the heaviest, the next, and so
    on, and no more than one. Where no label of the whole sentence weighs anything, the systems do.
    """

    def share(label: str, system: int) -> Fraction:
        each = weights.get(label, weights[""])
        return Fraction(each[system], sum(each)) if sum(each) else Fraction(1, len(trees))

    listed = [sorted(numbered(tree)) for tree in trees]
    whole = [
        (system, item) for system, found in enumerate(listed) for item in found if item[:2] == (0, length)
    ]
    idle = not any(share(item[2], system) for system, item in whole)
    g: Counter[tuple[int, int, str, int]] = Counter()
    chains: dict[tuple[int, int], list[list[Fraction]]] = {}
    for system, found in enumerate(listed):
        of: dict[tuple[int, int], list[Fraction]] = {}
        for item in found:
            weight = share("" if idle and item[:2] == (0, length) else item[2], system)
            g[item] += weight  # type: ignore[assignment]
            of.setdefault(item[:2], []).append(weight)
        for span, each in of.items():
            chains.setdefault(span, []).append(sorted(each, reverse=True))
    over = {
        span: [float(min(sum(level), Fraction(1))) for level in zip_longest(*each, fillvalue=Fraction(0))]
        for span, each in chains.items()
    }
    return {item: float(value) for item, value in g.items() if value}, over


@st.composite
def sentence_trees(draw: st.DrawFn, words: Sequence[str], labels: Sequence[str] = LABELS) -> Brackets:
    """A tree over these words, with chains and with constituents over one word."""

    def over(first: int, last: int) -> Brackets:
        if last - first == 1:
            bare = draw(st.booleans())
            tree: Brackets = words[first] if bare else (draw(st.sampled_from("NV")), [words[first]])
            above = 0 if bare else draw(st.integers(0, 2))
        else:
            cuts = draw(st.sets(st.integers(first + 1, last - 1), min_size=1))
            edges = [first, *sorted(cuts), last]
            tree = (draw(st.sampled_from(labels)), [over(*pair) for pair in pairwise(edges)])
            above = draw(st.integers(0, 2))
        for _ in range(above):
            tree = (draw(st.sampled_from(labels)), [tree])
        return tree

    tree = over(0, len(words))
    return tree if not isinstance(tree, str) else ("N", [tree])
