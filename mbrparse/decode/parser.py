"""The parser: sentences in, one tree for each objective out, whatever happens to any one of them."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from mbrparse.aside import aside, at_once
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.evidence import Evidence
from mbrparse.decode.fallback import LabelledSpans, fallback_spans
from mbrparse.decode.grammar_source import GrammarSource
from mbrparse.decode.nary.nary_decoder import NaryDecoder
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parse_result import Parse, Parses, ScoredTree
from mbrparse.decode.parser_options import ParserOptions, Settings, objective_of
from mbrparse.decode.pooling import Pooling
from mbrparse.decode.posteriors.posteriors_file import GivenPosteriors
from mbrparse.decode.posteriors.posteriors_source import PosteriorsSource
from mbrparse.decode.sentences import Batch, Sentence, batch_of_sentences
from mbrparse.decode.trees import build_tree, nary_tree
from mbrparse.errors import ChartOverflowError, OptionsError, TimeLimitError
from mbrparse.grammar.charts.chart import TOO_LARGE
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import PCFG
from mbrparse.treebank.tree import Tree

# In seconds: who interrupts waits no longer.
_QUICK = 0.01
if TYPE_CHECKING:
    from mbrparse.decode.candidates.candidate_trees import Candidate


class Parser:
    """Parses for one objective or several, with a grammar or with another model's posteriors.

    Charts are computed once for all objectives. ``objectives`` are names of the table (``OBJECTIVES``) or
    rows of one's own, by default Labelled Recall. ``settings`` are what the command line calls --fallback
    ("right-branching", "flat", "empty"), ``unlabelled`` (--labels none), ``debinarized``, ``max_length``,
    ``max_seconds``, ``precision`` ("double", "single"), ``items`` ("projected", "symbol"), ``best_first``,
    ``expectations``, for candidates ``k_best``, ``samples``, ``seed`` and ``risk``, and for DOP grammars
    ``prune``, ``max_samples``, ``max_error`` and ``sampled_posteriors`` (see ``ParserOptions``, which may be
    handed over whole, as ``options``). Raises ObjectiveError or OptionsError for what has no meaning.

    >>> from mbrparse.grammar.grammars import train
    >>> from mbrparse.treebank.brackets import read_tree
    >>> texts = "(S (NP DT NN) VB)", "(S (NP DT NN) VB)", "(S DT (S_Cont NN VB))"
    >>> grammar = train([read_tree(text) for text in texts])
    >>> print(Parser(grammar, "labelled-recall", debinarized=True).parse("DT NN VB")[0].tree)
    (S (NP DT NN) VB)
    """

    def __init__(
        self,
        source: PCFG | DopGrammar | GivenPosteriors,
        *objectives: str | Objective,
        options: ParserOptions | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        if not isinstance(source, PCFG | DopGrammar | GivenPosteriors):
            raise OptionsError(
                f"a parser needs a grammar or a file's posteriors, not a {type(source).__name__}",
                remedy="train or read_grammar make the one, read_posteriors the other",
            )
        if options is None:
            rows = tuple(map(objective_of, objectives or ("labelled-recall",)))
            options = ParserOptions(rows, **settings)
        elif objectives or settings:
            raise OptionsError("options hold the objectives and all settings: give no others beside them")
        self.options = options
        self.source = (
            PosteriorsSource(source, options)
            if isinstance(source, GivenPosteriors)
            else GrammarSource(source, options)
        )

        # A single sentence of so many words was parsed in no time.
        self._quick_words = 0
        places = self.source.places
        nary = {position for place in places if place.nary for position in place.positions}
        # Trees of n-ary objectives are written un-binarized, fall-backs too.
        self._nary = [position in nary for position in range(len(options.objectives))]
        decoder = next((place.decoder for place in places if isinstance(place.decoder, NaryDecoder)), None)
        pooled = decoder is not None and any(row.f_score == "pooled" for row in options.objectives)
        self.pooling = Pooling(options.objectives, decoder, self.source.root) if decoder and pooled else None

    def parse(self, sentences: Tree | str | Iterable[Tree | str | Sequence[str | Tree]]) -> Parses:
        """Parse sentences: trees (whose terminals are parsed), strings of words, or lists of words.

        The answers are in their order, and none depends on any other sentence, but for the trees of a
        pooled F, which is that of these sentences (``Parses.node_costs``).
        """
        parses = self.parse_batch(batch_of_sentences(sentences))
        costs: Mapping[str, float] = {}
        if self.pooling is not None:
            parses, costs = self.pooling.of_parses(parses)
        return Parses(self.options.objectives, parses, costs)

    def parse_batch(self, batch: Batch) -> list[Parse]:
        """Parse a batch; the results are in the order of the sentences and do not depend on it.

        Where F is pooled it takes more than a batch: each sentence has the tree of its own F here.
        """
        work = at_once if self._is_quick(batch) else aside
        return work(self._parse_batch, batch)

    def _is_quick(self, batch: Batch) -> bool:
        """Whether as much has been parsed so soon that nobody waits who interrupts it."""
        return sum(map(len, batch.sentences)) <= self._quick_words

    def _parse_batch(self, batch: Batch) -> list[Parse]:
        began = time.perf_counter()
        with _no_collection():
            parses = self._parses(batch)
        seconds = time.perf_counter() - began
        if len(batch.sentences) == 1 and seconds < _QUICK:
            self._quick_words = max(self._quick_words, len(batch.sentences[0]))
        return [replace(parse, seconds=seconds / len(parses)) for parse in parses]

    def fallen_back(self, sentence: Sentence, reason: str) -> Parse:
        """The fall-back of a sentence, for this reason."""
        return self._parse(self.source.refused(sentence, reason))

    def _parses(self, batch: Batch) -> list[Parse]:
        try:
            return [self._parse(evidence) for evidence in self.source.evidence(batch)]
        except MemoryError:
            pass
        # Some kernel may have been left half-way: nothing of what it worked on is used again. And what other
        # sentences hold may be what one of them lacks.
        self.source.renew()
        if len(batch.sentences) > 1:
            return [parse for one in batch.apart() for parse in self._parses(one)]
        return [self.fallen_back(sentence, TOO_LARGE) for sentence in batch.sentences]

    def _parse(self, evidence: Evidence) -> Parse:
        objectives = self.options.objectives
        decoded: list[Decoded | None] = [None] * len(objectives)
        reason = evidence.reason
        listed: list[Candidate] = []
        if evidence.posteriors is not None:
            try:
                with self.source.clock.running(evidence.spent):
                    for decoder, positions, _ in self.source.places:
                        found = decoder.decode(evidence.chart, evidence.posteriors)
                        for position, one in zip(positions, found, strict=True):
                            decoded[position] = one
                    if self.source.candidates is not None and evidence.chart is not None:
                        listed = self.source.candidates.of_sentence(evidence.chart.terminal_ids)
            except ChartOverflowError:
                return self._parse(replace(evidence, posteriors=None, chart=None, reason=TOO_LARGE))
            except TimeLimitError as error:
                return self._parse(replace(evidence, posteriors=None, chart=None, reason=error.message))
            lost = [row.name for row, one in zip(objectives, decoded, strict=True) if one is None]
            if lost:
                reason = f"no tree for {lost[0]}"
        fallback: LabelledSpans | None = None
        if reason is not None:
            length = len(evidence.sentence)
            fallback = fallback_spans(length, self.options.fallback, self.source.root, self.source.labels)
        # Objectives often agree: the same tree is built, and written, once.
        built: dict[tuple[object, ...], Tree | None] = {}
        trees = []
        for one, nary in zip(decoded, self._nary, strict=True):
            key = (nary,) if one is None else (nary, *one.spans, *one.preterminals)
            if key not in built:
                built[key] = self._tree(evidence, one, fallback, nary)
            trees.append(built[key])
        candidates: tuple[ScoredTree, ...] = ()
        if self.options.has_candidates:
            candidates = self._candidates(evidence, listed)
        return Parse(
            objectives,
            evidence.terminal_ids,
            tuple(trees),
            tuple(decoded),
            fallback or [],
            reason,
            evidence.chart,
            evidence.posteriors,
            candidates=candidates,
        )

    def _candidates(self, evidence: Evidence, listed: Sequence[Candidate]) -> tuple[ScoredTree, ...]:
        """The candidates as they are written; where there are none the fall-back is the only one."""
        if not listed:
            length, kind = len(evidence.sentence), self.options.fallback
            spans = fallback_spans(length, kind, self.source.root, self.source.labels)
            return (ScoredTree(-math.inf, self._tree(evidence, None, spans, nary=False)),)
        return tuple(
            ScoredTree(one.log_prob, self._tree(evidence, Decoded(one.spans, one.preterminals), None, False))
            for one in listed
        )

    def _tree(
        self, evidence: Evidence, decoded: Decoded | None, fallback: LabelledSpans | None, nary: bool
    ) -> Tree | None:
        """The tree as it is written; None: the empty parse."""
        leaves: Sentence
        if decoded is not None:
            leaves = self.source.leaves(evidence, decoded.preterminals)
            # A single terminal is no constituent; in writing the root stands over it.
            spans = decoded.spans or [(0, 1, self.source.root)]
        elif fallback is not None:
            leaves, spans = self.source.leaves(evidence, None), fallback
        else:
            return None
        if nary or self.options.debinarized:
            return nary_tree(spans, leaves, self.source.root)
        return build_tree(spans, leaves)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector: trees and charts make no cycles, but very many objects."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
