"""From a treebank's trees to the trees that are worked on: the *cleaned* form.

In this order: traces (``-NONE-``) and what they leave empty are removed, a wrapper around the root is
removed, function tags are cut off, and the unary policy is applied.
"""

from __future__ import annotations

import re
from typing import Literal

from mbrparse.treebank.tree import Tree

UnaryPolicy = Literal["top", "bottom", "join", "keep"]
FunctionPolicy = Literal["strip", "keep"]

TRACE = "-NONE-"
WRAPPERS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})

_FUNCTION = re.compile(r"[-=]")


def clean(tree: Tree, unary: UnaryPolicy = "top", functions: FunctionPolicy = "strip") -> Tree | None:
    """The cleaned tree, or None where nothing but traces was there.

    ``unary`` says which label survives a singleton production over a constituent: the top one, the
    bottom one, or with ``join`` all of them (the chain stays, to be joined when binarized). Over a
    preterminal the preterminal stays. With ``keep`` every singleton production stays, these too.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> str(clean(read_tree("( (S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home)))))")))
    '(S (VB go) (NN home))'
    """
    bare = without_traces(tree)
    return None if bare is None else simplify(bare, unary, functions)


def without_traces(tree: Tree) -> Tree | None:
    """The first half of cleaning: the tree without traces and wrapper, or None if that is nothing."""
    kept = _without_traces(tree)
    return None if kept is None else unwrap(kept)


def simplify(tree: Tree, unary: UnaryPolicy, functions: FunctionPolicy) -> Tree:
    """The other half: function tags and unary productions. Constituents of more children all stay."""
    if functions == "strip":
        tree = tree.fold(_itself, _stripped)
    return tree if unary == "keep" else tree.fold(_itself, _UNARY[unary])


def unwrap(tree: Tree) -> Tree:
    """Remove the wrappers (a root labelled nothing, TOP, ROOT, S1 or VROOT with one child)."""
    while len(tree.children) == 1 and tree.label in WRAPPERS:
        tree = tree.children[0]
    return tree


def strip_function(label: str) -> str:
    """Cut a label at its first ``-`` or ``=``, but for labels that begin with one.

    >>> strip_function("NP-SBJ=1"), strip_function("-LRB-")
    ('NP', '-LRB-')
    """
    if label[:1] in ("-", "="):
        return label
    return _FUNCTION.split(label, maxsplit=1)[0]


def _without_traces(tree: Tree) -> Tree | None:
    def inner(node: Tree, children: list[Tree | None]) -> Tree | None:
        kept = [child for child in children if child is not None]
        if len(kept) == len(node.children) and all(map(_same, kept, node.children)):
            return node
        return Tree(node.label, kept) if kept else None

    return tree.fold(lambda leaf: None if leaf.label == TRACE else leaf, inner)


def _same(one: Tree, other: Tree) -> bool:
    return one is other


def _itself(leaf: Tree) -> Tree:
    return leaf


def _stripped(node: Tree, children: list[Tree]) -> Tree:
    return Tree(strip_function(node.label), children)


def _keep_top(node: Tree, children: list[Tree]) -> Tree:
    if len(children) == 1:
        only = children[0]
        return only if only.is_leaf else Tree(node.label, only.children)
    return Tree(node.label, children)


def _keep_bottom(node: Tree, children: list[Tree]) -> Tree:
    return children[0] if len(children) == 1 else Tree(node.label, children)


def _keep_chain(node: Tree, children: list[Tree]) -> Tree:
    if len(children) == 1 and children[0].is_leaf:
        return children[0]
    return Tree(node.label, children)


_UNARY = {"top": _keep_top, "bottom": _keep_bottom, "join": _keep_chain}
