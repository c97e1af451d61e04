"""The posteriors of spans as a page draws them, from plain arrays (docs/posteriors.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.report.label_numbers import LabelNumbers

#: What is less probable is not drawn.
THRESHOLD = 0.01
#: Posteriors are written as so many parts of one.
PARTS = 100


class SpanArrays(Protocol):
    """Posteriors of the spans of all sentences; the entries of sentence s are first[s] up to first[s + 1].

    lengths          [sentences]
    first            [sentences + 1]
    starts, ends     [entries], and label_ids, positions in ``labels``
    g                [entries]
    """

    @property
    def source(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...
    @property
    def lengths(self) -> npt.NDArray[Any]: ...
    @property
    def first(self) -> npt.NDArray[Any]: ...
    @property
    def starts(self) -> npt.NDArray[Any]: ...
    @property
    def ends(self) -> npt.NDArray[Any]: ...
    @property
    def label_ids(self) -> npt.NDArray[Any]: ...
    @property
    def g(self) -> npt.NDArray[Any]: ...


def check_lengths(arrays: SpanArrays, lengths: Sequence[int]) -> None:
    """Raise InputMismatchError where the posteriors are of other sentences than those of these lengths."""
    remedy = "give the posteriors of the very sentences that were parsed, in their order"
    if len(arrays.lengths) != len(lengths):
        raise InputMismatchError(
            f"posteriors of {len(arrays.lengths)} sentences, and the gold holds {len(lengths)}",
            source=arrays.source,
            remedy=remedy,
        )
    other = np.flatnonzero(np.asarray(lengths) != arrays.lengths)
    if len(other):
        number = int(other[0])
        raise InputMismatchError(
            f"sentence {number + 1} has {arrays.lengths[number]} words, in the gold {lengths[number]}",
            source=arrays.source,
            remedy=remedy,
        )


def chart_cells(arrays: SpanArrays, sentence: int, labels: LabelNumbers) -> list[int]:
    """Label number, start, end and posterior (in PARTS of one) of a sentence's spans of two words or more.

    One after the other, the most probable labels of a span first.
    """
    rows = slice(int(arrays.first[sentence]), int(arrays.first[sentence + 1]))
    start, end, g = arrays.starts[rows], arrays.ends[rows], arrays.g[rows]
    shown = np.flatnonzero((g >= THRESHOLD) & (end - start > 1))
    shown = shown[np.lexsort((-g[shown], end[shown], start[shown]))]
    numbers = [labels.number(arrays.labels[label]) for label in arrays.label_ids[rows][shown]]
    parts = np.rint(g[shown] * PARTS).astype(int)
    columns = (numbers, start[shown].tolist(), end[shown].tolist(), parts.tolist())
    return [number for cell in zip(*columns, strict=True) for number in cell]
