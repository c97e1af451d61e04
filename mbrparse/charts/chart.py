"""The chart of one sentence: what inside, outside and Viterbi have to say of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import SYMBOL_IDS, SpanEntries, Spans, SpanSummary
from mbrparse.errors import NumberRangeError

if TYPE_CHECKING:
    from mbrparse.charts.occurrences import Occurrences
    from mbrparse.charts.packed_forest import Forest, SpanFilter
    from mbrparse.grammar.pcfg import FloatArray, IntArray

TOO_LARGE = "chart too large for memory"
TOO_IMPROBABLE = "too improbable for a forest"

Answer = TypeVar("Answer")


class Derivation(NamedTuple):
    """The most probable derivation.

    ``nodes`` are its constituents as (start, end, symbol id) in preorder, ``preterminals`` the symbols
    over the single terminals, which are none. Without unary rules every constituent has a width of 2 or
    more and a span of its own; with them a span may come several times, from the top of its chain down,
    and a constituent stand over a single terminal.
    """

    log_prob: float
    nodes: Sequence[tuple[int, int, int]]
    preterminals: Sequence[int]


def derivation_of(start: Ints, end: Ints, symbol: Ints, log_prob: float) -> Derivation:
    """The derivation that has these nodes, in preorder.

    Of the nodes over a single terminal the lowest is the preterminal.
    """
    inner = end - start > 1
    inner[:-1] |= (start[1:] == start[:-1]) & (end[1:] == end[:-1])
    nodes = Spans(start[inner], end[inner], symbol[inner], SYMBOL_IDS)
    return Derivation(log_prob, nodes, symbol[~inner].tolist())


class Pruned(NamedTuple):
    """The threshold that a sentence was parsed with (0: nothing was left out), and the share of its
    probability under the projected grammar that is in derivations of which something was left out."""

    threshold: float
    left_out: float


class Cell(NamedTuple):
    """Symbol ids and log probabilities of one span: of those that derive it, and that occur in a parse."""

    inside: tuple[IntArray, FloatArray]
    outside: tuple[IntArray, FloatArray]


class ChartAnswers(Protocol):
    """Computes what charts of one grammar are asked for (dense charts, forests).

    Raises NumberRangeError where values leave the range of its numbers, and ChartOverflowError where memory
    does not suffice.
    """

    def log_prob(self, chart: Chart) -> float: ...

    def summary(self, chart: Chart) -> SpanSummary: ...

    def entries(self, chart: Chart) -> SpanEntries: ...

    def viterbi(self, chart: Chart) -> Derivation: ...


class ForestMaker(ChartAnswers, Protocol):
    """Computes them of forests."""

    def cell(self, chart: Chart, start: int, end: int) -> Cell: ...

    def forest(self, chart: Chart) -> Forest: ...

    def occurrences(self, chart: Chart) -> Occurrences | None: ...


class Chart:
    """The chart of one sentence. Each answer is computed at the first question, and kept.

    Answers raise ChartOverflowError where memory does not suffice for them.
    """

    def __init__(
        self,
        forests: Callable[[], ForestMaker],
        terminal_ids: IntArray,
        dense: ChartAnswers | None = None,
        spans: SpanFilter | None = None,
    ) -> None:
        """``dense`` is asked before ``forests``, which are perhaps made when they are first asked.

        ``spans`` says what is allowed over its spans.
        """
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.spans = spans
        self.in_logarithms = False
        """Whether its values left the range of numbers, and were computed in logarithms."""
        self._forests = forests
        self._dense = dense
        self._log_prob: float | None = None
        self._summary: SpanSummary | None = None
        self._derivation: Derivation | None = None
        self._entries: SpanEntries | None = None
        self._occurrences: Occurrences | None = None

    def _ask(self, question: Callable[[ChartAnswers], Answer]) -> Answer:
        if self._dense is not None:
            try:
                return question(self._dense)
            except NumberRangeError:
                self._dense = None
        return question(self._forests())

    @property
    def has_parse(self) -> bool:
        """Whether the grammar derives the sentence."""
        if self._log_prob is None and self._derivation is not None:
            return self._derivation.log_prob > -math.inf
        return self.log_prob > -math.inf

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        return "no parse"

    @property
    def pruned(self) -> Pruned | None:
        """What was left out of it (None: nothing was to be)."""
        return None

    @property
    def log_prob(self) -> float:
        """The natural logarithm of the sentence's probability, -inf without a parse."""
        if self._log_prob is None:
            self._log_prob = self._ask(lambda answers: answers.log_prob(self))
        return self._log_prob

    def span_summary(self) -> SpanSummary:
        """Best label, its posterior, and the sum of posteriors, by cell (over one terminal: of tags)."""
        if self._summary is None:
            self._summary = self._ask(lambda answers: answers.summary(self))
        return self._summary

    def viterbi(self) -> Derivation:
        """The most probable derivation; its log probability is -inf without a parse."""
        if self._derivation is None:
            self._derivation = self._ask(lambda answers: answers.viterbi(self))
        return self._derivation

    def span_posteriors(self) -> SpanEntries:
        """g(start, label, end) above zero, projected, in the order of start, end, label id."""
        if self._entries is None:
            self._entries = self._ask(lambda answers: answers.entries(self))
        return self._entries

    def occurrences(self) -> Occurrences | None:
        """What counts constituents over a span; None without unary rules, where there is one at most."""
        if self._occurrences is None:
            self._occurrences = self._forests().occurrences(self)
        return self._occurrences

    def forest(self) -> Forest:
        """The forest, in memory that the forest of another chart of the grammar takes.

        Raises NumberRangeError where the values of the sentence leave the range of a forest's numbers.
        """
        return self._forests().forest(self)

    def inside(self, start: int, end: int) -> tuple[IntArray, FloatArray]:
        """The symbols that derive the span, and the logarithms of their inside probabilities."""
        return self._forests().cell(self, start, end).inside

    def outside(self, start: int, end: int) -> tuple[IntArray, FloatArray]:
        """The symbols that derive the span and occur in a parse, and their log outside probabilities."""
        return self._forests().cell(self, start, end).outside
