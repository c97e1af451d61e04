"""Decoding in the free space: posteriors in, the labelled spans of the best binary tree out.

Nothing here asks for a grammar: the posteriors may come from a chart or from any other model.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.fallback import LabelledSpans
from mbrparse.decode.free.bracketing import Bracketing, best_bracketing
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.posteriors.span_posteriors import NO_LABEL, Posteriors
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.treebank.labels import continuation_of

UNLABELLED = "X"


def free_spans(
    objective: Objective, posteriors: Posteriors, tie: float = 1e-9, root: str | None = None
) -> LabelledSpans:
    """The spans (start, end, label), in preorder, of the tree that is best for a free-space objective.

    With ``root`` the labels are those of the published Bracketed Recall, which chose none: this one at
    the root, elsewhere X (Goodman 1996, Table 2).
    """
    gains = posteriors.gains(
        objective.weight(Item.LABELLED_SPAN), objective.weight(Item.SPAN), objective.node_constant
    )
    bracketing = best_bracketing(gains, posteriors.length, tie)
    if root is None:
        return _labelled(bracketing, posteriors)
    rows = zip(bracketing.starts.tolist(), bracketing.ends.tolist(), strict=True)
    return [(start, end, UNLABELLED if position else root) for position, (start, end) in enumerate(rows)]


def best_preterminals(posteriors: Posteriors) -> list[str | None]:
    """For each terminal the preterminal with the largest posterior (None: it has none)."""
    position = np.arange(posteriors.length)
    best = posteriors.spans.label[cell_of(posteriors.length, position, position + 1)].tolist()
    return [None if label_id == NO_LABEL else posteriors.labels[label_id] for label_id in best]


def _labelled(bracketing: Bracketing, posteriors: Posteriors) -> LabelledSpans:
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
