"""The treebank that a DOP grammar is made of, each distinct subtree once (Goodman 1996, DOP).

Every inner node of a binary tree is at an *address*; nodes over equal subtrees share one, which counts them.
All fragments of the treebank, and what each weighs, follow from the addresses alone (see ``dop_grammar``).

Files of DOP grammars: plain text, one address a line, children before parents.

::

    mbrparse-dop 1
    terminals tags
    weights plain
    start S 1
    addresses 3
    2 NP 'DT' 'NN'
    1 VP 'VB' 1
    1 S 1 2
    end

A line is a count, a label and two children: a terminal in quotes, or the number of an earlier line, from 1.
With words a preterminal has one, its word: ``5 DT 'the'``. A header line ``max-depth 3`` bounds fragments;
``unknown signature 2`` names a model of unknown words, as in other grammar files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from mbrparse import errors, files
from mbrparse.grammar import pcfg, rules, unknown_words
from mbrparse.grammar.fields import DOP_MAGIC, HeaderReader, format_number, is_whole, read_number
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape

Weighting = Literal["plain", "equal", "bonnema"]

NO_CHILD = np.iinfo(np.int32).max
"""Stands for the right child of a preterminal, which has a word below it and nothing else."""


@dataclass(frozen=True, slots=True, eq=False)
class AddressedTreebank:
    """Binary trees as addresses, children before parents, and how their fragments are to be weighed.

    ``labels`` are the names of inner nodes and preterminals, ``terminals`` tags or words, both in text order.
    By address: ``label`` (its id), ``left`` and ``right`` (an address, or ``~t`` for the terminal t; a
    preterminal has its word on the left and NO_CHILD), ``count`` (how many nodes it stands for). ``start``
    counts the labels of roots. ``max_depth`` bounds fragments (None: all of them).
    """

    terminal_kind: rules.TerminalKind
    weighting: Weighting
    max_depth: int | None
    start: dict[str, float]
    labels: tuple[str, ...]
    terminals: tuple[str, ...]
    label: pcfg.IntArray
    left: pcfg.IntArray
    right: pcfg.IntArray
    count: pcfg.FloatArray
    unknown: unknown_words.UnknownWords | None = None

    def __post_init__(self) -> None:
        if self.max_depth is not None and self.max_depth < 1:
            raise errors.GrammarError(f"the depth of fragments is 1 or more, not {self.max_depth}")

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

    def treebank_rules(self, names: Sequence[str] | None = None) -> rules.RuleSet:
        """The PCFG of the same trees: relative frequencies of their nodes' rules.

        ``names`` are those of the labels; by default their own.
        """
        name_of = dict(zip(self.labels, self.labels if names is None else names, strict=True))
        labels = [name_of[self.labels[label]] for label in self.label.tolist()]
        terminals = list(map(rules.quote, self.terminals))
        counts: dict[rules.Rule, float] = {}
        for parent, (_, children, count) in zip(labels, self.rows(), strict=True):
            named = (terminals[~child] if child < 0 else labels[child] for child in children)
            rule = rules.Rule(parent, tuple(named))
            counts[rule] = counts.get(rule, 0.0) + count
        start = {name_of[label]: count for label, count in self.start.items()}
        return rules.relative_frequencies(self.terminal_kind, start, counts)


def address_trees(
    trees: Iterable[SourceTree],
    terminal_kind: rules.TerminalKind,
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
    addresses: dict[tuple[str, int, int], int] = {}
    terminals: dict[str, int] = {}
    nodes: list[int] = []  # the address of each
    start: Counter[str] = Counter()

    def terminal(name: str) -> int:
        return ~terminals.setdefault(name, len(terminals))

    def address(label: str, left: int, right: int) -> int:
        nodes.append(addresses.setdefault((label, left, right), len(addresses)))
        return nodes[-1]

    for source in trees:
        start[source.tree.label] += 1
        # Nodes in preorder are put together from the back, the left child on top of the right one.
        done: list[int] = []
        for node in reversed(list(source.tree.preorder())):
            if node.children or node is source.tree:
                if len(rules.checked_children(node, source)) == 1:
                    raise errors.GrammarError(
                        f"{node.label} is a unary node, which fragments of binary trees have no place for",
                        source=source.source,
                        line=source.line,
                        remedy="binarize with `unary=top`, bottom, join or join-tags",
                    )
                done.append(address(node.label, done.pop(), done.pop()))
            elif terminal_kind == "words" and node.word is not None:
                done.append(address(escape(node.label), terminal(node.word), NO_CHILD))
            else:
                done.append(terminal(node.tag))
    if not start:
        raise errors.GrammarError("no trees to train on", remedy="give binarized trees: mbrparse binarize")
    count = np.bincount(nodes).astype(np.float64)
    columns = addresses_of(addresses, list(terminals))
    return AddressedTreebank(terminal_kind, weighting, max_depth, dict(start), *columns, count)


def addresses_of(
    rows: Iterable[tuple[str, int, int]], terminals: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], pcfg.IntArray, pcfg.IntArray, pcfg.IntArray]:
    """Labels and terminals in text order, and the arrays of addresses that are given by their names."""
    names, left, right = zip(*rows, strict=True)
    labels, ordered = tuple(sorted(set(names))), tuple(sorted(terminals))
    ids = {name: position for position, name in enumerate(labels)}
    places = {name: position for position, name in enumerate(ordered)}
    renumbered = np.array([places[name] for name in terminals], np.int32)

    def children(values: Sequence[int]) -> pcfg.IntArray:
        codes = np.array(values, np.int32)
        leaves = codes < 0
        codes[leaves] = ~renumbered[~codes[leaves]]
        return codes

    label = np.array([ids[name] for name in names], np.int32)
    return labels, ordered, label, children(left), children(right)


VERSION = 1


def write_treebank(treebank: AddressedTreebank, path: str | Path) -> None:
    """Write a DOP grammar (``-``: standard output), complete or not at all, with its tagger beside it."""
    names = list(map(rules.quote, treebank.terminals))
    with files.atomic_outputs():
        if isinstance(treebank.unknown, unknown_words.Collins) and treebank.unknown.tagger is not None:
            treebank.unknown.tagger.write(path)
        with files.open_output(path) as stream:
            stream.write(f"{DOP_MAGIC} {VERSION}\nterminals {treebank.terminal_kind}\n")
            stream.write(f"weights {treebank.weighting}\n")
            if treebank.max_depth is not None:
                stream.write(f"max-depth {treebank.max_depth}\n")
            if treebank.unknown is not None:
                stream.writelines(unknown_words.model_lines(treebank.unknown))
            for name, count in sorted(treebank.start.items()):
                stream.write(f"start {name} {format_number(count)}\n")
            stream.write(f"addresses {len(treebank.count)}\n")
            for label, children, count in treebank.rows():
                texts = (names[~child] if child < 0 else str(child + 1) for child in children)
                stream.write(f"{format_number(count)} {treebank.labels[label]} {' '.join(texts)}\n")
            stream.write("end\n")


def read_treebank(lines: Iterable[str], path: str | Path) -> AddressedTreebank:
    """Read a DOP grammar from the lines of a file; raises GrammarError with line and remedy."""
    return _TreebankReader(files.source_name(path), "addresses").read(lines)


class _TreebankReader(HeaderReader):
    """One pass over a file."""

    def read(self, lines: Iterable[str]) -> AddressedTreebank:
        rows = self.rows(lines)
        if (first := next(rows, [])) != [DOP_MAGIC, str(VERSION)]:
            raise self.error(
                f"DOP grammar file version {' '.join(first[1:])}, but this program reads {VERSION}"
            )
        self._rows: list[tuple[str, int, int]] = []
        self._counts_of: list[float] = []
        self._terminals: dict[str, int] = {}
        weighting: Weighting | None = None
        depth: int | None = None
        start: dict[str, float] = {}
        for fields in rows:
            if self.announced is not None:
                self._address(fields)
                continue
            match fields:
                case ["weights", name] if name in get_args(Weighting):
                    weighting = next(known for known in get_args(Weighting) if known == name)
                case ["max-depth", number] if is_whole(number) and int(number) > 0:
                    depth = int(number)
                case ["start", name, number]:
                    start[name] = start.get(name, 0.0) + self._count(number)
                case _ if not self.reads(fields):
                    raise self.error(
                        "not a header line of a DOP grammar", "train it again: mbrparse train --method dop"
                    )
        kind, unknown = self.header(len(self._rows), weights=weighting, start=start)
        if lost := sorted(start.keys() - {label for label, _, _ in self._rows}):
            raise self.error(f"no address has the root's label {lost[0]}")
        columns = addresses_of(self._rows, list(self._terminals))
        assert weighting is not None
        return AddressedTreebank(kind, weighting, depth, start, *columns, np.array(self._counts_of), unknown)

    def _address(self, fields: list[str]) -> None:
        if not 3 <= len(fields) <= 4 or rules.is_terminal(fields[1]):
            raise self.error("not an address", "addresses read: COUNT LABEL CHILD CHILD")
        children = [self._child(text) for text in fields[2:]]
        if len(children) == 1 and children[0] >= 0:
            raise self.error("an only child that is no word")
        self._rows.append((fields[1], children[0], children[1] if len(children) > 1 else NO_CHILD))
        self._counts_of.append(self._count(fields[0]))

    def _child(self, text: str) -> int:
        if rules.is_terminal(text):
            return ~self._terminals.setdefault(rules.unquote(text), len(self._terminals))
        if not is_whole(text) or not 0 < int(text) <= len(self._rows):
            raise self.error(f"child {errors.shortened(text)!r} is no terminal and no earlier address")
        return int(text) - 1

    def _count(self, text: str) -> float:
        number = read_number(text)
        if not number:
            raise self.error(f"{errors.shortened(text)!r} is not a count above 0")
        return number
