"""The decoder of the most probable derivation: the chart has it already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.objectives import Objective
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.grammar.charts.chart import Derivation
from mbrparse.grammar.charts.columns import Labels, Spans
from mbrparse.grammar.charts.nodes import columns_of
from mbrparse.grammar.pcfg import PCFG


class DerivationChart(Protocol):
    """A chart that knows the most probable derivation."""

    def viterbi(self) -> Derivation: ...


class ViterbiDecoder:
    """Decodes for objectives that ask for the most probable derivation; all get the same tree."""

    def __init__(self, grammar: PCFG, objectives: Sequence[Objective]) -> None:
        self._labels = grammar.labels
        self._label_ids = grammar.label_ids
        self._objectives = objectives

    def decode(self, chart: DerivationChart, posteriors: Posteriors) -> list[Decoded]:
        """The best tree, once for each objective."""
        derivation = chart.viterbi()
        nodes = columns_of(derivation.nodes)
        spans = Spans(nodes.starts, nodes.ends, self._label_ids[nodes.ids], self._labels)
        preterminals = Labels(self._label_ids[derivation.preterminals], self._labels)
        return [Decoded(spans, preterminals, log_prob=derivation.log_prob)] * len(self._objectives)
