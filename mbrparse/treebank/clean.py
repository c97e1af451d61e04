"""From a treebank's trees to the trees that are worked on: the *cleaned* form.

In this order: traces (``-NONE-``) and what they leave empty are removed, a wrapper around the root is
removed, function tags are cut off, and the unary policy is applied.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Set
from typing import Literal

from mbrparse.treebank.categories import STRIP, Categories, categories
from mbrparse.treebank.tree import Tree

UnaryPolicy = Literal["top", "bottom", "join", "join-tags", "keep"]
TRACE = "-NONE-"
WRAPPERS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})


def clean(tree: Tree, unary: UnaryPolicy = "top", functions: str = STRIP) -> Tree | None:
    """The cleaned tree, or None where nothing but traces was there.

    ``unary`` says which label survives a singleton production over a constituent: the top one, the
    bottom one, or with ``join`` all of them (the chain stays, to be joined when binarized). Over a
    preterminal the preterminal stays. With ``keep`` every singleton production stays, these too, and with
    ``join-tags``, to be joined with the tag when binarized.
    ``functions`` says what is cut off labels, as ``categories`` has it.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> str(clean(read_tree("( (S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home)))))")))
    '(S (VB go) (NN home))'
    """
    bare = without_traces(tree)
    return None if bare is None else simplify(bare, unary, categories(functions))


def without_traces(tree: Tree) -> Tree | None:
    """The first half of cleaning: the tree without traces and wrapper, or None if that is nothing."""
    kept = prune(tree, lambda leaf: leaf.label == TRACE)
    return None if kept is None else unwrap(kept)


def simplify(tree: Tree, unary: UnaryPolicy, how: Categories) -> Tree:
    """The other half: function tags and unary productions. Constituents of more children all stay."""
    if not how.is_identity:
        tree = relabel(tree, how)
    return tree.fold(_itself, _UNARY[unary]) if unary in _UNARY else tree


def relabel(tree: Tree, how: Categories) -> Tree:
    """The tree with categories for labels."""
    named: dict[str, str] = {}  # a treebank has few labels, many times each

    def leaf(node: Tree) -> Tree:
        if node.word is None:
            return node
        tag = how.tag(node.label)
        return node if tag == node.label else Tree(tag, word=node.word)

    def inner(node: Tree, children: list[Tree]) -> Tree:
        if node.label not in named:
            named[node.label] = how.category(node.label)
        return Tree(named[node.label], children)

    tags_stay = not how.before and how.label_map is None
    return tree.fold(_itself if tags_stay else leaf, inner)


def unwrap(tree: Tree, wrappers: Set[str] = WRAPPERS) -> Tree:
    """Remove the wrappers (a root labelled nothing, TOP, ROOT, S1 or VROOT with one child)."""
    while len(tree.children) == 1 and tree.label in wrappers:
        tree = tree.children[0]
    return tree


def prune(tree: Tree, is_empty: Callable[[Tree], bool]) -> Tree | None:
    """The tree without such leaves and the constituents that they leave empty; None if nothing is left.

    >>> tree = Tree("S", [Tree("NP", [Tree("T", word="*")]), Tree("V", word="go")])
    >>> str(prune(tree, lambda leaf: leaf.word == "*"))
    '(S (V go))'
    """

    def inner(node: Tree, children: list[Tree | None]) -> Tree | None:
        kept = [child for child in children if child is not None]
        if len(kept) == len(node.children) and all(map(operator.is_, kept, node.children)):
            return node
        return Tree(node.label, kept) if kept else None

    return tree.fold(lambda leaf: None if is_empty(leaf) else leaf, inner)


def _itself(leaf: Tree) -> Tree:
    return leaf


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
