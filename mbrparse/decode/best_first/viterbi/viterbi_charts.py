"""Best-first search for the most probable derivation: one item a symbol and span, one derivation an item."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from mbrparse.decode.best_first.best_first import BestFirst
from mbrparse.decode.best_first.best_first_charts import refuse_unary_rules, statistics_tables
from mbrparse.decode.best_first.merits import A_STAR, MERIT_IDS
from mbrparse.decode.best_first.viterbi.item_derivation import read_items
from mbrparse.decode.best_first.viterbi.item_search import (
    A_STAR_ID,
    EXHAUSTED,
    FOUND,
    FULL_EDGES,
    FULL_ITEMS,
    LIMIT,
    TIE,
    TIME_UP,
    ItemControl,
    Lexicon,
    begin_items,
    run_items,
)
from mbrparse.decode.best_first.viterbi.item_state import (
    EDGES,
    POPPED,
    PUSHED,
    REOPENED,
    empty_item_search,
    with_more_edges_a_pop,
    with_more_items,
)
from mbrparse.decode.best_first.viterbi.item_table import index_items
from mbrparse.decode.best_first.viterbi.outside_bounds import OutsideBounds
from mbrparse.decode.best_first.viterbi.pair_rules import pair_rules
from mbrparse.decode.best_first.viterbi.viterbi_chart import Effort, ViterbiChart
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.nodes import derivation_of
from mbrparse.grammar.charts.rule_tables import starts
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.statistics.smoothed import no_statistics

# Pops between two looks at the outside world (Ctrl-C): a tenth of a second.
SLICE = 20_000
ROOM = 4096


class ViterbiCharts:
    """Searches sentences with one grammar: what BestFirstCharts is for the paper's agenda."""

    def __init__(self, grammar: PCFG, how: BestFirst, clock: Clock = NO_LIMIT) -> None:
        """``clock`` limits the time of each search.

        Raises MbrparseError for unary rules, and for a merit whose statistics are not there.
        """
        refuse_unary_rules(grammar)
        self.grammar = grammar
        self.how = how
        self.clock = clock
        self._tables = statistics_tables(grammar, how)
        self._rules = pair_rules(
            grammar.parent, grammar.left, grammar.right, grammar.log_prob, grammar.root_log_prob
        )
        self._bounds = OutsideBounds(grammar, self._rules) if how.merit == A_STAR.name else None
        first = starts(grammar.lexical_terminal, len(grammar.terminals)).astype(np.int32)
        self._lexicon = Lexicon(first, grammar.lexical_symbol, grammar.lexical_log_prob)
        self._longest = 0
        self._search = empty_item_search(0, 0, 1, 1)

    def charts(self, sentences: Iterable[IntArray]) -> Iterator[ViterbiChart]:
        """Yield one chart per sentence of known terminals."""
        for terminal_ids in sentences:
            if self._bounds is not None:
                # Those of the grammar are made before the sentence's time begins.
                self._bounds.table(len(terminal_ids))
            with self.clock.running():
                chart = self.chart(terminal_ids)
            yield chart if chart.unfinished else replace(chart, spent=self.clock.counted)

    def chart(self, terminal_ids: IntArray) -> ViterbiChart:
        """One sentence's best derivation."""
        length, how, rules, lexicon = len(terminal_ids), self.how, self._rules, self._lexicon
        bounds = np.zeros((0, 0)) if self._bounds is None else self._bounds.table(length)
        began = time.process_time()
        control = ItemControl(
            MERIT_IDS.get(how.merit, A_STAR_ID),
            np.iinfo(np.int64).max if how.edges is None else how.edges,
            how.until.name == "first-parse",
            length,
            TIE * length,
        )
        statistics = (
            no_statistics(terminal_ids) if self._tables is None else self._tables.of_sentence(terminal_ids)
        )
        if length > self._longest:
            self._longest = length
            self._search = empty_item_search(length, len(self.grammar.symbols), ROOM, ROOM)
        lexical = int(np.diff(lexicon.first)[terminal_ids].sum())
        while lexical > len(self._search.items):
            self._grow()
        begin_items(terminal_ids, lexicon, rules, self._search, statistics, control, bounds)
        while True:
            outcome = int(run_items(rules, self._search, statistics, control, bounds, SLICE, self.clock.stop))
            if outcome in (FOUND, EXHAUSTED, LIMIT, TIME_UP):
                break
            if outcome == FULL_EDGES:
                self._search = with_more_edges_a_pop(self._search)
            elif outcome == FULL_ITEMS:
                self._grow()
        log_prob, begins, ends, symbols = read_items(rules, self._search, length)
        popped, pushed, reopened, edges = self._search.counts[[POPPED, PUSHED, REOPENED, EDGES]].tolist()
        proved = outcome == EXHAUSTED or (outcome == FOUND and how.is_admissible)
        return ViterbiChart(
            terminal_ids,
            derivation_of(begins, ends, symbols, float(log_prob)),
            Effort(popped, pushed, reopened, edges, proved),
            time.process_time() - began,
            0.0,
            self._failure(outcome),
            outcome == TIME_UP,
        )

    def _grow(self) -> None:
        self._search = with_more_items(self._search)
        index_items(self._search)

    def _failure(self, outcome: int) -> str:
        if outcome == TIME_UP:
            return self.clock.reason
        return f"no parse within {self.how.edges} edges" if outcome == LIMIT else "no parse"
