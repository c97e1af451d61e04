"""Writing the posteriors of a grammar's charts, in the format of ``posteriors_file``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.posteriors.given_posteriors import added_up, parted
from mbrparse.files import ArrayColumn, as_temporary_errors, write_arrays
from mbrparse.grammar.pcfg import FloatArray, Grammar, IntArray
from mbrparse.treebank.labels import JOIN, MARKS, PLAIN, LabelMarks

_ROUNDED = 1e-12  # of a tag, what rounding leaves beside it


def chains_of(grammar: Grammar) -> list[tuple[str, str]]:
    """The chains of a grammar's unary rules, for a ``PosteriorsWriter``."""
    order = LabelOrder.of(grammar)
    return [] if order is None else order.chains


class PosteriorsWriter:
    """Collects the posteriors of all sentences and writes them.

    Until then each array grows in a temporary file without a name: memory holds one sentence.
    """

    def __init__(
        self,
        labels: Sequence[str],
        consistent: bool = False,
        chains: Sequence[Sequence[str]] = (),
        least: float = 0.0,
        marks: LabelMarks = PLAIN,
    ) -> None:
        """With ``consistent`` sentences have the probabilities that nothing crosses a span.

        ``chains`` are labels that stand over one span, the topmost first (``chains_of``). Labels are written,
        and the file says so, with another program's ``marks``; continuations that have none are left out, as
        are entries less probable than ``least``. Raises FileError where there is no temporary file.
        """
        self._ids, texts = None, list[str | None](labels)
        if marks != PLAIN:
            chains = [[marks.written(label) or label for label in chain] for chain in chains]
            written = [marks.written(label) for label in labels]
            texts = list(dict.fromkeys(written))
            self._ids = np.array([-1 if text is None else texts.index(text) for text in written])
        self._texts: dict[str, Any] = {"labels": [text or "" for text in texts]}
        self._texts |= {name: text for name in MARKS if (text := getattr(marks, name)) not in (None, ())}
        if chains:
            self._texts["chains"] = [(marks.joiner or JOIN).join(chain) for chain in chains]
        self._crossing = consistent
        self._least = least
        self._sentences = 0
        # In the order of the file.
        names = ["lengths", "sentence", "start", "end", "label", "g", "tag"]
        types = {"consistent": np.float64, "g": np.float64, "tag": np.bool_}
        with as_temporary_errors():
            listed = [*(["consistent"] if consistent else []), *names]
            self._columns = {name: ArrayColumn(types.get(name, np.int32)) for name in listed}

    def add(self, length: int, entries: SpanEntries | None, consistent: FloatArray | None = None) -> None:
        """Add the next sentence; None: its posteriors are unknown. Raises FileError for lack of room."""
        columns = self._columns
        with as_temporary_errors():
            columns["lengths"].add([length])
            if self._crossing:
                unknown = np.zeros(length * (length + 1) // 2)
                columns["consistent"].add(unknown if consistent is None else np.minimum(consistent, 1.0))
            if entries is not None:
                if self._ids is not None:
                    entries = self._renamed(entries, self._ids[entries.label_ids])
                phrases, tags = (
                    np.flatnonzero((of > none) & (of >= self._least))
                    for of, none in ((entries.constituents, _ROUNDED * entries.lexical), (entries.lexical, 0))
                )
                again, g = parted(entries.constituents[phrases].astype(np.float64))
                rows = np.concatenate([phrases[again], tags])
                order = np.argsort(rows, kind="stable")
                rows, tag = rows[order], order >= len(again)
                columns["sentence"].add(np.full(len(rows), self._sentences))
                columns["start"].add(entries.starts[rows])
                columns["end"].add(entries.ends[rows])
                columns["label"].add(entries.label_ids[rows])
                # Those that rounding brought above one are one.
                columns["g"].add(np.minimum(np.concatenate([g, entries.lexical[tags]])[order], 1.0))
                columns["tag"].add(tag)
        self._sentences += 1

    def _renamed(self, entries: SpanEntries, label_ids: IntArray) -> SpanEntries:
        """With these labels; those that become equal are added up."""
        order = np.lexsort((label_ids, entries.ends, entries.starts))
        order = order[label_ids[order] >= 0]
        keys = entries.starts, entries.ends, label_ids
        (first, g), (_, lexical) = (added_up(order, keys, of) for of in (entries.g, entries.lexical))
        return SpanEntries(entries.starts[first], entries.ends[first], label_ids[first], g, lexical)

    def write(self, stream: BinaryIO) -> None:
        """Write the file, once, as ``numpy.savez_compressed`` writes it."""
        first = {name: self._columns[name] for name in ("consistent", "lengths") if name in self._columns}
        texts = {name: np.array(values, np.str_) for name, values in self._texts.items()}
        write_arrays(stream, first | texts | self._columns)
