"""Kernels of candidates: the best derivation of every node, samples, and what crosses sampled trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.forest.top_down import LEXICAL, UNARY, TopDownForest, drawn_place
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray

Scores = npt.NDArray[np.int64]

#: The score of what has no derivation.
NONE = -(1 << 62)


class Best(NamedTuple):
    """By vertex (nodes, then groups) the best derivation's score, and its way or edge (-1: it has none)."""

    score: Scores
    place: Ints


@kernel
def best_derivations(
    forest: TopDownForest, rules: Scores, unaries: Scores, lexical: Scores, best: Best
) -> None:
    """Fill the best of every node and group; rules, and by node its lexical rule, have these scores."""
    score, chosen, nodes = best.score, best.place, len(lexical)
    way_first, way_to, way_rule = forest.way_first, forest.way_to, forest.way_rule
    edge_first, edge_left, edge_right = forest.edge_first, forest.edge_left, forest.edge_right
    for cell in range(len(forest.node_first) - 1):
        first, last = forest.node_first[cell], forest.node_first[cell + 1]
        cyclic = False
        for node in range(first, last):
            for way in range(way_first[node], way_first[node + 1]):
                to = way_to[way]
                if to <= UNARY:
                    cyclic = True
                    break
                if to == LEXICAL:
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
                if total > score[node] or (
                    total == score[node] and _before(forest, best, nodes, way, chosen[node])
                ):
                    score[node], chosen[node] = total, way
        # Around a cycle probabilities fall: once nothing gets better nothing will.
        while cyclic:
            cyclic = False
            for node in range(first, last):
                for way in range(way_first[node], way_first[node + 1]):
                    child = UNARY - way_to[way]
                    if child >= 0 and score[child] > NONE:
                        total = unaries[way_rule[way]] + score[child]
                        if total > score[node]:
                            score[node], chosen[node] = total, way
                            cyclic = True


@kernel
def _before(forest: TopDownForest, best: Best, nodes: int, way: int, place: int) -> bool:
    """Whether a binary rule comes before a node's best way so far: by split, then by its children."""
    if forest.way_to[place] < 0:
        return False
    one, other = best.place[nodes + forest.way_to[way]], best.place[nodes + forest.way_to[place]]
    left, right, symbol = forest.edge_left, forest.edge_right, forest.node_symbol
    splits = forest.node_start[right[one]], forest.node_start[right[other]]
    if splits[0] != splits[1]:
        return bool(splits[0] < splits[1])
    lefts = symbol[left[one]], symbol[left[other]]
    if lefts[0] != lefts[1]:
        return bool(lefts[0] < lefts[1])
    return bool(symbol[right[one]] < symbol[right[other]])


@kernel
def draw(
    forest: TopDownForest, roots: FloatArray, count: int, random: np.random.Generator
) -> tuple[Ints, Ints, Ints, Ints]:
    """So many derivations: where each one's nodes begin, and their starts, ends and symbols in preorder.

    Shares, and those of nodes as ``roots``, are cumulative here, from the first of each list on.
    """
    n = forest.length
    first = np.zeros(count + 1, np.int32)
    nodes = np.empty((3, (2 * n - 1) * count), np.int32)  # starts, ends, symbols
    stack = np.empty(n + 1, np.int32)
    place = 0
    for derivation in range(count):
        stack[0] = drawn_place(roots, 0, len(roots), random.random())
        height = 1
        while height:
            height -= 1
            node = stack[height]
            to = UNARY
            while to <= UNARY:
                if place == nodes.shape[1]:
                    # A chain may be of any length.
                    nodes = np.concatenate((nodes, np.empty_like(nodes)), axis=1)
                nodes[0, place], nodes[1, place] = forest.node_start[node], forest.node_end[node]
                nodes[2, place] = forest.node_symbol[node]
                place += 1
                first_way, last_way = forest.way_first[node], forest.way_first[node + 1]
                to = forest.way_to[drawn_place(forest.way_share, first_way, last_way, random.random())]
                if to <= UNARY:
                    node = UNARY - to
            if to != LEXICAL:
                first_edge, last_edge = forest.edge_first[to], forest.edge_first[to + 1]
                edge = drawn_place(forest.edge_share, first_edge, last_edge, random.random())
                stack[height], stack[height + 1] = forest.edge_right[edge], forest.edge_left[edge]
                height += 2
        first[derivation + 1] = place
    return first, nodes[0, :place].copy(), nodes[1, :place].copy(), nodes[2, :place].copy()


@kernel
def add_uncrossed(first: Ints, starts: Ints, ends: Ints, count: Ints, n: int, uncrossed: Ints) -> None:
    """Add the trees' counts to the cells (span_summary) that nothing of it crosses.

    The brackets of tree t are ``first[t]`` up to ``first[t + 1]``.
    """
    crossed = np.full(len(uncrossed), -1, np.int32)
    for tree in range(len(count)):
        for node in range(first[tree], first[tree + 1]):
            low, high = starts[node], ends[node]
            # One end of what crosses it lies within it, the other beyond.
            for inner in range(low + 1, high):
                for start in range(low):
                    crossed[start * n - start * (start - 1) // 2 + inner - start - 1] = tree
                for end in range(high + 1, n + 1):
                    crossed[inner * n - inner * (inner - 1) // 2 + end - inner - 1] = tree
        for cell in range(len(uncrossed)):
            if crossed[cell] != tree:
                uncrossed[cell] += count[tree]
