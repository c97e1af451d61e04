"""Best-first search for the charts of sentences (Caraballo & Charniak 1998)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

import numpy as np

from mbrparse.decode.best_first.best_first import BestFirst
from mbrparse.decode.best_first.best_first_chart import BestFirstChart, SearchResult
from mbrparse.decode.best_first.search_arrays import (
    empty_search,
    left_corners,
    no_corners,
    rules_of,
    with_more_constituents,
    with_more_edges,
)
from mbrparse.decode.best_first.search_kernels import (
    EXHAUSTED,
    FOUND,
    FULL_CONSTITUENTS,
    FULL_EDGES,
    LIMIT,
    TIME_UP,
    propose_terminals,
    run_slice,
)
from mbrparse.decode.best_first.search_state import Control
from mbrparse.decode.best_first.smoothed_statistics import StatisticsTables, no_statistics
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.base.rule_tables import starts
from mbrparse.grammar.charts.factory import ChartFactory
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.io.errors import GrammarError, MbrparseError

# Pops and edges of one kernel call, a tenth of a second: between two calls Python handles signals.
SLICE = 50_000
# The default limit: some 5 GB of edges.
MOST_EDGES = 100_000_000


def refuse_unary_rules(grammar: PCFG, source: str | None = None) -> None:
    """Raise GrammarError if the grammar (from the file ``source``) has unary rules."""
    if grammar.has_unaries:
        raise GrammarError(
            "best-first search takes no grammar with unary rules",
            source=source,
            remedy="parse with --engine exhaustive, or train on trees without: mbrparse binarize "
            "--unary top, bottom or join",
        )


def statistics_tables(grammar: PCFG, options: BestFirst) -> StatisticsTables | None:
    """The smoothed statistics that the merit needs, if any; raises MbrparseError without statistics."""
    if not options.figure.needs_statistics:
        return None
    if options.statistics is None:
        raise MbrparseError(
            f"the merit {options.merit} needs statistics that the grammar alone does not have",
            remedy="gather them with mbrparse train --statistics FILE, and give mbrparse parse "
            "--statistics FILE (or take a merit without: normalized-beta)",
        )
    return StatisticsTables(options.statistics, grammar)


class BestFirstCharts:
    """Makes best-first charts for one grammar, as ChartFactory does exhaustive ones."""

    def __init__(self, grammar: PCFG, options: BestFirst, clock: Clock = NO_LIMIT) -> None:
        """``clock`` limits the time of each search.

        Raises MbrparseError for unary rules, and for a merit whose statistics are missing.
        """
        refuse_unary_rules(grammar)
        self.grammar = grammar
        self.options = options
        self.clock = clock
        merit = options.figure
        self._tables = statistics_tables(grammar, options)
        self._corners = left_corners(grammar) if merit.needs_prefix else no_corners()
        self.rules = rules_of(grammar)
        self._lexical_first = starts(grammar.lexical_terminal, len(grammar.terminals)).astype(np.int32)
        self._exhaustive = ChartFactory(grammar, clock=clock) if options.until.name == "mass" else None

    def charts(self, sentences: Iterable[IntArray]) -> Iterator[BestFirstChart]:
        """Yield one chart per sentence of known terminals: one at a time, to save memory."""
        for terminal_ids in sentences:
            with self.clock.running():
                chart = self.chart(terminal_ids, self._target(terminal_ids))
            if not chart.unfinished:
                chart.spent = self.clock.counted
            yield chart

    def chart(self, terminal_ids: IntArray, log_mass: float = math.inf) -> BestFirstChart:
        """One sentence's chart; the search stops when its log probability reaches ``log_mass``."""
        began = time.process_time()
        limit = MOST_EDGES if self.options.edges is None else self.options.edges
        threshold = self.options.beta_threshold
        control = Control(
            self.options.figure.factors,
            math.log(threshold) if threshold > 0.0 else -math.inf,
            limit,
            self.options.until.name == "first-parse",
            log_mass,
        )
        statistics = (
            no_statistics(terminal_ids) if self._tables is None else self._tables.of_sentence(terminal_ids)
        )
        symbols = len(self.grammar.symbols)
        lexical = int(np.diff(self._lexical_first)[terminal_ids].sum())
        room = max(1024, 1 << lexical.bit_length())
        search = empty_search(len(terminal_ids), self._corners, room, min(4096, limit))
        propose_terminals(
            terminal_ids,
            self._lexical_first,
            self.grammar.lexical_symbol,
            self.grammar.lexical_log_prob,
            self.rules,
            search,
            statistics,
            control,
        )
        stop = self.clock.stop
        while True:
            outcome = int(run_slice(self.rules, search, statistics, control, self._corners, SLICE, stop))
            if outcome in (FOUND, EXHAUSTED, LIMIT, TIME_UP):
                break
            if outcome == FULL_EDGES:
                search = with_more_edges(search, limit)
            elif outcome == FULL_CONSTITUENTS:
                search = with_more_constituents(search, symbols)
        time_up = self.clock.reason if outcome == TIME_UP else None
        result = SearchResult(search, outcome, time.process_time() - began, time_up)
        return BestFirstChart(self.grammar, self.rules, self.options, terminal_ids, result)

    def _target(self, terminal_ids: IntArray) -> float:
        if self._exhaustive is None:
            return math.inf
        log_prob = self._exhaustive.charts([terminal_ids])[0].log_prob
        return log_prob + math.log(self.options.until.mass)
