"""Charts whose forests are asked for, one sentence after the other."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.exhaustive.pruning import PrunedCharts, Pruning
from mbrparse.charts.packed_forest import Forest
from mbrparse.charts.rule_tables import Ints
from mbrparse.grammar.pcfg import PCFG, IntArray


class ForestCharts:
    """Makes charts for one grammar, one after the other as they are asked for."""

    def __init__(
        self,
        grammar: PCFG,
        items: Literal["projected", "symbol"] = "projected",
        pruning: Pruning | None = None,
    ) -> None:
        """Posteriors are those of ``labels``, projected or a symbol's own: ``label`` [symbol] says which.

        With ``pruning`` forests are of the derivations that it leaves.
        """
        self.grammar = grammar
        self.label: Ints = grammar.label_ids
        self.labels = grammar.labels
        if items == "symbol":
            self.label = np.arange(len(grammar.symbols), dtype=np.int32)
            self.labels = tuple(grammar.labels[label_id] for label_id in grammar.label_ids)
        self._factory: ChartFactory | PrunedCharts
        if pruning is None:
            self._factory = ChartFactory(grammar, kernel="forest", label=self.label)
        else:
            self._factory = PrunedCharts(grammar, pruning, self.label)
        self.forests = self._factory.forests
        self._last: tuple[Chart, Forest] | None = None

    def chart(self, terminal_ids: IntArray) -> Chart:
        """The chart of a sentence of known terminals, with its forest; raises as its answers do."""
        chart = self._factory.chart(terminal_ids)
        if chart.has_parse:
            self._last = chart, chart.forest()
        return chart

    def forest_of(self, terminal_ids: IntArray) -> Forest:
        """The forest of a sentence, as ``Chart.forest`` has it; raises as that does."""
        if self._last is None or self._last[0].terminal_ids is not terminal_ids:
            chart = self._factory.chart(terminal_ids)
            self._last = chart, chart.forest()
        return self._last[1]
