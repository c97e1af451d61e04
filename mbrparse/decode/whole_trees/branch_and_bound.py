"""Best-first branch and bound over brackets: the tree that is most probably right as a whole.

A *state* fixes some brackets, which every tree of it has, and forbids others. With masses(fixed) the
probability that the true tree agrees with all that is fixed and with one more bracket, for each bracket, no
tree of the state is better than the largest smallest of these over a binary tree: a tree is no more
probable than each of its spans. The state
with the largest bound is taken first; the tree that reaches its bound is judged; then the state is parted by
the bracket of that tree that is least probable: fixed in one part, forbidden in the other.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from mbrparse.decode.free.free_decoder import Bracketing, best_bracketing
from mbrparse.decode.whole_trees.whole_tree_kernels import largest_smallest
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.base.span_summary import cell_of
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

BracketT = TypeVar("BracketT")
StateT = TypeVar("StateT")


class Agreement(Protocol[BracketT, StateT]):
    """What a sentence's derivations say of brackets (start and end, perhaps with a label)."""

    length: int
    cost: int
    """What looking at all derivations once costs."""

    def start(self) -> StateT:
        """What is known where no bracket is fixed."""
        ...

    def within(self, known: StateT, bracket: BracketT) -> tuple[StateT, int]:
        """What is known where one more is, and what it cost to know."""
        ...

    def masses(self, known: StateT, forbidden: frozenset[BracketT]) -> FloatArray:
        """By cell, the probability of what is fixed and of the cell's best bracket, none of the forbidden."""
        ...

    def brackets(
        self, known: StateT, spans: list[tuple[int, int]], forbidden: frozenset[BracketT]
    ) -> list[BracketT]:
        """The best brackets of these spans, in their order."""
        ...

    def bound(self, known: StateT, forbidden: frozenset[BracketT]) -> float:
        """What no tree exceeds that has what is fixed and nothing forbidden; 1 if nothing is known."""
        ...

    def mass(self, known: StateT, tree: list[BracketT]) -> float:
        """The probability that the true tree agrees with a binary tree, which has all that is fixed."""
        ...


class Found(NamedTuple, Generic[BracketT]):
    """The best tree found, its mass, and what no tree's mass exceeds."""

    tree: list[BracketT]
    mass: float
    bound: float

    @property
    def certified(self) -> bool:
        """Whether no tree is better."""
        return self.mass >= self.bound * (1 - EQUAL)


class _State(NamedTuple, Generic[BracketT, StateT]):
    """The trees that have all fixed brackets and none of the forbidden."""

    order: tuple[float, int]  # the bound, negative, and a number of its own
    fixed: tuple[BracketT, ...]
    forbidden: frozenset[BracketT]
    known: StateT
    masses: FloatArray


class _Tree(NamedTuple, Generic[BracketT]):
    """A tree, and the mass of each of its brackets with what is fixed."""

    brackets: list[BracketT]
    masses: list[float]


@dataclass(slots=True)
class Limit:
    """How long to search: so much work or, where ``clock`` has a limit, its time, so many seconds at most."""

    work: float
    clock: Clock = NO_LIMIT
    seconds: float = math.inf
    _began: float = field(default_factory=time.monotonic)

    def passed(self, done: float) -> bool:
        """Whether that much work is too much."""
        if self.clock.seconds is None:
            return done >= self.work
        return bool(self.clock.stop[0]) or time.monotonic() - self._began >= self.seconds


class _Search(Generic[BracketT, StateT]):
    """What has been found so far."""

    def __init__(self, agreement: Agreement[BracketT, StateT], limit: Limit) -> None:
        self._agreement = agreement
        self._limit = limit
        self._work = 0.0
        self._judged: set[tuple[BracketT, ...]] = set()
        self.best: list[BracketT] = []
        self.most = -1.0

    @property
    def over(self) -> bool:
        return self._limit.passed(self._work)

    def judge(self, tree: list[BracketT], known: StateT) -> None:
        """Take a tree if it is better than all before it."""
        if tuple(tree) in self._judged:
            return
        self._judged.add(tuple(tree))
        mass = self._agreement.mass(known, tree)
        self._work += self._agreement.cost
        if mass > self.most * (1 + TIE):
            self.best, self.most = tree, mass

    def tree(
        self, known: StateT, masses: FloatArray, bound: float, forbidden: frozenset[BracketT]
    ) -> _Tree[BracketT]:
        """The tree that reaches a bound, judged."""
        found = bracketing_of_bound(masses, self._agreement.length, bound)
        spans = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
        brackets = self._agreement.brackets(known, spans, forbidden)
        self.judge(brackets, known)
        cells = cell_of(self._agreement.length, found.starts, found.ends)
        return _Tree(brackets, masses[cells].tolist())

    def within(self, known: StateT, bracket: BracketT) -> StateT:
        """What is known where one more bracket is fixed."""
        known, cost = self._agreement.within(known, bracket)
        self._work += cost
        return known

    def dive(self, known: StateT) -> None:
        """Fix what is most probable given what is fixed already, bracket by bracket, up to a whole tree."""
        fixed: set[BracketT] = set()
        while not self.over:
            tree = self.tree(known, self._agreement.masses(known, frozenset()), 0.0, frozenset())
            whole = max(tree.masses)
            rows = zip(tree.masses, tree.brackets, strict=True)
            doubtful = [row for row in rows if row[0] < whole * (1 - EQUAL) and row[1] not in fixed]
            if not doubtful:
                return
            chosen = max(doubtful, key=lambda row: row[0])[1]
            fixed.add(chosen)
            known = self.within(known, chosen)


def best_bound(masses: FloatArray, length: int) -> float:
    """The largest smallest mass of a binary tree's spans, by cell (span_summary); 1 for a single word."""
    if length < 2:
        return 1.0
    return float(largest_smallest(masses, length, np.zeros((length, length + 1))))


def bracketing_of_bound(masses: FloatArray, length: int, bound: float) -> Bracketing:
    """Of the trees whose spans all reach the bound, that with the largest product of masses."""
    reached = masses >= bound * (1 - _ROUNDING)
    gains = np.where(reached, np.log(np.maximum(masses, _LEAST)), _FORBIDDEN)
    return best_bracketing(gains, length)


def best_tree(
    agreement: Agreement[BracketT, StateT], candidates: list[list[BracketT]], limit: Limit
) -> Found[BracketT]:
    """The best tree of all that are judged; there is one candidate at least."""
    length, search = agreement.length, _Search(agreement, limit)
    known = agreement.start()
    masses = agreement.masses(known, frozenset())
    bound = min(best_bound(masses, length), agreement.bound(known, frozenset()))
    for candidate in candidates:
        search.judge(candidate, known)
        if search.most >= bound * (1 - EQUAL) or search.over:
            return Found(search.best, search.most, max(bound, search.most))
    search.dive(known)
    number = itertools.count()
    heap: list[_State[BracketT, StateT]] = []

    def push(state: _State[BracketT, StateT]) -> None:
        nested = agreement.bound(state.known, state.forbidden)
        reached = min(best_bound(state.masses, length), nested, bound)
        heapq.heappush(heap, state._replace(order=(-reached, next(number))))

    push(_State((0.0, 0), (), frozenset(), known, masses))
    while heap:
        state = heap[0]
        bound = min(bound, -state.order[0])
        if search.most >= bound * (1 - EQUAL) or search.over:
            return Found(search.best, search.most, max(bound, search.most))
        heapq.heappop(heap)
        least = best_bound(state.masses, length)
        tree = search.tree(state.known, state.masses, least, state.forbidden)
        rows = zip(tree.masses, tree.brackets, strict=True)
        free = [row for row in rows if row[1] not in state.fixed]
        if not free:
            continue  # the one tree that is left has been judged
        chosen = min(free, key=lambda row: row[0])[1]
        without = state.forbidden | {chosen}
        push(state._replace(forbidden=without, masses=agreement.masses(state.known, without)))
        known = search.within(state.known, chosen)
        masses = agreement.masses(known, state.forbidden)
        push(state._replace(fixed=(*state.fixed, chosen), known=known, masses=masses))
    return Found(search.best, search.most, search.most)
