"""Smoothed probabilities from counts, for figures of merit.

Everything is smoothed by Witten and Bell's method in its interpolated form (Witten & Bell 1991; Chen &
Goodman 1998, section 2.4): a context seen C times with T different events gives

    p(event | context) = (C(event, context) + T p'(event)) / (C + T)

where p' is the distribution of the shorter context, down to the uniform one: from trigrams of tags to
bigrams to single tags; from p(t | N), the tag after a symbol, to single tags; and from p(N | t), the symbols
that begin after a tag, to the number of N per tag. (The last is an expected count per occurrence of t, not a
distribution over N.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.decode.best_first.search_kernels import BIGRAM, BIGRAM_SUM, TRIGRAM_SUM, UNIGRAM, MeritTables
from mbrparse.errors import GrammarError, InputMismatchError
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.rules import quote
from mbrparse.training.tag_statistics import BOUNDARY, Statistics

# Two dense tables of symbols by tags; past this many cells (words as terminals) they would not fit.
MAX_CELLS = 100_000_000


class StatisticsTables:
    """A grammar's statistics, smoothed."""

    def __init__(self, statistics: Statistics, grammar: PCFG) -> None:
        """Raises InputMismatchError where statistics and grammar do not belong together."""
        _check_fit(statistics, grammar)
        tags = [*map(quote, grammar.terminals), BOUNDARY]
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

    def of_sentence(self, terminal_ids: IntArray) -> MeritTables:
        """The statistics of one sentence of known terminals."""
        padded = [self.boundary, self.boundary, *terminal_ids.tolist(), self.boundary]
        steps = range(2, len(padded))
        bigram = _log(np.array([self.tags.prob(*padded[m - 1 : m + 1]) for m in steps]))
        trigram = _log(np.array([self.tags.prob(*padded[m - 2 : m + 1]) for m in steps]))
        tag_logs = np.zeros((4, len(padded) - 1))
        tag_logs[UNIGRAM, :-1] = _log(self._unigram[padded[2:]])
        tag_logs[BIGRAM, :-1] = bigram
        np.cumsum(bigram, out=tag_logs[BIGRAM_SUM, 1:])
        np.cumsum(trigram, out=tag_logs[TRIGRAM_SUM, 1:])
        return no_statistics()._replace(
            log_prior=self.log_prior,
            log_left=self.log_left,
            log_right=self.log_right,
            tags=np.array(padded[1:], np.int32),
            tag_logs=tag_logs,
        )


def no_statistics() -> MeritTables:
    """Empty tables, for merits that need none."""
    ids, logs, table = np.zeros(0, np.int32), np.zeros(0), np.zeros((0, 0))
    return MeritTables(logs, table, table, ids, ids, logs, ids, table)


def witten_bell(
    counts: npt.NDArray[np.float64], shorter: FloatArray, totals: FloatArray | None = None
) -> FloatArray:
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
    smoothed: FloatArray = (counts + kinds[..., None] * shorter) / (seen + kinds)[..., None]
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


def _check_fit(statistics: Statistics, grammar: PCFG) -> None:
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
