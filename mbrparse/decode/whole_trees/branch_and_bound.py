"""Best-first branch and bound over brackets: the tree that is most probably right as a whole.

A *state* fixes some brackets, which every tree of it has, and forbids others. With masses(fixed) the
probability that the true tree agrees with all that is fixed and with one more bracket, for each bracket, no
tree of the state is better than the largest smallest of these over a binary tree (``bottleneck``). The state
with the largest bound is taken first; the tree that reaches its bound is judged; then the state is parted by
the bracket of that tree that is least probable: fixed in one part, forbidden in the other.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from mbrparse.decode.whole_trees.bottleneck import best_bound, bracketing_of_bound
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import FloatArray

# Found and bound are equal where they differ by no more than this, relative.
EQUAL = 1e-9

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


@dataclass(slots=True)
class Limit:
    """How long to search: so much work or, where it is given, so many seconds from now on."""

    work: float
    seconds: float | None = None
    _began: float = field(default_factory=time.perf_counter)

    def passed(self, done: float) -> bool:
        """Whether that much work is too much."""
        if self.seconds is None:
            return done >= self.work
        return time.perf_counter() - self._began >= self.seconds


def best_tree(
    agreement: Agreement[BracketT, StateT], candidates: list[list[BracketT]], limit: Limit
) -> Found[BracketT]:
    """The best tree of all that are judged; there is one candidate at least."""
    length, done = agreement.length, 0.0
    best, most = candidates[0], -1.0
    judged: set[tuple[BracketT, ...]] = set()

    def judge(tree: list[BracketT], known: StateT) -> None:
        nonlocal best, most, done
        if tuple(tree) not in judged:
            judged.add(tuple(tree))
            done += agreement.cost
            mass = agreement.mass(known, tree)
            if mass > most * (1 + 1e-12):
                best, most = tree, mass

    def dive() -> None:
        """Fix what is most probable given what is fixed already, bracket by bracket, up to a whole tree."""
        nonlocal done
        now, last, fixed = known, masses, set[BracketT]()
        while not limit.passed(done):
            found = bracketing_of_bound(last, length, 0.0)
            spans = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
            tree = agreement.brackets(now, spans, frozenset())
            judge(tree, now)
            values = last[[cell_of(length, *span) for span in spans]]
            whole = float(values.max())
            left = [
                (v, b)
                for v, b in zip(values.tolist(), tree, strict=True)
                if v < whole * (1 - EQUAL) and b not in fixed
            ]
            if not left:
                return
            chosen = max(left)[1]
            fixed.add(chosen)
            now, cost = agreement.within(now, chosen)
            last = agreement.masses(now, frozenset())
            done += cost

    known = agreement.start()
    masses = agreement.masses(known, frozenset())
    bound = best_bound(masses, length)
    for candidate in candidates:
        judge(candidate, known)
        if most >= bound * (1 - EQUAL) or limit.passed(done):
            break
    dive()
    number = itertools.count()
    heap: list[_State[BracketT, StateT]] = []

    def push(state: _State[BracketT, StateT]) -> None:
        heapq.heappush(heap, state._replace(order=(-best_bound(state.masses, length), next(number))))

    push(_State((0.0, 0), (), frozenset(), known, masses))
    while heap:
        state = heap[0]
        bound = min(bound, -state.order[0])
        if most >= bound * (1 - EQUAL) or limit.passed(done):
            return Found(best, most, max(bound, most))
        heapq.heappop(heap)
        found = bracketing_of_bound(state.masses, length, bound)
        spans = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
        tree = agreement.brackets(state.known, spans, state.forbidden)
        judge(tree, state.known)
        open_places = [place for place, bracket in enumerate(tree) if bracket not in state.fixed]
        if not open_places:
            continue  # the one tree that is left has been judged
        cells = [cell_of(length, *spans[place]) for place in open_places]
        chosen = tree[open_places[int(state.masses[cells].argmin())]]
        without = state.forbidden | {chosen}
        push(state._replace(forbidden=without, masses=agreement.masses(state.known, without)))
        known, cost = agreement.within(state.known, chosen)
        done += cost
        masses = agreement.masses(known, state.forbidden)
        push(state._replace(fixed=(*state.fixed, chosen), known=known, masses=masses))
    return Found(best, most, most)
