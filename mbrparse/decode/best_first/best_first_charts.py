"""Best-first parsing (Caraballo & Charniak 1998): charts that are filled only as far as one needs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

import numpy as np

from mbrparse.decode.best_first.best_first import BestFirst
from mbrparse.decode.best_first.best_first_chart import BestFirstChart, Ended
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
from mbrparse.errors import GrammarError, MbrparseError
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.factory import ChartFactory
from mbrparse.grammar.charts.rule_tables import starts
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.statistics.smoothed import StatisticsTables, no_statistics

# Pops and edges between two looks at the outside world (Ctrl-C): a tenth of a second.
SLICE = 50_000
# Room for edges is as many bytes as memory has: this many are some 5 GB.
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


def statistics_tables(grammar: PCFG, how: BestFirst) -> StatisticsTables | None:
    """What the merit looks up, if anything; raises MbrparseError where that is not there."""
    if not how.figure.needs_statistics:
        return None
    if how.statistics is None:
        raise MbrparseError(
            f"the merit {how.merit} needs statistics that the grammar alone does not have",
            remedy="gather them with mbrparse train --statistics FILE, and give mbrparse parse "
            "--statistics FILE (or take a merit without: normalized-beta)",
        )
    return StatisticsTables(how.statistics, grammar)


class BestFirstCharts:
    """Fills best-first charts for one grammar: what ChartFactory is for exhaustive ones."""

    def __init__(self, grammar: PCFG, how: BestFirst, clock: Clock = NO_LIMIT) -> None:
        """``clock`` limits the time of each search.

        Raises MbrparseError for unary rules, and for a merit whose statistics are not there.
        """
        refuse_unary_rules(grammar)
        self.grammar = grammar
        self.how = how
        self.clock = clock
        merit = how.figure
        self._tables = statistics_tables(grammar, how)
        self._corners = left_corners(grammar) if merit.needs_prefix else no_corners()
        self.rules = rules_of(grammar)
        self._lexical_first = starts(grammar.lexical_terminal, len(grammar.terminals)).astype(np.int32)
        self._exhaustive = ChartFactory(grammar, clock=clock) if how.until.name == "mass" else None

    def charts(self, sentences: Iterable[IntArray]) -> Iterator[BestFirstChart]:
        """Yield one chart per sentence of known terminals: one at a time, so that memory holds just one."""
        for terminal_ids in sentences:
            with self.clock.running():
                chart = self.chart(terminal_ids, self._target(terminal_ids))
            if not chart.unfinished:
                chart.spent = self.clock.counted
            yield chart

    def chart(self, terminal_ids: IntArray, log_mass: float = math.inf) -> BestFirstChart:
        """One sentence's chart; ``log_mass`` stops the search where that much probability is found."""
        began = time.process_time()
        limit = MOST_EDGES if self.how.edges is None else self.how.edges
        threshold = self.how.beta_threshold
        control = Control(
            self.how.figure.factors,
            math.log(threshold) if threshold > 0.0 else -math.inf,
            limit,
            self.how.until.name == "first-parse",
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
        ended = Ended(search, outcome, time.process_time() - began, time_up)
        return BestFirstChart(self.grammar, self.rules, self.how, terminal_ids, ended)

    def _target(self, terminal_ids: IntArray) -> float:
        if self._exhaustive is None:
            return math.inf
        log_prob = self._exhaustive.charts([terminal_ids])[0].log_prob
        return log_prob + math.log(self.how.until.mass)
