"""Going down a DOP chart that was filled with maxima: the best derivation, and what all others are made of.

What is compared is what was filled in; ties as in the other charts: the first split, then the children's
labels in order, then the address.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Ints
from mbrparse.grammar.charts.dop.dop_forest_kernels import DopForest
from mbrparse.grammar.charts.dop.dop_passes import DopValues
from mbrparse.grammar.charts.dop.dop_tables import DopTables
from mbrparse.grammar.pcfg import FloatArray, IntArray

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
    return _BestDerivation(tables, forest, values, tie).nodes(root)


class _BestDerivation:
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


#: The address of a node where a fragment begins.
BEGINS = -1


class Part(NamedTuple):
    """A part of a derivation: a node, and the address that a fragment goes on with there, or BEGINS.

    Over a single terminal any address is 0. ``log_best`` is of the best derivation of the part.
    """

    node: int
    address: int
    log_best: float


class Composition(NamedTuple):
    """What a part may be made of, and the logarithm of the weight by itself."""

    log_weight: float
    parts: tuple[Part, ...]


class DopCompositions:
    """What one sentence's nodes and addresses may be made of, by a chart that was filled with maxima.

    Where a fragment begins at a node, it may be at any address; an address may be split anywhere, and at each
    child the fragment ends, and another begins, or goes on. Logarithms are natural.
    """

    def __init__(self, tables: DopTables, forest: DopForest, values: DopValues) -> None:
        self._tables = tables
        self._forest = forest
        self._values = values

    def is_leaf(self, node: int) -> bool:
        """Whether a node is over a single terminal."""
        return bool(self._forest.end[node] - self._forest.start[node] == 1)

    def roots(self) -> list[Composition]:
        """Of the sentence."""
        forest, tables, inside = self._forest, self._tables, self._values.inside
        whole = (forest.end - forest.start == forest.n) & (forest.group < tables.n_labels) & (inside > 0)
        nodes = np.flatnonzero(whole).astype(np.int32)
        nodes = nodes[tables.root[forest.group[nodes]] > 0]
        weights = np.log(tables.root[forest.group[nodes]])
        rows = zip(weights.tolist(), nodes.tolist(), self._logs(inside[nodes], nodes).tolist(), strict=True)
        return [Composition(weight, (Part(node, BEGINS, best),)) for weight, node, best in rows]

    def begun(self, node: int, most: int) -> list[Composition]:
        """Of a node where a fragment begins: the best addresses, no more than so many."""
        addresses, weights, masses = self._fragments(node)
        scores = weights * masses
        # Of equal ones the first: addresses are in order.
        order = np.argsort(-scores, kind="stable")[:most]
        order = order[scores[order] > 0]
        logs = self._logs(masses[order], np.full(len(order), node, np.int32))
        rows = zip(np.log(weights[order]).tolist(), addresses[order].tolist(), logs.tolist(), strict=True)
        return [Composition(weight, (Part(node, address, best),)) for weight, address, best in rows]

    def splits(self, node: int, address: int, most: int) -> list[Composition]:
        """Of an address over a node's span: the best splits, with ends or not, no more than so many."""
        tables, forest = self._tables, self._forest
        first, last = int(forest.production_start[node]), int(forest.production_start[node + 1])
        rule = int(np.searchsorted(tables.first, address, side="right")) - 1
        here = np.flatnonzero(forest.rule[first:last] == rule) + first
        left = self._side(
            forest.left[here],
            int(tables.left_rule[address]),
            int(tables.left_place[address]),
            float(tables.left_cut[address]),
        )
        right = self._side(
            forest.right[here],
            int(tables.right_rule[address]),
            int(tables.right_place[address]),
            float(tables.right_cut[address]),
        )
        own = math.log(tables.keep[address])
        scores = (left.scores[:, :, None] + right.scores[:, None, :]).ravel()
        order = np.argsort(-scores, kind="stable")[:most]
        found = []
        for place in order[scores[order] > -np.inf].tolist():
            split, at_left, at_right = place >> 2, place >> 1 & 1, place & 1
            weight = own + left.weights[at_left] + right.weights[at_right]
            found.append(Composition(weight, (left.part(split, at_left), right.part(split, at_right))))
        return found

    def _fragments(self, node: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """The addresses of a node's living rules, with up / keep, and keep q relative to the node's scale."""
        tables, forest = self._tables, self._forest
        first_rule, last_rule = tables.rule_start[forest.group[node] : forest.group[node] + 2]
        begin = forest.table_start[node] + 1
        table = forest.table[begin : begin + last_rule - first_rule]
        living = np.flatnonzero(table > 0)
        first = tables.first[first_rule + living]
        sizes = tables.first[first_rule + living + 1] - first
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        addresses = np.repeat(first, sizes) + place
        masses = self._values.value[np.repeat(table[living], sizes) + place]
        return addresses, tables.up[addresses] / tables.keep[addresses], masses

    def _side(self, nodes: Ints, number: int, place: int, cut: float) -> _Side:
        """The children of one side at each split; their label, and so the address they go on with, is one."""
        tables, forest, values = self._tables, self._forest, self._values
        at = forest.table[forest.table_start[nodes] + number] + place
        begins, goes_on = self._logs(values.inside[nodes], nodes), self._logs(values.value[at], nodes)
        address = 0
        if number:
            binary = tables.rule_start[forest.group[nodes[0]]] + number - 1
            address = int(tables.first[min(binary, len(tables.first) - 1)]) + place
        addresses = np.where(forest.end[nodes] - forest.start[nodes] == 1, 0, address)
        return _Side(nodes, addresses, np.stack([begins, goes_on], axis=1), (math.log(cut), 0.0))

    def _logs(self, scaled: FloatArray, nodes: IntArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(scaled) + self._values.exponent[nodes] * math.log(2.0)
        return logs


class _Side:
    """Children at each split: [split, 0] of those where a fragment begins, [split, 1] where one goes on."""

    def __init__(
        self, nodes: IntArray, addresses: IntArray, logs: FloatArray, weights: tuple[float, float]
    ) -> None:
        self.weights = weights
        self.scores = logs + np.array(weights)
        self._rows = list(zip(nodes.tolist(), addresses.tolist(), logs.tolist(), strict=True))

    def part(self, split: int, goes_on: int) -> Part:
        node, address, logs = self._rows[split]
        return Part(node, address if goes_on else BEGINS, logs[goes_on])
