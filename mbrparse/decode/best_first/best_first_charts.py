"""Best-first search for the charts of sentences (Caraballo & Charniak 1998).

The arrays of a search are made from a grammar and for a sentence, and enlarged when full.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mbrparse.charts.factory import ChartFactory
from mbrparse.charts.rule_tables import starts
from mbrparse.decode.best_first.best_first import FROM_STATISTICS, BestFirst
from mbrparse.decode.best_first.best_first_chart import BestFirstChart
from mbrparse.decode.best_first.merit_kernels import PREFIX, closure_row
from mbrparse.decode.best_first.search_kernels import (
    FULL_CONSTITUENTS,
    FULL_EDGES,
    SLICE_OVER,
    propose_terminals,
    run_slice,
)
from mbrparse.decode.best_first.search_state import (
    CONSTITUENTS,
    EDGE_COLUMNS,
    ITEM_COLUMNS,
    NEXT_WAITING,
    NONE,
    NOT_WAITING,
    PREFIX_PASSED,
    TOTAL,
    Control,
    MeritTables,
    Search,
    index_all,
)
from mbrparse.decode.best_first.smoothed_statistics import StatisticsTables, no_statistics
from mbrparse.errors import GrammarError, MbrparseError
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray


def rules_of(grammar: PCFG) -> tuple[IntArray, IntArray]:
    """``Search.first`` and ``Search.rules`` of a grammar."""
    children = np.stack([grammar.left, grammar.right])
    rule = np.stack([np.lexsort((grammar.parent, children[1 - side], children[side])) for side in range(2)])
    sorted_children = np.take_along_axis(children, rule, axis=1)
    first = np.stack([starts(row, len(grammar.symbols)) for row in sorted_children]).astype(np.int32)
    partners = np.take_along_axis(children[::-1], rule, axis=1)
    return first, np.concatenate([grammar.parent[None], rule, partners]).astype(np.int32)


def with_more_edges(search: Search) -> Search:
    """The same search with twice the room for edges, up to its limit."""
    more = min(len(search.edges), search.control.max_edges - len(search.edges))
    return search._replace(edges=np.concatenate([search.edges, np.empty((more, EDGE_COLUMNS), np.int32)]))


def with_more_constituents(search: Search) -> Search:
    """The same search with twice the room for constituents."""
    size = len(search.items)
    items, logs = _rows(size)
    larger = search._replace(
        items=np.concatenate([search.items, items]),
        logs=np.concatenate([search.logs, logs]),
        slots=np.full(8 * size, NONE, np.int32),
    )
    index_all(larger.slots, larger.items, int(search.counts[CONSTITUENTS]))
    return larger


def _rows(size: int) -> tuple[IntArray, FloatArray]:
    """Rows of ``Search.items`` and ``Search.logs`` for so many new constituents."""
    items = np.full((size, ITEM_COLUMNS), NONE, np.int32)
    items[:, NEXT_WAITING] = NOT_WAITING
    return items, np.full((size, 4), -np.inf)


def left_corners(grammar: PCFG) -> tuple[FloatArray, dict[str, Any]]:
    """Log alpha_L at the begin of sentences, by symbol, and the left-corner closure for ``MeritTables``."""
    count = len(grammar.symbols)
    order = np.lexsort((grammar.left, grammar.parent))
    first = starts(grammar.parent[order], count).astype(np.int32)
    left, prob = grammar.left[order], np.exp(grammar.log_prob[order])
    rows = [closure_row(symbol, first, left, prob) for symbol in range(count)]
    symbols, weights = zip(*rows, strict=True)
    root = np.zeros(count)
    for symbol, mass in enumerate(np.exp(grammar.root_log_prob).tolist()):
        root[symbols[symbol]] += mass * weights[symbol]
    with np.errstate(divide="ignore"):
        log_root = np.log(root)
    return log_root, {
        "corner_first": np.cumsum([0, *map(len, symbols)]).astype(np.int32),
        "corner_symbol": np.concatenate(symbols),
        "corner_weight": np.concatenate(weights),
    }


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


class BestFirstCharts:
    """Makes best-first charts for one grammar, as ChartFactory does exhaustive ones."""

    def __init__(self, grammar: PCFG, options: BestFirst) -> None:
        """Raises MbrparseError for unary rules, and for a merit whose statistics are missing."""
        refuse_unary_rules(grammar)
        self.grammar = grammar
        self.options = options
        factors = options.figure.factors
        self._tables: StatisticsTables | None = None
        if factors & FROM_STATISTICS:
            if options.statistics is None:
                raise MbrparseError(
                    f"the merit {options.merit} needs statistics that the grammar alone does not have",
                    remedy="gather them with mbrparse train --statistics FILE, and give mbrparse parse "
                    "--statistics FILE (or take a merit without: normalized-beta)",
                )
            self._tables = StatisticsTables(options.statistics, grammar)
        self._corners = left_corners(grammar) if factors & PREFIX else None
        self._rules = rules_of(grammar)
        self._lexical_first = starts(grammar.lexical_terminal, len(grammar.terminals)).astype(np.int32)
        self._exhaustive = ChartFactory(grammar) if options.until.name == "mass" else None

    def charts(self, sentences: Iterable[IntArray]) -> Iterator[BestFirstChart]:
        """Yield one chart per sentence of known terminals: one at a time, to save memory."""
        return map(self.chart, sentences)

    def chart(self, terminal_ids: IntArray, log_mass: float = math.inf) -> BestFirstChart:
        """One sentence's chart; the search stops when its log probability reaches ``log_mass``.

        That is given by ``until``, if by anything.
        """
        if self._exhaustive is not None:
            log_prob = self._exhaustive.chart(terminal_ids).log_prob
            log_mass = log_prob + math.log(self.options.until.mass)
        began = time.process_time()
        search, tables = self._begin(terminal_ids, log_mass)
        outcome = SLICE_OVER
        while outcome in (SLICE_OVER, FULL_EDGES, FULL_CONSTITUENTS):
            outcome = run_slice(search, tables, SLICE)
            if outcome == FULL_EDGES:
                search = with_more_edges(search)
            elif outcome == FULL_CONSTITUENTS:
                search = with_more_constituents(search)
        seconds = time.process_time() - began
        return BestFirstChart(self.grammar, terminal_ids, search, outcome, seconds)

    def _begin(self, terminal_ids: IntArray, log_mass: float) -> tuple[Search, MeritTables]:
        """A search with the terminals' symbols on its agenda."""
        options, grammar, length = self.options, self.grammar, len(terminal_ids)
        control = Control(
            options.figure.factors,
            math.log(options.beta_threshold) if options.beta_threshold > 0.0 else -math.inf,
            MOST_EDGES if options.edges is None else options.edges,
            options.until.name == "first-parse",
            log_mass,
        )
        tables = no_statistics() if self._tables is None else self._tables.of_sentence(terminal_ids)
        prefix = np.zeros((3, 0, 0))
        if self._corners is not None:
            log_root, closure = self._corners
            tables = tables._replace(**closure)
            prefix = np.full((3, length, len(log_root)), -np.inf)
            prefix[(TOTAL, PREFIX_PASSED), 0] = log_root
        lexical = int(np.diff(self._lexical_first)[terminal_ids].sum())
        constituents = max(1024, 1 << lexical.bit_length())
        items, logs = _rows(constituents)
        search = Search(
            control,
            grammar.root_log_prob,
            grammar.log_prob,
            *self._rules,
            items,
            logs,
            edges=np.empty((min(4096, control.max_edges), EDGE_COLUMNS), np.int32),
            heads=np.full((5, length + 1), NONE, np.int32),
            slots=np.full(4 * constituents, NONE, np.int32),
            counts=np.zeros(7, np.int64),
            log_mass=np.full(1, -np.inf),
            prefix=prefix,
        )
        entries = self._lexical_first, grammar.lexical_symbol, grammar.lexical_log_prob
        propose_terminals(search, tables, terminal_ids, *entries)
        return search, tables
