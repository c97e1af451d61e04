"""The forest of labels of a sentence's forest: every tree that is built of projected productions.

Petrov and Klein's (2007) max-rule objectives search it: the posterior of a production A -> B C over (start,
split, end) is summed over all symbols that have these labels, and a tree may combine whatever productions
have a posterior above zero, whether or not the grammar derives it so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.packed_forest import ONE, Forest, Index, forest_cell
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.decode.derivations.gains import LANES, Booleans, EdgeGains, Gains, ItemTables


class LabelForest(NamedTuple):
    """A forest whose symbols are labels and whose pairs are productions of labels, and its posteriors.

    A group has one production, of the same number. Of its values ``lexical`` holds the posteriors of
    preterminals, and ``inside`` 1 for nodes that may be the root and 0 for others.
    """

    forest: Forest
    edge_mass: Floats  # by edge, of the production with its split
    unary_mass: Floats


class ProjectionScratch(NamedTuple):
    """Which of its parts a forest's parts become; by label and by production -1 between cells."""

    node_of_label: Ints
    group_of_production: Ints
    label_node: Ints  # [node of the forest] its node of the forest of labels, or -1
    inside: Floats  # [node of the forest] its inside value if it has a label node, else 0
    next_node: Ints  # [node of the forest] the next one of its label node, or -1
    first_node: Ints  # [node] the first node of the forest that it is made of
    # What edges of the forest's groups become edges of: label groups, each with the outside * probability of
    # the productions that go there.
    shares: Ints  # [group of the forest, 2]: where its shares begin, and end
    share_group: Ints
    share_weight: Floats
    entry_of_group: Ints  # [group] the edge that a right node made with it last


@kernel
def project_forest(
    forest: Forest, items: ItemTables, labels: LabelForest, scratch: ProjectionScratch, n: int, stop: Ints
) -> bool:
    """Fill the forest of labels; false if its edges do not fit, or the time is up.

    Nodes, productions, unaries and edges without a posterior above zero are left out.
    """
    cells = n * (n + 1) // 2
    _project_nodes(forest, items, labels.forest, scratch, cells)
    _project_productions(forest, items, labels.forest, scratch, cells)
    _project_unaries(forest, items, labels, scratch, cells)
    return _project_edges(forest, labels, scratch, cells, stop)


@kernel
def _project_nodes(
    forest: Forest, items: ItemTables, into: Forest, scratch: ProjectionScratch, cells: int
) -> None:
    """The nodes of all cells, one for each label."""
    inside, outside, lexical = forest.inside, forest.outside, forest.lexical
    node_first, node_symbol, node_start = forest.node_first, forest.node_symbol, forest.node_start
    into_first, into_symbol, into_start = into.node_first, into.node_symbol, into.node_start
    into_inside, into_lexical = into.inside, into.lexical
    label, root, node_of_label, label_node = (
        items.label,
        items.root,
        scratch.node_of_label,
        scratch.label_node,
    )
    kept_inside, next_node, first_node = scratch.inside, scratch.next_node, scratch.first_node
    count = 0
    into_first[0] = 0
    for cell in range(cells):
        begin = count
        # Lists of nodes come out in ascending order.
        for node in range(node_first[cell + 1] - 1, node_first[cell] - 1, -1):
            label_node[node], kept_inside[node] = -1, 0
            if not outside[node] * inside[node] > 0:
                continue
            symbol = node_symbol[node]
            projected = node_of_label[label[symbol]]
            if projected < 0:
                projected = count
                count += 1
                node_of_label[label[symbol]] = projected
                into_symbol[projected], into_start[projected] = label[symbol], node_start[node]
                into_inside[projected], into_lexical[projected] = 0, 0
                first_node[projected] = -1
            label_node[node], kept_inside[node] = projected, inside[node]
            next_node[node], first_node[projected] = first_node[projected], node
            into_lexical[projected] += outside[node] * lexical[node]
            if root[symbol] > 0:
                into_inside[projected] = 1
        for node in range(begin, count):
            node_of_label[into_symbol[node]] = -1
        into_first[cell + 1] = count


@kernel
def _project_productions(
    forest: Forest, items: ItemTables, into: Forest, scratch: ProjectionScratch, cells: int
) -> None:
    """The productions of all cells, and what the forest's groups share among them."""
    outside, rule_prob, production_labels = forest.outside, items.rule_prob, items.production_labels
    parent_of, rule_of, item = forest.production_parent, forest.production_rule, items.production
    label_node, known = scratch.label_node, scratch.group_of_production
    shares_of, share_group, share_weight = scratch.shares, scratch.share_group, scratch.share_weight
    into_pair, into_right, into_cell = into.group_pair, into.group_right, into.cell_production
    into_parent, into_group = into.production_parent, into.production_group
    count, shares = 0, 0
    into_cell[0] = 0
    for cell in range(cells):
        begin = count
        group = forest.cell_group[cell]
        while group >= 0:
            first_share = shares
            for place in range(forest.production_first[group], forest.production_last[group]):
                parent, rule = parent_of[place], rule_of[place]
                weight = rule_prob[rule] * outside[parent]
                if label_node[parent] < 0 or not weight > 0:
                    continue
                chosen = known[item[rule]]
                if chosen < 0:
                    chosen = count
                    count += 1
                    known[item[rule]] = chosen
                    into_pair[chosen], into_right[chosen] = item[rule], production_labels[item[rule], 2]
                    into_parent[chosen], into_group[chosen] = label_node[parent], chosen
                share = first_share
                while share < shares and share_group[share] != chosen:
                    share += 1
                if share == shares:
                    shares += 1
                    share_group[share], share_weight[share] = chosen, 0
                share_weight[share] += weight
            shares_of[group, 0], shares_of[group, 1] = first_share, shares
            group = forest.group_next[group]
        for production in range(begin, count):
            known[into_pair[production]] = -1
        into_cell[cell + 1] = count
    scratch.entry_of_group[:count] = -1


@kernel
def _project_unaries(
    forest: Forest, items: ItemTables, labels: LabelForest, scratch: ProjectionScratch, cells: int
) -> None:
    """The unaries of all cells, each pair of labels once."""
    into, mass_of, label_node, unary_first = (
        labels.forest,
        labels.unary_mass,
        scratch.label_node,
        forest.unary_first,
    )
    count = 0
    into.unary_first[0] = 0
    for cell in range(cells):
        begin = count
        for unary in range(unary_first[cell], unary_first[cell + 1]):
            parent, child = forest.unary_parent[unary], forest.unary_child[unary]
            mass = items.unary_prob[forest.unary_rule[unary]] * forest.outside[parent] * forest.inside[child]
            above, below = label_node[parent], label_node[child]
            if above < 0 or below < 0 or not mass > 0:
                continue
            place = begin
            while place < count and (into.unary_parent[place] != above or into.unary_child[place] != below):
                place += 1
            if place == count:
                into.unary_parent[place], into.unary_child[place], mass_of[place] = above, below, 0
                count += 1
            mass_of[place] += mass
        into.unary_first[cell + 1] = count


@kernel
def _project_edges(
    forest: Forest, labels: LabelForest, scratch: ProjectionScratch, cells: int, stop: Ints
) -> bool:
    """The edges of all cells, cell by cell of their right nodes; false if they do not fit, or at ``stop``."""
    edge_first, edge_group = forest.edge_first, forest.edge_group
    left_first, left_node = forest.left_first, forest.left_node
    inside, next_node, first_node = scratch.inside, scratch.next_node, scratch.first_node
    shares_of, share_group, share_weight = scratch.shares, scratch.share_group, scratch.share_weight
    label_node, entry_of = scratch.label_node, scratch.entry_of_group
    into, mass_of = labels.forest, labels.edge_mass
    into_node_first, into_first, into_left_first = into.node_first, into.edge_first, into.left_first
    into_group, into_left = into.edge_group, into.left_node
    edges, capacity = 0, len(mass_of)
    for cell in range(cells):
        if stop[0]:
            return False
        for right in range(into_node_first[cell], into_node_first[cell + 1]):
            into_first[right], into_left_first[right] = edges, edges
            begin, node = edges, first_node[right]
            while node >= 0:
                value, partner = inside[node], Index(left_first[node])
                for edge in range(Index(edge_first[node]), Index(edge_first[node + 1])):
                    left = Index(left_node[partner])
                    partner = Index(partner + ONE)
                    below = inside[left] * value
                    if not below > 0:
                        continue
                    group = Index(edge_group[edge])
                    for share in range(Index(shares_of[group, 0]), Index(shares_of[group, 1])):
                        mass = share_weight[share] * below
                        if not mass > 0:
                            continue
                        chosen = Index(share_group[share])
                        entry = entry_of[chosen]
                        if entry < begin:
                            if edges == capacity:
                                return False
                            entry = edges
                            edges += 1
                            entry_of[chosen], mass_of[entry] = entry, 0
                            into_group[entry], into_left[entry] = chosen, label_node[left]
                        mass_of[Index(entry)] += mass
                node = next_node[node]
    into_first[into_node_first[cells]] = edges
    return True


@kernel
def label_gains(
    labels: LabelForest, gains: Gains, edge_gains: EdgeGains, values: Floats, is_terminal: Booleans, n: int
) -> None:
    """What edges and unaries of a forest of labels earn, and what preterminals do, into their ``values``.

    Terminals earn nothing, -inf other nodes over a word.
    """
    forest, weights = labels.forest, edge_gains.weights
    mass, log_mass, unary_mass, unary = edge_gains.mass, edge_gains.log_mass, labels.unary_mass, gains.unary
    cells = n * (n + 1) // 2
    for edge in range(forest.edge_first[forest.node_first[cells]]):
        log_mass[edge] = np.log(mass[edge])
    for place in range(forest.unary_first[cells]):
        log_of_mass = np.log(unary_mass[place])
        for lane in range(LANES):
            unary[place, lane] = weights[0, lane] * unary_mass[place] + weights[1, lane] * log_of_mass
    for position in range(n):
        cell = forest_cell(position, position + 1)
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            posterior = forest.lexical[node]
            for lane in range(LANES):
                if posterior == 0:
                    values[node, lane] = -np.inf
                elif is_terminal[forest.node_symbol[node]]:
                    values[node, lane] = 0
                else:
                    values[node, lane] = weights[0, lane] * posterior
                    if weights[1, lane] != 0:
                        values[node, lane] += weights[1, lane] * np.log(posterior)
