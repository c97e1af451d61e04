"""Linearization: a constituent's children as a chain of binary nodes around one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mbrparse.treebank.tree import Tree


def linearize(top: str, children: Sequence[Tree], head: int, label: Callable[[int, int], str]) -> Tree:
    """Split children off from the outside in, first those left of the head, then those right of it.

    ``label(start, end)`` names the node over children start..end (half-open) within the chain, ``top``
    the node over all. Around the last child this is the right-linear chain, around the first the left-
    linear one.

    >>> children = [Tree(tag) for tag in "abHcd"]
    >>> str(linearize("X", children, 2, lambda start, end: f"X{start}{end}"))
    '(X a (X15 b (X25 (X24 H c) d)))'
    """
    count = len(children)
    if count <= 2:
        return Tree(top, children)
    start = head if head + 1 < count else head - 1
    end = start + 2
    pair: tuple[Tree, ...] = (children[start], children[start + 1])
    while end - start < count:
        chain = Tree(label(start, end), pair)
        if end < count:
            pair = (chain, children[end])
            end += 1
        else:
            start -= 1
            pair = (children[start], chain)
    return Tree(top, pair)
