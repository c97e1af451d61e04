"""The parser: one tree for each objective and sentence; a sentence that fails falls back alone."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack, cast

from mbrparse.charts.base.chart import TOO_LARGE
from mbrparse.decode.decoders import Decoded, decode_all
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser.grammar_source import GrammarSource
from mbrparse.decode.parser.parse_result import Parse, Parses, ScoredTree
from mbrparse.decode.parser.sentences import Batch, Evidence, Sentence, batch_of_sentences
from mbrparse.decode.parser_options import ParserOptions, Settings, objective_of
from mbrparse.decode.trees import LabelledSpans, TreeForm, TreeParts, fallback_spans
from mbrparse.errors import ChartOverflowError, NumberRangeError, OptionsError, TimeLimitError
from mbrparse.garbage import collection_paused
from mbrparse.grammar.grammar_kinds import Grammar
from mbrparse.treebank.any_tree import AnyTree
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.decode.candidates.candidate_trees import Candidate
    from mbrparse.decode.parser.pooling import Pooling
    from mbrparse.decode.parser.posteriors_source import PosteriorsSource
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors


#: What decoders find for a sentence: a tree for each objective (None: no tree), and candidates.
Found = tuple[list[Decoded | None], list["Candidate"]]


def source_of(grammar: Grammar, options: ParserOptions) -> GrammarSource:
    """What makes the charts of a grammar, or of several; raises OptionsError."""
    if grammar.kind != "several":
        return GrammarSource(grammar, options)
    from mbrparse.decode.parser.grammars_source import Grammars, GrammarsSource

    return GrammarsSource(cast("Grammars", grammar), options)


class Parser:
    """Parses for one objective or several, with a grammar or with another model's posteriors.

    Charts are computed once for all objectives. ``objectives`` are names of the table (``OBJECTIVES``) or
    rows of one's own, by default Labelled Recall; where the grammar has unary rules, names of recalls
    stand for n-ary trees (``Objective.for_unaries``). ``settings`` are what the command line calls --fallback
    ("right-branching", "flat", "empty"), ``unlabelled`` (--labels none), ``debinarized``, ``max_length``,
    ``max_seconds``, ``precision`` ("double", "single"), ``items`` ("projected", "symbol"), ``best_first``,
    ``expectations``, ``prune``, for candidates ``k_best``, ``samples``, ``seed`` and ``risk``, and for DOP
    grammars ``max_samples``, ``max_error`` and ``sampled_posteriors`` (see ``ParserOptions``, which may be
    handed over whole, as ``options``). Raises ObjectiveError or OptionsError for what has no meaning.

    >>> from mbrparse.training.count import train
    >>> from mbrparse.treebank.brackets import read_tree
    >>> texts = "(S (NP DT NN) VB)", "(S (NP DT NN) VB)", "(S DT (S_Cont NN VB))"
    >>> grammar = train([read_tree(text) for text in texts])
    >>> print(Parser(grammar, "labelled-recall", debinarized=True).parse("DT NN VB")[0].tree)
    (S (NP DT NN) VB)
    """

    def __init__(
        self,
        source: Grammar | GivenPosteriors,
        *objectives: str | Objective,
        options: ParserOptions | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        if options is None:
            free = settings.get("unlabelled", False) or not isinstance(source, Grammar)
            unaries = not free and cast(Grammar, source).pcfg.has_unaries
            rows = tuple(objective_of(name, unaries) for name in objectives or ("labelled-recall",))
            options = ParserOptions(rows, **settings)
        elif objectives or settings:
            raise OptionsError("options hold the objectives and all settings: give no others beside them")
        self.options = options
        self.source: GrammarSource | PosteriorsSource
        if isinstance(source, Grammar):
            self.source = source_of(source, options)
        else:
            from mbrparse.decode.parser.posteriors_source import PosteriorsSource

            self.source = PosteriorsSource(source, options)
        nary = {position for slot in self.source.slots if slot.nary for position in slot.positions}
        # Trees of n-ary objectives are written un-binarized, fall-backs too.
        self._forms = [
            TreeForm(self.source.root, position in nary or options.debinarized, self.source.bare)
            for position in range(len(options.objectives))
        ]
        self.pooling: Pooling | None = None
        if any(row.f_score == "pooled" for row in options.objectives):
            from mbrparse.decode.nary import NaryDecoder
            from mbrparse.decode.parser.pooling import Pooling

            [decoder] = [slot.decoder for slot in self.source.slots if isinstance(slot.decoder, NaryDecoder)]
            self.pooling = Pooling(options.objectives, decoder, self.source.root)

    def parse(self, sentences: AnyTree | Iterable[AnyTree | Sequence[str | Tree]]) -> Parses:
        """Parse sentences: trees (whose terminals are parsed), strings of words, or lists of words.

        A tree may be an ``nltk.Tree`` or a string of brackets.

        The results are in their order. None depends on other sentences, except for trees of a pooled F, which
        is pooled over these sentences (``Parses.node_costs``).
        """
        parses = self.parse_batch(batch_of_sentences(sentences))
        costs: Mapping[str, float] = {}
        if self.pooling is not None:
            parses, costs = self.pooling.of_parses(parses)
        return Parses(self.options.objectives, parses, costs)

    def parse_batch(self, batch: Batch) -> list[Parse]:
        """Parse a batch; the results are in the order of the sentences, and independent of each other.

        With a pooled F, trees here maximize each sentence's own F: pooling needs all batches.
        """
        began = time.perf_counter()
        with collection_paused():
            parses = self._parses(batch)
        seconds = time.perf_counter() - began
        for parse in parses:
            # It is new, and a copy of each would take longer than all else here.
            object.__setattr__(parse, "seconds", seconds / len(parses))
        return parses

    def fallen_back(self, sentence: Sentence, reason: str) -> Parse:
        """Return the fall-back of a sentence."""
        return self._alone(self.source.refused(sentence, reason))

    def _parses(self, batch: Batch) -> list[Parse]:
        try:
            return list(self._decoded(batch))
        except MemoryError:
            pass
        # A kernel may have stopped half-way, so its arrays are not used again. Sentences are parsed one by
        # one, since the memory of others may be what one of them lacked.
        self.source.reset()
        if len(batch.sentences) > 1:
            return [parse for one in batch.apart() for parse in self._parses(one)]
        return [self.fallen_back(sentence, TOO_LARGE) for sentence in batch.sentences]

    def _decoded(self, batch: Batch) -> Iterator[Parse]:
        """Parse sentences together where charts allow it, else one by one."""
        evidence = self.source.evidence(batch)
        if self.source.batched and self.options.max_seconds is None:
            together = list(evidence)
            # If one of them fails, they are parsed one by one for each one's own reason.
            with suppress(ChartOverflowError, NumberRangeError):
                yield from map(self._parse, together, self._found(together))
                return
            evidence = iter(together)
        yield from map(self._alone, evidence)

    def _alone(self, evidence: Evidence) -> Parse:
        try:
            with self.source.clock.running(evidence.spent):
                [found] = self._found([evidence])
            return self._parse(evidence, found)
        except ChartOverflowError:
            reason = TOO_LARGE
        except (NumberRangeError, TimeLimitError) as error:
            reason = error.message
        return self._alone(evidence._replace(posteriors=None, chart=None, reason=reason))

    def _found(self, group: Sequence[Evidence]) -> list[Found]:
        """What decoders find for sentences; nothing for those without posteriors."""
        found: list[Found] = [([None] * len(self._forms), []) for _ in group]
        known = [(one, row) for one, row in zip(group, found, strict=True) if one.posteriors is not None]
        charts = [one.chart for one, _ in known]
        posteriors = [one.posteriors for one, _ in known if one.posteriors is not None]
        for decoder, positions, _ in self.source.slots:
            for (_, (decoded, _)), trees in zip(known, decode_all(decoder, charts, posteriors), strict=True):
                for position, tree in zip(positions, trees, strict=True):
                    decoded[position] = tree
        if self.source.candidates is not None:
            for one, (_, candidates) in known:
                if one.chart is not None:
                    candidates.extend(self.source.candidates.of_sentence(one.chart.terminal_ids))
        return found

    def _parse(self, evidence: Evidence, found: Found) -> Parse:
        (decoded, candidates), reason = found, evidence.reason
        objectives, source = self.options.objectives, self.source
        if evidence.posteriors is not None and None in decoded:
            reason = f"no tree for {objectives[decoded.index(None)].name}"
        fallback = None if reason is None else self._fallback(evidence)
        leaves = evidence.sentence if reason is None else source.fallback_leaves(evidence)
        parts: list[TreeParts | None] = []
        for one, form in zip(decoded, self._forms, strict=True):
            if one is not None:
                parts.append(self._parts(evidence, one, form))
            else:
                parts.append(None if fallback is None else TreeParts(fallback, leaves, None, form))
        return Parse(
            objectives,
            evidence.terminal_ids,
            tuple(parts),
            tuple(decoded),
            fallback or [],
            reason,
            evidence.chart,
            evidence.posteriors,
            candidates=self._candidates(evidence, candidates) if self.options.has_candidates else (),
        )

    def _parts(self, evidence: Evidence, found: Decoded | Candidate, form: TreeForm) -> TreeParts:
        tags = found.preterminals if self.source.retags else None
        return TreeParts(found.spans, evidence.sentence, tags, form)

    def _fallback(self, evidence: Evidence) -> LabelledSpans | None:
        source = self.source
        return fallback_spans(len(evidence.sentence), self.options.fallback, source.root, source.labels)

    def _candidates(self, evidence: Evidence, found: list[Candidate]) -> tuple[ScoredTree, ...]:
        """The candidates as they are written; the fall-back if there are none."""
        form = TreeForm(self.source.root, self.options.debinarized, self.source.bare)
        if found:
            return tuple(ScoredTree(one.log_prob, self._parts(evidence, one, form).build()) for one in found)
        spans, leaves = self._fallback(evidence), self.source.fallback_leaves(evidence)
        tree = None if spans is None else TreeParts(spans, leaves, None, form).build()
        return (ScoredTree(-math.inf, tree),)
