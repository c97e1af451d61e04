"""Posteriors of labelled spans of many sentences, from another model or from weighted trees, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from mbrparse import arguments, errors
from mbrparse.charts.spans import SpanEntries, begins
from mbrparse.decode.span_posteriors import Chains, LabelOrder, Posteriors
from mbrparse.decode.trees import Decoded
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.log import warn
from mbrparse.treebank.labels import is_continuation_label

# How far rounding may bring a posterior above one.
ROUNDING = 1e-3
# More one-word constituents a word than any treebank has.
_MOST = 0.7
#: Entries that are looked at together: what is computed of them takes some megabytes.
TOGETHER = 1 << 16
#: Columns of entries: sentence, start, end, label id, phrase, and g.
Columns = Sequence[npt.NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class GivenPosteriors(Sequence["Posteriors"]):
    """Posteriors that were checked: a sequence of those of each sentence.

    A slice, or a list of positions, selects sentences: ``model[10:20]``, ``model[order]``.

    ``labels`` are those that occur, in text order; entries have g above zero and run in the order of
    sentence, start, end, label id; those of sentence s are first[s] up to first[s + 1]. ``tie`` is the
    tolerance of g's precision, ``ignored`` the names of unused arrays, ``tells_tags`` whether it has ``tag``.
    With an ``order`` labels over one span may stand in one tree; without, they are alternatives. A label that
    is there more than once, above itself, is listed as often. Of weighted trees ``chains`` are known, by
    sentence; of scores ``best``, the best trees. ``nary`` says that trees are no binary ones, ``words`` which
    sentences these are, if that is known.

    lengths          int64 [sentences]
    first            int64 [sentences + 1]
    starts, ends     int16 or int32 [entries], and label_ids
    phrase           bool [entries]: no tag
    g                float32 or float64 [entries]
    """

    kind: ClassVar[Literal["posteriors"]] = "posteriors"

    source: str
    lengths: npt.NDArray[np.int64]
    labels: tuple[str, ...]
    first: npt.NDArray[np.int64]
    starts: npt.NDArray[Any]
    ends: npt.NDArray[Any]
    label_ids: npt.NDArray[Any]
    phrase: npt.NDArray[np.bool_]
    g: npt.NDArray[Any]
    tie: float
    ignored: tuple[str, ...] = ()
    consistent: FloatArray | None = None
    tells_tags: bool = True
    order: LabelOrder | None = None
    chains: Sequence[Chains] = ()
    best: Sequence[Decoded] = ()
    nary: bool = False
    words: Sequence[Sequence[str]] = ()

    @classmethod
    def of_blocks(
        cls,
        blocks: Iterable[Columns],
        *,
        lengths: npt.NDArray[np.int64],
        labels: tuple[str, ...],
        **known: Any,
    ) -> GivenPosteriors:
        """Of the columns of ``in_order``, all entries of a sentence in one block, sentences in their order.

        Columns are as narrow as lengths, labels and g allow: models list millions of entries.
        """
        place, label = (
            np.int16 if most < 1 << 15 else np.int32 for most in (lengths.max(initial=0), len(labels))
        )
        columns = [np.zeros(0, kind) for kind in (place, place, label, np.bool_, np.float32)]
        counts = np.zeros(len(lengths) + 1, np.int64)
        for sentence, *block in blocks:
            counts[1:] += np.bincount(sentence, minlength=len(lengths))
            columns[-1] = columns[-1].astype(np.result_type(columns[-1], block[-1]), copy=False)
            for column, values in zip(columns, block, strict=True):
                size = len(column)
                column.resize(size + len(values), refcheck=False)  # in place, where there is room
                column[size:] = values
        starts, ends, label_ids, phrase, g = cast("tuple[Any, ...]", columns)
        first = np.cumsum(counts)
        return cls(
            lengths=lengths,
            labels=labels,
            first=first,
            starts=starts,
            ends=ends,
            label_ids=label_ids,
            phrase=phrase,
            g=g,
            **known,
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        return (
            f"<posteriors of {len(self):,} sentences: {len(self.g):,} entries of {len(self.labels):,} labels>"
        )

    @overload
    def __getitem__(self, index: int) -> Posteriors: ...

    @overload
    def __getitem__(self, index: slice | Sequence[int]) -> GivenPosteriors: ...

    def __getitem__(self, index: int | slice | Sequence[int]) -> Posteriors | GivenPosteriors:
        chosen = np.arange(len(self))[index]
        if chosen.ndim == 0:
            return self.of_sentence(int(chosen), self.labels)
        sizes = np.diff(self.first)[chosen]
        first = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(first[-1]) + np.repeat(self.first[chosen] - first[:-1], sizes)
        columns = {name: getattr(self, name)[rows] for name in ("starts", "ends", "label_ids", "phrase", "g")}
        listed: dict[str, Any] = {name: getattr(self, name) for name in ("chains", "best", "words")}
        for name, values in listed.items():
            listed[name] = [values[place] for place in chosen] if len(values) else ()
        spans = self.consistent
        if spans is not None:
            parts = [self.consistent_spans(place) for place in chosen]
            spans = np.concatenate([np.zeros(0), *(part for part in parts if part is not None)])
        return replace(
            self,
            lengths=self.lengths[chosen],
            first=first,
            consistent=spans,
            **columns,
            **listed,
        )

    @property
    def known(self) -> dict[str, bool]:
        """What ``answers.serves`` asks of given posteriors."""
        return {"consistent": self.consistent is not None, "best": len(self.best) > 0}

    @property
    def objective(self) -> str:
        """The objective of a parser that is asked for none."""
        return "labelled-f" if self.nary else "labelled-recall"

    def of_sentence(self, place: int, labels: tuple[str, ...]) -> Posteriors:
        """Those of one sentence; further ``labels`` may follow these."""
        entries, consistent = self.entries(place), self.consistent_spans(place)
        chains = self.chains[place] if self.chains else None
        length = int(self.lengths[place])
        found = Posteriors.of_entries(length, labels, entries, self.tie, consistent, chains=chains)
        found.best = self.best[place] if self.best else None
        return found

    @property
    def sentence(self) -> npt.NDArray[np.int64]:
        """The sentence of each entry."""
        return np.repeat(np.arange(len(self.lengths)), np.diff(self.first))

    def columns(self, begin: int, end: int) -> Columns:
        """The columns of the sentences of a range."""
        rows = slice(int(self.first[begin]), int(self.first[end]))
        sentence = np.repeat(np.arange(begin, end), np.diff(self.first[begin : end + 1]))
        return sentence, *(
            column[rows] for column in (self.starts, self.ends, self.label_ids, self.phrase, self.g)
        )

    def over_words(self) -> float:
        """The expected number of constituents over one word."""
        whole = np.array([not is_continuation_label(label) for label in self.labels], np.bool_)
        single = np.flatnonzero(self.phrase & (self.ends - self.starts == 1))
        return float(self.g[single[whole[self.label_ids[single]]]].sum(dtype=np.float64))

    def seems_tagged(self) -> bool:
        """Whether tags were taken for constituents: most words seem to be constituents by themselves."""
        return not self.tells_tags and self.over_words() > _MOST * float(self.lengths.sum())

    def repeated(self) -> npt.NDArray[np.int64]:
        """The entries that list a label over a span again."""
        found = [np.zeros(0, np.int64)]
        for begin, end in windows(self.first):
            found.append(np.flatnonzero(~begins(*self.columns(begin, end)[:-1])) + self.first[begin])
        return np.concatenate(found)

    def phrase_labels(self) -> list[str]:
        """The labels of constituents over two words or more, in text order."""
        there = np.zeros(len(self.labels), np.bool_)
        for begin, end in windows(self.first):
            _, starts, ends, label_ids, phrase, _ = self.columns(begin, end)
            there[label_ids[phrase & (ends - starts > 1)]] = True
        return [self.labels[label] for label in np.flatnonzero(there)]

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
        starts, ends, label_ids = (
            column[rows].astype(np.int32) for column in (self.starts, self.ends, self.label_ids)
        )
        g, phrase = self.g[rows].astype(np.float64), self.phrase[rows]
        return SpanEntries(starts, ends, label_ids, np.where(phrase, g, 0.0), np.where(phrase, 0.0, g))

    def usual_root(self) -> str | None:
        """The most probable label of roots, in place of a grammar's start symbol; None without roots."""
        rows = np.flatnonzero((self.starts == 0) & self.phrase)
        rows = rows[self.ends[rows] == self.lengths[self.first.searchsorted(rows, "right") - 1]]
        if not len(rows):
            return None
        return self.labels[int(np.bincount(self.label_ids[rows], self.g[rows]).argmax())]


def windows(first: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of sentences whose entries are looked at together; those of sentence s begin at first[s].

    >>> list(windows(np.array([0, 5, 5, 1 << 16, 1 << 17])))
    [(0, 3), (3, 4)]
    """
    cuts = first.searchsorted(np.arange(0, first[-1], TOGETHER))
    return pairwise(np.unique([0, *cuts, len(first) - 1]).tolist())


def packed(keys: Columns) -> npt.NDArray[np.int64]:
    """A number for each row of arrays of numbers from 0 on; rows and numbers are in the same order.

    >>> packed([np.array([1, 0, 1]), np.array([0, 5, 1])]).tolist()
    [6, 5, 7]
    """
    sizes = [int(key.max(initial=0)) + 1 for key in keys]
    if math.prod(sizes) > np.iinfo(np.int64).max:
        return np.unique(np.stack(keys), axis=1, return_inverse=True)[1].ravel()
    found = np.zeros(len(keys[0]), np.int64)
    for key, size in zip(keys, sizes, strict=True):
        found *= size
        found += key
    return found


def ascends(numbers: npt.NDArray[Any]) -> bool:
    """Whether each number is larger than the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())


def ranks(keys: Sequence[npt.NDArray[Any]], g: FloatArray) -> npt.NDArray[np.int64]:
    """Of each of equal entries how many of them have a larger posterior: 0, 1, and so on.

    >>> ranks([np.array([7, 3, 7])], np.array([0.25, 1.0, 0.75])).tolist()
    [1, 0, 0]
    """
    key = packed(keys)
    if ascends(key):
        return np.zeros(len(g), np.int64)
    order, places = np.lexsort((-g, key)), np.arange(len(g))
    first = np.where(begins(key[order]), places, 0)
    rank = np.empty_like(places)
    rank[order] = places - np.maximum.accumulate(first)
    return rank


def in_order(columns: Columns, rank: npt.NDArray[np.int64] | None = None) -> Columns:
    """Columns of entries in the order of sentence, start, end, label id; those of zero are left out.

    Equal ones of one ``rank`` are added up, which counts what lists a label over a span again (``ranks``).
    Sums above one are parted.
    """
    *keys, g = columns
    key = packed(keys if rank is None else [*keys, rank])
    if ascends(key) and (g > 0).all():
        return columns
    order = np.argsort(key, kind="stable")
    order, g = added_up(order[g[order] > 0], key, g.astype(np.float64))
    rows, g = parted(g)
    return *(column[order[rows]] for column in keys), g


def added_up(
    order: npt.NDArray[np.int64], key: npt.NDArray[Any], g: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """The first of entries of equal keys, in this order, and the sums of their posteriors."""
    ordered = g[order]
    new = begins(key[order])
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
    ids = [np.array([place[label] for label in model.labels], np.int32) for model in models]

    def blocks() -> Iterator[Columns]:
        for begin, end in windows(np.sum([model.first for model in models], axis=0)):
            parts, rank = list[Columns](), list[npt.NDArray[np.int64]]()
            for model, own, row in zip(models, ids, by_sentence, strict=True):
                *keys, g = model.columns(begin, end)
                rank.append(ranks(keys, g))
                keys[3] = own[keys[3]]
                parts.append((*keys, g * row[keys[0]]))
            yield in_order([*map(np.concatenate, zip(*parts, strict=True))], np.concatenate(rank))

    orders = [model.order for model in models if model.order is not None]
    return GivenPosteriors.of_blocks(
        blocks(),
        lengths=models[0].lengths,
        source=" + ".join(model.source for model in models),
        labels=labels,
        tie=max(model.tie for model in models),
        consistent=_consistent(models, by_sentence),
        tells_tags=all(model.tells_tags for model in models),
        order=reduce(LabelOrder.joined, orders) if orders else None,
        nary=all(model.nary for model in models),
        words=models[0].words,
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
