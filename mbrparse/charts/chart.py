"""The chart of one sentence: what inside, outside and Viterbi have to say of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import SYMBOL_IDS, SpanEntries, Spans, SpanSummary
from mbrparse.errors import ChartOverflowError, NumberRangeError

if TYPE_CHECKING:
    from mbrparse.charts.base.inside_nodes import InsideNodes
    from mbrparse.charts.base.packed_forest import Alive, Forest
    from mbrparse.grammar.pcfg import FloatArray, IntArray

TOO_LARGE = "chart too large for memory"
TOO_IMPROBABLE = "too improbable for a forest"


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


class Wanted(NamedTuple):
    """What is to be computed of every sentence of a batch; the rest is computed when asked for."""

    summaries: bool = True
    derivations: bool = False
    entries: bool = False
    forest: bool = False
    nodes: Literal["", "predicted", "all"] = ""  # all that derive words, or that their left context predicts


class Cell(NamedTuple):
    """Symbol ids and log probabilities of one span."""

    inside: tuple[IntArray, FloatArray]
    outside: tuple[IntArray, FloatArray]


class Filler(Protocol):
    """Computes what a chart is asked for (charts.factory)."""

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> None: ...

    def cell(self, chart: Chart, start: int, end: int) -> Cell: ...

    def forest(self, chart: Chart) -> Forest: ...


class Chart:
    """The chart of one sentence. What its batch did not ask for is computed at the first question."""

    def __init__(self, factory: Filler, terminal_ids: IntArray) -> None:
        self._factory = factory
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.alive: Alive | None = None
        """The labels that may stand over its spans (None: any)."""
        self.raises = False
        """Whether a question raises an error that the sentence does not fit, instead of ``give_up``."""
        self.refusal: str | None = None
        """Why the chart was given up (memory, time); it is then without a parse."""
        self.in_logarithms = False
        """Whether its values left the range of numbers, and were computed in logarithms."""
        self.spent = 0.0
        """What a limit of time counts for it, in seconds: its share of the group that it was filled with."""
        self._log_prob: float | None = None
        self._summary: SpanSummary | None = None
        self._derivation: Derivation | None = None
        self._entries: SpanEntries | None = None
        self.nodes: InsideNodes | None = None
        """The inside values of its spans, where its batch asked for them, and they stayed in range."""

    @property
    def has_parse(self) -> bool:
        """Whether the grammar derives the sentence."""
        if self._log_prob is None and self._derivation is not None:
            return self._derivation.log_prob > -math.inf
        return self.log_prob > -math.inf

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        return self.refusal or "no parse"

    @property
    def pruned(self) -> Pruned | None:
        """What was left out of it (None: nothing was to be)."""
        return None

    @property
    def unfinished(self) -> bool:
        """Exhaustive charts are whole or none."""
        return False

    @property
    def log_prob(self) -> float:
        """The natural logarithm of the sentence's probability, -inf without a parse."""
        if self._log_prob is None:
            self._factory.fill([self], Wanted())
            assert self._log_prob is not None
        return self._log_prob

    def span_summary(self) -> SpanSummary:
        """Best label, its posterior, and the sum of posteriors, by cell (over one terminal: of tags)."""
        if self._summary is None:
            self._factory.fill([self], Wanted())
            assert self._summary is not None
        return self._summary

    def viterbi(self) -> Derivation:
        """The most probable derivation; its log probability is -inf without a parse."""
        if self._derivation is None:
            self._factory.fill([self], Wanted(summaries=False, derivations=True))
            assert self._derivation is not None
        return self._derivation

    def span_posteriors(self) -> SpanEntries:
        """g(start, label, end) above zero, projected, in the order of start, end, label id.

        With unary rules g is how often the label is expected over the span, which may exceed one.
        """
        if self._entries is None:
            self._factory.fill([self], Wanted(summaries=False, entries=True))
            assert self._entries is not None
        return self._entries

    def forest(self) -> Forest:
        """The forest, which stands until another chart is asked for its own.

        Raises ChartOverflowError if memory does not suffice (any longer), TimeLimitError, and
        NumberRangeError where the values of the sentence leave the range of a forest's numbers.
        """
        return self._factory.forest(self)

    def inside(self, start: int, end: int) -> tuple[IntArray, FloatArray]:
        """The symbols that derive the span, and the logarithms of their inside probabilities."""
        return self._factory.cell(self, start, end).inside

    def outside(self, start: int, end: int) -> tuple[IntArray, FloatArray]:
        """The symbols that derive the span and occur in a parse, and their log outside probabilities."""
        return self._factory.cell(self, start, end).outside

    def give_up(self, reason: str) -> None:
        """Leave the chart without a parse."""
        if self.raises:
            raise (ChartOverflowError if reason == TOO_LARGE else NumberRangeError)(reason)
        self.refusal = reason
        self.put(log_prob=-math.inf, derivation=Derivation(-math.inf, [], []))

    def put(
        self,
        log_prob: float | None = None,
        summary: SpanSummary | None = None,
        derivation: Derivation | None = None,
        entries: SpanEntries | None = None,
    ) -> None:
        """Take results in (for the kernels' drivers)."""
        self._log_prob = log_prob if log_prob is not None else self._log_prob
        self._summary = summary or self._summary
        self._derivation = derivation or self._derivation
        self._entries = entries or self._entries
