"""Derivations from the root down, in a DOP chart that was filled with maxima.

At a node a fragment begins, at any of its label's addresses, or goes on, at one that is known. An address may
be split anywhere; at each child the fragment ends there, and another begins, or it goes on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.rule_tables import Ints
from mbrparse.charts.dop.dop_forest import root_masses
from mbrparse.charts.dop.dop_forest_kernels import DopForest
from mbrparse.charts.dop.dop_passes import DopValues
from mbrparse.charts.dop.dop_tables import LANES, DopTables
from mbrparse.grammar.pcfg import FloatArray, IntArray

#: The address of a node where a fragment begins.
BEGINS = -1


class Side(NamedTuple):
    """The children on one side of an address, by split, and how the fragment may go on there.

    ``logs`` [split, 2] are of the best derivation where the fragment ends at the child, and where it goes on
    at ``address``; ``log_cut`` is the weight of its ending.
    """

    nodes: Ints
    address: int
    logs: FloatArray
    log_cut: float

    @property
    def scores(self) -> FloatArray:
        """The logarithms with the weight."""
        found: FloatArray = self.logs + np.array([self.log_cut, 0.0])
        return found


class DopDescent:
    """What one sentence's nodes and addresses may be made of. Logarithms are natural."""

    def __init__(self, tables: DopTables, forest: DopForest, values: DopValues) -> None:
        self._tables, self._forest, self._values = tables, forest, values
        self._value, self._cut = values.value.reshape(-1), tables.cut.reshape(-1)
        self._up, self._keep = tables.up.reshape(-1), tables.keep.reshape(-1)
        nodes = np.repeat(np.arange(len(forest.group)), np.diff(forest.expansion_start))
        self._rules = len(tables.rule_left)
        self._expansions = nodes * self._rules + forest.rule  # ascending

    def is_leaf(self, node: int) -> bool:
        """Whether a node is over a single terminal."""
        return bool(self._forest.end[node] - self._forest.start[node] == 1)

    def roots(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Nodes that may be the root, the logarithms of their weights, and of their best derivations."""
        nodes, _, _ = root_masses(self._tables, self._forest, self._values)
        weights = np.log(self._tables.root[self._forest.group[nodes]])
        return nodes, weights, self._logs(self._values.inside[nodes], nodes)

    def fragments(self, node: int, most: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """The best addresses where a fragment may begin at a node, no more than so many; the best first.

        With the logarithms of their weights, and of their best derivations. Of equal ones the lesser address
        comes first.
        """
        tables, forest = self._tables, self._forest
        begin, end = forest.expansion_start[node : node + 2]
        rules, rows = forest.rule[begin:end], forest.value_row[begin : end + 1]
        shifts = np.repeat(tables.first[rules] - LANES * rows[:-1], LANES * np.diff(rows))
        places = np.arange(LANES * rows[0], LANES * rows[-1])
        masses, addresses = self._value[places], places + shifts
        weights = self._up[addresses] / self._keep[addresses]
        scores = weights * masses
        order = np.argsort(-scores, kind="stable")[:most]
        order = order[scores[order] > 0]
        logs = self._logs(masses[order], np.full(len(order), node))
        return addresses[order], np.log(weights[order]), logs

    def log_keep(self, address: int) -> float:
        """The weight by which an address's own derivations count where a fragment goes on there."""
        return math.log(self._keep[address])

    def sides(self, node: int, address: int) -> tuple[Side, Side]:
        """What an address may be split into over a node's span."""
        forest = self._forest
        expansion = self._find(np.array([node]), address)[0]
        first, last = forest.production_start[expansion : expansion + 2]
        right_place = len(self._keep) + address
        return self._side(forest.left[first:last], address), self._side(forest.right[first:last], right_place)

    def derivation(self, tie: float) -> list[int]:
        """The nodes of the best derivation in preorder, terminals and preterminals too; none without a parse.

        Ties as in the other charts: the first split, then the children's labels in order, then the address.
        """
        log_tie = math.log1p(-tie)
        nodes, weights, logs = self.roots()
        if not len(nodes):
            return []
        scores = weights + logs
        found: list[int] = []
        stack = [(int(nodes[np.flatnonzero(scores >= scores.max() + log_tie)[0]]), BEGINS)]
        while stack:
            node, address = stack.pop()
            found.append(node)
            if self.is_leaf(node):
                continue
            for side, split in reversed(self._best_split(node, address, log_tie)):
                ends, goes_on = side.scores[split]
                stack.append((int(side.nodes[split]), side.address if goes_on >= ends + log_tie else BEGINS))
        return found

    def _best_split(self, node: int, address: int, log_tie: float) -> list[tuple[Side, int]]:
        """Both sides of the best address (or of this one), and the place of its best split."""
        addresses = [address]
        if address == BEGINS:
            best, weights, logs = self.fragments(node, len(self._keep))
            scores = weights + logs
            addresses = best[scores >= scores[0] + log_tie].tolist()
        choices = []
        for one in addresses:
            left, right = self.sides(node, one)
            scores = left.scores.max(axis=1) + right.scores.max(axis=1)
            split = int(np.flatnonzero(scores >= scores.max() + log_tie)[0])
            order = int(self._forest.start[right.nodes[split]]), one
            choices.append((order, [(left, split), (right, split)]))
        return min(choices, key=lambda choice: choice[0])[1]

    def _find(self, nodes: IntArray, address: int) -> IntArray:
        """By node the expansion that an address is of; -1 where there is none."""
        wanted = nodes.astype(np.int64) * self._rules + self._tables.rule_of[address // LANES]
        found = np.searchsorted(self._expansions, wanted)
        known = np.append(self._expansions, -1)[found] == wanted
        return np.where(known, found, -1)

    def _side(self, nodes: Ints, place: int) -> Side:
        """The children on a side; ``place`` is that of the address there in the tables' ``child``."""
        tables, forest, values = self._tables, self._forest, self._values
        address = int(tables.child[place])
        goes_on = np.zeros(len(nodes))
        if address >= tables.first_word:
            word = address - tables.first_word
            goes_on[forest.words[nodes] == word] = tables.word_keep[word]
        elif address:
            expansions = self._find(nodes, address)
            known = expansions >= 0
            offset = address - tables.first[tables.rule_of[address // LANES]]
            goes_on[known] = self._value[LANES * forest.value_row[expansions[known]] + offset]
        logs = np.stack([self._logs(values.inside[nodes], nodes), self._logs(goes_on, nodes)], axis=1)
        return Side(nodes, address, logs, math.log(self._cut[place]))

    def _logs(self, scaled: FloatArray, nodes: IntArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(scaled) + self._values.exponent[nodes] * math.log(2.0)
        return logs
