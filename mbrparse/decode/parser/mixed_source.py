"""Several grammars as the source of evidence: charts of each, and the mixture of their posteriors.

``source_of`` makes the source of anything that a parser takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.spans import SpanEntries, SpanSummary, no_entries
from mbrparse.decode.answers import DecoderName, ParserOptions, SourceKind, check
from mbrparse.decode.decoders import Decoder
from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.nary import NaryDecoder
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser.sentences import Line, Sentence
from mbrparse.decode.parser.sources import Evidence, GrammarSource, PosteriorsSource, check_fit, decoders_of
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, checked_weights, mix_posteriors
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import FloatArray, Grammar
from mbrparse.log import Log


class Grammars:
    """Several grammars, whose posteriors are mixed by weights (default: equal ones).

    Raises OptionsError for weights that are none, GrammarError for grammars of words and of tags, by the
    ``names`` of their files.

    >>> from mbrparse.grammar.grammar_files import grammar
    >>> Grammars([grammar("S -> 'a' [1.0]"), grammar("T -> 'a' [1.0]")]).labels
    ('S', 'T')
    """

    kind: Literal["several"] = "several"

    def __init__(
        self,
        members: Sequence[Grammar],
        weights: Sequence[float] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        shares = checked_weights(weights, len(members), "grammars")
        kinds = [one.pcfg.terminal_kind for one in members]
        other = next((place for place, kind in enumerate(kinds) if kind != kinds[0]), None)
        if other is not None:
            first, source = (
                ("grammar 1", f"grammar {other + 1}") if names is None else (names[0], names[other])
            )
            raise GrammarError(
                f"its terminals are {kinds[other]}, where those of {first} are {kinds[0]}",
                source=source,
                remedy="train all grammars with the same `terminals`",
            )
        self.members = [one for one, share in zip(members, shares, strict=True) if share > 0]
        self.weights: FloatArray = shares[shares > 0]

    @property
    def pcfg(self) -> Any:
        """Themselves: all that is asked of it are the labels and whether it has unary rules."""
        return self

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The projected labels of all, in text order."""
        return tuple(sorted(set().union(*(one.pcfg.labels for one in self.members))))

    @property
    def has_unaries(self) -> bool:
        """Whether one of them has some."""
        return any(one.pcfg.has_unaries for one in self.members)


class MixedChart:
    """The charts of a sentence by grammar (None: it has no parse), and the mixture of their posteriors."""

    has_parse, failure = True, ""

    def __init__(self, found: Sequence[Evidence], grammars: Grammars) -> None:
        """At least one has a parse."""
        self._found, self._grammars = found, grammars
        self.members: list[Any] = [one.chart for one in found]
        known = [chart for chart in self.members if chart is not None]
        weights = grammars.weights[[chart is not None for chart in self.members]]
        self.shares: FloatArray = weights / weights.sum()
        self.length, self.terminal_ids = len(found[0].sentence), found[0].terminal_ids
        self.log_prob = float(np.logaddexp.reduce(np.log(weights) + [chart.log_prob for chart in known]))

    def span_posteriors(self) -> SpanEntries:
        """The weighted means over the grammars that have a parse."""
        return self._mixed.entries(0)

    def span_summary(self) -> SpanSummary:
        """The same by span (``SpanChart``)."""
        mixed = self._mixed
        return Posteriors.of_entries(self.length, mixed.labels, mixed.entries(0), mixed.tie).spans

    @cached_property
    def _mixed(self) -> GivenPosteriors:
        given = map(self._given, self._found, self._grammars.members)
        return mix_posteriors(list(given), self._grammars.weights.tolist())

    def _given(self, one: Evidence, grammar: Grammar) -> GivenPosteriors:
        entries = no_entries() if one.posteriors is None else one.posteriors.entries
        # What stands over a word may be a constituent, a preterminal, or now the one and now the other.
        return GivenPosteriors.of_columns(
            np.zeros(2 * len(entries.g), np.int64),
            np.tile(entries.starts, 2),
            np.tile(entries.ends, 2),
            np.tile(entries.label_ids, 2),
            np.repeat([True, False], len(entries.g)),
            np.concatenate((entries.constituents, entries.lexical)),
            lengths=np.array([self.length]),
            source="",
            labels=grammar.pcfg.labels,
            tie=TIE,
        )


class MixedSource(GrammarSource):
    """The charts of sentences under each grammar; one without a parse of a sentence is left out there.

    Fall-backs are those of the first grammar. Raises OptionsError for what has no meaning for several.
    """

    kind: SourceKind = "several"

    def __init__(self, grammars: Grammars, options: ParserOptions) -> None:
        check(self.kind, options)
        self._grammars, self.options = grammars, options
        self._members = [source_of(one, options) for one in grammars.members]
        first = self._members[0]
        self.grammar, self.charts, self.candidates = first.grammar, first.charts, None
        self.root, self.retags = first.root, first.retags
        self.labels = frozenset(grammars.labels)
        self.bare = frozenset().union(*(one.bare for one in self._members))
        self.decoders = decoders_of(self.kind, options, self.decoder)

    def check_beginning(self, sentences: Sequence[Sentence], tokens: bool, log: Log) -> None:
        """See whether each of the grammars and the first sentences fit."""
        super().check_beginning(sentences, tokens, log)
        for one in self._members:
            check_fit(one.grammar, sentences)

    def evidence(self, line: Line) -> Evidence:
        """What is known of a sentence; raises ChartOverflowError, NumberRangeError."""
        found = [one.evidence(line) for one in self._members]
        if all(one.chart is None for one in found):
            return self.refused(line.sentence, found[0].reason or "")
        chart = MixedChart(found, self._grammars)
        labels = self._grammars.labels
        posteriors = Posteriors(chart.length, labels, chart.span_summary, chart.span_posteriors)
        return Evidence(line.sentence, chart.terminal_ids, posteriors, chart)

    def decoder(self, name: DecoderName, objectives: list[Objective]) -> Decoder[Any]:
        """The decoder of this name."""
        if name == "nary":
            order = LabelOrder.of(self._grammars)
            return NaryDecoder(objectives, TIE, self.grammar.start_label, order=order)
        if name != "joint":
            return super().decoder(name, objectives)
        from mbrparse.decode.derivations.joint_decoder import JointDecoder

        return JointDecoder([one.charts for one in self._members], objectives)


def source_of(origin: Any, options: ParserOptions) -> Any:
    """The source of a grammar, of several, or of given posteriors; raises OptionsError."""
    kind = getattr(origin, "kind", None)
    if kind == "dop":
        from mbrparse.decode.parser.dop_source import DopSource

        return DopSource(origin, options)
    if kind == "several":
        return MixedSource(origin, options)
    return (GrammarSource if kind == "pcfg" else PosteriorsSource)(origin, options)
