"""The passes over DOP charts, one multiply-add for each address and production, and draws of derivations.

q_p(i, j) = sum over splits s of e_k(i, s) e_l(s, j), where address p has the children k and l;
I_A(i, j) = sum over addresses p of A of up_p q_p(i, j);  e_k = cut_k I_B + keep_k q_k  (``dop_grammar``).
A node's values, keep q, are computed where all addresses of the grammar have their places. Its parents need
the vectors of e (``dop_forest.Vectors``), which are kept; derivations need the values too.

Values are kept relative to 2 ** exponent of their node, so that no sentence is too long. Among a node's the
inside value is no less than 2 ** -220 of the largest, hence no e is, of its node, less than 2 ** -460, and
products of two are numbers still.

The outside pass has derivatives of the sentence's probability, divided by it. With E the derivative of a
child's e over one span, D(I_A) = root + sum over addresses of cut E, and in total
D_p = keep_p E_p + up_p D(I_A) for the q of an address; each production adds D_p e_l to E_k and D_p e_k
to E_l. The posterior of label A, the sum of q_p D_p, is root I_A + the sum of e E over its vectors.

Derivations are drawn from the root down. Where a fragment begins, its address is drawn in proportion to
up_p q_p: first the rule, then one of the rule's addresses, by cumulative sums that are computed at the first
visit of a node. An address's split is drawn in proportion to e_k e_l, and whether the fragment ends at a
child in proportion to the two terms of e. All of these come from the inside pass, so derivations are exact
samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts import vector
from mbrparse.charts.chart import TOO_LARGE
from mbrparse.charts.dop.dop_forest import LANES, DopForest, DopTables, rows_of
from mbrparse.charts.exhaustive.top_down import drawn_place
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.errors import ChartOverflowError

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray

# Values that a chart may hold: 2 GB.
MAX_VALUES = 1 << 28
# No address: a fragment begins, or what is below is a terminal.
_NONE = -1


class DopValues(NamedTuple):
    """What is computed of a forest; rows are of LANES values."""

    inside: FloatArray  # by node
    outside: FloatArray  # its derivative of the sentence's probability, divided by that
    posterior: FloatArray  # by node
    exponent: Ints  # by node
    value: Floats  # keep q, by expansion from its value_row on; without a row where it is not kept
    rows: Floats  # of vectors of e
    adjoint: Floats  # their derivatives; without a row where there is no outside pass
    node: Floats  # by address, the values of the current node; all zero before and after
    node_adjoint: Floats  # its derivatives of them


@kernel
def dop_inside(tables: DopTables, forest: DopForest, values: DopValues, best: bool) -> None:
    """Fill the values of all nodes; with ``best`` with maxima for sums."""
    # Taken out of their tuples before the loops.
    inside, exponent, value = values.inside, values.exponent, values.value
    node_rows, rows = values.node, values.rows
    node_values = node_rows.reshape(node_rows.size)
    words, starts, ends, lefts, rights = forest.words, forest.start, forest.end, forest.left, forest.right
    expansions, rules, productions = forest.expansion_start, forest.rule, forest.production_start
    vectors, value_row = forest.vectors, forest.value_row
    of_left, of_right, first_vector, next_vector = vectors.left, vectors.right, vectors.first, vectors.next
    vector_row, vector_size, vector_source = vectors.row, vectors.size, vectors.source
    first, children, cuts, ups, keeps = tables.first, tables.child, tables.cut, tables.up, tables.keep
    zero = vector.zeros(node_rows)
    for node in range(len(words)):
        begin, end, word = expansions[node], expansions[node + 1], words[node]
        exponent[node] = 0
        scale = 1.0
        if word >= 0:
            inside[node] = tables.word_up[word]
            node_values[tables.first_word + word] = tables.word_keep[word]
        elif begin == end:
            # A terminal; or a label over a span that it does not derive, which has no vectors.
            inside[node] = 1 if ends[node] - starts[node] == 1 else 0
        else:
            top = -(1 << 30)
            for production in range(productions[begin], productions[end]):
                top = max(top, exponent[lefts[production]] + exponent[rights[production]])
            total = mass = zero
            for expansion in range(begin, end):
                rule = rules[expansion]
                own, size = first[rule] // LANES, (first[rule + 1] - first[rule]) // LANES
                for production in range(productions[expansion], productions[expansion + 1]):
                    factor = np.ldexp(1.0, exponent[lefts[production]] + exponent[rights[production]] - top)
                    factors = vector.repeated(node_rows, factor)
                    left, right = of_left[production], of_right[production]
                    for row in range(size):
                        product = vector.multiply(vector.load(rows, row, left), vector.load(rows, row, right))
                        so_far = vector.load(node_rows, row, own)
                        if best:
                            vector.store(
                                node_rows, row, own, vector.maximum(so_far, vector.multiply(factors, product))
                            )
                        else:
                            vector.store(node_rows, row, own, vector.multiply_add(factors, product, so_far))
                for row in range(own, own + size):
                    q = vector.load(node_rows, row, 0)
                    part = vector.multiply(vector.load(ups, row, 0), q)
                    total = vector.maximum(total, q) if best else vector.add(total, q)
                    mass = vector.maximum(mass, part) if best else vector.add(mass, part)
                    vector.store(node_rows, row, 0, vector.multiply(vector.load(keeps, row, 0), q))
            whole = vector.largest_of(total) if best else vector.total_of(total)
            # Nothing where all that is below can neither end nor go on (of a treebank cut off at a depth).
            shift = int(np.ceil(np.log2(whole))) if whole > 0 else 0
            scale = np.ldexp(1.0, -shift)
            exponent[node] = top + shift
            inside[node] = scale * (vector.largest_of(mass) if best else vector.total_of(mass))
        scales, below = vector.repeated(node_rows, scale), vector.repeated(node_rows, inside[node])
        one = first_vector[node]
        while one >= 0:
            at, source = vector_row[one], vector_source[one]
            for row in range(vector_size[one]):
                x = vector.multiply(scales, vector.gather(node_values, children, LANES * (source + row)))
                cut = vector.load(cuts, row, source)
                if best:
                    vector.store(rows, row, at, vector.maximum(vector.multiply(cut, below), x))
                else:
                    vector.store(rows, row, at, vector.multiply_add(cut, below, x))
            one = next_vector[one]
        # The next node finds zeros.
        for expansion in range(begin, end):
            rule = rules[expansion]
            own, size = first[rule] // LANES, (first[rule + 1] - first[rule]) // LANES
            for row in range(size):
                if len(value):
                    vector.store(
                        value,
                        row,
                        value_row[expansion],
                        vector.multiply(scales, vector.load(node_rows, row, own)),
                    )
                vector.store(node_rows, row, own, zero)
        if word >= 0:
            node_values[tables.first_word + word] = 0


@kernel
def dop_outside(tables: DopTables, forest: DopForest, values: DopValues) -> None:
    """Fill outside values and posteriors of a sentence with a parse, whose inside values are filled.

    ``outside`` is before what nodes have as roots, otherwise zero.
    """
    inside, outside, posterior, exponent = values.inside, values.outside, values.posterior, values.exponent
    group, lefts, rights = forest.group, forest.left, forest.right
    expansions, rules, productions = forest.expansion_start, forest.rule, forest.production_start
    vectors, rows, adjoints, node_rows = forest.vectors, values.rows, values.adjoint, values.node_adjoint
    of_left, of_right, first_vector, next_vector = vectors.left, vectors.right, vectors.first, vectors.next
    vector_row, vector_size, vector_source = vectors.row, vectors.size, vectors.source
    node_values, flat = node_rows.reshape(node_rows.size), adjoints.reshape(adjoints.size)
    first, children, cuts, ups, keeps = tables.first, tables.child, tables.cut, tables.up, tables.keep
    zero = vector.zeros(node_rows)
    for row in range(vectors.n_rows):
        vector.store(adjoints, row, 0, zero)
    for node in range(len(group) - 1, -1, -1):
        begin, end = expansions[node], expansions[node + 1]
        # Places of other rules hold what nodes before left there, and are not read.
        for expansion in range(begin, end):
            rule = rules[expansion]
            for row in range(first[rule] // LANES, first[rule + 1] // LANES):
                vector.store(node_rows, row, 0, zero)
        mass_of_node = inside[node] * outside[node]
        one = first_vector[node]
        while one >= 0:
            at, source, size = vector_row[one], vector_source[one], vector_size[one]
            cut = mass = zero
            for row in range(size):
                adjoint = vector.load(adjoints, row, at)
                cut = vector.multiply_add(adjoint, vector.load(cuts, row, source), cut)
                mass = vector.multiply_add(adjoint, vector.load(rows, row, at), mass)
            outside[node] += vector.total_of(cut)
            mass_of_node += vector.total_of(mass)
            place, below = np.uint64(LANES * at), np.uint64(LANES * source)
            for _ in range(size * LANES):
                node_values[children[below]] += flat[place]
                below += np.uint64(1)
                place += np.uint64(1)
            one = next_vector[one]
        posterior[node] = outside[node] if group[node] >= tables.n_labels else mass_of_node
        of_label = vector.repeated(node_rows, outside[node])
        for expansion in range(begin, end):
            rule = rules[expansion]
            own, size = first[rule] // LANES, (first[rule + 1] - first[rule]) // LANES
            for row in range(own, own + size):
                kept = vector.multiply(vector.load(keeps, row, 0), vector.load(node_rows, row, 0))
                vector.store(node_rows, row, 0, vector.multiply_add(vector.load(ups, row, 0), of_label, kept))
            for production in range(productions[expansion], productions[expansion + 1]):
                left, right = of_left[production], of_right[production]
                left_node, right_node = lefts[production], rights[production]
                factor = np.ldexp(1.0, exponent[left_node] + exponent[right_node] - exponent[node])
                factors = vector.repeated(node_rows, factor)
                for row in range(size):
                    adjoint = vector.multiply(factors, vector.load(node_rows, row, own))
                    to_left = vector.multiply_add(
                        adjoint, vector.load(rows, row, right), vector.load(adjoints, row, left)
                    )
                    to_right = vector.multiply_add(
                        adjoint, vector.load(rows, row, left), vector.load(adjoints, row, right)
                    )
                    vector.store(adjoints, row, left, to_left)
                    vector.store(adjoints, row, right, to_right)


class Sums(NamedTuple):
    """Cumulative sums: of roots, and of visited nodes those of their expansions and of these' addresses."""

    roots: Ints  # nodes
    by_root: FloatArray
    visited: npt.NDArray[np.bool_]  # by node
    by_expansion: FloatArray
    by_address: FloatArray  # as the values are


@kernel
def dop_draw(
    tables: DopTables,
    forest: DopForest,
    values: DopValues,
    sums: Sums,
    drawn: Ints,
    random: np.random.Generator,
) -> None:
    """Draw a derivation for each row of ``drawn`` [derivation, node]: its 2 n - 1 nodes in preorder.

    The values are sums, with those of addresses, of a sentence that has a parse.
    """
    # Taken out of their tuples before the loops.
    inside, exponent, starts, ends = values.inside, values.exponent, forest.start, forest.end
    value, rows = values.value.reshape(values.value.size), values.rows.reshape(values.rows.size)
    expansions, rules, productions = forest.expansion_start, forest.rule, forest.production_start
    lefts, rights, value_row = forest.left, forest.right, forest.value_row
    of_left, of_right = forest.vectors.left, forest.vectors.right
    first, rule_of = tables.first, tables.rule_of
    children, cuts = tables.child, tables.cut.reshape(tables.cut.size)
    keep, n_places = tables.keep.reshape(tables.keep.size), tables.keep.size
    up = tables.up.reshape(tables.up.size)
    by_expansion, by_address, visited = sums.by_expansion, sums.by_address, sums.visited
    # A node, and the address that its fragment goes on with.
    stack = np.empty((forest.n + 1, 2), np.int64)
    for derivation in range(len(drawn)):
        stack[0, 0] = sums.roots[drawn_place(sums.by_root, 0, len(sums.roots), random.random())]
        stack[0, 1] = _NONE
        height, place = 1, 0
        while height:
            height -= 1
            node, address = stack[height, 0], stack[height, 1]
            drawn[derivation, place] = node
            place += 1
            if ends[node] - starts[node] == 1:
                continue
            begin, end = expansions[node], expansions[node + 1]
            if address == _NONE:
                if not visited[node]:
                    visited[node] = True
                    total = 0.0
                    for one in range(begin, end):
                        address, at = first[rules[one]], LANES * value_row[one]
                        mass = 0.0
                        for offset in range(LANES * value_row[one + 1] - at):
                            mass += up[address + offset] / keep[address + offset] * value[at + offset]
                            by_address[at + offset] = mass
                        total += mass
                        by_expansion[one] = total
                expansion = drawn_place(by_expansion, begin, end, random.random())
                rule, at = rules[expansion], LANES * value_row[expansion]
                size = first[rule + 1] - first[rule]
                address = first[rule] + drawn_place(by_address, at, at + size, random.random()) - at
            else:
                rule = rule_of[address // LANES]
                expansion = begin + np.searchsorted(rules[begin:end], rule)
            offset = address - first[rule]
            # The split, and what the fragment makes of the children there.
            production, e_left, e_right = -1, 1.0, 1.0
            point = 0.0
            if productions[expansion + 1] > productions[expansion] + 1:
                point = random.random() * value[LANES * value_row[expansion] + offset] / keep[address]
            for one in range(productions[expansion], productions[expansion + 1]):
                left, right = lefts[one], rights[one]
                of_one = rows[LANES * of_left[one] + offset]
                of_other = rows[LANES * of_right[one] + offset]
                mass = of_one * of_other * np.ldexp(1.0, exponent[left] + exponent[right] - exponent[node])
                # The last one that is possible takes what rounding leaves over.
                if mass > 0 and (production < 0 or point >= 0):
                    production, e_left, e_right = one, of_one, of_other
                point -= mass
            for child, at, e in (
                (rights[production], n_places + address, e_right),
                (lefts[production], address, e_left),
            ):
                stack[height, 0], stack[height, 1] = child, _NONE
                if ends[child] - starts[child] > 1 and random.random() * e >= cuts[at] * inside[child]:
                    stack[height, 1] = children[at]
                height += 1


def inside_pass(
    tables: DopTables, forest: DopForest, best: bool, kept: bool = False, outside: bool = False
) -> tuple[DopValues, float]:
    """A forest's inside values, and the natural logarithm of the sentence's probability.

    With ``best`` it is that of the most probable derivation, and values are those of best derivations.
    ``kept``: with values of addresses, for derivations; ``outside``: with room for an outside pass. Raises
    ChartOverflowError where there are too many.
    """
    of_vectors = forest.vectors.n_rows
    sizes = int(forest.value_row[-1]) if kept else 0, of_vectors, of_vectors if outside else 0
    if LANES * sum(sizes) > MAX_VALUES:
        raise ChartOverflowError(TOO_LARGE)
    of_node = -(-(tables.first_word + len(tables.word_up)) // LANES)
    inside, outsides, posterior = np.zeros((3, len(forest.group)))
    exponent = np.zeros(len(forest.group), np.int32)
    rows = map(rows_of, (*sizes, of_node, of_node if outside else 0))
    values = DopValues(inside, outsides, posterior, exponent, *rows)
    dop_inside(tables, forest, values, best)
    _, masses, top = root_masses(tables, forest, values)
    if not len(masses):
        return values, -math.inf
    return values, math.log(masses.max() if best else masses.sum()) + top * math.log(2.0)


def outside_pass(tables: DopTables, forest: DopForest, values: DopValues) -> None:
    """Fill outside values and posteriors of a sentence that has a parse."""
    nodes, masses, exponent = root_masses(tables, forest, values)
    weights = tables.root[forest.group[nodes]] / masses.sum()
    values.outside[:] = 0
    values.outside[nodes] = np.ldexp(weights, values.exponent[nodes] - exponent)
    dop_outside(tables, forest, values)


def root_masses(tables: DopTables, forest: DopForest, values: DopValues) -> tuple[IntArray, FloatArray, int]:
    """The nodes over the sentence that may be its root, their parts of its probability, and the exponent.

    These parts are relative to 2 ** exponent.
    """
    labels = (forest.group < tables.n_labels) & (values.inside > 0)
    nodes = np.flatnonzero(labels & (forest.end - forest.start == forest.n)).astype(np.int32)
    nodes = nodes[tables.root[forest.group[nodes]] > 0]
    if not len(nodes):
        return nodes, np.zeros(0), 0
    exponents = values.exponent[nodes]
    top = int(exponents.max())
    masses: FloatArray = np.ldexp(tables.root[forest.group[nodes]] * values.inside[nodes], exponents - top)
    return nodes, masses, top
