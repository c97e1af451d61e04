"""A forest from above: what each node, and each pair of children, may be made of.

A forest lists its productions by cell and its edges by their right node, as the inside pass wants them. Who
comes down from the root asks for those of a node or of a group: they are sorted here, once for a sentence.
Samples, the k best derivations and what crosses spans are computed with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.packed_forest import ONE, Forest, Index, node_ends
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.grammar.pcfg import IntArray

if TYPE_CHECKING:
    from mbrparse.charts.exhaustive.factory import ForestCharts

# What a way leads to: a group (its number), nothing (a lexical rule), or a node by a unary rule (UNARY less
# its number).
LEXICAL = -1
UNARY = -2


class TopDownForest(NamedTuple):
    """A forest sorted for those who come down from the root, with a copy of all that they ask.

    Nodes are those of the forest that are kept, in its order: cell by cell (``forest.forest_cell``), parts
    before wholes. Node v may be made in the ways from ``way_first[v]`` up to ``way_first[v + 1]``: by a
    lexical rule, then by binary rules, then by unary rules. The edges of group g, from ``edge_first[g]`` up
    to ``edge_first[g + 1]``, are its splits, the first one first. Shares are conditional probabilities: of a
    way given its node, of an edge given its group.
    """

    length: int
    node_first: Ints  # by cell
    node_start: Ints
    node_end: Ints
    node_symbol: Ints
    node_g: Floats  # its expected number
    inside: Floats  # by node, scaled alike in all of a cell
    log_unit: Floats  # as the forest's
    lexical: Floats  # the part of inside that is its lexical rule's
    root: Floats  # by node: the probability that it is the root
    way_first: Ints
    way_to: Ints
    way_rule: Ints  # a binary or unary rule, by the way's kind
    way_share: Floats
    edge_first: Ints  # by group; groups that no kept node is made of have none
    edge_left: Ints
    edge_right: Ints
    edge_share: Floats
    log_scale: float  # as the forest's


def top_down_forest(charts: ForestCharts, terminal_ids: IntArray, least: float = 0.0) -> TopDownForest:
    """The forest of a sentence from above: the nodes whose expected number is more than ``least``.

    Raises ChartOverflowError or MemoryError where the forest does not fit, and ValueError where the sentence
    has no derivation.
    """
    forest, n = charts.forest_of(terminal_ids), len(terminal_ids)
    inside, outside = forest.inside, forest.outside
    kept = outside > 0 if least == 0 else inside * outside > least
    if not kept.any():
        raise ValueError("a sentence without a derivation has no forest")
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    firsts = np.concatenate(([0], np.cumsum(kept))).astype(np.int32)[forest.node_first]
    symbols = forest.node_symbol[kept]
    root = np.zeros(len(symbols))
    root[firsts[-2] :] = forest.root_share[kept[forest.node_first[-2] :]]
    root /= root.sum()
    ways = _ways(forest, number)
    return TopDownForest(
        n,
        firsts,
        forest.node_start[kept],
        node_ends(forest, n)[kept],
        symbols,
        (inside * outside)[kept],
        inside[kept],
        forest.log_unit[kept],
        forest.lexical[kept],
        root,
        *ways,
        *_edges(forest, number, ways[1]),
        forest.log_scale,
    )


def _ways(forest: Forest, number: Ints) -> tuple[Ints, Ints, Ints, Floats]:
    """Where each node's ways begin, what they lead to, rules and shares; ``number`` [node], -1: left out."""
    inside, no_rule = forest.inside, np.zeros(len(number), np.int32)
    group, rule = forest.production_group, forest.production_rule
    child, unary = forest.unary_child, forest.unary_rule
    node = np.concatenate([np.arange(len(number)), forest.production_parent, forest.unary_parent])
    to = np.concatenate([np.full(len(number), LEXICAL, np.int32), group, UNARY - number[child]])
    rules = np.concatenate([no_rule, rule, unary])
    values = [forest.lexical, forest.rule_prob[forest.prob_place] * forest.group_sum[group]]
    values.append(forest.unary_prob * inside[child])
    values[2][number[child] < 0] = 0.0
    value = np.concatenate(values)
    used = np.flatnonzero((number[node] >= 0) & (value > 0))
    first, order = grouped(number[node[used]], int(number.max()) + 1)
    used = used[order]
    return first, to[used].astype(np.int32), rules[used].astype(np.int32), value[used] / inside[node[used]]


def _edges(forest: Forest, number: Ints, way_to: Ints) -> tuple[Ints, Ints, Ints, Floats]:
    """Where each group's edges begin, their left and right nodes, and shares."""
    led_to = np.zeros(len(forest.group_sum), np.bool_)
    led_to[way_to[way_to >= 0]] = True
    counts = np.diff(forest.edge_first)
    right = np.repeat(np.arange(len(number), dtype=np.int32), counts)
    left = forest.left_node[
        np.arange(len(right)) + np.repeat(forest.left_first - forest.edge_first[:-1], counts)
    ]
    used = np.flatnonzero(led_to[forest.edge_group] & (number[left] >= 0) & (number[right] >= 0))
    used = used[::-1]  # of nodes with one end those of the last start come first
    first, order = grouped(forest.edge_group[used], len(led_to))
    used = used[order]
    left, right = left[used], right[used]
    value = forest.edge_value[used] if len(forest.edge_value) else forest.inside[left] * forest.inside[right]
    share = value / forest.group_sum[forest.edge_group[used]]
    return first, number[left], number[right], share


@kernel
def grouped(keys: Ints, count: int) -> tuple[Ints, npt.NDArray[np.int64]]:
    """Where each key from 0 up to ``count`` begins among sorted ones, and the order that sorts them."""
    first = np.zeros(count + 1, np.int32)
    for key in keys:
        first[key + 1] += 1
    for key in range(count):
        first[key + 1] += first[key]
    place, order = first.copy(), np.empty(len(keys), np.int64)
    for one in range(len(keys)):
        order[place[keys[one]]] = one
        place[keys[one]] += 1
    return first, order


@kernel
def sum_up(first: Ints, values: Floats) -> None:
    """From the values of lists to the sums of each list's values so far."""
    for one in range(len(first) - 1):
        for place in range(first[one] + 1, first[one + 1]):
            values[place] += values[place - 1]


@inner_kernel
def drawn_place(until: Floats, first: int, last: int, point: float) -> int:
    """One of the places first .. last, drawn: the first where ``until`` exceeds a share of the last.

    ``until`` has sums of values so far (``sum_up``), the share ``point`` is a random number below one.
    """
    bound = until[last - 1]
    point *= bound
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
