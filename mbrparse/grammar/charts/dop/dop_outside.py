"""The way down in DOP charts: derivatives of the sentence's probability, divided by it.

With E the derivative of a child's e over one span, D(I_A) = root + sum over addresses of cut E, and in total
D_p = keep_p E_p + up_p D(I_A) for the q of an address; each production passes D_p e_l on to E_k and D_p e_k
to E_l. The posterior of label A, the sum of q_p D_p, is root I_A + the sum of e E over its vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Indices, Ints
from mbrparse.grammar.charts.base.vector import load, multiply, multiply_add, repeated, store, total_of, zeros
from mbrparse.grammar.charts.dop.dop_forest_kernels import DopForest
from mbrparse.grammar.charts.dop.dop_inside import DopValues, Rows, as_rows, is_root, power, root_value
from mbrparse.grammar.charts.dop.dop_tables import LANES, DopTables
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray


class Adjoints(NamedTuple):
    """The derivatives of the vectors of left children of one start, and of right children."""

    left: Floats
    right: Floats


@kernel
def dop_outside(tables: DopTables, forest: DopForest, values: DopValues, stop: Ints) -> None:
    """Fill outside values and posteriors of a sentence with a parse, whose inside values are filled."""
    inside, outside, posterior, exponent = values.inside, values.outside, values.posterior, values.exponent
    group, starts, n_labels, first = forest.group, forest.start, tables.n_labels, tables.first
    rules, lefts, rights, productions = forest.rule, forest.left, forest.right, forest.production_start
    vectors, left_rows, right_rows = forest.vectors, values.left, values.right
    of_left, of_right = vectors.left, vectors.right
    to_left, to_right = values.left_adjoint, values.right_adjoint
    node_rows = values.node_adjoint
    node_values = node_rows.reshape(node_rows.size)
    left_cuts, right_cuts = as_rows(tables.left_cut), as_rows(tables.right_cut)
    ups, keeps = as_rows(tables.up), as_rows(tables.keep)
    rows, adjoints = Rows(node_rows, left_rows, right_rows), Adjoints(to_left, to_right)
    total, top = root_value(tables, forest, values, None)
    zero = zeros(node_rows)
    outside[:] = 0
    for row in range(vectors.n_right):
        store(to_right, row, 0, zero)
    before = 0  # the row of the first vector of a left child with this start
    for node in range(len(group) - 1, -1, -1):
        if stop[0]:
            return
        start, begin, end = starts[node], productions[node], productions[node + 1]
        if node + 1 == len(group) or start != starts[node + 1]:
            before = vectors.row_start[start]
            for row in range(vectors.row_end[start] - before):
                store(to_left, row, 0, zero)
        # Places of dead rules hold what others left there, and nobody reads it.
        last = -1
        for production in range(begin, end):
            if rules[production] != last:
                last = rules[production]
                for row in range(first[last] // LANES, first[last + 1] // LANES):
                    store(node_rows, row, 0, zero)
        posterior[node] = 0
        if is_root(tables, forest, values, node):
            outside[node] += tables.root[group[node]] / total * power(exponent[node] - top)
        posterior[node] = inside[node] * outside[node]
        vector = vectors.first_left[node]
        while vector >= 0:
            rule, row = vectors.rule[vector], vectors.row[vector]
            own, size = first[rule] // LANES, (first[rule + 1] - first[rule]) // LANES
            cut, mass = _dot(to_left, row - before, left_cuts, own, left_rows, row, size)
            outside[node] += cut
            posterior[node] += mass
            _scatter(to_left, row - before, first[rule], size, tables.left_child, node_values)
            vector = vectors.next[vector]
        vector = vectors.first_right[node]
        while vector >= 0:
            rule, row = vectors.rule[vector], vectors.row[vector]
            own, size = first[rule] // LANES, (first[rule + 1] - first[rule]) // LANES
            cut, mass = _dot(to_right, row, right_cuts, own, right_rows, row, size)
            outside[node] += cut
            posterior[node] += mass
            _scatter(to_right, row, first[rule], size, tables.right_child, node_values)
            vector = vectors.next[vector]
        if group[node] >= n_labels:
            posterior[node] = outside[node]
        production = begin
        while production < end:
            rule = rules[production]
            own, size = first[rule] // LANES, (first[rule + 1] - first[rule]) // LANES
            of_label = repeated(node_rows, outside[node])
            for row in range(own, own + size):
                kept = multiply(load(keeps, row, 0), load(node_rows, row, 0))
                store(node_rows, row, 0, multiply_add(load(ups, row, 0), of_label, kept))
            while production < end and rules[production] == rule:
                left, right = of_left[production], of_right[production]
                left_node, right_node = lefts[production], rights[production]
                factor = power(exponent[left_node] + exponent[right_node] - exponent[node])
                if left >= 0 and right >= 0:
                    at = left - before
                    _pass_on(rows, adjoints, own, size, factor, left, right, at)
                elif left >= 0:
                    outside[right_node] += _pass_beside(
                        node_rows, own, size, factor, left_rows, left, to_left, left - before
                    )
                elif right >= 0:
                    outside[left_node] += _pass_beside(
                        node_rows, own, size, factor, right_rows, right, to_right, right
                    )
                else:
                    # Addresses' cut is one where their child is a terminal.
                    passed = factor * _dot(node_rows, own, left_cuts, own, left_cuts, own, size)[0]
                    outside[left_node] += passed
                    outside[right_node] += passed
                production += 1


@kernel
def _dot(
    adjoints: Floats, at: int, cuts: Floats, first: int, rows: Floats, row: int, size: int
) -> tuple[float, float]:
    """The sums of cut E and of e E."""
    cut = mass = zeros(adjoints)
    for place in range(size):
        adjoint = load(adjoints, place, at)
        cut = multiply_add(adjoint, load(cuts, place, first), cut)
        mass = multiply_add(adjoint, load(rows, place, row), mass)
    return total_of(cut), total_of(mass)


@kernel
def _scatter(
    adjoints: Floats, at: int, first: int, size: int, children: Indices, node_values: FloatArray
) -> None:
    """Add the derivatives of the e of a rule's child to those of its addresses."""
    flat = adjoints.reshape(adjoints.size)
    source, place = np.uint64(at * LANES), np.uint64(first)
    for _ in range(size * LANES):
        node_values[children[place]] += flat[source]
        place += np.uint64(1)
        source += np.uint64(1)


@kernel
def _pass_on(
    rows: Rows, adjoints: Adjoints, own: int, size: int, factor: float, left: int, right: int, at: int
) -> None:
    """Pass the derivatives of a rule's addresses on to the vectors of both children."""
    node_rows, left_rows, right_rows = rows.node, rows.left, rows.right
    to_left, to_right = adjoints.left, adjoints.right
    factors = repeated(node_rows, factor)
    for row in range(size):
        adjoint = multiply(factors, load(node_rows, row, own))
        store(to_left, row, at, multiply_add(adjoint, load(right_rows, row, right), load(to_left, row, at)))
        store(
            to_right,
            row,
            right,
            multiply_add(adjoint, load(left_rows, row, left), load(to_right, row, right)),
        )


@kernel
def _pass_beside(
    node_rows: Floats, own: int, size: int, factor: float, rows: Floats, row: int, to_child: Floats, at: int
) -> float:
    """Pass them on to a child beside a terminal, which has no other parent here; returns the terminal's."""
    factors = repeated(node_rows, factor)
    passed = zeros(node_rows)
    for place in range(size):
        adjoint = multiply(factors, load(node_rows, place, own))
        store(to_child, place, at, adjoint)
        passed = multiply_add(adjoint, load(rows, place, row), passed)
    return float(total_of(passed))
