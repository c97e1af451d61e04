"""What the next word may be after each prefix of a sentence, and what any word given all others.

Exact for a grammar whose derivations end with probability one (``tree_statistics``): what is still to come
of an unfinished constituent then has probability one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mbrparse.charts.base.chart import TOO_IMPROBABLE, TOO_LARGE, Chart, Wanted
from mbrparse.charts.base.clock import Clock
from mbrparse.charts.base.closure import unary_closure
from mbrparse.charts.base.inside_nodes import InsideNodes
from mbrparse.charts.base.rule_tables import chart_rules, lexicon, rules_by_child, words_of
from mbrparse.charts.factory import ChartFactory, default_max_length
from mbrparse.decode.words.dense_prefixes import DensePrefixes
from mbrparse.decode.words.left_corner import left_corners
from mbrparse.decode.words.prefix_kernels import (
    LEAST_STEP,
    TINY,
    GapTables,
    PrefixRoom,
    PrefixTables,
    gap_pass,
    prefix_pass,
)
from mbrparse.errors import TimeLimitError
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, FloatArray, IntArray
from mbrparse.grammar.tree_statistics import lexical_mass

_BATCH = 256
_MOST_BYTES = 2 << 30

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class PrefixValues:
    """The prefixes of a sentence of n words, arrays by their lengths k, from 0 to n.

    A prefix that the grammar has no sentence for has the log probability -inf, and NaN for all that is
    conditioned on it. ``reason`` says why there is nothing at all but NaN, if so.
    """

    room: PrefixRoom
    lexical: Any  # scipy's sparse matrix [symbols, terminals]: p(A -> t)
    reason: str | None = None

    @cached_property
    def log_prefix(self) -> FloatArray:
        """Natural logarithms of the probabilities that a sentence begins with the first k words, [n + 1]."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.room.prefix) + self.room.exponent * math.log(2.0))

    @property
    def log_prob(self) -> float:
        """That of the probability of the sentence: of all its words, and the end."""
        with np.errstate(divide="ignore"):
            return float(np.log(self.room.end[-1]) + self.room.exponent[-1] * math.log(2.0))

    @cached_property
    def surprisal(self) -> FloatArray:
        """-log2 P(word k | the words before it), in bits, [n + 1]; the last is the end's (Hale 2001)."""
        return self._bits(np.append(self.room.word[:-1], self.room.end[-1]))

    @cached_property
    def syntactic(self) -> FloatArray:
        """The part of the surprisal that a preterminal of the word accounts for (Roark et al. 2009).

        It is -log2 of the probability that the next word is of some symbol that has the word. The rest is
        lexical: this word and no other of these symbols. The end has no lexical part.
        """
        return self._bits(np.append(self.room.tag[:-1], self.room.end[-1]))

    def _bits(self, joint: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log2(self.room.prefix) - np.log2(joint))

    def next_words(self) -> FloatArray:
        """The distributions of the next word, [n + 1, terminals + 1]; the last column is the end's."""
        joint = np.hstack([self.room.expected @ self.lexical, self.room.end[:, None]])
        with np.errstate(invalid="ignore"):
            return np.asarray(joint / self.room.prefix[:, None])

    def entropy(self) -> FloatArray:
        """The entropy of each of them in bits: the expectation of the next word's surprisal, [n + 1]."""
        found = self.next_words()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(-np.where(found == 0, 0.0, found * np.log2(found)).sum(axis=1) + 0.0)


@dataclass(frozen=True, eq=False)
class GapValues:
    """P(word | all other words) for each word, [n, terminals]; NaN where the others have no sentence."""

    distributions: FloatArray
    reason: str | None = None


class Prefixes:
    """Computes prefixes and gaps of sentences, which are arrays of terminal ids (``PCFG.encode``).

    A sentence that has no chart says so (``reason``): it is too long, took too long (``max_seconds``), or its
    values left the range of numbers.
    """

    def __init__(
        self, grammar: PCFG, max_length: int | None = None, max_seconds: float | None = None
    ) -> None:
        self.grammar = grammar
        self._clock = Clock(max_seconds)
        self._max_length = max_length or default_max_length(grammar)
        self._rules = rules = chart_rules(grammar)
        self._lexicon = lexicon(rules, len(grammar.terminals))

    @cached_property
    def _lexical(self) -> Any:
        from scipy.sparse import csr_array

        found = self._rules.lexical_prob, (self._rules.lexical_symbol, self._rules.lexical_terminal)
        return csr_array(found, (len(self.grammar.symbols), len(self.grammar.terminals)))

    @cached_property
    def _tables(self) -> PrefixTables:
        by_left, corners = rules_by_child(self._rules, left=True), left_corners(self.grammar)
        least = min(values.min(initial=1) for values in (corners.lower_value, corners.upper_value))
        is_lossy = bool(least < LEAST_STEP)
        return PrefixTables(by_left, corners, self._rules.root_prob, lexical_mass(self.grammar), is_lossy)

    @cached_property
    def _gap_tables(self) -> GapTables:
        by_left, by_right = (rules_by_child(self._rules, left) for left in (True, False))
        return GapTables(by_left, by_right, self._rules.root_prob, *unary_closure(self.grammar))

    def read(self, sentences: Sequence[IntArray]) -> Iterator[PrefixValues]:
        """Yield the prefixes of each sentence; raises GrammarError where left recursion is never left.

        What comes after a terminal that the grammar lacks has probability zero.
        """
        for first in range(0, len(sentences), _BATCH):
            batch = sentences[first : first + _BATCH]
            rooms = self._in_lanes(batch)
            for place, tokens in enumerate(batch):
                if place in rooms:
                    yield PrefixValues(rooms[place], self._lexical)
                else:
                    yield self._alone(self._charts, tokens, _known(tokens), self._prefixes)

    def masked(self, sentences: Iterable[IntArray]) -> Iterator[GapValues]:
        """Yield the distributions of each sentence's words given all others, from outside values."""
        charts = ChartFactory(self.grammar, wanted=Wanted(False, nodes="all"), clock=self._clock)
        for tokens in sentences:
            yield self._alone(charts, tokens, _without_gap(tokens), self._gaps)

    @cached_property
    def _charts(self) -> ChartFactory:
        return ChartFactory(self.grammar, wanted=Wanted(False, nodes="predicted"), clock=self._clock)

    @cached_property
    def _lanes(self) -> DensePrefixes:
        return DensePrefixes(self._charts.lanes("double"), self._rules, self._tables)

    def _in_lanes(self, sentences: Sequence[IntArray]) -> dict[int, PrefixRoom]:
        """Those of sentences that share lanes with others, by their places."""
        found: dict[int, PrefixRoom] = {}
        if not self._charts.in_company:
            return found
        shared = [1 < len(one) <= self._max_length and UNKNOWN_TERMINAL not in one for one in sentences]
        places = {Chart(self._charts, one): place for place, one in enumerate(sentences) if shared[place]}
        for group in self._lanes.lanes.groups([*places]):
            if len(group) > 1:
                with suppress(TimeLimitError), self._clock.running():  # each will have the time for itself
                    rooms = self._lanes.rooms([chart.terminal_ids for chart in group])
                    for chart, room in zip(group, rooms, strict=True):
                        if room is not None:
                            found[places[chart]] = room
        return found

    def _alone(
        self,
        charts: ChartFactory,
        tokens: IntArray,
        charted: IntArray,
        found: Callable[[IntArray, InsideNodes | None, str | None], Found],
    ) -> Found:
        """What is found from the inside values of those words of a sentence that have a chart."""
        if len(charted) > self._max_length:
            return found(tokens, None, f"longer than {self._max_length} terminals")
        chart = next(charts.each([charted])) if len(charted) else None
        try:
            with self._clock.running(0.0 if chart is None else chart.spent):
                return found(tokens, *((_NO_NODES, None) if chart is None else (chart.nodes, chart.refusal)))
        except TimeLimitError as error:
            return found(tokens, None, error.message)

    def _prefixes(self, tokens: IntArray, nodes: InsideNodes | None, reason: str | None) -> PrefixValues:
        n, symbols = len(tokens), len(self.grammar.symbols)
        room = PrefixRoom(np.zeros((n + 1, symbols)), np.zeros(n + 1, np.int32), *np.zeros((4, n + 1)))
        if nodes is not None:
            words = words_of(self._lexicon, self._lexicon.prob, tokens[: len(nodes.power) - 1])
            kept = prefix_pass(self._tables, nodes, words, room, self._clock.stop)
            self._clock.check()
            reason = None if kept else TOO_IMPROBABLE
        if reason is not None:
            for column in room[:1] + room[2:]:
                column[:] = np.nan
        return PrefixValues(room, self._lexical, reason)

    def _gaps(self, tokens: IntArray, nodes: InsideNodes | None, reason: str | None) -> GapValues:
        n, symbols = len(tokens), len(self.grammar.symbols)
        found = np.full((n, len(self.grammar.terminals)), np.nan)
        cells = n * (n + 1) // 2
        if nodes is not None and cells * symbols * 8 > _MOST_BYTES:
            nodes, reason = None, TOO_LARGE
        gaps = np.flatnonzero(tokens == UNKNOWN_TERMINAL)
        if nodes is None or n == 0 or len(gaps) > 1:
            return GapValues(found, reason)
        outside = np.zeros((cells, symbols))
        lost = gap_pass(self._gap_tables, nodes, outside, self._clock.stop)
        self._clock.check()
        rows = gaps if len(gaps) else np.arange(n)
        outside = outside[rows * (rows + 1) // 2]
        joint = outside @ self._lexical
        totals = joint.sum(axis=1, keepdims=True)
        lost |= outside.min(initial=1, where=outside > 0) * self._rules.lexical_prob.min() < TINY
        if not np.isfinite(totals).all() or (lost and totals.min() < LEAST_STEP):
            return GapValues(found, TOO_IMPROBABLE)
        with np.errstate(invalid="ignore"):
            found[rows] = joint / totals
        return GapValues(found)


_NO_NODES = InsideNodes(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(1, np.int32))


def _known(tokens: IntArray) -> IntArray:
    """The words before the first unknown one."""
    unknown = np.flatnonzero(tokens == UNKNOWN_TERMINAL)
    return tokens[: unknown[0]] if len(unknown) else tokens


def _without_gap(tokens: IntArray) -> IntArray:
    """Any word in the place of an unknown one, which is not looked at; none where there are several."""
    gaps = tokens == UNKNOWN_TERMINAL
    return tokens[:0] if np.count_nonzero(gaps) > 1 else np.where(gaps, 0, tokens).astype(np.int32)
