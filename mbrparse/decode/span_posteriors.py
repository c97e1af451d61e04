"""Posteriors of labelled spans, on which the free space rests, and the order of labels in a chain."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, reduce
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from mbrparse.charts.spans import SpanEntries, SpanSummary, cell_of, rows, summarize_entries
from mbrparse.errors import PosteriorsError
from mbrparse.grammar import pcfg, projection
from mbrparse.treebank.labels import JOIN, is_continuation_label, project

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.decode.chart_picture import ChartPicture


class SentenceChart(Protocol):
    """The protocol of all charts of a sentence: exhaustive, best-first or a forest.

    Decoders have protocols of their own for what only some charts can do.
    """

    length: int
    terminal_ids: pcfg.IntArray

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


class Counts(Protocol):
    """The protocol of what counts a sentence's constituents, several of one label over a span too."""

    def matches(self, cell: int, label: str, k: int) -> float:
        """How many of ``k`` constituents of a label over a span are expected to be right."""
        ...

    def brackets(self, n_cells: int, most: int, nary: bool) -> pcfg.FloatArray:
        """[most, cell]: the probabilities of one constituent at least over each span, of two, and so on."""
        ...

    def expected(self, nary: bool) -> float:
        """The expected number of constituents."""
        ...


#: Of spans of a sentence the probabilities of one constituent at least, of two, and so on.
Chains = Mapping[tuple[int, int], Sequence[float]]


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
        consistent: Callable[[], pcfg.FloatArray] | None = None,
        counts: Callable[[], Counts | None] | None = None,
        chains: Chains | None = None,
    ) -> None:
        """Without ``counts`` or ``chains``, constituents over a span are alternatives unless listed again."""
        self.length = length
        self._tie = tie
        self.labels = labels
        self._spans_of = spans
        self._entries_of = entries
        self._consistent_of = consistent
        self._counts_of = counts
        self._chains = chains
        self._brackets: dict[bool, pcfg.FloatArray] = {}
        #: The best tree of the scores that these are of, if there are any.
        self.best: Any = None  # a trees.Decoded

    @classmethod
    def of_entries(
        cls,
        length: int,
        labels: tuple[str, ...],
        entries: SpanEntries,
        tie: float = 1e-9,
        consistent: pcfg.FloatArray | None = None,
        counts: Counts | None = None,
        chains: Chains | None = None,
    ) -> Posteriors:
        """Those that are listed, in the order of start, end, label id; ``consistent`` by cell, if known."""
        known = None if consistent is None else lambda: consistent
        summary = partial(summarize_entries, length, entries, tie)
        return cls(length, labels, summary, lambda: entries, tie, known, lambda: counts, chains)

    @cached_property
    def spans(self) -> SpanSummary:
        """By cell the most probable label, its posterior, and the sum over labels."""
        return self._spans_of()

    @cached_property
    def entries(self) -> SpanEntries:
        """Every posterior above zero."""
        return self._entries_of()

    @cached_property
    def consistent(self) -> pcfg.FloatArray:
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
        entries = self.nary_entries
        shown = entries._replace(preterminals=entries.constituents)  # over words a summary has no others
        return summarize_entries(self.length, shown, self._tie)

    @cached_property
    def _counts(self) -> Counts | None:
        return None if self._counts_of is None else self._counts_of()

    @cached_property
    def nary_entries(self) -> SpanEntries:
        """The posteriors of constituents of n-ary trees."""
        entries = self.entries
        chosen = (entries.constituents > 0) & ~continuations(self.labels)[entries.label_ids]
        starts, ends, label_ids, g = (column[chosen] for column in (*entries[:3], entries.constituents))
        return SpanEntries(starts, ends, label_ids, g, np.zeros(len(g)))

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

        entries, table = self.entries, dict[tuple[int, int, str], float]()
        for start, end, label_id, g in rows(*entries[:3], entries.constituents):
            one = start, end, self.labels[label_id]
            table[one] = self.labelled(*one) if one in table else g
        return pd.DataFrame(
            [(*one, g) for one, g in table.items() if g > 0], columns=["start", "end", "label", "g"]
        )

    def draw(self, words: Sequence[str] = (), threshold: float = 0.01) -> ChartPicture:
        """The chart as ``mbrparse posteriors`` shows it: it prints as a table, and notebooks show a picture.

        ``words`` are the sentence's (default: their numbers); what is less probable than ``threshold`` is
        left out. Raises PosteriorsError for as many words as the sentence has not.
        """
        from mbrparse.decode.chart_picture import ChartPicture, cells

        words = tuple(words) or tuple(map(str, range(self.length)))
        if len(words) != self.length:
            raise PosteriorsError(f"{len(words)} words, where the posteriors are of {self.length}")
        return ChartPicture(cells(self, threshold), words)

    def __repr__(self) -> str:
        return f"<posteriors of {len(self.entries.starts)} labelled spans over {self.length} terminals>"

    def labelled(self, start: int, end: int, label: str) -> float:
        """g of a constituent: the probability that the label is over the span (0 for one that is not listed).

        A preterminal is no constituent: over one terminal only what stands above it counts. Positions are
        half-open, from 0; raises PosteriorsError for a span that is none of the sentence's.
        """
        return self._matches(start, end, label, 1)

    def _matches(self, start: int, end: int, label: str, k: int) -> float:
        """How many of ``k`` constituents of a label over a span are expected to be right."""
        places = list(self._places(start, end, label))
        shared = len({*self.entries.label_ids[places].tolist()}) > 1
        if self._counts is not None and (k > 1 or shared):
            return self._counts.matches(cell_of(self.length, start, end), label, k)
        g = np.sort(self.entries.constituents[places])[::-1]
        # Of symbols that share a name one is there; what one lists again is there once, twice, and so on.
        return float(g.sum() if shared else g[:k].sum())

    def of_each(self, constituents: Sequence[tuple[int, int, str]]) -> list[float]:
        """The probability of each constituent: the k-th of equal ones is right where there are k at least."""
        seen, found = Counter[tuple[int, int, str]](), list[float]()
        for start, end, label in constituents:
            before = seen[start, end, label]
            above = self._matches(start, end, label, before) if before else 0.0
            found.append(self._matches(start, end, label, before + 1) - above)
            seen[start, end, label] += 1
        return found

    def preterminal(self, position: int, label: str) -> float:
        """The posterior of a label as a terminal's preterminal; raises PosteriorsError as ``labelled``."""
        tags = self.entries.preterminals
        return sum((float(tags[one]) for one in self._places(position, position + 1, label)), 0.0)

    def bracketed(self, start: int, end: int) -> float:
        """The probability that a constituent is over the span; raises PosteriorsError as ``labelled``."""
        self._check(start, end)
        return float(self.brackets(1)[0, cell_of(self.length, start, end)])

    def brackets(self, most: int, nary: bool = False) -> pcfg.FloatArray:
        """[most, cell]: the probabilities of one constituent at least over each span, of two, and so on.

        Over one terminal preterminals are none; with ``nary`` continuations are none.
        """
        known = self._brackets.get(nary)
        if known is None or len(known) < most:
            known = self._brackets[nary] = self._brackets_of(most, nary)
        return known[:most]

    def _brackets_of(self, most: int, nary: bool) -> pcfg.FloatArray:
        if self._counts is not None:
            return self._counts.brackets(self.length * (self.length + 1) // 2, most, nary)
        entries = self.nary_entries if nary else self.entries
        cells = cell_of(self.length, entries.starts, entries.ends)
        total = np.bincount(cells, entries.constituents, self.length * (self.length + 1) // 2)
        found: pcfg.FloatArray = np.clip(total - np.arange(most)[:, None], 0.0, 1.0)
        if self._chains is not None:
            found[1:] = 0.0
        for span, levels in (self._chains or {}).items():
            found[: len(levels), cell_of(self.length, *span)] = levels[:most]
        return found

    def _check(self, start: int, end: int) -> None:
        if not 0 <= start < end <= self.length:
            raise PosteriorsError(
                f"({start}, {end}) is no span of {self.length} terminals",
                remedy="spans are half-open and begin at 0",
            )

    def expected_constituents(self, nary: bool = False) -> float:
        """The expected number of constituents; without unary rules the length less one.

        With ``nary`` of the n-ary tree: continuations are none.
        """
        if self._counts is not None:
            return self._counts.expected(nary)
        return float((self.nary_entries if nary else self.entries).constituents.sum())

    def expected_matches(
        self, constituents: Sequence[tuple[int, int, str]], nary: bool = False
    ) -> tuple[float, float]:
        """The expected numbers of labelled and of bracketed matches of (start, end, label) triples.

        Of k equal constituents as many are right as the true tree has, k at most. With ``nary`` the brackets
        of continuations match none.
        """
        labelled = sum(self._matches(*triple, k) for triple, k in Counter(constituents).items())
        spans = Counter((start, end) for start, end, _ in constituents)
        over = self.brackets(max(spans.values(), default=1), nary)
        bracketed = sum(over[:k, cell_of(self.length, *span)].sum() for span, k in spans.items())
        return float(labelled), float(bracketed)

    def expected_recalls(
        self, spans: Sequence[tuple[int, int, str]], constituents: float, nary: bool = False
    ) -> dict[str, float]:
        """``expected_matches``, and their shares of the ``constituents`` of the true tree."""
        matches = dict(zip(("labelled", "bracketed"), self.expected_matches(spans, nary), strict=True))
        return {f"expected_{name}": number for name, number in matches.items()} | {
            f"expected_{name}_recall": min(number / constituents, 1.0) if constituents else 0.0
            for name, number in matches.items()
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


# Chains of more unary rules are rare.
_LONGEST = 8


@dataclass(frozen=True, eq=False)
class LabelOrder:
    """Orders the labels over one span, outermost first: of each two the order that is more frequent.

    ``above`` says how often a label is above another; where it is silent, the one of greater ``width``
    is, the share of its sentence that it covers on average.
    """

    above: Mapping[tuple[str, str], float]
    width: Mapping[str, float]

    @classmethod
    def of(cls, grammar: pcfg.Grammar) -> LabelOrder | None:
        """That of a grammar, or of several together; None where none has unary rules."""
        members = getattr(grammar, "members", (grammar,))
        orders = [cls.of_grammar(one.pcfg) for one in members if one.pcfg.has_unaries]
        return reduce(cls.joined, orders) if orders else None

    @classmethod
    def of_grammar(cls, grammar: pcfg.PCFG) -> LabelOrder:
        """By the expected numbers of pairs in its chains of unary rules."""
        from scipy.sparse import coo_array

        parent, child, p = grammar.unary_parent, grammar.unary_child, np.exp(grammar.unary_log_prob)
        size = (len(grammar.symbols),) * 2
        rules = coo_array((p, (parent, child)), size).tocsr()
        chains = coo_array((projection.expected_symbols(grammar)[parent] * p, (parent, child)), size).tocsr()
        names = [project(symbol) for symbol in grammar.symbols]
        above: defaultdict[tuple[str, str], float] = defaultdict(float)
        for _ in range(_LONGEST):
            listed = chains.tocoo()
            for top, bottom, often in rows(listed.row, listed.col, listed.data):
                above[names[top], names[bottom]] += often
            chains = chains @ rules
        return cls(above, {})

    def joined(self, other: LabelOrder) -> LabelOrder:
        """What both say, added up."""
        above, width = Counter(self.above), Counter(self.width)
        above.update(other.above)
        width.update(other.width)
        return LabelOrder(above, width)

    @property
    def chains(self) -> list[tuple[str, str]]:
        """Pairs of labels that are no joined chains, the one that is above the other first."""
        found = [pair for pair, often in self.above.items() if often > self.above.get(pair[::-1], 0.0)]
        return sorted(pair for pair in found if JOIN not in "".join(pair))

    def __call__(self, labels: Sequence[str]) -> list[str]:
        """The labels, outermost first.

        >>> LabelOrder({("S", "VP"): 2, ("VP", "S"): 1}, {"NP": 1.5, "S": 4, "VP": 4})(["NP", "VP", "S"])
        ['S', 'VP', 'NP']
        """
        wins = Counter(self._upper(*pair) for pair in combinations(sorted(labels), 2))
        return sorted(labels, key=lambda label: (-wins[label], label))

    def _upper(self, one: str, other: str) -> str:
        above, below = self.above.get((one, other), 0.0), self.above.get((other, one), 0.0)
        if above == below:
            above, below = self.width.get(one, 0.0), self.width.get(other, 0.0)
        return one if above >= below else other
