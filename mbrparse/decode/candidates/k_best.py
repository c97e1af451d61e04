"""The k most probable derivations of a sentence, in exact order.

Every vertex has its derivations in order, found on demand (Huang and Chiang 2005, algorithm 3). A *vertex* is
whatever may be derived in several ways from others: a node of a forest, a pair of children over a span, the
root. After the derivation of a vertex that was found last come those that take the next best derivation of
one of its children instead. With unary rules a vertex may come below itself: what a child's next derivation
needs of a vertex above it has been found already (as in the recursive enumeration of paths, Jimenez and
Marzal 1999); derivations go around cycles as often as they like, each time less probable.
Derivations of one score come in the order of their first split, then of their children's symbols.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive import factory, top_down
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints
from mbrparse.decode.candidates.samples import Samples
from mbrparse.grammar.pcfg import FloatArray, IntArray

Scores = npt.NDArray[np.int64]
Order = tuple[int, ...]
VertexT = TypeVar("VertexT", bound=Hashable)

#: Costs are whole numbers, negative natural logarithms in units of 2 ** -40: sums of them do not depend on
#: the order, so that derivations by the same rules tie exactly.
SCALE = 2.0**40
#: Parts of derivations that are less probable, relatively, may leave the range of a forest's numbers.
LEAST_SHARE = 1e-100
#: The score of what has no derivation.
NONE = -(1 << 62)


def scores_of(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Natural logarithms as whole numbers."""
    return np.rint(logs * SCALE).astype(np.int64)


class Alternative(NamedTuple, Generic[VertexT]):
    """One of the ways to derive a vertex: its own cost, and what it is made of.

    Of equal ones the lesser ``order`` comes first; an empty one is that of the only child's derivation.
    """

    cost: int
    order: Order
    children: tuple[VertexT, ...]


class Found(NamedTuple):
    """A derivation of a vertex, compared in this order: the better one is the lesser."""

    cost: int
    order: Order
    place: int  # which of the vertex's alternatives it is
    ranks: tuple[int, ...]  # which of its children's derivations it is made of


class _Vertex(Generic[VertexT]):
    """What was found of a vertex, the best first, and what waits."""

    __slots__ = ("alternatives", "followed", "found", "waiting")

    def __init__(
        self, alternatives: list[Alternative[VertexT]], best: int | None, first: list[Found]
    ) -> None:
        self.alternatives = alternatives
        best = min(first).place if best is None else best
        self.found = [one for one in first if one.place == best]
        self.waiting = [one for one in first if one.place != best]
        heapq.heapify(self.waiting)
        self.followed = 0  # how many of those found have their followers among those that wait

    def is_settled(self, rank: int) -> bool:
        """Whether the derivation of this rank is found, or there is none."""
        return len(self.found) > rank or (self.followed == len(self.found) and not self.waiting)


class LazySearch(ABC, Generic[VertexT]):
    """The derivations of one sentence; subclasses define what vertices are made of."""

    def __init__(self, root: VertexT) -> None:
        self._root = root
        self._vertices: dict[VertexT, _Vertex[VertexT]] = {}

    @abstractmethod
    def _alternatives(self, vertex: VertexT) -> tuple[list[Alternative[VertexT]], int | None]:
        """The alternatives of a vertex, and the place of the best one.

        None where the least is the best: not if it might go around a cycle.
        """

    @abstractmethod
    def _best(self, vertex: VertexT) -> tuple[int, Order]:
        """The cost and the order of a vertex's best derivation."""

    def root(self, k: int) -> list[Found]:
        """The k best derivations of the sentence, or all."""
        if k > 0:
            self._reach(self._root, k - 1)
        return self._vertex(self._root).found[:k]

    def vertices(self, rank: int) -> Iterator[tuple[VertexT, int]]:
        """The vertices of the derivation of this rank in preorder, with their numbers of children."""
        stack = [(self._root, rank)]
        while stack:
            vertex, rank = stack.pop()
            state = self._vertex(vertex)
            found = state.found[rank]
            children = state.alternatives[found.place].children
            yield vertex, len(children)
            stack.extend(reversed(list(zip(children, found.ranks, strict=True))))

    def _vertex(self, vertex: VertexT) -> _Vertex[VertexT]:
        state = self._vertices.get(vertex)
        if state is None:
            alternatives, best = self._alternatives(vertex)
            first = [
                self._made(one, place, (0,) * len(one.children)) for place, one in enumerate(alternatives)
            ]
            state = self._vertices[vertex] = _Vertex(alternatives, best, first)
        return state

    def _made(self, alternative: Alternative[VertexT], place: int, ranks: tuple[int, ...]) -> Found:
        """The derivation that takes these derivations of the children."""
        cost, order, children = alternative
        below = order
        for child, rank in zip(children, ranks, strict=True):
            if rank:
                added, below = self._vertices[child].found[rank][:2]
            else:
                added, below = self._best(child)
            cost += added
        return Found(cost, order or below, place, ranks)

    def _reach(self, vertex: VertexT, rank: int) -> None:
        """Find the derivations of a vertex up to this rank, as far as there are any."""
        stack = [(vertex, rank)]
        while stack:
            vertex, rank = stack[-1]
            state = self._vertex(vertex)
            if state.is_settled(rank):
                stack.pop()
                continue
            if state.followed < len(state.found):
                last = state.found[-1]
                alternative = state.alternatives[last.place]
                children = alternative.children
                wanted = _followers(last.ranks)
                needed = [
                    (child, one)
                    for ranks in wanted
                    for child, one in zip(children, ranks, strict=True)
                    if one and not self._vertex(child).is_settled(one)
                ]
                if needed:
                    stack.extend(needed)
                    continue
                for ranks in wanted:
                    there = (
                        len(self._vertex(c).found) > one or not one
                        for c, one in zip(children, ranks, strict=True)
                    )
                    if all(there):
                        heapq.heappush(state.waiting, self._made(alternative, last.place, ranks))
                state.followed += 1
            if state.waiting:
                state.found.append(heapq.heappop(state.waiting))


def _followers(ranks: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The next ranks, each reached from one before it only.

    >>> _followers((0, 2)), _followers((1, 0))
    ([(0, 3)], [(1, 1), (2, 0)])
    """
    if len(ranks) < 2:
        return [(rank + 1,) for rank in ranks]
    left, right = ranks
    return [(left, right + 1)] if right else [(left, 1), (left + 1, 0)]


class KBest(NamedTuple):
    """The most probable derivations, the best first, and the natural logarithms of their probabilities."""

    derivations: Samples
    log_probs: FloatArray


def forest_k_best(charts: factory.ForestCharts, terminal_ids: IntArray, k: int) -> KBest:
    """The k most probable derivations of a sentence by a forest, or all if there are fewer.

    Those that are less probable than ``LEAST_SHARE`` of the best one are none. Raises ChartOverflowError or
    MemoryError where its forest does not fit, ValueError where it has none, NumberRangeError.
    """
    forest = top_down.top_down_forest(charts, terminal_ids)
    search = _ForestSearch(charts, forest)
    found = search.root(k)
    most = min((one.cost for one in found), default=0) - int(scores_of(np.log(LEAST_SHARE)))
    found = [one for one in found if one.cost <= most]
    nodes = [
        [vertex for vertex, _ in search.vertices(rank) if vertex < search.nodes] for rank in range(len(found))
    ]
    first = np.cumsum([0, *map(len, nodes)], dtype=np.int32)
    listed = np.array([node for one in nodes for node in one], np.int32)
    columns = forest.node_start[listed], forest.node_end[listed], forest.node_symbol[listed]
    # Inside values of a forest are scaled, and so is the probability of a derivation.
    scaled = np.array([-one.cost for one in found], np.float64) / SCALE
    return KBest(Samples(first, *columns), scaled - forest.log_scale)


class _ForestSearch(LazySearch[int]):
    """The derivations of one sentence; vertices are its forest's nodes, then its groups, then the root."""

    def __init__(self, charts: factory.ForestCharts, forest: top_down.TopDownForest) -> None:
        self.nodes = len(forest.node_symbol)
        count = self.nodes + len(forest.edge_first) - 1
        super().__init__(count)
        tables, self._forest = charts.forests.tables, forest
        self._rules, self._roots = _of_probabilities(tables.rule_prob), _of_probabilities(tables.root)
        self._unaries = _of_probabilities(charts.forests.unaries.rule_prob)
        self._top = Best(np.full(count, NONE, np.int64), np.full(count, -1, np.int32))
        self._lexical = _of_probabilities(forest.lexical, forest.log_unit)
        best_derivations(forest, self._rules, self._unaries, self._lexical, self._top)

    def _best(self, vertex: int) -> tuple[int, Order]:
        cost = -int(self._top.score[vertex])
        # Only groups hand on their order.
        return cost, self._order(int(self._top.place[vertex])) if vertex >= self.nodes else ()

    def _alternatives(self, vertex: int) -> tuple[list[Alternative[int]], int | None]:
        if vertex == self._root:
            return self._of_root(), None
        if vertex >= self.nodes:
            return self._of_group(vertex - self.nodes), None
        return self._of_node(vertex)

    def _of_root(self) -> list[Alternative[int]]:
        forest, roots = self._forest, self._roots
        nodes = np.arange(forest.node_first[-2], forest.node_first[-1])
        symbols = forest.node_symbol[nodes]
        live = (self._top.score[nodes] > NONE) & (roots[symbols] > NONE)
        rows = zip(roots[symbols[live]].tolist(), symbols[live].tolist(), nodes[live].tolist(), strict=True)
        return [Alternative(-score, (symbol,), (node,)) for score, symbol, node in rows]

    def _of_group(self, group: int) -> list[Alternative[int]]:
        forest, score = self._forest, self._top.score
        edges = np.arange(forest.edge_first[group], forest.edge_first[group + 1])
        left, right = forest.edge_left[edges], forest.edge_right[edges]
        live = (score[left] > NONE) & (score[right] > NONE)
        rows = zip(edges[live].tolist(), left[live].tolist(), right[live].tolist(), strict=True)
        return [Alternative(0, self._order(edge), (one, other)) for edge, one, other in rows]

    def _of_node(self, node: int) -> tuple[list[Alternative[int]], int]:
        forest, best = self._forest, 0
        first, last = int(forest.way_first[node]), int(forest.way_first[node + 1])
        found: list[Alternative[int]] = []
        rows = zip(forest.way_to[first:last].tolist(), forest.way_rule[first:last].tolist(), strict=True)
        for way, (to, rule) in enumerate(rows, first):
            if way == self._top.place[node]:
                best = len(found)
            child = top_down.UNARY - to if to <= top_down.UNARY else self.nodes + to
            if to == top_down.LEXICAL:
                found.append(Alternative(-int(self._lexical[node]), (-1,), ()))
            elif self._top.score[child] == NONE:
                continue
            elif to <= top_down.UNARY:
                # After all splits: of equal chains the shorter one.
                order = forest.length, int(forest.node_symbol[child])
                found.append(Alternative(-int(self._unaries[rule]), order, (child,)))
            else:
                found.append(Alternative(-int(self._rules[rule]), (), (child,)))
        return found, best

    def _order(self, edge: int) -> Order:
        """By split, then by the children's symbols."""
        forest = self._forest
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        return int(forest.node_start[right]), int(forest.node_symbol[left]), int(forest.node_symbol[right])


def _of_probabilities(probs: FloatArray, log_unit: FloatArray | float = 0.0) -> Scores:
    """The scores of probabilities times a unit; ``NONE`` for zero."""
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(probs) + log_unit, -1e5)
    return np.where(probs > 0, scores_of(logs), NONE)


class Best(NamedTuple):
    """By vertex (nodes, then groups) the best derivation's score, and its way or edge (-1: it has none)."""

    score: Scores
    place: Ints


@kernel
def best_derivations(
    forest: top_down.TopDownForest, rules: Scores, unaries: Scores, lexical: Scores, best: Best
) -> None:
    """Fill the best of every node and group; rules, and by node its lexical rule, have these scores."""
    score, chosen, nodes = best.score, best.place, len(lexical)
    way_first, way_to, way_rule = forest.way_first, forest.way_to, forest.way_rule
    edge_first, edge_left, edge_right = forest.edge_first, forest.edge_left, forest.edge_right
    start, symbol = forest.node_start, forest.node_symbol
    for cell in range(len(forest.node_first) - 1):
        first, last = forest.node_first[cell], forest.node_first[cell + 1]
        cyclic = False
        for node in range(first, last):
            for way in range(way_first[node], way_first[node + 1]):
                to = way_to[way]
                if to <= top_down.UNARY:
                    cyclic = True
                    break
                if to == top_down.LEXICAL:
                    score[node], chosen[node] = lexical[node], way
                    continue
                below = nodes + to
                if chosen[below] < 0:
                    for edge in range(edge_first[to], edge_first[to + 1]):
                        # An edge of what has no derivation is one whose values underflow.
                        left, right = score[edge_left[edge]], score[edge_right[edge]]
                        if left > NONE and right > NONE and left + right > score[below]:
                            score[below], chosen[below] = left + right, edge
                if score[below] == NONE:
                    continue
                total = rules[way_rule[way]] + score[below]
                is_better = total > score[node]
                if total == score[node] and way_to[chosen[node]] >= 0:
                    # By split, then by the children.
                    one, other = chosen[below], chosen[nodes + way_to[chosen[node]]]
                    mine = start[edge_right[one]], symbol[edge_left[one]], symbol[edge_right[one]]
                    theirs = start[edge_right[other]], symbol[edge_left[other]], symbol[edge_right[other]]
                    is_better = mine < theirs
                if is_better:
                    score[node], chosen[node] = total, way
        # Around a cycle probabilities fall: once nothing gets better nothing will.
        while cyclic:
            cyclic = False
            for node in range(first, last):
                for way in range(way_first[node], way_first[node + 1]):
                    child = top_down.UNARY - way_to[way]
                    if child >= 0 and score[child] > NONE:
                        total = unaries[way_rule[way]] + score[child]
                        if total > score[node]:
                            score[node], chosen[node] = total, way
                            cyclic = True
