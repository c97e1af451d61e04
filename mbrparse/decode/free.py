"""The decoder of the free space: posteriors in, the labelled spans of the best binary tree out.

Nothing here asks for a grammar: the posteriors may come from a chart or from any other model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mbrparse.charts.spans import NO_LABEL, cell_of, word_cells
from mbrparse.decode.bracketing import TIE, Bracketing, best_bracketing
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.labels import continuation_of

UNLABELLED = "X"
# Spans that are surely crossed have a logarithm too: a tree may need them.
LEAST = 1e-300


class FreeDecoder:
    """Decodes posteriors for objectives of the free space."""

    def __init__(self, objectives: Sequence[Objective], tie: float = TIE, root: str | None = None) -> None:
        """``tie`` (relative) is how much better a candidate must be.

        With ``root``, objectives that do not look at labels get those of the published Bracketed Recall,
        which chose none: this one at the root, elsewhere X (Goodman 1996, Table 2).
        """
        self._objectives = objectives
        self._tie = tie
        self._root = root

    def decode(self, chart: object, posteriors: Posteriors) -> list[Decoded]:
        """The best trees."""
        tags, decoded = best_preterminals(posteriors), []
        for objective in self._objectives:
            found = best_bracketing(span_gains(objective, posteriors), posteriors.length, self._tie)
            likely = None
            if objective.needs_consistency:
                cells = cell_of(posteriors.length, found.starts, found.ends)
                likely = posteriors.consistent[cells].tolist()
            spans = labelled(found, posteriors)
            if self._root is not None and not objective.labels_matter:
                names = [self._root] + [UNLABELLED] * len(spans)
                spans = [(start, end, name) for (start, end, _), name in zip(spans, names, strict=False)]
            decoded.append(Decoded(spans, tags, found.score, consistent=likely))
        return decoded


def span_gains(objective: Objective, posteriors: Posteriors) -> FloatArray:
    """By cell, what a node with the best label gains."""
    spans, weight = posteriors.spans, objective.weight
    gains = (
        weight(Item.LABELLED_SPAN) * spans.best + weight(Item.SPAN) * spans.total + objective.node_constant
    )
    if by_span := weight(Item.CONSISTENT_SPAN):
        gains += by_span * posteriors.consistent
    if by_log := weight(Item.LOG_CONSISTENT_SPAN):
        gains += by_log * np.log(np.maximum(posteriors.consistent, LEAST))
    return gains


def best_preterminals(posteriors: Posteriors) -> list[str | None]:
    """For each terminal the preterminal with the largest posterior (None: it has none)."""
    ids = posteriors.spans.label[word_cells(posteriors.length)].tolist()
    return [None if label_id == NO_LABEL else posteriors.labels[label_id] for label_id in ids]


def labelled(found: Bracketing, posteriors: Posteriors) -> LabelledSpans:
    """The spans of a bracketing, each with its most probable label.

    A span of zero mass takes its parent's continuation (a root of zero mass cannot be: the sentence has a
    parse).
    """
    ids = posteriors.spans.label[cell_of(posteriors.length, found.starts, found.ends)].tolist()
    names: list[str] = []
    for label_id, parent in zip(ids, found.parents.tolist(), strict=True):
        names.append(continuation_of(names[parent]) if label_id == NO_LABEL else posteriors.labels[label_id])
    return list(zip(found.starts.tolist(), found.ends.tolist(), names, strict=True))


def bracketing(gains: FloatArray, length: int) -> list[tuple[int, ...]]:
    """The spans of the binary tree with the largest sum of gains, which are by cell."""
    found = best_bracketing(gains, length)
    return list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


def spans_of(tree: Iterable[tuple[int, ...]], length: int, posteriors: Posteriors) -> LabelledSpans:
    """The binary tree of these brackets with the most probable label on each."""
    chosen = np.zeros(length * (length + 1) // 2)
    chosen[[cell_of(length, start, end) for start, end, *_ in tree]] = 1.0
    return labelled(best_bracketing(chosen, length), posteriors)
