"""Best-first search for the chart of a sentence, and the chart, as far as the search got.

It has the methods of the exhaustive chart (charts.chart), computed from the constituents and edges that the
search has made: sentence probability, posteriors and best derivation are those of a partial chart.

Smoothed probabilities from counts, for figures of merit.

Everything is smoothed by Witten and Bell's method in its interpolated form (Witten & Bell 1991; Chen &
Goodman 1998, section 2.4): a context seen C times with T different events gives

    p(event | context) = (C(event, context) + T p'(event)) / (C + T)

where p' is the distribution of the shorter context, down to the uniform one: from trigrams of tags to
bigrams to single tags; from p(t | N), the tag after a symbol, to single tags; and from p(N | t), the symbols
that begin after a tag, to the number of N per tag. (The last is an expected count per occurrence of t, not a
distribution over N.)
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.charts import left_corner
from mbrparse.charts.chart import Derivation, derivation_of
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.rule_tables import starts
from mbrparse.charts.spans import SpanEntries, SpanSummary, entries_without_unaries, summarize_entries
from mbrparse.decode.best_first import best_first
from mbrparse.decode.best_first import search_kernels as kernels
from mbrparse.decode.best_first.search_kernels import NONE, Control, MeritTables, Search
from mbrparse.errors import GrammarError, InputMismatchError, MbrparseError
from mbrparse.grammar import pcfg, rules
from mbrparse.training.tag_statistics import BOUNDARY, Statistics

_IDS, _LOGS, _TABLE = np.zeros(0, np.int32), np.zeros(0), np.zeros((0, 0))
# For merits that need none.
NO_STATISTICS = MeritTables(_LOGS, _TABLE, _TABLE, _IDS, _IDS, _LOGS, _IDS, _TABLE)
# Two dense tables of symbols by tags; past this many cells (words as terminals) they would not fit.
MAX_CELLS = 100_000_000


class StatisticsTables:
    """A grammar's statistics, smoothed."""

    def __init__(self, statistics: Statistics, grammar: pcfg.PCFG) -> None:
        """Raises InputMismatchError where statistics and grammar do not belong together."""
        _check_fit(statistics, grammar)
        tags = [*map(rules.quote, grammar.terminals), BOUNDARY]
        self.boundary = len(tags) - 1
        if len(tags) * len(grammar.symbols) > MAX_CELLS:
            raise GrammarError(
                f"boundary statistics of {len(grammar.symbols)} symbols by {len(tags)} terminals do not "
                "fit in memory",
                remedy="train with `terminals=tags`, or take a merit without statistics: normalized-beta",
            )
        self.tags = TagModel(statistics, tags)
        self._unigram = np.array([self.tags.prob(tag) for tag in range(len(tags))])
        left = _table(statistics.left, grammar.symbols, tags)
        right = _table(statistics.right, grammar.symbols, tags)
        per_symbol = left.sum(axis=0)
        share = witten_bell(per_symbol, np.full(len(per_symbol), 1.0 / len(per_symbol)))
        # p(N) here: how many N begin per place where one can begin.
        occurrences = np.array([self.tags.occurrences(tag) for tag in range(len(tags))])
        begun = per_symbol.sum() or 1.0  # where all counts are zero the prior stands
        per_tag = share * begun / max(occurrences.sum(), 1.0)
        self.log_prior = _log(share)
        self.log_left = _log(witten_bell(left, per_tag, occurrences))
        self.log_right = _log(np.ascontiguousarray(witten_bell(right.T, self._unigram).T))

    def of_sentence(self, terminal_ids: pcfg.IntArray) -> MeritTables:
        """The statistics of one sentence of known terminals."""
        padded = [self.boundary, self.boundary, *terminal_ids.tolist(), self.boundary]
        steps = range(2, len(padded))
        bigram = _log(np.array([self.tags.prob(*padded[m - 1 : m + 1]) for m in steps]))
        trigram = _log(np.array([self.tags.prob(*padded[m - 2 : m + 1]) for m in steps]))
        tag_logs = np.zeros((4, len(padded) - 1))
        tag_logs[kernels.UNIGRAM, :-1] = _log(self._unigram[padded[2:]])
        tag_logs[kernels.BIGRAM, :-1] = bigram
        np.cumsum(bigram, out=tag_logs[kernels.BIGRAM_SUM, 1:])
        np.cumsum(trigram, out=tag_logs[kernels.TRIGRAM_SUM, 1:])
        return NO_STATISTICS._replace(
            log_prior=self.log_prior,
            log_left=self.log_left,
            log_right=self.log_right,
            tags=np.array(padded[1:], np.int32),
            tag_logs=tag_logs,
        )


def witten_bell(
    counts: npt.NDArray[np.float64], shorter: pcfg.FloatArray, totals: pcfg.FloatArray | None = None
) -> pcfg.FloatArray:
    """Smooth rows of counts (contexts) over columns (events) by the distribution of a shorter context.

    ``totals`` are the contexts' own counts, where they are not the sums of their rows.

    >>> witten_bell(np.array([3.0, 1.0, 0.0]), np.full(3, 1 / 3)).round(3).tolist()
    [0.611, 0.278, 0.111]
    """
    kinds = np.count_nonzero(counts, axis=-1).astype(np.float64)
    seen = counts.sum(axis=-1) if totals is None else totals
    # A context that was never seen has the shorter one's distribution.
    kinds = np.where(seen + kinds > 0, kinds, 1.0)
    # One that no event followed (C > 0, T = 0) would make all events impossible.
    kinds = np.maximum(kinds, 1.0)
    smoothed: pcfg.FloatArray = (counts + kinds[..., None] * shorter) / (seen + kinds)[..., None]
    return smoothed


class TagModel:
    """Smoothed n-grams of up to three tags, computed on demand: words would make a cube too large."""

    def __init__(self, statistics: Statistics, tags: Sequence[str]) -> None:
        ids = {tag: position for position, tag in enumerate(tags)}
        self._uniform = 1.0 / len(tags)
        self._counts: Counter[tuple[int, ...]] = Counter()
        # By context: how often it was seen, and with how many different tags after it.
        self._seen: Counter[tuple[int, ...]] = Counter()
        self._kinds: Counter[tuple[int, ...]] = Counter()
        for names, count in statistics.ngrams.items():
            if count == 0 or not all(name in ids for name in names):
                continue
            trigram = tuple(ids[name] for name in names)
            for begin in range(3):
                gram, context = trigram[begin:], trigram[begin:-1]
                self._kinds[context] += gram not in self._counts
                self._counts[gram] += count  # type: ignore[assignment]
                self._seen[context] += count  # type: ignore[assignment]

    def prob(self, *gram: int) -> float:
        """p(last tag | those before it)."""
        if not gram:
            return self._uniform
        shorter, kinds = self.prob(*gram[1:]), self._kinds[gram[:-1]]
        return (self._counts[gram] + kinds * shorter) / (self._seen[gram[:-1]] + kinds) if kinds else shorter

    def occurrences(self, tag: int) -> float:
        """How often a tag was seen before another."""
        return self._seen[tag,]


def _log(values: Any) -> Any:
    """Logs, no smaller than that of the least normal number."""
    return np.log(np.maximum(values, np.finfo(np.float64).tiny))


def _table(
    counts: dict[tuple[str, str], float], symbols: Sequence[str], tags: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Counts [tags, symbols], without symbols and tags that the grammar lacks."""
    symbol_ids = {symbol: position for position, symbol in enumerate(symbols)}
    tag_ids = {tag: position for position, tag in enumerate(tags)}
    table = np.zeros((len(tags), len(symbols)))
    for (symbol, tag), count in counts.items():
        if symbol in symbol_ids and tag in tag_ids:
            table[tag_ids[tag], symbol_ids[symbol]] += count
    return table


def _check_fit(statistics: Statistics, grammar: pcfg.PCFG) -> None:
    remedy = "gather them with the grammar: mbrparse train -o GRAMMAR --statistics FILE"
    if statistics.terminal_kind != grammar.terminal_kind:
        raise InputMismatchError(
            f"statistics of {statistics.terminal_kind}, but a grammar of {grammar.terminal_kind}",
            remedy=remedy,
        )
    known = {symbol for symbol, _ in statistics.left}
    roots = [
        symbol for symbol, log in zip(grammar.symbols, grammar.root_log_prob, strict=True) if log > -np.inf
    ]
    if not known.intersection(roots):
        raise InputMismatchError(
            f"the statistics lack the grammar's start symbols ({', '.join(roots[:3])})", remedy=remedy
        )


TIE = 1e-9
# The default limit: some 5 GB of edges.
MOST_EDGES = 100_000_000


class BestFirstChart:
    """One sentence's chart, as far as the search got."""

    def __init__(
        self,
        grammar: pcfg.PCFG,
        terminal_ids: pcfg.IntArray,
        search: Search,
        outcome: int,
        seconds: float,
    ) -> None:
        """``outcome`` is why it stopped (``run_search``)."""
        self.grammar = grammar
        self.search = search
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.limited = outcome == kernels.LIMIT
        """Whether the search stopped at the limit of edges."""
        self.seconds = seconds
        """CPU seconds of the search, without the passes over its result."""
        self.popped = int(search.counts[kernels.POPPED])
        self.edge_count = int(search.counts[kernels.EDGES])
        self._edges = search.edges[: self.edge_count]
        self._log_prob = grammar.log_prob[self._edges[:, kernels.RULE]]
        count = int(search.counts[kernels.CONSTITUENTS])
        self.starts, self.ends, self.symbols = search.items[
            :count, [kernels.START, kernels.END, kernels.SYMBOL]
        ].T.copy()
        self.estimates = search.logs[:count, kernels.INSIDE].copy()
        """The log inside estimates at the end of the search; ``inside`` has the exact values."""
        widths = self.ends - self.starts
        # Edges of equally wide parents in the order in which they were made.
        width = widths[self._edges[:, kernels.PARENT]]
        order = np.argsort(width, kind="stable")
        self._by_width = np.split(order, np.searchsorted(width[order], np.arange(3, self.length + 1)))
        self._root = np.where(widths == self.length, grammar.root_log_prob[self.symbols], -np.inf)

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        return f"no parse within {self.search.control.max_edges} edges" if self.limited else "no parse"

    def _inside(self, plus: np.ufunc, edges: int) -> pcfg.FloatArray:
        """By constituent the log inside probability, or that of the best derivation, by the first edges."""
        # Nothing is ever added to the estimate over a terminal.
        inside: pcfg.FloatArray = np.where(self.ends - self.starts == 1, self.estimates, -np.inf)
        for chosen in self._by_width:
            mine = chosen[chosen < edges]
            _, parent, left, right = self._edges[mine, :4].T
            plus.at(inside, parent, self._log_prob[mine] + inside[left] + inside[right])
        return inside

    @cached_property
    def inside(self) -> pcfg.FloatArray:
        """The log inside probability of each constituent within the chart, exactly."""
        return self._inside(np.logaddexp, self.edge_count)

    @cached_property
    def log_prob(self) -> float:
        """The chart's own log probability of the sentence, -inf without a root over all of it."""
        return float(np.logaddexp.reduce(self.inside + self._root))

    @property
    def has_parse(self) -> bool:
        """Whether a root spans the sentence."""
        return self.log_prob > -math.inf

    @cached_property
    def _outside(self) -> pcfg.FloatArray:
        outside = self._root.copy()
        for chosen in reversed(self._by_width):
            _, parent, left, right = self._edges[chosen, :4].T
            above = self._log_prob[chosen] + outside[parent]
            np.logaddexp.at(outside, left, above + self.inside[right])
            np.logaddexp.at(outside, right, above + self.inside[left])
        return outside

    @cached_property
    def useful_edge_count(self) -> int:
        """How many edges are part of a complete parse in the chart."""
        return int(np.count_nonzero(self._outside[self._edges[:, kernels.PARENT]] > -np.inf))

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
        best = self._inside(np.maximum, edges)
        scores = best + self._root
        top = float(scores.max(initial=-math.inf))
        if top == -math.inf:
            return Derivation(top, [], [])
        # Of equally probable roots the first in order of symbols, as in the exhaustive chart.
        roots = np.flatnonzero(scores >= top - TIE)
        stack = [int(roots[np.argmin(self.symbols[roots])])]
        edge_of = self._best_edges(best, edges).tolist()
        listed: list[int] = []
        while stack:
            item = stack.pop()
            listed.append(item)
            if edge_of[item] >= 0:
                stack.extend(self._edges[edge_of[item], [kernels.CHILDREN + 1, kernels.CHILDREN]].tolist())
        return derivation_of(self.starts[listed], self.ends[listed], self.symbols[listed], top)

    def _best_edges(self, best: pcfg.FloatArray, edges: int) -> pcfg.IntArray:
        """Of the first ``edges`` edges the best of each constituent, -1 over terminals.

        Of edges whose probabilities differ by no more than a tie, relatively, it is the one with the first
        split and then the first left and right child (in the order of symbol ids, which is that of their
        text).
        """
        parent, left, right = self._edges[:edges, [kernels.PARENT, kernels.CHILDREN, kernels.CHILDREN + 1]].T
        scores = self._log_prob[:edges] + best[left] + best[right]
        near = np.flatnonzero(scores >= (best - TIE)[parent])
        symbols = self.symbols
        order = near[np.lexsort((symbols[right[near]], symbols[left[near]], self.ends[left[near]]))]
        parents, first = np.unique(parent[order], return_index=True)
        edge_of = np.full(len(best), -1, np.int32)
        edge_of[parents] = order[first]
        return edge_of


def rules_of(grammar: pcfg.PCFG) -> tuple[pcfg.IntArray, pcfg.IntArray]:
    """``Search.first`` and ``Search.rules`` of a grammar."""
    children = np.stack([grammar.left, grammar.right])
    rule = np.stack([np.lexsort((grammar.parent, children[1 - side], children[side])) for side in range(2)])
    sorted_children = np.take_along_axis(children, rule, axis=1)
    first = np.stack([starts(row, len(grammar.symbols)) for row in sorted_children]).astype(np.int32)
    partners = np.take_along_axis(children[::-1], rule, axis=1)
    return first, np.concatenate([grammar.parent[None], rule, partners]).astype(np.int32)


def larger(search: Search, outcome: int) -> Search:
    """The same search with twice the room for edges, up to its limit, or for constituents."""
    if outcome == kernels.FULL_EDGES:
        more = min(len(search.edges), search.control.max_edges - len(search.edges))
        edges = np.empty((more, kernels.EDGE_COLUMNS), np.int32)
        return search._replace(edges=np.concatenate([search.edges, edges]))
    size = len(search.items)
    items, logs = _rows(size)
    search = search._replace(
        items=np.concatenate([search.items, items]),
        logs=np.concatenate([search.logs, logs]),
        slots=np.full(8 * size, NONE, np.int32),
    )
    kernels.index_all(search.slots, search.items, int(search.counts[kernels.CONSTITUENTS]))
    return search


def _rows(size: int) -> tuple[pcfg.IntArray, pcfg.FloatArray]:
    """Rows of ``Search.items`` and ``Search.logs`` for so many new constituents."""
    items = np.full((size, kernels.ITEM_COLUMNS), NONE, np.int32)
    items[:, kernels.NEXT_WAITING] = kernels.NOT_WAITING
    return items, np.full((size, 4), -np.inf)


def left_corners(grammar: pcfg.PCFG) -> tuple[pcfg.FloatArray, dict[str, Any]]:
    """Log alpha_L at the begin of sentences, by symbol, and the left-corner closure for ``MeritTables``.

    Raises GrammarError where left recursion is never left.
    """
    corners = left_corner.left_corners(grammar)
    rows = list(map(corners.starting, np.eye(len(grammar.symbols))))
    symbols = [np.flatnonzero(row > 0).astype(np.int32) for row in rows]
    with np.errstate(divide="ignore"):
        log_root = np.log(corners.starting(np.exp(grammar.root_log_prob)))
    return log_root, {
        "corner_first": np.cumsum([0, *map(len, symbols)]).astype(np.int32),
        "corner_symbol": np.concatenate(symbols),
        "corner_weight": np.concatenate([row[chosen] for row, chosen in zip(rows, symbols, strict=True)]),
    }


class BestFirstCharts:
    """Makes best-first charts for one grammar, as ChartFactory does exhaustive ones."""

    def __init__(self, grammar: pcfg.PCFG, options: best_first.BestFirst) -> None:
        """Raises MbrparseError for unary rules, and for a merit whose statistics are missing."""
        if grammar.has_unaries:
            raise GrammarError(
                "best-first search takes no grammar with unary rules",
                remedy="parse with --engine exhaustive, or train on trees without: mbrparse binarize "
                "--unary top, bottom or join",
            )
        self.grammar = grammar
        self.options = options
        factors = options.factors
        self._tables: StatisticsTables | None = None
        if factors & best_first.FROM_STATISTICS:
            if options.statistics is None:
                raise MbrparseError(
                    f"the merit {options.merit} needs statistics that the grammar alone does not have",
                    remedy="gather them with mbrparse train --statistics FILE, and give mbrparse parse "
                    "--statistics FILE (or take a merit without: normalized-beta)",
                )
            self._tables = StatisticsTables(options.statistics, grammar)
        self._corners = left_corners(grammar) if factors & kernels.PREFIX else None
        self._rules = rules_of(grammar)
        self._lexical_first = starts(grammar.lexical_terminal, len(grammar.terminals)).astype(np.int32)
        self._exhaustive = ChartFactory(grammar) if options.until.name == "mass" else None

    def chart(self, terminal_ids: pcfg.IntArray) -> BestFirstChart:
        """The chart of a sentence of known terminals, as far as ``until`` says."""
        log_mass = math.inf
        if self._exhaustive is not None:
            log_prob = self._exhaustive.chart(terminal_ids).log_prob
            log_mass = log_prob + math.log(self.options.until.mass)
        began = time.process_time()
        search, tables = self._begin(terminal_ids, log_mass)
        while (outcome := kernels.run_search(search, tables)) in (
            kernels.FULL_EDGES,
            kernels.FULL_CONSTITUENTS,
        ):
            search = larger(search, outcome)
        seconds = time.process_time() - began
        return BestFirstChart(self.grammar, terminal_ids, search, outcome, seconds)

    def _begin(self, terminal_ids: pcfg.IntArray, log_mass: float) -> tuple[Search, MeritTables]:
        """A search with the terminals' symbols on its agenda."""
        options, grammar, length = self.options, self.grammar, len(terminal_ids)
        control = Control(
            options.factors,
            math.log(options.beta_threshold) if options.beta_threshold > 0.0 else -math.inf,
            MOST_EDGES if options.edges is None else options.edges,
            options.until.name == "first-parse",
            log_mass,
        )
        tables = NO_STATISTICS if self._tables is None else self._tables.of_sentence(terminal_ids)
        prefix = np.zeros((3, 0, 0))
        if self._corners is not None:
            log_root, closure = self._corners
            tables = tables._replace(**closure)
            prefix = np.full((3, length, len(log_root)), -np.inf)
            prefix[(kernels.TOTAL, kernels.PREFIX_PASSED), 0] = log_root
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
            edges=np.empty((min(4096, control.max_edges), kernels.EDGE_COLUMNS), np.int32),
            heads=np.full((5, length + 1), NONE, np.int32),
            slots=np.full(4 * constituents, NONE, np.int32),
            counts=np.zeros(7, np.int64),
            log_mass=np.full(1, -np.inf),
            prefix=prefix,
        )
        entries = self._lexical_first, grammar.lexical_symbol, grammar.lexical_log_prob
        kernels.propose_terminals(search, tables, terminal_ids, *entries)
        return search, tables
