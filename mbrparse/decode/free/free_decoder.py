"""The decoder of the free space: posteriors in, the labelled spans of the best binary tree out.

Nothing here asks for a grammar: the posteriors may come from a chart or from any other model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.fallback import LabelledSpans
from mbrparse.decode.free.bracketing import Bracketing, best_bracketing
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.posteriors.span_posteriors import NO_LABEL, Posteriors
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.labels import continuation_of

UNLABELLED = "X"
# Spans that are surely crossed have a logarithm too: a tree may be in want of them.
LEAST = 1e-300


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

    def decode(self, chart: object, posteriors: Posteriors) -> list[Decoded]:
        """The best trees; raises TimeLimitError."""
        preterminals = best_preterminals(posteriors)
        found = []
        for objective, root in self._rows:
            gains = _gains(objective, posteriors)
            bracketing = best_bracketing(gains, posteriors.length, self._tie, self._clock)
            spans = labelled(bracketing, posteriors) if root is None else _unlabelled(bracketing, root)
            consistent = _consistent(bracketing, posteriors) if objective.needs_consistency else None
            found.append(Decoded(spans, preterminals, bracketing.score, consistent=consistent))
        return found


def _gains(objective: Objective, posteriors: Posteriors) -> FloatArray:
    """By cell, what a node with the best label gains."""
    weights = objective.weight(Item.LABELLED_SPAN), objective.weight(Item.SPAN), objective.node_constant
    gains = posteriors.gains(*weights)
    plain, log = objective.weight(Item.CONSISTENT_SPAN), objective.weight(Item.LOG_CONSISTENT_SPAN)
    if plain:
        gains = gains + plain * posteriors.consistent
    if log:
        gains = gains + log * np.log(np.maximum(posteriors.consistent, LEAST))
    return gains


def _consistent(bracketing: Bracketing, posteriors: Posteriors) -> list[float]:
    cells = cell_of(posteriors.length, bracketing.starts, bracketing.ends)
    values: list[float] = posteriors.consistent[cells].tolist()
    return values


def best_preterminals(posteriors: Posteriors) -> list[str | None]:
    """For each terminal the preterminal with the largest posterior (None: it has none)."""
    position = np.arange(posteriors.length)
    best = posteriors.spans.label[cell_of(posteriors.length, position, position + 1)].tolist()
    return [None if label_id == NO_LABEL else posteriors.labels[label_id] for label_id in best]


def _unlabelled(bracketing: Bracketing, root: str) -> LabelledSpans:
    rows = zip(bracketing.starts.tolist(), bracketing.ends.tolist(), strict=True)
    return [(start, end, UNLABELLED if position else root) for position, (start, end) in enumerate(rows)]


def labelled(bracketing: Bracketing, posteriors: Posteriors) -> LabelledSpans:
    """Give each span of a bracketing its most probable label.

    A span of zero mass takes its parent's continuation (a root of zero mass cannot be: the sentence
    has a parse).
    """
    labels = posteriors.labels
    starts, ends = bracketing.starts, bracketing.ends
    best = posteriors.spans.label[cell_of(posteriors.length, starts, ends)].tolist()
    names = [labels[label_id] for label_id in best]
    if NO_LABEL in best:
        for position, parent in enumerate(bracketing.parents.tolist()):
            if best[position] == NO_LABEL:
                names[position] = continuation_of(names[parent])
    return list(zip(starts.tolist(), ends.tolist(), names, strict=True))
