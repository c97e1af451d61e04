"""Trees of other programs, whose labels have marks of their own (``LabelMarks``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from mbrparse.log import Log
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.clean import unwrap
from mbrparse.treebank.labels import LabelMarks, continuation_of, foreign_note
from mbrparse.treebank.tree import Tree

Item = TypeVar("Item")

_LOOKED_AT = 1000  # trees: a binarizer's labels are in every few


def translated(tree: Tree, marks: LabelMarks) -> Tree:
    """A tree of another program with its constituents' labels as binarized trees have them here.

    A null label becomes the continuation of the label above, but at the root.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> marks = LabelMarks("::", "|<", "-")
    >>> print(translated(read_tree("(S::VP (V a) (VP|<> (P b) (- (N c) (N d))))"), marks))
    (S+VP (V a) (VP_Cont (P b) (VP_Cont (N c) (N d))))
    """
    found: list[tuple[Tree, str]] = []
    stack = [(tree, "")]
    while stack:
        node, above = stack.pop()
        label = node.label
        if node.children:
            label = continuation_of(above) if above and label in marks.null else marks.translate(label)
        found.append((node, label))
        stack.extend((child, label) for child in reversed(node.children))
    built: list[Tree] = []
    for node, label in reversed(found):
        built.append(Tree(label, [built.pop() for _ in node.children], word=node.word))
    return built[0]


def translated_trees(trees: Iterable[ReadTree], marks: LabelMarks, nary: bool) -> Iterator[ReadTree]:
    """Trees, those with ``marks`` in their labels ``translated``, and with ``nary`` debinarized."""
    for line, tree, name in trees:
        if tree is not None and any(map(marks.in_label, phrase_labels(tree))):
            ours = translated(unwrap(tree), marks)
            yield ReadTree(line, debinarize(ours) if nary else ours, name)
        else:
            yield ReadTree(line, tree, name)


def our_trees(
    trees: Iterable[ReadTree], marks: LabelMarks | None, nary: bool, source: str, log: Log
) -> Iterator[ReadTree]:
    """The same, or without marks trees as they are; ``log`` is told of labels that still look foreign."""
    found = trees if marks is None else translated_trees(trees, marks, nary)
    return watched(found, lambda read: phrase_labels(read.tree), source, log)


def phrase_labels(tree: Tree | None) -> set[str]:
    """The labels of a tree's constituents."""
    return set() if tree is None else {node.label for node in unwrap(tree).preorder() if node.children}


def watched(
    items: Iterable[Item], labels_of: Callable[[Item], Iterable[str]], source: str, log: Log
) -> Iterator[Item]:
    """Trees or lines as they are; ``log`` is told once where labels look like another program's."""
    told = False
    for number, item in enumerate(items):
        if not told and number < _LOOKED_AT and (found := foreign_note(labels_of(item))):
            told = True
            log(f"{source}: {found}")
        yield item
