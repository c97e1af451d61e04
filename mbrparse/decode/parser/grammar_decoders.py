"""The decoders of a PCFG and their charts, by a table of the kinds of objectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from mbrparse.charts.base.chart import Chart, Wanted
from mbrparse.charts.base.clock import NO_LIMIT
from mbrparse.charts.base.columns import Labels, Spans, columns_of
from mbrparse.charts.factory import TIE, ChartFactory
from mbrparse.decode.decoders import Decoded, Decoder, DecoderSlot
from mbrparse.decode.free import FreeDecoder
from mbrparse.decode.objectives import Kind, Objective
from mbrparse.decode.parser_options import ParserOptions
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart
from mbrparse.errors import OptionsError
from mbrparse.grammar.pcfg import PCFG, FloatArray, Grammar

# Kernels take a while to load: those that most runs do not need are imported where they are used.
if TYPE_CHECKING:
    from mbrparse.charts.crossing.consistency import Consistency
    from mbrparse.charts.forest_charts import ForestCharts
    from mbrparse.charts.pruning import Pruning
    from mbrparse.decode.candidates.candidate_trees import CandidateTrees

#: Makes a decoder for some objectives.
Maker = Callable[[list[Objective]], Decoder[Any]]

_NARY = (Kind.NARY, Kind.EXACT_F)


class ViterbiDecoder:
    """Decodes for objectives that ask for the most probable derivation; all get the same tree."""

    def __init__(self, grammar: PCFG, objectives: Sequence[Objective]) -> None:
        self._labels = grammar.labels
        self._label_ids = grammar.label_ids
        self._objectives = objectives

    def decode(self, chart: Chart, posteriors: Posteriors) -> list[Decoded]:
        """The best tree, once for each objective."""
        derivation = chart.viterbi()
        nodes = columns_of(derivation.nodes)
        spans = Spans(nodes.starts, nodes.ends, self._label_ids[nodes.ids], self._labels)
        preterminals = Labels(self._label_ids[derivation.preterminals], self._labels)
        return [Decoded(spans, preterminals, log_prob=derivation.log_prob)] * len(self._objectives)


class GrammarDecoders:
    """The decoders for a parser's objectives and one grammar, here a PCFG.

    ``charts`` are those that decoders use, ``labels`` the labels by the ids of their posteriors,
    ``candidates`` lists the candidates of sentences, if they are asked for.
    """

    def __init__(self, grammar: Grammar, options: ParserOptions) -> None:
        self.grammar = grammar.pcfg
        self.options = options
        self.labels = self.grammar.labels
        self.charts = self._charts()
        self.candidates = self._candidates() if options.has_candidates else None
        self.slots = slots_of(options.objectives, self._makers())

    @staticmethod
    def check(options: ParserOptions) -> None:
        """Raise OptionsError for what this kind of grammar cannot serve."""
        options.check_for_pcfg()

    def posteriors(self, chart: SentenceChart) -> Posteriors:
        """The posteriors of a sentence's chart, which must have a parse."""
        known = None
        if self.options.best_first is None:
            known = partial(self._consistent, chart)
        return Posteriors.of_chart(chart, self.labels, known)

    def _consistent(self, chart: SentenceChart) -> FloatArray:
        """By cell, the probability that nothing crosses the span."""
        return self._consistency.of_sentence(self._forests, chart.terminal_ids)

    @cached_property
    def _consistency(self) -> Consistency:
        from mbrparse.charts.crossing.consistency import Consistency

        return Consistency(self.grammar)

    def _asked(self, *kinds: Kind) -> bool:
        """Whether an objective is of one of these kinds."""
        return any(objective.kind in kinds for objective in self.options.objectives)

    def _makers(self) -> Mapping[Kind, Maker]:
        """The maker of each kind's decoder, in the order of decoding; kinds with one maker share it."""
        # A forest gives the most probable derivation, too; another chart would cost more.
        forest = self._forest if self.options.needs_forest else self._viterbi
        return {
            Kind.FREE: self._free,
            Kind.NARY: self._nary,
            Kind.DERIVATION: forest,
            Kind.FOREST: forest,
            Kind.EXACT_F: self._exact_f,
            Kind.WHOLE: self._whole,
            Kind.RISK: self._risk,
        }

    def _charts(self) -> Any:
        options = self.options
        if options.needs_forest:
            from mbrparse.charts.forest_charts import ForestCharts

            forests = ForestCharts(self.grammar, options.items, pruning=self._pruning)
            self.labels = forests.labels
            return forests
        if options.best_first is not None:
            from mbrparse.decode.best_first.best_first_charts import BestFirstCharts

            return BestFirstCharts(self.grammar, options.best_first)
        if self._pruning is not None:
            from mbrparse.charts.pruning import PrunedCharts

            return PrunedCharts(self.grammar, self._pruning, wanted=self._wanted())
        return ChartFactory(self.grammar, wanted=self._wanted())

    @cached_property
    def _pruning(self) -> Pruning | None:
        """What prunes charts, if anything does."""
        if not self.options.prune:
            return None
        from mbrparse.charts.pruning import Pruning
        from mbrparse.grammar.projection import has_annotations

        if not has_annotations(self.grammar):
            raise OptionsError(
                "--prune has nothing to project: no labels of this grammar differ in annotations alone; "
                "leave it out, or train on trees of mbrparse binarize --vmarkov 2 or --hmarkov 1"
            )
        whole = self.options.needs_consistency or self._asked(Kind.WHOLE)
        if whole and self.grammar.has_unaries:
            raise OptionsError(
                "--prune cannot tell what crosses a span where there are unary rules: leave it out"
            )
        return Pruning(self.grammar, self.options.prune, NO_LIMIT)

    def _wanted(self) -> Wanted:
        """What charts of sums must always have."""
        entries = self._asked(Kind.NARY) or self.options.expectations
        sums = self._asked(Kind.FREE, Kind.WHOLE) or entries
        return Wanted(sums, self._asked(Kind.DERIVATION), entries)

    @cached_property
    def _forests(self) -> ForestCharts:
        """The charts, if they are forests, or others."""
        from mbrparse.charts.forest_charts import ForestCharts

        if isinstance(self.charts, ForestCharts):
            return self.charts
        return ForestCharts(self.grammar, pruning=self._pruning)

    def _candidates(self) -> CandidateTrees:
        from mbrparse.decode.candidates.candidate_trees import CandidateTrees

        return CandidateTrees.of_forests(self._forests, self.options)

    def _free(self, objectives: list[Objective]) -> Decoder[Any]:
        root = self.grammar.start_label if self.options.unlabelled else None
        return FreeDecoder(objectives, TIE["double"], root)

    def _nary(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.label_order import LabelOrder
        from mbrparse.decode.nary import NaryDecoder

        order = LabelOrder.of(self.grammar)
        root = self.grammar.start_label
        return NaryDecoder(objectives, TIE["double"], root, order=order)

    def _viterbi(self, objectives: list[Objective]) -> Decoder[Any]:
        return ViterbiDecoder(self.grammar, objectives)

    def _forest(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.derivations.forest_decoder import ForestDecoder

        return ForestDecoder(self._forests, objectives, self.options.expectations)

    def _exact_f(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.exact_f import ExactFDecoder

        return ExactFDecoder(self._forests, objectives, self.grammar.start_label)

    def _whole(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.whole_trees.whole_tree_decoder import WholeTreeDecoder

        return WholeTreeDecoder(self.grammar, objectives, self._forests)

    def _risk(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.candidates.candidate_trees import RiskDecoder

        assert self.candidates is not None
        assert self.options.risk is not None
        return RiskDecoder(self.candidates, self.options, self.options.risk, TIE["double"])


def slots_of(objectives: Sequence[Objective], makers: Mapping[Kind, Maker]) -> tuple[DecoderSlot, ...]:
    """The decoders, each made once with all its objectives."""
    slots = []
    for maker in dict.fromkeys(makers.values()):
        mine = [place for place, objective in enumerate(objectives) if makers[objective.kind] == maker]
        if mine:
            chosen = [objectives[place] for place in mine]
            slots.append(DecoderSlot(maker(chosen), tuple(mine), chosen[0].kind in _NARY))
    return tuple(slots)
