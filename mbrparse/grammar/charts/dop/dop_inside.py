"""The way up in DOP charts: one multiply-add for each address and split at which its rule is alive.

q_p(i, j) = sum over splits s of e_k(i, s) e_l(s, j), where address p has the children k and l;
I_A(i, j) = sum over addresses p of A of up_p q_p(i, j);  e_k = cut_k I_B + keep_k q_k  (see ``fragments``).
What is kept of an address is keep_k q_k, and that only where its rule has a production: the rest of e is the
same for all its spans but for I_B.

Values are kept relative to 2 ** exponent of their node, so that no sentence is too long. Among a node's the
inside value is no less than 2 ** -220 of the largest, hence no e is, of its node, less than 2 ** -460, and
products of two are numbers still.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.dop.dop_forest import DopForest
from mbrparse.grammar.charts.dop.dop_tables import DopTables
from mbrparse.grammar.charts.rule_tables import Indices, Ints, Offsets
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray

#: What rules say of a child by address: the number of its rule, its place there, its weight as a frontier.
Child = tuple[Indices, Indices, FloatArray]


class DopValues(NamedTuple):
    """What is computed of a forest; the first values, of dead rules, are zeros."""

    inside: FloatArray  # by node
    outside: FloatArray  # its derivative of the sentence's probability, divided by that
    posterior: FloatArray  # by node
    exponent: Ints  # by node
    value: FloatArray  # keep q, by address of a node's living rules
    adjoint: FloatArray  # its derivative, divided likewise
    left: FloatArray  # vectors of e (dop_forest.Vectors)
    left_adjoint: FloatArray
    right: FloatArray
    right_adjoint: FloatArray


@kernel
def dop_inside(
    tables: DopTables, forest: DopForest, values: DopValues, best: bool | None, stop: Ints
) -> float:
    """Fill the values of all nodes; returns the natural logarithm of the sentence's probability.

    Unless ``best`` is None, it is that of the most probable derivation: with maxima for sums.
    """
    # Arrays by themselves: tuples of them are slow to hand over.
    inside, exponent, value = values.inside, values.exponent, values.value
    group, words, table, table_start = forest.group, forest.words, forest.table, forest.table_start
    rules, lefts, rights, productions = forest.rule, forest.left, forest.right, forest.production_start
    vectors, left_vectors, right_vectors = forest.vectors, values.left, values.right
    of_left, of_right = vectors.left, vectors.right
    rule_start, first, n_labels = tables.rule_start, tables.first, tables.n_labels
    left_rule, left_place, left_cut = tables.left_rule, tables.left_place, tables.left_cut
    right_rule, right_place, right_cut = tables.right_rule, tables.right_place, tables.right_cut
    value[: forest.n_zeros] = 0
    for node in range(len(group)):
        if stop[0]:
            return -np.inf
        exponent[node] = 0
        inside[node] = 0
        label = group[node]
        if words[node] >= 0:
            word = words[node]
            inside[node] = tables.word_up[word]
            value[table[table_start[node] + tables.word_number[word]]] = tables.word_keep[word]
        elif forest.end[node] - forest.start[node] == 1:
            inside[node] = 1
            continue
        elif productions[node] < productions[node + 1]:
            top = -(1 << 30)
            for production in range(productions[node], productions[node + 1]):
                top = max(top, exponent[lefts[production]] + exponent[rights[production]])
            exponent[node] = top
            last_rule = -1
            for production in range(productions[node], productions[node + 1]):
                rule, left, right = rules[production], lefts[production], rights[production]
                begin, end = first[rule], first[rule + 1]
                size = end - begin
                at = table[table_start[node] + 1 + rule - rule_start[label]]
                own = value[at : at + size]
                if rule != last_rule:
                    own[:] = 0
                    last_rule = rule
                factor = power(exponent[left] + exponent[right] - top)
                if of_left[production] >= 0:
                    vector = left_vectors[of_left[production] : of_left[production] + size]
                    other = right_vectors[of_right[production] : of_right[production] + size]
                    _add_products(own, vector, other, factor, best)
                elif group[left] < n_labels:
                    child = left_rule[begin:end], left_place[begin:end], left_cut[begin:end]
                    _add_child(own, child, table[table_start[left] :], value, (inside[left], factor), best)
                elif group[right] < n_labels:
                    child = right_rule[begin:end], right_place[begin:end], right_cut[begin:end]
                    _add_child(own, child, table[table_start[right] :], value, (inside[right], factor), best)
                else:
                    own[:] = factor
            _close(tables, forest, values, node, best)
        if inside[node] == 0:
            continue
        gather_left(tables, forest, values, node, best)
        own_table = table[table_start[node] :]
        uses = tables.right_start[label]
        for use in range(tables.right_start[label + 1] - uses):
            at = vectors.right_table[vectors.right_table_start[node] + use]
            if at >= 0:
                rule = tables.right_rules[uses + use]
                begin, end = first[rule], first[rule + 1]
                child = right_rule[begin:end], right_place[begin:end], right_cut[begin:end]
                _gather(right_vectors[at : at + end - begin], child, own_table, value, inside[node], best)
    total, top = root_value(tables, forest, values, best)
    return float(np.log(total) + top * np.log(2.0))


@kernel
def power(exponent: int) -> float:
    """2 ** exponent; 0 where it is far below all that matters."""
    return float(np.ldexp(1.0, exponent)) if exponent > -1000 else 0.0


@kernel
def _add_products(
    own: FloatArray, lefts: FloatArray, rights: FloatArray, factor: float, best: bool | None
) -> None:
    for p in range(len(own)):
        product = factor * (lefts[p] * rights[p])
        own[p] = own[p] + product if best is None else max(own[p], product)


@kernel
def _add_child(
    own: FloatArray,
    child: Child,
    table: Offsets,
    value: FloatArray,
    below_factor: tuple[float, float],
    best: bool | None,
) -> None:
    """Add what a child beside a terminal makes of the addresses of a rule: there is no other split."""
    number, place, cut = child
    below, factor = below_factor
    for p in range(len(own)):
        x = value[np.uint64(table[number[p]] + place[p])]
        own[p] = factor * (cut[p] * below + x if best is None else max(cut[p] * below, x))


@kernel
def _gather(
    own: FloatArray, child: Child, table: Offsets, value: FloatArray, below: float, best: bool | None
) -> None:
    """What a child makes of the addresses of a rule, by itself."""
    number, place, cut = child
    for p in range(len(own)):
        x = value[np.uint64(table[number[p]] + place[p])]
        own[p] = cut[p] * below + x if best is None else max(cut[p] * below, x)


@kernel
def gather_left(
    tables: DopTables, forest: DopForest, values: DopValues, node: int, best: bool | None
) -> None:
    """Gather the vectors of the rules that a node is the left child of."""
    label, vectors = forest.group[node], forest.vectors
    table = forest.table[forest.table_start[node] :]
    uses = tables.left_start[label]
    for use in range(tables.left_start[label + 1] - uses):
        at = vectors.left_table[vectors.left_table_start[node] + use]
        if at >= 0:
            rule = tables.left_rules[uses + use]
            begin, end = tables.first[rule], tables.first[rule + 1]
            child = tables.left_rule[begin:end], tables.left_place[begin:end], tables.left_cut[begin:end]
            _gather(values.left[at : at + end - begin], child, table, values.value, values.inside[node], best)


@kernel
def _close(tables: DopTables, forest: DopForest, values: DopValues, node: int, best: bool | None) -> None:
    """From q of a node's addresses to its inside value and keep q, brought to at most one."""
    label = forest.group[node]
    value, first, ups, keeps = values.value, tables.first, tables.up, tables.keep
    rule_start, rule_end = tables.rule_start[label], tables.rule_start[label + 1]
    table = forest.table[forest.table_start[node] + 1 :]
    total = 0.0
    inside = 0.0
    for rule in range(rule_start, rule_end):
        at = table[rule - rule_start]
        if at > 0:
            begin, end = first[rule], first[rule + 1]
            own, up = value[at : at + end - begin], ups[begin:end]
            if best is not None:
                for p in range(end - begin):
                    total = max(total, own[p])
                    inside = max(inside, up[p] * own[p])
                continue
            # Several sums at a time: each addition waits for the one before it.
            s0 = s1 = t0 = t1 = 0.0
            for p in range(0, end - begin - 1, 2):
                s0 += own[p]
                s1 += own[p + 1]
                t0 += up[p] * own[p]
                t1 += up[p + 1] * own[p + 1]
            if (end - begin) % 2:
                s0 += own[end - begin - 1]
                t0 += up[end - begin - 1] * own[end - begin - 1]
            total += s0 + s1
            inside += t0 + t1
    if total == 0:
        return
    shift = int(np.ceil(np.log2(total)))
    scale = np.ldexp(1.0, -shift)
    values.exponent[node] += shift
    values.inside[node] = inside * scale
    for rule in range(rule_start, rule_end):
        at = table[rule - rule_start]
        if at > 0:
            begin, end = first[rule], first[rule + 1]
            own, keep = value[at : at + end - begin], keeps[begin:end]
            for p in range(end - begin):
                own[p] *= keep[p] * scale


@kernel
def root_value(
    tables: DopTables, forest: DopForest, values: DopValues, best: bool | None
) -> tuple[float, int]:
    """The sentence's probability: a number, and the power of two that it is relative to."""
    top = -(1 << 30)
    for node in range(len(forest.group)):
        if is_root(tables, forest, node) and values.inside[node] > 0:
            top = max(top, values.exponent[node])
    total = 0.0
    for node in range(len(forest.group)):
        if is_root(tables, forest, node) and values.inside[node] > 0:
            mass = tables.root[forest.group[node]] * values.inside[node] * power(values.exponent[node] - top)
            total = total + mass if best is None else max(total, mass)
    return total, top


@kernel
def is_root(tables: DopTables, forest: DopForest, node: int) -> bool:
    """Whether a node's label may stand over the whole sentence, and does."""
    if forest.end[node] - forest.start[node] < forest.n or forest.group[node] >= tables.n_labels:
        return False
    return bool(tables.root[forest.group[node]] > 0)
