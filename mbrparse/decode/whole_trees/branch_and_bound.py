"""Best-first branch and bound over brackets: the tree that is most probably right as a whole.

A *state* fixes some brackets, which every tree of it has, and forbids others. With masses(fixed) the
probability that the true tree agrees with all that is fixed and with one more bracket, for each bracket, no
tree of the state is better than the largest smallest of these over a binary tree: a tree is no more probable
than each of its spans. The state with the largest bound is taken first; the tree that reaches its bound is
judged; then the state is parted by the bracket of that tree that is least probable: fixed in one part,
forbidden in the other.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbrparse.charts.spans import cell_of
from mbrparse.decode.free import bracketing
from mbrparse.decode.whole_trees.agreements import Agreement, Bracket
from mbrparse.decode.whole_trees.whole_tree_kernels import largest_smallest
from mbrparse.grammar.pcfg import FloatArray

# Found and bound are equal where they differ by no more than this, relative.
EQUAL = 1e-9
# So much better, relative, a later tree must be.
TIE = 1e-12
# What spans are worth that no tree of the largest bound has.
_FORBIDDEN = -1e6
_LEAST = 1e-300
# Rounding may have brought a mass a little below what it was made of.
_ROUNDING = 1e-12


class Found(NamedTuple):
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
    """What has been found so far."""

    def __init__(self, agreement: Agreement[Any], work: float) -> None:
        self._agreement = agreement
        self._work = work
        self._judged: set[tuple[Bracket, ...]] = set()
        self.best: list[Bracket] = []
        self.most = -1.0
        self.bound = math.inf  # which no tree exceeds

    def is_over(self, bound: float) -> bool:
        """Whether no tree can be better than the best, or the limit is reached."""
        return self.most >= bound * (1 - EQUAL) or self._agreement.work >= self._work

    def judge(self, tree: list[Bracket], known: Any) -> None:
        """Take a tree if it is better than all before it."""
        if tuple(tree) in self._judged:
            return
        self._judged.add(tuple(tree))
        mass = self._agreement.mass(known, tree)
        if mass > self.most * (1 + TIE):
            self.best, self.most = tree, mass

    def tree(
        self, known: Any, masses: FloatArray, bound: float, forbidden: frozenset[Bracket]
    ) -> list[tuple[float, Bracket]]:
        """The brackets of the tree that reaches a bound, which is judged, each after its mass."""
        length = self._agreement.length
        # Of the trees whose spans all reach the bound, that with the largest product of masses.
        reached = masses >= bound * (1 - _ROUNDING)
        gains = np.where(reached, np.log(np.maximum(masses, _LEAST)), _FORBIDDEN)
        spans = bracketing(gains, length)
        brackets = self._agreement.brackets(known, spans, forbidden)
        self.judge(brackets, known)
        return list(
            zip(masses[[cell_of(length, start, end) for start, end in spans]].tolist(), brackets, strict=True)
        )

    def dive(self, known: Any) -> None:
        """Fix what is most probable given what is fixed already, bracket by bracket, up to a whole tree."""
        fixed: set[Bracket] = set()
        while not self.is_over(math.inf):
            tree = self.tree(known, self._agreement.masses(known, frozenset()), 0.0, frozenset())
            whole = max(mass for mass, _ in tree)
            doubtful = [row for row in tree if row[0] < whole * (1 - EQUAL) and row[1] not in fixed]
            if not doubtful:
                return
            _, chosen = max(doubtful, key=lambda row: row[0])
            fixed.add(chosen)
            known = self._agreement.within(known, chosen)


def best_bound(masses: FloatArray, length: int) -> float:
    """The largest smallest mass of a binary tree's spans, by cell (span_summary); 1 for a single word."""
    if length < 2:
        return 1.0
    return float(largest_smallest(masses, length, np.zeros((length, length + 1))))


def best_tree(
    agreement: Agreement[Any], candidates: Sequence[list[Bracket]], work: float = math.inf
) -> Found:
    """The best tree of all that are judged before so much work is done; one candidate at least is given."""
    search = _Search(agreement, work)
    _judge(search, agreement, candidates)
    return Found(search.best, search.most, max(search.bound, search.most))


def _judge(search: _Search, agreement: Agreement[Any], candidates: Sequence[list[Bracket]]) -> None:
    """Judge trees until none can be better, or the limit is reached."""
    length = agreement.length
    known = agreement.start()
    masses = agreement.masses(known, frozenset())
    search.bound = min(best_bound(masses, length), agreement.bound(known, frozenset()))
    for candidate in candidates:
        search.judge(candidate, known)
        if search.is_over(search.bound):
            return
    search.dive(known)
    number = itertools.count()
    heap: list[_State] = []

    def push(state: _State) -> None:
        nested = agreement.bound(state.known, state.forbidden)
        reached = min(best_bound(state.masses, length), nested, search.bound)
        heapq.heappush(heap, state._replace(order=(-reached, next(number))))

    push(_State((0.0, 0), (), frozenset(), known, masses))
    while heap:
        search.bound = min(search.bound, -heap[0].order[0])
        if search.is_over(search.bound):
            return
        state = heapq.heappop(heap)
        least = best_bound(state.masses, length)
        tree = search.tree(state.known, state.masses, least, state.forbidden)
        free = [row for row in tree if row[1] not in state.fixed]
        if not free:
            continue  # the one tree that is left has been judged
        _, chosen = min(free, key=lambda row: row[0])
        without = state.forbidden | {chosen}
        push(state._replace(forbidden=without, masses=agreement.masses(state.known, without)))
        known = agreement.within(state.known, chosen)
        masses = agreement.masses(known, state.forbidden)
        push(state._replace(fixed=(*state.fixed, chosen), known=known, masses=masses))
    search.bound = search.most
