"""Forests for one grammar: the memory they live in, and what a sentence needs of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from mbrparse.charts.base.alive import alive_words
from mbrparse.charts.base.chart import Derivation
from mbrparse.charts.base.clock import NO_LIMIT, Clock
from mbrparse.charts.base.closure import BestChains, best_chains, unary_tables
from mbrparse.charts.base.columns import derivation_of
from mbrparse.charts.base.inside_nodes import InsideNodes, powers
from mbrparse.charts.base.memory import (
    empty_forest,
    new_floats,
    new_ints,
)
from mbrparse.charts.base.packed_forest import (
    EDGES,
    GROUPS,
    NODES,
    OUT_OF_RANGE,
    PARTNERS,
    PRODUCTIONS,
    UNARIES,
    Alive,
    Columns,
    Forest,
    ForestState,
    Partners,
    forest_cell,
)
from mbrparse.charts.base.prediction import prediction
from mbrparse.charts.base.rule_tables import (
    Floats,
    Words,
    chart_rules,
    lexicon,
    scaled_entries,
    sparse_tables,
    words_of,
)
from mbrparse.charts.forest.forest_derivation import (
    BestPaths,
    Nodes,
    best_of_forest,
    read_derivation,
)
from mbrparse.charts.forest.forest_inside import forest_inside
from mbrparse.charts.forest.forest_outside import forest_outside
from mbrparse.charts.forest.log_forest import LogForest
from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.pcfg import PCFG, IntArray

# Bounds of the best derivation's posterior, one after the other. One that is less probable than the last
# number is not certain: values that are so much less than inside values may leave the range of numbers.
_BOUNDS = (1e-2, 1e-4, 1e-7)
_LEAST_REACHED = 1e-40
# Posteriors are rounded, and derivations as good as the best one are wanted too.
_SLACK = 1e-3

# A sentence whose forest needs more has none: some 5 GB in all, with the rows that are searched.
MAX_SIZE = {
    NODES: 1 << 22,
    GROUPS: 1 << 23,
    EDGES: 1 << 27,
    PRODUCTIONS: 1 << 24,
    UNARIES: 1 << 21,
    PARTNERS: 1 << 25,
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

    def __init__(self, grammar: PCFG, clock: Clock = NO_LIMIT, tie: float = 1e-9) -> None:
        """Derivations within ``tie`` (relative) are equally good."""
        self.clock = clock
        self._grammar = grammar
        self._tie = tie
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
        #: The values of the last sentence where they left the range of numbers.
        self.logarithms: LogForest | None = None
        #: Whether the last pass made sums, or maxima.
        self.has_sums = False
        self._size = {part: min(first, MAX_SIZE[part]) for part, first in _FIRST_SIZE.items()}
        self._state = self._allocated(32, self._size)
        self._paths: BestPaths | None = None

    @property
    def forest(self) -> Forest:
        """The forest that was filled last."""
        return self._state.forest

    @property
    def weight(self) -> Floats:
        """By group, the sum of outside * probability over its productions."""
        return self._state.weight

    @property
    def lost_values(self) -> bool:
        """Whether values left the range of numbers; without ``logarithms`` no posterior depended on them."""
        return bool(self._state.columns.counts[OUT_OF_RANGE])

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return int(self._state.columns.counts[2])

    def fill(
        self, terminal_ids: IntArray, alive: Alive | None = None, everything: bool = False
    ) -> tuple[Forest, float]:
        """The forest of a sentence, which lives until the next one, and its log probability.

        That is -inf without a parse.

        With ``alive`` it is of the derivations of what is alive. With ``everything`` it has all nodes that
        derive their words, else those alone that what stands before them predicts.

        Where values leave the range of numbers, they are computed in ``logarithms``. The forest's own are
        then such that inside * outside are the posteriors, and of no other use.

        Raises ChartOverflowError where the forest would have more than ``MAX_SIZE``, and MemoryError where
        there is not so much memory; the next sentence may do.
        """
        length = len(terminal_ids)
        self._inside(terminal_ids, alive, None, everything)
        total = forest_outside(self._state, length)
        nodes = self.forest.node_first[length * (length + 1) // 2]
        exact = 0 < total < math.inf and np.isfinite(self.forest.outside[:nodes]).all()
        if not self._holds_tree(length):
            if self.lost_values:
                self.logarithms = self._in_logarithms(terminal_ids, alive)
            return self.forest, -math.inf
        if self.lost_values or not exact:
            logarithms = self._in_logarithms(terminal_ids, alive)
            # What was lost may have been of no account.
            if not (exact and logarithms.agrees()):
                logarithms.normalize()
                self.logarithms = logarithms
                return self.forest, logarithms.log_prob
        self._scale(terminal_ids)
        self.log_total = math.log(total)
        return self.forest, self.log_total - self.log_scale

    def inside_nodes(self, terminal_ids: IntArray, everything: bool) -> InsideNodes | None:
        """A copy of the inside values; None where they left the numbers' range. Raises as ``fill`` does."""
        self._inside(terminal_ids, None, None, everything, keep_all=False)
        if self.lost_values:
            return None
        n, forest = len(terminal_ids), self.forest
        first = forest.node_first[: n * (n + 1) // 2 + 1].copy()
        shift = self._shift[terminal_ids] - self._state.columns.shift[1 : n + 1]
        nodes = slice(first[-1])
        copied = forest.node_symbol[nodes].copy(), forest.inside[nodes].copy()
        return InsideNodes(first, *copied, powers(shift))

    def viterbi(self, terminal_ids: IntArray, alive: Alive | None = None) -> Derivation:
        """The most probable derivation, by a pass of maxima; raises as ``fill`` does.

        The forest is of no other use afterwards.
        """
        self._inside(terminal_ids, alive, self._chains)
        length = len(terminal_ids)
        if not self._holds_tree(length):
            return Derivation(-math.inf, [], [])
        if not self.lost_values:
            found = self._read_off(terminal_ids, self.forest.inside)
            if found is not None:
                return found
        self._inside(terminal_ids, alive, None)  # the pass of maxima lists no edges
        self.has_sums = False
        return self._by_logarithms(length, self._in_logarithms(terminal_ids, alive))

    def _in_logarithms(self, terminal_ids: IntArray, alive: Alive | None) -> LogForest:
        return LogForest(self._state, self._words(terminal_ids, alive, scaled=False))

    def derivation(self, terminal_ids: IntArray, alive: Alive | None = None) -> Derivation:
        """The most probable derivation of the sentence whose forest was filled last, which has a parse.

        It is sought among the probable nodes of the forest; where that does not suffice, by ``viterbi``.
        """
        best = self._best(self._chains)
        if self.logarithms is not None:
            return self._by_logarithms(len(terminal_ids), self.logarithms)
        for bound in () if self.lost_values else _BOUNDS:
            reached = self._reached(terminal_ids, best, bound)
            # If the bound was too high, what was found is a bound that is not, for it and better derivations.
            again = bound > reached > _LEAST_REACHED
            if again:
                self._reached(terminal_ids, best, reached)
            if again or reached >= bound:
                found = self._read_off(terminal_ids, best.value)
                return found or Derivation(-math.inf, [], [])
        return self.viterbi(terminal_ids, alive)

    def _reached(self, terminal_ids: IntArray, best: BestPaths, bound: float) -> float:
        """The posterior, or a little less, of the best derivation among the nodes that reach a bound."""
        top = best_of_forest(self._state, best, bound, len(terminal_ids))
        return float(top / math.exp(self.log_total) * (1 - _SLACK))

    def _read_off(self, terminal_ids: IntArray, values: Floats) -> Derivation | None:
        """The best derivation, by the values of nodes and what is kept of their best derivations."""
        top, nodes = self._listed(len(terminal_ids), values, -1)
        if not len(nodes.start):
            return None
        self._scale(terminal_ids)
        return derivation_of(*nodes, math.log(top) - self.log_scale)

    def _by_logarithms(self, n: int, logarithms: LogForest) -> Derivation:
        root, log_prob = logarithms.best_root(self._best(self._chains))
        return derivation_of(*self._listed(n, self.forest.inside, root)[1], log_prob)

    def _listed(self, n: int, values: Floats, root: int) -> tuple[float, Nodes]:
        """The value of the best derivation, and its nodes from ``root`` down (``read_derivation``)."""
        best, stack, room = self._best(self._chains), np.empty((n + 1, 2), np.int32), 2 * n - 1
        while True:
            start, end, symbol = np.empty((3, room), np.int32)
            nodes = Nodes(start, end, symbol)
            top, count = read_derivation(self._state, best, values, root, stack, nodes)
            if count <= room:
                return top, Nodes(start[:count], end[:count], symbol[:count])
            room = count

    def _inside(
        self,
        terminal_ids: IntArray,
        alive: Alive | None,
        chains: BestChains | None,
        everything: bool = False,
        keep_all: bool = True,
    ) -> None:
        """Fill the forest from the words up: with sums or, where chains are given, with maxima."""
        length = len(terminal_ids)
        if length > self._state.columns.length:
            self._take(max(length, 3 * self._state.columns.length // 2), self._size)
        words = self._words(terminal_ids, alive)
        self.logarithms = None
        while True:
            best = None if chains is None else self._best(chains)
            state = self._state
            if everything:
                state = state._replace(prediction=self._prediction._replace(is_selective=False))
            full = int(forest_inside(state, words, alive, best, keep_all))
            if full < 0:
                self.has_sums = chains is None
                return
            self._enlarge(full)

    def _words(self, terminal_ids: IntArray, alive: Alive | None, scaled: bool = True) -> Words:
        entry_prob = self._entry_prob if scaled else self._lexicon.prob
        words = words_of(self._lexicon, entry_prob, terminal_ids)
        return words if alive is None else alive_words(words, alive)

    @cached_property
    def _chains(self) -> BestChains:
        return best_chains(self._grammar, self.unaries, self._tie)

    def _best(self, chains: BestChains) -> BestPaths:
        """What best derivations are kept in, as large as the forest."""
        if self._paths is None:
            nodes, groups = len(self.forest.inside), len(self.forest.group_sum)
            with_unaries = nodes if len(self.unaries.rule_parent) else 0
            self._paths = BestPaths(
                new_ints(groups),
                new_ints(groups),
                new_ints(nodes),
                new_ints(with_unaries),
                new_ints(with_unaries),
                chains,
                1 - self._tie,
                new_floats(nodes),
                new_floats(groups),
            )
        return self._paths

    def _scale(self, terminal_ids: IntArray) -> None:
        """Note what the inside values of the sentence are multiplied by."""
        self.log_scale = self.log_scale_of(terminal_ids, 0, len(terminal_ids))

    def log_scale_of(self, terminal_ids: IntArray, start: int, end: int) -> float:
        """The logarithm of what the inside values of a span are multiplied by."""
        columns = int(self._state.columns.shift[start + 1 : end + 1].sum())
        return (int(self._shift[terminal_ids[start:end]].sum()) - columns) * math.log(2.0)

    def _holds_tree(self, length: int) -> bool:
        """Whether some tree of the sentence that was filled last is there, however improbable."""
        cell = forest_cell(0, length)
        roots = self.forest.node_symbol[self.forest.node_first[cell] : self.forest.node_first[cell + 1]]
        return bool((self.tables.root[roots] > 0).any())

    def _enlarge(self, part: int) -> None:
        if self._size[part] >= MAX_SIZE[part]:
            raise ChartOverflowError("a forest too large for memory")
        larger = self._size | {part: min(2 * self._size[part], MAX_SIZE[part])}
        self._take(self._state.columns.length, larger)

    def _take(self, length: int, size: Mapping[int, int]) -> None:
        """Move to new memory, when all of it is there."""
        self._state = self._allocated(length, size)
        self._paths = None
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
            base=new_floats(self._n_symbols),
            predicted=np.zeros((length, self._n_symbols), np.uint8),
            row=np.zeros_like(self._prediction.first),
            shift=new_ints(length + 1),
            counts=new_ints(5),
        )
        weight = new_floats(size[GROUPS])
        return ForestState(self.tables, self.unaries, self._prediction, forest, partners, columns, weight)
