"""Trees whose constituents have gaps, made continuous by raising; graphs and brackets that are such trees.

Words are put in the order of the sentence. A constituent may then have gaps; what is beyond one is
**raised**: of a constituent's contiguous parts the one with its head (else the longest, of equals the first)
stays, the children in other parts become its parent's, and so on up, until nothing crosses. Punctuation that
hangs from the top would make gaps of its own: it is put back into the lowest constituent with words on both
sides of it.

Discontinuous brackets, as disco-dop writes them, have leaves ``0=Was`` in any order; words may also stand
behind the tree and a tab: ``(S (VP 0= 2=) (V 1=))``.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import NamedTuple

from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.clean import WRAPPERS
from mbrparse.treebank.formats.conventions import Reading, leaf_word
from mbrparse.treebank.tree import Tree

LOWERED = "mark of punctuation put lower"
RAISED = "constituent raised out of one with a gap"
#: The label of a root that is none of the corpus's own.
VIRTUAL_ROOT = "VROOT"
SECONDARY = "secondary edge"
EDGE_OF_WORD = "edge label of a word"
_HEADS = ("HD", "hd")
_NO_LABEL = ("", "--")
_LEAF = re.compile(r"([0-9]+)=(.*)", re.DOTALL)
_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


class Word(NamedTuple):
    """A leaf, its place in the sentence, and whether it is its parent's head."""

    place: int
    leaf: Tree
    is_head: bool = False


class Phrase(NamedTuple):
    """A constituent with its words and constituents, in any order."""

    label: str
    children: Sequence[Phrase | Word]
    is_head: bool = False


class _Part(NamedTuple):
    """A tree over words (0-based, half-open), and whether it is its parent's head."""

    begin: int
    end: int
    tree: Tree
    is_head: bool


def written(text: str) -> str:
    """A word or a tag as brackets can hold it.

    >>> written("$("), written("New York")
    ('$-LRB-', 'New_York')
    """
    return "_".join(text.translate(_BRACKETS).split()) or "_"


def continuous(root: Phrase, reading: Reading, marks: Sequence[Word] = ()) -> Tree:
    """The tree of a root over all words but ``marks``, the punctuation that hangs from the top.

    Raises ValueError where there are no words, or two in one place, or a constituent has none; with
    ``discontinuous`` of "refuse" where one has a gap.
    """
    places = sorted(word.place for word in (*_words(root), *marks))
    if any(one == other for one, other in pairwise(places)):
        raise ValueError("two words in one place")
    inside = sorted(word.place for word in _words(root))
    if not inside:
        if not marks:
            raise ValueError("no words")
        return Tree(root.label, [word.leaf for word in sorted(marks, key=lambda word: word.place)])
    whole = _parts(root, {place: number for number, place in enumerate(inside)}, reading)[0].tree
    between: dict[int, list[Tree]] = {}
    for mark in sorted(marks, key=lambda word: word.place):
        between.setdefault(bisect.bisect(inside, mark.place), []).append(mark.leaf)
    return _with_marks(whole, between, len(inside), reading) if between else whole


def _words(root: Phrase) -> Iterator[Word]:
    for child in root.children:
        if isinstance(child, Word):
            yield child
        else:
            yield from _words(child)


def _parts(node: Phrase, order: dict[int, int], reading: Reading) -> list[_Part]:
    """The constituent's own tree, and those that were raised out of it."""
    inside: list[_Part] = []
    for child in node.children:
        if isinstance(child, Word):
            place = order[child.place]
            inside.append(_Part(place, place + 1, child.leaf, child.is_head))
        else:
            inside += _parts(child, order, reading)
    if not inside:
        raise ValueError(f"constituent {node.label!r} without words")
    inside.sort(key=lambda part: part.begin)
    runs = [[inside[0]]]
    for before, part in pairwise(inside):
        if before.end == part.begin:
            runs[-1].append(part)
        else:
            runs.append([part])
    own = max(runs, key=lambda run: (any(part.is_head for part in run), run[-1].end - run[0].begin))
    raised = [part._replace(is_head=False) for run in runs if run is not own for part in run]
    if raised and reading.own.discontinuous == "refuse":
        raise ValueError(f"constituent {node.label!r} has a gap")
    if raised:
        reading.removed[RAISED] += len(raised)
    tree = Tree(node.label, [part.tree for part in own])
    return [_Part(own[0].begin, own[-1].end, tree, node.is_head), *raised]


def _with_marks(tree: Tree, between: dict[int, list[Tree]], words: int, reading: Reading) -> Tree:
    """The tree with marks of punctuation, given by the number of words before them."""
    places = count(1)

    def leaf(node: Tree) -> tuple[int, Tree]:
        return next(places), node

    def inner(node: Tree, children: list[tuple[int, Tree]]) -> tuple[int, Tree]:
        """The node, and the number of words before its end."""
        found = [children[0][1]]
        for (end, _), (_, child) in pairwise(children):
            marks = between.pop(end, [])
            found += [*marks, child]
            if marks and node is not tree:
                reading.removed[LOWERED] += len(marks)
        return children[-1][0], Tree(node.label, found)

    _, whole = tree.fold(leaf, inner)
    return Tree(whole.label, [*between.get(0, []), *whole.children, *between.get(words, [])])


class SentenceGraph:
    """The nodes of a sentence by their names; words in the order in which they are added."""

    def __init__(self, reading: Reading) -> None:
        self.secondary = 0
        self._reading = reading
        self._words: dict[str, Tree] = {}
        self._constituents: dict[str, str] = {}
        self._children: dict[str, list[str]] = {}
        self._parents: dict[str, tuple[str, str]] = {}  # and the edge's label

    def add_word(self, name: str, word: str, tag: str, lemma: str | None) -> None:
        """Add the next word; raises ValueError where its name is not new."""
        self._check_new(name)
        chosen = leaf_word(word, lemma, self._reading.conventions.leaves)
        self._words[name] = Tree(written(tag), word=written(chosen))

    def add_constituent(self, name: str, label: str) -> None:
        """Add a constituent; raises ValueError where its name is not new."""
        self._check_new(name)
        self._constituents[name] = written(label)

    def add_edge(self, name: str, parent: str, label: str) -> None:
        """Put a node below its parent; raises ValueError where it has one, or either is not there."""
        if name in self._parents:
            raise ValueError(f"node {name!r} has two parents")
        for node, nodes in ((name, {**self._words, **self._constituents}), (parent, self._constituents)):
            if node not in nodes:
                raise ValueError(f"no node {node!r}")
        self._parents[name] = parent, label
        self._children.setdefault(parent, []).append(name)

    def tree(self) -> Tree:
        """The tree, made continuous; raises ValueError where there is none.

        Nodes without a parent are below one root, but for a single constituent, which is the root.
        """
        tops = [name for name in (*self._constituents, *self._words) if name not in self._parents]
        loose = [name for name in tops if name in self._words]
        roots = [name for name in tops if name not in self._words]
        if not tops:
            raise ValueError("no root")
        if len(roots) == 1 and self._constituents[roots[0]] in WRAPPERS:
            below = self._children.pop(roots[0], [])
            loose += [name for name in below if name in self._words]
            label, roots = self._constituents[roots[0]], [name for name in below if name not in self._words]
        elif len(roots) == 1 and not loose:
            label, roots = self._constituents[roots[0]], self._children.get(roots[0], [])
        else:
            label = VIRTUAL_ROOT
        order = {name: place for place, name in enumerate(self._words)}
        marks = [Word(order[name], self._words[name]) for name in loose]
        children = [self._node(name, order) for name in roots]
        attached = len(marks) + sum(map(_size, children))
        if attached < len(self._words):
            raise ValueError("a node above itself")
        removed = self._reading.removed
        if self.secondary:
            removed[SECONDARY] += self.secondary
        labels = sum(
            label not in _NO_LABEL for name, (_, label) in self._parents.items() if name in self._words
        )
        if labels:
            removed[EDGE_OF_WORD] += labels
        return continuous(Phrase(label, children), self._reading, marks)

    def _check_new(self, name: str) -> None:
        if name in self._words or name in self._constituents:
            raise ValueError(f"two nodes {name!r}")

    def _node(self, name: str, order: dict[str, int]) -> Phrase | Word:
        _, edge = self._parents.get(name, ("", ""))
        if name in self._words:
            return Word(order[name], self._words[name], edge in _HEADS)
        label = self._constituents[name]
        label = label if edge in _NO_LABEL else f"{label}-{written(edge)}"
        children = [self._node(child, order) for child in self._children.get(name, [])]
        return Phrase(label, children, edge in _HEADS)


def _size(node: Phrase | Word) -> int:
    return 1 if isinstance(node, Word) else sum(map(_size, node.children))


def read_discbracket(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees, one a line."""
    for number, line in enumerate(lines, start=1):
        text, _, behind = line.partition("\t")
        words = behind.split()
        for _, tree, _ in read_trees([text], source, reading.on_error, number):
            if tree is None:
                yield ReadTree(number, None)
                continue
            with reading.refusing("no tree of discontinuous brackets", source, number):
                yield ReadTree(number, _bracketed(tree, words, reading))


def _bracketed(tree: Tree, words: list[str], reading: Reading) -> Tree:
    def leaf(node: Tree) -> Phrase | Word:
        found = _LEAF.fullmatch(node.label if node.word is None else node.word)
        if found is None:
            raise ValueError(f"leaf {node} without its place, as in 0=word")
        place = int(found[1])
        if not found[2] and place >= len(words):
            raise ValueError(f"no word in place {place}")
        word = written(found[2] or words[place])
        return Word(place, Tree(word) if node.word is None else Tree(node.label, word=word))

    def inner(node: Tree, children: list[Phrase | Word]) -> Phrase | Word:
        return Phrase(node.label, children)

    root = tree.fold(leaf, inner)
    if isinstance(root, Word):
        return root.leaf
    constituents = [child for child in root.children if isinstance(child, Phrase)]
    if root.label not in WRAPPERS or not constituents:
        return continuous(root, reading)
    marks = [child for child in root.children if isinstance(child, Word)]
    return continuous(Phrase(root.label, constituents), reading, marks)
