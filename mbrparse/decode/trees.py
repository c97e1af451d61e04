"""From labelled spans to trees."""

from __future__ import annotations

from collections.abc import Sequence

from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.labels import unescape
from mbrparse.treebank.tree import Tree


def build_tree(spans: Sequence[tuple[int, int, str]], leaves: Sequence[Tree]) -> Tree:
    """The tree of nested (start, end, label) in preorder over ``leaves``.

    >>> str(build_tree([(0, 3, "S"), (1, 3, "A")], [Tree("x"), Tree("y"), Tree("z")]))
    '(S x (A y z))'
    """
    # The largest finished subtree that begins at each position, and where it ends.
    tops = list(leaves)
    ends = list(range(1, len(leaves) + 1))
    for start, end, label in reversed(spans):
        position = ends[start]
        children = [tops[start]]
        while position < end:
            children.append(tops[position])
            position = ends[position]
        tops[start] = Tree(label, children)
        ends[start] = end
    return tops[0]


def nary_tree(spans: Sequence[tuple[int, int, str]], leaves: Sequence[Tree], root: str) -> Tree:
    """The n-ary tree of these constituents as it is written: chains expanded, a root over a single leaf.

    >>> str(nary_tree([(0, 3, "S"), (1, 3, "A+B")], [Tree("x"), Tree("y"), Tree("z")], "S"))
    '(S x (A (B y z)))'
    """
    return debinarize(build_tree(spans or [(0, 1, root)], leaves))


def tagged(leaves: Sequence[Tree], preterminals: Sequence[str | None]) -> tuple[Tree, ...]:
    """The words of a sentence under other tags; without one (None) a word stays bare.

    >>> [str(leaf) for leaf in tagged([Tree("x"), Tree("NN", word=".")], [None, "."])]
    ['x', '(. .)']
    """
    built = []
    for leaf, preterminal in zip(leaves, preterminals, strict=True):
        word = leaf.label if leaf.word is None else leaf.word
        built.append(Tree(word) if preterminal is None else Tree(unescape(preterminal), word=word))
    return tuple(built)
