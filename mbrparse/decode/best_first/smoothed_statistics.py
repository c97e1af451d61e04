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

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.decode.best_first.merit_kernels import SentenceStatistics
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.rules import quote
from mbrparse.grammar.training.tag_statistics import BOUNDARY, Statistics
from mbrparse.io.errors import GrammarError, InputMismatchError

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
                remedy="train with --terminals tags, or take a merit without statistics: normalized-beta",
            )
        self.tags = _TagModel(statistics, tags)
        left = _table(statistics.left, grammar.symbols, tags)
        right = _table(statistics.right, grammar.symbols, tags)
        per_symbol = left.sum(axis=0)
        share = witten_bell(per_symbol, np.full(len(per_symbol), 1.0 / len(per_symbol)))
        # p(N) here: how many N begin per place where one can begin.
        occurrences = self.tags.context_counts
        begun = per_symbol.sum() or 1.0  # where all counts are zero the prior stands
        per_tag = share * begun / max(occurrences.sum(), 1.0)
        self.log_prior = _log(share)
        self.log_left = _log(witten_bell(left, per_tag, occurrences))
        self.log_right = _log(np.ascontiguousarray(witten_bell(right.T, self.tags.unigram).T))

    def of_sentence(self, terminal_ids: IntArray) -> SentenceStatistics:
        """The statistics of one sentence of known terminals."""
        padded = [self.boundary, self.boundary, *terminal_ids.tolist(), self.boundary]
        steps = range(2, len(padded))
        unigram = _log(self.tags.unigram[padded[2:]])
        bigram = np.array([self.tags.log_bigram(*padded[m - 1 : m + 1]) for m in steps])
        trigram = np.array([self.tags.log_trigram(*padded[m - 2 : m + 1]) for m in steps])
        return SentenceStatistics(
            self.log_prior,
            self.log_left,
            self.log_right,
            np.array(padded[1:], np.int32),
            unigram,
            bigram,
            np.concatenate([[0.0], np.cumsum(bigram)]),
            np.concatenate([[0.0], np.cumsum(trigram)]),
        )


def no_statistics(terminal_ids: IntArray) -> SentenceStatistics:
    """Empty statistics, for merits that need none."""
    empty = np.zeros(0)
    table = np.zeros((0, 0))
    return SentenceStatistics(empty, table, table, terminal_ids, empty, empty, empty, empty)


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


class _TagModel:
    """Tag unigrams as an array, longer n-grams on demand: words would make a cube too large."""

    def __init__(self, statistics: Statistics, tags: Sequence[str]) -> None:
        ids = {tag: position for position, tag in enumerate(tags)}
        unigrams = np.zeros(len(tags))
        self.context_counts = np.zeros(len(tags))
        self._bigrams: dict[tuple[int, int], float] = defaultdict(float)
        self._trigrams: dict[tuple[int, int, int], float] = {}
        self._pair_counts: dict[tuple[int, int], float] = defaultdict(float)
        self._pair_kinds: dict[tuple[int, int], int] = defaultdict(int)
        self._kinds = np.zeros(len(tags))
        for names, count in statistics.ngrams.items():
            if count == 0 or not all(name in ids for name in names):
                continue
            first, second, third = (ids[name] for name in names)
            unigrams[third] += count
            self.context_counts[second] += count
            self._kinds[second] += (second, third) not in self._bigrams
            self._bigrams[second, third] += count
            self._trigrams[first, second, third] = count
            self._pair_counts[first, second] += count
            self._pair_kinds[first, second] += 1
        self.unigram = witten_bell(unigrams, np.full(len(tags), 1.0 / len(tags)))

    def log_bigram(self, first: int, second: int) -> float:
        return float(_log(self._bigram(first, second)))

    def log_trigram(self, first: int, second: int, third: int) -> float:
        kinds = self._pair_kinds.get((first, second), 0)
        shorter = self._bigram(second, third)
        if kinds == 0:
            return float(_log(shorter))
        count = self._trigrams.get((first, second, third), 0.0)
        return float(_log((count + kinds * shorter) / (self._pair_counts[first, second] + kinds)))

    def _bigram(self, first: int, second: int) -> float:
        kinds = float(self._kinds[first])
        shorter = float(self.unigram[second])
        if kinds == 0:
            return shorter
        count = self._bigrams.get((first, second), 0.0)
        return (count + kinds * shorter) / (float(self.context_counts[first]) + kinds)


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
