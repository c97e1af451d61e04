"""The chart of a best-first search.

It has the methods of the exhaustive chart (charts.chart), computed from the constituents and
edges that the search has made: sentence probability, posteriors and best derivation are those of a partial
chart.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from mbrparse.charts.chart import Derivation
from mbrparse.charts.spans import (
    SpanEntries,
    SpanSummary,
    entries_without_unaries,
    summarize_entries,
)
from mbrparse.decode.best_first.passes import inside_pass, outside_pass
from mbrparse.decode.best_first.search_kernels import LIMIT
from mbrparse.decode.best_first.search_state import (
    CHILDREN,
    CONSTITUENTS,
    EDGES,
    END,
    INSIDE,
    PARENT,
    POPPED,
    RULE,
    START,
    SYMBOL,
    Search,
)
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray

TIE = 1e-9


class BestFirstChart:
    """One sentence's chart, as far as the search got."""

    def __init__(
        self,
        grammar: PCFG,
        terminal_ids: IntArray,
        search: Search,
        outcome: int,
        seconds: float,
    ) -> None:
        """``outcome`` is why it stopped (search_kernels)."""
        self.grammar = grammar
        self.search = search
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.limited = outcome == LIMIT
        """Whether the search stopped at the limit of edges."""
        self.spent = 0.0
        self.seconds = seconds
        """CPU seconds of the search, without the passes over its result."""
        self.popped = int(search.counts[POPPED])
        self.edge_count = int(search.counts[EDGES])
        self._edges = search.edges[: self.edge_count]
        self._log_prob = grammar.log_prob[self._edges[:, RULE]]
        count = int(search.counts[CONSTITUENTS])
        self.starts, self.ends, self.symbols = search.items[:count, [START, END, SYMBOL]].T.copy()
        self.estimates = search.logs[:count, INSIDE].copy()
        """The log inside estimates at the end of the search; ``inside`` has the exact values."""
        widths = self.ends - self.starts
        # Nothing is ever added to the estimate over a terminal.
        self._terminal = np.where(widths == 1, self.estimates, -np.inf)
        # Equally wide ones in the order in which they were made.
        self._order = np.argsort(widths[self._edges[:, PARENT]], kind="stable").astype(np.int32)
        self._root = np.where(widths == self.length, grammar.root_log_prob[self.symbols], -np.inf)

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        return f"no parse within {self.search.control.max_edges} edges" if self.limited else "no parse"

    @property
    def unfinished(self) -> bool:
        """Whether the search ran out of time."""
        return False

    @cached_property
    def inside(self) -> FloatArray:
        """The log inside probability of each constituent within the chart, exactly."""
        return inside_pass(self._terminal, self._order, self._edges, self._log_prob, False)

    @cached_property
    def log_prob(self) -> float:
        """The chart's own log probability of the sentence, -inf without a root over all of it."""
        return float(np.logaddexp.reduce(self.inside + self._root))

    @property
    def has_parse(self) -> bool:
        """Whether a root spans the sentence."""
        return self.log_prob > -math.inf

    @cached_property
    def _outside(self) -> FloatArray:
        return outside_pass(self.inside, self._root, self._order, self._edges, self._log_prob)

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
        keys, place = np.unique(span * labels + label_ids[self.symbols[positive]], return_inverse=True)
        spans, ids = np.divmod(keys, labels)
        starts, ends, ids = (part.astype(np.int32) for part in (*np.divmod(spans, self.length + 1), ids))
        return entries_without_unaries(starts, ends, ids, np.bincount(place, g[positive], len(keys)))

    def span_summary(self) -> SpanSummary:
        """Best label, its posterior, and the sum of posteriors, by cell."""
        return summarize_entries(self.length, self.span_posteriors(), TIE)

    def viterbi(self) -> Derivation:
        """The most probable derivation in the chart."""
        return self.viterbi_within(self.edge_count)

    def viterbi_within(self, edges: int) -> Derivation:
        """The most probable derivation of the first ``edges`` edges; without a parse, no nodes and -inf."""
        order = self._order if edges == self.edge_count else self._order[self._order < edges]
        best = inside_pass(self._terminal, order, self._edges, self._log_prob, True)
        scores = best + self._root
        top = float(scores.max(initial=-math.inf))
        if top == -math.inf:
            return Derivation(top, [], [])
        # Of equally probable roots the first in order of symbols, as in the exhaustive chart.
        roots = np.flatnonzero(scores >= top - TIE)
        stack = [int(roots[np.argmin(self.symbols[roots])])]
        edge_of = self._best_edges(best, edges)
        nodes: list[tuple[int, int, int]] = []
        preterminals: list[int] = []
        while stack:
            item = stack.pop()
            edge, symbol = int(edge_of[item]), int(self.symbols[item])
            if edge >= 0:
                nodes.append((int(self.starts[item]), int(self.ends[item]), symbol))
                stack.extend(self._edges[edge, [CHILDREN + 1, CHILDREN]].tolist())
            else:
                preterminals.append(symbol)
        return Derivation(top, nodes, preterminals)

    def _best_edges(self, best: FloatArray, edges: int) -> IntArray:
        """Of the first ``edges`` edges the best of each constituent, -1 over terminals.

        Of edges whose probabilities differ by no more than a tie, relatively, it is the one with the first
        split and then the first left and right child (in the order of symbol ids, which is that of their
        text).
        """
        parent, left, right = self._edges[:edges, [PARENT, CHILDREN, CHILDREN + 1]].T
        scores = self._log_prob[:edges] + best[left] + best[right]
        near = np.flatnonzero(scores >= (best - TIE)[parent])
        symbols = self.symbols
        order = near[np.lexsort((symbols[right[near]], symbols[left[near]], self.ends[left[near]]))]
        parents, first = np.unique(parent[order], return_index=True)
        edge_of = np.full(len(best), -1, np.int32)
        edge_of[parents] = order[first]
        return edge_of
