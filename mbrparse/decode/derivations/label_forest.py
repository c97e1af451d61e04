"""The forest of labels of a sentence's forest: every tree that is built of projected productions.

Petrov and Klein's (2007) max-rule objectives search it: the posterior of a production A -> B C over (start,
split, end) is summed over all symbols that have these labels, and a tree may combine whatever productions
have a posterior above zero, whether or not the grammar derives it so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import kernel
from mbrparse.charts.packed_forest import ONE, Forest, Index
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.decode.derivations.items import ITEM_KINDS, ForestItems, ItemTables
from mbrparse.decode.derivations.search import Gains, Graph, graph_of
from mbrparse.decode.objectives import Objective
from mbrparse.grammar.pcfg import FloatArray

Numbers = npt.NDArray[np.integer]


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

    def gains(self, objective: Objective, terminal: npt.NDArray[np.bool_]) -> Gains:
        """What an objective of the space of items weighs; ``terminal`` [label] earns nothing over a word."""
        graph, nodes = self.graph, len(self.lexical)
        [(earn, weight)] = [
            (earn, weight)
            for item, weight in objective.gains
            if weight and (earn := ITEM_KINDS[item].by_split) is not None
        ]
        word = np.where(self.lexical > 0, 0.0, -np.inf)
        earns = (self.lexical > 0) & ~terminal[graph.node_symbol]
        word[earns] = weight * earn(self.lexical[earns])
        roots = slice(graph.node_first[-2], graph.node_first[-1])
        return Gains(
            node=np.zeros(nodes),
            word=word,
            production=np.zeros(len(self.pair)),
            unary=weight * earn(self.unary_mass),
            foot=np.zeros(len(graph.node_first) - 1),
            edge=weight * earn(self.edge_mass),
            root=np.where(self.is_root[roots], 0.0, -np.inf),
        )


class _Nodes(NamedTuple):
    """The label nodes, and the forest's nodes that each is made of."""

    first: Ints  # by cell
    start: Ints
    label: Ints
    is_root: npt.NDArray[np.bool_]
    lexical: Floats
    first_node: Ints
    next_node: Ints  # by node of the forest: the next one of its label node, or -1
    label_node: Ints  # by node of the forest: its label node (-1: none)


class _Groups(NamedTuple):
    """What edges of the forest's groups become edges of.

    Each group has shares: label groups, each with the outside * probability of the productions that go there.
    """

    cell_production: Ints
    pair: Ints  # by label group
    parent: Ints
    shares: Ints  # [group of the forest, 2]: where its shares begin, and end
    share_group: Ints
    share_weight: Floats


def project_forest(known: ForestItems) -> LabelForest:
    """The forest of labels of a forest.

    Nodes, productions, unaries and edges without a posterior above zero are left out. Raises MemoryError
    where it does not fit.
    """
    forest, items = known.forest, known.tables
    nodes = project_nodes(forest, items.label, items.root, len(items.terminal))
    count = len(items.production_labels)
    groups = share_productions(forest, items.production, nodes.label_node, count)
    edge_first, edge_group, left_node, mass = project_edges(forest, groups, nodes)
    above, below, unary_mass = _projected_unaries(forest, nodes.label_node, known.unaries.mass)
    graph = graph_of(
        node_first=nodes.first,
        node_start=nodes.start,
        node_symbol=nodes.label,
        edge_first=edge_first,
        edge_group=edge_group,
        left_first=edge_first[:-1],
        left_node=left_node,
        group_right=items.production_labels[groups.pair, 2],
        cell_production=groups.cell_production,
        production_parent=groups.parent,
        production_group=np.arange(len(groups.pair), dtype=np.int32),
        unary_first=np.searchsorted(above, nodes.first).astype(np.int32),
        unary_parent=above,
        unary_child=below,
    )
    return LabelForest(graph, groups.pair, nodes.is_root, nodes.lexical, mass, unary_mass)


def _projected_unaries(forest: Forest, label_node: Ints, mass: FloatArray) -> tuple[Ints, Ints, FloatArray]:
    """The different unaries between label nodes in the order in which they come first, and their masses."""
    above, below = label_node[forest.unary_parent], label_node[forest.unary_child]
    kept = (above >= 0) & (below >= 0) & (mass > 0)
    above, below, mass = above[kept], below[kept], mass[kept]
    _, first, same = np.unique(above.astype(np.int64) << 32 | below, return_index=True, return_inverse=True)
    order = np.argsort(first)
    summed = np.bincount(same, mass, len(first)).astype(np.float64)
    return above[first[order]], below[first[order]], summed[order]


def joined_forest(
    labels: Sequence[LabelForest], items: ItemTables, n: int
) -> tuple[LabelForest, tuple[FloatArray, FloatArray, FloatArray]]:
    """Forests of labels as one that has the parts of all, and the posteriors [forest, part] in each.

    These are of preterminals (by node), edges and unaries.
    """
    cells, symbols, pairs = n * (n + 1) // 2, len(items.terminal), len(items.production_labels)
    graphs = [one.graph for one in labels]
    nodes, groups = [len(one.lexical) for one in labels], [len(one.pair) for one in labels]

    def column(name: str, of: Sequence[int] | None = None) -> Any:
        """The numbers of all forests, one's after the other's; where they number parts, ``of`` n parts."""
        first = np.zeros(len(labels), int) if of is None else np.cumsum(of) - of
        return np.concatenate([getattr(one, name) + begin for one, begin in zip(graphs, first, strict=True)])

    def owners(name: str) -> Any:
        """Which part of its own forest has each of the parts that ``name`` lists the first of."""
        sizes = [np.diff(getattr(one, name)) for one in graphs]
        return np.concatenate([np.repeat(np.arange(len(size)), size) for size in sizes])

    def table(columns: Sequence[FloatArray], places: Numbers, count: int) -> FloatArray:
        found = np.zeros((len(labels), count))
        found[np.repeat(np.arange(len(labels)), list(map(len, columns))), places] = np.concatenate(columns)
        return found

    offset = np.repeat(np.cumsum(nodes) - nodes, [len(one.edge_mass) for one in labels])
    keys, node = _numbered(owners("node_first") * symbols + column("node_symbol"))
    parent = node[column("production_parent", nodes)]
    made, production = _numbered(parent * pairs + np.concatenate([one.pair for one in labels]))
    above, below = node[column("unary_parent", nodes)], node[column("unary_child", nodes)]
    chained, unary = _numbered(above * len(keys) + below)
    right = node[owners("edge_first") + offset]
    split, edge = _numbered(right * len(made) + production[column("edge_group", groups)])
    start, left, is_root = np.zeros(len(keys)), np.zeros(len(split)), np.zeros(len(keys), np.bool_)
    start[node], left[edge] = column("node_start"), node[column("left_node", nodes)]
    np.logical_or.at(is_root, node, np.concatenate([one.is_root for one in labels]))
    node_first = np.searchsorted(keys, symbols * np.arange(cells + 1))
    edge_first = np.searchsorted(split, len(made) * np.arange(len(keys) + 1))
    arrays = {
        "node_first": node_first,
        "node_start": start,
        "node_symbol": keys % symbols,
        "edge_first": edge_first,
        "edge_group": split % max(len(made), 1),
        "left_first": edge_first[:-1],
        "left_node": left,
        "group_right": items.production_labels[made % pairs, 2],
        "cell_production": np.searchsorted(made, pairs * node_first),
        "production_parent": made // pairs,
        "production_group": np.arange(len(made)),
        "unary_first": np.searchsorted(chained, len(keys) * node_first),
        "unary_parent": chained // len(keys),
        "unary_child": chained % len(keys),
    }
    graph = graph_of(**{name: array.astype(np.int32) for name, array in arrays.items()})
    none = np.zeros(0)
    masses = (
        table([one.lexical for one in labels], node, len(keys)),
        table([one.edge_mass for one in labels], edge, len(split)),
        table([one.unary_mass for one in labels], unary, len(chained)),
    )
    return LabelForest(graph, (made % pairs).astype(np.int32), is_root, none, none, none), masses


def _numbered(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct keys, in order, and the places of all among them."""
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, place


@kernel
def project_nodes(forest: Forest, label: Ints, root: Floats, n_labels: int) -> _Nodes:
    """List the label nodes of all cells, one for each label."""
    inside, outside, symbol = forest.inside, forest.outside, forest.node_symbol
    cells, size, count = len(forest.node_first), len(symbol), 0
    cell_first, start, name_of = np.zeros(cells, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    is_root, lexical, first_node = np.zeros(size, np.bool_), np.zeros(size), np.empty(size, np.int32)
    next_node, label_node = np.empty(size, np.int32), np.empty(size, np.int32)
    node_of_label = np.full(n_labels, -1, np.int32)  # -1 between cells
    for cell in range(cells - 1):
        # Lists of nodes come out in ascending order.
        for node in range(forest.node_first[cell + 1] - 1, forest.node_first[cell] - 1, -1):
            label_node[node] = -1
            if not outside[node] * inside[node] > 0:
                continue
            name = label[symbol[node]]
            projected = node_of_label[name]
            if projected < 0:
                projected = node_of_label[name] = count
                name_of[count], start[count], first_node[count] = name, forest.node_start[node], -1
                count += 1
            label_node[node] = projected
            next_node[node], first_node[projected] = first_node[projected], node
            lexical[projected] += outside[node] * forest.lexical[node]
            if root[symbol[node]] > 0:
                is_root[projected] = True
        for projected in range(cell_first[cell], count):
            node_of_label[name_of[projected]] = -1
        cell_first[cell + 1] = count
    return _Nodes(
        cell_first,
        start[:count],
        name_of[:count],
        is_root[:count],
        lexical[:count],
        first_node[:count],
        next_node,
        label_node,
    )


@kernel
def share_productions(forest: Forest, production_of: Ints, label_node: Ints, n_pairs: int) -> _Groups:
    """List the productions of labels of all cells, and what the forest's groups share among them.

    ``production_of`` binary rules are the productions of labels.
    """
    cells, most, count, total = len(forest.cell_production), len(forest.production_rule), 0, 0
    cell_production, shares = np.zeros(cells, np.int32), np.zeros((len(forest.group_sum), 2), np.int32)
    pairs, parents = np.empty(most, np.int32), np.empty(most, np.int32)
    share_group, share_weight = np.empty(most, np.int32), np.empty(most)
    newest_share = np.empty(most, np.int32)  # of a label group
    known = np.full(n_pairs, -1, np.int32)  # -1 between cells
    for cell in range(cells - 1):
        previous, first = -1, total
        for place in range(forest.cell_production[cell], forest.cell_production[cell + 1]):
            parent = Index(forest.production_parent[place])
            if label_node[parent] < 0:
                continue
            weight = forest.rule_prob[Index(forest.prob_place[place])] * forest.outside[parent]
            if not weight > 0:
                continue
            group = forest.production_group[place]
            if group != previous:
                previous, first = group, total
                shares[group, 0] = total
            pair = Index(production_of[Index(forest.production_rule[place])])
            chosen = known[pair]
            if chosen < 0:
                chosen = known[pair] = count
                pairs[count], parents[count], newest_share[count] = pair, label_node[parent], -1
                count += 1
            share = newest_share[chosen]
            if share < first:  # it is another group's
                share = newest_share[chosen] = total
                share_group[share], share_weight[share] = chosen, 0.0
                total += 1
                shares[group, 1] = total
            share_weight[share] += weight
        for production in range(cell_production[cell], count):
            known[pairs[production]] = -1
        cell_production[cell + 1] = count
    return _Groups(cell_production, pairs[:count], parents[:count], shares, share_group, share_weight)


@kernel
def project_edges(forest: Forest, groups: _Groups, nodes: _Nodes) -> tuple[Ints, Ints, Ints, Floats]:
    """The edges of label nodes as right nodes: where each one's begin, groups, left nodes and masses."""
    most, count = 0, len(nodes.label)
    for group in forest.edge_group:
        most += groups.shares[Index(group), 1] - groups.shares[Index(group), 0]
    into_first, into_group = np.empty(count + 1, np.int32), np.empty(most, np.int32)
    into_left, mass_of = np.empty(most, np.int32), np.empty(most)
    # By label group, the edge that a right node made with it last, or -1.
    entry_of = np.full(len(groups.pair), -1, np.int32)
    edge_first, edge_group, inside = forest.edge_first, forest.edge_group, forest.inside
    shares, share_group, share_weight = groups.shares, groups.share_group, groups.share_weight
    label_node, value, edges = nodes.label_node, forest.edge_value, 0
    for right in range(count):
        begin = into_first[right] = edges
        node = nodes.first_node[right]
        while node >= 0:
            partner = Index(forest.left_first[node])
            for edge in range(Index(edge_first[node]), Index(edge_first[node + 1])):
                left = Index(forest.left_node[partner])
                partner = Index(partner + ONE)
                below = value[edge] if len(value) else inside[left] * inside[node]
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
                    if entry >= begin:
                        mass_of[entry] += mass
                    else:
                        entry_of[chosen] = edges
                        into_group[edges], into_left[edges], mass_of[edges] = chosen, label_node[left], mass
                        edges += 1
            node = nodes.next_node[node]
    into_first[count] = edges
    return into_first, into_group[:edges], into_left[:edges], mass_of[:edges]
