"""Drawing derivations of a DOP chart, from the root down.

Where a fragment begins, its address is drawn in proportion to up_p q_p (see ``dop_passes``): first the rule,
then one of the rule's addresses, by cumulative sums that are computed at the first visit of a node. An
address's split is drawn in proportion to e_k e_l, and whether the fragment ends at a child in proportion to
the two terms of e. All of these come from the inside pass, so derivations are exact samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.rule_tables import Floats, Ints
from mbrparse.charts.dop.dop_forest_kernels import DopForest
from mbrparse.charts.dop.dop_passes import DopValues, power
from mbrparse.charts.dop.dop_tables import LANES, DopTables
from mbrparse.charts.forest.top_down import drawn_place
from mbrparse.charts.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray

# No address: a fragment begins, or what is below is a terminal.
_NONE = -1


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
                    _sum_up(tables, forest, value, sums, node)
                    visited[node] = True
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
                of_one = rows[LANES * of_left[one] + offset] if of_left[one] >= 0 else 1.0
                of_other = rows[LANES * of_right[one] + offset] if of_right[one] >= 0 else 1.0
                mass = of_one * of_other * power(exponent[left] + exponent[right] - exponent[node])
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


@kernel
def _sum_up(tables: DopTables, forest: DopForest, value: Floats, sums: Sums, node: int) -> None:
    """Compute the sums of a node."""
    up, keep = tables.up.reshape(tables.up.size), tables.keep.reshape(tables.keep.size)
    total = 0.0
    for expansion in range(forest.expansion_start[node], forest.expansion_start[node + 1]):
        begin, at = tables.first[forest.rule[expansion]], LANES * forest.value_row[expansion]
        mass = 0.0
        for place in range(LANES * forest.value_row[expansion + 1] - at):
            mass += up[begin + place] / keep[begin + place] * value[at + place]
            sums.by_address[at + place] = mass
        total += mass
        sums.by_expansion[expansion] = total
