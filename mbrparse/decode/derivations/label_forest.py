"""The forest of labels of a sentence's forest: every tree that is built of projected productions.

Petrov and Klein's (2007) max-rule objectives search it: the posterior of a production A -> B C over (start,
split, end) is summed over all symbols that have these labels, and a tree may combine whatever productions
have a posterior above zero, whether or not the grammar derives it so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import kernel
from mbrparse.charts.packed_forest import ONE, Forest, Index
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.decode.derivations.items import ITEM_KINDS, ItemTables
from mbrparse.decode.derivations.search import Gains, Graph
from mbrparse.decode.objectives import Objective
from mbrparse.grammar.pcfg import FloatArray


class LabelForest(NamedTuple):
    """A graph whose symbols are labels and whose groups are productions of labels, and its posteriors.

    A group has one production, of the same number; ``pair`` has its number among the grammar's (or all
    grammars') productions of labels.
    """

    graph: Graph
    pair: Ints
    is_root: npt.NDArray[np.bool_]  # by node, whether it may be the root
    lexical: FloatArray  # by node, the posterior of a preterminal
    edge_mass: FloatArray  # that of the production with its split
    unary_mass: FloatArray

    def gains(self, objective: Objective, terminal: npt.NDArray[np.bool_], n: int) -> Gains:
        """What an objective of the space of items weighs; ``terminal`` [label] earns nothing over a word."""
        graph, nodes = self.graph, len(self.lexical)
        [(earn, weight)] = [
            (earn, weight)
            for item, weight in objective.gains
            if weight and (earn := ITEM_KINDS[item].by_split) is not None
        ]
        word = np.where(self.lexical > 0, 0.0, -np.inf)
        earns = (self.lexical > 0) & ~terminal[graph.node_symbol[:nodes]]
        word[earns] = weight * earn(self.lexical[earns])
        roots = slice(graph.node_first[-2], graph.node_first[-1])
        return Gains(
            node=np.zeros(nodes),
            word=word,
            production=np.zeros(len(self.pair)),
            unary=weight * earn(self.unary_mass),
            foot=np.zeros(n * (n + 1) // 2),
            edge=weight * earn(self.edge_mass),
            root=np.where(self.is_root[roots], 0.0, -np.inf),
        )


class _Nodes(NamedTuple):
    """The label node of each node of the forest (-1: none), and the nodes that a label node is made of."""

    label_node: Ints
    next_node: Ints  # by node: the next one of its label node, or -1
    first_node: Ints  # by label node
    start: Ints
    label: Ints
    is_root: npt.NDArray[np.bool_]
    lexical: Floats


class _Groups(NamedTuple):
    """What edges of the forest's groups become edges of.

    Each group has shares: label groups, each with the outside * probability of the productions that go there.
    """

    shares: Ints  # [group of the forest, 2]: where its shares begin, and end
    share_group: Ints
    share_weight: Floats
    pair: Ints  # by label group
    parent: Ints


def project_forest(forest: Forest, items: ItemTables, n: int) -> LabelForest:
    """The forest of labels of a forest.

    Nodes, productions, unaries and edges without a posterior above zero are left out. Raises MemoryError
    where it does not fit.
    """
    cells = n * (n + 1) // 2
    size = int(forest.node_first[cells])
    label_node, next_node, first_node, start, label = np.empty((5, size), np.int32)
    is_root, lexical = np.zeros(size, np.bool_), np.zeros(size)
    nodes = _Nodes(label_node, next_node, first_node, start, label, is_root, lexical)
    node_first = np.zeros(cells + 1, np.int32)
    count = project_nodes(forest, items, nodes, np.full(len(items.terminal), -1, np.int32), node_first)

    productions = int(forest.cell_production[cells])
    edges = forest.edge_group[: forest.edge_first[size]]
    groups = _Groups(
        np.zeros((int(edges.max(initial=-1)) + 1, 2), np.int32),
        np.empty(productions, np.int32),
        np.empty(productions),
        np.empty(productions, np.int32),
        np.empty(productions, np.int32),
    )
    known = np.full(len(items.production_labels), -1, np.int32)
    cell_production = np.zeros(cells + 1, np.int32)
    used = share_productions(forest, items, nodes.label_node, known, groups, cell_production)
    pair = groups.pair[:used]
    most = int(np.diff(groups.shares, axis=1)[edges].sum())
    edge_first, edge_group, left_node = (np.empty(size, np.int32) for size in (count + 1, most, most))
    mass = np.empty(most)
    into = edge_first, edge_group, left_node, mass
    total = project_edges(forest, groups, nodes, np.full(used, -1, np.int32), into)

    unaries = slice(forest.unary_first[cells])
    parents, children = forest.unary_parent[unaries], forest.unary_child[unaries]
    above, below = nodes.label_node[parents], nodes.label_node[children]
    unary_mass = items.unary_prob[forest.unary_rule[unaries]] * forest.outside[parents]
    unary_mass *= forest.inside[children]
    kept = (above >= 0) & (below >= 0) & (unary_mass > 0)
    above, below, unary_mass = above[kept], below[kept], unary_mass[kept]
    _, first, same = np.unique(above.astype(np.int64) * count + below, return_index=True, return_inverse=True)
    # They stay in the order in which they come first.
    order = np.argsort(first)
    summed = np.bincount(same, unary_mass, len(first)).astype(np.float64)
    first, unary_mass = first[order], summed[order]
    above, below = above[first], below[first]
    graph = Graph(
        node_first=node_first,
        node_start=nodes.start[:count],
        node_symbol=nodes.label[:count],
        edge_first=edge_first,
        edge_group=edge_group[:total],
        left_first=edge_first[:-1],
        left_node=left_node[:total],
        group_right=items.production_labels[pair, 2],
        cell_production=cell_production,
        production_parent=groups.parent[:used],
        production_group=np.arange(used, dtype=np.int32),
        unary_first=np.searchsorted(above, node_first).astype(np.int32),
        unary_parent=above,
        unary_child=below,
    )
    return LabelForest(graph, pair, nodes.is_root[:count], nodes.lexical[:count], mass[:total], unary_mass)


@kernel
def project_nodes(
    forest: Forest, items: ItemTables, into: _Nodes, node_of_label: Ints, node_first: Ints
) -> int:
    """List the label nodes of all cells, one for each label; returns how many there are.

    ``node_of_label`` is -1 between cells.
    """
    inside, outside, label, symbol = forest.inside, forest.outside, items.label, forest.node_symbol
    count = 0
    for cell in range(len(node_first) - 1):
        begin = count
        # Lists of nodes come out in ascending order.
        for node in range(forest.node_first[cell + 1] - 1, forest.node_first[cell] - 1, -1):
            into.label_node[node] = -1
            if not outside[node] * inside[node] > 0:
                continue
            name = label[symbol[node]]
            projected = node_of_label[name]
            if projected < 0:
                projected = node_of_label[name] = count
                into.label[count], into.start[count], into.first_node[count] = (
                    name,
                    forest.node_start[node],
                    -1,
                )
                count += 1
            into.label_node[node] = projected
            into.next_node[node], into.first_node[projected] = into.first_node[projected], node
            into.lexical[projected] += outside[node] * forest.lexical[node]
            if items.root[symbol[node]] > 0:
                into.is_root[projected] = True
        for node in range(begin, count):
            node_of_label[into.label[node]] = -1
        node_first[cell + 1] = count
    return count


@kernel
def share_productions(
    forest: Forest,
    items: ItemTables,
    label_node: Ints,
    known: Ints,
    into: _Groups,
    cell_production: Ints,
) -> int:
    """List the productions of all cells, and what the forest's groups share among them.

    ``known`` [production of labels] is -1 between cells. Returns how many there are.
    """
    count, total = 0, 0
    for cell in range(len(cell_production) - 1):
        begin, previous, first = count, -1, total
        for place in range(forest.cell_production[cell], forest.cell_production[cell + 1]):
            group, parent = forest.production_group[place], forest.production_parent[place]
            if group != previous:
                previous, first = group, total
                into.shares[group, 0] = into.shares[group, 1] = total
            rule = forest.production_rule[place]
            weight, pair = items.rule_prob[rule] * forest.outside[parent], items.production[rule]
            if label_node[parent] < 0 or not weight > 0:
                continue
            chosen = known[pair]
            if chosen < 0:
                chosen = known[pair] = count
                into.pair[count], into.parent[count] = pair, label_node[parent]
                count += 1
            share = first
            while share < total and into.share_group[share] != chosen:
                share += 1
            if share == total:
                into.share_group[share], into.share_weight[share] = chosen, 0.0
                total += 1
                into.shares[group, 1] = total
            into.share_weight[share] += weight
        for production in range(begin, count):
            known[into.pair[production]] = -1
        cell_production[cell + 1] = count
    return count


@kernel
def project_edges(
    forest: Forest, groups: _Groups, nodes: _Nodes, entry_of: Ints, into: tuple[Ints, Ints, Ints, Floats]
) -> int:
    """The edges of all label nodes as right nodes; returns how many there are.

    ``entry_of`` [label group] is the edge that a right node made with it last, or -1.
    """
    into_first, into_group, into_left, mass_of = into
    edge_first, edge_group, inside = forest.edge_first, forest.edge_group, forest.inside
    shares, share_group, share_weight = groups.shares, groups.share_group, groups.share_weight
    label_node, edges = nodes.label_node, 0
    for right in range(len(into_first) - 1):
        begin = into_first[right] = edges
        node = nodes.first_node[right]
        while node >= 0:
            partner = Index(forest.left_first[node])
            for edge in range(Index(edge_first[node]), Index(edge_first[node + 1])):
                left = Index(forest.left_node[partner])
                partner = Index(partner + ONE)
                below = inside[left] * inside[node]
                if label_node[left] < 0 or not below > 0:
                    continue
                group = Index(edge_group[edge])
                for share in range(Index(shares[group, 0]), Index(shares[group, 1])):
                    mass = share_weight[share] * below
                    if not mass > 0:
                        continue
                    chosen = Index(share_group[share])
                    # Left nodes of one label that make the same production are one.
                    entry = entry_of[chosen]
                    if entry < begin:
                        entry = entry_of[chosen] = edges
                        into_group[edges], into_left[edges], mass_of[edges] = chosen, label_node[left], 0.0
                        edges += 1
                    mass_of[entry] += mass
            node = nodes.next_node[node]
    into_first[len(into_first) - 1] = edges
    return edges
