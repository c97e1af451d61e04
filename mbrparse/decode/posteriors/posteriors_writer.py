"""Writing the posteriors of a grammar's charts, in the format of ``posteriors_file``."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from mbrparse.grammar.charts.base.span_summary import SpanEntries
from mbrparse.grammar.pcfg import FloatArray


class PosteriorsWriter:
    """Collects the posteriors of all sentences and writes them."""

    def __init__(self, labels: tuple[str, ...], consistent: bool = False, least: float = 0.0) -> None:
        """With ``consistent`` sentences have the probabilities that nothing crosses a span.

        Entries less probable than ``least`` are left out.
        """
        self._labels = labels
        self._lengths: list[int] = []
        self._entries: list[SpanEntries] = []
        self._counts: list[int] = []
        self._consistent: list[FloatArray] = []
        self._crossing = consistent
        self._least = least

    def add(self, length: int, entries: SpanEntries | None, consistent: FloatArray | None = None) -> None:
        """Add the next sentence; None: its posteriors are unknown."""
        self._lengths.append(length)
        if self._crossing:
            unknown = np.zeros(length * (length + 1) // 2)
            self._consistent.append(unknown if consistent is None else np.minimum(consistent, 1.0))
        kept = 0
        if entries is not None:
            probable = entries.g >= self._least
            kept = int(np.count_nonzero(probable))
            # Charts may share memory from sentence to sentence; a choice of entries is a copy.
            self._entries.append(SpanEntries(*(np.asarray(column)[probable] for column in entries)))
        self._counts.append(kept)

    def write(self, stream: BinaryIO) -> None:
        """Write the file; posteriors that rounding brought above one are written as one."""
        none = np.zeros(0, np.int32)
        empty = SpanEntries(none, none, none, np.zeros(0), np.zeros(0))
        columns = zip(*(self._entries or [empty]), strict=True)
        starts, ends, label_ids, g, _ = (np.concatenate(column) for column in columns)
        crossing: dict[str, Any] = {}
        if self._crossing:
            crossing["consistent"] = np.concatenate([np.zeros(0), *self._consistent])
        np.savez_compressed(
            stream,
            **crossing,
            lengths=np.array(self._lengths, np.int32),
            labels=np.array(self._labels, np.str_),
            sentence=np.repeat(np.arange(len(self._counts), dtype=np.int32), self._counts),
            start=starts,
            end=ends,
            label=label_ids,
            g=np.minimum(g.astype(np.float64), 1.0),
        )
