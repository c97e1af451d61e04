"""The terminals and constituents of a tree, read off in one walk, and whether trees are of one sentence.

Conventions: spans are 0-based and half-open; terminals are no constituents; a wrapper around the root
(a root labelled nothing, TOP, ROOT, S1 or VROOT with one child) is none either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence, Set
from typing import NamedTuple

from mbrparse.treebank.clean import WRAPPERS, unwrap
from mbrparse.treebank.labels import is_continuation_label
from mbrparse.treebank.tree import Tree

Span = tuple[int, int]


class Outline(NamedTuple):
    """A tree's terminals and its constituents, parents before children, left to right.

    ``odd`` holds the constituents that have not exactly two children.
    """

    leaves: list[Tree]
    spans: list[Span]
    labels: list[str]
    odd: list[Tree]


def outline(tree: Tree, wrappers: Set[str] = WRAPPERS) -> Outline:
    """Read a tree; what is above the wrappers' only children is passed over.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> outline(read_tree("(TOP (S x (A x x)))"))[1:]
    ([(0, 3), (1, 3)], ['S', 'A'], [])
    """
    root = unwrap(tree, wrappers)
    leaves: list[Tree] = []
    starts: list[int] = []
    ends: list[int] = []
    labels: list[str] = []
    odd: list[Tree] = []
    if root.is_leaf:
        return Outline([root], [], [], [])
    # Nodes on the way down, each with the place that its children are read to: a leaf costs one step.
    stack: list[tuple[tuple[Tree, ...], int, int]] = []
    children: tuple[Tree, ...] = (root,)
    place, number = 0, -1
    while True:
        while place < len(children):
            child = children[place]
            place += 1
            below = child.children
            if not below:
                leaves.append(child)
                continue
            stack.append((children, place, number))
            children, place, number = below, 0, len(starts)
            starts.append(len(leaves))
            ends.append(0)
            labels.append(child.label)
            if len(below) != 2:
                odd.append(child)
        if not stack:
            break
        ends[number] = len(leaves)
        children, place, number = stack.pop()
    return Outline(leaves, list(zip(starts, ends, strict=True)), labels, odd)


def tree_digest(tree: Tree | None) -> str:
    """Eight hexadecimal digits of a tree's words and bare brackets, by which its details are known.

    Binarized and not it has the same: continuations, chains and constituents over one terminal do not count.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> binarized, tree = read_tree("(S (NP+A a b) (S_Cont c d))"), read_tree("(S (NP (A a b)) c d)")
    >>> tree_digest(binarized) == tree_digest(tree)
    True
    """
    if tree is None:
        return "0" * 8
    read = outline(tree)
    nodes = zip(read.spans, read.labels, strict=True)
    spans = {span for span, label in nodes if span[1] - span[0] > 1 and not is_continuation_label(label)}
    content = (len(read.leaves), [leaf.word for leaf in read.leaves], sorted(spans - {(0, len(read.leaves))}))
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:8]


class Constituent(NamedTuple):
    """A labelled span: 0-based, half-open positions between terminals."""

    start: int
    end: int
    label: str


def constituents(tree: Tree) -> list[Constituent]:
    """Every constituent of a tree, wrappers too, parents before children, left to right; terminals are none.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> constituents(read_tree("(S x (A x x))"))
    [Constituent(start=0, end=3, label='S'), Constituent(start=1, end=3, label='A')]
    """
    read = outline(tree, wrappers=frozenset())
    return [Constituent(*span, label) for span, label in zip(read.spans, read.labels, strict=True)]


def yields_agree(gold: Sequence[Tree], guess: Sequence[Tree]) -> bool:
    """Whether two yields are one sentence; see ``first_difference``."""
    words = [leaf.word for leaf in gold]
    if None not in words and words == [leaf.word for leaf in guess]:  # the usual case, and faster
        return True
    return len(gold) == len(guess) and all(map(_agree, gold, guess))


def first_difference(gold: Sequence[Tree], guess: Sequence[Tree], other: str = "the gold") -> str:
    """Where two yields part, in words.

    Words are compared where both terminals have one, since a parser may have tagged anew. A bare
    terminal is its own tag and its own word: it agrees with either.

    >>> first_difference([Tree("NN", word="dog")], [Tree("dog"), Tree("x")])
    'it has 2 terminals, the gold 1: the last is x'
    """
    place = next(
        (index for index, pair in enumerate(zip(gold, guess, strict=False)) if not _agree(*pair)), None
    )
    lengths = "" if len(gold) == len(guess) else f"it has {len(guess)} terminals, {other} {len(gold)}"
    if place is not None:
        differs = f"terminal {place + 1} is {guess[place]}, in {other} {gold[place]}"
        return f"{lengths}: {differs}" if lengths else differs
    longer = max(gold, guess, key=len)
    whose = "" if longer is guess else f" of {other}'s"
    return f"{lengths}: the last{whose} is {longer[-1]}"


def _agree(gold: Tree, guess: Tree) -> bool:
    if guess.word is None:
        return guess.label in (gold.label, gold.word)
    if gold.word is None:
        return gold.label in (guess.label, guess.word)
    return gold.word == guess.word
