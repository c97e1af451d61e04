"""The ways down a forest: what each node, and each pair of children, may be made of.

A forest lists its productions by cell and its edges by their right node, as the way up wants them. Who comes
down from the root asks for those of a node or of a group: they are sorted here, once for a sentence.
"""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.grammar.charts.closure import UnaryTables
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.forest.packed_forest import Forest, new_floats, new_ints
from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.kernel import kernel

# A way is a production (its number), a lexical rule, or a unary (UNARY less its number).
LEXICAL = -1
UNARY = -2


class Ways(NamedTuple):
    """A forest from above.

    Node v may be made in the ways from ``first[v]`` up to ``first[v + 1]``: by a lexical rule, then by
    productions, then by unaries, those of probability zero left out. ``until`` sums up what they contribute
    to the node's inside value, each with those before it. The edges of group g, from ``edge_first[g]`` up to
    ``edge_first[g + 1]``, have a ``left`` and a ``right`` node, the first split first; ``edge_until`` sums up
    their values. Nodes and groups that no derivation of the sentence holds have nothing.
    """

    forest: Forest
    tables: SparseTables
    unary: UnaryTables
    length: int
    first: Ints
    way: Ints
    until: Floats
    edge_first: Ints
    left: Ints
    right: Ints
    edge_until: Floats


def ways_of(forests: Forests, length: int) -> Ways:
    """The ways of the sentence that was filled last, which has so many words.

    Raises ValueError where it has no derivation.
    """
    forest = forests.forest
    cells = length * (length + 1) // 2
    nodes = int(forest.node_first[cells])
    alive = forest.outside[:nodes] > 0
    if not alive.any():
        raise ValueError("a sentence without a derivation has no ways")
    most = int(forest.cell_production[cells] + alive.sum())
    if len(forests.unaries.rule_parent):
        most += int(forest.unary_first[cells])
    groups, edges = forests.groups, int(forest.edge_first[nodes])
    ways = Ways(
        forest,
        forests.tables,
        forests.unaries,
        length,
        new_ints(nodes + 2),
        new_ints(most),
        new_floats(most),
        new_ints(groups + 2),
        new_ints(edges),
        new_ints(edges),
        new_floats(edges),
    )
    _sort_ways(ways, nodes)
    _sort_edges(ways, forests.weight, nodes, groups)
    return ways


@kernel
def _sort_ways(ways: Ways, nodes: int) -> None:
    """Sort the ways by node: a count, then every one to its place."""
    forest, first, way, until = ways.forest, ways.first, ways.way, ways.until
    inside, outside, lexical = forest.inside, forest.outside, forest.lexical
    rule_prob, unary_prob = ways.tables.rule_prob, ways.unary.rule_prob
    cells = ways.length * (ways.length + 1) // 2
    productions = forest.cell_production[cells]
    unaries = forest.unary_first[cells] if len(unary_prob) else 0
    for filling in (False, True):
        # Counted two places on and summed up, they begin one place on, and move back in filling.
        if filling:
            for node in range(nodes):
                first[node + 2] += first[node + 1]
        for node in range(nodes):
            if outside[node] > 0 and lexical[node] > 0:
                if filling:
                    way[first[node + 1]], until[first[node + 1]] = LEXICAL, lexical[node]
                first[node + (1 if filling else 2)] += 1
        for place in range(productions):
            node = forest.production_parent[place]
            if outside[node] > 0:
                value = (
                    rule_prob[forest.production_rule[place]]
                    * forest.group_sum[forest.production_group[place]]
                )
                if value > 0:
                    if filling:
                        way[first[node + 1]], until[first[node + 1]] = place, value
                    first[node + (1 if filling else 2)] += 1
        for place in range(unaries):
            node = forest.unary_parent[place]
            if outside[node] > 0:
                value = unary_prob[forest.unary_rule[place]] * inside[forest.unary_child[place]]
                if value > 0:
                    if filling:
                        way[first[node + 1]], until[first[node + 1]] = UNARY - place, value
                    first[node + (1 if filling else 2)] += 1
    _sum_up(first, until, nodes)


@kernel
def _sort_edges(ways: Ways, weight: Floats, nodes: int, groups: int) -> None:
    """Sort the edges by group."""
    forest, first, left, right = ways.forest, ways.edge_first, ways.left, ways.right
    for edge in range(forest.edge_first[nodes]):
        if weight[forest.edge_group[edge]] > 0:
            first[forest.edge_group[edge] + 2] += 1
    for group in range(groups):
        first[group + 2] += first[group + 1]
    # Of nodes with one end those of the last start come first.
    for node in range(nodes - 1, -1, -1):
        begin = forest.edge_first[node]
        for edge in range(begin, forest.edge_first[node + 1]):
            group = forest.edge_group[edge]
            if weight[group] > 0:
                place = first[group + 1]
                left[place] = forest.left_node[forest.left_first[node] + edge - begin]
                right[place] = node
                ways.edge_until[place] = forest.inside[left[place]] * forest.inside[node]
                first[group + 1] += 1
    _sum_up(first, ways.edge_until, groups)


@kernel
def _sum_up(first: Ints, values: Floats, count: int) -> None:
    """From values to the sums of each list's values so far."""
    for one in range(count):
        for place in range(first[one] + 1, first[one + 1]):
            values[place] += values[place - 1]
