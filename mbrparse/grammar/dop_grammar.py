"""A DOP grammar: a treebank with each distinct subtree once, what its fragments weigh, the PCFG of its trees.

Every inner node of a binary tree is at an *address*; nodes over equal subtrees share one, which counts them.
All fragments of the treebank, and what each weighs, follow from the addresses alone.

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

The sum over all fragments below a node needs two numbers of each address (after Goodman 1996, DOP). Let a be
the number of fragments at the root of a subtree, the product over its nonterminal children of 1 + a of the
child. R, the sum over these fragments of what they make of a span, obeys

    R_j = product over children k of (I_B + R_k),   I_A = sum over addresses j labelled A of w_j R_j,

with I_B the inside value of a child's label, where a fragment may end. Values here are divided by their
number: q_j = R_j / a_j is a probability, and so is e_k = cut_k I_B + keep_k q_k with keep = a / (1 + a) and
cut = 1 / (1 + a). Then q_j is a product of two of them, I_A = sum of up_j q_j with up_j = w_j a_j, and
nothing grows with the number of fragments. For c nodes at an address and N with its label:

    plain     up = c a / sum of c a over the label (every fragment counts once; the paper's)
    equal     up = c / N                           (every node counts once; its fragments share it)
    bonnema   up = c / N, and each nonterminal child weighs 1/2, in a too (which is then 1 of unbounded depth)

Fragments of a depth of D at most: the same over trees cut off at depth D, D - 1, ... 1, whose lowest nodes
can only end (keep = 0).

Goodman's reduction written out: a PCFG with a symbol for each address beside the labels.

For an address j of label A with children k and l (labels B and C) there are eight rules: A_j and A, over B or
B_k and C or C_l. A child that is addressed is written with its number as a state, ``NP~12``; a terminal, or
a node where fragments can only end, has no address. Equal rules are written once.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from mbrparse import files
from mbrparse.errors import GrammarError, shortened
from mbrparse.grammar import grammar_formats, rules, unknown_words
from mbrparse.grammar.fields import DOP_MAGIC, HeaderReader, format_number, is_whole, read_number
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray, Kind
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
    label: IntArray
    left: IntArray
    right: IntArray
    count: FloatArray
    unknown: unknown_words.UnknownWords | None = None

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
                    raise GrammarError(
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
        raise GrammarError("no trees to train on", remedy="give binarized trees: mbrparse binarize")
    count = np.bincount(nodes).astype(np.float64)
    columns = addresses_of(addresses, list(terminals))
    return AddressedTreebank(terminal_kind, weighting, max_depth, dict(start), *columns, count)


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
            raise self.error(f"child {shortened(text)!r} is no terminal and no earlier address")
        return int(text) - 1

    def _count(self, text: str) -> float:
        number = read_number(text)
        if not number:
            raise self.error(f"{shortened(text)!r} is not a count above 0")
        return number


#: The least weight: fragments that are rarer among their label's count as so rare. Products of four
#: are numbers still, whatever the treebank's number of fragments.
SMALLEST = 2.0**-220

_CUT_OFF = NO_CHILD - 1


class Fragments(NamedTuple):
    """By address, children before parents: the tree, and the weights of the fragments at its root.

    ``left`` and ``right`` as in AddressedTreebank; ``is_cut`` of a node where fragments can only end.
    """

    label: IntArray
    left: IntArray
    right: IntArray
    is_cut: npt.NDArray[np.bool_]
    up: FloatArray
    keep: FloatArray
    cut: FloatArray


def fragments_of(treebank: AddressedTreebank) -> Fragments:
    """The fragments of a treebank, in its own weighting and up to its own depth."""
    label, left, right, count = _subtrees(treebank)
    is_cut = right == _CUT_OFF
    half = math.log(0.5) if treebank.weighting == "bonnema" else 0.0
    log_number = np.array(_log_numbers(left.tolist(), right.tolist(), half))
    with np.errstate(divide="ignore", over="ignore"):
        keep, cut = 1 / (1 + np.exp(-log_number)), 1 / (1 + np.exp(log_number))
        share = np.log(count) + (log_number if treebank.weighting == "plain" else 0.0)
    # Weights as shares of their label's sum.
    top = np.full(len(treebank.labels), -np.inf)
    np.maximum.at(top, label, share)
    weight = np.exp(share - top[label])
    up = weight / np.bincount(label, weight, len(treebank.labels))[label]
    return Fragments(
        label,
        left,
        np.where(is_cut, NO_CHILD, right).astype(np.int32),
        is_cut,
        np.where(count > 0, np.maximum(up, SMALLEST), 0.0),
        keep,
        np.maximum(cut, SMALLEST),
    )


def number_of_fragments(treebank: AddressedTreebank) -> int:
    """How many fragments the nodes of the treebank have, each counted at each of its nodes."""
    _, left, right, count = _subtrees(treebank)
    numbers: list[int] = []
    for first, second in zip(left.tolist(), right.tolist(), strict=True):
        children = (child for child in (first, second) if 0 <= child < _CUT_OFF)
        numbers.append(0 if second == _CUT_OFF else math.prod(1 + numbers[child] for child in children))
    return sum(int(c) * number for c, number in zip(count.tolist(), numbers, strict=True))


def _log_numbers(left: list[int], right: list[int], half: float) -> list[float]:
    """The logarithm of a for each address; ``half`` is added for each nonterminal child."""
    numbers: list[float] = []
    child_values: list[float] = []
    for first, second in zip(left, right, strict=True):
        children = (child for child in (first, second) if 0 <= child < _CUT_OFF)
        number = -math.inf if second == _CUT_OFF else sum((child_values[child] for child in children), 0.0)
        numbers.append(number)
        # log(1 + a), whatever the size of a
        child_values.append(half + max(number, 0.0) + math.log1p(math.exp(-abs(number))))
    return numbers


def _subtrees(treebank: AddressedTreebank) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Labels, children and counts of what fragments are made of: the trees, or these cut off.

    They are cut off at every depth up to the fragments' own, equal ones once. Those of the full depth have
    the treebank's counts, others none: no fragment begins there.
    """
    depth = treebank.bound
    if depth is None:
        return treebank.label, treebank.left, treebank.right, treebank.count
    addresses: dict[tuple[int, int, int], int] = {}

    def address(label: int, left: int, right: int) -> int:
        return addresses.setdefault((label, left, right), len(addresses))

    labels, lefts, rights = treebank.label.tolist(), treebank.left.tolist(), treebank.right.tolist()
    # At depth zero nothing is left of a node but its label.
    level = [address(label, -1, _CUT_OFF) for label in labels]
    for _ in range(depth):
        level = [
            address(label, left, NO_CHILD)
            if right == NO_CHILD
            else address(label, left if left < 0 else level[left], right if right < 0 else level[right])
            for label, left, right in zip(labels, lefts, rights, strict=True)
        ]
    rows = np.array(list(addresses), np.int32)
    count = np.bincount(level, treebank.count, len(rows)).astype(np.float64)
    return rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy(), count


@dataclass(frozen=True, eq=False)
class DopGrammar:
    """All fragments of a treebank's trees, weighed; it parses what the treebank's own PCFG parses.

    ``pcfg`` has the same labels, terminals and model of unknown words; its symbols are the labels of the
    treebank and, where terminals stand in trees by themselves, those.
    """

    treebank: AddressedTreebank
    pcfg: PCFG

    @classmethod
    def of_treebank(cls, treebank: AddressedTreebank) -> DopGrammar:
        """The grammar of a treebank.

        >>> from mbrparse.treebank.brackets import read_tree
        >>> tree = SourceTree("", 1, read_tree("(S (NP a b) (VP c (NP a b)))"))
        >>> DopGrammar.of_treebank(address_trees([tree], "tags"))
        <DOP grammar over tags: 1 trees, 4 nodes, 3 addresses>
        """
        return cls(treebank, PCFG.from_rules(replace(treebank.treebank_rules(), unknown=treebank.unknown)))

    @property
    def kind(self) -> Kind:
        """The kind of grammar."""
        return "dop"

    @cached_property
    def fragments(self) -> Fragments:
        """What the fragments weigh, by address."""
        return fragments_of(self.treebank)

    @cached_property
    def filter(self) -> PCFG:
        """The PCFG with numbers for labels: nothing of them is projected away.

        A label's number is its place in ``treebank.labels``.
        """
        names = [f"{place:09}" for place in range(len(self.treebank.labels))]
        return PCFG.from_rules(self.treebank.treebank_rules(names))

    def __getstate__(self) -> dict[str, Any]:
        """Other processes make what follows from the treebank themselves."""
        return {"treebank": self.treebank, "pcfg": self.pcfg}

    def __repr__(self) -> str:
        treebank = self.treebank
        return (
            f"<DOP grammar over {treebank.terminal_kind}: {treebank.trees:g} trees, "
            f"{treebank.count.sum():g} nodes, {len(treebank.count)} addresses>"
        )


def reduced_rules(grammar: DopGrammar) -> Iterator[tuple[rules.Rule, float]]:
    """The rules and their probabilities: first those of addresses, in their order, then those of labels."""
    treebank, fragments = grammar.treebank, grammar.fragments
    labels = [treebank.labels[label] for label in fragments.label]
    terminals = list(map(rules.quote, treebank.terminals))
    names = [f"{label}~{address}" for address, label in enumerate(labels, start=1)]
    keep, cut, is_cut = fragments.keep.tolist(), fragments.cut.tolist(), fragments.is_cut.tolist()

    def ways(child: int) -> list[tuple[str, float]]:
        if child < 0:
            return [(terminals[~child], 1.0)]
        if is_cut[child]:
            return [(labels[child], 1.0)]
        return [(labels[child], cut[child]), (names[child], keep[child])]

    inner = np.concatenate([fragments.left, fragments.right])
    # No rule leads to the symbol of an address that is no child.
    used = np.isin(np.arange(len(labels)), inner[(inner >= 0) & (inner != NO_CHILD)]).tolist()
    merged: dict[rules.Rule, float] = {}
    rows = zip(fragments.left.tolist(), fragments.right.tolist(), fragments.up.tolist(), strict=True)
    for address, (left, right, up) in enumerate(rows):
        if is_cut[address]:
            continue
        for chosen in itertools.product(*(ways(child) for child in (left, right) if child != NO_CHILD)):
            children, shares = zip(*chosen, strict=True)
            if used[address]:
                yield rules.Rule(names[address], children), math.prod(shares)
            if up > 0:
                rule = rules.Rule(labels[address], children)
                merged[rule] = merged.get(rule, 0.0) + math.prod(shares, start=up)
    yield from merged.items()


def write_reduction(treebank: AddressedTreebank, rules_path: str, lexicon_path: str, root: str) -> None:
    """Write the reduction as bitpar's two files, probabilities in the place of counts.

    Raises GrammarError for a tag that is a label too, which bitpar's form cannot say.
    """
    if root in treebank.labels:
        raise GrammarError(f"the grammar has a symbol {root} already", remedy="choose another with `root`")
    starts = ((rules.Rule(root, (name,)), count) for name, count in sorted(treebank.start.items()))
    rows = [*starts, *reduced_rules(DopGrammar.of_treebank(treebank))]
    grammar_formats.write_bitpar_rows(rows, rules_path, lexicon_path, root)
