"""Decoders of posteriors of spans alone: binary trees of the free space, and n-ary trees.

Nothing here asks for a grammar: the posteriors may come from a chart or from any other model.

Binary trees have every span that is split in two: M(start, end) = gain(start, end) + max over split of
M(start, split) + M(split, end); a single terminal adds nothing (Goodman 1996, section 3).

N-ary trees have the constituents that gain most: M(start, end) = max(0, gain(start, end)) + max over split of
M(start, split) + M(split, end), and the root is always kept. Over one terminal M is 0, or what a constituent
over it gains. A constituent whose gain is not above the tolerance of ties is left out, so that nothing
depends on the sign of a rounded zero.

Goodman (1996) announced the General Recall Algorithm, of which Labelled and Bracketed Recall are special
cases, and the n-ary branching case. Let g(i, X, j) be the posterior of a constituent of the true n-ary
tree G: continuations are none. General Recall keeps the constituents whose weighted gains less a cost add
up to most. Expected F, 2 sum g / (|T| + E|G|), is a ratio of two such sums: it is maximized by searching
with the cost F / 2 until F no longer grows (Dinkelbach 1967).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import NO_LABEL, begins, cell_of, rows, word_cells
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_posteriors import LabelOrder, Posteriors
from mbrparse.decode.trees import Decoded, LabelledSpans
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.labels import continuation_of

UNLABELLED = "X"
# Spans that are surely crossed have a logarithm too: a tree may need them.
LEAST = 1e-300
#: How much better than the best, relatively, a later candidate must be.
TIE = 1e-9


class Bracketing(NamedTuple):
    """The spans of a tree in preorder, each with its parent's position (-1: the root's)."""

    score: float
    starts: Ints
    ends: Ints
    parents: Ints


def best_bracketing(gains: FloatArray, length: int, tie: float = TIE, binary: bool = True) -> Bracketing:
    """The binary or n-ary tree with the largest sum of gains, which are by cell (charts.spans).

    Of binary trees within ``tie`` (relative) of each other the one that splits first. The whole sentence is
    always among the constituents of an n-ary tree; a single terminal has no root above it but where that
    gains. Of equal trees the one with fewer constituents, then the one that splits first.

    >>> gains = np.array([0.0, 0.5, -0.1, 0.0, 0.2, 0.0])  # (0,1) (0,2) (0,3) (1,2) (1,3) (2,3)
    >>> found = best_bracketing(gains, 3, binary=False)
    >>> round(found.score, 9), found.starts.tolist(), found.ends.tolist()
    (0.4, [0, 0], [3, 2])
    """
    square = length, length + 1
    # Made outside of kernels: one that fails for want of memory would keep all that it has taken.
    # The mirror image of scores keeps both factors of the inner loop contiguous.
    scores, mirrored, split = np.zeros(square), np.zeros(square[::-1]), np.zeros(square, np.int32)
    kept, spans = np.zeros(square, np.bool_), np.zeros((3, 2 * length), np.int32)
    search_spans(np.ascontiguousarray(gains, np.float64), length, tie, binary, scores, mirrored, split, kept)
    count = list_spans(length, split, kept, spans)
    score = float(scores[0, length]) if length else 0.0
    return Bracketing(score, spans[0, :count], spans[1, :count], spans[2, :count])


@kernel
def search_spans(
    gains: FloatArray,
    length: int,
    tie: float,
    binary: bool,
    score: FloatArray,
    score_by_end: FloatArray,
    split: Ints,
    kept: npt.NDArray[np.bool_],
) -> None:
    """By start and end: the best score of a span's constituents, its split, and whether itself is one."""
    for start in range(length - 1, -1, -1):
        row = start * length - start * (start - 1) // 2 - start - 1
        for end in range(start + 1, length + 1):
            best = 0.0
            if end - start > 1:
                best = score[start, start + 1] + score_by_end[end, start + 1]
                bound = best + tie * abs(best)
                best_at = start + 1
                for at in range(start + 2, end):
                    candidate = score[start, at] + score_by_end[end, at]
                    if candidate > bound:
                        best, best_at = candidate, at
                        bound = best + tie * abs(best)
                split[start, end] = best_at
            gain, whole = gains[row + end], end - start == length
            if (end - start > 1 and (binary or whole)) or (not binary and gain > tie):
                best += gain
                kept[start, end] = True
            score[start, end] = score_by_end[end, start] = best


@kernel
def list_spans(length: int, split: Ints, kept: npt.NDArray[np.bool_], spans: Ints) -> int:
    """Write starts, ends and parents of the kept spans to the rows of ``spans``; returns their number."""
    stack = np.zeros((length + 1, 3), np.int32)
    count, height = 0, 0
    if length:
        stack[0, 1], stack[0, 2] = length, -1
        height = 1
    while height:
        height -= 1
        start, end, parent = stack[height]
        if kept[start, end]:
            spans[0, count], spans[1, count], spans[2, count] = start, end, parent
            parent = count
            count += 1
        if end - start > 1:
            at = split[start, end]
            stack[height, 0], stack[height, 1], stack[height, 2] = at, end, parent
            stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = start, at, parent
            height += 2
    return count


class FreeDecoder:
    """Decodes posteriors for objectives of the free space."""

    def __init__(self, objectives: Sequence[Objective], tie: float = TIE, root: str | None = None) -> None:
        """``tie`` (relative) is how much better a candidate must be.

        With ``root``, objectives that do not look at labels get those of the published Bracketed Recall,
        which chose none: this one at the root, elsewhere X (Goodman 1996, Table 2).
        """
        items = Item.LABELLED_SPAN, Item.SPAN, Item.CONSISTENT_SPAN, Item.LOG_CONSISTENT_SPAN
        # By objective the weights of these, what a node costs, and whether labels are X.
        self._rows = [
            (*map(row.weight, items), row.node_constant, root is not None and not row.labels_matter)
            for row in objectives
        ]
        self._tie = tie
        self._root = root

    def decode(self, chart: object, posteriors: Posteriors) -> list[Decoded]:
        """The best trees."""
        tags, decoded, spans = best_preterminals(posteriors), [], posteriors.spans
        for by_label, by_span, by_consistent, by_log, constant, is_bare in self._rows:
            # All trees have as many nodes: what these cost decides nothing, and would round gains. Labels of
            # given posteriors may have more than one together; one bracket is right once.
            gains = by_label * spans.best + by_span * np.minimum(spans.total, 1.0)
            if by_consistent:
                gains += by_consistent * posteriors.consistent
            if by_log:
                gains += by_log * np.log(np.maximum(posteriors.consistent, LEAST))
            found = best_bracketing(gains, posteriors.length, self._tie)
            likely = None
            if by_consistent or by_log:
                cells = cell_of(posteriors.length, found.starts, found.ends)
                likely = posteriors.consistent[cells].tolist()
            tree = labelled(found, posteriors)
            if is_bare:
                names = [self._root or UNLABELLED] + [UNLABELLED] * len(tree)
                tree = [(start, end, name) for (start, end, _), name in zip(tree, names, strict=False)]
            score = found.score + constant * len(tree)
            decoded.append(Decoded(tree, tags, score, consistent=likely))
        return decoded


def best_preterminals(posteriors: Posteriors) -> list[str | None]:
    """For each terminal the preterminal with the largest posterior (None: it has none)."""
    ids = posteriors.spans.label[word_cells(posteriors.length)].tolist()
    return [None if label_id == NO_LABEL else posteriors.labels[label_id] for label_id in ids]


def labelled(found: Bracketing, posteriors: Posteriors) -> LabelledSpans:
    """The spans of a bracketing, each with its most probable label.

    A span of zero mass takes its parent's continuation (a root of zero mass cannot be: the sentence has a
    parse).
    """
    ids = posteriors.spans.label[cell_of(posteriors.length, found.starts, found.ends)].tolist()
    names: list[str] = []
    for label_id, parent in zip(ids, found.parents.tolist(), strict=True):
        names.append(continuation_of(names[parent]) if label_id == NO_LABEL else posteriors.labels[label_id])
    return list(zip(found.starts.tolist(), found.ends.tolist(), names, strict=True))


def bracketing(gains: FloatArray, length: int) -> list[tuple[int, ...]]:
    """The spans of the binary tree with the largest sum of gains, which are by cell."""
    found = best_bracketing(gains, length)
    return list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


def spans_of(tree: Iterable[tuple[int, ...]], length: int, posteriors: Posteriors) -> LabelledSpans:
    """The binary tree of these brackets with the most probable label on each."""
    chosen = np.zeros(length * (length + 1) // 2)
    chosen[[cell_of(length, start, end) for start, end, *_ in tree]] = 1.0
    return labelled(best_bracketing(chosen, length), posteriors)


_FIRST_F = 0.5
# Growth of F below this is rounding; two or three rounds are usual.
_GROWTH = 1e-12


class _Constituents(NamedTuple):
    """The posteriors of a sentence's constituents, cell by cell, from the most probable label on.

    Where no chains are known each cell has one entry, of ``NO_LABEL`` where it has no label. ``over`` is what
    a bracket of the cell gains, beside those of the labels before it: that so many constituents are there.
    ``expected`` is how many constituents the true n-ary tree is expected to have.
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
        known = posteriors.length, posteriors.labels, posteriors.expected_constituents(nary=True)
        if self._order is None:
            over = posteriors.brackets(1, nary=True)[0]
            return _Constituents(*known, np.arange(len(over), dtype=np.int32), *summary[:2], over)
        cell = cell_of(posteriors.length, entries.starts, entries.ends)
        # Of labels that are as probable the one that is best alone comes first, then as they are listed.
        order = np.lexsort((entries.label_ids != summary.label[cell], -entries.constituents, cell))
        cells = cell[order].astype(np.int32)
        over = np.zeros(len(cells))
        if any(objective.weight(Item.SPAN) for objective in self._objectives):
            rank = np.arange(len(cells)) - np.searchsorted(cells, cells)
            over = posteriors.brackets(int(rank.max(initial=0)) + 1, nary=True)[rank, cells]
        return _Constituents(*known, cells, entries.label_ids[order], entries.constituents[order], over)

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
        tree = best_bracketing(by_cell, length, self._tie, binary=False)
        if length == 1 and not len(tree.starts) and (constituents.label_ids != NO_LABEL).any():
            # The whole sentence has its label, whatever that costs.
            tree = Bracketing(float(by_cell[0]), *np.array([[0], [1], [-1]], np.int32))
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
