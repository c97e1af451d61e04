"""The decoder of n-ary trees: General Recall and expected F, from posteriors of spans alone.

Goodman (1996) announced the General Recall Algorithm, of which Labelled and Bracketed Recall are special
cases, and the n-ary branching case. Let g(i, X, j) be the posterior of a constituent of the true n-ary
tree G: continuations are none. General Recall keeps the constituents whose weighted gains less a cost add
up to most. Expected F, 2 sum g / (|T| + E|G|), is a ratio of two such sums: it is maximized by searching
with the cost F / 2 until F no longer grows (Dinkelbach 1967).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import NO_LABEL, begins, cell_of, rows
from mbrparse.decode.bracketing import TIE, Bracketing, best_constituents
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.free import UNLABELLED, best_preterminals
from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.grammar.pcfg import FloatArray

_FIRST_F = 0.5
# Growth of F below this is rounding; two or three rounds are usual.
_GROWTH = 1e-12


class _Constituents(NamedTuple):
    """The posteriors of a sentence's constituents, cell by cell, from the most probable label on.

    Where no chains are known each cell has one entry, of ``NO_LABEL`` where it has no label. ``over`` is what
    a bracket of the cell gains, beside those of the labels before it: of k brackets no more than k match, and
    no more than expected. ``expected`` is how many constituents the true n-ary tree is expected to have.
    """

    length: int
    labels: Sequence[str]
    expected: float
    cells: Ints
    label_ids: Ints
    g: FloatArray
    over: FloatArray


class _Tree(NamedTuple):
    """A tree, its score, its gains without the cost, its constituents, and what else it would keep.

    ``more`` are entries that are not the first of their cell.
    """

    found: Bracketing
    score: float
    matches: float
    size: int
    more: npt.NDArray[np.int64]


class NaryDecoder:
    """Decodes posteriors for objectives of the n-ary space."""

    def __init__(
        self,
        objectives: Sequence[Objective],
        tie: float = TIE,
        root: str = UNLABELLED,
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
        """The best trees; their spans are those of constituents, none of a continuation."""
        preterminals, constituents, decoded = best_preterminals(posteriors), self._listed(posteriors), []
        for objective in self._objectives:
            if objective.f_score:
                score, tree = self._best_f(objective, constituents)
            else:
                tree = self._at_cost(objective, constituents, 0.0)
                score = tree.score
            spans = self._labelled(tree, constituents)
            decoded.append(Decoded(spans, preterminals, score, constituents=constituents.expected))
        return decoded

    def _listed(self, posteriors: Posteriors) -> _Constituents:
        summary, entries = posteriors.constituents, posteriors.nary_entries
        known = posteriors.length, posteriors.labels, posteriors.expected_nary_constituents()
        if self._order is None:
            return _Constituents(*known, np.arange(len(summary.label), dtype=np.int32), *summary)
        cell = cell_of(posteriors.length, entries.starts, entries.ends)
        # Of labels that are as probable the one that is best alone comes first.
        order = np.lexsort((entries.label_ids, entries.label_ids != summary.label[cell], -entries.g, cell))
        cells = cell[order].astype(np.int32)
        rank = np.arange(len(cells)) - np.searchsorted(cells, cells)
        over = np.clip(summary.total[cells] - rank, 0.0, 1.0)
        return _Constituents(*known, cells, entries.label_ids[order], entries.g[order], over)

    def _best_f(self, objective: Objective, constituents: _Constituents) -> tuple[float, _Tree]:
        """The tree with the largest 2 sum of gains / (its constituents + those expected), and that F."""
        f, best = _FIRST_F, None
        while True:
            tree = self._at_cost(objective, constituents, f / 2)
            both = tree.size + constituents.expected
            reached = 2 * tree.matches / both if both else 1.0
            if best is not None and reached <= f + _GROWTH:
                return f, best
            f, best = reached, tree

    def _at_cost(self, objective: Objective, constituents: _Constituents, cost: float) -> _Tree:
        """The best tree where each constituent costs this much beside what it costs by the objective."""
        length, cells = constituents.length, constituents.cells
        constant, more = objective.node_constant - cost, np.zeros(0, np.int64)
        gains = objective.weight(Item.LABELLED_SPAN) * constituents.g.astype(np.float64)
        gains += objective.weight(Item.SPAN) * constituents.over + constant
        by_cell = gains
        if self._order is not None:
            first = begins(cells)
            by_cell = np.full(length * (length + 1) // 2, constant)
            by_cell[cells[first]] = gains[first]
            # Were constituents free, all labels of a span would be kept.
            more = np.flatnonzero(~first & (gains > 0) & (constant < 0))
            by_cell += np.bincount(cells[more], gains[more], len(by_cell))
        tree = best_constituents(by_cell, length, self._tie)
        size = len(tree.starts)
        if len(more):
            size += int(np.isin(cells[more], cell_of(length, tree.starts, tree.ends)).sum())
        # What was taken off for each constituent is put back.
        return _Tree(tree, tree.score, tree.score + size * cost, size, more)

    def _labelled(self, tree: _Tree, constituents: _Constituents) -> list[tuple[int, int, str]]:
        length, names, ids = constituents.length, constituents.labels, constituents.label_ids
        first = begins(constituents.cells)
        label = np.full(length * (length + 1) // 2, NO_LABEL, np.int32)
        label[constituents.cells[first]] = ids[first]
        below: defaultdict[int, list[str]] = defaultdict(list)
        for cell, label_id in rows(constituents.cells[tree.more], ids[tree.more]):
            below[cell].append(names[label_id])
        cells = cell_of(length, tree.found.starts, tree.found.ends)
        spans: list[tuple[int, int, str]] = []
        for start, end, cell, known in rows(tree.found.starts, tree.found.ends, cells, label[cells]):
            nameless = UNLABELLED if spans else self._root
            chain = [nameless if known == NO_LABEL else names[known], *below[cell]]
            ordered = chain if self._order is None else self._order(chain)
            spans.extend((start, end, name) for name in ordered)
        return spans
