"""The best derivation of every node and every pair of children: where lazy search for more begins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.decode.candidates.ways import LEXICAL, UNARY, Ways
from mbrparse.grammar.charts.forest.packed_forest import forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel

Scores = npt.NDArray[np.int64]

#: Scores are whole numbers, natural logarithms in units of 2 ** -40: sums of them do not depend on the order,
#: so that derivations by the same rules tie exactly.
SCALE = 2.0**40
NONE = -(1 << 62)


class Best(NamedTuple):
    """By vertex (nodes, then groups) the best derivation's score, and its way or edge (-1: it has none)."""

    score: Scores
    place: Ints
    lexical: Scores  # by node: its lexical rule's score


def scores_of(probs: Floats) -> Scores:
    """The scores of probabilities; ``NONE`` for zero."""
    with np.errstate(divide="ignore"):
        logs = np.log(probs.astype(np.float64))
    return np.where(probs > 0, np.rint(np.maximum(logs, -1e5) * SCALE), NONE).astype(np.int64)


def best_ways(ways: Ways, rules: Scores, unaries: Scores) -> Best:
    """The best way of every node and the best edge of every group; rules have these scores."""
    forest, n = ways.forest, ways.length
    nodes, groups = len(ways.first) - 2, len(ways.edge_first) - 2
    lexical = np.zeros(nodes, np.int64)
    for end in range(1, n + 1):
        cell = forest_cell(end - 1, end)
        here = slice(forest.node_first[cell], forest.node_first[cell + 1])
        lexical[here] = scores_of(forest.lexical[here])
    count = nodes + groups
    best = Best(np.full(count, NONE, np.int64), np.full(count, -1, np.int32), lexical)
    _best_ways(ways, rules, unaries, best)
    return best


@kernel
def _best_ways(ways: Ways, rules: Scores, unaries: Scores, best: Best) -> None:
    forest, score, chosen, lexical = ways.forest, best.score, best.place, best.lexical
    nodes = len(lexical)
    for end in range(1, ways.length + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            group = forest.cell_group[cell]
            while group >= 0:
                for edge in range(ways.edge_first[group], ways.edge_first[group + 1]):
                    # An edge of what has no derivation is one whose values underflow.
                    left, right = score[ways.left[edge]], score[ways.right[edge]]
                    if left > NONE and right > NONE and left + right > score[nodes + group]:
                        score[nodes + group], chosen[nodes + group] = left + right, edge
                group = forest.group_next[group]
            first, last = forest.node_first[cell], forest.node_first[cell + 1]
            cyclic = False
            for node in range(first, last):
                for place in range(ways.first[node], ways.first[node + 1]):
                    way = ways.way[place]
                    if way <= UNARY:
                        cyclic = True
                        break
                    if way == LEXICAL:
                        score[node], chosen[node] = lexical[node], place
                        continue
                    below = nodes + forest.production_group[way]
                    if score[below] == NONE:
                        continue
                    total = rules[forest.production_rule[way]] + score[below]
                    if total > score[node] or (
                        total == score[node] and _before(ways, best, nodes, way, chosen[node])
                    ):
                        score[node], chosen[node] = total, place
            # Around a cycle probabilities fall: once nothing gets better nothing will.
            while cyclic:
                cyclic = False
                for node in range(first, last):
                    for place in range(ways.first[node], ways.first[node + 1]):
                        unary = UNARY - ways.way[place]
                        if unary >= 0 and score[forest.unary_child[unary]] > NONE:
                            total = unaries[forest.unary_rule[unary]] + score[forest.unary_child[unary]]
                            if total > score[node]:
                                score[node], chosen[node] = total, place
                                cyclic = True


@kernel
def _before(ways: Ways, best: Best, nodes: int, way: int, place: int) -> bool:
    """Whether a production comes before a node's best one so far: by split, then by its children."""
    if ways.way[place] < 0:
        return False
    production_group = ways.forest.production_group
    edges = best.place[nodes + production_group[way]], best.place[nodes + production_group[ways.way[place]]]
    start, symbol = ways.forest.node_start, ways.forest.node_symbol
    splits = start[ways.right[edges[0]]], start[ways.right[edges[1]]]
    lefts = symbol[ways.left[edges[0]]], symbol[ways.left[edges[1]]]
    if splits[0] != splits[1]:
        return bool(splits[0] < splits[1])
    if lefts[0] != lefts[1]:
        return bool(lefts[0] < lefts[1])
    return bool(symbol[ways.right[edges[0]]] < symbol[ways.right[edges[1]]])
