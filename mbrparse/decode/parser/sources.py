"""Where a sentence's posteriors come from, a grammar's charts or a file, and the decoders for them.

A source makes an ``Evidence`` of each sentence. Others are in ``dop_source`` and ``mixed_source`` (several
grammars).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from mbrparse import errors
from mbrparse.charts.chart import TOO_LARGE
from mbrparse.charts.exhaustive import factory
from mbrparse.charts.spans import NO_LABEL, Labels, Spans, cell_of
from mbrparse.decode import answers, trees
from mbrparse.decode.objectives import Kind, Objective
from mbrparse.decode.parser.sentences import Line, Sentence, other_case, untokenized
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.span_decoders import UNLABELLED, FreeDecoder, NaryDecoder, best_preterminals
from mbrparse.decode.span_posteriors import LabelOrder, Posteriors, SentenceChart
from mbrparse.decode.tree_probability import Probability, TreeProbability
from mbrparse.grammar import pcfg, rules
from mbrparse.log import Log
from mbrparse.treebank.labels import split_tag, unescape
from mbrparse.treebank.tree import Tree

# Kernels take a while to load: those that most runs do not need are imported where they are used.
if TYPE_CHECKING:
    from mbrparse.charts.chart import Chart
    from mbrparse.charts.exhaustive.consistency import Consistency
    from mbrparse.decode.candidates.candidate_trees import CandidateTrees
    from mbrparse.grammar.pcfg import Grammar

#: What a chart may fail of; its sentence then falls back.
FAILURES = (errors.ChartOverflowError, MemoryError, errors.NumberRangeError)
#: The first sentences of an input, of which a grammar must know a terminal.
FIRST = 100


class Evidence(NamedTuple):
    """The posteriors of a sentence's spans, and their chart if they come from one.

    ``sentence`` are the leaves of its trees, ``reason`` says why nothing is decoded. The chart is of the
    words' terminals: ``log_share`` is the words' part in the probability of these.
    """

    sentence: Sentence
    terminal_ids: pcfg.IntArray
    posteriors: Posteriors | None = None
    chart: SentenceChart | None = None
    reason: str | None = None
    log_share: float = 0.0


class ViterbiDecoder:
    """Decodes for objectives that ask for the most probable derivation; all get the same tree."""

    def __init__(self, grammar: pcfg.PCFG, objectives: Sequence[Objective]) -> None:
        self._labels = grammar.labels
        self._label_ids = grammar.label_ids
        self._objectives = objectives

    def decode(self, chart: Chart, posteriors: Posteriors) -> list[trees.Decoded]:
        """The best tree, once for each objective."""
        best = chart.viterbi()
        starts, ends, symbols = np.array(best.nodes, np.int32).reshape(-1, 3).T
        spans = Spans(starts, ends, self._label_ids[symbols], self._labels)
        preterminals = Labels(self._label_ids[best.preterminals], self._labels)
        return [trees.Decoded(spans, preterminals, log_prob=best.log_prob)] * len(self._objectives)


class Source:
    """What makes evidence of sentences, and the decoders for a parser's objectives.

    ``candidates`` lists those of sentences, if they are asked for. ``labels`` are those that trees may have,
    ``root`` is that of fall-backs. ``retags`` says whether trees assign tags to words; ``bare`` terminals
    stand in rules themselves, and have none; ``nary`` says that best trees are no binary ones. Raises
    OptionsError for what the source cannot serve.
    """

    kind: answers.SourceKind
    labels: frozenset[str]
    root: str
    retags = False
    bare: frozenset[str] = frozenset()
    nary = False
    candidates: CandidateTrees | None = None
    decoders: Sequence[tuple[trees.Decoder[Any], list[int]]]

    def evidence(self, line: Line) -> Evidence:
        """What is known of a sentence.

        Raises ChartOverflowError, NumberRangeError, InputMismatchError.
        """
        raise NotImplementedError

    def refused(self, sentence: Sentence, reason: str) -> Evidence:
        """Evidence of a sentence that falls back for this reason."""
        return Evidence(sentence, np.full(len(sentence), pcfg.UNKNOWN_TERMINAL, np.int32), reason=reason)

    def check_beginning(self, sentences: Sequence[Sentence], tokens: bool, log: Log) -> None:
        """See whether the source and the first sentences fit; note ``tokens`` that look like text's.

        Raises InputMismatchError.
        """

    def check_end(self, count: int, source: str) -> None:
        """Raise InputMismatchError where an input ends too early."""

    def fallback_leaves(self, evidence: Evidence) -> Sentence:
        """The leaves of a fall-back."""
        return evidence.sentence

    def probability(self) -> Probability | None:
        """Makes what knows the probability of trees, if anything does."""
        return None

    def decoder(self, name: answers.DecoderName, objectives: list[Objective]) -> trees.Decoder[Any]:
        """The decoder of this name."""
        raise NotImplementedError

    def decoders_of(self, options: answers.ParserOptions) -> list[tuple[trees.Decoder[Any], list[int]]]:
        """The decoders that the table names for the objectives, and the places of each one's own."""
        places: dict[answers.DecoderName, list[int]] = {}
        for place, row in enumerate(options.objectives):
            places.setdefault(answers.decoder_of(self.kind, row, options), []).append(place)
        rows = options.objectives
        return [(self.decoder(name, [rows[one] for one in mine]), mine) for name, mine in places.items()]


class GrammarSource(Source):
    """The charts of a grammar's sentences, here of a PCFG; ``charts`` fills those that decoders use."""

    kind: answers.SourceKind = "pcfg"
    #: Grammars beside the first.
    others: Sequence[pcfg.PCFG] = ()

    def __init__(
        self, source: Grammar, options: answers.ParserOptions, grammar: pcfg.PCFG | None = None
    ) -> None:
        """Charts are those of ``grammar``, by default the source's own."""
        answers.check(self.kind, options)
        self.origin, self.options = source, options
        self.grammar = grammar = grammar or source.pcfg
        #: The labels by the ids of posteriors.
        self.chart_labels = grammar.labels
        self.root, self.labels = grammar.start_label, frozenset(grammar.labels)
        self.retags = grammar.terminal_kind == "words"
        self.bare = frozenset(rules.unquote(name) for name in grammar.symbols if rules.is_terminal(name))
        self.charts = self.make_charts()
        self.candidates = self.make_candidates() if options.has_candidates else None
        self.decoders = self.decoders_of(options)
        exhaustive = options.best_first is None and not options.expectations and not options.has_candidates
        self._is_viterbi = exhaustive and all(isinstance(one, ViterbiDecoder) for one, _ in self.decoders)
        self._max_length = options.max_length or factory.default_max_length(grammar)

    def evidence(self, line: Line) -> Evidence:
        """What is known of a sentence; nothing but its words matters."""
        read = terminals_of(self.grammar, line.sentence)
        ids, reason = self.grammar.encode(read.names), None
        if not len(ids):
            reason = "empty sentence"
        elif len(ids) > self._max_length:
            reason = f"longer than {self._max_length} terminals"
        elif (unknown := np.flatnonzero(ids == pcfg.UNKNOWN_TERMINAL)).size:
            name = read.names[unknown[0]]
            reason = f"unknown terminal {errors.shortened(name)}{other_case(self.grammar, name)}"
        if reason is not None:
            return Evidence(line.sentence, ids, reason=reason)
        chart = self.charts.chart(ids)
        if self._is_viterbi:
            chart.viterbi()  # which says whether there is a parse, and costs less than all sums
        if not chart.has_parse:
            return Evidence(line.sentence, ids, reason=chart.failure)
        return Evidence(line.sentence, ids, self.posteriors(chart), chart, log_share=read.log_share)

    def refused(self, sentence: Sentence, reason: str) -> Evidence:
        """Evidence of a sentence that falls back for this reason."""
        ids = self.grammar.encode(terminals_of(self.grammar, sentence).names)
        return Evidence(sentence, ids, reason=reason)

    def check_beginning(self, sentences: Sequence[Sentence], tokens: bool, log: Log) -> None:
        """See whether the grammar knows a terminal of the first sentences."""
        check_fit(self.grammar, sentences, *self.others)
        if tokens and (remark := untokenized(self.grammar, sentences)):
            log(remark)

    def fallback_leaves(self, evidence: Evidence) -> Sentence:
        """The leaves of a fall-back.

        A word without a tag gets its most frequent one, an unknown word itself: readers of trees over words
        expect tags.
        """
        if not self.retags:
            return evidence.sentence
        usual, leaves = self.grammar.usual_tags, list(evidence.sentence)
        for place, (leaf, terminal_id) in enumerate(zip(leaves, evidence.terminal_ids.tolist(), strict=True)):
            if leaf.word is None and leaf.label not in self.bare:
                tag = usual[terminal_id] if usual and terminal_id != pcfg.UNKNOWN_TERMINAL else None
                tag = leaf.label if tag is None else split_tag(unescape(tag))[1]
                leaves[place] = Tree(tag, word=leaf.label)
        return tuple(leaves)

    def posteriors(self, chart: SentenceChart) -> Posteriors:
        """The posteriors of a sentence's chart, which must have a parse."""

        def consistent() -> pcfg.FloatArray:
            return self._consistency.of_sentence(self.forests, chart.terminal_ids)

        known = consistent if self.options.best_first is None else None
        summary, entries = chart.span_summary, chart.span_posteriors
        counts = cast("Chart", chart).occurrences if self.grammar.has_unaries else None
        return Posteriors(chart.length, self.chart_labels, summary, entries, consistent=known, counts=counts)

    @cached_property
    def _consistency(self) -> Consistency:
        from mbrparse.charts.exhaustive.consistency import Consistency

        return Consistency(self.grammar)

    def make_charts(self) -> Any:
        """What fills charts for the options and objectives."""
        options = self.options
        if options.needs_forest:
            forests = factory.ForestCharts(self.grammar, options.items, pruning=self._pruning)
            self.chart_labels = forests.labels
            return forests
        if options.best_first is not None:
            from mbrparse.decode.best_first.best_first_chart import BestFirstCharts

            return BestFirstCharts(self.grammar, options.best_first)
        if self._pruning is not None:
            return factory.PrunedCharts(self.grammar, self._pruning)
        return factory.ChartFactory(self.grammar)

    @cached_property
    def _pruning(self) -> factory.Pruning | None:
        """What prunes charts, if anything does."""
        if not self.options.prune:
            return None
        from mbrparse.grammar.projection import has_annotations

        if not has_annotations(self.grammar):
            raise errors.OptionsError(
                "`prune` has nothing to project: no labels of this grammar differ in annotations alone",
                remedy="leave it out, or train on trees of mbrparse binarize --vmarkov 2 or --hmarkov 1",
            )
        whole = self.options.needs_consistency or Kind.WHOLE in self.options.kinds
        if whole and self.grammar.has_unaries:
            raise errors.OptionsError(
                "`prune` cannot tell what crosses a span where there are unary rules: leave it out"
            )
        return factory.Pruning(self.grammar, self.options.prune)

    @cached_property
    def forests(self) -> factory.ForestCharts:
        """The charts, if they are forests, or others."""
        if isinstance(self.charts, factory.ForestCharts):
            return self.charts
        return factory.ForestCharts(self.grammar, pruning=self._pruning)

    def probability(self) -> Probability:
        """Makes what knows the probability of trees."""
        return TreeProbability(self.origin.pcfg)

    def make_candidates(self) -> CandidateTrees:
        """What lists the candidates of sentences."""
        from mbrparse.decode.candidates.candidate_trees import CandidateTrees

        return CandidateTrees.of_forests(self.forests, self.options, self.probability())

    def decoder(self, name: answers.DecoderName, objectives: list[Objective]) -> trees.Decoder[Any]:
        """The decoder of this name."""
        root, options = self.grammar.start_label, self.options
        match name:
            case "free":
                return FreeDecoder(objectives, factory.TIE, root if options.unlabelled else None)
            case "nary":
                return NaryDecoder(objectives, factory.TIE, root, order=LabelOrder.of(self.origin))
            case "viterbi":
                return ViterbiDecoder(self.grammar, objectives)
            case "forest":
                from mbrparse.decode.derivations.forest_decoder import ForestDecoder

                return ForestDecoder(self.forests, objectives, options.expectations)
            case "exact_f":
                from mbrparse.decode.exact_f import ExactFDecoder

                return ExactFDecoder(self.forests, objectives, root)
            case "whole_trees":
                from mbrparse.decode.candidates.whole_tree_decoder import WholeTreeDecoder

                return WholeTreeDecoder(self.grammar, objectives, self.forests)
        from mbrparse.decode.candidates.candidate_trees import RiskDecoder

        assert self.candidates is not None
        assert options.risk is not None
        return RiskDecoder(self.candidates, options, options.risk, factory.TIE)


def failure(error: Exception) -> str:
    """Why a sentence falls back, of one of these errors."""
    return error.message if isinstance(error, errors.NumberRangeError) else TOO_LARGE


def terminals_of(grammar: pcfg.PCFG, sentence: Sentence) -> pcfg.Terminals:
    """The terminals of a sentence: its tags, or its words with unknown ones mapped."""
    tags = grammar.terminal_kind == "tags"
    return grammar.read_words(
        [leaf.label if leaf.word is None else leaf.tag if tags else leaf.word for leaf in sentence]
    )


def check_fit(grammar: pcfg.PCFG, sentences: Sequence[Sentence], *others: pcfg.PCFG) -> None:
    """Raise InputMismatchError where no sentence holds a single terminal that one of the grammars knows."""
    sentences = list(filter(None, sentences))
    for one in (grammar, *others):
        known = frozenset(one.terminals)
        if not sentences or any(known.intersection(terminals_of(one, each).names) for each in sentences):
            return
    first = terminals_of(grammar, sentences[0]).names[0]
    if not grammar.terminals:
        raise errors.GrammarError("the grammar has no terminals", remedy="add rules such as NN -> 'dog'")
    raise errors.InputMismatchError(
        f"grammar and input do not fit: the grammar's terminals are {grammar.terminal_kind} (such as "
        f"{', '.join(grammar.terminals[:3])}), and none of the first {len(sentences)} sentences "
        f"holds one (they begin with {first!r}){other_case(grammar, first)}",
        remedy="train with the other terminals, or give the other input",
    )


# Two tables of scores and one of splits over all spans, in 2 GB as the charts of a parser.
_SPAN_BYTES = 30
LONGEST = math.isqrt((2 << 30) // _SPAN_BYTES)

_REMEDY = (
    "the input must hold the sentences of the posteriors, all of them and in their order (an empty line of "
    "tokens is a sentence too, traces are no words)"
)


class PosteriorsSource(Source):
    """The sentences of a file of posteriors, which know no derivations; words keep their tags."""

    kind: answers.SourceKind = "posteriors"

    def __init__(self, given: GivenPosteriors, options: answers.ParserOptions) -> None:
        """Raises OptionsError for objectives and options that need a grammar."""
        if not isinstance(given, GivenPosteriors):
            raise errors.OptionsError(
                f"a parser needs a grammar or posteriors, not a {type(given).__name__}",
                remedy="grammar, train or read_grammar make the one, posteriors or read_posteriors the other",
            )
        answers.check(self.kind, options, **given.known)
        self._given, self.nary = given, given.nary
        self.labels = frozenset(given.labels)
        self.root = given.usual_root() or UNLABELLED
        # Roots without a label get the root's, which needs an id even without a posterior.
        self._labels = given.labels if self.root in self.labels else (*given.labels, self.root)
        self._max_length = options.max_length or LONGEST
        self._unlabelled = options.unlabelled
        self.decoders = self.decoders_of(options)

    def decoder(self, name: answers.DecoderName, objectives: list[Objective]) -> trees.Decoder[Any]:
        """The decoder of this name."""
        if name == "viterbi":
            return BestTreeDecoder(objectives, self.nary)
        if name == "free":
            return FreeDecoder(objectives, self._given.tie, self.root if self._unlabelled else None)
        return NaryDecoder(objectives, self._given.tie, self.root, order=self._given.order)

    def evidence(self, line: Line) -> Evidence:
        """What is known of the sentence of its place; raises as ``check_sentence``."""
        sentence, given, length = line.sentence, self._given, len(line.sentence)
        self.check_sentence(line.place, sentence, line.source)
        if not sentence:
            return self.refused(sentence, "empty sentence")
        if length > self._max_length:
            return self.refused(sentence, f"longer than {self._max_length} terminals")
        posteriors = given.of_sentence(line.place, self._labels)
        if line.tokens:  # they get the most probable tags
            sentence = _with_tags(sentence, best_preterminals(posteriors))
        # One word has only one tree, whatever the posteriors.
        if length > 1 and not posteriors.entries.constituents.any():
            return self.refused(sentence, "no posteriors")
        summary, whole = posteriors.spans, cell_of(length, 0, length)
        if length > 1 and summary.label[whole] == NO_LABEL:
            summary.label[whole] = self._labels.index(self.root)
        return self.refused(sentence, "")._replace(posteriors=posteriors, reason=None)

    def check_end(self, count: int, source: str) -> None:
        """Raise InputMismatchError where an input ends before the file's last sentence."""
        if count < (there := len(self._given.lengths)):
            raise self._mismatch(
                f"there are {there} sentences here, but {source} ends after sentence {count}"
            )

    def check_sentence(self, place: int, sentence: Sentence, source: str) -> None:
        """Raise InputMismatchError where the sentence at this place has another length."""
        lengths, number = self._given.lengths, place + 1
        if number > len(lengths):
            raise self._mismatch(
                f"there are {len(lengths)} sentences here, but {source} goes on with sentence {number}"
            )
        if len(sentence) != lengths[place]:
            raise self._mismatch(
                f"sentence {number} has {lengths[place]} words here, but {len(sentence)} in {source}"
            )
        if self._given.words:
            pairs = zip(self._given.words[place], trees.words_of(sentence), strict=True)
            if other := next((pair for pair in pairs if pair[0] != pair[1]), None):
                raise self._mismatch(
                    f"sentence {number} has the word {other[0]!r} here, but {other[1]!r} in {source}"
                )

    def _mismatch(self, message: str) -> errors.InputMismatchError:
        return errors.InputMismatchError(message, source=self._given.source, remedy=_REMEDY)


class BestTreeDecoder:
    """The best trees of scores, which the posteriors come with; all objectives get the same."""

    def __init__(self, objectives: Sequence[Objective], nary: bool) -> None:
        self._count, self._nary = len(objectives), nary

    def decode(self, chart: object, posteriors: Posteriors) -> list[trees.Decoded | None]:
        """The best tree, once for each objective."""
        best: trees.Decoded | None = posteriors.best
        if best is not None and self._nary:
            best = best._replace(constituents=posteriors.expected_constituents(nary=True))
        return [best] * self._count


def _with_tags(sentence: Sentence, tags: Sequence[str | None]) -> Sentence:
    """The words under their tags; a sentence of tags is returned as it is."""
    words = trees.words_of(sentence)
    if all(tag is None or unescape(tag) == word for tag, word in zip(tags, words, strict=True)):
        return sentence
    return trees.tagged(sentence, tags)
