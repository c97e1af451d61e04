"""The decoder of the free space: posteriors in, the labelled spans of the best binary tree out.

Nothing here asks for a grammar: the posteriors may come from a chart or from any other model. Sentences are
decoded together: what is done for each of them is done once for all of their cells or spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.clock import NO_LIMIT, Clock
from mbrparse.charts.base.columns import NO_LABEL, Labels, Names, Spans
from mbrparse.charts.base.rule_tables import Ints
from mbrparse.charts.base.span_summary import SpanSummary, word_cells
from mbrparse.decode.bracketing import Bracketings, BracketingTables, SpanTable, search_bracketings
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.spans import Posteriors
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.labels import continuation_of

UNLABELLED = "X"
# Spans that are surely crossed have a logarithm too: a tree may be in want of them.
LEAST = 1e-300


class Bracketing(NamedTuple):
    """A binary bracketing: n-1 spans in preorder, each with its parent's position (-1: the root's)."""

    score: float
    starts: Ints
    ends: Ints
    parents: Ints


class BracketingSearch:
    """Looks for best bracketings, one call after the other, in memory that it keeps.

    Of those within ``tie`` (relative) of each other the best is the one that splits first.
    """

    def __init__(self, tie: float = 1e-9, clock: Clock = NO_LIMIT) -> None:
        self._tie, self._clock = tie, clock
        self._tables = BracketingTables(SpanTable.of_length(0), np.empty((1, 3), np.int32))

    def best(self, gains: Sequence[FloatArray], lengths: Sequence[int]) -> Bracketings:
        """For each kind of gains the bracketing of each sentence with the largest sum.

        Gains are by cell (charts.base.span_summary), one sentence after the other. Raises
        TimeLimitError.
        """
        count = len(gains) * sum(max(length - 1, 0) for length in lengths)
        starts, ends, parents = np.empty((3, count), np.int32)
        scores = np.empty(len(gains) * len(lengths))
        found = Bracketings(scores, starts, ends, parents, np.empty(count, np.int64))
        if len(self._tables.stack) <= (longest := max(lengths)):
            self._tables = BracketingTables(
                SpanTable.of_length(longest), np.empty((longest + 1, 3), np.int32)
            )
        stop = self._clock.stop
        search_bracketings(
            np.array(gains, np.float64), np.array(lengths), self._tie, self._tables, found, stop
        )
        self._clock.check()
        return found


def best_bracketing(gains: FloatArray, length: int, tie: float = 1e-9, clock: Clock = NO_LIMIT) -> Bracketing:
    """The bracketing of one sentence; raises TimeLimitError."""
    found = BracketingSearch(tie, clock).best([gains], [length])
    return Bracketing(float(found.scores[0]), found.starts, found.ends, found.parents)


class _Row(NamedTuple):
    """What an objective's items weigh; ``root`` where labels are not chosen."""

    labelled: float
    span: float
    node: float
    consistent: float
    log_consistent: float
    root: str | None

    @property
    def needs_consistency(self) -> bool:
        return bool(self.consistent or self.log_consistent)


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
        self._search = BracketingSearch(tie, clock)
        self._rows = [_row(objective, root) for objective in objectives]
        self._needs_consistency = any(row.needs_consistency for row in self._rows)
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
        summaries = [one.spans for one in posteriors]
        spans = summaries[0]
        if len(summaries) > 1:
            spans = SpanSummary(*map(np.concatenate, zip(*summaries, strict=True)))
        consistent = None
        if self._needs_consistency:
            consistent = np.concatenate([one.consistent for one in posteriors])
        gains = [_gains(row, spans, consistent) for row in self._rows]
        # All objectives in one search.
        lengths = [one.length for one in posteriors]
        best = self._search.best(gains, lengths)
        ids, scores, begin = _label_ids(best, spans.label, self._names), iter(best.scores.tolist()), 0
        tags = [best_preterminals(one) for one in posteriors]
        for row in self._rows:
            for place, length in enumerate(lengths):
                one = slice(begin, begin + max(length - 1, 0))
                begin = one.stop
                labels = ids[one]
                if row.root is not None:
                    labels = np.full(len(labels), self._names.id_of(UNLABELLED), np.int32)
                    labels[:1] = self._names.id_of(row.root)
                likely = None
                if consistent is not None and row.needs_consistency:
                    likely = consistent[best.cells[one]].tolist()
                tree = Spans(best.starts[one], best.ends[one], labels, names)
                found[place].append(Decoded(tree, tags[place], next(scores), consistent=likely))
        return found


def _row(objective: Objective, root: str | None) -> _Row:
    items = Item.LABELLED_SPAN, Item.SPAN, Item.CONSISTENT_SPAN, Item.LOG_CONSISTENT_SPAN
    labelled, span, consistent, log = map(objective.weight, items)
    root = None if objective.labels_matter else root
    return _Row(labelled, span, objective.node_constant, consistent, log, root)


def _gains(row: _Row, spans: SpanSummary, consistent: FloatArray | None) -> FloatArray:
    """By cell, what a node with the best label gains."""
    weights = row[:3]
    # Goodman's two objectives need no arithmetic.
    if weights == (1.0, 0.0, 0.0):
        gains: FloatArray = spans.best
    elif weights == (0.0, 1.0, 0.0):
        gains = spans.total
    else:
        gains = row.labelled * spans.best + row.span * spans.total + row.node
    if row.consistent and consistent is not None:
        gains = gains + row.consistent * consistent
    if row.log_consistent and consistent is not None:
        gains = gains + row.log_consistent * np.log(np.maximum(consistent, LEAST))
    return gains


def best_preterminals(posteriors: Posteriors) -> Labels:
    """For each terminal the preterminal with the largest posterior (None: it has none)."""
    return Labels(posteriors.spans.label[word_cells(posteriors.length)], posteriors.labels)


def labelled(found: Bracketings, posteriors: Posteriors) -> Spans[str]:
    """The spans of one sentence's bracketing, each with its most probable label."""
    names = Names(posteriors.labels)
    return Spans(found.starts, found.ends, _label_ids(found, posteriors.spans.label, names), names.names)


def _label_ids(found: Bracketings, best: Ints, names: Names) -> Ints:
    """The label of each span: the ``best`` of its cell where there is one.

    A span of zero mass takes its parent's continuation (a root of zero mass cannot be: the sentence
    has a parse).
    """
    ids = best[found.cells]
    for span in (ids == NO_LABEL).nonzero()[0].tolist():
        ids[span] = names.id_of(continuation_of(names.names[ids[found.parents[span]]]))
    return ids
