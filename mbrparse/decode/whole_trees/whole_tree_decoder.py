"""The decoder of trees that are right or wrong as a whole.

The best tree is sought among binary completions of the commonest sampled trees and by branch and bound from
there; finding it is NP-complete (Goodman 1996, Table 3), so the search is limited, and what it has found
comes with a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from mbrparse.decode.base.decoders import Certificate, Decoded
from mbrparse.decode.base.objectives import Item, Objective
from mbrparse.decode.base.span_posteriors import Posteriors
from mbrparse.decode.base.trees import LabelledSpans
from mbrparse.decode.candidates.samples import Sampler, Samples
from mbrparse.decode.free.free_decoder import LEAST, best_preterminals
from mbrparse.decode.whole_trees.agreements import SameTree, Uncrossed
from mbrparse.decode.whole_trees.branch_and_bound import Found, Limit, best_tree
from mbrparse.decode.whole_trees.completions import JUDGED, bracketing, completions, spans_of
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.crossing.consistency import Consistency
from mbrparse.grammar.charts.forest_charts import ForestCharts
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.io.errors import GrammarError

SAMPLES = 1000
SEED = 0
# Edges that may be looked at without a limit of time: some tenths of a second.
WORK = 3e7


class WholeTreeChart(Protocol):
    """A chart of which whole trees can be judged."""

    length: int
    terminal_ids: IntArray


class WholeTreeDecoder:
    """Decodes charts of one grammar for objectives of whole trees."""

    def __init__(
        self,
        grammar: PCFG,
        objectives: Sequence[Objective],
        forests: ForestCharts,
        clock: Clock = NO_LIMIT,
    ) -> None:
        """The ``clock`` limits the search, a fixed amount of work where it has no limit."""
        self._objectives = objectives
        if grammar.has_unaries and any(o.weight(Item.PROJECTED_TREE) for o in objectives):
            raise GrammarError(
                "most-probable-tree takes no grammar with unary rules",
                remedy="train on trees without: mbrparse binarize --unary top, bottom or join",
            )
        self._forests, self._sampler = forests, Sampler(forests)
        self._clock = clock
        self._labels = grammar.labels
        nothing = np.zeros(len(grammar.symbols), np.bool_)
        self._of_constituents = Consistency(grammar)
        self._of_nodes = Consistency(grammar, nothing)
        # What a sampled tree shows of a symbol: continuations are no constituents.
        self._constituent = np.where(self._of_constituents.continuation, -1, 0).astype(np.int32)
        self._bracket = np.zeros(len(grammar.symbols), np.int32)
        self._label = grammar.label_ids

    def decode(self, chart: WholeTreeChart, posteriors: Posteriors) -> list[Decoded]:
        """The best trees found."""
        preterminals = best_preterminals(posteriors)
        samples = self._sampler.samples(chart.terminal_ids, SAMPLES, SEED) if chart.length > 2 else None
        decoded = []
        for objective in self._objectives:
            share = (self._clock.seconds or 0.0) / len(self._objectives)
            limit = Limit(WORK, self._clock, share)
            spans, found = self._found(objective, chart, samples, posteriors, limit)
            certificate = Certificate(found.bound, found.certified)
            decoded.append(Decoded(spans, preterminals, found.mass, certificate=certificate))
        return decoded

    def _found(
        self,
        objective: Objective,
        chart: WholeTreeChart,
        samples: Samples | None,
        posteriors: Posteriors,
        limit: Limit,
    ) -> tuple[LabelledSpans, Found[Any]]:
        length = chart.length
        if objective.weight(Item.CONSISTENT_TREE):
            forest = self._of_constituents.forest(self._forests, chart.terminal_ids)
            agreement = Uncrossed(self._of_constituents, forest)
            gains = np.log(np.maximum(agreement.start().masses, LEAST))
            candidates = [bracketing(gains, length)]
            if samples is not None:
                completed = completions(samples.trees(self._constituent), gains, length)
                candidates += [completion.tree for completion in completed]
            crossed = best_tree(agreement, candidates, limit)
            return spans_of(crossed.tree, length, posteriors), crossed
        label = self._label if objective.weight(Item.PROJECTED_TREE) else self._bracket
        same = SameTree(self._of_nodes.forest(self._forests, chart.terminal_ids), label)
        start = same.start()
        gains = np.log(np.maximum(same.masses(start, frozenset()), LEAST))
        trees = [same.brackets(start, bracketing(gains, length), frozenset())]
        if samples is not None:
            trees += [list(map(tuple, tree.nodes.tolist())) for tree in samples.trees(label)[:JUDGED]]
        found = best_tree(same, trees, limit)
        if label is self._bracket:
            return spans_of([(start, end) for start, end, _ in found.tree], length, posteriors), found
        return [(start, end, self._labels[shown]) for start, end, shown in found.tree], found
