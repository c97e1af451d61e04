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
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.dop.addressed_treebank import NO_CHILD, AddressedTreebank
from mbrparse.grammar.grammar_kinds import Kind
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.rules import Rule, is_terminal, relative_frequencies

#: What no weight lies below: fragments that are rarer among their label's count as so rare. Products of four
#: are numbers still, whatever the treebank's number of fragments.
SMALLEST = 2.0**-220

NO_WORD = NO_CHILD
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
    log_number: FloatArray  # of a, its natural logarithm


def fragments_of(treebank: AddressedTreebank) -> Fragments:
    """The fragments of a treebank, in its own weighting and up to its own depth."""
    label, left, right, count = _subtrees(treebank)
    is_cut = right == _CUT_OFF
    half = math.log(0.5) if treebank.weighting == "bonnema" else 0.0
    log_number = np.array(_log_numbers(left.tolist(), right.tolist(), half))
    with np.errstate(divide="ignore", over="ignore"):
        keep, cut = 1 / (1 + np.exp(-log_number)), 1 / (1 + np.exp(log_number))
        share = np.log(count) + (log_number if treebank.weighting == "plain" else 0.0)
    up = _shares(label, share, len(treebank.labels))
    return Fragments(
        label,
        left,
        np.where(is_cut, NO_WORD, right).astype(np.int32),
        is_cut,
        np.where(count > 0, np.maximum(up, SMALLEST), 0.0),
        keep,
        np.maximum(cut, SMALLEST),
        log_number,
    )


def number_of_fragments(treebank: AddressedTreebank) -> int:
    """How many fragments the nodes of the treebank have, each counted at each of its nodes."""
    _, left, right, count = _subtrees(treebank)
    numbers: list[int] = []
    for first, second in zip(left.tolist(), right.tolist(), strict=True):
        if second == _CUT_OFF:
            numbers.append(0)
            continue
        number = 1
        for child in (first, second):
            if 0 <= child < _CUT_OFF:
                number *= 1 + numbers[child]
        numbers.append(number)
    return sum(int(c) * number for c, number in zip(count.tolist(), numbers, strict=True))


_Subtrees = tuple[IntArray, IntArray, IntArray, FloatArray]


def _subtrees(treebank: AddressedTreebank) -> _Subtrees:
    """Labels, children and counts of what fragments are made of: the trees, or these cut off at the depth."""
    if treebank.bound is None:
        return treebank.label, treebank.left, treebank.right, treebank.count
    return _cut_off(treebank, treebank.bound)


def _log_numbers(left: list[int], right: list[int], half: float) -> list[float]:
    """The logarithm of a for each address; ``half`` is added for each nonterminal child."""
    numbers: list[float] = []
    child_values: list[float] = []
    for first, second in zip(left, right, strict=True):
        if second == _CUT_OFF:
            number = -math.inf
        else:
            number = 0.0
            if first >= 0:
                number += child_values[first]
            if 0 <= second != NO_WORD:
                number += child_values[second]
        numbers.append(number)
        # log(1 + a), whatever the size of a
        child_values.append(half + max(number, 0.0) + math.log1p(math.exp(-abs(number))))
    return numbers


def _shares(label: IntArray, log_weight: FloatArray, n_labels: int) -> FloatArray:
    """Weights as shares of their label's sum."""
    top = np.full(n_labels, -np.inf)
    np.maximum.at(top, label, log_weight)
    weight = np.exp(log_weight - top[label])
    shares: FloatArray = weight / np.bincount(label, weight, n_labels)[label]
    return shares


def _cut_off(treebank: AddressedTreebank, depth: int) -> _Subtrees:
    """The treebank's subtrees cut off at every depth up to ``depth``, equal ones once.

    Those of the full depth have the treebank's counts, others none: no fragment begins there.
    """
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

        >>> from mbrparse.grammar.dop.addressed_treebank import address_trees
        >>> from mbrparse.treebank.brackets import read_tree
        >>> from mbrparse.treebank.corpora import SourceTree
        >>> tree = SourceTree("", 1, read_tree("(S (NP a b) (VP c (NP a b)))"))
        >>> DopGrammar.of_treebank(address_trees([tree], "tags"))
        <DOP grammar over tags: 1 trees, 4 nodes, 3 addresses>
        """
        return cls(treebank, PCFG.from_rules(replace(treebank.treebank_rules(), unknown=treebank.unknown)))

    @property
    def kind(self) -> Kind:
        """As every grammar tells it."""
        return "dop"

    @property
    def content(self) -> AddressedTreebank:
        """What it was made of."""
        return self.treebank

    @cached_property
    def fragments(self) -> Fragments:
        """What the fragments weigh, by address."""
        return fragments_of(self.treebank)

    @cached_property
    def filter(self) -> PCFG:
        """The PCFG with numbers for labels: nothing of them is projected away.

        A label's number is its place in ``treebank.labels``.
        """
        names = {label: f"{place:09}" for place, label in enumerate(self.treebank.labels)}

        def renamed(name: str) -> str:
            return name if is_terminal(name) else names[name]

        rules = self.treebank.treebank_rules()
        counts = {
            Rule(renamed(rule.parent), tuple(map(renamed, rule.children))): weight.count or 0.0
            for rule, weight in rules.rules.items()
        }
        start = {renamed(name): count for name, count in self.treebank.start.items()}
        return PCFG.from_rules(relative_frequencies(self.treebank.terminal_kind, start, counts))

    def __getstate__(self) -> dict[str, Any]:
        """Other processes make what follows from the treebank themselves."""
        return {"treebank": self.treebank, "pcfg": self.pcfg}

    def __repr__(self) -> str:
        treebank = self.treebank
        return (
            f"<DOP grammar over {treebank.terminal_kind}: {treebank.trees:g} trees, "
            f"{treebank.count.sum():g} nodes, {len(treebank.count)} addresses>"
        )
