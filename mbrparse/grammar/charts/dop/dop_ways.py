"""The ways down a DOP chart that was filled with maxima: what nodes and addresses are made of, and how well.

Where a fragment begins at a node, it may be at any address; an address may be split anywhere, and at each
child the fragment ends, and another begins, or goes on. Logarithms are natural.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.dop.dop_forest import DopForest
from mbrparse.grammar.charts.dop.dop_inside import DopValues
from mbrparse.grammar.charts.dop.dop_tables import DopTables
from mbrparse.grammar.charts.rule_tables import Ints, Offsets
from mbrparse.grammar.kernel import array_kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray

#: The address of a node where a fragment begins.
BEGINS = -1


class Part(NamedTuple):
    """A part of a derivation: a node, and the address that a fragment goes on with there, or BEGINS.

    Over a single terminal any address is 0. ``log_best`` is of the best derivation of the part.
    """

    node: int
    address: int
    log_best: float


class Way(NamedTuple):
    """What a part may be made of, and the logarithm of the weight by itself."""

    log_weight: float
    parts: tuple[Part, ...]


class DopWays:
    """The ways of one sentence's nodes and addresses."""

    def __init__(self, tables: DopTables, forest: DopForest, values: DopValues) -> None:
        self._tables = tables
        self._forest = forest
        self._values = values

    def is_leaf(self, node: int) -> bool:
        """Whether a node is over a single terminal."""
        return bool(self._forest.end[node] - self._forest.start[node] == 1)

    def roots(self) -> list[Way]:
        """Of the sentence."""
        forest, tables, inside = self._forest, self._tables, self._values.inside
        whole = (forest.end - forest.start == forest.n) & (forest.group < tables.n_labels) & (inside > 0)
        nodes = np.flatnonzero(whole).astype(np.int32)
        nodes = nodes[tables.root[forest.group[nodes]] > 0]
        weights = np.log(tables.root[forest.group[nodes]])
        rows = zip(weights.tolist(), nodes.tolist(), self._logs(inside[nodes], nodes).tolist(), strict=True)
        return [Way(weight, (Part(node, BEGINS, best),)) for weight, node, best in rows]

    def begun(self, node: int, most: int) -> list[Way]:
        """Of a node where a fragment begins: the best addresses, no more than so many."""
        addresses, weights, masses = _begun(self._tables, self._forest, self._values, node)
        scores = weights * masses
        # Of equal ones the first: addresses are in order.
        order = np.argsort(-scores, kind="stable")[:most]
        order = order[scores[order] > 0]
        logs = self._logs(masses[order], np.full(len(order), node, np.int32))
        rows = zip(np.log(weights[order]).tolist(), addresses[order].tolist(), logs.tolist(), strict=True)
        return [Way(weight, (Part(node, address, best),)) for weight, address, best in rows]

    def splits(self, node: int, address: int, most: int) -> list[Way]:
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
        ways = []
        for place in order[scores[order] > -np.inf].tolist():
            split, at_left, at_right = place >> 2, place >> 1 & 1, place & 1
            weight = own + left.weights[at_left] + right.weights[at_right]
            ways.append(Way(weight, (left.part(split, at_left), right.part(split, at_right))))
        return ways

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


@array_kernel
def _begun(
    tables: DopTables, forest: DopForest, values: DopValues, node: int
) -> tuple[Offsets, FloatArray, FloatArray]:
    """The addresses of a node's living rules, with up / keep, and keep q relative to the node's scale."""
    label = forest.group[node]
    rule_start, rule_end = tables.rule_start[label], tables.rule_start[label + 1]
    table = forest.table[forest.table_start[node] + 1 :]
    count = 0
    for rule in range(rule_start, rule_end):
        if table[rule - rule_start] > 0:
            count += tables.first[rule + 1] - tables.first[rule]
    addresses, weights, masses = np.empty(count, np.int64), np.empty(count), np.empty(count)
    place = 0
    for rule in range(rule_start, rule_end):
        at = table[rule - rule_start]
        if at > 0:
            begin = tables.first[rule]
            for p in range(begin, tables.first[rule + 1]):
                addresses[place], weights[place] = p, tables.up[p] / tables.keep[p]
                masses[place] = values.value[at + p - begin]
                place += 1
    return addresses, weights, masses
