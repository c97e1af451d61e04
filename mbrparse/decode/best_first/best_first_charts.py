"""Best-first parsing (Caraballo & Charniak 1998): charts that are filled only as far as one needs.

A BestFirstChart answers the same questions as the exhaustive chart (grammar.charts.chart), from the
constituents and edges that the search has come to: its sentence probability, posteriors and best derivation
are those of the chart as far as it got.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.decode.best_first.kernels import (
    EXHAUSTED,
    FOUND,
    FULL_CONSTITUENTS,
    FULL_EDGES,
    LIMIT,
    TIME_UP,
    Control,
    index_all,
    propose_terminals,
    run_slice,
)
from mbrparse.decode.best_first.merits import DEFAULT_MERIT, MERIT_IDS, MERITS
from mbrparse.decode.best_first.passes import by_width, inside_pass, outside_pass, useful_edges, viterbi_pass
from mbrparse.decode.best_first.prefix import left_corners, no_corners, start_prefix
from mbrparse.decode.best_first.state import (
    CONSTITUENTS,
    EDGES,
    END,
    INSIDE,
    LEFT,
    MERIT,
    PLACE,
    POPPED,
    RIGHT,
    RULE,
    START,
    SYMBOL,
    TOTAL,
    Search,
    empty_search,
    rules_of,
    with_more_constituents,
    with_more_edges,
)
from mbrparse.errors import GrammarError, MbrparseError
from mbrparse.grammar.charts.chart import Derivation
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.factory import ChartFactory
from mbrparse.grammar.charts.span_summary import (
    SpanEntries,
    SpanSummary,
    entries_without_unaries,
    summarize_entries,
)
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.statistics.gather import Statistics
from mbrparse.grammar.statistics.smoothed import StatisticsTables, no_statistics

# Pops and edges between two looks at the outside world (Ctrl-C): a tenth of a second.
SLICE = 50_000
# Room for edges is as many bytes as memory has: this many are some 5 GB.
MOST_EDGES = 100_000_000


class Until(NamedTuple):
    """When to stop: at the first parse, at a share of the sentence's probability, or never before the end."""

    name: str
    mass: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Until:
        """Read ``first-parse``, ``exhausted`` or ``mass:SHARE``.

        >>> Until.parse("mass:0.95")
        Until(name='mass', mass=0.95)
        """
        name, _, share = text.partition(":")
        if text in ("first-parse", "exhausted"):
            return cls(text)
        try:
            mass = float(share) if name == "mass" else math.nan
        except ValueError:
            mass = math.nan
        if not 0 < mass < 1:
            raise MbrparseError(
                f"{text!r} is not understood",
                remedy="write first-parse, exhausted or mass:SHARE, e.g. mass:0.95",
            )
        return cls("mass", mass)


FIRST_PARSE = Until("first-parse")


@dataclass(frozen=True)
class BestFirst:
    """How to search.

    ``edges`` bounds their number, and so time and memory; ``beta_threshold`` is the share by which an
    inside estimate must have grown for the growth to be passed on.
    """

    merit: str = DEFAULT_MERIT
    until: Until = FIRST_PARSE
    edges: int | None = None
    beta_threshold: float = 0.01
    statistics: Statistics | None = None


class BestFirstChart:
    """One sentence's chart, as far as the search got."""

    def __init__(
        self, charts: BestFirstCharts, terminal_ids: IntArray, search: Search, outcome: int, seconds: float
    ) -> None:
        self.grammar = charts.grammar
        self.how = charts.how
        self._rules = charts.rules
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.outcome = outcome
        self.spent = 0.0
        """What a limit of time counts for the search, in seconds; nothing where all of it was not enough."""
        self._time_up = charts.clock.reason if outcome == TIME_UP else None
        self.seconds = seconds
        """How long the search took, without the passes over its result."""
        self.popped = int(search.counts[POPPED])
        self.edge_count = int(search.counts[EDGES])
        self._prefix = search.prefix
        count = int(search.counts[CONSTITUENTS])
        self._items, self._logs = search.items[:count], search.logs[:count]
        self._edges = search.edges[: self.edge_count]
        self.starts = np.ascontiguousarray(self._items[:, START])
        self.ends = np.ascontiguousarray(self._items[:, END])
        self.symbols = np.ascontiguousarray(self._items[:, SYMBOL])
        self.estimates = np.ascontiguousarray(self._logs[:, INSIDE])
        """The log inside estimates as the search left them; ``inside`` has all increments passed on."""

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        if self._time_up is not None:
            return self._time_up
        return f"no parse within {self.how.edges} edges" if self.limited else "no parse"

    @property
    def unfinished(self) -> bool:
        """Whether the search stopped because its time was up: this is as far as it got."""
        return self._time_up is not None

    @property
    def limited(self) -> bool:
        """Whether the search stopped because it had made all the edges it was allowed."""
        return self.outcome == LIMIT

    @property
    def merits(self) -> FloatArray:
        """Each constituent's log figure of merit: its last one on the agenda."""
        return self._logs[:, MERIT]

    @property
    def in_chart(self) -> npt.NDArray[np.bool_]:
        """Whether each constituent was popped."""
        return self._items[:, PLACE] < 0

    @property
    def log_prefix(self) -> FloatArray:
        """log alpha_L [length, symbols], for merits that need it."""
        table: FloatArray = self._prefix[TOTAL]
        return table

    @cached_property
    def inside(self) -> FloatArray:
        """The log inside probability of each constituent within the chart, exactly."""
        return inside_pass(self._terminal, self._order, self._edges, self._log_prob)

    @cached_property
    def log_prob(self) -> float:
        """The chart's own log probability of the sentence, -inf without a root over all of it."""
        return self._root_mass(self.inside)

    @property
    def has_parse(self) -> bool:
        """Whether a root spans the sentence."""
        return self.log_prob > -math.inf

    @cached_property
    def useful_edge_count(self) -> int:
        """How many edges are part of a complete parse in the chart."""
        return int(useful_edges(self._outside, self._edges, self.edge_count))

    def span_posteriors(self) -> SpanEntries:
        """Those above zero, in order of start, end, label."""
        label_ids, labels = self.grammar.label_ids, len(self.grammar.labels)
        with np.errstate(invalid="ignore"):
            g = np.exp(self.inside + self._outside - self.log_prob)
        held = np.flatnonzero(g > 0.0)
        span = self.starts[held].astype(np.int64) * (self.length + 1) + self.ends[held]
        keys, spots = np.unique(span * labels + label_ids[self.symbols[held]], return_inverse=True)
        sums = np.zeros(len(keys))
        np.add.at(sums, spots, g[held])
        spans, ids = np.divmod(keys, labels)
        starts, ends = np.divmod(spans, self.length + 1)
        starts, ends, ids = (part.astype(np.int32) for part in (starts, ends, ids))
        return entries_without_unaries(starts, ends, ids, sums)

    def span_summary(self) -> SpanSummary:
        """Best label, its posterior, and the sum of posteriors, by cell."""
        return summarize_entries(self.length, self.span_posteriors(), 1e-9)

    def viterbi(self) -> Derivation:
        """The most probable derivation in the chart."""
        return self.viterbi_within(self.edge_count)

    def viterbi_within(self, edges: int) -> Derivation:
        """The most probable derivation of the first so many edges; without a parse, no nodes and -inf."""
        part = self._edges[:edges]
        order = self._order if edges == self.edge_count else by_width(self._widths, part, self.length)
        best, edge_of = viterbi_pass(self._terminal, order, part, self._log_prob, self.ends, self.symbols)
        scores = best[self._roots] + self.grammar.root_log_prob[self.symbols[self._roots]]
        root, top = -1, -math.inf
        # In order of symbols, as in the exhaustive chart.
        for spot in np.argsort(self.symbols[self._roots]).tolist():
            if scores[spot] > top + 1e-9 * abs(top) or (top == -math.inf and scores[spot] > top):
                root, top = int(self._roots[spot]), float(scores[spot])
        nodes: list[tuple[int, int, int]] = []
        preterminals: list[int] = []
        stack = [root] if root >= 0 else []
        while stack:
            item = stack.pop()
            edge, symbol = int(edge_of[item]), int(self.symbols[item])
            if edge >= 0:
                nodes.append((int(self.starts[item]), int(self.ends[item]), symbol))
                stack.extend((int(part[edge, RIGHT]), int(part[edge, LEFT])))
            else:
                preterminals.append(symbol)
        return Derivation(top, nodes, preterminals)

    def log_prob_within(self, edges: int) -> float:
        """The log probability of the sentence from the first so many edges."""
        part = self._edges[:edges]
        order = by_width(self._widths, part, self.length)
        return self._root_mass(inside_pass(self._terminal, order, part, self._log_prob))

    def _root_mass(self, inside: FloatArray) -> float:
        if not len(self._roots):
            return -math.inf
        logs = inside[self._roots] + self.grammar.root_log_prob[self.symbols[self._roots]]
        return float(np.logaddexp.reduce(logs))

    @cached_property
    def _roots(self) -> IntArray:
        whole = (self.starts == 0) & (self.ends == self.length)
        return np.flatnonzero(whole & (self.grammar.root_log_prob[self.symbols] > -np.inf)).astype(np.int32)

    @cached_property
    def _widths(self) -> IntArray:
        return self.ends - self.starts

    @cached_property
    def _order(self) -> IntArray:
        return by_width(self._widths, self._edges, self.length)

    @cached_property
    def _log_prob(self) -> FloatArray:
        return self._rules.log_prob[self._edges[:, RULE]]

    @cached_property
    def _terminal(self) -> FloatArray:
        # Nothing is ever added to the estimate over a terminal.
        return np.where(self._widths == 1, self.estimates, -np.inf)

    @cached_property
    def _outside(self) -> FloatArray:
        root = np.full(len(self.starts), -np.inf)
        root[self._roots] = self.grammar.root_log_prob[self.symbols[self._roots]]
        return outside_pass(self.inside, root, self._order, self._edges, self._log_prob)


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
    """Fills best-first charts for one grammar: what ChartFactory is for exhaustive ones."""

    def __init__(self, grammar: PCFG, how: BestFirst, clock: Clock = NO_LIMIT) -> None:
        """``clock`` limits the time of each search.

        Raises MbrparseError for unary rules, and for a merit whose statistics are not there.
        """
        refuse_unary_rules(grammar)
        self.grammar = grammar
        self.how = how
        self.clock = clock
        merit = MERITS[how.merit]
        if merit.needs_statistics and how.statistics is None:
            raise MbrparseError(
                f"the merit {merit.name} needs statistics that the grammar alone does not have",
                remedy="gather them with mbrparse train --statistics FILE, and give mbrparse parse "
                "--statistics FILE (or take a merit without: normalized-beta)",
            )
        tables = how.statistics if merit.needs_statistics else None
        self._tables = None if tables is None else StatisticsTables(tables, grammar)
        self._prefix = merit.needs_prefix
        self._corners = left_corners(grammar) if merit.needs_prefix else no_corners()
        self.rules = rules_of(grammar)
        terminals = np.arange(len(grammar.terminals) + 1)
        self._lexical_first = np.searchsorted(grammar.lexical_terminal, terminals).astype(np.int32)
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
            MERIT_IDS[self.how.merit],
            self._prefix,
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
        search = empty_search(len(terminal_ids), symbols if self._prefix else 0, room, min(4096, limit))
        if self._prefix:
            start_prefix(search, self._corners)
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
                search = with_more_constituents(search)
                index_all(search, symbols)
        seconds = time.process_time() - began
        return BestFirstChart(self, terminal_ids, search, outcome, seconds)

    def _target(self, terminal_ids: IntArray) -> float:
        if self._exhaustive is None:
            return math.inf
        log_prob = self._exhaustive.charts([terminal_ids])[0].log_prob
        return log_prob + math.log(self.how.until.mass)
