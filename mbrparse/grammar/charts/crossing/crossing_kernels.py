"""Kernels of what crosses spans: inside and outside passes of masked forests, and spines of continuations.

All values are ratios or probabilities between zero and one: whatever the length, none leaves the range of
numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.forest.top_down_kernels import TopDownForest
from mbrparse.grammar.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray


Booleans = npt.NDArray[np.bool_]

# Less than this is not sent down: with all that it stands for it is far below the last digit asked for.
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
    group: FloatArray  # -1: not asked for


class Conditioned(NamedTuple):
    """What is left of the shares and posteriors of a forest; all arrays are zero before they are filled."""

    way_share: FloatArray
    edge_share: FloatArray
    g_bottom: FloatArray  # by node
    g_top: FloatArray
    g_group: FloatArray


class Spines(NamedTuple):
    """The edges of a forest by what a spine of continuations wants of them, whichever side it grows to.

    Positions are counted from the side that spines begin at; cells are by ``span_summary.cell_of``.
    ``split`` holds, from split_first[x] on, by split of continuation x, the sum of its edges' shares.
    ``step_first[x]`` up to ``step_first[x + 1]`` are the continuations that node x goes on with.
    """

    cell_first: Ints  # by cell
    cell_last: Ints
    split_first: Ints  # by node
    split: FloatArray
    step_first: Ints  # by node
    step_to: Ints
    step_share: FloatArray


@kernel
def list_chains(
    crossing: CrossingForest,
    closure_start: Ints,
    closure_top: Ints,
    every: Floats,
    closed: Floats,
    slot: Ints,
) -> int:
    """List the chains between nodes; returns their number. Without room for them they are only counted.

    Entries of the closure have the values ``every``, and ``closed`` where a cell is. ``slot`` [symbol] is -1.
    """
    forest, count = crossing.forest, 0
    node_first, symbols, inside = forest.node_first, forest.node_symbol, forest.inside
    for cell in range(len(node_first) - 1):
        crossing.chain_first[cell] = count
        first, last = node_first[cell], node_first[cell + 1]
        if first == last or forest.node_end[first] - forest.node_start[first] == 1:
            continue
        for node in range(first, last):
            slot[symbols[node]] = node
        for bottom in range(first, last):
            if crossing.g_bottom[bottom] == 0:
                continue
            for entry in range(closure_start[symbols[bottom]], closure_start[symbols[bottom] + 1]):
                top = slot[closure_top[entry]]
                if top >= 0:
                    if len(crossing.chain_top):
                        scale = inside[bottom] / inside[top]
                        crossing.chain_top[count], crossing.chain_bottom[count] = top, bottom
                        crossing.chain_share[count] = every[entry] * scale
                        crossing.chain_closed[count] = closed[entry] * scale
                    count += 1
        for node in range(first, last):
            slot[symbols[node]] = -1
    crossing.chain_first[len(node_first) - 1] = count
    return count


@kernel
def masked_inside(crossing: CrossingForest, closed: Booleans, alive: Booleans, values: Masked) -> float:
    """The probability that all nodes are ``alive``, and nothing but continuations in ``closed`` cells."""
    forest, bottom, top, value = crossing.forest, values.bottom, values.top, values.group
    node_first, way_first, way_to, way_share = (
        forest.node_first,
        forest.way_first,
        forest.way_to,
        forest.way_share,
    )
    edge_first, edge_left, edge_right, edge_share = (
        forest.edge_first,
        forest.edge_left,
        forest.edge_right,
        forest.edge_share,
    )
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
def gather_spines(
    crossing: CrossingForest,
    way_share: Floats,
    edge_share: Floats,
    mirrored: bool,
    spines: Spines,
    newest: Ints,
) -> int:
    """Fill the spines' splits and steps; returns the number of steps.

    With ``mirrored`` spines go on to the left. ``newest`` [node] is -1.
    """
    forest, continuation = crossing.forest, crossing.continuation
    inner = forest.edge_left if mirrored else forest.edge_right
    place = forest.node_end if mirrored else forest.node_start
    count = 0
    for node in range(len(continuation)):
        begun = count
        spines.step_first[node] = count
        for way in range(forest.way_first[node], forest.way_first[node + 1]):
            group = forest.way_to[way]
            if group < 0 or way_share[way] == 0:
                continue
            first, last = forest.edge_first[group], forest.edge_first[group + 1]
            # All inner children of a group have one symbol.
            if first == last or not (continuation[node] or continuation[inner[first]]):
                continue
            for edge in range(first, last):
                child, value = inner[edge], way_share[way] * edge_share[edge]
                if value == 0:
                    continue
                if continuation[node]:
                    spines.split[spines.split_first[node] + abs(place[child] - place[node])] += value
                if continuation[child]:
                    if newest[child] < begun:
                        newest[child] = count
                        count += 1
                    spines.step_to[newest[child]] = child
                    spines.step_share[newest[child]] += value
    spines.step_first[len(continuation)] = count
    return count


@kernel
def send_down(n: int, g_bottom: FloatArray, spines: Spines, consistent: FloatArray, mass: FloatArray) -> None:
    """Collect c by cell, of spans of two words or more; ``mass`` [nodes] is zero before and after."""
    split, split_first, first, last = spines.split, spines.split_first, spines.cell_first, spines.cell_last
    step_first, step_to, step_share = spines.step_first, spines.step_to, spines.step_share
    for start in range(n):
        row = start * n - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, n + 1):
            live = False
            for node in range(first[row + end], last[row + end]):
                value = g_bottom[node]
                consistent[row + end] += value
                if value > LEAST:
                    for step in range(step_first[node], step_first[node + 1]):
                        mass[step_to[step]] += value * step_share[step]
                        live = True
            if not live:
                continue
            for below in range(start + 1, end - 1):
                inner = below * n - below * (below - 1) // 2 - below - 1
                for node in range(first[inner + end], last[inner + end]):
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
