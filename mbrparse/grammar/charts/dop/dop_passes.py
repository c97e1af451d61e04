"""The passes over DOP charts, up and down.

Up there is one multiply-add for each address and split at which its rule is alive.

q_p(i, j) = sum over splits s of e_k(i, s) e_l(s, j), where address p has the children k and l;
I_A(i, j) = sum over addresses p of A of up_p q_p(i, j);  e_k = cut_k I_B + keep_k q_k  (``dop_grammar``).
A node's values, keep q, are made where all addresses of the grammar have their places; what is kept of them
are the vectors of e (``dop_forest_kernels.Vectors``), which its parents need, and where the forest is kept
they too.

Values are kept relative to 2 ** exponent of their node, so that no sentence is too long. Among a node's the
inside value is no less than 2 ** -220 of the largest, hence no e is, of its node, less than 2 ** -460, and
products of two are numbers still.

Down there are derivatives of the sentence's probability, divided by it.
With E the derivative of a child's e over one span, D(I_A) = root + sum over addresses of cut E, and in total
D_p = keep_p E_p + up_p D(I_A) for the q of an address; each production passes D_p e_l on to E_k and D_p e_k
to E_l. The posterior of label A, the sum of q_p D_p, is root I_A + the sum of e E over its vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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

if TYPE_CHECKING:
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
