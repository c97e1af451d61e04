"""Making a sentence's forest: which labels are alive, by which productions, where their values will be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.charts.bits import count_bits, lowest_bit
from mbrparse.grammar.charts.dop.dop_forest import DopForest, Vectors
from mbrparse.grammar.charts.dop.dop_tables import LANES, DopTables
from mbrparse.grammar.charts.rule_tables import Ints, Offsets
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import IntArray

# Values that a chart may hold: 2 GB.
MAX_VALUES = 1 << 28
# Productions and pairs of a cell and a label: some 1 GB.
MAX_PRODUCTIONS = 1 << 26

_BITS = 64
_Masks = npt.NDArray[np.uint64]


class _Rules(NamedTuple):
    """The binary rules both of whose children are in the sentence; a group's number there is local."""

    start: Ints  # by label, its first; and the end
    rule: Ints
    left: Ints  # local
    right: Ints


class _Alive(NamedTuple):
    node_at: Ints  # [cell, local]: the node, or -1
    ends: _Masks  # [local, start, word]: a bit for each end where the group is alive
    starts: _Masks  # [local, end, word]: a bit for each start


def dop_forest(
    tables: DopTables,
    terminals: IntArray,
    starts: IntArray,
    ends: IntArray,
    labels: IntArray,
    kept: bool = True,
) -> DopForest:
    """The forest of labels over spans of two terminals and more, which come in order of start, end, label.

    Labels over one terminal are its own. Raises ChartOverflowError for a forest that is too large.
    """
    n, n_groups = len(terminals), len(tables.numbers)
    n_words = tables.word_start[terminals + 1] - tables.word_start[terminals]
    size = len(starts) + int(n_words.sum() + np.count_nonzero(tables.alone[terminals]))
    start, end, group, words = np.empty((4, size), np.int32)
    local = np.full(n_groups, -1, np.int32)
    rules = _Rules(np.zeros(tables.n_labels + 1, np.int32), *np.empty((3, len(tables.first)), np.int32))
    n_local = _arrange(tables, terminals, (starts, ends, labels), (start, end, group, words), local, rules)
    n_cells = n * (n + 1) // 2
    if n_cells * n_local > MAX_PRODUCTIONS:
        raise ChartOverflowError(f"a chart of {n_cells} cells with {n_local} labels")
    masks = np.zeros((2, n_local, n + 1, n // _BITS + 1), np.uint64)
    alive = _Alive(np.full((n_cells, n_local), -1, np.int32), masks[0], masks[1])
    production_start = np.empty(size + 1, np.int64)
    _count_productions(n, (start, end, group, words), local, rules, alive, production_start)
    count = int(production_start[-1])
    if count > MAX_PRODUCTIONS:
        raise ChartOverflowError(f"a chart of {count} productions")

    rule, left, right, left_vector, right_vector = np.empty((5, count), np.int32)
    vector_rule, row, following = np.empty((3, 2 * count), np.int32)
    first_left, first_right = np.full((2, size), -1, np.int32)
    row_start, row_end = np.zeros((2, n), np.int32)
    vectors = Vectors(
        left_vector,
        right_vector,
        first_left,
        first_right,
        vector_rule,
        row,
        following,
        row_start,
        row_end,
        0,
        0,
    )
    table_start = np.zeros(size + 1, np.int64)
    if kept:
        np.cumsum(tables.numbers[group], out=table_start[1:])
    # Values begin after as many zeros as the largest rule has addresses: those of dead rules.
    dead = int(np.diff(tables.first).max(initial=1))
    forest = DopForest(
        n,
        start,
        end,
        group,
        production_start,
        rule,
        left,
        right,
        table_start,
        np.zeros(table_start[-1], np.int64),
        words,
        dead if kept else 0,
        dead,
        vectors,
    )
    uses = np.zeros((2, size + 1), np.int64)
    np.cumsum(tables.left_uses[group], out=uses[0, 1:])
    np.cumsum(tables.right_uses[group], out=uses[1, 1:])
    known = np.full(uses[0, -1], -1, np.int32), np.full(uses[1, -1], -1, np.int32)
    n_left, n_right = _list_productions(tables, forest, rules, alive, (uses[0], uses[1], *known))
    n_values = _place_values(tables, forest) if kept else 0
    if n_values + LANES * (n_left + 2 * n_right) > MAX_VALUES:
        raise ChartOverflowError(f"a chart of {n_values + LANES * (n_left + 2 * n_right)} values")
    vectors = vectors._replace(n_left=n_left, n_right=n_right)
    return forest._replace(n_values=n_values, vectors=vectors)


_Spans = tuple[IntArray, IntArray, IntArray]
_Nodes = tuple[Ints, Ints, Ints, Ints]


@kernel
def _arrange(
    tables: DopTables, terminals: IntArray, spans: _Spans, nodes: _Nodes, local: Ints, rules: _Rules
) -> int:
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
def _count_productions(
    n: int, nodes: _Nodes, local: Ints, rules: _Rules, alive: _Alive, production_start: Offsets
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
                for word in range(start // _BITS, end // _BITS + 1):
                    count += count_bits(alive.ends[left, start, word] & alive.starts[right, end, word])
        if count > production_start[node] or end - start == 1:
            own = local[group]
            alive.ends[own, start, end // _BITS] |= np.uint64(1) << np.uint64(end % _BITS)
            alive.starts[own, end, start // _BITS] |= np.uint64(1) << np.uint64(start % _BITS)
            alive.node_at[start * n - start * (start - 1) // 2 + end - start - 1, own] = node
    production_start[len(groups)] = count


@kernel
def _list_productions(
    tables: DopTables,
    forest: DopForest,
    rules: _Rules,
    alive: _Alive,
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
            for word in range(start // _BITS, end // _BITS + 1):
                mask = alive.ends[left, start, word] & alive.starts[right, end, word]
                while mask:
                    split = word * _BITS + lowest_bit(mask)
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
def _place_values(tables: DopTables, forest: DopForest) -> int:
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
