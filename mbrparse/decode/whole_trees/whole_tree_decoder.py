"""The decoder of trees that are right or wrong as a whole.

The best tree is sought among binary completions of the commonest sampled trees and by branch and bound from
there; finding it is NP-complete (Goodman 1996, Table 3), so the search is limited, and what it has found
comes with a bound. A completion has all brackets of a sampled tree: with completions the search for uncrossed
trees begins.

A *state* of the search fixes some brackets, which every tree of it has, and forbids others. With
masses(fixed) the probability that the true tree agrees with all that is fixed and with one more bracket, for
each bracket, no tree of the state is better than the largest smallest of these over a binary tree: a tree is
no more probable than each of its spans. The state with the largest bound is taken first; the tree that
reaches its bound is judged; then the state is parted by the bracket of that tree that is least probable:
fixed in one part, forbidden in the other.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbrparse.charts.chart import Chart
from mbrparse.charts.crossing.consistency import Consistency
from mbrparse.charts.exhaustive.forest_charts import ForestCharts
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats
from mbrparse.charts.spans import cell_of
from mbrparse.decode.candidates.samples import DerivationSampler, SampledTree, Samples
from mbrparse.decode.decoders import Certificate, Decoded
from mbrparse.decode.free import LEAST, best_preterminals, bracketing, spans_of
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.whole_trees.agreements import Agreement, Bracket, SameTree, Uncrossed, crossing_table
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG, FloatArray

# Edges that may be looked at: some tenths of a second.
WORK = 3e7
SAMPLES = 1000
SEED = 0
# So many of the commonest sampled trees are completed, and of these so many are judged.
COMPLETED = 200
JUDGED = 20
# The best tree and the bound are equal where they differ by no more than this, relative.
EQUAL = 1e-9
# So much better, relative, a later tree must be.
_BETTER = 1e-12
# Rounding may have brought a mass a little below what it was made of.
_ROUNDING = 1e-12
# What spans are worth that may not be chosen.
_FORBIDDEN = -1e6
_NONE = frozenset[Bracket]()


class BestTree(NamedTuple):
    """The best tree found, its mass, and what no tree's mass exceeds."""

    tree: list[Bracket]
    mass: float
    bound: float

    @property
    def certified(self) -> bool:
        """Whether no tree is better."""
        return self.mass >= self.bound * (1 - EQUAL)


class _State(NamedTuple):
    """The trees that have all fixed brackets and none of the forbidden."""

    order: tuple[float, int]  # the bound, negative, and a number of its own
    fixed: tuple[Bracket, ...]
    forbidden: frozenset[Bracket]
    known: Any  # of the agreement
    masses: FloatArray


class _Search:
    """A search for the tree that most probably agrees with the true one."""

    def __init__(self, agreement: Agreement[Any], work: float) -> None:
        self._agreement, self._work = agreement, work
        self._judged: set[tuple[Bracket, ...]] = set()
        self._number = itertools.count()
        self._heap: list[_State] = []
        self.best: list[Bracket] = []
        self.most = -1.0
        self.bound = math.inf  # which no tree exceeds

    def run(self, candidates: Sequence[list[Bracket]]) -> None:
        """Judge trees until none can be better, or the work is done."""
        agreement = self._agreement
        known = agreement.start()
        masses = agreement.masses(known, _NONE)
        self.bound = min(best_bound(masses, agreement.length), agreement.bound(known, _NONE))
        for candidate in candidates:
            self._judge(candidate, known)
            if self._is_over(self.bound):
                return
        self._dive(known)
        self._push(_State((0.0, 0), (), _NONE, known, masses))
        while self._heap:
            self.bound = min(self.bound, -self._heap[0].order[0])
            if self._is_over(self.bound):
                return
            state = heapq.heappop(self._heap)
            least = best_bound(state.masses, agreement.length)
            tree = self._tree(state.known, state.masses, least, state.forbidden)
            free = [row for row in tree if row[1] not in state.fixed]
            if not free:
                continue  # the one tree that is left has been judged
            _, chosen = min(free, key=lambda row: row[0])
            without = state.forbidden | {chosen}
            self._push(state._replace(forbidden=without, masses=agreement.masses(state.known, without)))
            known = agreement.within(state.known, chosen)
            masses = agreement.masses(known, state.forbidden)
            self._push(state._replace(fixed=(*state.fixed, chosen), known=known, masses=masses))
        self.bound = self.most

    def _push(self, state: _State) -> None:
        nested = self._agreement.bound(state.known, state.forbidden)
        reached = min(best_bound(state.masses, self._agreement.length), nested, self.bound)
        heapq.heappush(self._heap, state._replace(order=(-reached, next(self._number))))

    def _is_over(self, bound: float) -> bool:
        """Whether no tree can be better than the best, or the work is done."""
        return self.most >= bound * (1 - EQUAL) or self._agreement.work >= self._work

    def _judge(self, tree: list[Bracket], known: Any) -> None:
        """Take a tree if it is better than all before it."""
        if tuple(tree) in self._judged:
            return
        self._judged.add(tuple(tree))
        mass = self._agreement.mass(known, tree)
        if mass > self.most * (1 + _BETTER):
            self.best, self.most = tree, mass

    def _tree(
        self, known: Any, masses: FloatArray, bound: float, forbidden: frozenset[Bracket]
    ) -> list[tuple[float, Bracket]]:
        """The brackets of the tree that reaches a bound, which is judged, each after its mass."""
        length = self._agreement.length
        # Of the trees whose spans all reach the bound, that with the largest product of masses.
        reached = masses >= bound * (1 - _ROUNDING)
        spans = bracketing(np.where(reached, np.log(np.maximum(masses, LEAST)), _FORBIDDEN), length)
        brackets = self._agreement.brackets(known, spans, forbidden)
        self._judge(brackets, known)
        cells = [cell_of(length, start, end) for start, end in spans]
        return list(zip(masses[cells].tolist(), brackets, strict=True))

    def _dive(self, known: Any) -> None:
        """Fix what is most probable given what is fixed already, bracket by bracket, up to a whole tree."""
        fixed: set[Bracket] = set()
        while not self._is_over(math.inf):
            tree = self._tree(known, self._agreement.masses(known, _NONE), 0.0, _NONE)
            whole = max(mass for mass, _ in tree)
            doubtful = [row for row in tree if row[0] < whole * (1 - EQUAL) and row[1] not in fixed]
            if not doubtful:
                return
            _, chosen = max(doubtful, key=lambda row: row[0])
            fixed.add(chosen)
            known = self._agreement.within(known, chosen)


def best_tree(agreement: Agreement[Any], candidates: Sequence[list[Bracket]], work: float = WORK) -> BestTree:
    """The best tree of all that are judged before so much work is done; one candidate at least is given."""
    search = _Search(agreement, work)
    search.run(candidates)
    return BestTree(search.best, search.most, max(search.bound, search.most))


def best_bound(masses: FloatArray, length: int) -> float:
    """The largest smallest mass of a binary tree's spans, by cell (charts.spans); 1 for a single word."""
    if length < 2:
        return 1.0
    return float(largest_smallest(masses, length, np.zeros((length, length + 1))))


def completions(
    trees: list[SampledTree], gains: FloatArray, length: int
) -> list[tuple[list[Bracket], float]]:
    """Binary trees that have all brackets of a sampled tree, those first that fewest samples cross.

    Each comes with the number of samples that do not.
    """
    weights = np.array([len(tree.drawn) for tree in trees], np.float32)
    crossing = crossing_table(length).astype(np.float32)
    brackets = np.zeros((len(trees), len(gains)), np.float32)
    for row, tree in enumerate(trees):
        brackets[row, cell_of(length, tree.nodes[:, 0], tree.nodes[:, 1])] = 1.0
    forbidden = brackets[:COMPLETED] @ crossing > 0
    found = {tuple(bracketing(np.where(row, _FORBIDDEN, gains), length)): None for row in forbidden}
    spans = np.array(list(found))
    held = np.zeros((len(found), len(gains)), np.float32)
    np.put_along_axis(held, cell_of(length, spans[:, :, 0], spans[:, :, 1]), 1.0, axis=1)
    estimate = (held @ crossing @ brackets.T == 0) @ weights
    order = np.argsort(-estimate, kind="stable")[:JUDGED]
    return [(list(map(tuple, spans[place].tolist())), float(estimate[place])) for place in order]


class WholeTreeDecoder:
    """Decodes charts of one grammar for objectives of whole trees."""

    def __init__(self, grammar: PCFG, objectives: Sequence[Objective], forests: ForestCharts) -> None:
        """Raises GrammarError for the most probable tree of a grammar with unary rules."""
        self._objectives = objectives
        if grammar.has_unaries and any(row.weight(Item.PROJECTED_TREE) for row in objectives):
            raise GrammarError(
                "most-probable-tree takes no grammar with unary rules",
                remedy="train on trees without: mbrparse binarize --unary top, bottom or join",
            )
        self._forests, self._sampler, self._grammar = forests, DerivationSampler(forests), grammar
        self._of_constituents = Consistency(grammar)
        self._of_nodes = Consistency(grammar, np.zeros(len(grammar.symbols), np.bool_))

    def decode(self, chart: Chart, posteriors: Posteriors) -> list[Decoded]:
        """The best trees found."""
        preterminals, labels = best_preterminals(posteriors), self._grammar.labels
        samples = self._sampler.samples(chart.terminal_ids, SAMPLES, SEED) if chart.length > 2 else None
        decoded = []
        for objective in self._objectives:
            labelled = bool(objective.weight(Item.PROJECTED_TREE))
            found = self._best(chart, samples, bool(objective.weight(Item.CONSISTENT_TREE)), labelled)
            if labelled:
                spans = [(start, end, labels[shown]) for start, end, shown in found.tree]
            else:
                spans = list(spans_of(found.tree, chart.length, posteriors))
            certificate = Certificate(found.bound, found.certified)
            decoded.append(Decoded(spans, preterminals, found.mass, certificate=certificate))
        return decoded

    def _best(self, chart: Chart, samples: Samples | None, uncrossed: bool, labelled: bool) -> BestTree:
        """The tree that the true one most probably does not cross, or equals: in its brackets or labels."""
        ids, length = chart.terminal_ids, chart.length
        if uncrossed:
            agreement = Uncrossed(self._of_constituents, self._of_constituents.forest(self._forests, ids))
            gains = np.log(np.maximum(agreement.start().joint, LEAST))
            candidates = [bracketing(gains, length)]
            if samples is not None:
                # What a sampled tree shows of a symbol: continuations are no constituents.
                shown = np.where(self._of_constituents.continuation, -1, 0).astype(np.int32)
                candidates += [tree for tree, _ in completions(samples.trees(shown), gains, length)]
            return best_tree(agreement, candidates)
        label = self._grammar.label_ids if labelled else np.zeros_like(self._grammar.label_ids)
        same = SameTree(self._of_nodes.forest(self._forests, ids), label)
        start = same.start()
        gains = np.log(np.maximum(same.masses(start, _NONE), LEAST))
        candidates = [same.brackets(start, bracketing(gains, length), _NONE)]
        if samples is not None:
            candidates += [list(map(tuple, tree.nodes.tolist())) for tree in samples.trees(label)[:JUDGED]]
        return best_tree(same, candidates)


@kernel
def largest_smallest(masses: Floats, length: int, bound: Floats) -> float:
    """The largest smallest mass, by cell, of a binary tree's spans; ``bound`` [start, end] is scratch."""
    for start in range(length - 1, -1, -1):
        row = start * length - start * (start - 1) // 2 - start - 1
        bound[start, start + 1] = 1.0
        for end in range(start + 2, length + 1):
            best = 0.0
            for split in range(start + 1, end):
                best = max(best, min(bound[start, split], bound[split, end]))
            bound[start, end] = min(best, masses[row + end])
    return float(bound[0, length])
