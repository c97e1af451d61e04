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

What a sentence's derivations say of brackets: whether the true tree crosses them, or has their labels.
"""

from __future__ import annotations

import heapq
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive import factory, top_down
from mbrparse.charts.exhaustive.consistency import Consistency, MaskedForest, nodes_of_ways
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.charts.spans import cell_of
from mbrparse.decode import span_posteriors
from mbrparse.decode.candidates.samples import SampledTree, Samples, forest_samples
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_decoders import LEAST, best_preterminals, bracketing, spans_of
from mbrparse.decode.trees import Certificate, Decoded
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG, FloatArray

# A graph of what is left is made where it is so much smaller, and while all of them have so many edges.
SMALLER = 0.4
ROOM = 20_000_000

BoolArray = npt.NDArray[np.bool_]
# Start and end, perhaps with a label's id.
Bracket = tuple[int, ...]
NO_LABEL = -1


@lru_cache(maxsize=4)
def crossing_table(length: int) -> BoolArray:
    """Which spans cross, both by cell (span_summary)."""
    starts, ends = np.triu_indices(length)
    ends = ends + 1
    inside = (starts[:, None] < starts) & (starts < ends[:, None]) & (ends[:, None] < ends)
    crossing: BoolArray = inside | inside.T
    return crossing


class Known(NamedTuple):
    """What is known where some brackets are fixed, which nothing may cross.

    ``weight`` is the probability of the derivations of ``forest``, ``closed`` are the cells that it holds
    closed. ``joint`` has by cell the probability that nothing crosses what is fixed, nor the cell's span (0
    for spans that no tree with the fixed brackets has).
    """

    forest: MaskedForest
    closed: BoolArray
    weight: float
    joint: FloatArray


class KnownTree(NamedTuple):
    """What is known where some labelled brackets are fixed.

    ``alive`` are the nodes that may be there still, ``joint`` has the probability of each bracket together
    with all that is fixed.
    """

    alive: BoolArray
    joint: FloatArray


class Agreement(ABC):
    """How probably a sentence's true tree agrees with brackets; what is known is of a type of its own."""

    def __init__(self, forest: MaskedForest, brackets: Sequence[Bracket]) -> None:
        """``brackets`` are all that there are, in the order of cells (span_summary)."""
        self.length = forest.length
        self.work = 0
        """How many edges have been looked at since."""
        self._forest = forest
        self._brackets = brackets
        self._cell = np.array([cell_of(self.length, start, end) for start, end, *_ in brackets])
        self._place_of = {bracket: place for place, bracket in enumerate(brackets)}

    @abstractmethod
    def start(self) -> Any:
        """What is known where no bracket is fixed."""

    @abstractmethod
    def within(self, known: Any, bracket: Bracket) -> Any:
        """What is known where one more is."""

    @abstractmethod
    def mass(self, known: Any, tree: Sequence[Bracket]) -> float:
        """The probability that the true tree agrees with a binary tree, which has all that is fixed."""

    def bound(self, known: Any, forbidden: frozenset[Bracket]) -> float:
        """What no tree exceeds that has what is fixed and nothing forbidden; 1 if nothing is known."""
        return 1.0

    def masses(self, known: Any, forbidden: frozenset[Bracket]) -> FloatArray:
        """By cell, the probability of what is fixed and of the cell's best bracket, none of the forbidden."""
        masses = np.zeros(self.length * (self.length + 1) // 2)
        np.maximum.at(masses, self._cell, self._left(known, forbidden))
        return masses

    def brackets(self, known: Any, spans: Iterable[Bracket], forbidden: frozenset[Bracket]) -> list[Bracket]:
        """The best brackets of these spans, in their order."""
        joint = self._left(known, forbidden)
        chosen: list[Bracket] = []
        for start, end in spans:
            cell = cell_of(self.length, start, end)
            first, last = np.searchsorted(self._cell, [cell, cell + 1]).tolist()
            best = first + int(joint[first:last].argmax()) if last > first else -1
            chosen.append(self._brackets[best] if best >= 0 else (start, end, NO_LABEL))
        return chosen

    def _left(self, known: Any, forbidden: frozenset[Bracket]) -> FloatArray:
        """The joint probabilities by bracket, without what is forbidden."""
        joint: FloatArray = known.joint
        if not forbidden:
            return joint
        joint = joint.copy()
        joint[[self._place_of[bracket] for bracket in forbidden]] = 0.0
        return joint


class Uncrossed(Agreement):
    """Brackets agree with the true tree where none of its constituents crosses any of them."""

    def __init__(self, consistency: Consistency, forest: MaskedForest) -> None:
        n = forest.length
        super().__init__(forest, [(start, end) for start in range(n) for end in range(start + 1, n + 1)])
        self._consistency = consistency
        self._room = ROOM

    def start(self) -> Known:
        """Where nothing is fixed."""
        forest = self._forest
        return Known(forest, forest.none, 1.0, self._consistency.joint(forest, forest.none))

    def within(self, known: Known, bracket: Bracket) -> Known:
        """The same with one more bracket fixed."""
        consistency, forest, weight = self._consistency, known.forest, known.weight
        cost = 3 * forest.cost
        start, end = bracket
        closed = known.closed | forest.cells_across([(start, end)])
        if consistency.one_pass:
            mass, given = forest.conditioned(closed)
            joint = weight * consistency.joint_of(forest, mass, given)
            left = forest.edges_left(given)
            if 0 < left < min(SMALLER * forest.cost, self._room) and not forest.has_chains:
                # What comes of this state has less to look at.
                self._room -= left
                weight *= mass
                forest = forest.restricted(given)
                closed = forest.none
        else:
            joint = weight * consistency.joint(forest, closed)
            cost *= len(joint)
        self.work += cost
        joint[(known.joint == 0) | crossing_table(self.length)[self._place_of[bracket]]] = 0.0
        return Known(forest, closed, weight, joint)

    def mass(self, known: Known, tree: Sequence[Bracket]) -> float:
        """The probability that nothing crosses any of them."""
        self.work += self._forest.cost
        across = known.forest.cells_across((start, end) for start, end in tree)
        return known.weight * known.forest.mass(known.closed | across)


class SameTree(Agreement):
    """Labelled brackets (start, end, label id) agree with the true tree where it has them all."""

    def __init__(self, masked: MaskedForest, label: Ints) -> None:
        """``label`` [symbol] is what a tree shows; over single terminals it shows nothing."""
        forest = masked.forest
        wide = forest.node_end - forest.node_start > 1
        label_of = np.where(wide, label[forest.node_symbol], NO_LABEL)
        looks = np.column_stack([forest.node_start, forest.node_end, label_of])
        distinct, look = np.unique(looks, axis=0, return_inverse=True)
        super().__init__(masked, list(map(tuple, distinct.tolist())))
        self._look: Ints = look.reshape(-1).astype(np.int32)
        """By node, its bracket."""
        self._shows_nothing = distinct[:, 2] == NO_LABEL
        self._edges = _edges_by_look(forest, self._look)

    def start(self) -> KnownTree:
        """What is known where nothing is fixed."""
        return self._known(np.ones(len(self._look), np.bool_))

    def within(self, known: KnownTree, bracket: Bracket) -> KnownTree:
        """The same with one more bracket fixed."""
        self.work += 2 * self._forest.cost
        return self._known(known.alive & self._allowed([bracket]))

    def bound(self, known: KnownTree, forbidden: frozenset[Bracket]) -> float:
        """How probable a tree of what is left can be at most, if each node may choose what is below it.

        U(node) is at least the probability of the node's derivations that look like any one tree over its
        span: of the ways to split the span (and, where labels count, to label its parts) the largest sum over
        edges of share * U * U. What is doubtful in different parts of a sentence is multiplied, as it is in
        the trees. With unary rules there is no bound below one.
        """
        if self._forest.has_chains:
            return 1.0
        forest = self._forest.forest
        alive = known.alive & ~np.isin(self._look, [self._place_of.get(one, -1) for one in forbidden])
        best = np.where(forest.node_end - forest.node_start > 1, 0.0, 1.0)
        nest_bounds(*self._edges, self._look, alive, best)
        roots = slice(forest.node_first[-2], forest.node_first[-1])
        return min(float(np.bincount(self._look[roots], forest.root[roots] * best[roots], 1).max()), 1.0)

    def mass(self, known: KnownTree, tree: Sequence[Bracket]) -> float:
        """The probability that the true tree looks so."""
        self.work += self._forest.cost
        return self._forest.mass(self._forest.none, known.alive & self._allowed(tree))

    def _known(self, alive: BoolArray) -> KnownTree:
        mass, given = self._forest.conditioned(self._forest.none, alive)
        joint = mass * np.bincount(self._look, given.g_bottom, len(self._brackets))
        return KnownTree(alive, np.where(self._shows_nothing, 0.0, joint))

    def _allowed(self, brackets: Sequence[Bracket]) -> BoolArray:
        """The nodes that stand beside these brackets, or are one of them."""
        crossing = crossing_table(self.length)
        cells = [cell_of(self.length, start, end) for start, end, _ in brackets]
        barred: BoolArray = np.logical_or.reduce(crossing[cells])
        barred[cells] = True
        allowed: BoolArray = ~barred[self._cell]
        allowed[[self._place_of[one] for one in brackets if one in self._place_of]] = True
        return allowed[self._look]


def _edges_by_look(forest: top_down.TopDownForest, look: Ints) -> tuple[Ints, Ints, Ints, FloatArray]:
    """The edges of each rule (parent, left, right, share): those of one look one after the other."""
    binary = np.flatnonzero(forest.way_to >= 0)
    sizes = np.diff(forest.edge_first)[forest.way_to[binary]]
    begin = np.repeat(forest.edge_first[forest.way_to[binary]] - np.cumsum(sizes) + sizes, sizes)
    edge = begin + np.arange(len(begin))
    way = np.repeat(binary, sizes)
    parent, left, right = nodes_of_ways(forest)[way], forest.edge_left[edge], forest.edge_right[edge]
    share = forest.way_share[way] * forest.edge_share[edge]
    order = np.lexsort((look[right], look[left], parent))
    return parent[order], left[order], right[order], share[order]


@kernel
def nest_bounds(
    parents: Ints,
    lefts: Ints,
    rights: Ints,
    shares: FloatArray,
    look: Ints,
    alive: BoolArray,
    best: FloatArray,
) -> None:
    """Bound each node's best tree; ``best`` [nodes] is one over single terminals, and is filled above them.

    Edges are those of one rule each, in the order of their parent and of the looks of their children.
    """
    place = 0
    while place < len(parents):
        parent, left, right = parents[place], look[lefts[place]], look[rights[place]]
        total = 0.0
        while place < len(parents):
            if parents[place] != parent or look[lefts[place]] != left or look[rights[place]] != right:
                break
            total += shares[place] * best[lefts[place]] * best[rights[place]]
            place += 1
        if alive[parent]:
            best[parent] = max(best[parent], total)


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
    """The best tree found, its mass, what no tree exceeds, and whether it is certain to be the best."""

    tree: list[Bracket]
    mass: float
    bound: float
    certified: bool


class _State(NamedTuple):
    """The trees that have all fixed brackets and none of the forbidden."""

    order: tuple[float, int]  # the bound, negative, and a number of its own
    fixed: tuple[Bracket, ...]
    forbidden: frozenset[Bracket]
    known: Any  # of the agreement
    masses: FloatArray


class _Search:
    """A search for the tree that most probably agrees with the true one."""

    def __init__(self, agreement: Agreement) -> None:
        self._agreement = agreement
        self._judged: set[tuple[Bracket, ...]] = set()
        self._number = itertools.count()
        self._heap: list[_State] = []
        self.best: list[Bracket] = []
        self.most = -1.0

    def run(self, candidates: Sequence[list[Bracket]]) -> BestTree:
        """The best tree of all that are judged; one candidate at least is given.

        Trees are judged until none can be better, or the work is done.
        """
        agreement = self._agreement
        known = agreement.start()
        masses = agreement.masses(known, _NONE)
        bound = min(best_bound(masses, agreement.length), agreement.bound(known, _NONE))
        for candidate in candidates:
            self._judge(candidate, known)
            if self._is_over(bound):
                return self._best(bound)
        self._dive(known)
        self._push(_State((0.0, 0), (), _NONE, known, masses), bound)
        while self._heap:
            bound = min(bound, -self._heap[0].order[0])
            if self._is_over(bound):
                return self._best(bound)
            state = heapq.heappop(self._heap)
            least = best_bound(state.masses, agreement.length)
            tree = self._tree(state.known, state.masses, least, state.forbidden)
            free = [row for row in tree if row[1] not in state.fixed]
            if not free:
                continue  # the one tree that is left has been judged
            _, chosen = min(free, key=lambda row: row[0])
            without = state.forbidden | {chosen}
            masses = agreement.masses(state.known, without)
            self._push(state._replace(forbidden=without, masses=masses), bound)
            known = agreement.within(state.known, chosen)
            masses = agreement.masses(known, state.forbidden)
            self._push(state._replace(fixed=(*state.fixed, chosen), known=known, masses=masses), bound)
        return self._best(self.most)

    def _best(self, bound: float) -> BestTree:
        bound = max(bound, self.most)
        return BestTree(self.best, self.most, bound, self.most >= bound * (1 - EQUAL))

    def _push(self, state: _State, bound: float) -> None:
        nested = self._agreement.bound(state.known, state.forbidden)
        reached = min(best_bound(state.masses, self._agreement.length), nested, bound)
        heapq.heappush(self._heap, state._replace(order=(-reached, next(self._number))))

    def _is_over(self, bound: float) -> bool:
        """Whether no tree can be better than the best, or the work is done."""
        return self.most >= bound * (1 - EQUAL) or self._agreement.work >= WORK

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

    def __init__(self, grammar: PCFG, objectives: Sequence[Objective], forests: factory.ForestCharts) -> None:
        """Raises GrammarError for the most probable tree of a grammar with unary rules."""
        self._objectives = objectives
        if grammar.has_unaries and any(row.weight(Item.PROJECTED_TREE) for row in objectives):
            raise GrammarError(
                "most-probable-tree takes no grammar with unary rules",
                remedy="train on trees without: mbrparse binarize --unary top, bottom or join",
            )
        self._forests, self._grammar = forests, grammar
        self._of_constituents = Consistency(grammar)
        self._of_nodes = Consistency(grammar, np.zeros(len(grammar.symbols), np.bool_))

    def decode(self, chart: Chart, posteriors: span_posteriors.Posteriors) -> list[Decoded]:
        """The best trees found."""
        preterminals, labels = best_preterminals(posteriors), self._grammar.labels
        samples = None
        if chart.length > 2:
            samples = forest_samples(self._forests, chart.terminal_ids, SAMPLES, SEED)
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
            return _Search(agreement).run(candidates)
        label = self._grammar.label_ids if labelled else np.zeros_like(self._grammar.label_ids)
        same = SameTree(self._of_nodes.forest(self._forests, ids), label)
        start = same.start()
        gains = np.log(np.maximum(same.masses(start, _NONE), LEAST))
        candidates = [same.brackets(start, bracketing(gains, length), _NONE)]
        if samples is not None:
            candidates += [list(map(tuple, tree.nodes.tolist())) for tree in samples.trees(label)[:JUDGED]]
        return _Search(same).run(candidates)


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
