"""Drawing derivations of a DOP chart, from the root down.

Where a fragment begins, its address is drawn in proportion to up_p q_p (see ``dop_passes``), by sums over a
label's addresses that are taken at a node's first visit. An address's split is drawn in proportion to e_k
e_l, and whether the fragment ends at a child in proportion to the two terms of e. The inside pass has all of
these, so that each derivation comes exactly as often as it is probable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Ints, Offsets
from mbrparse.grammar.charts.dop.dop_forest_kernels import DopForest
from mbrparse.grammar.charts.dop.dop_passes import DopValues, is_root, power, root_value
from mbrparse.grammar.charts.dop.dop_tables import DopTables
from mbrparse.grammar.charts.forest.top_down_kernels import drawn_place
from mbrparse.grammar.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray


# No address: a fragment begins, or what is below is a terminal.
_NONE = -1


class Sums(NamedTuple):
    """Of the nodes visited: their masses of fragments that begin there, each added to those before it."""

    rules_at: Offsets  # by node, where its label's rules begin in the next two; -1 before the first visit
    by_rule: FloatArray
    addresses_at: Offsets  # where a rule's addresses begin in the last
    by_address: FloatArray
    used: Offsets  # how much of by_rule and of by_address is


@kernel
def dop_draw(
    tables: DopTables,
    forest: DopForest,
    values: DopValues,
    sums: Sums,
    drawn: Ints,
    random: np.random.Generator,
    stop: Ints,
) -> Sums:
    """Draw a derivation for each row of ``drawn`` [derivation, node]: its 2 n - 1 nodes in preorder.

    The values are sums' of a sentence that has a parse. Returns the sums with those of more nodes.
    """
    # Arrays by themselves: tuples of them are slow to hand over.
    inside, exponent, value = values.inside, values.exponent, values.value
    starts, ends, group, table, table_start = (
        forest.start,
        forest.end,
        forest.group,
        forest.table,
        forest.table_start,
    )
    rules, lefts, rights, productions = forest.rule, forest.left, forest.right, forest.production_start
    rule_start, first, keep = tables.rule_start, tables.first, tables.keep
    left_rule, left_place, left_cut = tables.left_rule, tables.left_place, tables.left_cut
    right_rule, right_place, right_cut = tables.right_rule, tables.right_place, tables.right_cut
    rules_at, by_rule, addresses_at, by_address, _ = sums
    roots, root_masses = _roots(tables, forest, values)
    # A node, and the rule and the address that its fragment goes on with.
    stack = np.empty((forest.n + 1, 3), np.int64)
    for derivation in range(len(drawn)):
        if stop[0]:
            break
        stack[0, 0], stack[0, 2] = roots[drawn_place(root_masses, 0, len(roots), random.random())], _NONE
        height, place = 1, 0
        while height:
            height -= 1
            node, rule, address = stack[height, 0], stack[height, 1], stack[height, 2]
            drawn[derivation, place] = node
            place += 1
            if ends[node] - starts[node] == 1:
                continue
            label = group[node]
            if address == _NONE:
                if rules_at[node] < 0:
                    sums = _summed(tables, forest, values, sums, node)
                    _, by_rule, addresses_at, by_address, _ = sums
                at = rules_at[node]
                beyond = at + rule_start[label + 1] - rule_start[label]
                number = drawn_place(by_rule, at, beyond, random.random()) - at
                rule = rule_start[label] + number
                begin = addresses_at[at + number]
                beyond = begin + first[rule + 1] - first[rule]
                address = first[rule] + drawn_place(by_address, begin, beyond, random.random()) - begin
            # The productions of its rule, a split each.
            production = _first_of(rules, rule, productions[node], productions[node + 1])
            beyond = production + 1
            while beyond < productions[node + 1] and rules[beyond] == rule:
                beyond += 1
            number_left, place_left, cut_left = left_rule[address], left_place[address], left_cut[address]
            number_right, place_right, cut_right = (
                right_rule[address],
                right_place[address],
                right_cut[address],
            )
            if beyond > production + 1:
                own = table[table_start[node] + 1 + rule - rule_start[label]] + address - first[rule]
                point = random.random() * value[own] / keep[address]
                chosen = _NONE
                for one in range(production, beyond):
                    left, right = lefts[one], rights[one]
                    of_left = (
                        cut_left * inside[left] + value[table[table_start[left] + number_left] + place_left]
                    )
                    of_right = (
                        cut_right * inside[right]
                        + value[table[table_start[right] + number_right] + place_right]
                    )
                    mass = of_left * of_right * power(exponent[left] + exponent[right] - exponent[node])
                    # The last one that is possible takes what rounding leaves over.
                    if mass > 0 and (chosen < 0 or point >= 0):
                        chosen = one
                    point -= mass
                production = chosen
            left, right = lefts[production], rights[production]
            stack[height, 0], stack[height, 2] = right, _NONE
            if ends[right] - starts[right] > 1:
                ended = cut_right * inside[right]
                going_on = value[table[table_start[right] + number_right] + place_right]
                if random.random() * (ended + going_on) >= ended:
                    below = rule_start[group[right]] + number_right - 1
                    stack[height, 1], stack[height, 2] = below, first[below] + place_right
            height += 1
            stack[height, 0], stack[height, 2] = left, _NONE
            if ends[left] - starts[left] > 1:
                ended = cut_left * inside[left]
                going_on = value[table[table_start[left] + number_left] + place_left]
                if random.random() * (ended + going_on) >= ended:
                    below = rule_start[group[left]] + number_left - 1
                    stack[height, 1], stack[height, 2] = below, first[below] + place_left
            height += 1
    return sums


@kernel
def _first_of(rules: Ints, rule: int, low: int, high: int) -> int:
    """The first production of a rule among those of a node."""
    while low < high:
        middle = (low + high) >> 1
        if rules[middle] < rule:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _roots(tables: DopTables, forest: DopForest, values: DopValues) -> tuple[Ints, FloatArray]:
    """The roots that are possible, and their masses, each added to those before it."""
    _, top = root_value(tables, forest, values, None)
    roots, masses = np.empty(tables.n_labels, np.int32), np.empty(tables.n_labels)
    count, total = 0, 0.0
    for node in range(len(forest.group)):
        if is_root(tables, forest, values, node):
            scale = power(values.exponent[node] - top)
            total += tables.root[forest.group[node]] * values.inside[node] * scale
            roots[count], masses[count] = node, total
            count += 1
    return roots[:count], masses[:count]


@kernel
def _summed(tables: DopTables, forest: DopForest, values: DopValues, sums: Sums, node: int) -> Sums:
    """The sums with those of one more node."""
    label = forest.group[node]
    rule_start, rule_end = tables.rule_start[label], tables.rule_start[label + 1]
    table = forest.table[forest.table_start[node] + 1 :]
    rules_at, by_rule, addresses_at, by_address, used = sums
    size = 0
    for rule in range(rule_start, rule_end):
        if table[rule - rule_start] > 0:
            size += tables.first[rule + 1] - tables.first[rule]
    place, at = used[0], used[1]
    if place + rule_end - rule_start > len(by_rule):
        more = len(by_rule) + rule_end - rule_start
        by_rule = np.concatenate((by_rule, np.empty(more)))
        addresses_at = np.concatenate((addresses_at, np.empty(more, np.int64)))
    if at + size > len(by_address):
        by_address = np.concatenate((by_address, np.empty(len(by_address) + size)))
    rules_at[node] = place
    total = 0.0
    for rule in range(rule_start, rule_end):
        addresses_at[place] = at
        own = table[rule - rule_start]
        if own > 0:
            mass = 0.0
            begin = tables.first[rule]
            for p in range(tables.first[rule + 1] - begin):
                mass += tables.up[begin + p] / tables.keep[begin + p] * values.value[own + p]
                by_address[at] = mass
                at += 1
            total += mass
        by_rule[place] = total
        place += 1
    used[0], used[1] = place, at
    return Sums(rules_at, by_rule, addresses_at, by_address, used)
