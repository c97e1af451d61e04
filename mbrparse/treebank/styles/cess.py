"""CESS-ECE's style (Spanish, Catalan): a leaf is ``(tag word lemma)``, ``*0*`` a subject that is not said.

NLTK's reader hands out word and lemma as two words, so that every sentence comes twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.styles.style import Leaves, Reading
from mbrparse.treebank.tree import Tree

EMPTY = "*0*"
_BRACKETS = {"-Fpa-": "-LRB-", "-Fpt-": "-RRB-"}


def read_cess(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file, a word (or what ``reading.leaves`` asks for) under each tag."""
    removed, leaves = reading.removed, reading.leaves or "word"

    def leaf(node: Tree) -> Tree | None:
        if (node.word or node.label) == EMPTY:
            removed[EMPTY] += 1
            return None
        return node

    def inner(node: Tree, children: list[Tree | None]) -> Tree | None:
        kept = [child for child in children if child is not None]
        if len(kept) == 2 and all(child.is_leaf and child.word is None for child in kept):
            word, lemma = (_BRACKETS.get(child.label, child.label) for child in kept)
            removed[{"word": "lemma", "lemma": "word", "both": "space before a lemma"}[leaves]] += 1
            return Tree(node.label, word=_chosen(word, lemma, leaves))
        if not kept:
            removed["constituent left empty"] += 1
        return Tree(node.label, kept) if kept else None

    for line, tree in read_trees(lines, source, reading.on_error):
        yield ReadTree(line, None if tree is None else tree.fold(leaf, inner))


def _chosen(word: str, lemma: str, leaves: Leaves) -> str:
    return f"{word}-{lemma}" if leaves == "both" else word if leaves == "word" else lemma
