"""Several grammars as the source of evidence: charts of each, and the mixture of their posteriors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from mbrparse import arguments, errors
from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.spans import summed_entries, word_cells
from mbrparse.decode import trees
from mbrparse.decode.answers import DecoderName, ParserOptions, SourceKind, check
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser import sentences, sources
from mbrparse.decode.posteriors.given_posteriors import checked_weights
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart
from mbrparse.grammar.pcfg import FloatArray, Grammar, IntArray


@arguments.checked
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
            raise errors.GrammarError(
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


class MixedChart(NamedTuple):
    """The charts of a sentence by grammar (None: it has no parse), and the shares of those that have one."""

    members: Sequence[Any]
    shares: FloatArray
    terminal_ids: IntArray
    log_prob: float

    @property
    def length(self) -> int:
        """The number of words."""
        return len(self.terminal_ids)


class _MeanCounts(NamedTuple):
    """Counts of a sentence's constituents: the means over grammars."""

    length: int
    members: Sequence[Posteriors]
    shares: FloatArray

    def matches(self, cell: int, label: str, k: int) -> float:
        """How many of ``k`` constituents of a label over a span are expected to be right."""
        starts, ends = np.triu_indices(self.length)
        span = int(starts[cell]), int(ends[cell]) + 1, label
        return float(self.shares @ np.array([one.expected_matches([span] * k)[0] for one in self.members]))

    def brackets(self, n_cells: int, most: int, nary: bool) -> FloatArray:
        """[most, cell]: the probabilities of one constituent at least over each span, of two, and so on."""
        return np.tensordot(self.shares, [one.brackets(most, nary) for one in self.members], 1)

    def expected(self, nary: bool) -> float:
        """The expected number of constituents."""
        return float(self.shares @ np.array([one.expected_constituents(nary) for one in self.members]))


class MixedSource(sources.GrammarSource):
    """The charts of sentences under each grammar; one without a parse of a sentence is left out there.

    Fall-backs are those of the first grammar. Raises OptionsError for what has no meaning for several.
    """

    kind: SourceKind = "several"

    def __init__(
        self, grammars: Grammars, options: ParserOptions, member: Callable[[Grammar, ParserOptions], Any]
    ) -> None:
        """``member`` makes the source of one of the grammars."""
        check(self.kind, options)
        self.origin, self._grammars, self.options = grammars, grammars, options
        self._members = [member(one, options) for one in grammars.members]
        self.grammar, *self.others = [one.grammar for one in self._members]
        self.root, self.retags = self._members[0].root, self._members[0].retags
        self.labels = frozenset(grammars.labels)
        self.bare = frozenset().union(*(one.bare for one in self._members))
        self._label_ids = [np.searchsorted(grammars.labels, one.grammar.labels) for one in self._members]
        self.decoders = self.decoders_of(options)

    def evidence(self, line: sentences.Line) -> sources.Evidence:
        """What is known of a sentence; raises ChartOverflowError, NumberRangeError."""
        found = [one.evidence(line) for one in self._members]
        known = np.array([one.chart is not None for one in found])
        if not known.any():
            return self.refused(line.sentence, found[0].reason or "")
        weights, length, ids = self._grammars.weights[known], len(line.sentence), found[0].terminal_ids
        log_probs = [one.chart.log_prob + one.log_share for one in found if one.chart is not None]
        total = float(np.logaddexp.reduce(np.log(weights) + log_probs))
        chart = MixedChart([one.chart for one in found], weights / weights.sum(), ids, total)
        parts = [one.posteriors for one in found if one.posteriors is not None]
        labels = (self._label_ids[place] for place in np.flatnonzero(known))
        columns = [
            (starts, ends, own[label_ids].astype(np.int32), share * phrases, share * tags)
            for share, own, (starts, ends, label_ids, phrases, tags) in zip(
                chart.shares, labels, (one.entries for one in parts), strict=True
            )
        ]
        entries = summed_entries(length, *map(np.concatenate, zip(*columns, strict=True)))
        counts = _MeanCounts(length, parts, chart.shares) if self._grammars.has_unaries else None
        posteriors = Posteriors.of_entries(length, self._grammars.labels, entries, TIE, counts=counts)
        if counts is not None:
            total_by_cell = posteriors.spans.total
            wide = np.setdiff1d(np.arange(len(total_by_cell)), word_cells(length))
            total_by_cell[wide] = counts.brackets(len(total_by_cell), 1, nary=False)[0, wide]
        return sources.Evidence(line.sentence, ids, posteriors, cast("SentenceChart", chart))

    def probability(self) -> Any:
        """Nothing knows it."""
        return None

    def decoder(self, name: DecoderName, objectives: list[Objective]) -> trees.Decoder[Any]:
        """The decoder of this name."""
        if name != "joint":
            return super().decoder(name, objectives)
        from mbrparse.decode.derivations.forest_decoder import JointDecoder

        return JointDecoder([one.charts for one in self._members], objectives)
