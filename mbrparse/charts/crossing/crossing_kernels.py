"""Kernels of what crosses spans: inside and outside passes of masked forests, and spines of continuations.

All values are ratios or probabilities between zero and one: whatever the length, none leaves the range of
numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.forest.top_down import TopDownForest
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray


Booleans = npt.NDArray[np.bool_]

# Less than this is not sent down: with all that it stands for it is far below the last digit of interest.
LEAST = 1e-20


class CrossingForest(NamedTuple):
    """The derivations of a sentence, with chains of unary rules all at once.

    With unary rules a node has two sides: the *bottom* of its cell's chains, made by binary rules, and the
    *top*, which wider nodes are made of; chains lead from one to the other.
    """

    forest: TopDownForest
    continuation: Booleans  # by node: whether it may stand over a closed cell
    g_bottom: FloatArray  # by node: the probability that its cell's chain ends in it
    chain_first: Ints  # by cell; all zero without unary rules
    chain_top: Ints
    chain_bottom: Ints
    chain_share: FloatArray  # the bottom's part of the top's inside value
    chain_closed: FloatArray  # the same where nothing but continuations may stand


class Masked(NamedTuple):
    """Inside values of a masked forest over those of the whole: by node and group."""

    bottom: FloatArray
    top: FloatArray
    group: FloatArray  # -1: not computed yet


class Conditioned(NamedTuple):
    """What is left of the shares and posteriors of a forest; all arrays are zero before they are filled."""

    way_share: FloatArray
    edge_share: FloatArray
    g_bottom: FloatArray  # by node
    g_top: FloatArray
    g_group: FloatArray


@kernel
def masked_inside(crossing: CrossingForest, closed: Booleans, alive: Booleans, values: Masked) -> float:
    """The probability that all nodes are ``alive``, and nothing but continuations in ``closed`` cells."""
    forest, bottom, top, value = crossing.forest, values.bottom, values.top, values.group
    node_first, way_first, way_to = forest.node_first, forest.way_first, forest.way_to
    edge_first, edge_left, edge_right = forest.edge_first, forest.edge_left, forest.edge_right
    way_share, edge_share = forest.way_share, forest.edge_share
    value[:] = -1.0
    for cell in range(len(node_first) - 1):
        first, last = node_first[cell], node_first[cell + 1]
        if first < last and forest.node_end[first] - forest.node_start[first] == 1:
            top[first:last] = 1.0
            continue
        for node in range(first, last):
            total = 0.0
            for way in range(way_first[node], way_first[node + 1] if alive[node] else way_first[node]):
                group = way_to[way]
                if group < 0:
                    break  # unary rules come last, and are in chains
                if value[group] < 0:
                    product = 0.0
                    for edge in range(edge_first[group], edge_first[group + 1]):
                        product += edge_share[edge] * top[edge_left[edge]] * top[edge_right[edge]]
                    value[group] = product
                total += way_share[way] * value[group]
            bottom[node] = top[node] = total
        if len(crossing.chain_top) and first < last:
            share = crossing.chain_closed if closed[cell] else crossing.chain_share
            top[first:last] = 0.0
            for chain in range(crossing.chain_first[cell], crossing.chain_first[cell + 1]):
                if alive[crossing.chain_top[chain]]:
                    top[crossing.chain_top[chain]] += share[chain] * bottom[crossing.chain_bottom[chain]]
    total = 0.0
    for node in range(node_first[len(node_first) - 2], node_first[len(node_first) - 1]):
        total += forest.root[node] * top[node]
    return total


@kernel
def masked_outside(
    crossing: CrossingForest, closed: Booleans, values: Masked, mass: float, given: Conditioned
) -> None:
    """Shares and posteriors given what ``masked_inside`` has found, with a ``mass`` above zero."""
    forest, bottom, top, value = crossing.forest, values.bottom, values.top, values.group
    way_to, edge_left, edge_right = forest.way_to, forest.edge_left, forest.edge_right
    g_bottom, g_top, g_group = given.g_bottom, given.g_top, given.g_group
    cells = len(forest.node_first) - 1
    for node in range(forest.node_first[cells - 1], forest.node_first[cells]):
        g_top[node] = forest.root[node] * top[node] / mass
    # A node's g_top is its probability to be entered, and in all chains from it those below add up.
    for cell in range(cells - 1, -1, -1):
        first, last = forest.node_first[cell], forest.node_first[cell + 1]
        if crossing.chain_first[cell] < crossing.chain_first[cell + 1]:
            share = crossing.chain_closed if closed[cell] else crossing.chain_share
            for chain in range(crossing.chain_first[cell], crossing.chain_first[cell + 1]):
                above, below = crossing.chain_top[chain], crossing.chain_bottom[chain]
                if g_top[above] > 0:
                    g_bottom[below] += g_top[above] * share[chain] * bottom[below] / top[above]
        else:
            for node in range(first, last):
                g_bottom[node] = g_top[node]
        if first == last or forest.node_end[first] - forest.node_start[first] == 1:
            continue
        for node in range(first, last):
            ways = forest.way_first[node + 1] if g_bottom[node] > 0 else forest.way_first[node]
            for way in range(forest.way_first[node], ways):
                group = way_to[way]
                if group >= 0:
                    given.way_share[way] = forest.way_share[way] * value[group] / bottom[node]
                    g_group[group] += g_bottom[node] * given.way_share[way]
        for way in range(forest.way_first[first], forest.way_first[last]):
            group = way_to[way]
            if group < 0 or g_group[group] == 0:
                continue
            for edge in range(forest.edge_first[group], forest.edge_first[group + 1]):
                left, right = edge_left[edge], edge_right[edge]
                part = forest.edge_share[edge] * top[left] * top[right] / value[group]
                given.edge_share[edge] = part
                g_top[left] += g_group[group] * part
                g_top[right] += g_group[group] * part
            g_group[group] = 0.0


@kernel
def consistent_spans(
    crossing: CrossingForest, given: Conditioned, mirrored: bool, cell_first: Ints, cell_last: Ints
) -> FloatArray:
    """c by cell (``span_summary.cell_of``), of spans of two words or more.

    Continuations are on the right only, with ``mirrored`` on the left only. Positions and cells are counted
    from the side where spines begin; ``cell_first`` and ``cell_last`` are the nodes of such a cell.
    """
    forest, continuation = crossing.forest, crossing.continuation
    n, nodes = forest.length, len(continuation)
    inner = forest.edge_left if mirrored else forest.edge_right
    place = forest.node_end if mirrored else forest.node_start
    way_first, way_to, edge_first = forest.way_first, forest.way_to, forest.edge_first
    way_share, edge_share, g_bottom = given.way_share, given.edge_share, given.g_bottom
    # By continuation and split, the sum of its edges' shares.
    split_first = np.zeros(nodes + 1, np.int64)
    for node in range(nodes):
        width = forest.node_end[node] - forest.node_start[node] if continuation[node] else 0
        split_first[node + 1] = split_first[node] + width
    split = np.zeros(split_first[nodes])
    # By node, the continuations that it goes on with. All inner children of a group have one symbol.
    most = 0
    for group in way_to:
        if group >= 0 and edge_first[group] < edge_first[group + 1]:
            if continuation[inner[edge_first[group]]]:
                most += edge_first[group + 1] - edge_first[group]
    step_first, step_to = np.zeros(nodes + 1, np.int32), np.zeros(most, np.int32)
    step_share, newest = np.zeros(most), np.full(nodes, -1, np.int32)
    count = 0
    for node in range(nodes):
        begun = count
        step_first[node] = count
        for way in range(way_first[node], way_first[node + 1]):
            group = way_to[way]
            if group < 0 or way_share[way] == 0:
                continue
            first, last = edge_first[group], edge_first[group + 1]
            if first == last or not (continuation[node] or continuation[inner[first]]):
                continue
            for edge in range(first, last):
                child, value = inner[edge], way_share[way] * edge_share[edge]
                if value == 0:
                    continue
                if continuation[node]:
                    split[split_first[node] + abs(place[child] - place[node])] += value
                if continuation[child]:
                    if newest[child] < begun:
                        newest[child] = count
                        count += 1
                    step_to[newest[child]] = child
                    step_share[newest[child]] += value
    step_first[nodes] = count
    consistent, mass = np.zeros(n * (n + 1) // 2), np.zeros(nodes)
    for start in range(n):
        row = start * n - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, n + 1):
            live = False
            for node in range(cell_first[row + end], cell_last[row + end]):
                value = g_bottom[node]
                consistent[row + end] += value
                if value > LEAST:
                    for step in range(step_first[node], step_first[node + 1]):
                        mass[step_to[step]] += value * step_share[step]
                        live = True
            if not live:
                continue
            for below in range(start + 1, end - 1):
                beneath = below * n - below * (below - 1) // 2 - below - 1
                for node in range(cell_first[beneath + end], cell_last[beneath + end]):
                    value = mass[node]
                    if value == 0:
                        continue
                    mass[node] = 0
                    if value <= LEAST:
                        continue
                    for width in range(1, end - below):
                        consistent[row + below + width] += value * split[split_first[node] + width]
                    for step in range(step_first[node], step_first[node + 1]):
                        mass[step_to[step]] += value * step_share[step]
    return consistent
