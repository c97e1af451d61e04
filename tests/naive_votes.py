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


def plain(tree: Brackets) -> Brackets:
    """The tree without a label that looks like a continuation's."""
    return tree if isinstance(tree, str) else (tree[0].replace("_Cont", ""), [plain(one) for one in tree[1]])


def nested(tree: Any) -> Brackets:
    """The library's tree as one of these."""
    if not tree.children:
        return tree.label if tree.word is None else (tree.label, [tree.word])
    return tree.label, [nested(child) for child in tree.children]


def has_chain(trees: Sequence[Brackets | None]) -> bool:
    """Whether a tree has two constituents over one span."""
    found = (Counter(item[:2] for item in items(one)[1]) for one in trees if one)
    return any(count > 1 for spans in found for count in spans.values())


def named(g: Mapping[tuple[int, int, str, int], float]) -> dict[tuple[int, int, str], float]:
    """With labels of their own for equal labels over one span."""
    return {(i, j, f"{label}#{k}"): value for (i, j, label, k), value in g.items()}


#: Shares of constituents, of first, second, ... brackets, and of the tags of words.
Votes = tuple[
    dict[tuple[int, int, str, int], float], dict[tuple[int, int], list[float]], dict[tuple[int, str], float]
]


def votes(trees: Sequence[Brackets | None], weights: Mapping[str, Sequence[int]], length: int) -> Votes:
    """Shares of votes where systems have weights by label (others: those of ""), and of brackets.

    A system without a tree does not vote. Those of a span are its first, second, ... bracket's: of each
    tree's chain the heaviest, the next, and so on, and no more than one. Where no label of the whole sentence
    weighs anything, the systems do.
    """

    def share(label: str, system: int) -> Fraction:
        there = [tree is not None for tree in trees]
        each = [w * here for w, here in zip(weights.get(label, weights[""]), there, strict=True)]
        return Fraction(each[system], sum(each)) if sum(each) else Fraction(there[system], sum(there))

    listed = [sorted(numbered(tree)) if tree else [] for tree in trees]
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
    tags: dict[tuple[int, str], float] = {}
    for system, tree in enumerate(trees):
        for tag in items(tree)[2] if tree else ():
            tags[tag] = tags.get(tag, 0.0) + float(share("", system))
    over = {
        span: [float(min(sum(level), Fraction(1))) for level in zip_longest(*each, fillvalue=Fraction(0))]
        for span, each in chains.items()
    }
    return {item: float(value) for item, value in g.items() if value}, over, tags


def precision(sentences: Sequence[Sequence[Brackets | None]], by: str) -> dict[tuple[str, int], float]:
    """The weight of each label ("": of others) and system, where the first system's trees are right."""
    right: Counter[tuple[str, int]] = Counter()
    proposed: Counter[tuple[str, int]] = Counter()
    for trees in sentences:
        for system, tree in enumerate(trees):
            for item in numbered(tree) if tree else ():
                for label in ("", item[2]):
                    proposed[label, system] += 1
                    right[label, system] += bool(trees[0]) and item in numbered(trees[0])
    every = range(len(sentences[0]))
    found = {}
    for label in {"", *(label for label, _ in proposed)} if by == "label" else {""}:
        for system in every:
            key = (label if proposed[label, system] else "", system)
            found[label, system] = right[key] / max(proposed[key], 1)
    return found


def f_of(one: Brackets, other: Brackets) -> Fraction:
    """F of a tree if another one is right."""
    mine, theirs = (Counter(items(tree)[1]) for tree in (one, other))
    both = mine.total() + theirs.total()
    return Fraction(2 * (mine & theirs).total(), both) if both else Fraction(1)


def expected_scores(trees: Sequence[Brackets], weights: Sequence[int]) -> list[dict[str, float]]:
    """What each tree is expected to score by an objective: sums over all trees that may be right."""
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    counted = [Counter(items(tree)[1]) for tree in trees]
    bare = [Counter(one[:2] for one in found.elements()) for found in counted]
    size = sum(share * found.total() for share, found in zip(shares, counted, strict=True))

    def matches(mine: Counter[Any], others: Sequence[Counter[Any]]) -> Fraction:
        return sum((p * (mine & other).total() for p, other in zip(shares, others, strict=True)), Fraction())

    def f(right: Fraction, guessed: int) -> float:
        return float(2 * right / (guessed + size)) if guessed + size else 1.0

    found = []
    for tree, share, mine, spans in zip(trees, shares, counted, bare, strict=True):
        labelled, bracketed = matches(mine, counted), matches(spans, bare)
        found.append(
            {
                "labelled-recall": float(labelled),
                "bracketed-recall": float(bracketed),
                "labelled-f": f(labelled, mine.total()),
                "bracketed-f": f(bracketed, mine.total()),
                "most-probable-tree": float(share),
                "weighed": float(labelled + bracketed / 2) - 0.6 * mine.total(),
                "minimum-risk": float(sum(p * f_of(tree, one) for p, one in zip(shares, trees, strict=True))),
            }
        )
    return found


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
