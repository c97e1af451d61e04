"""Where trees of one sentence differ: the constituents that one has, and another lacks.

Constituents are compared by span and projected label, one for one: of equal ones (a unary chain may hold
some) as many are common as the other tree has.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TextIO

from mbrparse.errors import InputMismatchError, LabelError
from mbrparse.treebank.clean import unwrap
from mbrparse.treebank.corpora.places import COLUMNS, CorpusPlace
from mbrparse.treebank.labels import project
from mbrparse.treebank.outlines import Constituent, constituents, yields_agree
from mbrparse.treebank.tree import Tree

#: Which constituents that the other tree lacks.
Kind = Literal["all", "labels", "spans"]

#: What a mark says.
MEANINGS: dict[Kind, str] = {
    "all": "a constituent that the other file does not have",
    "labels": "a constituent that has another label in the other file",
    "spans": "a constituent that the other file does not have, whatever its label",
}


class NamedTree(NamedTuple):
    """A tree to be drawn (None: no parse), under the name of its file, and the line that it begins on.

    ``marks`` are the preorder numbers of the constituents that the tree it is compared with lacks.
    """

    name: str
    tree: Tree | None
    marks: frozenset[int] = frozenset()
    line: int = 0


class Sentence(NamedTuple):
    """The trees of a sentence, and its number in their files (from 1).

    All are compared with the first (None), or two with each other, by their ``differences``; ``place`` is
    where the corpus has it, if that is known.
    """

    number: int
    trees: list[NamedTree]
    differences: Kind | None = None
    place: CorpusPlace | None = None

    @property
    def differs(self) -> bool:
        """Whether a constituent is marked, or a tree that is compared with the first has fewer."""
        if any(tree.marks for tree in self.trees):
            return True
        sizes = {None if one.tree is None else len(constituents(one.tree)) for one in self.trees}
        return self.differences in (None, "all") and len(sizes) > 1


def mark(trees: Sequence[NamedTree], differences: Kind | None = None) -> list[NamedTree]:
    """Mark each tree against the first, or two against each other.

    Raises InputMismatchError if they are not trees of one sentence.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> one, other = read_tree("(S (A x y) z)"), read_tree("(S x (A y z))")
    >>> [tree.marks for tree in mark([NamedTree("one", one), NamedTree("other", other)])]
    [frozenset(), frozenset({1})]
    """
    first, *others = (
        named if named.tree is None else named._replace(tree=unwrap(named.tree, {""})) for named in trees
    )
    for other in others:
        if first.tree and other.tree and not yields_agree(first.tree.leaves(), other.tree.leaves()):
            raise InputMismatchError(
                f"not the sentence of {first.name}: their terminals differ",
                source=other.name,
                remedy="show one file at a time, or files that hold the same sentences",
            )
    if differences is not None:
        (second,) = others
        marked = first._replace(marks=lacking(second.tree, first.tree, differences))
        return [marked, second._replace(marks=lacking(first.tree, second.tree, differences))]
    if first.tree is None:
        return [first, *others]
    return [first, *(other._replace(marks=lacking(first.tree, other.tree)) for other in others)]


def lacking(first: Tree | None, tree: Tree | None, kind: Kind = "all") -> frozenset[int]:
    """The preorder numbers of the constituents of ``tree`` that ``first`` lacks; no parse has none.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> one, other = read_tree("(S (A x y) (B z w))"), read_tree("(S (C x y) z w)")
    >>> [sorted(lacking(other, one, kind)) for kind in ("all", "labels", "spans")]
    [[1, 2], [1], [2]]
    """
    ours, theirs = _constituents(tree), _constituents(first)
    alone = list(_beyond(ours, theirs))
    if kind == "all":
        return frozenset(alone)
    others = [theirs[number][:2] for number in _beyond(theirs, ours)]
    placeless = {alone[place] for place in _beyond([ours[number][:2] for number in alone], others)}
    return frozenset(placeless if kind == "spans" else set(alone) - placeless)


def _beyond(items: Iterable[tuple[object, ...]], others: Iterable[tuple[object, ...]]) -> Iterator[int]:
    """The places of the items for which no equal one of the others is left, when the first took theirs."""
    left = Counter(others)
    for place, item in enumerate(items):
        left[item] -= 1
        if left[item] < 0:
            yield place


def _constituents(tree: Tree | None) -> list[Constituent]:
    """The constituents with projected labels."""
    found = [] if tree is None else constituents(tree)
    return [one._replace(label=_projected(one.label)) for one in found]


def _projected(label: str) -> str:
    try:
        return project(label)
    except LabelError:  # an original label may be anything
        return label


def write_differences(sentences: Iterable[Sentence], first: str, stream: TextIO) -> None:
    """A row of CSV for each sentence of two trees: its place, else that in the first file, and so on."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(("sentence", *COLUMNS, "length", "first_only", "second_only", "words"))
    for sentence in sentences:
        trees = sentence.trees
        leaves = next((one.tree.leaves() for one in trees if one.tree is not None), ())
        words = [leaf.label if leaf.word is None else leaf.word for leaf in leaves]
        marked = ("; ".join(_marked(one)) for one in trees)
        place = sentence.place or CorpusPlace(first, trees[0].line)
        rows.writerow((sentence.number, *place, len(words), *marked, " ".join(words)))


def _marked(named: NamedTree) -> Iterator[str]:
    """The marked constituents, with their 0-based, half-open spans."""
    for number, (start, end, label) in enumerate([] if named.tree is None else constituents(named.tree)):
        if number in named.marks:
            yield f"{label} {start}-{end}"
