"""A DOP grammar's addresses, arranged as the chart kernels read them.

Addresses are sorted by the rule of their top node, rules by their parent's label. An address is named by its
number here, or by its rule's number among those of its label and its place among the rule's addresses; number
0 is of no rule, and stands for all nodes that nothing is known of but their label. Lexical rules, of one
address each, come after a label's binary ones.

A binary rule's addresses begin on a multiple of LANES, for vectors of so many; what is between two rules, and
all below the first, is of no address: such a place has up = cut = 0, keep = 1, and its values are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.base.rule_tables import Indices, Ints, Offsets
from mbrparse.grammar.charts.base.vector import VECTOR_BYTES, aligned_rows

if TYPE_CHECKING:
    from mbrparse.grammar.dop.dop_grammar import DopGrammar
    from mbrparse.grammar.pcfg import FloatArray, IntArray


#: Addresses that are at work at once.
LANES = VECTOR_BYTES // 8


class DopTables(NamedTuple):
    """Groups are labels, then terminals; arrays over them, over binary rules, their addresses, and words.

    Binary rules begin with 0 and are sorted by label, left group, right group. ``left_child`` is the address
    of a left child (0 of a terminal), ``left_cut`` its weight as a frontier (1 of a terminal), ``left_rule``
    the number of its rule and ``left_place`` its place among that rule's addresses. The *inner* rules are
    those of two labels; ``left_use`` is such a rule's position among those with its left child.
    """

    n_labels: int
    n_addresses: int
    rule_start: Offsets  # by label, its first binary rule; and the end
    numbers: Offsets  # by group, how many rules it has, with that of number 0
    rule_left: Ints  # a group
    rule_right: Ints
    first: Offsets  # by rule, its first address; and the end
    left_child: Indices
    left_cut: FloatArray
    left_rule: Indices
    left_place: Indices
    right_child: Indices
    right_cut: FloatArray
    right_rule: Indices
    right_place: Indices
    left_uses: Offsets  # by group, how many inner rules have it as a left child
    left_use: Ints  # by rule; -1 where a child is a terminal
    right_uses: Offsets
    right_use: Ints
    up: FloatArray
    keep: FloatArray
    root: FloatArray  # by label
    word_start: Offsets  # by terminal, its first preterminal; and the end
    first_word: int  # the address of the first word's lexical rule; those of the others follow
    word_label: Ints
    word_number: Ints  # the lexical rule's
    word_up: FloatArray
    word_keep: FloatArray
    alone: npt.NDArray[np.bool_]  # by terminal: whether it stands in trees without a preterminal


def dop_tables(grammar: DopGrammar) -> DopTables:
    """Arrange a grammar's addresses."""
    # Here, and not above: the key of machine code is made of what files of kernels import.
    from mbrparse.grammar.dop.dop_grammar import NO_WORD

    treebank, fragments = grammar.treebank, grammar.fragments
    n_labels, n_terminals = len(treebank.labels), len(treebank.terminals)
    label, left, right = fragments.label, fragments.left, fragments.right
    lexical = (right == NO_WORD) & ~fragments.is_cut
    binary = right != NO_WORD

    def groups(children: IntArray) -> IntArray:
        inner = label[np.where((children >= 0) & binary, children, 0)]
        return np.where(children < 0, n_labels + ~children, inner).astype(np.int32)

    left_group, right_group = groups(left), groups(right)
    order = np.lexsort((right, left, right_group, left_group, label, ~binary))[: np.count_nonzero(binary)]
    keys = np.stack((label, left_group, right_group))[:, order]
    begins = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)])
    sizes = np.diff(np.append(begins, len(order)))
    rule_of = np.repeat(np.arange(len(begins)), sizes)
    rule_start = np.searchsorted(keys[0, begins], np.arange(n_labels + 1)).astype(np.int64)
    first = np.cumsum(np.append(LANES, -(-sizes // LANES) * LANES))
    words = np.flatnonzero(lexical)[np.lexsort((label[lexical], ~left[lexical]))]
    word_label = label[words]
    numbers = 1 + np.diff(rule_start) + np.bincount(word_label, minlength=n_labels)
    word_number = 1 + np.diff(rule_start)[word_label] + _ranks(word_label, n_labels)

    address, number, place = np.zeros((3, len(label)), np.uint32)
    number[order] = 1 + rule_of - rule_start[keys[0]]
    place[order] = np.arange(len(order)) - begins[rule_of]
    number[words] = word_number
    address[order] = first[rule_of] + place[order]
    address[words] = first[-1] + np.arange(len(words))

    def weights(values: FloatArray, default: float = 0.0) -> FloatArray:
        """Weights of the sorted addresses where their vectors are."""
        array: FloatArray = aligned_rows(int(first[-1]) // LANES, np.float64).reshape(-1)
        array[:] = default
        array[address[order]] = values
        return array

    def below(children: IntArray) -> tuple[Indices, FloatArray, Indices, Indices]:
        codes = children[order]
        child = np.where(codes < 0, 0, codes)

        def named(names: Indices) -> Indices:
            array = np.zeros(first[-1], np.uint32)
            array[address[order]] = np.where(codes < 0, 0, names[child])
            return array

        return (
            named(address),
            weights(np.where(codes < 0, 1.0, fragments.cut[child])),
            named(number),
            named(place),
        )

    n_groups = n_labels + n_terminals
    inner = (keys[1, begins] < n_labels) & (keys[2, begins] < n_labels)
    alone = np.zeros(n_terminals, np.bool_)
    alone[np.concatenate([~child[(child < 0) & binary] for child in (left, right)])] = True
    return DopTables(
        n_labels,
        int(first[-1]) + len(words),
        rule_start,
        np.concatenate((numbers, np.ones(n_terminals, np.int64))),
        keys[1, begins].astype(np.int32),
        keys[2, begins].astype(np.int32),
        first,
        *below(left),
        *below(right),
        *_uses(keys[1, begins], inner, n_groups),
        *_uses(keys[2, begins], inner, n_groups),
        weights(fragments.up[order]),
        weights(fragments.keep[order], 1.0),
        np.array([treebank.start.get(name, 0.0) / treebank.trees for name in treebank.labels]),
        np.searchsorted(~left[words], np.arange(n_terminals + 1)).astype(np.int64),
        int(first[-1]),
        word_label,
        word_number.astype(np.int32),
        fragments.up[words],
        fragments.keep[words],
        alone,
    )


def _uses(child: IntArray, inner: npt.NDArray[np.bool_], n_groups: int) -> tuple[Offsets, Ints]:
    """How many inner rules a child has, and the position of each rule among those of its child."""
    use = np.full(len(child), -1, np.int32)
    use[inner] = _ranks(child[inner], n_groups)
    return np.bincount(child[inner], minlength=n_groups), use


def _ranks(keys: IntArray, count: int) -> npt.NDArray[np.int64]:
    """The position of each among the equal ones before it."""
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), np.int64)
    firsts = np.searchsorted(keys[order], np.arange(count))
    ranks[order] = np.arange(len(keys)) - firsts[keys[order]]
    return ranks
