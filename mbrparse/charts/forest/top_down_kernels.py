"""Sorting what a forest's nodes are made of by node, and its edges by group (see ``top_down``)."""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.charts.base.packed_forest import ONE, Flags, Forest, Index
from mbrparse.charts.base.rule_tables import Floats, Ints
from mbrparse.charts.kernel import kernel

# What a way leads to: a group (its number), nothing (a lexical rule), or a node by a unary rule (UNARY less
# its number).
LEXICAL = -1
UNARY = -2


class TopDownForest(NamedTuple):
    """A forest sorted for those who come down from the root, with a copy of all that they ask.

    Nodes are those of the forest that are kept, in its order: cell by cell (``packed_forest.forest_cell``),
    parts before wholes. Node v may be made in the ways from ``way_first[v]`` up to ``way_first[v + 1]``: by a
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


@kernel
def sort_ways(
    forest: Forest, rule_prob: Floats, unary_prob: Floats, number: Ints, view: TopDownForest, cells: int
) -> None:
    """Sort the ways by node: a count, then every one to its place. ``number`` [node]: -1 of one left out."""
    first, to, rule, share = view.way_first, view.way_to, view.way_rule, view.way_share
    inside, lexical = forest.inside, forest.lexical
    unaries = forest.unary_first[cells] if len(unary_prob) else 0
    for filling in (False, True):
        # Counted two places on and summed up, they begin one place on, and move back in filling.
        step = 1 if filling else 2
        if filling:
            for node in range(len(first) - 2):
                first[node + 2] += first[node + 1]
        for node in range(forest.node_first[cells]):
            kept = number[node]
            if kept >= 0 and lexical[node] > 0:
                if filling:
                    to[first[kept + 1]], share[first[kept + 1]] = LEXICAL, lexical[node] / inside[node]
                first[kept + step] += 1
        for production in range(forest.cell_production[cells]):
            node = forest.production_parent[production]
            kept = number[node]
            group = forest.production_group[production]
            if kept < 0 or forest.group_sum[group] == 0:
                continue
            value = rule_prob[forest.production_rule[production]] * forest.group_sum[group]
            if value > 0:
                if filling:
                    place = first[kept + 1]
                    to[place], rule[place] = group, forest.production_rule[production]
                    share[place] = value / inside[node]
                first[kept + step] += 1
        for unary in range(unaries):
            node, child = forest.unary_parent[unary], forest.unary_child[unary]
            kept = number[node]
            if kept < 0 or number[child] < 0:
                continue
            value = unary_prob[forest.unary_rule[unary]] * inside[child]
            if value > 0:
                if filling:
                    place = first[kept + 1]
                    to[place], rule[place] = UNARY - number[child], forest.unary_rule[unary]
                    share[place] = value / inside[node]
                first[kept + step] += 1


@kernel
def sort_edges(forest: Forest, number: Ints, wanted: Flags, view: TopDownForest, cells: int) -> None:
    """Sort the edges by group; ``wanted`` [group] is filled with the groups that some way leads to."""
    first, left, right, share = view.edge_first, view.edge_left, view.edge_right, view.edge_share
    nodes = forest.node_first[cells]
    for way in range(view.way_first[len(view.way_first) - 2]):
        if view.way_to[way] >= 0:
            wanted[view.way_to[way]] = 1
    for filling in (False, True):
        if filling:
            for group in range(len(first) - 2):
                first[group + 2] += first[group + 1]
        # Of nodes with one end those of the last start come first.
        for node in range(nodes - 1, -1, -1):
            begin = forest.edge_first[node]
            partner = forest.left_first[node] - begin
            for edge in range(begin, forest.edge_first[node + 1] if number[node] >= 0 else begin):
                group = forest.edge_group[edge]
                before = forest.left_node[partner + edge]
                if wanted[group] and number[before] >= 0:
                    if filling:
                        place = first[group + 1]
                        left[place], right[place] = number[before], number[node]
                        share[place] = forest.inside[before] * forest.inside[node] / forest.group_sum[group]
                    first[group + (1 if filling else 2)] += 1


@kernel
def sum_up(first: Ints, values: Floats) -> None:
    """From the values of lists to the sums of each list's values so far."""
    for one in range(len(first) - 1):
        for place in range(first[one] + 1, first[one + 1]):
            values[place] += values[place - 1]


@kernel
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
