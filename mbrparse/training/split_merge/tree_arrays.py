"""Observed trees as arrays of nodes, for kernels."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.rule_tables import Ints
from mbrparse.errors import GrammarError
from mbrparse.grammar.rules import Rule, TerminalKind, is_terminal, quote
from mbrparse.training.count import checked_children, rule_name
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape
from mbrparse.treebank.tree import Tree

#: The symbol over each tree, whose rules are the distribution of roots. It is never split.
ROOT = ""


class TreeArrays(NamedTuple):
    """Nodes of binarized trees, children before parents; the last node of each tree is ROOT's.

    A child is its place in its tree, or -1: there is none, or it is a terminal.
    """

    first: Ints  # [trees + 1] nodes
    rule: Ints  # [nodes]
    left: Ints  # [nodes]
    right: Ints  # [nodes]


class ObservedTrees(NamedTuple):
    """Trees and their rules, in ascending order, without states."""

    rules: tuple[Rule, ...]
    arrays: TreeArrays


def observe(trees: Iterable[SourceTree], terminals: TerminalKind) -> ObservedTrees:
    """The arrays of binarized trees; raises GrammarError as ``induce`` does.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> found = observe([SourceTree("", 1, read_tree("(S (NP (PRP he)) (VBZ is))"))], "words")
    >>> [(str(found.rules[rule]), left) for rule, left in zip(found.arrays.rule, found.arrays.left.tolist())]
    [("PRP -> 'he'", -1), ('NP -> PRP', 0), ("VBZ -> 'is'", -1), ('S -> NP VBZ', 1), (' -> S', 3)]
    """
    words = terminals == "words"
    ids: dict[tuple[str, ...], int] = {}
    first, rule, left, right = array("i", [0]), array("i"), array("i"), array("i")

    def add(names: tuple[str, ...], children: Sequence[int]) -> int:
        rule.append(ids.setdefault(names, len(ids)))
        left.append(children[0] if children else -1)
        right.append(children[1] if len(children) > 1 else -1)
        return len(rule) - 1 - first[-1]

    def leaf(node: Tree) -> int:
        return add((escape(node.label), quote(node.word)), ()) if words and node.word is not None else -1

    def inner(node: Tree, places: Sequence[int]) -> int:
        children = checked_children(node, source)
        if len(children) == 1 and places[0] < 0:
            tag = children[0].label
            places = [add((escape(tag), quote(tag)), ())]
        return add((node.label, *(rule_name(child, words, len(children)) for child in children)), places)

    for source in trees:
        add((ROOT, source.tree.label), (source.tree.fold(leaf, inner),))
        first.append(len(rule))
    if not rule:
        raise GrammarError("no trees to train on", remedy="give binarized trees: mbrparse binarize")
    names = sorted(ids)
    place = np.empty(len(ids), np.int32)
    place[[ids[name] for name in names]] = np.arange(len(ids))
    columns = (np.array(values, np.int32) for values in (first, rule, left, right))
    firsts, numbers, lefts, rights = columns
    rules = tuple(Rule(parent, tuple(children)) for parent, *children in names)
    return ObservedTrees(rules, TreeArrays(firsts, place[numbers], lefts, rights))


def inner_children(rule: Rule) -> tuple[str | None, str | None]:
    """The left and the right child with states of their own; None: there is none, or a terminal."""
    names = [None if is_terminal(name) else name for name in rule.children]
    return names[0], names[1] if len(names) > 1 else None
