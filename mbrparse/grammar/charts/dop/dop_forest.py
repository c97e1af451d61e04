"""The labels that are alive in a sentence, and the productions that combine them: what DOP charts live on.

A *node* is a label over a span, or a terminal that stands in trees by itself. Nodes come bottom up, in
descending order of start, then ascending order of end and label. A *production* is a rule at a split; those
of a node come in the order of rules, then of splits. Only rules with a production have values of addresses,
which lie in one long array, the addresses of a rule of a node side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.charts.dop.dop_tables import DopTables
from mbrparse.grammar.charts.rule_tables import Ints, Offsets
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import IntArray

# Values that a chart may hold, two arrays of them: 2 GB.
MAX_VALUES = 1 << 27
# Productions and pairs of a cell and a label: some 1 GB.
MAX_PRODUCTIONS = 1 << 26

_BITS = 64
_Masks = npt.NDArray[np.uint64]


class Vectors(NamedTuple):
    """Where nodes have what they make of the addresses of an inner rule, as its left or as its right child.

    Such a vector is gathered once, and serves all productions of the rule with this child. Those of left
    children are needed while nodes with the same start are at work, and lie in one memory for each start.
    """

    left: Offsets  # by production, where its left child's begins; -1 for a rule with a terminal
    right: Offsets
    left_table_start: Offsets  # by node, where its table begins
    left_table: Offsets  # by use of the node's label as a left child (see DopTables); -1 where there is none
    right_table_start: Offsets
    right_table: Offsets
    row_size: Offsets  # by start, how much of the left children's vectors is in use
    n_right: int


class DopForest(NamedTuple):
    """Nodes, and their productions. A leaf, over one terminal, has none."""

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


class _Nodes(NamedTuple):
    n: int
    start: Ints
    end: Ints
    group: Ints
    local: Ints  # by group, its number among those of the sentence, or -1
    node_at: Ints  # [cell, local]: the node, or -1
    ends: _Masks  # [local, start]: a bit for each end where the group is alive
    starts: _Masks  # [local, end]: a bit for each start


def dop_forest(
    tables: DopTables, terminals: IntArray, starts: IntArray, ends: IntArray, labels: IntArray
) -> DopForest:
    """The forest of labels over spans of two terminals and more; labels over one terminal are its own.

    Raises ChartOverflowError for one that is too large.
    """
    n = len(terminals)
    word_first, word_last = tables.word_start[terminals], tables.word_start[terminals + 1]
    word = np.concatenate([np.arange(*limits) for limits in zip(word_first, word_last, strict=True)])
    tagged = np.repeat(np.arange(n), word_last - word_first)
    bare = np.flatnonzero(tables.alone[terminals])
    start = np.concatenate((starts, tagged, bare)).astype(np.int32)
    end = np.concatenate((ends, tagged + 1, bare + 1)).astype(np.int32)
    group = np.concatenate((labels, tables.word_label[word], tables.n_labels + terminals[bare])).astype(
        np.int32
    )
    words = np.concatenate((np.full(len(starts), -1), word, np.full(len(bare), -1))).astype(np.int32)
    order = np.lexsort((group, end, -start))
    nodes = _arranged(n, start[order], end[order], group[order], len(tables.numbers))
    table_start = np.zeros(len(group) + 1, np.int64)
    np.cumsum(tables.numbers[nodes.group], out=table_start[1:])
    table = np.zeros(table_start[-1], np.int64)
    # Values begin after as many zeros as the largest rule has addresses: those of dead rules.
    dead = max(int(np.diff(tables.first).max(initial=1)), 1)
    none = np.empty(0, np.int32)
    forest = DopForest(
        n,
        nodes.start,
        nodes.end,
        nodes.group,
        np.zeros(len(group) + 1, np.int64),
        none,
        none,
        none,
        table_start,
        table,
        words[order],
        dead,
        dead,
        _no_vectors(tables, nodes),
    )
    # The first time they are counted, the second time listed.
    count, _, _ = _list_productions(tables, nodes, forest, False)
    if count > MAX_PRODUCTIONS:
        raise ChartOverflowError(f"a chart of {count} productions")
    vectors = forest.vectors._replace(left=np.empty(count, np.int64), right=np.empty(count, np.int64))
    forest = forest._replace(
        rule=np.empty(count, np.int32),
        left=np.empty(count, np.int32),
        right=np.empty(count, np.int32),
        vectors=vectors,
    )
    _, n_values, n_right = _list_productions(tables, nodes, forest, True)
    if n_values + n_right > MAX_VALUES:
        raise ChartOverflowError(f"a chart of {n_values + n_right} addresses")
    return forest._replace(n_values=n_values, vectors=vectors._replace(n_right=n_right))


def _no_vectors(tables: DopTables, nodes: _Nodes) -> Vectors:
    def table(starts: Offsets) -> tuple[Offsets, Offsets]:
        start = np.zeros(len(nodes.group) + 1, np.int64)
        np.cumsum(np.diff(starts)[nodes.group], out=start[1:])
        return start, np.full(start[-1], -1, np.int64)

    none = np.empty(0, np.int64)
    left, right = table(tables.left_start), table(tables.right_start)
    return Vectors(none, none, *left, *right, np.zeros(nodes.n, np.int64), 0)


def _arranged(n: int, start: Ints, end: Ints, group: Ints, n_groups: int) -> _Nodes:
    found = np.unique(group)
    n_cells = n * (n + 1) // 2
    if n_cells * len(found) > MAX_PRODUCTIONS:
        raise ChartOverflowError(f"a chart of {n_cells} cells with {len(found)} labels")
    local = np.full(n_groups, -1, np.int32)
    local[found] = np.arange(len(found))
    node_at = np.full((n_cells, len(found)), -1, np.int32)
    node_at[cell_of(n, start, end), local[group]] = np.arange(len(group))
    masks = np.zeros((2, len(found), n + 1, n // _BITS + 1), np.uint64)
    return _Nodes(n, start, end, group, local, node_at, masks[0], masks[1])


@kernel
def _list_productions(
    tables: DopTables, nodes: _Nodes, forest: DopForest, listing: bool
) -> tuple[int, int, int]:
    """Find all productions between living nodes; returns how many there are, how many values and vectors'."""
    n, production_start, vectors = nodes.n, forest.production_start, forest.vectors
    nodes.ends[:] = 0
    nodes.starts[:] = 0
    count = 0
    n_values, n_right = forest.n_values, 0
    for node in range(len(nodes.group)):
        start, end, label = nodes.start[node], nodes.end[node], nodes.group[node]
        production_start[node] = count
        alive = end - start == 1
        if label < tables.n_labels and not alive:
            row = start * n - start * (start - 1) // 2 - start - 1
            for rule in range(tables.rule_start[label], tables.rule_start[label + 1]):
                left, right = nodes.local[tables.rule_left[rule]], nodes.local[tables.rule_right[rule]]
                if left < 0 or right < 0:
                    continue
                found = False
                size = tables.first[rule + 1] - tables.first[rule]
                left_use, right_use = tables.left_use[rule], tables.right_use[rule]
                for word in range(start // _BITS, end // _BITS + 1):
                    mask = nodes.ends[left, start, word] & nodes.starts[right, end, word]
                    split = word * _BITS
                    while mask:
                        if mask & np.uint64(1):
                            if listing:
                                below = split * n - split * (split - 1) // 2 + end - split - 1
                                left_node = nodes.node_at[row + split, left]
                                right_node = nodes.node_at[below, right]
                                forest.rule[count] = rule
                                forest.left[count] = left_node
                                forest.right[count] = right_node
                                vectors.left[count] = -1
                                vectors.right[count] = -1
                                if left_use >= 0:
                                    at = vectors.left_table_start[left_node] + left_use
                                    if vectors.left_table[at] < 0:
                                        vectors.left_table[at] = vectors.row_size[start]
                                        vectors.row_size[start] += size
                                    vectors.left[count] = vectors.left_table[at]
                                    at = vectors.right_table_start[right_node] + right_use
                                    if vectors.right_table[at] < 0:
                                        vectors.right_table[at] = n_right
                                        n_right += size
                                    vectors.right[count] = vectors.right_table[at]
                            count += 1
                            found = True
                        mask >>= np.uint64(1)
                        split += 1
                if found:
                    alive = True
                    if listing:
                        number = 1 + rule - tables.rule_start[label]
                        forest.table[forest.table_start[node] + number] = n_values
                        n_values += size
        elif forest.words[node] >= 0 and listing:
            forest.table[forest.table_start[node] + tables.word_number[forest.words[node]]] = n_values
            n_values += 1
        if alive:
            local = nodes.local[label]
            nodes.ends[local, start, end // _BITS] |= np.uint64(1) << np.uint64(end % _BITS)
            nodes.starts[local, end, start // _BITS] |= np.uint64(1) << np.uint64(start % _BITS)
    production_start[len(nodes.group)] = count
    return count, n_values, n_right
