"""Binary trees that have all brackets of a sampled one: with them the search for uncrossed trees begins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.base.span_posteriors import Posteriors
from mbrparse.decode.base.trees import LabelledSpans
from mbrparse.decode.candidates.samples import SampledTree
from mbrparse.decode.free.free_decoder import BracketingSearch, best_bracketing, labelled
from mbrparse.decode.whole_trees.agreements import Span, crossing_table
from mbrparse.grammar.charts.base.span_summary import cell_of
from mbrparse.grammar.pcfg import FloatArray

# So many of the commonest sampled trees are completed, and of these so many are judged.
COMPLETED = 200
JUDGED = 20
_CROSSED = -1e6


class Completion(NamedTuple):
    """A binary tree, and how many of the samples cross nothing of it."""

    tree: list[Span]
    uncrossed: float


def bracketing(gains: FloatArray, length: int) -> list[Span]:
    """The binary tree with the largest sum of gains, which are by cell."""
    found = best_bracketing(gains, length)
    return list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


def completions(trees: list[SampledTree], gains: FloatArray, length: int) -> list[Completion]:
    """Binary trees that have all brackets of a sampled tree, those first that fewest samples cross."""
    weights = np.array([len(tree.drawn) for tree in trees], np.float32)
    crossing = crossing_table(length).astype(np.float32)
    brackets = np.zeros((len(trees), len(gains)), np.float32)
    for row, tree in enumerate(trees):
        brackets[row, cell_of(length, tree.nodes[:, 0], tree.nodes[:, 1])] = 1.0
    forbidden = brackets[:COMPLETED] @ crossing > 0
    found = {tuple(bracketing(np.where(row, _CROSSED, gains), length)): None for row in forbidden}
    spans = np.array(list(found))
    held = np.zeros((len(found), len(gains)), np.float32)
    np.put_along_axis(held, cell_of(length, spans[:, :, 0], spans[:, :, 1]), 1.0, axis=1)
    estimate = (held @ crossing @ brackets.T == 0) @ weights
    order = np.argsort(-estimate, kind="stable")[:JUDGED]
    return [Completion(list(map(tuple, spans[place].tolist())), float(estimate[place])) for place in order]


def spans_of(tree: list[Span], length: int, posteriors: Posteriors) -> LabelledSpans:
    """The tree with the most probable label on each span."""
    chosen = np.zeros(length * (length + 1) // 2)
    chosen[[cell_of(length, *span) for span in tree]] = 1.0
    return labelled(BracketingSearch().best([chosen], [length]), posteriors)
