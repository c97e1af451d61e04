"""What is known of a sentence when its trees are sought."""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.decode.parse_result import SentenceChart
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.decode.sentences import Sentence
from mbrparse.grammar.pcfg import IntArray


class Evidence(NamedTuple):
    """Posteriors of spans, and the chart that they come from, if they come from one.

    It is made by a source, a grammar's (grammar_source) or a file of posteriors
    (posteriors.posteriors_source), which also has the decoders that can make trees of it. ``sentence`` are
    the leaves to be put under a tree, ``reason`` says why there is nothing to decode.
    """

    sentence: Sentence
    terminal_ids: IntArray
    posteriors: Posteriors | None = None
    chart: SentenceChart | None = None
    reason: str | None = None

    @property
    def spent(self) -> float:
        """How much of its time the sentence has had, in seconds."""
        return 0.0 if self.chart is None else self.chart.spent
