"""Charts by way of forests: every derivation of a sentence, packed (grammar.charts.forest).

All sentences share the memory of one forest. A chart that is asked after another sentence has taken it
fills it anew: no answer expires.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from mbrparse.decode.derivations.forest_posteriors import forest_entries, forest_nodes, forest_summary
from mbrparse.decode.parser_options import Items
from mbrparse.errors import ChartOverflowError, TimeLimitError
from mbrparse.grammar.charts.chart import TOO_IMPROBABLE, TOO_LARGE, Chart
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.factory import TIE
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.live_nodes import LiveNodes
from mbrparse.grammar.charts.pruning import Mask, Pruned, Pruning
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.span_summary import SpanEntries, SpanSummary
from mbrparse.grammar.pcfg import PCFG, IntArray


class ForestChart:
    """What a sentence's forest has to say."""

    unfinished = False

    def __init__(
        self,
        charts: ForestCharts,
        terminal_ids: IntArray,
        log_prob: float,
        refusal: str | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._charts = charts
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.log_prob = log_prob
        self.refusal = refusal
        self.spent = charts.clock.counted
        self._mask = mask

    @property
    def has_parse(self) -> bool:
        """Whether the grammar derives the sentence."""
        return self.log_prob > -math.inf

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        return self.refusal or "no parse"

    @property
    def pruned(self) -> Pruned | None:
        """What was left out (None: nothing was to be)."""
        pruning = self._charts.pruning
        if pruning is None or self._mask is None:
            return None
        return pruning.pruned(self.terminal_ids, self._mask)

    def forest(self) -> Forest:
        """The forest, which stands until another chart is asked for its own."""
        return self._charts.forest_of(self.terminal_ids)

    def span_summary(self) -> SpanSummary:
        """Best label, its posterior, and the sum of posteriors, by cell."""
        charts = self._charts
        return forest_summary(self.forest(), charts.label, len(charts.labels), self.length, TIE["double"])

    def span_posteriors(self) -> SpanEntries:
        """Expected numbers of labels over spans."""
        return forest_entries(self.forest(), self._charts.label, self.length)

    def live_nodes(self) -> LiveNodes:
        """The symbols over spans that occur in some parse."""
        return forest_nodes(self.forest(), self.length)


class ForestCharts:
    """Makes charts for one grammar, one after the other as they are asked for."""

    def __init__(
        self,
        grammar: PCFG,
        items: Items = "projected",
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
        self.pruning = pruning
        self.forests = Forests(grammar, clock=clock)
        # The sentence that the memory is filled with: a chart that is held would hold this in turn, and both
        # would stay until the garbage collector comes.
        self._held: IntArray | None = None

    def charts(self, sentences: Sequence[IntArray]) -> Iterator[ForestChart]:
        """One chart for each sentence of known terminals, in order."""
        projected: Sequence[Chart | None] = [None] * len(sentences)
        if self.pruning is not None:
            projected = self.pruning.charts(sentences)
        for terminal_ids, of_labels in zip(sentences, projected, strict=True):
            self._held = None
            try:
                with self.clock.running(0.0 if of_labels is None else of_labels.spent):
                    log_prob, mask = self._fill(terminal_ids, of_labels)
            except ChartOverflowError:
                yield ForestChart(self, terminal_ids, -math.inf, TOO_LARGE)
            except TimeLimitError as error:
                yield ForestChart(self, terminal_ids, -math.inf, error.message)
            else:
                self._held = terminal_ids
                lost = log_prob == -math.inf and self.forests.holds_tree(len(terminal_ids))
                yield ForestChart(self, terminal_ids, log_prob, TOO_IMPROBABLE if lost else None, mask)

    def _fill(self, terminal_ids: IntArray, projected: Chart | None = None) -> tuple[float, Mask | None]:
        """Fill the forest; returns the sentence's log probability, and what the forest was restricted to."""
        if self.pruning is None:
            return self.forests.fill(terminal_ids)[1], None
        if projected is None:
            [projected] = self.pruning.charts([terminal_ids])
        if projected.refusal == TOO_LARGE:
            raise ChartOverflowError("the chart of the projected grammar")
        if projected.refusal is not None:
            raise TimeLimitError(projected.refusal)
        for mask in self.pruning.masks(projected):
            _, log_prob = self.forests.fill(terminal_ids, mask.alive)
            if log_prob > -math.inf:
                break
        return log_prob, mask

    def forest_of(self, terminal_ids: IntArray) -> Forest:
        """The forest of a sentence; raises ChartOverflowError if memory does not suffice (any longer)."""
        if self._held is not terminal_ids:
            self._held = None
            self._fill(terminal_ids)
            self._held = terminal_ids
        return self.forests.forest
