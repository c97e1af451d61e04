"""Posteriors of labelled spans, on which the objectives of the free space rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from mbrparse.charts.spans import SpanEntries, SpanSummary, cell_of, rows, summarize_entries
from mbrparse.errors import PosteriorsError
from mbrparse.grammar.pcfg import FloatArray, IntArray
from mbrparse.treebank.labels import is_continuation_label

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.decode.chart_picture import ChartPicture


class SentenceChart(Protocol):
    """The protocol of all charts of a sentence: exhaustive, best-first or a forest.

    Decoders have protocols of their own for what only some charts can do.
    """

    length: int
    terminal_ids: IntArray

    def span_summary(self) -> SpanSummary: ...

    def span_posteriors(self) -> SpanEntries: ...

    @property
    def log_prob(self) -> float: ...

    @property
    def has_parse(self) -> bool: ...

    @property
    def failure(self) -> str:
        """Why there is no parse."""
        ...


class Posteriors:
    """g(start, label, end) of one sentence.

    ``spans`` holds, by cell (``cell_of``), the most probable label, its posterior and the sum over
    labels; label ids are positions in ``labels``, which are in text order. Spans and the full list of entries
    are computed on first access, from a chart (``span_summary``, ``span_posteriors``) or given posteriors.
    """

    def __init__(
        self,
        length: int,
        labels: tuple[str, ...],
        spans: Callable[[], SpanSummary],
        entries: Callable[[], SpanEntries],
        tie: float = 1e-9,
        consistent: Callable[[], FloatArray] | None = None,
    ) -> None:
        self.length = length
        self._tie = tie
        self.labels = labels
        self._spans_of = spans
        self._entries_of = entries
        self._consistent_of = consistent

    @classmethod
    def of_entries(
        cls,
        length: int,
        labels: tuple[str, ...],
        entries: SpanEntries,
        tie: float = 1e-9,
        consistent: FloatArray | None = None,
    ) -> Posteriors:
        """Those that are listed, in the order of start, end, label id; ``consistent`` by cell, if known."""
        known = None if consistent is None else lambda: consistent
        # At width one a summary speaks of preterminals.
        chosen = (entries.ends - entries.starts > 1) | (entries.lexical > 0)
        summary = partial(
            summarize_entries, length, SpanEntries(*(column[chosen] for column in entries)), tie
        )
        return cls(length, labels, summary, lambda: entries, tie, known)

    @cached_property
    def spans(self) -> SpanSummary:
        """By cell the most probable label, its posterior, and the sum over labels."""
        return self._spans_of()

    @cached_property
    def entries(self) -> SpanEntries:
        """Every posterior above zero."""
        return self._entries_of()

    @cached_property
    def consistent(self) -> FloatArray:
        """c by cell: the probability that no constituent of the true n-ary tree crosses the span.

        Continuations are no constituents. Raises PosteriorsError where only posteriors of spans are known,
        which do not give the joint probabilities of spans.
        """
        if self._consistent_of is None:
            raise PosteriorsError(
                "the probability that nothing crosses a span is unknown",
                remedy="use a grammar's exhaustive chart, or list it in the file (docs/posteriors.md)",
            )
        return self._consistent_of()

    @cached_property
    def constituents(self) -> SpanSummary:
        """The same of constituents of n-ary trees: no continuations, over one terminal no preterminals."""
        return summarize_entries(self.length, self.nary_entries, self._tie)

    @cached_property
    def nary_entries(self) -> SpanEntries:
        """The posteriors of constituents of n-ary trees."""
        entries = self.entries
        chosen = (entries.constituents > 0) & ~continuations(self.labels)[entries.label_ids]
        starts, ends, label_ids, g = (
            column[chosen]
            for column in (entries.starts, entries.ends, entries.label_ids, entries.constituents)
        )
        return SpanEntries(starts, ends, label_ids, g.astype(np.float64), np.zeros(len(g)))

    def expected_nary_constituents(self) -> float:
        """The expected number of constituents of the n-ary tree: continuations are none."""
        return float(self.nary_entries.g.sum())

    @cached_property
    def _keys(self) -> npt.NDArray[np.int64]:
        """A number for the span and label of each entry; they ascend."""
        spans = self.entries.starts.astype(np.int64) * (self.length + 1) + self.entries.ends
        return spans * len(self.labels) + self.entries.label_ids

    def _places(self, start: int, end: int, label: str) -> Iterator[int]:
        """Where among the entries a label over a span is: it may be listed again, and symbols share names."""
        self._check(start, end)
        for label_id in _ids(self.labels).get(label, ()):
            key = (start * (self.length + 1) + end) * len(self.labels) + label_id
            yield from range(*self._keys.searchsorted((key, key + 1)))

    @property
    def frame(self) -> pd.DataFrame:
        """All constituents above zero, as columns start, end, label and g, in this order of rows."""
        import pandas as pd

        entries, table = self.entries, Counter[tuple[int, int, str]]()
        for start, end, label_id, g in rows(*entries[:3], entries.constituents):
            table[start, end, self.labels[label_id]] += g
        return pd.DataFrame(
            [(*one, g) for one, g in table.items() if g > 0], columns=["start", "end", "label", "g"]
        )

    def draw(self, words: Sequence[str] = (), threshold: float = 0.01) -> ChartPicture:
        """The chart as ``mbrparse posteriors`` shows it: it prints as a table, and notebooks show a picture.

        ``words`` are the sentence's (default: their numbers); what is less probable than ``threshold`` is
        left out. Raises PosteriorsError for as many words as the sentence has not.
        """
        from mbrparse.decode.chart_picture import ChartPicture

        words = tuple(words) or tuple(map(str, range(self.length)))
        if len(words) != self.length:
            raise PosteriorsError(f"{len(words)} words, where the posteriors are of {self.length}")
        return ChartPicture.of(self, words, threshold)

    def __repr__(self) -> str:
        return f"<posteriors of {len(self.entries.g)} labelled spans over {self.length} terminals>"

    def labelled(self, start: int, end: int, label: str) -> float:
        """g of a constituent (0 for one that is not listed); with unary rules an expected number.

        A preterminal is no constituent: over one terminal only what stands above it counts. Positions are
        half-open, from 0; raises PosteriorsError for a span that is none of the sentence's.
        """
        g, lexical = self.entries.g, self.entries.lexical
        return sum((float(g[one] - lexical[one]) for one in self._places(start, end, label)), 0.0)

    def preterminal(self, position: int, label: str) -> float:
        """The posterior of a label as a terminal's preterminal; raises PosteriorsError as ``labelled``."""
        lexical = self.entries.lexical
        return sum((float(lexical[one]) for one in self._places(position, position + 1, label)), 0.0)

    def bracketed(self, start: int, end: int) -> float:
        """The sum of ``labelled`` over all labels; raises PosteriorsError as it does."""
        self._check(start, end)
        if end - start == 1:
            return float(self._over_one[start])
        return float(self.spans.total[cell_of(self.length, start, end)])

    def _check(self, start: int, end: int) -> None:
        if not 0 <= start < end <= self.length:
            raise PosteriorsError(
                f"({start}, {end}) is no span of {self.length} terminals",
                remedy="spans are half-open and begin at 0",
            )

    @cached_property
    def _over_one(self) -> FloatArray:
        """By terminal, the expected number of constituents over it alone."""
        entries = self.entries
        single = entries.ends - entries.starts == 1
        over = np.bincount(entries.starts[single], entries.constituents[single], self.length)
        return over.astype(np.float64)

    def expected_constituents(self) -> float:
        """The expected number of constituents; without unary rules the length less one."""
        return float(self.entries.constituents.sum())

    def expected_matches(
        self, constituents: Sequence[tuple[int, int, str]], nary: bool = False
    ) -> tuple[float, float]:
        """The expected numbers of labelled and of bracketed matches of (start, end, label) triples.

        With unary rules a bound from above: k equal constituents have no more than k matches, and no
        more than g of them are expected. With ``nary`` the brackets of continuations match none.
        """
        labelled = sum(min(self.labelled(*triple), k) for triple, k in Counter(constituents).items())
        bracketed: float = 0
        for (start, end), k in Counter((start, end) for start, end, _ in constituents).items():
            total = self.constituents.total[cell_of(self.length, start, end)] if nary else None
            bracketed += min(self.bracketed(start, end) if total is None else float(total), k)
        return labelled, bracketed

    def expected_recalls(
        self, spans: Sequence[tuple[int, int, str]], constituents: float, nary: bool = False
    ) -> dict[str, float]:
        """``expected_matches``, and their shares of the ``constituents`` of the true tree."""
        labelled, bracketed = self.expected_matches(spans, nary)
        return {
            "expected_labelled": labelled,
            "expected_bracketed": bracketed,
            "expected_labelled_recall": labelled / constituents if constituents else 0.0,
            "expected_bracketed_recall": bracketed / constituents if constituents else 0.0,
        }


@lru_cache(maxsize=16)
def _ids(labels: tuple[str, ...]) -> dict[str, list[int]]:
    """The ids of each label."""
    found: dict[str, list[int]] = {}
    for label_id, label in enumerate(labels):
        found.setdefault(label, []).append(label_id)
    return found


@lru_cache(maxsize=16)
def continuations(labels: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """Which labels are continuations."""
    return np.array([is_continuation_label(label) for label in labels], np.bool_)
