"""Drawing derivations from the root down (see ``sampler``)."""

from __future__ import annotations

import numpy as np

from mbrparse.decode.candidates.ways import LEXICAL, UNARY, Ways
from mbrparse.grammar.charts.forest.packed_forest import ONE, Index, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import array_kernel, kernel


@array_kernel
def draw(ways: Ways, count: int, random: np.random.Generator) -> tuple[Ints, Ints, Ints, Ints]:
    """So many derivations: where each one's nodes begin, and their starts, ends and symbols in preorder."""
    forest, n = ways.forest, ways.length
    root = forest_cell(0, n)
    roots = range(forest.node_first[root], forest.node_first[root + 1])
    total = 0.0
    for node in roots:
        total += ways.tables.root[forest.node_symbol[node]] * forest.inside[node]
    first = np.zeros(count + 1, np.int32)
    nodes = np.empty((3, (2 * n - 1) * count), np.int32)  # starts, ends, symbols
    stack = np.empty((n + 1, 2), np.int32)  # node and end
    place = 0
    for derivation in range(count):
        point = random.random() * total
        chosen = -1
        for node in roots:
            value = ways.tables.root[forest.node_symbol[node]] * forest.inside[node]
            # The last one with a value takes what rounding leaves over.
            if value > 0 and (chosen < 0 or point >= 0):
                chosen = node
            point -= value
        stack[0, 0], stack[0, 1] = chosen, n
        height = 1
        while height:
            height -= 1
            node, end = stack[height, 0], stack[height, 1]
            way = UNARY
            while way <= UNARY:
                if place == nodes.shape[1]:
                    # A chain may be of any length.
                    nodes = np.concatenate((nodes, np.empty_like(nodes)), axis=1)
                nodes[0, place], nodes[1, place] = forest.node_start[node], end
                nodes[2, place] = forest.node_symbol[node]
                place += 1
                way = ways.way[_drawn(ways.until, ways.first[node], ways.first[node + 1], random)]
                if way <= UNARY:
                    node = forest.unary_child[UNARY - way]
            if way != LEXICAL:
                group = forest.production_group[way]
                edge = _drawn(ways.edge_until, ways.edge_first[group], ways.edge_first[group + 1], random)
                stack[height, 0], stack[height, 1] = ways.right[edge], end
                stack[height + 1, 0] = ways.left[edge]
                stack[height + 1, 1] = forest.node_start[ways.right[edge]]
                height += 2
        first[derivation + 1] = place
    return first, nodes[0, :place].copy(), nodes[1, :place].copy(), nodes[2, :place].copy()


@kernel
def _drawn(until: Floats, first: int, last: int, random: np.random.Generator) -> int:
    """One of the places first .. last, by its share: the first whose sum exceeds a number up to the last."""
    bound = until[last - 1]
    point = random.random() * bound
    if point >= bound:  # by rounding
        point = 0.0
    low, high = Index(first), Index(last - 1)
    while low < high:
        middle = Index((low + high) >> ONE)
        if until[middle] > point:
            high = middle
        else:
            low = Index(middle + ONE)
    return int(low)
