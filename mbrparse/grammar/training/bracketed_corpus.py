"""Bracketed sentences as arrays, for the kernels of re-estimation; those too long for memory are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.training.bracketings import BracketedSentence, local_charts
from mbrparse.grammar.training.expectation_kernels import BracketedCorpus

# As the charts of parsing have.
_CHART_BYTES = 2 << 30
_SPLIT_BYTES = 8


class Divided(NamedTuple):
    """Sentences to train on, those that are left out, and why."""

    kept: list[BracketedSentence]
    left_out: list[BracketedSentence]
    reason: str


def divide_by_length(
    sentences: Iterable[BracketedSentence], symbols: int, max_length: int | None = None
) -> Divided:
    """Leave out sentences of more than ``max_length`` terminals.

    Without it, those whose charts of so many symbols would take more than 2 GB: 1,100 terminals or so
    without brackets, many more with them. Raises BracketError where brackets cross.
    """
    kept: list[BracketedSentence] = []
    left_out: list[BracketedSentence] = []
    for sentence in sentences:
        long = (
            chart_bytes(sentence, symbols) > _CHART_BYTES
            if max_length is None
            else len(sentence.terminals) > max_length
        )
        (left_out if long else kept).append(sentence)
    reason = "charts of more than 2 GB" if max_length is None else f"longer than {max_length} terminals"
    return Divided(kept, left_out, reason)


def chart_bytes(sentence: BracketedSentence, symbols: int) -> int:
    """What re-estimation takes for a sentence: its splits, and inside and outside values of its cells."""
    children = [len(parts) for _, parts in local_charts(sentence)]
    cells = len(sentence.terminals) + sum(k * (k - 1) // 2 for k in children)
    splits = sum((k + 1) * k * (k - 1) // 6 for k in children)
    return _SPLIT_BYTES * splits + 16 * symbols * cells


def encode_corpus(grammar: PCFG, sentences: Sequence[BracketedSentence]) -> BracketedCorpus:
    """The arrays of sentences; raises BracketError where brackets cross."""
    words: list[IntArray] = []
    chart_first, child_first, child_cell, first_cell, cells = [0], [0], [], [], []
    for sentence in sentences:
        words.append(grammar.encode(sentence.terminals))
        count = len(sentence.terminals)
        for first, children in local_charts(sentence):
            first_cell.append(first)
            child_cell.extend(children)
            child_first.append(len(child_cell))
            count += len(children) * (len(children) - 1) // 2
        chart_first.append(len(first_cell))
        cells.append(count)
    return BracketedCorpus(
        np.concatenate([np.zeros(0, np.int32), *words]),
        _ids(np.cumsum([0, *map(len, words)])),
        _ids(chart_first),
        _ids(child_first),
        _ids(child_cell),
        _ids(first_cell),
        _ids(cells),
    )


def _ids(values: Any) -> IntArray:
    array: npt.NDArray[np.int32] = np.array(values, np.int32)
    return array
