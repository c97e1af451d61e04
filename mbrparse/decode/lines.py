"""What is written for one sentence, on its way from the parser to the files."""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.decode.nary.held_constituents import HeldConstituents
from mbrparse.grammar.charts.span_summary import SpanEntries
from mbrparse.grammar.pcfg import FloatArray


class Lines(NamedTuple):
    """A tree for each objective, the details, why it fell back, and what else was asked for."""

    trees: tuple[str, ...]
    details: str | None
    reason: str | None
    length: int = 0
    entries: SpanEntries | None = None
    candidates: tuple[str, ...] = ()  # their log probabilities and trees, tab-separated
    consistent: FloatArray | None = None
    held: HeldConstituents | None = None  #: until the trees of a pooled F are found
    certified: tuple[tuple[str, bool], ...] = ()  #: by objective, where trees have a certificate
