"""The way up in DOP charts: one multiply-add for each address and split at which its rule is alive.

q_p(i, j) = sum over splits s of e_k(i, s) e_l(s, j), where address p has the children k and l;
I_A(i, j) = sum over addresses p of A of up_p q_p(i, j);  e_k = cut_k I_B + keep_k q_k  (``dop_grammar``).
A node's values, keep q, are made where all addresses of the grammar have their places; what is kept of them
are the vectors of e (``dop_forest_kernels.Vectors``), which its parents need, and where the forest is kept
they too.

Values are kept relative to 2 ** exponent of their node, so that no sentence is too long. Among a node's the
inside value is no less than 2 ** -220 of the largest, hence no e is, of its node, less than 2 ** -460, and
products of two are numbers still.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Indices, Ints
from mbrparse.grammar.charts.base.vector import (
    add,
    gather,
    largest_of,
    load,
    maximum,
    multiply,
    multiply_add,
    repeated,
    store,
    total_of,
    zeros,
)
from mbrparse.grammar.charts.dop.dop_forest_kernels import DopForest
from mbrparse.grammar.charts.dop.dop_tables import LANES, DopTables
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray


class DopValues(NamedTuple):
    """What is computed of a forest; rows are of LANES values."""

    inside: FloatArray  # by node
    outside: FloatArray  # its derivative of the sentence's probability, divided by that
    posterior: FloatArray  # by node
    exponent: Ints  # by node
    value: (
        FloatArray  # keep q, by address of a node's living rules, after the zeros; where the forest is kept
    )
    left: Floats  # vectors of e (dop_forest_kernels.Vectors) [row, lane]
    left_adjoint: Floats  # the derivatives of those of one start, divided likewise
    right: Floats
    right_adjoint: Floats
    node: Floats  # by address, the values of the node at work; zeros else
    node_adjoint: Floats  # its derivatives of them


class Rows(NamedTuple):
    """Rows of LANES values: those of the node at work, and of the vectors of left and of right children."""

    node: Floats
    left: Floats
    right: Floats


class Side(NamedTuple):
    """The vectors of the children of one side, and by address the child and its weight as a frontier."""

    rows: Floats
    children: Indices
    cuts: Floats


@kernel
def dop_inside(
    tables: DopTables, forest: DopForest, values: DopValues, best: bool | None, stop: Ints
) -> float:
    """Fill the values of all nodes; returns the natural logarithm of the sentence's probability.

    Unless ``best`` is None, it is that of the most probable derivation: with maxima for sums.
    """
    # Arrays by themselves: tuples of them are slow to hand over.
    inside, exponent, node_rows, value = values.inside, values.exponent, values.node, values.value
    node_values = node_rows.reshape(node_rows.size)
    group, words, starts, ends = forest.group, forest.words, forest.start, forest.end
    rules, lefts, rights, productions = forest.rule, forest.left, forest.right, forest.production_start
    vectors, left_rows, right_rows = forest.vectors, values.left, values.right
    of_left, of_right, first = vectors.left, vectors.right, tables.first
    left_cuts, right_cuts = as_rows(tables.left_cut), as_rows(tables.right_cut)
    ups, keeps = as_rows(tables.up), as_rows(tables.keep)
    rows = Rows(node_rows, left_rows, right_rows)
    left_side = Side(left_rows, tables.left_child, left_cuts)
    right_side = Side(right_rows, tables.right_child, right_cuts)
    value[: forest.n_zeros if forest.n_values else 0] = 0
    for node in range(len(group)):
        if stop[0]:
            return -np.inf
        begin, end = productions[node], productions[node + 1]
        exponent[node] = 0
        scale = 1.0
        if words[node] >= 0:
            word = words[node]
            inside[node] = tables.word_up[word]
            node_values[tables.first_word + word] = tables.word_keep[word]
        elif ends[node] - starts[node] == 1:
            inside[node] = 1
            continue
        elif begin == end:
            inside[node] = 0
            continue
        else:
            top = -(1 << 30)
            for production in range(begin, end):
                top = max(top, exponent[lefts[production]] + exponent[rights[production]])
            total = mass = zeros(node_rows)
            production = begin
            while production < end:
                rule = rules[production]
                own, size = first[rule] // LANES, (first[rule + 1] - first[rule]) // LANES
                while production < end and rules[production] == rule:
                    factor = power(exponent[lefts[production]] + exponent[rights[production]] - top)
                    left, right = of_left[production], of_right[production]
                    if left >= 0 and right >= 0:
                        _add_products(rows, own, left, right, size, factor, best)
                    elif left >= 0:
                        _copy(node_rows, own, left_rows, left, size, factor)
                    elif right >= 0:
                        _copy(node_rows, own, right_rows, right, size, factor)
                    else:
                        _copy(node_rows, own, left_cuts, own, size, factor)
                    production += 1
                for row in range(own, own + size):
                    q = load(node_rows, row, 0)
                    part = multiply(load(ups, row, 0), q)
                    total = add(total, q) if best is None else maximum(total, q)
                    mass = add(mass, part) if best is None else maximum(mass, part)
                    store(node_rows, row, 0, multiply(load(keeps, row, 0), q))
            whole = total_of(total) if best is None else largest_of(total)
            # Nothing where all that is below can neither end nor go on (of a treebank cut off at a depth).
            shift = int(np.ceil(np.log2(whole))) if whole > 0 else 0
            scale = np.ldexp(1.0, -shift)
            exponent[node] = top + shift
            inside[node] = scale * (total_of(mass) if best is None else largest_of(mass))
        if forest.n_values:
            _keep(tables, forest, node_values, value, node, scale)
        vector = vectors.first_left[node]
        while vector >= 0:
            rule = vectors.rule[vector]
            size = (first[rule + 1] - first[rule]) // LANES
            row = vectors.row[vector]
            _gather(left_side, row, first[rule], size, node_values, inside[node], scale, best)
            vector = vectors.next[vector]
        vector = vectors.first_right[node]
        while vector >= 0:
            rule = vectors.rule[vector]
            size = (first[rule + 1] - first[rule]) // LANES
            row = vectors.row[vector]
            _gather(right_side, row, first[rule], size, node_values, inside[node], scale, best)
            vector = vectors.next[vector]
        # The next node finds zeros.
        clear(tables, forest, node_rows, node)
        if words[node] >= 0:
            node_values[tables.first_word + words[node]] = 0
    sum_, top = root_value(tables, forest, values, best)
    return float(np.log(sum_) + top * np.log(2.0))


@kernel
def power(exponent: int) -> float:
    """2 ** exponent; 0 where it is far below all that matters."""
    return float(np.ldexp(1.0, exponent)) if exponent > -1000 else 0.0


@kernel
def as_rows(values: FloatArray) -> Floats:
    """Values by address, in rows of LANES."""
    return values.reshape((len(values) // LANES, LANES))


@kernel
def clear(tables: DopTables, forest: DopForest, node_rows: Floats, node: int) -> None:
    """Set the values of a node's living rules to zero."""
    zero = zeros(node_rows)
    last = -1
    for production in range(forest.production_start[node], forest.production_start[node + 1]):
        rule = forest.rule[production]
        if rule != last:
            last = rule
            for row in range(tables.first[rule] // LANES, tables.first[rule + 1] // LANES):
                store(node_rows, row, 0, zero)


@kernel
def _add_products(
    rows: Rows, own: int, left: int, right: int, size: int, factor: float, best: bool | None
) -> None:
    node_rows, left_rows, right_rows = rows.node, rows.left, rows.right
    factors = repeated(node_rows, factor)
    for row in range(size):
        product = multiply(load(left_rows, row, left), load(right_rows, row, right))
        so_far = load(node_rows, row, own)
        if best is None:
            store(node_rows, row, own, multiply_add(factors, product, so_far))
        else:
            store(node_rows, row, own, maximum(so_far, multiply(factors, product)))


@kernel
def _copy(node_rows: Floats, own: int, rows: Floats, first: int, size: int, factor: float) -> None:
    """What a child beside a terminal makes of the addresses of a rule: there is no other split."""
    factors = repeated(node_rows, factor)
    for row in range(size):
        store(node_rows, row, own, multiply(factors, load(rows, row, first)))


@kernel
def _gather(
    side: Side,
    at: int,
    first: int,
    size: int,
    node_values: FloatArray,
    inside: float,
    scale: float,
    best: bool | None,
) -> None:
    """What a child makes of the addresses of a rule, by itself."""
    rows, children, cuts = side.rows, side.children, side.cuts
    below, scales = repeated(rows, inside), repeated(rows, scale)
    for row in range(size):
        x = gather(node_values, children, first + LANES * row)
        cut = load(cuts, row, first // LANES)
        if best is None:
            store(rows, row, at, multiply_add(cut, below, multiply(scales, x)))
        else:
            store(rows, row, at, maximum(multiply(cut, below), multiply(scales, x)))


@kernel
def _keep(
    tables: DopTables, forest: DopForest, node_values: FloatArray, value: FloatArray, node: int, scale: float
) -> None:
    """Keep the values of a node's living rules."""
    table = forest.table_start[node]
    word = forest.words[node]
    if word >= 0:
        value[forest.table[table + tables.word_number[word]]] = tables.word_keep[word]
    last = -1
    for production in range(forest.production_start[node], forest.production_start[node + 1]):
        rule = forest.rule[production]
        if rule != last:
            last = rule
            at = forest.table[table + 1 + rule - tables.rule_start[forest.group[node]]]
            begin = tables.first[rule]
            for place in range(tables.first[rule + 1] - begin):
                value[at + place] = scale * node_values[begin + place]


@kernel
def root_value(
    tables: DopTables, forest: DopForest, values: DopValues, best: bool | None
) -> tuple[float, int]:
    """The sentence's probability: a number, and the power of two that it is relative to."""
    top = -(1 << 30)
    for node in range(len(forest.group)):
        if is_root(tables, forest, values, node):
            top = max(top, values.exponent[node])
    total = 0.0
    for node in range(len(forest.group)):
        if is_root(tables, forest, values, node):
            mass = tables.root[forest.group[node]] * values.inside[node] * power(values.exponent[node] - top)
            total = total + mass if best is None else max(total, mass)
    return total, top


@kernel
def is_root(tables: DopTables, forest: DopForest, values: DopValues, node: int) -> bool:
    """Whether a node's label may stand over the whole sentence, and is made of something there.

    A dead node has no part in ``root_value``, and its exponent may be far above that of the living.
    """
    if values.inside[node] == 0:
        return False
    if forest.end[node] - forest.start[node] < forest.n or forest.group[node] >= tables.n_labels:
        return False
    return bool(tables.root[forest.group[node]] > 0)
