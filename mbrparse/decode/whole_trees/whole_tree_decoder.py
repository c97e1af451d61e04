"""The decoder of trees that are right or wrong as a whole.

The best tree is sought among binary completions of the commonest sampled trees and by branch and bound from
there; finding it is NP-complete (Goodman 1996, Table 3), so the search is limited, and what it has found
comes with a bound. A completion has all brackets of a sampled tree: with completions the search for uncrossed
trees begins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.charts.chart import Chart
from mbrparse.charts.crossing.consistency import Consistency
from mbrparse.charts.forest_charts import ForestCharts
from mbrparse.charts.spans import cell_of
from mbrparse.decode.candidates.samples import SampledTree, Sampler, Samples
from mbrparse.decode.decoders import Certificate, Decoded
from mbrparse.decode.free import LEAST, best_preterminals, bracketing, spans_of
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans
from mbrparse.decode.whole_trees.agreements import Bracket, SameTree, Uncrossed, crossing_table
from mbrparse.decode.whole_trees.branch_and_bound import Found, best_tree
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray

# So many of the commonest sampled trees are completed, and of these so many are judged.
COMPLETED = 200
JUDGED = 20
_CROSSED = -1e6


def completions(
    trees: list[SampledTree], gains: FloatArray, length: int
) -> list[tuple[list[Bracket], float]]:
    """Binary trees that have all brackets of a sampled tree, those first that fewest samples cross.

    Each comes with the number of samples that do not.
    """
    weights = np.array([len(tree.drawn) for tree in trees], np.float32)
    crossing = crossing_table(length).astype(np.float32)
    brackets = np.zeros((len(trees), len(gains)), np.float32)
    for row, tree in enumerate(trees):
        brackets[row, cell_of(length, tree.nodes[:, 0], tree.nodes[:, 1])] = 1.0
    forbidden = brackets[:COMPLETED] @ crossing > 0
    found = {tuple(bracketing(np.where(row, _CROSSED, gains), length)): None for row in forbidden}
    spans = np.array(list(found))
    held = np.zeros((len(found), len(gains)), np.float32)
    np.put_along_axis(held, cell_of(length, spans[:, :, 0], spans[:, :, 1]), 1.0, axis=1)
    estimate = (held @ crossing @ brackets.T == 0) @ weights
    order = np.argsort(-estimate, kind="stable")[:JUDGED]
    return [(list(map(tuple, spans[place].tolist())), float(estimate[place])) for place in order]


SAMPLES = 1000
SEED = 0
# Edges that may be looked at: some tenths of a second.
WORK = 3e7


class WholeTreeDecoder:
    """Decodes charts of one grammar for objectives of whole trees."""

    def __init__(
        self,
        grammar: PCFG,
        objectives: Sequence[Objective],
        forests: ForestCharts,
    ) -> None:
        self._objectives = objectives
        if grammar.has_unaries and any(o.weight(Item.PROJECTED_TREE) for o in objectives):
            raise GrammarError(
                "most-probable-tree takes no grammar with unary rules",
                remedy="train on trees without: mbrparse binarize --unary top, bottom or join",
            )
        self._forests, self._sampler = forests, Sampler(forests)
        self._labels = grammar.labels
        nothing = np.zeros(len(grammar.symbols), np.bool_)
        self._of_constituents = Consistency(grammar)
        self._of_nodes = Consistency(grammar, nothing)
        # What a sampled tree shows of a symbol: continuations are no constituents.
        self._constituent = np.where(self._of_constituents.continuation, -1, 0).astype(np.int32)
        self._bracket = np.zeros(len(grammar.symbols), np.int32)
        self._label = grammar.label_ids

    def decode(self, chart: Chart, posteriors: Posteriors) -> list[Decoded]:
        """The best trees found."""
        preterminals = best_preterminals(posteriors)
        samples = self._sampler.samples(chart.terminal_ids, SAMPLES, SEED) if chart.length > 2 else None
        decoded = []
        for objective in self._objectives:
            if objective.weight(Item.CONSISTENT_TREE):
                found = self._uncrossed(chart, samples)
            else:
                label = self._label if objective.weight(Item.PROJECTED_TREE) else self._bracket
                found = self._same(chart, samples, label)
            if objective.weight(Item.PROJECTED_TREE):
                spans: LabelledSpans = [(start, end, self._labels[shown]) for start, end, shown in found.tree]
            else:
                spans = spans_of(found.tree, chart.length, posteriors)
            certificate = Certificate(found.bound, found.certified)
            decoded.append(Decoded(spans, preterminals, found.mass, certificate=certificate))
        return decoded

    def _uncrossed(self, chart: Chart, samples: Samples | None) -> Found:
        """The tree that the true one most probably does not cross."""
        forest = self._of_constituents.forest(self._forests, chart.terminal_ids)
        agreement = Uncrossed(self._of_constituents, forest)
        gains = np.log(np.maximum(agreement.start().joint, LEAST))
        candidates = [bracketing(gains, chart.length)]
        if samples is not None:
            completed = completions(samples.trees(self._constituent), gains, chart.length)
            candidates += [tree for tree, _ in completed]
        return best_tree(agreement, candidates, WORK)

    def _same(self, chart: Chart, samples: Samples | None, label: IntArray) -> Found:
        """The most probable tree, of which ``label`` [symbol] is seen."""
        same = SameTree(self._of_nodes.forest(self._forests, chart.terminal_ids), label)
        start = same.start()
        gains = np.log(np.maximum(same.masses(start, frozenset()), LEAST))
        candidates = [same.brackets(start, bracketing(gains, chart.length), frozenset())]
        if samples is not None:
            candidates += [list(map(tuple, tree.nodes.tolist())) for tree in samples.trees(label)[:JUDGED]]
        return best_tree(same, candidates, WORK)
