"""The way down in DOP charts: derivatives of the sentence's probability, divided by it.

With E the derivative of a child's e over one span, D(I_A) = root + sum over addresses of cut E, and in total
D_p = keep_p E_p + up_p D(I_A) for the q of an address; each production passes D_p e_l on to E_k and D_p e_k
to E_l. The posterior of label A, the sum of q_p D_p, is I_A D(I_A) + sum of keep_p q_p E_p.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.dop.dop_forest import DopForest
from mbrparse.grammar.charts.dop.dop_inside import Child, DopValues, gather_left, is_root, power, root_value
from mbrparse.grammar.charts.dop.dop_tables import DopTables
from mbrparse.grammar.charts.rule_tables import Ints, Offsets
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray


@kernel
def dop_outside(tables: DopTables, forest: DopForest, values: DopValues, stop: Ints) -> None:
    """Fill outside values and posteriors of a sentence with a parse, whose inside values are filled."""
    inside, outside, posterior, exponent = values.inside, values.outside, values.posterior, values.exponent
    value, adjoint = values.value, values.adjoint
    group, words, table, table_start = forest.group, forest.words, forest.table, forest.table_start
    rules, lefts, rights, productions = forest.rule, forest.left, forest.right, forest.production_start
    vectors, left_vectors, right_vectors = forest.vectors, values.left, values.right
    of_left, of_right, n_labels = vectors.left, vectors.right, tables.n_labels
    total, top = root_value(tables, forest, values, None)
    outside[:] = 0
    adjoint[: forest.n_values] = 0
    values.right_adjoint[: vectors.n_right] = 0
    for node in range(len(group) - 1, -1, -1):
        if stop[0]:
            return
        if node + 1 == len(group) or forest.start[node] != forest.start[node + 1]:
            _begin_row(tables, forest, values, node)
        posterior[node] = 0
        if is_root(tables, forest, node):
            outside[node] += tables.root[group[node]] / total * power(exponent[node] - top)
        if inside[node] > 0 and group[node] < n_labels:
            _take_in(tables, forest, values, node)
        posterior[node] += inside[node] * outside[node]
        if words[node] >= 0:
            at = table[table_start[node] + tables.word_number[words[node]]]
            posterior[node] += value[at] * adjoint[at]
        if productions[node] == productions[node + 1]:
            continue
        _complete(tables, forest, values, node)
        for production in range(productions[node], productions[node + 1]):
            rule, left, right = rules[production], lefts[production], rights[production]
            begin, end = tables.first[rule], tables.first[rule + 1]
            size = end - begin
            at = table[table_start[node] + 1 + rule - tables.rule_start[group[node]]]
            own = adjoint[at : at + size]
            factor = power(exponent[left] + exponent[right] - exponent[node])
            if of_left[production] >= 0:
                at_left, at_right = of_left[production], of_right[production]
                vector, other = (
                    left_vectors[at_left : at_left + size],
                    right_vectors[at_right : at_right + size],
                )
                to_left = values.left_adjoint[at_left : at_left + size]
                to_right = values.right_adjoint[at_right : at_right + size]
                _pass_on(own, factor, vector, other, to_left, to_right)
            elif group[left] < n_labels:
                child = tables.left_rule[begin:end], tables.left_place[begin:end], tables.left_cut[begin:end]
                passed = _pass_beside(
                    own, child, table[table_start[left] :], value, adjoint, (inside[left], factor)
                )
                outside[left] += passed[0]
                outside[right] += passed[1]
            elif group[right] < n_labels:
                child = (
                    tables.right_rule[begin:end],
                    tables.right_place[begin:end],
                    tables.right_cut[begin:end],
                )
                passed = _pass_beside(
                    own, child, table[table_start[right] :], value, adjoint, (inside[right], factor)
                )
                outside[right] += passed[0]
                outside[left] += passed[1]
            else:
                passed_on = factor * own.sum()
                outside[left] += passed_on
                outside[right] += passed_on


@kernel
def _begin_row(tables: DopTables, forest: DopForest, values: DopValues, last: int) -> None:
    """Gather the vectors of left children again, for the start of this node, the last that has it."""
    start = forest.start[last]
    values.left_adjoint[: forest.vectors.row_size[start]] = 0
    node = last
    while node >= 0 and forest.start[node] == start:
        if values.inside[node] > 0 and forest.group[node] < tables.n_labels:
            gather_left(tables, forest, values, node, None)
        node -= 1


@kernel
def _take_in(tables: DopTables, forest: DopForest, values: DopValues, node: int) -> None:
    """Take in what the vectors of a node's e have got."""
    label, vectors, adjoint = forest.group[node], forest.vectors, values.adjoint
    table = forest.table[forest.table_start[node] :]
    outside = 0.0
    uses = tables.left_start[label]
    for use in range(tables.left_start[label + 1] - uses):
        at = vectors.left_table[vectors.left_table_start[node] + use]
        if at >= 0:
            begin, end = (
                tables.first[tables.left_rules[uses + use]],
                tables.first[tables.left_rules[uses + use] + 1],
            )
            child = tables.left_rule[begin:end], tables.left_place[begin:end], tables.left_cut[begin:end]
            outside += _scatter(values.left_adjoint[at : at + end - begin], child, table, adjoint)
    uses = tables.right_start[label]
    for use in range(tables.right_start[label + 1] - uses):
        at = vectors.right_table[vectors.right_table_start[node] + use]
        if at >= 0:
            begin, end = (
                tables.first[tables.right_rules[uses + use]],
                tables.first[tables.right_rules[uses + use] + 1],
            )
            child = tables.right_rule[begin:end], tables.right_place[begin:end], tables.right_cut[begin:end]
            outside += _scatter(values.right_adjoint[at : at + end - begin], child, table, adjoint)
    values.outside[node] += outside


@kernel
def _scatter(vector: FloatArray, child: Child, table: Offsets, adjoint: FloatArray) -> float:
    """Add the derivatives of the e of a rule's child to those of its addresses; returns its label's part."""
    number, place, cut = child
    outside = 0.0
    for p in range(len(vector)):
        outside += cut[p] * vector[p]
        adjoint[np.uint64(table[number[p]] + place[p])] += vector[p]
    return outside


@kernel
def _complete(tables: DopTables, forest: DopForest, values: DopValues, node: int) -> None:
    """Complete the posterior of a node and the derivatives of its addresses' q."""
    label, outside = forest.group[node], values.outside[node]
    value, adjoints = values.value, values.adjoint
    rule_start, rule_end = tables.rule_start[label], tables.rule_start[label + 1]
    table = forest.table[forest.table_start[node] + 1 :]
    posterior = 0.0
    for rule in range(rule_start, rule_end):
        at = table[rule - rule_start]
        if at > 0:
            begin, end = tables.first[rule], tables.first[rule + 1]
            own, adjoint = value[at : at + end - begin], adjoints[at : at + end - begin]
            up, keep = tables.up[begin:end], tables.keep[begin:end]
            s0 = s1 = 0.0
            for p in range(0, end - begin - 1, 2):
                s0 += own[p] * adjoint[p]
                s1 += own[p + 1] * adjoint[p + 1]
            if (end - begin) % 2:
                s0 += own[end - begin - 1] * adjoint[end - begin - 1]
            posterior += s0 + s1
            for p in range(end - begin):
                adjoint[p] = keep[p] * adjoint[p] + up[p] * outside
    values.posterior[node] += posterior


@kernel
def _pass_on(
    own: FloatArray,
    factor: float,
    lefts: FloatArray,
    rights: FloatArray,
    to_left: FloatArray,
    to_right: FloatArray,
) -> None:
    """Pass the derivatives of a rule's addresses on to the vectors of both children."""
    for p in range(len(own)):
        to_left[p] += factor * own[p] * rights[p]
        to_right[p] += factor * own[p] * lefts[p]


@kernel
def _pass_beside(
    own: FloatArray,
    child: Child,
    table: Offsets,
    value: FloatArray,
    adjoint: FloatArray,
    below_factor: tuple[float, float],
) -> tuple[float, float]:
    """Pass them on to a child beside a terminal; returns what their labels get."""
    number, place, cut = child
    below, factor = below_factor
    to_child = to_terminal = 0.0
    for p in range(len(own)):
        at = np.uint64(table[number[p]] + place[p])
        mass = factor * own[p]
        to_child += cut[p] * mass
        to_terminal += mass * (cut[p] * below + value[at])
        adjoint[at] += mass
    return to_child, to_terminal
