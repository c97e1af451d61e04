"""Posteriors and scores of spans from arrays in memory, of numpy, torch or JAX; none of these is imported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse import arguments
from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.spans import NO_LABEL, Labels, Spans, cell_of
from mbrparse.decode.posteriors import given_posteriors
from mbrparse.decode.posteriors import posteriors_checks as checks
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.posteriors.posteriors_checks import RawPosteriors, refuse
from mbrparse.decode.span_decoders import best_bracketing
from mbrparse.decode.trees import Decoded, sentence_of, words_of
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank import brackets
from mbrparse.treebank.labels import LabelMarks

_Array = npt.NDArray[Any]
# What stands for -inf where scores are added: less than any sum of others, and no sum of it overflows.
_FORBIDDEN = -1e30
# Larger numbers that all trees have are taken off first; sums beyond the second have lost their differences.
_LARGE, _LOST = 1e6, 1e10
_NUMBERS = 1 << 20  # scores that are looked at together
_LEAST = -1e-6  # of a posterior that rounding brought below zero


@arguments.checked
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
        sentence: numpy's, torch's or JAX's, in half, single or double precision. In a list a sentence may
        also be a tuple of three arrays, which lists entries: spans [entry, 2], labels and posteriors [entry].
    lengths
        Numbers of words, or the sentences: trees, strings of words or lists of words. A parser then refuses
        others.
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
    if not names:
        refuse("labels", "there are none", "give the label of each number of the arrays' last axis")
    arrays = SentenceArrays("marginals", marginals, lengths, ends, null, names)
    known = checks.known_marks(marks)
    # Labels in the order of their texts: what is in order need not be sorted.
    columns = np.argsort(checks.translated(names, known)[1][1], kind="stable")
    columns = columns[~np.isin(columns, arrays.nulls)]
    is_tag = np.isin(names, [*tags])

    def blocks() -> Iterator[RawPosteriors]:
        parts, size, whole = list[tuple[_Array, ...]](), 0, True
        for sentence in range(count := len(arrays.lengths)):
            parts.append(arrays.entries(sentence, columns, threshold))
            size += len(parts[-1][0])
            if (last := sentence + 1 == count) or size >= given_posteriors.TOGETHER:
                at, start, end, label, g, number = map(np.concatenate, zip(*parts, strict=True))
                phrase = ~(is_tag[label % len(names)] & (end - start == 1))
                whole &= last
                yield RawPosteriors(arrays.lengths, names, at, start, end, label, g, phrase, number, whole)
                parts, size, whole = [], 0, False

    nary, words = bool(arrays.nulls), arrays.words
    return checks.checked_posteriors(
        blocks(), "marginals", known, arrays.lengths, names, nary=nary, words=words
    )


class SentenceArrays:
    """The arrays of the argument ``name`` by sentence; each becomes numpy's when it is asked for.

    ``nulls`` is the place of the null label, if one is given.
    """

    def __init__(
        self, name: str, values: Any, lengths: Any, ends: str, null: Any, labels: Sequence[str] = ()
    ) -> None:
        """Raises PosteriorsError for what cannot be."""
        if ends not in ("exclusive", "inclusive"):
            refuse("ends", f"is {ends!r}", "it is 'exclusive' or 'inclusive'")
        self.name, self.ends, self._labels = name, ends, labels
        self.words = _words(lengths)
        words = np.array(list(map(len, self.words))) if self.words else _array("lengths", lengths)
        if words.ndim != 1 or words.dtype.kind not in "iu" or (words < 0).any():
            refuse("lengths", "is no list of integers from 0", "it has the number of words of each sentence")
        self.lengths = words.astype(np.int64)
        in_parts = isinstance(values, (list, tuple)) or hasattr(values, "detach")
        self._values = values if in_parts else _array(name, values)
        if len(self._values) != len(words) or not len(words):
            says = f"has {len(self._values)} sentences, lengths {len(words)}"
            refuse(name, says, f"for one alone give [{name}]")
        self.count = len(labels) or self[0].shape[-1]
        known = labels if isinstance(null, str) else range(self.count)
        if null is not None and null not in known:
            refuse("null", f"is {null!r}, which none of the {self.count} labels is", "positions count from 0")
        self.nulls = [] if null is None else [known.index(null)]

    def __getitem__(self, sentence: int) -> _Array:
        """That of one sentence, by start, end and label; half precision becomes single."""
        array, length = _floats(self.name, self._values[sentence]), int(self.lengths[sentence])
        count = len(self._labels) or (array.shape[-1] if not sentence else self.count)
        shape, least = list(array.shape), [length, length + (self.ends == "exclusive"), count]
        if len(shape) != 3 or shape[0] < least[0] or shape[1] < least[1] or shape[2] != count:
            found = f"sentence {sentence + 1} of {length} words has the shape {shape}"
            wanted = f"where {self.ends} ends and {count} labels need {least}, or padding"
            refuse(self.name, f"{found}, {wanted}", "give ends='inclusive' if an end is the last word itself")
        return array

    def entries(self, sentence: int, columns: _Array, threshold: float) -> tuple[_Array, ...]:
        """Those above the threshold of one sentence, of labels in this order.

        Sentence, start, end, label, number, and which entry of a list each is.
        """
        inclusive, one = self.ends == "inclusive", self._values[sentence]
        if isinstance(one, tuple) and len(one) == 3:
            spans, label, g = _array(self.name, one[0]), _array(self.name, one[1]), _floats(self.name, one[2])
            if spans.shape != (len(g), 2) or label.shape != g.shape != (len(g), 2):
                shapes = ", ".join(str(list(part.shape)) for part in (spans, label, g))
                wanted = "spans [entry, 2], labels [entry] and numbers [entry]"
                refuse(
                    self.name, f"sentence {sentence + 1} has lists of the shapes {shapes}", f"give {wanted}"
                )
            number = np.flatnonzero(~((g > _LEAST) & (g <= threshold)) & ~np.isin(label, self.nulls))
            start, end, label, g = spans[number, 0], spans[number, 1], label[number], g[number]
        else:
            array, length = self[sentence], int(self.lengths[sentence])
            # Also cells that hold spans only if ends are of the other kind: the checks find them.
            starts, ends_at = np.triu_indices(length, m=min(length + 1, array.shape[1]))
            rows = array[starts, ends_at].take(columns, axis=1)
            above = rows > threshold
            if not rows.min(initial=0) > _LEAST:  # nan, too
                above |= ~(rows > _LEAST)
            number = np.flatnonzero(above)
            span, place = np.divmod(number, max(len(columns), 1))
            start, end, label, g = starts[span], ends_at[span], columns[place], rows.ravel()[number]
        end = end.astype(np.int64) + inclusive
        return np.full(len(g), sentence), start.astype(np.int64), end, label.astype(np.int64), g, number


def _words(sentences: Any) -> list[list[str]]:
    """Those of sentences; none of numbers."""
    first = sentences[0] if isinstance(sentences, Sequence) and len(sentences) else None
    if not isinstance(first, str | list | tuple) and not hasattr(first, "leaves"):
        return []
    listed = brackets.any_trees(sentences, "<sentences>", words=True)
    return [words_of(sentence_of(() if one is None else one)) for one in listed]


def _array(name: str, values: Any) -> _Array:
    """An array of numbers as numpy's."""
    if hasattr(values, "detach"):  # torch's, perhaps with a gradient, or of a GPU
        values = values.detach().cpu()
        values = (values.float() if "bfloat16" in str(values.dtype) else values).numpy()
    elif hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        values = np.from_dlpack(values)
    try:
        array = np.atleast_1d(values)
    except ValueError:
        array = np.empty(1, object)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
        refuse(name, "holds something else than numbers", "give one array, or one for each sentence")
    return array


def _floats(name: str, values: Any) -> _Array:
    """The same; half precision becomes single."""
    array = _array(name, values)
    return array if array.dtype.kind in "iu" or array.dtype.itemsize in (4, 8) else array.astype(np.float32)


@arguments.checked
def span_marginals(scores: Any, lengths: Any, ends: str = "exclusive", null: str | int | None = None) -> Any:
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
    given = SentenceArrays("scores", scores, lengths, ends, null)
    whole = [np.zeros(given[place].shape) for place in range(len(given.lengths))]
    for group, cells, _, found, _ in _by_length(given):
        for place, sentence in enumerate(group):
            whole[sentence][cells] = found[place]
    return whole if isinstance(scores, (list, tuple)) else np.stack(whole)


@arguments.checked
def span_scores(
    scores: Any,
    lengths: Any,
    labels: Sequence[str],
    ends: str = "exclusive",
    null: str | int | None = None,
    *,
    tags: Collection[str] = (),
    threshold: float = 1e-4,
    marks: LabelMarks | str | None = None,
) -> GivenPosteriors:
    """The posteriors of scores of spans, with the best trees, which are those of ``viterbi``.

    As ``posteriors`` of ``span_marginals``, without a copy of the scores. The best tree has the largest sum
    of scores: of binary trees with a label on each span, or with ``null`` of n-ary trees. Of equal labels it
    has the first in text order, of equal trees the one that splits first.

    Parameters
    ----------
    scores
        As in ``span_marginals``.
    lengths, labels, ends, null, tags, threshold, marks
        As in ``posteriors``.

    Raises
    ------
    PosteriorsError
        For other shapes and numbers.
    """
    names, known = [str(label) for label in labels], checks.known_marks(marks)
    given = SentenceArrays("scores", scores, lengths, ends, null, names)
    texts, place = checks.translated(names, known)
    order, is_tag = np.argsort(place[1], kind="stable"), np.isin(names, [*tags])
    listed = [(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), np.zeros(0))] * len(given.lengths)
    best = [Decoded((), ())] * len(given.lengths)
    for group, cells, rows, found, log_total in _by_length(given):
        spans = np.stack(cells, axis=1)
        top = rows.max(axis=-1)
        near = rows >= (top - TIE * np.abs(top))[..., None]  # as -inf is of itself
        chosen = order[near[..., order].argmax(axis=-1)]
        for index, sentence in enumerate(group):
            span, label = np.nonzero(found[index] > threshold)
            listed[sentence] = spans[span], label, found[index][span, label]
            length, gains = int(given.lengths[sentence]), np.maximum(top[index], _FORBIDDEN)
            there = _best_spans(gains, length, not given.nulls)
            label, log_prob = chosen[index][there], min(float(gains[there].sum() - log_total[index]), 0.0)
            starts, stops = (column[there].astype(np.int32) for column in np.triu_indices(length))
            tag = is_tag[label] & (starts == stops)
            preterminals = np.full(length, NO_LABEL)
            preterminals[starts[tag]] = place[0][label[tag]]
            phrases = Spans(starts[~tag], stops[~tag] + np.int32(1), place[1][label[~tag]], texts)
            best[sentence] = Decoded(phrases, Labels(preterminals, texts), np.exp(log_prob), log_prob)
    how: dict[str, Any] = {"tags": tags, "threshold": threshold, "marks": marks}
    return replace(posteriors(listed, lengths, labels, ends, null, **how), best=best)


def _best_spans(gains: FloatArray, length: int, binary: bool) -> npt.NDArray[np.int64]:
    """The cells of the best tree in preorder; binary ones have all words among them."""
    if length == 1:
        return np.zeros(1, np.int64)
    found = best_bracketing(gains, length, binary=binary)
    starts, ends = (column.astype(np.int64) for column in (found.starts, found.ends))
    if binary:
        words = np.arange(length)
        starts, ends = np.append(starts, words), np.append(ends, words + 1)
        order = np.lexsort((-ends, starts))
        starts, ends = starts[order], ends[order]
    return cell_of(length, starts, ends)


def _by_length(given: SentenceArrays) -> Iterator[tuple[Any, ...]]:
    """Of some sentences of one length: which, the places of their spans, the scores, and what follows.

    Scores [sentence, span, label], of which those of null are -inf and were taken off, as was what is large
    in all trees; probabilities of the same shape; and by sentence the logarithm of the sum over trees.
    """
    for length in np.unique(given.lengths[given.lengths > 0]).tolist():
        same = np.flatnonzero(given.lengths == length)
        starts, lasts = np.triu_indices(length)
        cells = starts, lasts + (given.ends == "exclusive")
        together = max(1, _NUMBERS // (len(starts) * given.count))
        for group in np.split(same, range(together, len(same), together)):
            rows = np.stack([given[index][cells] for index in group]).astype(np.float64)
            for null in given.nulls:
                with np.errstate(invalid="ignore", over="ignore"):  # between infinite scores
                    rows -= rows[..., [null]]
            if not (rows < np.inf).all():
                wrong = group[np.argmin((rows < np.inf).all(axis=(1, 2)))] + 1
                says = f"sentence {wrong} has nan or an infinite score"
                refuse("scores", says, "forbid labels, not null, by -inf")
            rows[..., given.nulls] = -np.inf
            _take_off(rows, starts, lasts, bool(given.nulls))
            sums = np.logaddexp.reduce(rows, axis=-1)
            weights = np.full((len(group), length + 1, length + 1), -np.inf)
            weights[:, starts, lasts + 1] = np.where(
                sums == -np.inf, sums, sums.clip(_FORBIDDEN, -_FORBIDDEN)
            )
            of_spans, log_total = _probabilities(weights, bool(given.nulls))
            found = np.exp(rows - np.where(sums == -np.inf, 0, sums)[..., None])
            found *= of_spans[:, starts, lasts + 1, None]
            yield group, cells, rows, found, log_total


def _take_off(rows: FloatArray, starts: _Array, lasts: _Array, nary: bool) -> None:
    """Take large scores that all trees have off: the largest of a span that is in all trees.

    And the largest of all other spans, of which binary trees have the same number.
    """
    always = lasts - starts == lasts.max()
    if not nary or lasts.max() == 0:
        always |= starts == lasts
    top = rows.max(axis=-1)
    rest = top[:, ~always].max(axis=1, keepdims=True, initial=-np.inf)
    common = np.where(always, top, 0 if nary else rest)
    with np.errstate(over="ignore"):
        rows -= np.where((np.abs(common) > _LARGE) & np.isfinite(common), common, 0)[..., None]


def _probabilities(weights: FloatArray, nary: bool) -> tuple[FloatArray, FloatArray]:
    """The probability of a constituent by [sentence, start, end], from logarithms of its labels' weights.

    And the logarithms of the sums over trees.

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
    of_words, free = weights[:, words, words + 1], nary and size > 1
    if (log_total == -np.inf).any() or (not free and (of_words == -np.inf).any()):
        refuse("scores", f"-inf forbids all trees of a sentence of {size} words", "forbid less")
    if max(np.abs(log_total).max(), weights.max() * size) > _LOST:
        says = f"add up to more than 1e10 in each tree of a sentence of {size} words: differences are lost"
        refuse("scores", says, "take off what is the same in all trees, and forbid labels by -inf")
    found = np.zeros_like(weights)
    # A word has a label with probability w / (1 + w), but for a sentence of one.
    found[:, words, words + 1] = np.exp(-np.logaddexp(0, -of_words if free else -np.inf))
    for width in range(size, 1, -1):
        i, j = words[: size - width + 1], words[: size - width + 1] + width
        first = np.logaddexp.reduce(above[:, i] + rest[:, j], axis=2)
        last = np.logaddexp.reduce(above[:, :, j] + constituent[:, :, i], axis=1)
        outside = np.logaddexp(first, last) if width < size else np.zeros_like(first)
        found[:, i, j] = np.exp(np.minimum(constituent[:, i, j] + outside - log_total, 0))
        closed = outside + weights[:, i, j]
        above[:, i, j] = np.logaddexp(closed, last) if nary else closed
    each = np.logaddexp(0, of_words) if free else of_words
    return found, log_total[:, 0] + each.sum(axis=1)
