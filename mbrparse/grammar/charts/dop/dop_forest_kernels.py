"""The labels that are alive in a sentence, and the productions that combine them: what DOP charts live on.

A *node* is a label over a span, or a terminal that stands in trees by itself. Nodes come bottom up, in
descending order of start, then ascending order of end and label. A *production* is a rule at a split; those
of a node come in the order of rules, then of splits. Only rules with a production have values of addresses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.base.rule_tables import Ints, Offsets
from mbrparse.grammar.charts.base.vector import count_bits, lowest_bit
from mbrparse.grammar.charts.dop.dop_tables import LANES, DopTables
from mbrparse.grammar.kernel import kernel

BITS = 64
Masks = npt.NDArray[np.uint64]


class Rules(NamedTuple):
    """The binary rules both of whose children are in the sentence; a group's number there is local."""

    start: Ints  # by label, its first; and the end
    rule: Ints
    left: Ints  # local
    right: Ints


class Alive(NamedTuple):
    node_at: Ints  # [cell, local]: the node, or -1
    ends: Masks  # [local, start, word]: a bit for each end where the group is alive
    starts: Masks  # [local, end, word]: a bit for each start


Spans = tuple[Ints, Ints, Ints]
Nodes = tuple[Ints, Ints, Ints, Ints]


class Vectors(NamedTuple):
    """Where nodes have what they make of the addresses of a rule, as its left or as its right child.

    Such a vector is gathered from the node's own values once, and serves all productions of the rule with
    this child. Vectors lie side by side, in rows of LANES; those of left children by start.
    """

    left: Ints  # by production, the row where its left child's vector begins; -1 of a terminal
    right: Ints
    first_left: Ints  # by node, its first vector as a left child; -1 where there is none
    first_right: Ints
    rule: Ints  # by vector
    row: Ints  # where it begins
    next: Ints  # the node's next one; -1 after the last
    row_start: Ints  # by start, where the left children's vectors begin
    row_end: Ints
    n_left: int  # rows
    n_right: int


class DopForest(NamedTuple):
    """Nodes, and their productions. A leaf, over one terminal, has none.

    Where the forest is kept for those who go down it, it says where the values of all rules of all nodes are,
    the addresses of a rule of a node side by side; else ``table`` is empty and ``n_values`` is 0.
    """

    n: int
    start: Ints  # by node
    end: Ints
    group: Ints
    production_start: Offsets  # by node, its first production; and the end
    rule: Ints  # by production
    left: Ints  # a node
    right: Ints
    table_start: Offsets  # by node, where its table of rules begins
    table: Offsets  # by a rule's number, where its values begin; 0 where it has none
    words: Ints  # by leaf, its lexical rule (an index into the tables' words), or -1; by others -1
    n_values: int
    n_zeros: int  # how many of the values are those of dead rules
    vectors: Vectors


@kernel
def arrange(tables: DopTables, terminals: Ints, spans: Spans, nodes: Nodes, local: Ints, rules: Rules) -> int:
    """List the nodes, and the rules both of whose children are among them; returns the number of groups."""
    n_labels = tables.n_labels
    starts, ends, labels = spans
    start, end, group, words = nodes
    size, n_local, span = 0, 0, len(starts)
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
        if local[group[node]] < 0:
            local[group[node]] = n_local
            n_local += 1
    count = 0
    for label in range(n_labels):
        rules.start[label] = count
        if local[label] >= 0:
            for rule in range(tables.rule_start[label], tables.rule_start[label + 1]):
                left, right = local[tables.rule_left[rule]], local[tables.rule_right[rule]]
                if left >= 0 and right >= 0:
                    rules.rule[count], rules.left[count], rules.right[count] = rule, left, right
                    count += 1
    rules.start[n_labels] = count
    return n_local


@kernel
def count_productions(
    n: int, nodes: Nodes, local: Ints, rules: Rules, alive: Alive, production_start: Offsets
) -> None:
    """Find the living nodes, and how many productions each has."""
    starts, ends, groups, _ = nodes
    count = 0
    for node in range(len(groups)):
        start, end, group = starts[node], ends[node], groups[node]
        production_start[node] = count
        if end - start > 1:
            for place in range(rules.start[group], rules.start[group + 1]):
                left, right = rules.left[place], rules.right[place]
                for word in range(start // BITS, end // BITS + 1):
                    count += count_bits(alive.ends[left, start, word] & alive.starts[right, end, word])
        if count > production_start[node] or end - start == 1:
            own = local[group]
            alive.ends[own, start, end // BITS] |= np.uint64(1) << np.uint64(end % BITS)
            alive.starts[own, end, start // BITS] |= np.uint64(1) << np.uint64(start % BITS)
            alive.node_at[start * n - start * (start - 1) // 2 + end - start - 1, own] = node
    production_start[len(groups)] = count


@kernel
def list_productions(
    tables: DopTables,
    forest: DopForest,
    rules: Rules,
    alive: Alive,
    known: tuple[Offsets, Offsets, Ints, Ints],
) -> tuple[int, int]:
    """List all productions and vectors; returns how many rows those of left and of right children take.

    ``known``: by node, where its uses as a left and as a right child begin; by use, the vector's row.
    """
    n, n_labels, vectors = forest.n, tables.n_labels, forest.vectors
    production_start, group, starts, ends = forest.production_start, forest.group, forest.start, forest.end
    left_start, right_start, known_left, known_right = known
    count = n_vectors = n_left = n_right = 0
    begun = -1
    for node in range(len(group)):
        if production_start[node] == production_start[node + 1]:
            continue
        start, end, label = starts[node], ends[node], group[node]
        if start != begun:
            begun = start
            vectors.row_start[start] = n_left
        row = start * n - start * (start - 1) // 2 - start - 1
        for place in range(rules.start[label], rules.start[label + 1]):
            left, right = rules.left[place], rules.right[place]
            for word in range(start // BITS, end // BITS + 1):
                mask = alive.ends[left, start, word] & alive.starts[right, end, word]
                while mask:
                    split = word * BITS + lowest_bit(mask)
                    mask &= mask - np.uint64(1)
                    rule = rules.rule[place]
                    left_node = alive.node_at[row + split, left]
                    below = split * n - split * (split - 1) // 2 + end - split - 1
                    right_node = alive.node_at[below, right]
                    forest.rule[count] = rule
                    forest.left[count] = left_node
                    forest.right[count] = right_node
                    size = (tables.first[rule + 1] - tables.first[rule]) // LANES
                    at_left = at_right = -1
                    use = tables.left_use[rule]
                    if use >= 0:
                        at_left = known_left[left_start[left_node] + use]
                        at_right = known_right[right_start[right_node] + tables.right_use[rule]]
                    if at_left < 0 and group[left_node] < n_labels:
                        at_left = n_left
                        n_left += size
                        vectors.rule[n_vectors], vectors.row[n_vectors] = rule, at_left
                        vectors.next[n_vectors] = vectors.first_left[left_node]
                        vectors.first_left[left_node] = n_vectors
                        n_vectors += 1
                        if use >= 0:
                            known_left[left_start[left_node] + use] = at_left
                    if at_right < 0 and group[right_node] < n_labels:
                        at_right = n_right
                        n_right += size
                        vectors.rule[n_vectors], vectors.row[n_vectors] = rule, at_right
                        vectors.next[n_vectors] = vectors.first_right[right_node]
                        vectors.first_right[right_node] = n_vectors
                        n_vectors += 1
                        if use >= 0:
                            known_right[right_start[right_node] + tables.right_use[rule]] = at_right
                    vectors.left[count] = at_left
                    vectors.right[count] = at_right
                    count += 1
        vectors.row_end[start] = n_left
    return n_left, n_right


@kernel
def place_values(tables: DopTables, forest: DopForest) -> int:
    """Fill the tables of where the values of each node's rules begin; returns how many values there are."""
    n_values = forest.n_values
    for node in range(len(forest.group)):
        table = forest.table_start[node]
        if forest.words[node] >= 0:
            forest.table[table + tables.word_number[forest.words[node]]] = n_values
            n_values += 1
        last = -1
        for production in range(forest.production_start[node], forest.production_start[node + 1]):
            rule = forest.rule[production]
            if rule != last:
                last = rule
                number = 1 + rule - tables.rule_start[forest.group[node]]
                forest.table[table + number] = n_values
                n_values += tables.first[rule + 1] - tables.first[rule]
    return n_values
