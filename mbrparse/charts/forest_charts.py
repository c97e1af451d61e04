"""Charts whose forests are asked for, one sentence after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from mbrparse.charts.base.clock import NO_LIMIT, Clock
from mbrparse.charts.base.packed_forest import Forest
from mbrparse.charts.chart import Chart, Wanted
from mbrparse.charts.factory import ChartFactory
from mbrparse.charts.pruning import PrunedCharts, Pruning
from mbrparse.charts.rule_tables import Ints
from mbrparse.grammar.pcfg import PCFG, IntArray

_FOREST_ALONE = Wanted(summaries=False, forest=True)


class ForestCharts:
    """Makes charts for one grammar, one after the other as they are asked for."""

    def __init__(
        self,
        grammar: PCFG,
        items: Literal["projected", "symbol"] = "projected",
        clock: Clock = NO_LIMIT,
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
        self.clock = clock
        if pruning is None:
            self._factory = ChartFactory(grammar, "double", _FOREST_ALONE, "forest", clock, self.label)
        else:
            self._factory = PrunedCharts(grammar, pruning, "double", _FOREST_ALONE, clock, self.label)
        self.forests = self._factory.forests.forests
        self._last: Chart | None = None

    def charts(self, sentences: Sequence[IntArray]) -> Iterator[Chart]:
        """One chart for each sentence of known terminals, in order, whose forest is then at hand."""
        for chart in self._factory.each(sentences):
            self._last = chart
            yield chart

    def forest_of(self, terminal_ids: IntArray) -> Forest:
        """The forest of a sentence, as ``Chart.forest`` has it; raises as that does."""
        chart = self._last
        if chart is None or chart.terminal_ids is not terminal_ids:
            [chart] = self.charts([terminal_ids])
        return chart.forest()
