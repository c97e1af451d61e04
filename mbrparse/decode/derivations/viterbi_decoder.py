"""The decoder of the most probable derivation: the chart has it already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.objectives import Objective
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.grammar.charts.chart import Derivation
from mbrparse.grammar.pcfg import PCFG


class DerivationChart(Protocol):
    """A chart that knows the most probable derivation."""

    def viterbi(self) -> Derivation: ...


class ViterbiDecoder:
    """Decodes for objectives that ask for the most probable derivation; all get the same tree."""

    def __init__(self, grammar: PCFG, objectives: Sequence[Objective]) -> None:
        self._labels = [grammar.labels[label_id] for label_id in grammar.label_ids.tolist()]
        self._objectives = objectives

    def decode(self, chart: DerivationChart, posteriors: Posteriors) -> list[Decoded]:
        """The best tree, once for each objective."""
        derivation, labels = chart.viterbi(), self._labels
        spans = [(start, end, labels[symbol]) for start, end, symbol in derivation.nodes]
        preterminals = [labels[symbol] for symbol in derivation.preterminals]
        return [Decoded(spans, preterminals, log_prob=derivation.log_prob)] * len(self._objectives)
