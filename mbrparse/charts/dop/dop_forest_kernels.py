"""The labels that are alive in a sentence, and the productions that combine them, as DOP charts need them.

A *node* is a label over a span, or a terminal that stands in trees by itself. Nodes come bottom up, in
descending order of start, then ascending order of end and label. An *expansion* is a rule that a node may be
made by, a *production* a split of the node's span by such a rule. A node's expansions come in the order of
rules, their productions in the order of splits. Addresses have values over a span only where their rule is an
expansion of the node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.rule_tables import Ints, Offsets
from mbrparse.charts.base.vector import count_bits, lowest_bit
from mbrparse.charts.dop.dop_tables import LANES, DopTables
from mbrparse.charts.kernel import kernel

BITS = 64
Masks = npt.NDArray[np.uint64]


class Rules(NamedTuple):
    """The binary rules both of whose children are in the sentence, with the groups' numbers there."""

    start: Ints  # by label, its first; and the end
    rule: Ints
    left: Ints  # a number
    right: Ints


class Alive(NamedTuple):
    """Where the groups of a sentence are alive."""

    node_at: Ints  # [cell, number]: the node, or -1
    ends: Masks  # [number, start, word]: a bit for each end where the group is alive
    starts: Masks  # [number, end, word]: a bit for each start


Spans = tuple[Ints, Ints, Ints]
Nodes = tuple[Ints, Ints, Ints, Ints]


class Vectors(NamedTuple):
    """What nodes make of the addresses of a rule, as its left or as its right child.

    Such a vector is gathered from the node's own values once, and serves all productions of the rule with
    this child. It takes up one row of LANES or more; a node's vectors are a linked list.
    """

    left: Ints  # by production, the row where its left child's vector begins; -1 of a terminal
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
    tables: DopTables, terminals: Ints, spans: Spans, nodes: Nodes, number: Ints, rules: Rules
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
    n: int, nodes: Nodes, number: Ints, rules: Rules, alive: Alive, expansion_start: Offsets
) -> int:
    """Find the living nodes, and how many expansions each has; returns the number of productions."""
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
                    count += count_bits(alive.ends[left, start, word] & alive.starts[right, end, word])
                if count > before:
                    expansions += 1
        if expansions > expansion_start[node] or end - start == 1:
            own = number[group]
            alive.ends[own, start, end // BITS] |= np.uint64(1) << np.uint64(end % BITS)
            alive.starts[own, end, start // BITS] |= np.uint64(1) << np.uint64(start % BITS)
            alive.node_at[start * n - start * (start - 1) // 2 + end - start - 1, own] = node
    expansion_start[len(groups)] = expansions
    return count


@kernel
def list_productions(
    tables: DopTables, n: int, nodes: Nodes, rules: Rules, alive: Alive, expansion_start: Offsets, count: int
) -> tuple[tuple[Ints, Offsets, Offsets], tuple[Ints, Ints], Vectors]:
    """List the nodes' expansions, their productions (so many), and vectors.

    Returns the columns of expansions and of productions, as DopForest has them, and the vectors.
    """
    starts, ends, group, _ = nodes
    n_labels, first, use, size = tables.n_labels, tables.first, tables.use, len(group)
    rule_of = np.empty(expansion_start[size], np.int32)
    value_row = np.zeros(expansion_start[size] + 1, np.int64)
    production_start = np.zeros(expansion_start[size] + 1, np.int64)
    children, rows = np.empty((2, count), np.int32), np.full((2, count), -1, np.int32)
    row_of, size_of = np.empty(2 * count, np.int32), np.empty(2 * count, np.int32)
    source, following = np.empty(2 * count, np.int32), np.empty(2 * count, np.int32)
    first_vector = np.full(size, -1, np.int32)
    # The row of the vector for each use of each node's label.
    known_start = np.zeros(size + 1, np.int64)
    known_start[1:] = np.cumsum(tables.uses[group])
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
                mask = alive.ends[left, start, word] & alive.starts[right, end, word]
                while mask:
                    split = word * BITS + lowest_bit(mask)
                    mask &= mask - np.uint64(1)
                    below = split * n - split * (split - 1) // 2 + end - split - 1
                    children[0, place] = alive.node_at[above + split, left]
                    children[1, place] = alive.node_at[below, right]
                    for side in range(2):
                        child = children[side, place]
                        if group[child] >= n_labels:
                            continue
                        at = known_start[child] + use[side, rule]
                        if known[at] < 0:
                            known[at] = row_of[vector] = n_rows
                            size_of[vector] = length
                            source[vector] = first[rule] // LANES + side * (len(tables.cut) // 2)
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
