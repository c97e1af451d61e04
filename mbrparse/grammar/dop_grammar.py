"""A DOP grammar: an addressed treebank, what its fragments weigh, and the PCFG of the same trees.

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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.errors import GrammarError
from mbrparse.grammar import grammar_formats, rules
from mbrparse.grammar.dop_treebank import NO_CHILD, AddressedTreebank
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray, Kind

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

        >>> from mbrparse.grammar.dop_treebank import address_trees
        >>> from mbrparse.treebank.brackets import read_tree
        >>> from mbrparse.treebank.corpora.reading import SourceTree
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
