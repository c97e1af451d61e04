"""Posteriors of labelled spans of many sentences, from another model or from weighted trees, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from mbrparse import arguments, errors
from mbrparse.charts.spans import SpanEntries, begins
from mbrparse.decode.span_posteriors import Chains, LabelOrder
from mbrparse.grammar.pcfg import FloatArray, IntArray
from mbrparse.log import warn
from mbrparse.treebank.labels import is_continuation_label

# How far rounding may bring a posterior above one.
ROUNDING = 1e-3
# More one-word constituents a word than any treebank has.
_MOST = 0.7


@dataclass(frozen=True, eq=False)
class GivenPosteriors:
    """Posteriors that were checked.

    ``labels`` are those that occur, in text order; entries have g above zero and run in the order of
    sentence, start, end, label id; those of sentence s are first[s] up to first[s + 1]. ``tie`` is the
    tolerance of g's precision, ``ignored`` the names of unused arrays, ``tells_tags`` whether it has ``tag``.
    With an ``order`` labels over one span may stand in one tree; without, they are alternatives. A label that
    is there more than once, above itself, is listed as often. Of weighted trees ``chains`` are known, by
    sentence.

    lengths          int64 [sentences]
    first            int64 [sentences + 1]
    starts, ends     int32 [entries], and label_ids
    phrase           bool [entries]: no tag
    g                float64 [entries]
    """

    kind: ClassVar[Literal["posteriors"]] = "posteriors"

    source: str
    lengths: npt.NDArray[np.int64]
    labels: tuple[str, ...]
    first: npt.NDArray[np.int64]
    starts: IntArray
    ends: IntArray
    label_ids: IntArray
    phrase: npt.NDArray[np.bool_]
    g: FloatArray
    tie: float
    ignored: tuple[str, ...] = ()
    consistent: FloatArray | None = None
    tells_tags: bool = True
    order: LabelOrder | None = None
    chains: Sequence[Chains] = ()

    @classmethod
    def of_columns(
        cls,
        sentence: npt.NDArray[np.int64],
        starts: IntArray,
        ends: IntArray,
        label_ids: IntArray,
        phrase: npt.NDArray[np.bool_],
        g: FloatArray,
        rank: npt.NDArray[np.int64],
        *,
        lengths: npt.NDArray[np.int64],
        **known: Any,
    ) -> GivenPosteriors:
        """Of entries in any order, those of zero left out; equal ones of one rank are added up.

        ``rank`` counts what lists a label over a span again (``ranks``). Sums above one are parted.
        """
        keys = sentence, starts, ends, label_ids, phrase, rank
        order = np.lexsort(keys[::-1])
        order, g = added_up(order[g[order] > 0], keys, g)
        rows, g = parted(g)
        order = order[rows]
        first = np.searchsorted(sentence[order], np.arange(len(lengths) + 1))
        columns = starts[order], ends[order], label_ids[order], phrase[order]
        return cls(known.pop("source"), lengths, known.pop("labels"), first, *columns, g, **known)

    @property
    def sentence(self) -> npt.NDArray[np.int64]:
        """The sentence of each entry."""
        return np.repeat(np.arange(len(self.lengths)), np.diff(self.first))

    def over_words(self) -> float:
        """The expected number of constituents over one word."""
        whole = np.array([not is_continuation_label(label) for label in self.labels], np.bool_)
        single = self.phrase & (self.ends - self.starts == 1) & whole[self.label_ids]
        return float(self.g[single].sum())

    def seems_tagged(self) -> bool:
        """Whether tags were taken for constituents: most words seem to be constituents by themselves."""
        return not self.tells_tags and self.over_words() > _MOST * float(self.lengths.sum())

    def repeated(self) -> npt.NDArray[np.int64]:
        """The entries that list a label over a span again."""
        return np.flatnonzero(~begins(*self.keys))

    @property
    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """What entries that list a label over a span again share."""
        return self.sentence, self.starts, self.ends, self.label_ids, self.phrase

    def phrase_labels(self) -> list[str]:
        """The labels of constituents over two words or more, in text order."""
        wide = self.phrase & (self.ends - self.starts > 1)
        return [self.labels[label] for label in np.unique(self.label_ids[wide])]

    def consistent_spans(self, sentence: int) -> FloatArray | None:
        """Of one sentence, by cell, the probabilities that no constituent crosses a span, if known."""
        if self.consistent is None:
            return None
        sizes = self.lengths * (self.lengths + 1) // 2
        begin = int(sizes[:sentence].sum())
        return self.consistent[begin : begin + int(sizes[sentence])]

    def entries(self, sentence: int) -> SpanEntries:
        """Those of one sentence, in the order of start, end, label id."""
        rows = slice(int(self.first[sentence]), int(self.first[sentence + 1]))
        lexical = np.where(self.phrase[rows], 0.0, self.g[rows])
        return SpanEntries(self.starts[rows], self.ends[rows], self.label_ids[rows], self.g[rows], lexical)

    def usual_root(self) -> str | None:
        """The most probable label of roots, in place of a grammar's start symbol; None without roots."""
        lengths = np.repeat(self.lengths, np.diff(self.first))
        whole = (self.starts == 0) & (self.ends == lengths) & self.phrase
        if not whole.any():
            return None
        return self.labels[int(np.bincount(self.label_ids[whole], self.g[whole]).argmax())]


def ranks(keys: Sequence[npt.NDArray[Any]], g: FloatArray) -> npt.NDArray[np.int64]:
    """Of each of equal entries how many of them have a larger posterior: 0, 1, and so on.

    >>> ranks([np.array([7, 3, 7])], np.array([0.25, 1.0, 0.75])).tolist()
    [1, 0, 0]
    """
    order, places = np.lexsort((-g, *keys[::-1])), np.arange(len(g))
    first = np.where(begins(*(key[order] for key in keys)), places, 0)
    rank = np.empty_like(places)
    rank[order] = places - np.maximum.accumulate(first)
    return rank


def added_up(
    order: npt.NDArray[np.int64], keys: Sequence[npt.NDArray[Any]], g: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """The first of equal entries, in this order, and the sums of their posteriors."""
    ordered = g[order]
    new = begins(*(key[order] for key in keys))
    if new.all():
        return order, ordered
    return order[new], np.add.reduceat(ordered, np.flatnonzero(new))


def parted(g: FloatArray) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Of expected numbers the rows that list each as often as it takes, with one at most in each.

    >>> rows, g = parted(np.array([0.5, 2.25, 1.0]))
    >>> rows.tolist(), g.tolist()
    ([0, 1, 1, 1, 2], [0.5, 1.0, 1.0, 0.25, 1.0])
    """
    times = np.maximum(np.ceil(g - ROUNDING), 1).astype(np.int64)
    rows = np.repeat(np.arange(len(g)), times)
    before = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    return rows, np.where(times[rows] > 1, np.minimum(g[rows] - before, 1.0), g[rows])


def checked_weights(weights: Sequence[float] | None, count: int, what: str) -> FloatArray:
    """The weights of models, summing to one; without weights equal ones.

    Raises OptionsError for weights that are not as many, negative, no numbers, or all zero.
    """
    if weights is None:
        return np.full(count, 1 / max(count, 1))
    try:
        found = np.array(weights, np.float64)
    except OverflowError:
        found = np.array([math.nan] * count)
    if len(found) != count:
        raise errors.OptionsError(f"{len(found)} weights, where there are {count} {what}: give one for each")
    if not (np.isfinite(found) & (found >= 0)).all() or not found.any():
        raise errors.OptionsError("weights are numbers from 0 on, not all 0: their sum is divided by")
    found = np.ldexp(found, -np.frexp(found.max())[1])  # the sum of the largest numbers is none
    shares: FloatArray = found / math.fsum(found)
    return shares


@arguments.checked
def mix_posteriors(
    models: Sequence[GivenPosteriors], weights: Sequence[float] | None = None
) -> GivenPosteriors:
    """The mixture of models of the same sentences: g = sum of weight times the model's g.

    Labels are joined by their text. A model without posteriors of a sentence is left out there, with a
    warning, and the others' weights are divided by their sum. That nothing crosses a span is known where all
    models know it.

    Parameters
    ----------
    models
        Of the same sentences.
    weights
        Divided by their sum (default: equal ones).

    Raises
    ------
    InputMismatchError
        Models of different sentences.
    OptionsError
        Weights that are none.
    """
    if not models:
        raise errors.OptionsError("there are no posteriors to mix")
    share = checked_weights(weights, len(models), "files of posteriors")
    if len(models) == 1:
        return models[0]
    for model in models[1:]:
        _check_sentences(models[0], model)
    known = np.array(list(map(_known, models)))
    for model, knows in zip(models, known, strict=True):
        lacking = np.flatnonzero(~knows & known.any(0))
        if len(lacking):
            more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
            warn(f"{model.source}: no posteriors of sentence {lacking[0] + 1}{more}: left to the other files")
    return mixed(models, share)


def mixed(models: Sequence[GivenPosteriors], share: FloatArray) -> GivenPosteriors:
    """The mixture of models of the same sentences, by shares that add up to one."""
    # Where no model with a weight knows a sentence, nothing is divided.
    by_sentence = np.array(list(map(_known, models))) * share[:, None]
    total = by_sentence.sum(0)
    by_sentence = np.where(total > 0, by_sentence / np.where(total > 0, total, 1), share[:, None])
    labels = tuple(sorted(set().union(*(model.labels for model in models))))
    place = {label: position for position, label in enumerate(labels)}
    parts = [
        (
            *(model.sentence, model.starts, model.ends),
            np.array([place[label] for label in model.labels], np.int32)[model.label_ids],
            *(model.phrase, model.g * row[model.sentence], ranks(model.keys, model.g)),
        )
        for model, row in zip(models, by_sentence, strict=True)
    ]
    orders = [model.order for model in models if model.order is not None]
    return GivenPosteriors.of_columns(
        *map(np.concatenate, zip(*parts, strict=True)),
        lengths=models[0].lengths,
        source=" + ".join(model.source for model in models),
        labels=labels,
        tie=max(model.tie for model in models),
        consistent=_consistent(models, by_sentence),
        tells_tags=all(model.tells_tags for model in models),
        order=reduce(LabelOrder.joined, orders) if orders else None,
    )


def _check_sentences(first: GivenPosteriors, other: GivenPosteriors) -> None:
    if len(other.lengths) != len(first.lengths):
        differs = f"there are {len(other.lengths)} sentences here, but {len(first.lengths)}"
    elif len(different := np.flatnonzero(other.lengths != first.lengths)):
        at = int(different[0])
        differs = f"sentence {at + 1} has {other.lengths[at]} words here, but {first.lengths[at]}"
    else:
        return
    remedy = "a mixture is of the same sentences in the same order"
    raise errors.InputMismatchError(f"{differs} in {first.source}", source=other.source, remedy=remedy)


def _known(model: GivenPosteriors) -> npt.NDArray[np.bool_]:
    """Which sentences the model has posteriors of; tags alone are none but of one word."""
    sentence = model.sentence
    tells = (model.ends - model.starts > 1) | (model.lengths[sentence] == 1)
    known: npt.NDArray[np.bool_] = np.bincount(sentence[tells], minlength=len(model.lengths)) > 0
    return known


def _consistent(models: Sequence[GivenPosteriors], by_sentence: FloatArray) -> FloatArray | None:
    known = [model.consistent for model in models if model.consistent is not None]
    if len(known) < len(models):
        return None
    lengths = models[0].lengths
    rows = np.repeat(by_sentence, lengths * (lengths + 1) // 2, axis=1)
    mixed: FloatArray = (np.array(known) * rows).sum(0)
    return mixed
