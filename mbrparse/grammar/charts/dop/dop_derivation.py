"""Reading the most probable derivation off a DOP chart that was filled with maxima.

What is compared is what was filled in; ties as in the other charts: the first split, then the children's
labels in order, then the address.
"""

from __future__ import annotations

import math

import numpy as np

from mbrparse.grammar.charts.dop.dop_forest import DopForest
from mbrparse.grammar.charts.dop.dop_inside import DopValues
from mbrparse.grammar.charts.dop.dop_tables import DopTables
from mbrparse.grammar.pcfg import FloatArray

# A node, and the address that its fragment goes on with (None: a fragment begins).
_State = tuple[int, int | None]


def dop_derivation(tables: DopTables, forest: DopForest, values: DopValues, tie: float) -> list[int]:
    """The nodes of the best derivation in preorder, terminals and preterminals too; none without a parse."""
    top = forest.group < tables.n_labels
    roots = np.flatnonzero(top & (forest.end - forest.start == forest.n) & (values.inside > 0))
    roots = roots[tables.root[forest.group[roots]] > 0]
    if not len(roots):
        return []
    weights = np.log2(values.inside[roots] * tables.root[forest.group[roots]]) + values.exponent[roots]
    root = int(roots[np.flatnonzero(weights >= weights.max() + math.log2(1 - tie))[0]])
    return _Backtrace(tables, forest, values, tie).nodes(root)


class _Backtrace:
    def __init__(self, tables: DopTables, forest: DopForest, values: DopValues, tie: float) -> None:
        self._tables = tables
        self._forest = forest
        self._values = values
        self._tie = tie

    def nodes(self, root: int) -> list[int]:
        found: list[int] = []
        stack: list[_State] = [(root, None)]
        while stack:
            node, address = stack.pop()
            found.append(node)
            if self._forest.end[node] - self._forest.start[node] > 1:
                production, address = self._choice(node, address)
                stack.append(self._child(int(self._forest.right[production]), address, left=False))
                stack.append(self._child(int(self._forest.left[production]), address, left=True))
        return found

    def _choice(self, node: int, address: int | None) -> tuple[int, int]:
        """The production and the address that are best for a node."""
        forest, tables = self._forest, self._tables
        first, last = int(forest.production_start[node]), int(forest.production_start[node + 1])
        best = -1.0
        scored = []
        for production in range(first, last):
            rule = int(forest.rule[production])
            begin, end = int(tables.first[rule]), int(tables.first[rule + 1])
            if address is not None:
                if not begin <= address < end:
                    continue
                begin, end = address, address + 1
            masses = self._masses(node, production, begin, end)
            if address is None:
                masses = masses * tables.up[begin:end]
            scored.append((production, begin, masses))
            best = max(best, float(masses.max()))
        good = [
            (int(forest.start[forest.right[production]]), production, begin + int(place))
            for production, begin, masses in scored
            for place in np.flatnonzero(masses >= best * (1 - self._tie))[:1]
        ]
        # Productions are in the order of the children's labels.
        _, production, chosen = min(good)
        return production, chosen

    def _masses(self, node: int, production: int, begin: int, end: int) -> FloatArray:
        """What a production makes of addresses, relative to the node's scale."""
        forest, values = self._forest, self._values
        left, right = int(forest.left[production]), int(forest.right[production])
        shift = int(values.exponent[left]) + int(values.exponent[right]) - int(values.exponent[node])
        lefts = np.maximum(*self._below(left, begin, end, left=True))
        rights = np.maximum(*self._below(right, begin, end, left=False))
        masses: FloatArray = np.ldexp(lefts * rights, shift)
        return masses

    def _below(self, child: int, begin: int, end: int, *, left: bool) -> tuple[FloatArray, FloatArray]:
        """For addresses the value of a fragment that ends at their child, and of one that goes on."""
        tables, forest = self._tables, self._forest
        inside = float(self._values.inside[child])
        if forest.group[child] >= tables.n_labels:
            return np.full(end - begin, inside), np.zeros(end - begin)
        number, place, cut = (
            (tables.left_rule, tables.left_place, tables.left_cut)
            if left
            else (tables.right_rule, tables.right_place, tables.right_cut)
        )
        at = forest.table[forest.table_start[child] + number[begin:end].astype(np.int64)]
        return cut[begin:end] * inside, self._values.value[at + place[begin:end].astype(np.int64)]

    def _child(self, child: int, address: int, *, left: bool) -> _State:
        """How the derivation goes on below a child: with the fragment, or with a new one."""
        tables, forest = self._tables, self._forest
        ended, going_on = self._below(child, address, address + 1, left=left)
        if going_on[0] < ended[0] or forest.end[child] - forest.start[child] == 1:
            return child, None
        rules, places = (
            (tables.left_rule, tables.left_place) if left else (tables.right_rule, tables.right_place)
        )
        rule = tables.rule_start[forest.group[child]] + int(rules[address]) - 1
        return child, int(tables.first[rule]) + int(places[address])
