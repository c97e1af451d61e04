"""The decoder of n-ary trees: General Recall and expected F, from posteriors of spans alone.

Goodman (1996) announced the General Recall Algorithm, of which Labelled and Bracketed Recall are special
cases, and the n-ary branching case. Let g(i, X, j) be the posterior of a constituent of the true n-ary
tree G: continuations are none. General Recall keeps the constituents whose weighted gains less a cost add
up to most. Expected F, 2 sum g / (|T| + E|G|), is a ratio of two such sums: it is maximized by searching
with the cost F / 2 until F no longer grows (Dinkelbach 1967). The F of many sentences, with sums over all
of them above and below, has one cost for all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import NO_LABEL, begins, cell_of, rows
from mbrparse.decode.bracketing import Bracketing, best_constituents
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.free import UNLABELLED, best_preterminals
from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar.pcfg import FloatArray

FIRST_F = 0.5
# Growth of F below this is rounding; two or three rounds are usual.
GROWTH = 1e-12
_NONE = np.zeros(0, np.int64)


class ConstituentSummary(NamedTuple):
    """The posteriors of a sentence's constituents, cell by cell, from the most probable label on.

    Where no chains are known each cell has one entry, of ``NO_LABEL`` where it has no label. Label ids are
    positions in ``labels``; ``over`` is what a bracket of the cell gains, beside those of the labels before
    it: of k brackets no more than k match, and no more than expected. ``expected`` is how many constituents
    the true n-ary tree is expected to have.
    """

    length: int
    labels: tuple[str, ...]
    expected: float
    cells: Ints
    label_ids: Ints
    g: FloatArray
    over: FloatArray

    def alone(self) -> ConstituentSummary:
        """The same, of all labels only those that it speaks of."""
        found, ids = np.unique(self.label_ids, return_inverse=True)
        known = found[found != NO_LABEL]
        labels = tuple(self.labels[label_id] for label_id in known.tolist())
        ids = ids.reshape(-1) - (len(found) - len(known))
        return self._replace(labels=labels, label_ids=ids.astype(np.int32))

    @property
    def labelled_cells(self) -> set[int]:
        """The cells that have a label."""
        return set(self.cells[self.label_ids != NO_LABEL].tolist())

    def of_spans(self, spans: LabelledSpans) -> tuple[list[float], tuple[float, float]]:
        """The posteriors of a tree's constituents, and their expected labelled and bracketed matches."""
        cells = [int(cell_of(self.length, start, end)) for start, end, _ in spans]
        bounds = np.searchsorted(self.cells, [cells, [cell + 1 for cell in cells]]).tolist()
        # What was matched already is not matched again.
        seen: Counter[object] = Counter()
        g, over = [], 0.0
        for span, cell, first, last in zip(spans, cells, *bounds, strict=True):
            ids = zip(range(first, last), self.label_ids[first:last].tolist(), strict=True)
            same = [at for at, known in ids if known != NO_LABEL and self.labels[known] == span[2]]
            g.append(float(self.g[same[seen[span]]]) if seen[span] < len(same) else 0.0)
            over += min(float(self.over[first + seen[cell]]), 1.0) if first + seen[cell] < last else 0.0
            seen.update([span, cell])
        return g, (sum(min(mass, 1.0) for mass in g), over)


def constituent_summary(posteriors: Posteriors, chains: bool = False) -> ConstituentSummary:
    """What the search needs of these posteriors; with ``chains`` several labels may stand over one span."""
    expected = posteriors.expected_nary_constituents()
    summary = posteriors.constituents
    length, labels = posteriors.length, posteriors.labels
    if not chains:
        cells = np.arange(len(summary.label), dtype=np.int32)
        return ConstituentSummary(length, labels, expected, cells, *summary)
    entries = posteriors.nary_entries
    cell = cell_of(length, entries.starts, entries.ends)
    # Of labels that are as probable the one that is best alone comes first.
    order = np.lexsort((entries.label_ids, entries.label_ids != summary.label[cell], -entries.g, cell))
    cells = cell[order].astype(np.int32)
    rank = np.arange(len(cells)) - np.searchsorted(cells, cells)
    over = np.clip(summary.total[cells] - rank, 0.0, 1.0)
    return ConstituentSummary(
        length, labels, expected, cells, entries.label_ids[order], entries.g[order], over
    )


class PooledF(NamedTuple):
    """The cost of a constituent at which trees of so many sentences have the largest pooled F, and that F."""

    cost: float
    f: float
    sentences: int


class _Found(NamedTuple):
    """A tree, its score, its gains without the cost, its constituents, and what else it would keep.

    ``more`` are entries that are not the first of their cell.
    """

    tree: Bracketing
    score: float
    matches: float
    size: int
    more: npt.NDArray[np.int64]


class NaryDecoder:
    """Decodes posteriors for objectives of the n-ary space."""

    def __init__(
        self,
        objectives: Sequence[Objective],
        tie: float,
        root: str,
        order: LabelOrder | None = None,
    ) -> None:
        """``root`` labels a whole sentence of which no label is known.

        With an ``order`` labels over one span are items that may stand in one chain, each kept if it gains
        more than it costs; without, alternatives.
        """
        self._objectives = objectives
        self._tie = tie
        self._root = root
        self._order = order

    def decode(self, chart: object, posteriors: Posteriors) -> list[Decoded]:
        """The best trees; their spans are those of constituents, none of a continuation.

        A single sentence has no pooled F: it is decoded for its own.
        """
        preterminals = best_preterminals(posteriors)
        summed = self.summary(posteriors)
        found = []
        for objective in self._objectives:
            if objective.f_score:
                score, tree = self._best_f(objective, summed)
            else:
                tree = self._at_cost(objective, summed, 0.0)
                score = tree.score
            spans = self._labelled(tree, summed)
            found.append(Decoded(spans, preterminals, score, constituents=summed.expected))
        return found

    def summary(self, posteriors: Posteriors) -> ConstituentSummary:
        """What the search needs of these posteriors."""
        return constituent_summary(posteriors, self._order is not None)

    def _best_f(self, objective: Objective, summed: ConstituentSummary) -> tuple[float, _Found]:
        """The tree with the largest 2 sum of gains / (its constituents + those expected), and that F."""
        f, best = FIRST_F, None
        while True:
            tree = self._at_cost(objective, summed, f / 2)
            reached = _f(tree, summed)
            if best is not None and reached <= f + GROWTH:
                return f, best
            f, best = reached, tree

    def pooled(self, objective: Objective, sentences: Iterable[ConstituentSummary]) -> PooledF:
        """The largest F of all sentences together; they are gone through some four times."""
        f, rounds = FIRST_F, 0
        while True:
            matches, count, expected, number = 0.0, 0, 0.0, 0
            for summed in sentences:
                tree = self._at_cost(objective, summed, f / 2)
                matches += tree.matches
                count += tree.size
                expected += summed.expected
                number += 1
            reached = 2 * matches / (count + expected) if count + expected else 1.0
            if rounds and reached <= f + GROWTH:
                return PooledF(f / 2, f, number)
            f, rounds = reached, rounds + 1

    def at_cost(self, objective: Objective, summed: ConstituentSummary, cost: float) -> Decoded:
        """The tree of a sentence where each constituent costs so much; its score is the sentence's own F.

        Preterminals are not known here.
        """
        tree = self._at_cost(objective, summed, cost)
        return Decoded(self._labelled(tree, summed), (), _f(tree, summed), constituents=summed.expected)

    def _at_cost(self, objective: Objective, summed: ConstituentSummary, cost: float) -> _Found:
        """The best tree where each constituent costs so much beside what it costs by the objective."""
        constant = objective.node_constant - cost
        gains = objective.weight(Item.LABELLED_SPAN) * summed.g + objective.weight(Item.SPAN) * summed.over
        gains = gains.astype(np.float64) + constant
        by_cell, more = gains, _NONE
        if self._order is not None:
            first = begins(summed.cells)
            by_cell = np.full(summed.length * (summed.length + 1) // 2, constant)
            by_cell[summed.cells[first]] = gains[first]
            # Were constituents free, all labels of a span would be kept.
            more = np.flatnonzero(~first & (gains > 0) & (constant < 0))
            by_cell += np.bincount(summed.cells[more], gains[more], len(by_cell))
        tree = best_constituents(by_cell, summed.length, self._tie)
        size = len(tree.starts)
        if len(more):
            cells = cell_of(summed.length, tree.starts, tree.ends)
            size += int(np.isin(summed.cells[more], cells).sum())
        # What was taken off for each constituent is put back.
        return _Found(tree, tree.score, tree.score + size * cost, size, more)

    def _labelled(self, found: _Found, summed: ConstituentSummary) -> list[tuple[int, int, str]]:
        length, starts, ends = summed.length, found.tree.starts, found.tree.ends
        label = summed.label_ids
        if self._order is not None:
            first, label = begins(summed.cells), np.full(length * (length + 1) // 2, NO_LABEL, np.int32)
            label[summed.cells[first]] = summed.label_ids[first]
        cells = cell_of(length, starts, ends)
        names = [UNLABELLED if known == NO_LABEL else summed.labels[known] for known in label[cells].tolist()]
        if names and label[cells[0]] == NO_LABEL:
            names[0] = self._root
        spans = list(zip(starts.tolist(), ends.tolist(), names, strict=True))
        if self._order is None or not len(found.more):
            return spans
        below: defaultdict[int, list[str]] = defaultdict(list)
        more = summed.cells[found.more], summed.label_ids[found.more]
        for cell, label_id in rows(*more):
            below[cell].append(summed.labels[label_id])
        return [
            (start, end, each)
            for (start, end, name), cell in zip(spans, cells.tolist(), strict=True)
            for each in self._order([name, *below[cell]])
        ]


def _f(found: _Found, summed: ConstituentSummary) -> float:
    both = found.size + summed.expected
    return 2 * found.matches / both if both else 1.0
