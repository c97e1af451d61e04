"""Rare words, and the terminals that take their place in training trees.

Rare words are replaced in the trees before rules are counted, by terminals in round brackets such as
``(UNKNOWN/NN)``. No word looks like one of these, since treebanks write brackets as ``-LRB-`` and ``-RRB-``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count
from typing import NamedTuple

from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.tree import Tree


class Occurrence(NamedTuple):
    """A word in its place."""

    tag: str
    word: str
    initial: bool
    """Whether it begins its sentence."""


Replacement = Callable[[Occurrence], str]


def unknown_terminal(parts: Iterable[str] = ()) -> str:
    """The terminal that stands for all unknown words, or for those of a class.

    >>> unknown_terminal(), unknown_terminal(["lower", "-ed"])
    ('(UNKNOWN)', '(UNKNOWN/lower/-ed)')
    """
    return f"({'/'.join(('UNKNOWN', *parts))})"


def is_unknown(terminal: str) -> bool:
    """Whether a terminal stands for unknown words.

    >>> is_unknown("(UNKNOWN/NN)"), is_unknown("UNKNOWN")
    (True, False)
    """
    return terminal.startswith("(UNKNOWN") and terminal.endswith(")")


def without_brackets(word: str) -> str:
    """A word as treebanks write it.

    >>> without_brackets("f(x)")
    'f-LRB-x-RRB-'
    """
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def rare_words(trees: Iterable[SourceTree], rare: int) -> frozenset[str]:
    """The words seen fewer than ``rare`` times, whatever their tags.

    A word that is also a terminal without a tag is not rare.
    """
    totals: Counter[str] = Counter()
    bare: set[str] = set()
    for _, _, tree in trees:
        for leaf in tree.leaves():
            if leaf.word is None:
                bare.add(leaf.label)
            else:
                totals[without_brackets(leaf.word)] += 1
    return frozenset(word for word, seen in totals.items() if seen < rare and word not in bare)


def occurrences(trees: Iterable[SourceTree], words: Collection[str]) -> Iterator[Occurrence]:
    """The occurrences of these words."""
    for _, _, tree in trees:
        for place, leaf in enumerate(tree.leaves()):
            if leaf.word is not None and (word := without_brackets(leaf.word)) in words:
                yield Occurrence(leaf.label, word, place == 0)


def replace_words(trees: Iterable[SourceTree], words: Collection[str], by: Replacement) -> list[SourceTree]:
    """The trees with these words replaced, and all others as treebanks write them."""
    return [SourceTree(source, line, _replaced(tree, words, by)) for source, line, tree in trees]


def _replaced(tree: Tree, words: Collection[str], by: Replacement) -> Tree:
    places = count()

    def leaf(node: Tree) -> Tree:
        place = next(places)  # leaves are visited from left to right
        if node.word is None:
            return node
        word = without_brackets(node.word)
        return Tree(node.label, word=by(Occurrence(node.label, word, place == 0)) if word in words else word)

    return tree.fold(leaf, lambda node, children: Tree(node.label, children))
