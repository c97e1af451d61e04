"""What a search on the Viterbi agenda has found: one derivation, and what it took."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mbrparse.errors import PosteriorsError
from mbrparse.grammar.charts.chart import Derivation
from mbrparse.grammar.charts.span_summary import SpanEntries, SpanSummary
from mbrparse.grammar.pcfg import IntArray


@dataclass(frozen=True, slots=True)
class Effort:
    """What a search took: items popped off the agenda and pushed onto it, and the edges that were looked at.

    ``reopened`` are pushes of items that had been popped before: a better derivation was found too late.
    ``optimal`` says that the derivation is proved to be the most probable one.
    """

    popped: int
    pushed: int
    reopened: int
    edges: int
    optimal: bool


@dataclass(frozen=True, slots=True)
class ViterbiChart:
    """One sentence's derivation; there are no sums: neither posteriors nor the sentence's probability."""

    terminal_ids: IntArray
    derivation: Derivation
    effort: Effort
    seconds: float
    """How long the search took."""
    spent: float = 0.0
    """What a limit of time counts for it, in seconds; nothing where all of it was not enough."""
    failure: str = "no parse"
    """Why there is no parse, where there is none."""
    unfinished: bool = False
    """Whether the search stopped because its time was up: this is the best it had found."""

    @property
    def length(self) -> int:
        """The number of terminals."""
        return len(self.terminal_ids)

    @property
    def has_parse(self) -> bool:
        """Whether a root spans the sentence."""
        return self.derivation.log_prob > -math.inf

    @property
    def log_prob(self) -> float:
        """The sentence's log probability is not known (nan): it is a sum. -inf without a parse."""
        return math.nan if self.has_parse else -math.inf

    def viterbi(self) -> Derivation:
        """The most probable derivation found."""
        return self.derivation

    def span_posteriors(self) -> SpanEntries:
        """Raise PosteriorsError: they are sums."""
        raise PosteriorsError(
            "the Viterbi agenda keeps the best derivation and no posteriors",
            remedy="take the exhaustive engine, or --agenda paper",
        )

    def span_summary(self) -> SpanSummary:
        """Raise PosteriorsError as ``span_posteriors`` does."""
        self.span_posteriors()
        raise AssertionError
