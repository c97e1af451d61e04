"""Forests for one grammar: the memory they live in, and what a sentence needs of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.closure import unary_tables
from mbrparse.grammar.charts.forest.forest_inside import forest_inside
from mbrparse.grammar.charts.forest.forest_outside import forest_outside
from mbrparse.grammar.charts.forest.packed_forest import (
    EDGES,
    GROUPS,
    NODES,
    PARTNERS,
    PRODUCTIONS,
    UNARIES,
    Columns,
    Forest,
    ForestState,
    Partners,
    empty_forest,
    forest_cell,
    new_floats,
    new_ints,
)
from mbrparse.grammar.charts.lexicon import lexicon, scaled_entries, words_of
from mbrparse.grammar.charts.prediction import prediction
from mbrparse.grammar.charts.rule_tables import Floats, Ints, chart_rules, sparse_tables
from mbrparse.grammar.charts.sparse.alive import Alive, alive_words
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


class Forests:
    """Fills the forest of one sentence after the other, in the same memory, in double precision."""

    def __init__(
        self, grammar: PCFG, max_size: Mapping[int, int] | None = None, clock: Clock = NO_LIMIT
    ) -> None:
        """``max_size`` says how many of each part a forest may have (``MAX_SIZE``)."""
        self.clock = clock
        rules = chart_rules(grammar)
        self.tables = sparse_tables(rules)
        self.unaries = unary_tables(grammar)
        self._prediction = prediction(
            rules, grammar.unary_parent, grammar.unary_child, self.tables.left_index, self.tables.n_left
        )
        self._lexicon = lexicon(rules, len(grammar.terminals))
        self._shift, self._entry_prob = scaled_entries(self._lexicon)
        self._n_symbols = len(grammar.symbols)
        #: The natural logarithm of what the inside values of the last sentence are multiplied by.
        self.log_scale = 0.0
        #: That of its probability, so multiplied.
        self.log_total = -math.inf
        self._max_size = dict(max_size or MAX_SIZE)
        self._size = {part: min(first, self._max_size[part]) for part, first in _FIRST_SIZE.items()}
        self._state = self._allocated(32, self._size)

    @property
    def forest(self) -> Forest:
        """The forest that was filled last."""
        return self._state.forest

    @property
    def partner_value(self) -> Floats:
        """The inside values of its left nodes, in the order of ``left_node``."""
        return self._state.partners.value

    @property
    def weight(self) -> Floats:
        """By group, the sum of outside * probability over its productions."""
        return self._state.weight

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return int(self._state.columns.counts[2])

    def fill(self, terminal_ids: IntArray, alive: Alive | None = None) -> tuple[Forest, float]:
        """The forest of a sentence, which lives until the next one, and its log probability.

        With ``alive`` it is of the derivations of what is alive.

        That is -inf without a parse, and where values leave the range of numbers (``holds_tree`` tells).
        Raises ChartOverflowError where the forest would have more than ``max_size``, and MemoryError
        where there is not so much memory, TimeLimitError where it takes too long; the next sentence may do.
        """
        length = len(terminal_ids)
        if length > self._state.columns.length:
            self._take(max(length, 3 * self._state.columns.length // 2), self._size)
        words = words_of(self._lexicon, self._entry_prob, terminal_ids)
        if alive is not None:
            words = alive_words(words, alive)
        while True:
            full = int(forest_inside(self._state, words, alive, self.clock.stop))
            if full < 0:
                break
            self.clock.check()
            self._enlarge(full)
        total = forest_outside(self._state, length, self.clock.stop)
        self.clock.check()
        nodes = self.forest.node_first[length * (length + 1) // 2]
        if not (0 < total < math.inf and np.isfinite(self.forest.outside[:nodes]).all()):
            return self.forest, -math.inf
        columns = int(self._state.columns.shift[1 : length + 1].sum())
        shift = int(self._shift[terminal_ids].sum()) - columns
        self.log_scale = shift * math.log(2.0)
        self.log_total = math.log(total)
        return self.forest, self.log_total - self.log_scale

    def holds_tree(self, length: int) -> bool:
        """Whether some tree of the sentence that was filled last is there, however improbable."""
        return bool((self.tables.root[self.root_symbols(length)] > 0).any())

    def root_symbols(self, length: int) -> Ints:
        """The symbols that derive the whole of the sentence that was filled last."""
        cell = forest_cell(0, length)
        first, last = self.forest.node_first[cell], self.forest.node_first[cell + 1]
        symbols: Ints = self.forest.node_symbol[first:last]
        return symbols

    def _enlarge(self, part: int) -> None:
        if self._size[part] >= self._max_size[part]:
            raise ChartOverflowError("a forest too large for memory")
        self._take(
            self._state.columns.length, self._size | {part: min(2 * self._size[part], self._max_size[part])}
        )

    def _take(self, length: int, size: Mapping[int, int]) -> None:
        """Move to new memory, when all of it is there."""
        self._state = self._allocated(length, size)
        self._size = dict(size)

    def _allocated(self, length: int, size: Mapping[int, int]) -> ForestState:
        # A grammar without unary rules has no use for their arrays, and searches see that they are empty.
        unaries = size[UNARIES] if len(self.unaries.rule_parent) else 0
        forest = empty_forest(
            length * (length + 1) // 2 + 1,
            size[NODES],
            size[GROUPS],
            size[EDGES],
            size[PARTNERS],
            size[PRODUCTIONS],
            unaries,
        )
        partners = Partners(
            listed=new_ints(length, self._n_symbols),
            first=new_ints(size[PARTNERS]),
            head=new_ints(length + 1),
            older=new_ints(size[PARTNERS]),
            place=new_ints(size[PARTNERS]),
            value=new_floats(size[PARTNERS]),
            passed=new_floats(size[PARTNERS]),
        )
        columns = Columns(
            place_at=new_ints(len(self.tables.pair_left) * length),
            place_pair=new_ints(size[PARTNERS]),
            place_start=new_ints(size[PARTNERS]),
            place_group=new_ints(size[PARTNERS]),
            length=length,
            node_slot=np.full(self._n_symbols, -1, np.int32),
            bucket_first=new_ints(length + 1, self.tables.n_left + 1),
            bucket_node=new_ints(size[NODES]),
            bucket_place=new_ints(self.tables.n_left + 1),
            base=new_floats(self._n_symbols),
            predicted=np.zeros((length, self._n_symbols), np.uint8),
            row=np.zeros_like(self._prediction.first),
            shift=new_ints(length + 1),
            counts=new_ints(4),
        )
        weight = new_floats(size[GROUPS])
        return ForestState(self.tables, self.unaries, self._prediction, forest, partners, columns, weight)
