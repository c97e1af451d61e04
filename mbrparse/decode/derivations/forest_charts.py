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
from mbrparse.grammar.charts.dense.dense_charts import DenseCharts
from mbrparse.grammar.charts.factory import TIE, suits_dense
from mbrparse.grammar.charts.forest.forest_nodes import SentenceNodes, nodes_of
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.live_nodes import LiveNodes
from mbrparse.grammar.charts.pruning import Mask, Pruned, Pruning
from mbrparse.grammar.charts.rule_tables import Ints, chart_rules, wide_symbols
from mbrparse.grammar.charts.span_summary import SpanEntries, SpanSummary
from mbrparse.grammar.pcfg import PCFG, IntArray

# So many sentences' nodes are held at once, and so many nodes if every symbol were in every cell.
_WINDOW, _WINDOW_NODES = 32, 1 << 24
# The shortest sentence that the dense kernels take.
_LEAST_DENSE = 2


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
        before: float = 0.0,
    ) -> None:
        """``before``: the seconds that were spent on the sentence before its forest."""
        self._charts = charts
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.log_prob = log_prob
        self.refusal = refusal
        self.spent = charts.clock.counted + before
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

    def nodes(self) -> SentenceNodes:
        """The nodes of its forest."""
        return self._charts.nodes_of(self.terminal_ids)

    def span_summary(self) -> SpanSummary:
        """Best label, its posterior, and the sum of posteriors, by cell."""
        charts = self._charts
        return forest_summary(
            self.nodes().nodes, charts.label, len(charts.labels), self.length, TIE["double"]
        )

    def span_posteriors(self) -> SpanEntries:
        """Expected numbers of labels over spans."""
        return forest_entries(self.nodes().nodes, self._charts.label, self.length)

    def live_nodes(self) -> LiveNodes:
        """The symbols over spans that occur in some parse."""
        return forest_nodes(self.nodes().nodes, self.length)


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
        # Where the dense kernels take the grammar, a search needs but the nodes of most sentences' forests:
        # those of the window of sentences at hand.
        self._dense: DenseCharts | None = None
        self._nodes: dict[int, tuple[IntArray, SentenceNodes]] = {}
        rules = chart_rules(grammar)
        self._wide = len(wide_symbols(rules))
        unlimited = pruning is None and clock.seconds is None
        if unlimited and not grammar.has_unaries and suits_dense(rules):
            self._dense = DenseCharts(grammar, np.float64, TIE["double"], clock)

    def charts(self, sentences: Sequence[IntArray]) -> Iterator[ForestChart]:
        """One chart for each sentence of known terminals, in order."""
        projected: Sequence[Chart | None] = [None] * len(sentences)
        if self.pruning is not None:
            projected = self.pruning.charts(sentences)
        end = 0
        for place, (terminal_ids, of_labels) in enumerate(zip(sentences, projected, strict=True)):
            if self._dense is not None and place == end:
                end = self._window_end(sentences, place)
                self._nodes = _dense_nodes(self._dense, sentences[place:end])
            self._held = None
            if id(terminal_ids) in self._nodes:
                yield ForestChart(self, terminal_ids, self.nodes_of(terminal_ids).log_prob)
            else:
                yield self._filled(terminal_ids, of_labels)

    def _window_end(self, sentences: Sequence[IntArray], begin: int) -> int:
        """The end of the window that begins at a sentence, which it has at least."""
        nodes = 0
        for place in range(begin, min(begin + _WINDOW, len(sentences))):
            length = len(sentences[place])
            nodes += length * (length + 1) // 2 * self._wide
            if nodes > _WINDOW_NODES and place > begin:
                return place
        return min(begin + _WINDOW, len(sentences))

    def _filled(self, terminal_ids: IntArray, of_labels: Chart | None) -> ForestChart:
        """The chart of a sentence whose forest is filled."""
        before = 0.0 if of_labels is None else of_labels.spent
        try:
            with self.clock.running(before):
                log_prob, mask = self._fill(terminal_ids, of_labels)
        except ChartOverflowError:
            return ForestChart(self, terminal_ids, -math.inf, TOO_LARGE, before=before)
        except TimeLimitError as error:
            return ForestChart(self, terminal_ids, -math.inf, error.message, before=before)
        self._held = terminal_ids
        lost = log_prob == -math.inf and self.forests.holds_tree(len(terminal_ids))
        return ForestChart(self, terminal_ids, log_prob, TOO_IMPROBABLE if lost else None, mask, before)

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

    def knows_nodes(self, terminal_ids: IntArray) -> bool:
        """Whether the nodes of a sentence's forest are known without it."""
        return id(terminal_ids) in self._nodes

    def nodes_of(self, terminal_ids: IntArray) -> SentenceNodes:
        """The nodes of a sentence's forest, which is filled if need be; raises as ``forest_of`` does."""
        if id(terminal_ids) in self._nodes:
            return self._nodes[id(terminal_ids)][1]
        nodes = nodes_of(self.forest_of(terminal_ids))
        return SentenceNodes(nodes, self.forests.log_scale, self.forests.log_total)


def _dense_nodes(
    dense: DenseCharts, sentences: Sequence[IntArray]
) -> dict[int, tuple[IntArray, SentenceNodes]]:
    """The nodes of sentences' forests, by identity, as far as the dense kernels find them."""
    found: dict[int, tuple[IntArray, SentenceNodes]] = {}
    for group in dense.grouped([ids for ids in sentences if len(ids) >= _LEAST_DENSE], len):
        for terminal_ids, nodes in zip(group, dense.forest_nodes(group), strict=True):
            if nodes is not None:
                found[id(terminal_ids)] = terminal_ids, nodes
    return found
