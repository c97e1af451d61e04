"""A DOP grammar's addresses as tables, and a sentence's labels and the productions that combine them.

Addresses are sorted by the rule of their top node, rules by their parent's label. Lexical rules, of one
address each, come after the binary ones. Address 0 stands for all nodes of which only the label is known. A
binary rule's addresses begin on a multiple of LANES, the length of a vector. The places between two rules,
and all below the first, are of no address: there up = cut = 0, keep = 1, and values are 0.

A *node* is a label over a span, or a terminal that is in trees by itself. Nodes come bottom up, in descending
order of start, then ascending order of end and label. An *expansion* is a rule that a node may be made by, a
*production* a split of the node's span by such a rule. A node's expansions come in the order of rules, their
productions in the order of splits. Addresses have values over a span only where their rule is an expansion of
the node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.chart import TOO_LARGE
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Indices, Ints, Offsets
from mbrparse.charts.vector import VECTOR_BYTES, aligned_floats, count_bits, lowest_bit
from mbrparse.errors import ChartOverflowError

if TYPE_CHECKING:
    from mbrparse.grammar.dop_grammar import DopGrammar
    from mbrparse.grammar.pcfg import FloatArray, IntArray

#: Addresses that are processed at once.
LANES = VECTOR_BYTES // 8
BITS = 64
# Productions and pairs of a cell and a label: some 1 GB.
MAX_PRODUCTIONS = 1 << 26
Masks = npt.NDArray[np.uint64]
Spans = tuple[Ints, Ints, Ints]
Nodes = tuple[Ints, Ints, Ints, Ints]


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
    uses: Offsets  # by group, how many rules have it as their left or right child
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
    from mbrparse.grammar.dop_grammar import NO_CHILD

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
        found = rows_of(int(first[-1]) // LANES)
        found[:] = default
        found.reshape(-1)[places] = values
        return found

    child = np.zeros((2, first[-1]), np.uint32)
    cut = rows_of(2 * int(first[-1]) // LANES).reshape(2, -1)
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
        uses=of_left + of_right,
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


def rows_of(rows: int) -> Floats:
    """Zeros in rows of LANES values."""
    return aligned_floats(rows * LANES).reshape(rows, LANES)


def _ranks(keys: IntArray, count: int) -> IntArray:
    """The position of each among the equal ones before it."""
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), np.int32)
    firsts = np.searchsorted(keys[order], np.arange(count))
    ranks[order] = np.arange(len(keys)) - firsts[keys[order]]
    return ranks


class DopRules(NamedTuple):
    """The binary rules both of whose children are in the sentence, with the groups' numbers there."""

    start: Ints  # by label, its first; and the end
    rule: Ints
    left: Ints  # a number
    right: Ints


class Presence(NamedTuple):
    """Where the groups of a sentence are."""

    node_at: Ints  # [cell, number]: the node, or -1
    ends: Masks  # [number, start, word]: a bit for each end where the group is there
    starts: Masks  # [number, end, word]: a bit for each start


class Vectors(NamedTuple):
    """What nodes make of the addresses of a rule, as its left or as its right child.

    Such a vector is gathered from the node's own values once, and serves all productions of the rule with
    this child. It takes up one row of LANES or more; a node's vectors are a linked list.
    """

    left: Ints  # by production, the row where its left child's vector begins
    right: Ints
    first: Ints  # by node, its first vector; -1 where there is none
    row: Ints  # by vector, where it begins
    size: Ints  # how many rows it has
    source: Ints  # the row of the tables' ``cut`` (and ``child``) where its addresses begin
    next: Ints  # the node's next one; -1 after the last
    n_rows: int  # of all


class DopForest(NamedTuple):
    """Nodes, their expansions, and the productions of these. A leaf, over one terminal, has none."""

    n: int
    start: Ints  # by node
    end: Ints
    group: Ints
    words: Ints  # by leaf, its lexical rule (an index into the tables' words), or -1; by others -1
    expansion_start: Offsets  # by node, its first expansion; and the end
    rule: Ints  # by expansion
    value_row: Offsets  # by expansion, the row where the values of its addresses begin; and the end
    production_start: Offsets  # by expansion, its first production; and the end
    left: Ints  # by production, a node
    right: Ints
    vectors: Vectors


@kernel
def arrange(
    tables: DopTables,
    terminals: Ints,
    spans: tuple[Ints, Ints, Ints],
    nodes: Nodes,
    number: Ints,
    rules: DopRules,
) -> int:
    """List the nodes, and the rules both of whose children are among them; returns the number of groups.

    ``number`` [group] is -1 before, and afterwards that of the group in the sentence.
    """
    n_labels = tables.n_labels
    starts, ends, labels = spans
    start, end, group, words = nodes
    size, count, span = 0, 0, len(starts)
    for i in range(len(terminals) - 1, -1, -1):
        terminal = terminals[i]
        bare = 1 if tables.alone[terminal] else 0
        word_start, word_end = tables.word_start[terminal], tables.word_start[terminal + 1]
        for word in range(word_start, word_end + bare):
            words[size] = word if word < word_end else -1
            group[size] = tables.word_label[word] if word < word_end else n_labels + terminal
            start[size], end[size] = i, i + 1
            size += 1
        last = span
        while span > 0 and starts[span - 1] == i:
            span -= 1
        for wide in range(span, last):
            start[size], end[size], group[size], words[size] = i, ends[wide], labels[wide], -1
            size += 1
    for node in range(size):
        if number[group[node]] < 0:
            number[group[node]] = count
            count += 1
    listed = 0
    for label in range(n_labels):
        rules.start[label] = listed
        if number[label] >= 0:
            for rule in range(tables.rule_start[label], tables.rule_start[label + 1]):
                left, right = number[tables.rule_left[rule]], number[tables.rule_right[rule]]
                if left >= 0 and right >= 0:
                    rules.rule[listed], rules.left[listed], rules.right[listed] = rule, left, right
                    listed += 1
    rules.start[n_labels] = listed
    return count


@kernel
def count_productions(
    n: int, nodes: Nodes, number: Ints, rules: DopRules, present: Presence, expansion_start: Offsets
) -> int:
    """Note the nodes that can be made, and how many expansions they have; returns how many productions."""
    starts, ends, groups, _ = nodes
    count = expansions = 0
    for node in range(len(groups)):
        start, end, group = starts[node], ends[node], groups[node]
        expansion_start[node] = expansions
        if end - start > 1:
            for place in range(rules.start[group], rules.start[group + 1]):
                left, right = rules.left[place], rules.right[place]
                before = count
                for word in range(start // BITS, end // BITS + 1):
                    count += count_bits(present.ends[left, start, word] & present.starts[right, end, word])
                if count > before:
                    expansions += 1
        if expansions > expansion_start[node] or end - start == 1:
            own = number[group]
            present.ends[own, start, end // BITS] |= np.uint64(1) << np.uint64(end % BITS)
            present.starts[own, end, start // BITS] |= np.uint64(1) << np.uint64(start % BITS)
            present.node_at[start * n - start * (start - 1) // 2 + end - start - 1, own] = node
    expansion_start[len(groups)] = expansions
    return count


@kernel
def list_productions(
    tables: DopTables,
    n: int,
    nodes: Nodes,
    rules: DopRules,
    present: Presence,
    expansion_start: Offsets,
    count: int,
) -> tuple[tuple[Ints, Offsets, Offsets], tuple[Ints, Ints], Vectors]:
    """List the nodes' expansions, their productions, ``count``, and vectors.

    Returns the columns of expansions and of productions, as DopForest has them, and the vectors.
    """
    starts, ends, group, _ = nodes
    first, use, uses, size = tables.first, tables.use, tables.uses, len(group)
    second_side = len(tables.cut) // 2
    rule_of = np.empty(expansion_start[size], np.int32)
    value_row = np.zeros(expansion_start[size] + 1, np.int64)
    production_start = np.zeros(expansion_start[size] + 1, np.int64)
    children, rows = np.empty((2, count), np.int32), np.full((2, count), -1, np.int32)
    row_of, size_of = np.empty(2 * count, np.int32), np.empty(2 * count, np.int32)
    source, following = np.empty(2 * count, np.int32), np.empty(2 * count, np.int32)
    first_vector = np.full(size, -1, np.int32)
    # The row of the vector for each use of each node's label.
    known_start = np.zeros(size + 1, np.int64)
    for node in range(size):
        known_start[node + 1] = known_start[node] + uses[group[node]]
    known = np.full(known_start[size], -1, np.int32)
    place = expansion = vector = n_rows = 0
    for node in range(size):
        if expansion_start[node] == expansion_start[node + 1]:
            continue
        start, end, label = starts[node], ends[node], group[node]
        above = start * n - start * (start - 1) // 2 - start - 1
        for one in range(rules.start[label], rules.start[label + 1]):
            left, right, rule = rules.left[one], rules.right[one], rules.rule[one]
            length = (first[rule + 1] - first[rule]) // LANES
            begin = place
            for word in range(start // BITS, end // BITS + 1):
                mask = present.ends[left, start, word] & present.starts[right, end, word]
                while mask:
                    split = word * BITS + lowest_bit(mask)
                    mask &= mask - np.uint64(1)
                    below = split * n - split * (split - 1) // 2 + end - split - 1
                    children[0, place] = present.node_at[above + split, left]
                    children[1, place] = present.node_at[below, right]
                    for side in range(2):
                        child = children[side, place]
                        at = known_start[child] + use[side, rule]
                        if known[at] < 0:
                            known[at] = row_of[vector] = n_rows
                            size_of[vector] = length
                            source[vector] = first[rule] // LANES + side * second_side
                            following[vector] = first_vector[child]
                            first_vector[child] = vector
                            vector += 1
                            n_rows += length
                        rows[side, place] = known[at]
                    place += 1
            if place > begin:
                rule_of[expansion], production_start[expansion] = rule, begin
                value_row[expansion + 1] = value_row[expansion] + length
                expansion += 1
    production_start[expansion] = place
    vectors = Vectors(rows[0], rows[1], first_vector, row_of, size_of, source, following, n_rows)
    return (rule_of, value_row, production_start), (children[0], children[1]), vectors


def dop_forest(
    tables: DopTables,
    terminals: IntArray,
    starts: IntArray,
    ends: IntArray,
    labels: IntArray,
) -> DopForest:
    """The forest of labels over spans of two terminals and more, in the order of start, end, label.

    Labels over one terminal are its own. Raises ChartOverflowError for a forest that is too large.
    """
    n = len(terminals)
    n_words = tables.word_start[terminals + 1] - tables.word_start[terminals]
    size = len(starts) + int(n_words.sum() + np.count_nonzero(tables.alone[terminals]))
    start, end, group, words = np.empty((4, size), np.int32)
    nodes = start, end, group, words
    number = np.full(len(tables.uses), -1, np.int32)
    first = np.zeros(tables.n_labels + 1, np.int32)
    rule, left, right = np.empty((3, len(tables.first)), np.int32)
    rules = DopRules(first, rule, left, right)
    groups = arrange(tables, terminals, (starts, ends, labels), nodes, number, rules)
    n_cells = n * (n + 1) // 2
    if n_cells * groups > MAX_PRODUCTIONS:
        raise ChartOverflowError(TOO_LARGE)
    masks = np.zeros((2, groups, n + 1, n // BITS + 1), np.uint64)
    present = Presence(np.full((n_cells, groups), -1, np.int32), masks[0], masks[1])
    expansion_start = np.empty(size + 1, np.int64)
    count = count_productions(n, nodes, number, rules, present, expansion_start)
    if count > MAX_PRODUCTIONS:
        raise ChartOverflowError(TOO_LARGE)
    listed = list_productions(tables, n, nodes, rules, present, expansion_start, count)
    expansions, productions, vectors = listed
    return DopForest(n, *nodes, expansion_start, *expansions, *productions, vectors)
