"""Sentences that are too long to be trained on: their charts would not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mbrparse.grammar.training.bracketings import BracketedSentence, local_charts

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
