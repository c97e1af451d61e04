"""What posteriors cannot be: conditions that the marginals of every distribution over trees meet.

They are for notes, not errors: posteriors that break one can be decoded, but expected scores of them are no
expectations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.spans import begins
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.labels import JOIN

_SLACK = 0.01  # sums over many labels in half precision come that near
_CHAIN = 4  # labels over a span; no treebank has more on average
_LONGEST = 1000  # words: crossing spans of longer sentences are not looked for

_Places = npt.NDArray[np.int64]


class _Spans(NamedTuple):
    """Spans in the order of sentence, start, end: the sum of g over their labels, and the largest g."""

    sentence: _Places
    start: _Places
    end: _Places
    total: FloatArray
    largest: FloatArray


def impossible(given: GivenPosteriors) -> Iterator[str]:
    """Yield a line for each condition that is broken: the first sentence, and how many others break it.

    A span is in a tree at least as often as its most probable label, and where labels exclude each other, as
    joined chains and tags do, as often as all of them together. Where labels stand above themselves,
    posteriors are expected numbers, and say less.
    """
    phrases, tags = _spans(given, given.phrase), _spans(given, ~given.phrase)
    joined = next((label for label in given.phrase_labels() if JOIN in label), None)
    single = f"where chains are joined, as in {joined}, a span has one label"
    for spans, says in ((tags, "a word has one tag"), *([(phrases, single)] if joined else [])):
        if len(rows := np.flatnonzero(spans.total > 1 + _SLACK)):
            place = f"({spans.start[rows[0]]}, {spans.end[rows[0]]})"
            yield (
                f"{_named(spans.sentence[rows])}: posteriors of span {place} add up to "
                f"{spans.total[rows[0]]:.2f}, but {says}"
            )
    if len(given.repeated()):
        return
    mass = np.minimum(phrases.total if joined else phrases.largest, 1.0)
    yield from _too_many(given, phrases, mass)
    yield from _crossing(given, phrases, mass)


def _spans(given: GivenPosteriors, chosen: npt.NDArray[np.bool_]) -> _Spans:
    keys = np.stack([given.sentence, given.starts, given.ends])[:, chosen]
    g = given.g[chosen]
    first = np.flatnonzero(begins(*keys))
    sums = [np.add.reduceat(g, first), np.maximum.reduceat(g, first)] if len(g) else [g, g]
    return _Spans(*keys[:, first], *sums)


def _named(sentences: _Places) -> str:
    others = len(np.unique(sentences)) - 1
    return f"sentence {sentences.min() + 1}" + (f" (and {others} more)" if others else "")


def _too_many(given: GivenPosteriors, spans: _Spans, mass: FloatArray) -> Iterator[str]:
    """Trees of n words have at most n - 1 spans of more words than one."""
    wide = (spans.end - spans.start > 1).astype(np.float64)
    expected, listed = (
        np.bincount(spans.sentence, wide * weights, len(given.lengths)) for weights in (mass, spans.total)
    )
    most = np.maximum(given.lengths - 1, 0)
    wrong = np.flatnonzero(np.maximum(expected, listed / _CHAIN) > most * (1 + _SLACK) + _SLACK)
    if len(wrong):
        yield (
            f"{_named(wrong)}: posteriors of {listed[wrong[0]]:.1f} constituents over two words or more, "
            f"where a tree of {given.lengths[wrong[0]]} words has at most {most[wrong[0]]} such spans"
        )


def _crossing(given: GivenPosteriors, spans: _Spans, mass: FloatArray) -> Iterator[str]:
    """Spans that cross are never in one tree, so together they are in at most all trees."""
    wrong: list[int] = []
    says = ""
    first = np.searchsorted(spans.sentence, np.arange(len(given.lengths) + 1))
    for sentence in np.flatnonzero((given.lengths > 2) & (given.lengths <= _LONGEST)):
        rows = slice(first[sentence], first[sentence + 1])
        chart = np.zeros((int(given.lengths[sentence]) + 1,) * 2)  # by start and end
        chart[spans.start[rows], spans.end[rows]] = mass[rows]
        both = chart + _crossing_most(chart)
        if both.max() > 1 + _SLACK:
            wrong.append(int(sentence))
            if not says:
                i, j = np.unravel_index(int(both.argmax()), chart.shape)
                inner = chart[i + 1 : j, j + 1 :]
                k, end = np.unravel_index(int(inner.argmax()), inner.shape)
                says = f"({i}, {j}) and ({i + 1 + k}, {j + 1 + end}) have {chart[i, j]:.2f}"
                says += f" and {inner.max():.2f}"
    if wrong:
        yield f"{_named(np.array(wrong))}: spans {says}, but they cross, and no tree has both"


def _crossing_most(chart: FloatArray) -> FloatArray:
    """By start and end: the largest of the spans from inside a span to beyond its end."""
    beyond, crossing = np.zeros_like(chart), np.zeros_like(chart)
    beyond[:, :-1] = np.maximum.accumulate(chart[:, :0:-1], axis=1)[:, ::-1]
    beyond = np.triu(beyond, 1)  # of those that start before this end
    crossing[:-1] = np.maximum.accumulate(beyond[:0:-1])[::-1]
    return crossing
