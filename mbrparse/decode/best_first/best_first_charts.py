"""Best-first search for the charts of sentences (Caraballo & Charniak 1998).

The arrays of a search are made from a grammar and for a sentence, and enlarged when full.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

import numpy as np

from mbrparse.decode.best_first.best_first import BestFirst
from mbrparse.decode.best_first.best_first_chart import BestFirstChart, SearchResult
from mbrparse.decode.best_first.merit_kernels import LeftCorners, closure_row
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
from mbrparse.decode.best_first.search_state import (
    NEXT_WAITING,
    NONE,
    NOT_WAITING,
    PREFIX_PASSED,
    TOTAL,
    Control,
    Rules,
    Search,
    index_all,
)
from mbrparse.decode.best_first.smoothed_statistics import StatisticsTables, no_statistics
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.base.rule_tables import starts
from mbrparse.grammar.charts.factory import ChartFactory
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.io.errors import GrammarError, MbrparseError


def rules_of(grammar: PCFG) -> Rules:
    """A grammar's binary rules by left and by right child."""
    symbols = np.arange(len(grammar.symbols) + 1)
    order = np.lexsort((grammar.parent, grammar.right, grammar.left))
    left, right, parent = grammar.left[order], grammar.right[order], grammar.parent[order]
    by_right = np.lexsort((parent, left, right))
    return Rules(
        np.searchsorted(left, symbols).astype(np.int32),
        right,
        parent,
        grammar.log_prob[order],
        np.searchsorted(right[by_right], symbols).astype(np.int32),
        by_right.astype(np.int32),
        left[by_right],
        grammar.root_log_prob,
    )


def empty_search(length: int, corners: LeftCorners, constituents: int, edges: int) -> Search:
    """A search of a sentence of ``length`` terminals before its first step.

    There is room for so many ``constituents``, a power of two, and ``edges``.
    """
    symbols = len(corners.root)
    rows = length if symbols else 0
    prefix = np.full((3, rows, symbols), -np.inf)
    if rows:
        prefix[(TOTAL, PREFIX_PASSED), 0] = corners.root
    return Search(
        _items(constituents),
        np.full((constituents, 4), -np.inf),
        np.empty((edges, 6), np.int32),
        np.empty(constituents, np.int32),
        np.full((4, length + 1), NONE, np.int32),
        np.full(4 * constituents, NONE, np.int64),
        np.empty(4 * constituents, np.int32),
        np.zeros(6, np.int64),
        np.full(1, -np.inf),
        prefix,
        np.zeros(rows, np.int8),
    )


def with_more_edges(search: Search, limit: int) -> Search:
    """The same search with twice the room for edges, up to ``limit``."""
    old = search.edges
    edges = np.empty((min(2 * len(old), limit), old.shape[1]), np.int32)
    edges[: len(old)] = old
    return search._replace(edges=edges)


def with_more_constituents(search: Search, symbols: int) -> Search:
    """The same search with twice the room for constituents; ``symbols`` is the grammar's number of them."""
    size = 2 * len(search.items)
    items, logs = _items(size), np.full((size, 4), -np.inf)
    heap = np.empty(size, np.int32)
    for new, old in ((items, search.items), (logs, search.logs), (heap, search.heap)):
        new[: len(old)] = old
    larger = search._replace(
        items=items,
        logs=logs,
        heap=heap,
        keys=np.full(4 * size, NONE, np.int64),
        values=np.empty(4 * size, np.int32),
    )
    index_all(larger, symbols)
    return larger


def _items(size: int) -> IntArray:
    items = np.full((size, 10), NONE, np.int32)
    items[:, NEXT_WAITING] = NOT_WAITING
    return items


def no_corners() -> LeftCorners:
    """An empty closure, for merits without alpha_L."""
    return LeftCorners(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0))


def left_corners(grammar: PCFG) -> LeftCorners:
    """The closure of a grammar's left corners."""
    count = len(grammar.symbols)
    order = np.lexsort((grammar.left, grammar.parent))
    first = np.searchsorted(grammar.parent[order], np.arange(count + 1)).astype(np.int32)
    left, prob = grammar.left[order], np.exp(grammar.log_prob[order])
    rows = [closure_row(symbol, first, left, prob) for symbol in range(count)]
    sizes = [len(symbols) for symbols, _ in rows]
    root = np.zeros(count)
    for symbol, mass in enumerate(np.exp(grammar.root_log_prob).tolist()):
        if mass > 0.0:
            root[rows[symbol][0]] += mass * rows[symbol][1]
    with np.errstate(divide="ignore"):
        return LeftCorners(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            np.concatenate([symbols for symbols, _ in rows]).astype(np.int32),
            np.concatenate([weights for _, weights in rows]),
            np.log(root),
        )


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
        self.clock.check_interrupted()
        time_up = self.clock.reason if outcome == TIME_UP else None
        result = SearchResult(search, outcome, time.process_time() - began, time_up)
        return BestFirstChart(self.grammar, self.rules, self.options, terminal_ids, result)

    def _target(self, terminal_ids: IntArray) -> float:
        if self._exhaustive is None:
            return math.inf
        log_prob = self._exhaustive.charts([terminal_ids])[0].log_prob
        return log_prob + math.log(self.options.until.mass)
