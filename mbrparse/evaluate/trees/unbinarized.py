"""Trees on their way to a comparison of original forms: those of binarized files are un-binarized.

A file (or list of trees) is taken to be binarized if any label in it is a continuation; all of its trees
then are, those without one too, and flat fall-backs among them. Without a continuation its trees stay as
they are: what looks like a joined chain (``A+B``) or an annotation (``A^B``) may be a treebank's own label.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from mbrparse.errors import LabelError
from mbrparse.evaluate.trees.agreement import looks_continued
from mbrparse.evaluate.trees.sources import TreeSource
from mbrparse.log import Log
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.clean import unwrap
from mbrparse.treebank.labels import parse_label, split_chain
from mbrparse.treebank.tree import Tree


class OriginalForms:
    """The sources of one comparison, each in original form; what a user should know is told once."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._chains_told = False

    def trees(self, source: TreeSource) -> Iterator[ReadTree]:
        """The trees of a source, un-binarized if they were binarized; raises as ``source.trees`` does.

        Until a continuation is found, trees that would be changed wait, and what follows them: few, but
        where original labels look like those of a binarization. Raises LabelError.
        """
        trees = source.trees()
        waiting: list[ReadTree] = []
        for read in trees:
            if read.tree is not None and any(map(looks_continued, _labels(read.tree))):
                break
            if waiting or (read.tree is not None and any(map(_would_change, _labels(read.tree)))):
                waiting.append(read)
            else:
                yield read
        else:
            yield from self._as_they_are(waiting, source)
            return
        for line, tree in chain(waiting, [read], trees):
            yield ReadTree(line, None if tree is None else self._unbinarized(tree, line, source))

    def _as_they_are(self, waiting: list[ReadTree], source: TreeSource) -> list[ReadTree]:
        trees = [tree for _, tree in waiting if tree is not None]
        if trees and not any(len(node.children) > 2 for tree in trees for node in tree.preorder()):
            label = next(filter(_would_change, _labels(trees[0])))
            self._log(
                f"{source.source}: no label is a continuation, so labels such as {label} stay as they are"
            )
        return waiting

    def _unbinarized(self, tree: Tree, line: int, source: TreeSource) -> Tree:
        try:
            original = debinarize(unwrap(tree))
        except LabelError as error:
            remedy = "other labels here are continuations: is this tree in binarized form?"
            raise source.place(line).error(LabelError, error.message, remedy) from None
        if not self._chains_told and (joined := _first_chain(tree)) is not None:
            self._chains_told = True
            count = len(split_chain(joined))
            self._log(f"joined chains are expanded, and {joined} counts as {count} constituents")
        return original


def _labels(tree: Tree) -> Iterator[str]:
    return (node.label for node in unwrap(tree).preorder() if not node.is_leaf)


@lru_cache(maxsize=65536)
def _would_change(label: str) -> bool:
    """Whether un-binarizing does anything to a label, if only to refuse it."""
    try:
        return split_chain(parse_label(label).base) != (label,)
    except LabelError:
        return True


def _first_chain(tree: Tree) -> str | None:
    """The first joined chain among a tree's constituents."""
    bases = (parse_label(label).base for label in _labels(tree) if not looks_continued(label))
    return next((base for base in bases if len(split_chain(base)) > 1), None)
