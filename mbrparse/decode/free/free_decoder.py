"""The decoder of the free space: posteriors in, the labelled spans of the best binary tree out.

Nothing here asks for a grammar: the posteriors may come from a chart or from any other model. Sentences are
decoded together: what is done for each of them is done once for all of their cells or spans.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.free.bracketing import Bracketings, best_bracketings
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.columns import NO_LABEL, Labels, Names, Spans
from mbrparse.grammar.charts.rule_tables import Ints, Offsets
from mbrparse.grammar.charts.span_summary import SpanSummary, cell_of
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.labels import continuation_of

UNLABELLED = "X"
# Spans that are surely crossed have a logarithm too: a tree may be in want of them.
LEAST = 1e-300


class Sentences(NamedTuple):
    """The posteriors of several sentences, cell after cell; sentence s begins with cell ``first[s]``."""

    lengths: Offsets
    first: Offsets
    spans: SpanSummary

    @classmethod
    def of(cls, posteriors: Sequence[Posteriors]) -> Sentences:
        """Those of a batch."""
        lengths = np.array([one.length for one in posteriors], np.int64)
        summaries = [one.spans for one in posteriors]
        if len(summaries) == 1:
            return cls(lengths, np.zeros(1, np.int64), summaries[0])
        first = np.cumsum(lengths * (lengths + 1) // 2) - lengths * (lengths + 1) // 2
        return cls(lengths, first, SpanSummary(*map(np.concatenate, zip(*summaries, strict=True))))

    def cells(self, counts: Offsets, starts: Ints, ends: Ints) -> Offsets:
        """The cells of spans, of which each sentence in its turn has so many, and then each once more."""
        lengths: Any = self.lengths[0]
        first: Any = 0
        if len(self.lengths) > 1:
            sentence = np.repeat(np.arange(len(counts)) % len(self.lengths), counts)
            lengths, first = self.lengths[sentence], self.first[sentence]
        cells: Offsets = first + cell_of(lengths, starts, ends)
        return cells


class FreeDecoder:
    """Decodes posteriors for objectives of the free space."""

    def __init__(
        self,
        objectives: Sequence[Objective],
        tie: float = 1e-9,
        root: str | None = None,
        clock: Clock = NO_LIMIT,
    ) -> None:
        """``tie`` (relative) is how much better a candidate must be.

        With ``root``, objectives that do not look at labels get those of the published Bracketed Recall,
        which chose none: this one at the root, elsewhere X (Goodman 1996, Table 2).
        """
        self._tie = tie
        self._clock = clock
        self._rows = [(objective, None if objective.labels_matter else root) for objective in objectives]
        self._names = Names()

    def decode(self, chart: object, posteriors: Posteriors) -> list[Decoded]:
        """The best trees; raises TimeLimitError."""
        return self.decode_all([chart], [posteriors])[0]

    def decode_all(self, charts: Sequence[object], posteriors: Sequence[Posteriors]) -> list[list[Decoded]]:
        """The best trees of several sentences, whose labels are the same; raises TimeLimitError."""
        found: list[list[Decoded]] = [[] for _ in posteriors]
        if not (posteriors and self._rows):
            return found
        if self._names.labels is not posteriors[0].labels:
            self._names = Names(posteriors[0].labels)
        names = self._names.names
        sentences = Sentences.of(posteriors)
        tags = _tags(sentences, names)
        consistent = None
        if any(objective.needs_consistency for objective, _ in self._rows):
            consistent = np.concatenate([one.consistent for one in posteriors])
        gains = [_gains(objective, sentences.spans, consistent) for objective, _ in self._rows]
        # All objectives in one search: the sentences come as often as there are.
        lengths = np.tile(sentences.lengths, len(gains))
        best = best_bracketings(np.concatenate(gains), lengths, self._tie, self._clock)
        cells = sentences.cells(np.diff(best.first), best.starts, best.ends)
        ids = _label_ids(best, sentences.spans.label[cells], self._names)
        scores, bounds = best.scores.tolist(), best.first.tolist()
        for row, (objective, root) in enumerate(self._rows):
            for place, trees in enumerate(found):
                number = row * len(found) + place
                one = slice(bounds[number], bounds[number + 1])
                labels = ids[one]
                if root is not None:
                    labels = np.full(len(labels), self._names.id_of(UNLABELLED), np.int32)
                    labels[:1] = self._names.id_of(root)
                spans = Spans(best.starts[one], best.ends[one], labels, names)
                likely = None
                if consistent is not None and objective.needs_consistency:
                    likely = consistent[cells[one]].tolist()
                trees.append(Decoded(spans, tags[place], scores[number], consistent=likely))
        return found


def _gains(objective: Objective, spans: SpanSummary, consistent: FloatArray | None) -> FloatArray:
    """By cell, what a node with the best label gains."""
    labelled, span = objective.weight(Item.LABELLED_SPAN), objective.weight(Item.SPAN)
    weights = labelled, span, objective.node_constant
    # Goodman's two objectives need no arithmetic.
    if weights == (1.0, 0.0, 0.0):
        gains: FloatArray = spans.best
    elif weights == (0.0, 1.0, 0.0):
        gains = spans.total
    else:
        gains = labelled * spans.best + span * spans.total + objective.node_constant
    plain, log = objective.weight(Item.CONSISTENT_SPAN), objective.weight(Item.LOG_CONSISTENT_SPAN)
    if plain and consistent is not None:
        gains = gains + plain * consistent
    if log and consistent is not None:
        gains = gains + log * np.log(np.maximum(consistent, LEAST))
    return gains


def _tags(sentences: Sentences, names: Sequence[str]) -> list[Labels]:
    """For each terminal of each sentence the preterminal with the largest posterior."""
    until = np.cumsum(sentences.lengths)
    position = np.arange(until[-1])
    if len(until) > 1:
        position -= np.repeat(until - sentences.lengths, sentences.lengths)
    ids = sentences.spans.label[sentences.cells(sentences.lengths, position, position + 1)]
    bounds = itertools.pairwise((0, *until.tolist()))
    return [Labels(ids[begin:end], names) for begin, end in bounds]


def best_preterminals(posteriors: Posteriors) -> Sequence[str | None]:
    """For each terminal the preterminal with the largest posterior (None: it has none)."""
    return _tags(Sentences.of([posteriors]), posteriors.labels)[0]


def labelled(found: Bracketings, posteriors: Posteriors) -> Spans[str]:
    """The spans of one sentence's bracketing, each with its most probable label."""
    sentences, names = Sentences.of([posteriors]), Names(posteriors.labels)
    cells = sentences.cells(sentences.lengths - 1, found.starts, found.ends)
    ids = _label_ids(found, sentences.spans.label[cells], names)
    return Spans(found.starts, found.ends, ids, names.names)


def _label_ids(found: Bracketings, best: Ints, names: Names) -> Ints:
    """The label of each span: ``best`` where there is one.

    A span of zero mass takes its parent's continuation (a root of zero mass cannot be: the sentence
    has a parse).
    """
    ids = best.copy()
    for span in np.flatnonzero(best == NO_LABEL).tolist():
        first = found.first[np.searchsorted(found.first, span, side="right") - 1]
        ids[span] = names.id_of(continuation_of(names.names[ids[first + found.parents[span]]]))
    return ids
