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
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, count, pairwise
from operator import itemgetter
from typing import TypeAlias

from mbrparse.treebank import brackets, clean
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


#: A tree over words (begin and end, 0-based, half-open), and whether it is its parent's head.
Part: TypeAlias = tuple[int, int, Tree, bool]


@lru_cache(maxsize=1 << 16)
def written(text: str) -> str:
    """A word or a tag as brackets can hold it.

    >>> written("$("), written("New York")
    ('$-LRB-', 'New_York')
    """
    return "_".join(text.translate(_BRACKETS).split()) or "_"


@lru_cache(maxsize=1 << 16)
def written_leaf(tag: str, word: str) -> Tree:
    """A leaf as brackets can hold it; equal ones are one object."""
    return Tree(written(tag), word=written(word))


class WordOrder:
    """The order of a sentence's words, in which trees are built bottom up, and made continuous.

    ``places`` are those of all words but ``marks``, the punctuation that hangs from the top, with its places.
    Raises ValueError where two words are in one place, or there are none.
    """

    def __init__(self, places: Iterable[int], marks: Iterable[tuple[int, Tree]], reading: Reading) -> None:
        inside, marks = sorted(places), sorted(marks, key=itemgetter(0))
        if len({*inside, *(place for place, _ in marks)}) < len(inside) + len(marks):
            raise ValueError("two words in one place")
        if not (inside or marks):
            raise ValueError("no words")
        self._inside, self._marks, self._reading = inside, marks, reading
        self._order = {place: number for number, place in enumerate(inside)}

    def word(self, place: int, leaf: Tree, is_head: bool = False) -> Part:
        """A word among the others."""
        number = self._order[place]
        return number, number + 1, leaf, is_head

    def constituent(self, label: str, inside: list[Part], is_head: bool = False) -> list[Part]:
        """The constituent over parts, which get sorted, and those that were raised out of it.

        Raises ValueError where there are no parts; with ``discontinuous`` of "refuse" where it has a gap.
        """
        if not inside:
            raise ValueError(f"constituent {label!r} without words")
        inside.sort()  # no two begin with one word
        begin, end = inside[0][0], inside[-1][1]
        if end - begin == sum([part[1] - part[0] for part in inside]):
            return [(begin, end, Tree(label, [part[2] for part in inside]), is_head)]
        if self._reading.own.discontinuous == "refuse":
            raise ValueError(f"constituent {label!r} has a gap")
        own, raised = _separated(inside)
        self._reading.removed[RAISED] += len(raised)
        return [(own[0][0], own[-1][1], Tree(label, [part[2] for part in own]), is_head), *raised]

    def tree(self, label: str, inside: list[Part]) -> Tree:
        """The tree of a root over parts, and the marks."""
        if sum([part[1] - part[0] for part in inside]) < len(self._inside):
            raise ValueError("a node above itself")
        if not inside:
            return Tree(label, [leaf for _, leaf in self._marks])
        whole = self.constituent(label, inside)[0][2]
        between: dict[int, list[Tree]] = {}
        for place, leaf in self._marks:
            between.setdefault(bisect.bisect(self._inside, place), []).append(leaf)
        return _with_marks(whole, between, len(self._inside), self._reading) if between else whole


def _separated(inside: list[Part]) -> tuple[list[Part], list[Part]]:
    """The contiguous parts with the head, or most words, and all others."""
    runs = [[inside[0]]]
    for before, part in pairwise(inside):
        if before[1] == part[0]:
            runs[-1].append(part)
        else:
            runs.append([part])
    own = max(runs, key=lambda run: (any(part[3] for part in run), run[-1][1] - run[0][0]))
    return own, [(*part[:3], False) for run in runs if run is not own for part in run]


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


#: What a node is called, of words also their number.
Name: TypeAlias = str | int


class SentenceGraph:
    """The nodes of a sentence by their names; words in the order in which they are added."""

    def __init__(self, reading: Reading) -> None:
        self.secondary = 0
        self._reading = reading
        self._nodes: dict[Name, tuple[int, Tree] | str] = {}  # words, and labels of constituents
        self._words = self._labelled = 0  # and those of them that have an edge with a label
        self._children: dict[Name, list[Name]] = {}
        self._edges: dict[Name, str] = {}  # labels, by the node below

    def add_word(self, name: Name, word: str, tag: str, lemma: str | None) -> None:
        """Add the next word; raises ValueError where its name is not new."""
        chosen = leaf_word(word, lemma, self._reading.conventions.leaves)
        self._add(name, (self._words, written_leaf(tag, chosen)))
        self._words += 1

    def add_constituent(self, name: Name, label: str) -> None:
        """Add a constituent; raises ValueError where its name is not new."""
        self._add(name, written(label))

    def _add(self, name: Name, node: tuple[int, Tree] | str) -> None:
        if name in self._nodes:
            raise ValueError(f"two nodes {name!r}")
        self._nodes[name] = node

    def add_edge(self, name: Name, parent: Name, label: str) -> None:
        """Put a node below its parent; raises ValueError where it has one, or either is not there."""
        if name in self._edges:
            raise ValueError(f"node {name!r} has two parents")
        if name not in self._nodes or not isinstance(self._nodes.get(parent), str):
            raise ValueError(f"no node {parent if name in self._nodes else name!r}")
        self._labelled += label not in _NO_LABEL and not isinstance(self._nodes[name], str)
        self._edges[name] = label
        self._children.setdefault(parent, []).append(name)

    def tree(self) -> Tree:
        """The tree, made continuous; raises ValueError where there is none.

        Nodes without a parent are below one root, but for a single constituent, which is the root.
        """
        loose, roots = self._divided(name for name in self._nodes if name not in self._edges)
        if not (loose or roots):
            raise ValueError("no root")
        label = VIRTUAL_ROOT
        if len(roots) == 1 and (not loose or self._nodes[roots[0]] in clean.WRAPPERS):
            label = str(self._nodes[roots[0]])
            below = self._children.pop(roots[0], [])
            more, roots = self._divided(below) if label in clean.WRAPPERS else ([], below)
            loose += more
        marks = [word for name in loose if not isinstance(word := self._nodes[name], str)]
        places = {*range(self._words)} - {place for place, _ in marks}
        order = WordOrder(places, marks, self._reading)
        removed = self._reading.removed
        if self.secondary:
            removed[SECONDARY] += self.secondary
        if self._labelled:
            removed[EDGE_OF_WORD] += self._labelled
        return order.tree(label, self._parts(roots, order))

    def _divided(self, names: Iterable[Name]) -> tuple[list[Name], list[Name]]:
        """Words and constituents."""
        found: tuple[list[Name], list[Name]] = [], []
        for name in names:
            found[isinstance(self._nodes[name], str)].append(name)
        return found

    def _parts(self, names: Iterable[Name], order: WordOrder) -> list[Part]:
        found: list[Part] = []
        for name in names:
            node, edge = self._nodes[name], self._edges.get(name, "")
            if isinstance(node, str):
                inside = self._parts(self._children.get(name, ()), order)
                label = node if edge in _NO_LABEL else f"{node}-{written(edge)}"
                found += order.constituent(label, inside, edge in _HEADS)
            else:
                found.append(order.word(*node, edge in _HEADS))
        return found


def read_discbracket(lines: Iterable[str], source: str, reading: Reading) -> Iterator[brackets.ReadTree]:
    """Yield the trees, one a line."""
    for number, line in enumerate(lines, start=1):
        text, _, behind = line.partition("\t")
        words = behind.split()
        for _, tree, _ in brackets.read_trees([text], source, reading.on_error, number):
            if tree is None:
                yield brackets.ReadTree(number, None)
                continue
            with reading.refusing("no tree of discontinuous brackets", source, number):
                yield brackets.ReadTree(number, _bracketed(tree, words, reading))


def _bracketed(tree: Tree, words: list[str], reading: Reading) -> Tree:
    def placed(node: Tree) -> tuple[int, Tree]:
        found = _LEAF.fullmatch(node.label if node.word is None else node.word)
        if found is None:
            raise ValueError(f"leaf {node} without its place, as in 0=word")
        place = int(found[1])
        if not found[2] and place >= len(words):
            raise ValueError(f"no word in place {place}")
        word = found[2] or words[place]
        return place, Tree(written(word)) if node.word is None else written_leaf(node.label, word)

    leaves = [*map(placed, tree.leaves())]
    if tree.is_leaf:
        return leaves[0][1]
    loose = [child for child in tree.children if child.is_leaf]
    marks = [*map(placed, loose)] if tree.label in clean.WRAPPERS and len(loose) < len(tree.children) else []
    outside = {place for place, _ in marks}
    order = WordOrder((place for place, _ in leaves if place not in outside), marks, reading)
    following = iter(leaves)

    def leaf(_: Tree) -> list[Part]:
        place, word = next(following)
        return [] if place in outside else [order.word(place, word)]

    def inner(node: Tree, children: list[list[Part]]) -> list[Part]:
        return order.constituent(node.label, [*chain.from_iterable(children)])

    return order.tree(tree.label, [part for child in tree.children for part in child.fold(leaf, inner)])
