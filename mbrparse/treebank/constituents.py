"""The constituents of a tree, as labelled spans."""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.treebank.tree import Tree


class Constituent(NamedTuple):
    """A labelled span: 0-based, half-open positions between terminals."""

    start: int
    end: int
    label: str


def constituents(tree: Tree) -> list[Constituent]:
    """Every constituent of a tree, parents before children, left to right; terminals are none.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> constituents(read_tree("(S x (A x x))"))
    [Constituent(start=0, end=3, label='S'), Constituent(start=1, end=3, label='A')]
    """
    found: list[tuple[int, str]] = []
    ends: list[int] = []
    terminals = 0
    stack: list[Tree | int] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            ends[item] = terminals
        elif not item.children:
            terminals += 1
        else:
            stack.append(len(found))
            found.append((terminals, item.label))
            ends.append(0)
            stack.extend(reversed(item.children))
    return [Constituent(start, end, label) for (start, label), end in zip(found, ends, strict=True)]


def is_binary(tree: Tree) -> bool:
    """Whether every constituent has exactly two children."""
    return all(len(node.children) == 2 for node in tree.preorder() if node.children)
