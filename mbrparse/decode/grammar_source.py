"""Evidence from a grammar: its charts of the sentences, and the decoders that can ask them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from mbrparse.decode.decoders import Decoder, Place
from mbrparse.decode.derivations.viterbi_decoder import ViterbiDecoder
from mbrparse.decode.evidence import Evidence
from mbrparse.decode.free.free_decoder import FreeDecoder
from mbrparse.decode.nary.nary_decoder import NaryDecoder
from mbrparse.decode.objectives import Kind, Objective
from mbrparse.decode.parse_result import SentenceChart
from mbrparse.decode.parser_options import ParserOptions
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.decode.sentences import Batch, Sentence
from mbrparse.decode.trees import tagged
from mbrparse.errors import OptionsError
from mbrparse.grammar.charts.chart import Wanted
from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.crossing.consistency import ConsistentSpans, NodeChart
from mbrparse.grammar.charts.factory import TIE, ChartFactory, default_max_length
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, IntArray
from mbrparse.grammar.rules import is_terminal, unquote
from mbrparse.treebank.labels import unescape
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.decode.best_first.best_first_charts import BestFirstCharts
    from mbrparse.decode.candidates.candidate_trees import CandidateTrees
    from mbrparse.decode.derivations.forest_charts import ForestCharts
    from mbrparse.grammar.charts.dop.dop_charts import DopCharts
    from mbrparse.grammar.dop.dop_grammar import DopGrammar


class GrammarSource:
    """Makes charts of sentences; which kind, and which decoder serves which objective, is settled here."""

    def __init__(self, source: PCFG | DopGrammar, options: ParserOptions) -> None:
        self._dop = None if isinstance(source, PCFG) else source
        self.grammar = grammar = source if isinstance(source, PCFG) else source.pcfg
        if self._dop is not None:
            options.check_for_dop()
        elif options.prune:
            raise OptionsError("--prune needs a DOP grammar: mbrparse train --method dop")
        self.charts: Any = None
        self.places: tuple[Place, ...] = ()
        #: The candidates of its charts' sentences, where some are asked for.
        self.candidates: CandidateTrees | None = None
        self.root = grammar.start_label
        self.labels = frozenset(grammar.labels)
        self._item_labels = grammar.labels
        self._options = options
        self._consistent = ConsistentSpans(grammar)
        self.clock = Clock(options.max_seconds)
        self.renew()
        self._max_length = options.max_length or default_max_length(grammar)
        self._words = grammar.terminal_kind == "words"
        self._untagged = frozenset(unquote(name) for name in grammar.symbols if is_terminal(name))

    def renew(self) -> None:
        """Make charts and decoders, and the memory that they work in, anew."""
        self.charts, self.places, self.candidates = None, (), None  # first the old ones go
        self.charts, self.places = self._divided(self._options)

    def _divided(self, options: ParserOptions) -> tuple[Any, tuple[Place, ...]]:
        """The charts, and the decoders with their objectives."""
        objectives = options.objectives
        free, nary, exact, whole, probable, least, derived = (
            [place for place, objective in enumerate(objectives) if objective.kind is kind] for kind in Kind
        )
        root = self.root if options.unlabelled else None
        decoders: list[tuple[Decoder[Any], list[int]]] = [
            (FreeDecoder(_chosen(objectives, free), TIE[options.precision], root, self.clock), free),
            (NaryDecoder(_chosen(objectives, nary), TIE[options.precision], self.root, self.clock), nary),
        ]
        charts: Any
        if options.needs_forest:
            # Its kernels take a while to load, and many have no use for them.
            from mbrparse.decode.derivations.forest_charts import ForestCharts
            from mbrparse.decode.derivations.forest_decoder import ForestDecoder

            charts = ForestCharts(self.grammar, options.items, self.clock)
            self._item_labels = charts.labels
            # It has the most probable derivation too, and another chart would cost more than a lane.
            derived = sorted(probable + derived)
            decoder = ForestDecoder(charts, _chosen(objectives, derived), options.expectations)
            decoders.append((decoder, derived))
            if exact:
                from mbrparse.decode.nary.exact_f_decoder import ExactFDecoder

                decoders.append((ExactFDecoder(charts, _chosen(objectives, exact), self.root), exact))
        else:
            entries = bool(nary) or options.expectations
            nodes = options.needs_consistency or bool(whole)
            wanted = Wanted(bool(free or whole) or entries, bool(probable), entries, nodes)
            charts = self._charts_of_sums(options, wanted)
            decoders.append((ViterbiDecoder(self.grammar, _chosen(objectives, probable)), probable))
        forests = self._forests(charts) if whole or options.has_candidates else None
        if whole and forests is not None:
            decoders.append((self._whole_trees(forests, _chosen(objectives, whole)), whole))
        if options.has_candidates and forests is not None:
            self.candidates = self._listing(forests, options)
            if options.risk is not None:
                from mbrparse.decode.candidates.risk_decoder import RiskDecoder

                risk = RiskDecoder(self.candidates, options, options.risk, TIE["double"])
                decoders.append((risk, least))
        return charts, tuple(
            Place(decoder, tuple(places), places is nary or places is exact)
            for decoder, places in decoders
            if places
        )

    def _whole_trees(self, forests: ForestCharts, objectives: list[Objective]) -> Decoder[Any]:
        """The decoder of whole trees, with a sampler over forests."""
        from mbrparse.decode.candidates.sampler import Sampler
        from mbrparse.decode.whole_trees.whole_tree_decoder import WholeTreeDecoder

        return WholeTreeDecoder(self.grammar, objectives, Sampler(forests), self.clock)

    def _listing(self, forests: ForestCharts, options: ParserOptions) -> CandidateTrees:
        """The candidates."""
        from mbrparse.decode.candidates.candidate_trees import CandidateTrees

        return CandidateTrees(forests, options)

    def _forests(self, charts: Any) -> ForestCharts:
        """The charts' own forests or, where they have none, others."""
        from mbrparse.decode.derivations.forest_charts import ForestCharts

        return charts if isinstance(charts, ForestCharts) else ForestCharts(self.grammar, clock=self.clock)

    def _charts_of_sums(
        self, options: ParserOptions, wanted: Wanted
    ) -> ChartFactory | BestFirstCharts | DopCharts:
        if self._dop is not None:
            from mbrparse.grammar.charts.dop.dop_charts import DopCharts

            return DopCharts(self._dop, wanted, options.prune, self.clock)
        if options.best_first is None:
            return ChartFactory(self.grammar, options.precision, wanted, clock=self.clock)
        from mbrparse.decode.best_first.best_first_charts import BestFirstCharts

        return BestFirstCharts(self.grammar, options.best_first, self.clock)

    def terminals(self, sentence: Sentence) -> list[str]:
        """What of a sentence the grammar speaks of: its tags, or its words and what stands for them."""
        if self._words:
            words = [leaf.label if leaf.word is None else leaf.word for leaf in sentence]
            return self.grammar.terminals_of(words)
        return [leaf.label for leaf in sentence]

    def evidence(self, batch: Batch) -> Iterator[Evidence]:
        """One chart after the other; what is known of one sentence does not depend on its batch."""
        encoded, reasons = [], []
        for sentence in batch.sentences:
            terminals = self.terminals(sentence)
            encoded.append(self.grammar.encode(terminals))
            reasons.append(self._refusal(terminals, encoded[-1].tolist()))
        chartable = [ids for ids, reason in zip(encoded, reasons, strict=True) if reason is None]
        charts = iter(cast("Iterable[SentenceChart]", self.charts.charts(chartable)))
        for sentence, ids, reason in zip(batch.sentences, encoded, reasons, strict=True):
            yield self._of_sentence(sentence, ids, reason, None if reason is not None else next(charts))

    def _of_sentence(
        self, sentence: Sentence, ids: IntArray, reason: str | None, chart: SentenceChart | None
    ) -> Evidence:
        if chart is not None and not chart.has_parse:
            reason, chart = chart.failure, None
        posteriors = None
        if chart is not None:
            known = None
            if self._options.best_first is None and self._dop is None:
                known = partial(self._consistent.of_chart, cast("NodeChart", chart))
            posteriors = Posteriors.of_chart(chart, self._item_labels, known)
        return Evidence(sentence, ids, posteriors, chart, reason)

    def refused(self, sentence: Sentence, reason: str) -> Evidence:
        """Evidence of a sentence of which nothing but a reason to fall back is known."""
        return Evidence(sentence, self.grammar.encode(self.terminals(sentence)), reason=reason)

    def _refusal(self, terminals: Sequence[str], ids: Sequence[int]) -> str | None:
        if not terminals:
            return "empty sentence"
        if len(terminals) > self._max_length:
            return f"longer than {self._max_length} terminals"
        for terminal, terminal_id in zip(terminals, ids, strict=True):
            if terminal_id == UNKNOWN_TERMINAL:
                return f"unknown terminal {terminal}"
        return None

    def leaves(self, evidence: Evidence, preterminals: Sequence[str | None] | None) -> Sentence:
        """The leaves of a tree with these preterminals (None: of a fall-back).

        Words get the preterminals of their tree. In a fall-back a word without a tag gets its usual one, and
        one that the grammar does not know is its own: readers of trees over words want one.
        """
        if not self._words:
            return evidence.sentence
        if preterminals is not None:
            # Terminals that rules name themselves have no tag.
            shown = [None if tag in self._untagged else tag for tag in preterminals]
            return tagged(evidence.sentence, shown)
        return tuple(
            Tree(self._usual_tag(leaf.label, terminal_id), word=leaf.label)
            if leaf.word is None and leaf.label not in self._untagged
            else leaf
            for leaf, terminal_id in zip(evidence.sentence, evidence.terminal_ids.tolist(), strict=True)
        )

    def _usual_tag(self, word: str, terminal_id: int) -> str:
        known = terminal_id != UNKNOWN_TERMINAL and bool(self.grammar.usual_tags)
        usual = self.grammar.usual_tags[terminal_id] if known else None
        return word if usual is None else unescape(usual)


def _chosen(objectives: Sequence[Objective], places: Sequence[int]) -> list[Objective]:
    return [objectives[place] for place in places]
