"""The chart of a best-first search.

It has the methods of the exhaustive chart (grammar.charts.base.chart), computed from the constituents and
edges that the search has made: sentence probability, posteriors and best derivation are those of a partial
chart.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.decode.best_first.best_first import BestFirst
from mbrparse.decode.best_first.passes import inside_pass, outside_pass, viterbi_pass
from mbrparse.decode.best_first.search_kernels import LIMIT
from mbrparse.decode.best_first.search_state import (
    CONSTITUENTS,
    EDGES,
    END,
    INSIDE,
    LEFT,
    MERIT,
    PARENT,
    PLACE,
    POPPED,
    RIGHT,
    RULE,
    START,
    SYMBOL,
    TOTAL,
    Rules,
    Search,
)
from mbrparse.grammar.charts.base.chart import Derivation
from mbrparse.grammar.charts.base.span_summary import (
    SpanEntries,
    SpanSummary,
    entries_without_unaries,
    summarize_entries,
)
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray


class SearchResult(NamedTuple):
    """A finished search: its arrays, why it stopped (``search_kernels``), and its CPU seconds.

    ``time_up`` is the message for a search that ran out of time.
    """

    search: Search
    outcome: int
    seconds: float
    time_up: str | None = None


class BestFirstChart:
    """One sentence's chart, as far as the search got."""

    def __init__(
        self, grammar: PCFG, rules: Rules, options: BestFirst, terminal_ids: IntArray, result: SearchResult
    ) -> None:
        search, outcome = result.search, result.outcome
        self.grammar = grammar
        self.options = options
        self._rules = rules
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.outcome = outcome
        self.spent = 0.0
        """Seconds that count towards the time limit; 0 where the search ran out of time."""
        self._time_up = result.time_up
        self.seconds = result.seconds
        """CPU seconds of the search, without the passes over its result."""
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
        """The log inside estimates at the end of the search; ``inside`` has the exact values."""

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        if self._time_up is not None:
            return self._time_up
        return f"no parse within {self.options.edges} edges" if self.limited else "no parse"

    @property
    def unfinished(self) -> bool:
        """Whether the search ran out of time, so that the chart is partial."""
        return self._time_up is not None

    @property
    def limited(self) -> bool:
        """Whether the search stopped at the limit of edges."""
        return self.outcome == LIMIT

    @property
    def merits(self) -> FloatArray:
        """Each constituent's last log figure of merit."""
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
        return int(np.count_nonzero(self._outside[self._edges[:, PARENT]] > -np.inf))

    def span_posteriors(self) -> SpanEntries:
        """The posteriors above zero, in order of start, end, label."""
        label_ids, labels = self.grammar.label_ids, len(self.grammar.labels)
        with np.errstate(invalid="ignore"):
            g = np.exp(self.inside + self._outside - self.log_prob)
        positive = np.flatnonzero(g > 0.0)
        span = self.starts[positive].astype(np.int64) * (self.length + 1) + self.ends[positive]
        keys, spots = np.unique(span * labels + label_ids[self.symbols[positive]], return_inverse=True)
        sums = np.zeros(len(keys))
        np.add.at(sums, spots, g[positive])
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
        """The most probable derivation of the first ``edges`` edges; without a parse, no nodes and -inf."""
        part = self._edges[:edges]
        order = self._order if edges == self.edge_count else self._by_width(part)
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
        """The log probability of the sentence from the first ``edges`` edges."""
        part = self._edges[:edges]
        order = self._by_width(part)
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
        return self._by_width(self._edges)

    def _by_width(self, edges: IntArray) -> IntArray:
        """The edges in order of their parent's width, equal ones in the order in which they were made."""
        return np.argsort(self._widths[edges[:, PARENT]], kind="stable").astype(np.int32)

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
