"""A DOP grammar's addresses, arranged as the chart kernels read them.

Addresses are sorted by the rule of their top node, rules by their parent's label. Lexical rules, of one
address each, come after the binary ones. Address 0 stands for all nodes of which only the label is known.

A binary rule's addresses begin on a multiple of LANES, the length of a vector. The places between two rules,
and all below the first, are of no address: there up = cut = 0, keep = 1, and values are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.memory import aligned_rows
from mbrparse.charts.base.rule_tables import Floats, Indices, Ints, Offsets
from mbrparse.charts.base.vector import VECTOR_BYTES

if TYPE_CHECKING:
    from mbrparse.grammar.dop.dop_grammar import DopGrammar
    from mbrparse.grammar.pcfg import FloatArray, IntArray


#: Addresses that are processed at once.
LANES = VECTOR_BYTES // 8


class DopTables(NamedTuple):
    """Groups are labels, then terminals; arrays over them, over binary rules, their addresses, and words.

    Binary rules begin with 0 and are sorted by label, left group, right group. ``child`` holds the addresses
    of left children (0 of a terminal), then those of right children; ``cut``, ``up`` and ``keep`` are rows of
    LANES addresses, and ``cut``, the children's weights as frontiers (1 of a terminal), has them twice, too.
    """

    n_labels: int
    rule_start: Offsets  # by label, its first binary rule; and the end
    rule_left: Ints  # a group
    rule_right: Ints
    first: Offsets  # by rule, its first address; and the end
    rule_of: Ints  # by row of addresses; -1 of the first
    child: Indices
    cut: Floats
    uses: Offsets  # by group, how many rules have a label as their left or right child; 0 of terminals
    use: Ints  # [side, rule]: its position among those
    up: Floats
    keep: Floats
    root: FloatArray  # by label
    word_start: Offsets  # by terminal, its first preterminal; and the end
    first_word: int  # the address of the first word's lexical rule; those of the others follow
    word_label: Ints
    word_up: FloatArray
    word_keep: FloatArray
    alone: npt.NDArray[np.bool_]  # by terminal: whether it stands in trees without a preterminal


def dop_tables(grammar: DopGrammar) -> DopTables:
    """Arrange a grammar's addresses."""
    # Here, and not above: the key of machine code is made of what files of kernels import.
    from mbrparse.grammar.dop.addressed_treebank import NO_CHILD

    treebank, fragments = grammar.treebank, grammar.fragments
    n_labels, n_terminals = len(treebank.labels), len(treebank.terminals)
    n_groups = n_labels + n_terminals
    label, left, right = fragments.label, fragments.left, fragments.right
    lexical = (right == NO_CHILD) & ~fragments.is_cut
    binary = right != NO_CHILD

    def groups(children: IntArray) -> IntArray:
        inner = label[np.where((children >= 0) & binary, children, 0)]
        return np.where(children < 0, n_labels + ~children, inner).astype(np.int32)

    left_group, right_group = groups(left), groups(right)
    order = np.lexsort((right, left, right_group, left_group, label, ~binary))[: np.count_nonzero(binary)]
    keys = np.stack((label, left_group, right_group))[:, order]
    begins = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)])
    sizes = np.diff(np.append(begins, len(order)))
    first = np.cumsum(np.append(LANES, -(-sizes // LANES) * LANES))
    words = np.flatnonzero(lexical)[np.lexsort((label[lexical], ~left[lexical]))]
    address = np.zeros(len(label), np.uint32)
    address[order] = np.repeat(first[:-1] - begins, sizes) + np.arange(len(order))
    address[words] = first[-1] + np.arange(len(words))
    places = address[order]

    def rows(values: FloatArray, default: float = 0.0) -> Floats:
        """Values of the sorted addresses, in rows."""
        found = aligned_rows(int(first[-1]) // LANES, np.float64)
        found[:] = default
        found.reshape(-1)[places] = values
        return found

    child = np.zeros((2, first[-1]), np.uint32)
    cut = aligned_rows(2 * int(first[-1]) // LANES, np.float64).reshape(2, -1)
    for side, children in enumerate((left, right)):
        codes = children[order]
        inner = np.where(codes < 0, 0, codes)
        child[side, places] = np.where(codes < 0, 0, address[inner])
        cut[side, places] = np.where(codes < 0, 1.0, fragments.cut[inner])
    rule_left, rule_right = keys[1:, begins].astype(np.int32)
    of_left, of_right = (np.bincount(group, minlength=n_groups) for group in (rule_left, rule_right))
    alone = np.zeros(n_terminals, np.bool_)
    alone[np.concatenate([~child[(child < 0) & binary] for child in (left, right)])] = True
    return DopTables(
        n_labels=n_labels,
        rule_start=np.searchsorted(keys[0, begins], np.arange(n_labels + 1)),
        rule_left=rule_left,
        rule_right=rule_right,
        first=first,
        rule_of=np.repeat(np.arange(-1, len(begins), dtype=np.int32), np.diff(first, prepend=0) // LANES),
        child=child.reshape(-1),
        cut=cut.reshape(-1, LANES),
        uses=np.where(np.arange(n_groups) < n_labels, of_left + of_right, 0),
        use=np.stack([_ranks(rule_left, n_groups), of_left[rule_right] + _ranks(rule_right, n_groups)]),
        up=rows(fragments.up[order]),
        keep=rows(fragments.keep[order], 1.0),
        root=np.array([treebank.start.get(name, 0.0) / treebank.trees for name in treebank.labels]),
        word_start=np.searchsorted(~left[words], np.arange(n_terminals + 1)),
        first_word=int(first[-1]),
        word_label=label[words],
        word_up=fragments.up[words],
        word_keep=fragments.keep[words],
        alone=alone,
    )


def _ranks(keys: IntArray, count: int) -> IntArray:
    """The position of each among the equal ones before it."""
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), np.int32)
    firsts = np.searchsorted(keys[order], np.arange(count))
    ranks[order] = np.arange(len(keys)) - firsts[keys[order]]
    return ranks
