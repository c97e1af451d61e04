"""The treebank that a DOP grammar is made of, each distinct subtree once (Goodman 1996, DOP).

Every inner node of a binary tree is at an *address*; nodes over equal subtrees share one, which counts them.
All fragments of the treebank, and what each weighs, follow from the addresses alone (see ``dop_grammar``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import FloatArray, IntArray
from mbrparse.grammar.rules import Rule, RuleSet, TerminalKind, is_terminal, quote, relative_frequencies
from mbrparse.grammar.unknown_words import UnknownWords
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape
from mbrparse.treebank.tree import Tree

Weighting = Literal["plain", "equal", "bonnema"]

NO_CHILD = np.iinfo(np.int32).max
"""Stands for the right child of a preterminal, which has a word below it and nothing else."""

_REMEDY = "binarize the trees first: mbrparse binarize"


@dataclass(frozen=True, slots=True, eq=False)
class AddressedTreebank:
    """Binary trees as addresses, children before parents, and how their fragments are to be weighed.

    ``labels`` are the names of inner nodes and preterminals, ``terminals`` tags or words, both in text order.
    By address: ``label`` (its id), ``left`` and ``right`` (an address, or ``~t`` for the terminal t; a
    preterminal has its word on the left and NO_CHILD), ``count`` (how many nodes it stands for). ``start``
    counts the labels of roots. ``max_depth`` bounds fragments (None: all of them).
    """

    terminal_kind: TerminalKind
    weighting: Weighting
    max_depth: int | None
    start: dict[str, float]
    labels: tuple[str, ...]
    terminals: tuple[str, ...]
    label: IntArray
    left: IntArray
    right: IntArray
    count: FloatArray
    unknown: UnknownWords | None = None

    def __post_init__(self) -> None:
        if self.max_depth is not None and self.max_depth < 1:
            raise GrammarError(f"the depth of fragments is 1 or more, not {self.max_depth}")

    @property
    def trees(self) -> float:
        """How many trees there are."""
        return sum(self.start.values())

    def rows(self) -> Iterator[tuple[int, tuple[int, ...], float]]:
        """The label, the children (one or two) and the count of each address."""
        columns = (self.label, self.left, self.right, self.count)
        for label, left, right, count in zip(*(column.tolist() for column in columns), strict=True):
            yield label, (left,) if right == NO_CHILD else (left, right), count

    @property
    def bound(self) -> int | None:
        """The depth of fragments, where there are deeper ones that it leaves out; else None."""
        heights: list[int] = []
        for _, children, _ in self.rows():
            heights.append(1 + max((heights[child] for child in children if child >= 0), default=0))
        return self.max_depth if self.max_depth is not None and self.max_depth < max(heights) else None

    def treebank_rules(self, names: Sequence[str] | None = None) -> RuleSet:
        """The PCFG of the same trees: relative frequencies of their nodes' rules.

        ``names`` are those of the labels; by default their own.
        """
        name_of = dict(zip(self.labels, self.labels if names is None else names, strict=True))
        labels = [name_of[self.labels[label]] for label in self.label.tolist()]
        terminals = list(map(quote, self.terminals))
        counts: dict[Rule, float] = {}
        for parent, (_, children, count) in zip(labels, self.rows(), strict=True):
            named = (terminals[~child] if child < 0 else labels[child] for child in children)
            rule = Rule(parent, tuple(named))
            counts[rule] = counts.get(rule, 0.0) + count
        start = {name_of[label]: count for label, count in self.start.items()}
        return relative_frequencies(self.terminal_kind, start, counts)


def address_trees(
    trees: Iterable[SourceTree],
    terminal_kind: TerminalKind,
    weighting: Weighting = "plain",
    max_depth: int | None = None,
) -> AddressedTreebank:
    """Give each distinct subtree of binarized trees an address, in the order of their first occurrence.

    Raises GrammarError for trees that are not binary, or with unary nodes, and if there is no tree.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> tree = SourceTree("", 1, read_tree("(S (NP a b) (VP c (NP a b)))"))
    >>> treebank = address_trees([tree], "tags")
    >>> [treebank.labels[label] for label in treebank.label], treebank.count.tolist()
    (['NP', 'VP', 'S'], [2.0, 1.0, 1.0])
    """
    found = _Addresses(terminal_kind == "words")
    start: Counter[str] = Counter()
    for tree in trees:
        found.add(tree)
        start[tree.tree.label] += 1
    if not start:
        raise GrammarError("no trees to train on", remedy="give binarized trees: mbrparse binarize")
    return AddressedTreebank(
        terminal_kind,
        weighting,
        max_depth,
        dict(start),
        *addresses_of(found.addresses, list(found.terminals)),
        np.bincount(found.of_nodes).astype(np.float64),
    )


class _Addresses:
    """The addresses of subtrees, by label and children; ``of_nodes`` has that of each node."""

    def __init__(self, words: bool) -> None:
        self._words = words
        self.addresses: dict[tuple[str, int, int], int] = {}
        self.of_nodes: list[int] = []
        self.terminals: dict[str, int] = {}

    def add(self, placed: SourceTree) -> None:
        """Give every node of a tree its address."""
        source, line, tree, _ = placed
        wrong = partial(GrammarError, source=source, line=line)
        if not tree.children:
            raise wrong("a tree without constituents", remedy=_REMEDY)
        # Nodes in preorder are put together from the back, the left child on top of the right one.
        done: list[int] = []
        for node in reversed(list(tree.preorder())):
            children = len(node.children)
            if not children:
                done.append(self._leaf(node))
                continue
            if not node.label or is_terminal(node.label):
                raise wrong(f"constituent label {node.label!r} cannot stand in a grammar", remedy=_REMEDY)
            if children == 1:
                raise wrong(
                    f"{node.label} is a unary node, which fragments of binary trees have no place for",
                    remedy="binarize with `unary=top`, bottom, join or join-tags",
                )
            if children > 2:
                raise wrong(f"constituent {node.label} has {children} children, not 2", remedy=_REMEDY)
            left, right = done.pop(), done.pop()
            done.append(self._address(node.label, left, right))

    def _leaf(self, leaf: Tree) -> int:
        if self._words and leaf.word is not None:
            return self._address(escape(leaf.label), self._terminal(leaf.word), NO_CHILD)
        return self._terminal(leaf.tag)

    def _terminal(self, name: str) -> int:
        return ~self.terminals.setdefault(name, len(self.terminals))

    def _address(self, label: str, left: int, right: int) -> int:
        address = self.addresses.setdefault((label, left, right), len(self.addresses))
        self.of_nodes.append(address)
        return address


def addresses_of(
    rows: Iterable[tuple[str, int, int]], terminals: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], IntArray, IntArray, IntArray]:
    """Labels and terminals in text order, and the arrays of addresses that are given by their names."""
    names, left, right = zip(*rows, strict=True)
    labels, ordered = tuple(sorted(set(names))), tuple(sorted(terminals))
    ids = {name: position for position, name in enumerate(labels)}
    places = {name: position for position, name in enumerate(ordered)}
    renumbered = np.array([places[name] for name in terminals], np.int32)

    def children(values: Sequence[int]) -> IntArray:
        codes = np.array(values, np.int32)
        leaves = codes < 0
        codes[leaves] = ~renumbered[~codes[leaves]]
        return codes

    label = np.array([ids[name] for name in names], np.int32)
    return labels, ordered, label, children(left), children(right)
