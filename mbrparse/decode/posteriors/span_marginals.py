"""Marginals of spans from scores of spans: inside and outside sums over all trees of a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbrparse.decode.posteriors.posteriors_arrays import span_arrays
from mbrparse.decode.posteriors.posteriors_checks import refuse
from mbrparse.grammar.pcfg import FloatArray


def span_marginals(scores: Any, lengths: Any, ends: str = "exclusive", null: int | None = None) -> Any:
    """The probability of each label over each span, in a model that scores spans (a CRF's logits).

    A tree is as probable as exp of the sum of its spans' scores. Trees are the binary ones with one label on
    each span, those of one word included, as in torch-struct's ``TreeCRF``. With ``null``, the position of
    the label that says "no constituent", they are the n-ary ones, each counted once: a span has at most one
    other label, all that is no constituent has ``null``; the whole sentence is a constituent.

    ``scores``, ``lengths`` and ``ends`` are as in ``posteriors``; -inf forbids a label. Returns float64 in
    the form of the scores, zero outside of spans. Raises PosteriorsError for other shapes and numbers.
    """
    arrays, words, nulls = span_arrays("scores", scores, lengths, ends, null)
    whole = [np.zeros(array.shape) for array in arrays]
    for length in np.unique(words[words > 0]).tolist():
        group = np.flatnonzero(words == length)
        starts, lasts = np.triu_indices(length)
        columns = lasts + (ends == "exclusive")
        rows = np.stack([arrays[index][starts, columns] for index in group]).astype(np.float64)
        for place in nulls:
            with np.errstate(invalid="ignore"):  # between infinite scores
                rows -= rows[..., [place]]
        if not (rows < np.inf).all():
            wrong = group[np.argmin((rows < np.inf).all(axis=(1, 2)))] + 1
            refuse(
                "scores", f"sentence {wrong} has nan or an infinite score", "forbid labels, not null, by -inf"
            )
        rows[..., nulls] = -np.inf
        sums = np.logaddexp.reduce(rows, axis=-1)
        weights = np.full((len(group), length + 1, length + 1), -np.inf)
        weights[:, starts, lasts + 1] = sums
        rows -= np.where(sums == -np.inf, 0, sums)[..., None]
        found = np.exp(rows) * _probabilities(weights, null is not None)[:, starts, lasts + 1, None]
        for place, index in enumerate(group):
            whole[index][starts, columns] = found[place]
    return whole if isinstance(scores, (list, tuple)) else np.stack(whole)


def _probabilities(weights: FloatArray, nary: bool) -> FloatArray:
    """The probability of a constituent by [sentence, start, end], from logarithms of its labels' weights.

    A constituent is a first child and the rest: another constituent, or in an n-ary tree also several in a
    row, so that each tree is split in one way. All trees have the words, which weigh nothing here. What is
    no span, or not filled yet, is -inf, so sums over all split points are right.
    """
    words = np.arange(size := weights.shape[1] - 1)
    constituent, rest, above = (np.full_like(weights, -np.inf) for _ in range(3))
    constituent[:, words, words + 1] = rest[:, words, words + 1] = 0
    for width in range(2, size + 1):
        i, j = words[: size - width + 1], words[: size - width + 1] + width
        row = np.logaddexp.reduce(constituent[:, i] + rest[:, :, j].swapaxes(1, 2), axis=2)
        constituent[:, i, j] = closed = row + weights[:, i, j]
        rest[:, i, j] = np.logaddexp(closed, row) if nary else closed
    log_total = constituent[:, :1, size]
    if (log_total == -np.inf).any():
        refuse("scores", f"-inf forbids all trees of a sentence of {size} words", "forbid less")
    found = np.zeros_like(weights)
    # A word has a label with probability w / (1 + w), but for a sentence of one.
    bare = -weights[:, words, words + 1] if nary and size > 1 else -np.inf
    found[:, words, words + 1] = np.exp(-np.logaddexp(0, bare))
    for width in range(size, 1, -1):
        i, j = words[: size - width + 1], words[: size - width + 1] + width
        first = np.logaddexp.reduce(above[:, i] + rest[:, j], axis=2)
        last = np.logaddexp.reduce(above[:, :, j] + constituent[:, :, i], axis=1)
        outside = np.logaddexp(first, last) if width < size else np.zeros_like(first)
        found[:, i, j] = np.exp(np.minimum(constituent[:, i, j] + outside - log_total, 0))
        closed = outside + weights[:, i, j]
        above[:, i, j] = np.logaddexp(closed, last) if nary else closed
    return found
