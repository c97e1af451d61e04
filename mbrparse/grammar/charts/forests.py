"""Forests for one grammar: the memory they live in, and what a sentence needs of them."""

from __future__ import annotations

import math

import numpy as np

from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.charts.closure import unary_closure
from mbrparse.grammar.charts.dense_charts import lexical_entries
from mbrparse.grammar.charts.forest import (
    EDGES,
    GROUPS,
    NODES,
    PARTNERS,
    PRODUCTIONS,
    UNARIES,
    Forest,
    ForestUnaries,
    Words,
    Work,
    forest_cell,
    forest_inside,
    forest_outside,
)
from mbrparse.grammar.charts.rule_tables import (
    Floats,
    Ints,
    SparseTables,
    chart_rules,
    lexicon,
    sparse_tables,
)
from mbrparse.grammar.pcfg import PCFG, IntArray

# A sentence whose forest needs more has none: some 4 GB in all, with the rows that are searched.
MAX_SIZE = {
    NODES: 1 << 22,
    GROUPS: 1 << 23,
    EDGES: 1 << 27,
    PRODUCTIONS: 1 << 24,
    UNARIES: 1 << 21,
    PARTNERS: 1 << 24,
}
_FIRST_SIZE = {
    NODES: 1 << 14,
    GROUPS: 1 << 16,
    EDGES: 1 << 19,
    PRODUCTIONS: 1 << 17,
    UNARIES: 1 << 12,
    PARTNERS: 1 << 16,
}


class ForestOverflowError(ChartOverflowError):
    """A forest outgrows the memory that is meant for one."""


class Forests:
    """Fills the forest of one sentence after the other, in the same memory, in double precision."""

    def __init__(self, grammar: PCFG) -> None:
        rules = chart_rules(grammar)
        self.tables: SparseTables = sparse_tables(rules)
        self.unaries = forest_unaries(grammar)
        self._lexicon = lexicon(rules, len(grammar.terminals))
        self._shift = self._lexicon.shift + self._lexicon.token_shift
        terminal = np.repeat(np.arange(len(grammar.terminals)), np.diff(self._lexicon.start))
        self._entry_prob = np.ldexp(self._lexicon.prob, self._shift[terminal])
        self._n_symbols = len(grammar.symbols)
        #: The natural logarithm of what all inside values of whole sentences are multiplied by.
        self.log_scale = 0.0
        self._size = dict(_FIRST_SIZE)
        self._length = 0
        self._allocate(32)

    def fill(self, terminal_ids: IntArray) -> tuple[Forest, float]:
        """The forest of a sentence, which lives until the next one, and its log probability.

        Raises ForestOverflowError where memory does not suffice.
        """
        length = len(terminal_ids)
        if length > self._length:
            self._allocate(max(length, 3 * self._length // 2))
        entries, begin = lexical_entries(self._lexicon, terminal_ids)
        words = Words(begin, self._lexicon.symbol[entries], self._entry_prob[entries])
        while True:
            full = int(forest_inside(self.tables, self.unaries, words, self.forest, self.work))
            if full < 0:
                break
            self._enlarge(full)
        total = forest_outside(self.tables, self.unaries, self.forest, self.work, self.weight, length)
        if not total > 0:
            return self.forest, -math.inf
        shift = int(self._shift[terminal_ids].sum()) - int(self.work.shift[1 : length + 1].sum())
        self.log_scale = shift * math.log(2.0)
        return self.forest, math.log(total) - self.log_scale

    def root_symbols(self, length: int) -> Ints:
        """The symbols that derive the whole of the sentence that was filled last."""
        cell = forest_cell(0, length)
        first, last = self.forest.node_first[cell], self.forest.node_first[cell + 1]
        symbols: Ints = self.forest.node_symbol[first:last]
        return symbols

    def _enlarge(self, part: int) -> None:
        if self._size[part] >= MAX_SIZE[part]:
            raise ForestOverflowError("a forest too large for memory")
        self._size[part] *= 2
        self._allocate(self._length)

    def _allocate(self, length: int) -> None:
        self._length = length
        size = self._size
        # A grammar without unary rules has no use for their arrays, and searches see that they are empty.
        unaries = size[UNARIES] if len(self.unaries.rule_parent) else 0
        self.forest = empty_forest(
            length * (length + 1) // 2 + 1,
            size[NODES],
            size[GROUPS],
            size[EDGES],
            size[PARTNERS],
            size[PRODUCTIONS],
            unaries,
        )
        self.weight = _floats(size[GROUPS])
        self.work = Work(
            group_slot=np.full(len(self.tables.pair_left) * length, -1, np.int32),
            length=length,
            node_slot=np.full(self._n_symbols, -1, np.int32),
            partner_list=np.zeros((length, self._n_symbols), np.int32),
            partner_first=_ints(size[PARTNERS]),
            list_head=_ints(length + 1),
            list_next=_ints(size[PARTNERS]),
            partner_pair=_ints(size[PARTNERS]),
            partner_slot=_ints(size[PARTNERS]),
            partner_value=_floats(size[PARTNERS]),
            partner_passed=_floats(size[PARTNERS]),
            bucket_first=np.zeros((length + 1, self.tables.n_left + 1), np.int32),
            bucket_node=_ints(size[NODES]),
            place=_ints(self.tables.n_left + 1),
            base=_floats(self._n_symbols),
            shift=_ints(length + 1),
            counts=_ints(3),
        )


def empty_forest(
    cells: int, nodes: int, groups: int, edges: int, lefts: int, productions: int, unaries: int
) -> Forest:
    """A forest with room for so many of each."""
    return Forest(
        node_first=_ints(cells),
        node_start=_ints(nodes),
        node_symbol=_ints(nodes),
        inside=_floats(nodes),
        outside=_floats(nodes),
        lexical=_floats(nodes),
        cell_group=_ints(cells),
        group_next=_ints(groups),
        group_start=_ints(groups),
        group_pair=_ints(groups),
        group_rule=_ints(groups),
        group_right=_ints(groups),
        group_sum=_floats(groups),
        edge_first=_ints(nodes + 1),
        edge_group=_ints(edges),
        left_first=_ints(nodes),
        left_node=_ints(lefts),
        production_first=_ints(groups),
        production_last=_ints(groups),
        cell_production=_ints(cells),
        production_parent=_ints(productions),
        production_group=_ints(productions),
        production_rule=_ints(productions),
        unary_first=_ints(cells),
        unary_parent=_ints(unaries),
        unary_child=_ints(unaries),
        unary_rule=_ints(unaries),
    )


def forest_unaries(grammar: PCFG) -> ForestUnaries:
    """The unary rules of a grammar by child, and their closure."""
    order = np.lexsort((grammar.unary_parent, grammar.unary_child))
    closure = unary_closure(grammar)
    return ForestUnaries(
        np.searchsorted(grammar.unary_child[order], np.arange(len(grammar.symbols) + 1)).astype(np.int32),
        grammar.unary_parent[order],
        np.exp(grammar.unary_log_prob[order]),
        closure.start,
        closure.top,
        closure.value,
    )


def _ints(size: int) -> Ints:
    return np.zeros(size, np.int32)


def _floats(size: int) -> Floats:
    return np.zeros(size)
