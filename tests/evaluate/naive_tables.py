"""Breakdowns and word measures once more, from their definitions; nothing of the library.

Trees are nested tuples, as ``naive_spans.read`` makes them; labels are compared as they stand.

What a page says of each constituent, found by comparing every pair of constituents.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple

from naive_spans import tags


class Node(NamedTuple):
    """A constituent, and all above it from its mother up."""

    label: str
    start: int
    end: int
    above: tuple[Any, ...]
    children: tuple[Any, ...]


def nodes(tree: Any, at: int = 0, above: tuple[Any, ...] = ()) -> list[Node]:
    """All constituents, each before those in it."""
    label, below = tree
    if isinstance(below, str):
        return []
    node = Node(label, at, at + len(tags(tree)), above, tuple(below))
    found = [node]
    for child in below:
        found += nodes(child, at, (node, *above))
        at += len(tags(child))
    return found


def width_group(node: Node) -> str:
    width = node.end - node.start
    groups = {"1": [1], "2": [2], "3-4": [3, 4], "5-8": range(5, 9), "9-16": range(9, 17)}
    return next(name for name, members in groups.items() if width in members)


def depth_group(node: Node) -> str:
    return str(len(node.above)) if len(node.above) < 10 else "10+"


def matched(gold: list[Node], guess: list[Node]) -> list[tuple[Node, Node]]:
    """Equal constituents, each with one partner at most, the topmost first."""
    free = list(guess)
    pairs = []
    for node in gold:
        partner = next((other for other in free if node[:3] == other[:3]), None)
        if partner is not None:
            free.remove(partner)
            pairs.append((node, partner))
    return pairs


def attachments(gold: Any, guess: Any) -> Counter[tuple[str, str, str]]:
    """How many there are, are found, are right, by kind and label."""
    found: Counter[tuple[str, str, str]] = Counter()
    correct = nodes(gold)
    pairs = {id(node): other for node, other in matched(correct, nodes(guess) if guess else [])}
    for node in correct:
        other = pairs.get(id(node))
        if node.label == "PP":
            mother = node.above[0] if node.above else None
            key = "PP", mother.label if mother else ""
            found[(*key, "gold")] += 1
            if other is not None:
                found[(*key, "found")] += 1
                theirs = other.above[0] if other.above else None
                here = (mother.label, mother.start) if mother else ("", 0)
                found[(*key, "right")] += here == ((theirs.label, theirs.start) if theirs else ("", 0))
        if _coordinates(node):
            key = "coordination", node.label
            found[(*key, "gold")] += 1
            if other is not None:
                found[(*key, "found")] += 1
                below = [inner for inner in correct if inner.above[:1] == (node,) and inner.above[0] is node]
                found[(*key, "right")] += all(id(inner) in pairs for inner in below)
    return found


def _coordinates(node: Node) -> bool:
    """A conjunction not first, and with nothing around it but phrases of one word."""
    if node.end - node.start < 2:
        return False
    at = node.start
    for child in node.children:
        inner = child
        while not isinstance(inner[1], str) and len(inner[1]) == 1:
            inner = inner[1][0]
        if isinstance(inner[1], str) and inner[0] == "CC" and at > node.start:
            return True
        at += len(tags(child))
    return False


def lineage(tree: Any, word: int) -> list[str]:
    """The labels above a word from the innermost, with < before and > behind the highest that end there."""
    around = [node for node in reversed(nodes(tree)) if node.start <= word < node.end]
    around.sort(key=lambda node: -len(node.above))
    begin = [place for place, node in enumerate(around) if node.start == word]
    end = [place for place, node in enumerate(around) if node.end == word + 1]
    parts = []
    for place, node in enumerate(around):
        parts += ["<"] if begin and place == begin[-1] else []
        parts.append("=" + node.label)
        parts += [">"] if end and place == end[-1] else []
    return parts


def similarity(one: list[str], other: list[str]) -> float:
    """By recursion on the ends."""

    @cache
    def cost(i: int, j: int) -> float:
        if not i or not j:
            return i + j
        first, second = one[i - 1], other[j - 1]
        replaced = 0.0 if first == second else 0.5 if first[:2] == second[:2] and first[0] == "=" else 2.0
        return min(cost(i - 1, j) + 1, cost(i, j - 1) + 1, cost(i - 1, j - 1) + replaced)

    return 1 - cost(len(one), len(other)) / (len(one) + len(other)) if one or other else 1.0


Constituent = tuple[int, int, str]


def crosses(one: Constituent, other: Constituent) -> bool:
    (a, b, _), (c, d, _) = one, other
    return a < c < b < d or c < a < d < b
