"""All fragments of a treebank one by one, as Bod (1993) parses with them: what the reduction stands for.

Each different fragment is there once, as rules: its root's label over its children, with its share of all
that is weighed under that label; and every node inside it a symbol with one rule, of probability one, that
no other fragment has. So a chart has an edge for each fragment at each place where it fits, as a chart of
flat rules has, and the PCFG's own charts, samples and posteriors are those of the fragments: equal work in
equal code, nothing but the grammar differs. ``shared`` lets equal parts of fragments have one symbol, which
Bod's chart has not: kinder to fragments, and half the way to the reduction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mbrparse.grammar.dop.addressed_treebank import NO_CHILD, AddressedTreebank
from mbrparse.grammar.dop.dop_grammar import number_of_fragments
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, quote, relative_frequencies
from mbrparse.io.errors import GrammarError

#: More than this are refused: each costs some hundred bytes, and every sentence time.
MOST = 1_000_000


def explicit_fragments(treebank: AddressedTreebank, shared: bool = False) -> PCFG:
    """The grammar of all fragments, up to the treebank's depth and in its weighting.

    Raises GrammarError for more than MOST of them, counted at each of their nodes.

    >>> from mbrparse.grammar.dop.addressed_treebank import address_trees
    >>> from mbrparse.treebank.brackets import read_tree
    >>> from mbrparse.treebank.corpora import SourceTree
    >>> tree = SourceTree("", 1, read_tree("(S (NP a b) (VP c (NP a b)))"))
    >>> explicit_fragments(address_trees([tree], "tags"))
    <grammar over tags: 16 symbols, 22 rules>
    """
    number = number_of_fragments(treebank)
    if number > MOST:
        raise GrammarError(
            f"{number} fragments, of which {MOST} at most are written one by one",
            remedy="give a smaller depth, or fewer trees",
        )
    fragments = _Fragments(treebank)
    terminals = list(map(quote, treebank.terminals))
    numbers = itertools.count(1)
    counts: dict[Rule, float] = {}
    for root, weight in fragments.weights.items():
        stack = [(treebank.labels[fragments.label(root)], root, weight)]
        while stack:
            parent, fragment, count = stack.pop()
            children = []
            for child in fragments.children(fragment):
                if child < 0:
                    children.append(terminals[~child])
                elif child % 2 == 0:
                    children.append(treebank.labels[child // 2])
                else:
                    part = child // 2
                    place = part if shared else next(numbers)
                    children.append(f"{treebank.labels[fragments.label(part)]}~{place}")
                    stack.append((children[-1], part, 1.0))
            counts[Rule(parent, tuple(children))] = count
    rules = relative_frequencies(treebank.terminal_kind, treebank.start, counts)
    return PCFG.from_rules(replace(rules, unknown=treebank.unknown))


class _Fragments:
    """The different fragments by number: a label and two children.

    A child is a terminal (~t), an open node (twice its label), or goes on as a smaller fragment (twice its
    number and one). ``weights`` has what each weighs of those that begin at a node of the treebank.
    """

    def __init__(self, treebank: AddressedTreebank) -> None:
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._rows: list[tuple[int, int, int]] = []
        self._share: list[float] = []
        self._half = 0.5 if treebank.weighting == "bonnema" else 1.0
        at = self._by_address(treebank)
        self.weights: dict[int, float] = {}
        for mine, count in zip(at, treebank.count.tolist(), strict=True):
            whole = 1.0 if treebank.weighting == "plain" else sum(self._share[one] for one in mine)
            for one in mine:
                self.weights[one] = self.weights.get(one, 0.0) + count * self._share[one] / whole

    def label(self, fragment: int) -> int:
        """Of its root."""
        return self._rows[fragment][0]

    def children(self, fragment: int) -> Iterator[int]:
        """One of a preterminal, else two."""
        return (child for child in self._rows[fragment][1:] if child != NO_CHILD)

    def _by_address(self, treebank: AddressedTreebank) -> list[list[int]]:
        """The fragments at the root of each address."""
        rows = list(
            zip(treebank.label.tolist(), treebank.left.tolist(), treebank.right.tolist(), strict=True)
        )
        depth = treebank.bound
        if depth is None:
            found: list[list[int]] = []
            for row in rows:  # children before parents
                found.append(self._at(row, rows, found))
            return found
        found = [[] for _ in rows]
        for _ in range(depth):
            found = [self._at(row, rows, found) for row in rows]
        return found

    def _at(
        self, row: tuple[int, int, int], rows: Sequence[tuple[int, int, int]], below: Sequence[list[int]]
    ) -> list[int]:
        """The fragments of a node, those of its children being known."""

        def ways(child: int) -> list[int]:
            if child < 0 or child == NO_CHILD:
                return [child]
            return [2 * rows[child][0], *(2 * part + 1 for part in below[child])]

        label, left, right = row
        return [self._number(label, first, second) for first in ways(left) for second in ways(right)]

    def _number(self, label: int, left: int, right: int) -> int:
        number = self._numbers.setdefault((label, left, right), len(self._rows))
        if number == len(self._rows):
            self._rows.append((label, left, right))
            share = 1.0
            for child in self.children(number):
                if child >= 0:
                    share *= self._half * (self._share[child // 2] if child % 2 else 1.0)
            self._share.append(share)
        return number
