"""Posteriors of another model from arrays in memory, of numpy, torch or JAX; neither of these is imported."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.posteriors.posteriors_checks import refuse
from mbrparse.decode.posteriors.posteriors_file import REQUIRED, checked_posteriors
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.labels import LabelMarks


def posteriors(
    marginals: Any,
    lengths: Any,
    labels: Sequence[str],
    ends: str = "exclusive",
    null: str | int | None = None,
    *,
    tags: Collection[str] = (),
    threshold: float = 1e-4,
    marks: LabelMarks | str | None = None,
) -> GivenPosteriors:
    """Check another model's posteriors, for ``Parser`` and all else that takes those of a file.

    Parameters
    ----------
    marginals
        By [sentence, start, end, label], padded, or a list with an array [start, end, label] for each
        sentence: numpy's, torch's or JAX's, in half, single or double precision.
    lengths
        Numbers of words.
    labels
        Their names.
    ends
        An end is the position after the last word ("exclusive": arrays have a column for it) or the last word
        ("inclusive").
    null
        The label that says "no constituent", or its position.
    tags
        Labels that are tags over one word; others are constituents there too.
    threshold
        Posteriors up to it are left out.
    marks
        Those of another program's labels.

    Raises
    ------
    PosteriorsError
        Arrays that cannot be those of sentences.
    """
    names = [str(label) for label in labels]
    arrays, words, dropped = span_arrays("marginals", marginals, lengths, ends, null, names)
    entries = []
    for sentence, (array, length) in enumerate(zip(arrays, words.tolist(), strict=True)):
        # Also cells that hold spans only if ends are of the other kind: the checks find them.
        starts, ends_at = np.triu_indices(length, m=min(length + 1, array.shape[1]))
        rows = array[starts, ends_at]
        rows[:, dropped] = 0
        span, label = np.nonzero(~((rows > -1e-6) & (rows <= threshold)))  # a rounded zero may be below it
        end = ends_at[span] + (ends == "inclusive")
        entries.append((np.full(len(span), sentence), starts[span], end, label, rows[span, label]))
    found = dict(zip(REQUIRED[2:], map(np.concatenate, zip(*entries, strict=True)), strict=True))
    found["tag"] = np.isin(names, [*tags])[found["label"]] & (found["end"] - found["start"] == 1)
    return checked_posteriors({"lengths": words, "labels": np.array(names), **found}, "marginals", marks)


def span_arrays(
    name: str, values: Any, lengths: Any, ends: str, null: Any, labels: Sequence[str] = ()
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64], list[int]]:
    """The arrays [start, end, label] of the argument ``name``, lengths, and the place of null, if given."""
    if ends not in ("exclusive", "inclusive"):
        refuse("ends", f"is {ends!r}", "it is 'exclusive' or 'inclusive'")
    words = _numbers("lengths", lengths)
    if words.ndim != 1 or words.dtype.kind not in "iu" or (words < 0).any():
        refuse("lengths", "is no list of integers from 0", "it has the number of words of each sentence")
    padded = values if isinstance(values, (list, tuple)) else _numbers(name, values)
    if len(padded) != len(words) or not len(words):
        refuse(name, f"has {len(padded)} sentences, lengths {len(words)}", f"for one alone give [{name}]")
    arrays = [_numbers(name, array) for array in padded]
    count = len(labels) or arrays[0].shape[-1]
    for number, (array, length) in enumerate(zip(arrays, words.tolist(), strict=True), start=1):
        shape, least = list(array.shape), [length, length + (ends == "exclusive"), count]
        if len(shape) != 3 or shape[0] < least[0] or shape[1] < least[1] or shape[2] != count:
            found = f"sentence {number} of {length} words has the shape {shape}"
            wanted = f"where {ends} ends and {count} labels need {least}, or padding"
            refuse(name, f"{found}, {wanted}", "give ends='inclusive' if an end is the last word itself")
    known = labels if isinstance(null, str) else range(count)
    if null is not None and null not in known:
        refuse("null", f"is {null!r}, which none of the {count} labels is", "positions count from 0")
    return arrays, words.astype(np.int64), [] if null is None else [known.index(null)]


def _numbers(name: str, values: Any) -> npt.NDArray[Any]:
    """An array as numpy's; half precision becomes single."""
    if hasattr(values, "detach"):  # torch's, perhaps with a gradient, or of a GPU
        values = values.detach().cpu()
        values = (values.float() if "bfloat16" in str(values.dtype) else values).numpy()
    array = np.atleast_1d(values)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
        refuse(name, "holds something else than numbers", "give one array, or one for each sentence")
    return array if array.dtype.kind in "iu" or array.dtype.itemsize in (4, 8) else array.astype(np.float32)


def span_marginals(scores: Any, lengths: Any, ends: str = "exclusive", null: int | None = None) -> Any:
    """The probability of each label over each span, in a model that scores spans (a CRF's logits).

    A tree is as probable as exp of the sum of its spans' scores. Trees are the binary ones with one label on
    each span, those of one word included, as in torch-struct's ``TreeCRF``. With ``null``, the position of
    the label that says "no constituent", they are the n-ary ones, each counted once: a span has at most one
    other label, all that is no constituent has ``null``; the whole sentence is a constituent.

    Parameters
    ----------
    scores, lengths, ends
        As in ``posteriors``; -inf forbids a label.
    null
        The position of the label that is no constituent.

    Returns
    -------
    numpy.ndarray or list of them
        float64 in the form of the scores, zero outside of spans.

    Raises
    ------
    PosteriorsError
        For other shapes and numbers.
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
