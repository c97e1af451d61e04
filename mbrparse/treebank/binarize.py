"""Binarizing cleaned trees, and the way back.

A constituent with more than two children becomes a chain of continuations (Goodman 1996, section 5):
to the right, X -> A B C D becomes X -> A X_Cont, X_Cont -> B X_Cont, X_Cont -> C D.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mbrparse.treebank.labels import (
    CONTINUATION,
    PARENT,
    SIBLING,
    escape,
    is_continuation,
    join_chain,
    parse_label,
    split_chain,
)
from mbrparse.treebank.tree import Tree

Direction = Literal["right", "left"]


@dataclass(frozen=True, slots=True)
class Binarization:
    """How to binarize.

    ``hmarkov`` is the number of siblings still to come that a continuation's label names (math.inf:
    all); ``vmarkov`` counts the levels that a label speaks of, itself included (1: no parents).
    """

    direction: Direction = "right"
    hmarkov: float = 0
    vmarkov: int = 1

    def __post_init__(self) -> None:
        if self.hmarkov < 0 or (self.hmarkov != math.inf and self.hmarkov != int(self.hmarkov)):
            raise ValueError(f"hmarkov must be 0, 1, 2, ... or inf, not {self.hmarkov}")
        if self.vmarkov < 1:
            raise ValueError(f"vmarkov must be 1 or more, not {self.vmarkov}")


RIGHT_LINEAR = Binarization()


def binarize(tree: Tree, how: Binarization = RIGHT_LINEAR) -> Tree:
    """Binarize a cleaned tree; a chain of unary productions becomes one joined label.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> str(binarize(read_tree("(S a b c)")))
    '(S a (S_Cont b c))'
    >>> str(binarize(read_tree("(S a (S b (VP c d e)))"), Binarization(hmarkov=1, vmarkov=2)))
    '(S a (S^S b (VP^S c (VP_Cont>d^S d e))))'
    """
    if tree.is_leaf:
        return tree
    # Top-down, since a label speaks of its ancestors; then the children are there when their parent
    # is built: nodes are visited in reverse order of discovery.
    found: list[_Frame] = [_Frame(tree, ())]
    position = 0
    while position < len(found):
        frame = found[position]
        position += 1
        ancestors = (frame.base, *frame.ancestors)[: how.vmarkov - 1]
        frame.first_child = len(found)
        found.extend(_Frame(child, ancestors) for child in frame.children if not child.is_leaf)
    built: dict[int, Tree] = {}
    for index in range(len(found) - 1, -1, -1):
        frame = found[index]
        below = frame.first_child
        children: list[Tree] = []
        names: list[str] = []
        for child in frame.children:
            if child.is_leaf:
                children.append(child)
                names.append(escape(child.label))
            else:
                children.append(built.pop(below))
                names.append(found[below].base)
                below += 1
        built[index] = _chain(frame, children, names, how)
    return built[0]


def debinarize(tree: Tree) -> Tree:
    """Splice continuations out, drop annotations, expand joined chains.

    The exact inverse of ``binarize``; on other trees (a parser's) continuations may stand anywhere,
    and a root that is one gets its base label.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> str(debinarize(read_tree("(S_Cont a (S+VP^S b (VP_Cont>c>d c d)))")))
    '(S a (S (VP b c d)))'
    """
    if tree.is_leaf:
        return tree

    def inner(node: Tree, groups: list[list[Tree]]) -> list[Tree]:
        children = [child for group in groups for child in group]
        if is_continuation(node.label) and node is not tree:
            return children
        labels = split_chain(parse_label(node.label).base)
        for label in reversed(labels):
            children = [Tree(label, children)]
        return children

    return tree.fold(lambda leaf: [leaf], inner)[0]


class _Frame:
    """A constituent on its way into binary form; a unary chain counts as one."""

    __slots__ = ("ancestors", "base", "children", "first_child")

    def __init__(self, node: Tree, ancestors: tuple[str, ...]) -> None:
        labels = [node.label]
        while len(node.children) == 1 and not node.children[0].is_leaf:
            node = node.children[0]
            labels.append(node.label)
        self.base = join_chain(tuple(labels))
        self.children: Sequence[Tree] = node.children
        self.ancestors = ancestors
        self.first_child = 0


def _chain(frame: _Frame, children: list[Tree], names: list[str], how: Binarization) -> Tree:
    parents = "".join(PARENT + name for name in frame.ancestors)
    whole = frame.base + parents
    count = len(children)
    if count <= 2:
        return Tree(whole, children)
    named = count if how.hmarkov == math.inf else int(how.hmarkov)
    continuation = frame.base + CONTINUATION

    def label(to_come: Sequence[str]) -> str:
        return continuation + "".join(SIBLING + name for name in to_come[:named]) + parents

    if how.direction == "right":
        rest = Tree(label(names[-2:]), children[-2:])
        for position in range(count - 3, 0, -1):
            rest = Tree(label(names[position:]), (children[position], rest))
        return Tree(whole, (children[0], rest))
    # To the left the siblings still to come stand on the left, the nearest first.
    rest = Tree(label(names[1::-1]), children[:2])
    for position in range(2, count - 1):
        rest = Tree(label(names[position::-1]), (rest, children[position]))
    return Tree(whole, (rest, children[-1]))
