"""What evaluation needs of a tree, read off in one walk: terminals, spans, labels.

Conventions: spans are 0-based and half-open; terminals are no constituents; a wrapper around the root
(a root labelled nothing, TOP, ROOT, S1 or VROOT with one child) is none either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mbrparse.treebank.clean import unwrap
from mbrparse.treebank.tree import Tree

Span = tuple[int, int]


class Brackets(NamedTuple):
    """The constituents of a tree that count, as they are compared; parents before children."""

    spans: list[Span]
    labels: list[str]


class Outline(NamedTuple):
    """A tree's terminals and its constituents, parents before children, left to right.

    ``odd`` holds the constituents that have not exactly two children.
    """

    leaves: list[Tree]
    spans: list[Span]
    labels: list[str]
    odd: list[Tree]


def outline(tree: Tree) -> Outline:
    """Read a tree off; the same constituents as ``treebank.constituents`` finds under the wrapper.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> outline(read_tree("(TOP (S x (A x x)))"))[1:]
    ([(0, 3), (1, 3)], ['S', 'A'], [])
    """
    return outline_whole(unwrap(tree))


def outline_whole(root: Tree) -> Outline:
    """Read a tree off, a wrapper around it too."""
    leaves: list[Tree] = []
    starts: list[int] = []
    ends: list[int] = []
    labels: list[str] = []
    odd: list[Tree] = []
    if root.is_leaf:
        return Outline([root], [], [], [])
    # Nodes on the way down, each with the place that its children are read to: a leaf costs one step.
    stack: list[tuple[tuple[Tree, ...], int, int]] = []
    children: tuple[Tree, ...] = (root,)
    place, number = 0, -1
    while True:
        while place < len(children):
            child = children[place]
            place += 1
            below = child.children
            if not below:
                leaves.append(child)
                continue
            stack.append((children, place, number))
            children, place, number = below, 0, len(starts)
            starts.append(len(leaves))
            ends.append(0)
            labels.append(child.label)
            if len(below) != 2:
                odd.append(child)
        if not stack:
            break
        ends[number] = len(leaves)
        children, place, number = stack.pop()
    return Outline(leaves, list(zip(starts, ends, strict=True)), labels, odd)


def first_node(nodes: list[Tree], test: Callable[[Tree], bool]) -> Tree | None:
    """The first of some nodes that passes a test, or None."""
    return next((node for node in nodes if test(node)), None)


def is_nary(node: Tree) -> bool:
    """Whether a constituent has more than two children."""
    return len(node.children) > 2


def is_unary(node: Tree) -> bool:
    """Whether a constituent has another constituent for its only child."""
    return len(node.children) == 1 and not node.children[0].is_leaf
