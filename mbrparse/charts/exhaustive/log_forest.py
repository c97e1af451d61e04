"""A forest's values in logarithms: slow, and exact in any range of numbers.

The structure of a forest (nodes, groups, edges, productions) does not depend on its values. Where some of
these leave the range that scaled values are exact in (``packed_forest.LEAST_VALUE``), they are computed again
here, cell by cell: log-sum-exp takes the place of sums, and maxima of logarithms that of maxima.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mbrparse.charts import chart, rule_tables
from mbrparse.charts.exhaustive.best import Maxima, best_derivation
from mbrparse.charts.packed_forest import Forest, forest_cell
from mbrparse.charts.rule_tables import BestChains, Floats, UnaryTables, Words
from mbrparse.grammar.pcfg import IntArray


class _LogValues(NamedTuple):
    """Natural logarithms of a sentence's inside values, or maxima; -inf for zero."""

    inside: Floats  # by node
    own: Floats  # by node: ``inside`` without chains of unary rules
    lexical: Floats  # by node: its lexical rule's part of ``inside``
    group: Floats  # by group: the sum, or the maximum, over its edges


class LogForest:
    """The values of one sentence's forest."""

    def __init__(
        self, tables: rule_tables.SparseTables, unary: UnaryTables, forest: Forest, groups: int, words: Words
    ) -> None:
        """``words`` have unscaled probabilities; the forest has n ``groups``."""
        self._unary, self._words, self._forest, self._groups = unary, words, forest, groups
        self._n = len(words.entry_start) - 1
        self._nodes = int(forest.node_first[self._n * (self._n + 1) // 2])
        with np.errstate(divide="ignore"):
            self._rule, self._root = np.log(tables.rule_prob), np.log(tables.root)
            self._closure = np.log(unary.closure_value)
        self._slot = np.full(len(self._root), -1, np.int32)
        values = self._values(self._closure, np.logaddexp)
        #: Logarithms of inside and outside probabilities, by node.
        self.inside, self._lexical, self._group = values.inside, values.lexical, values.group
        self.outside = np.full(self._nodes, -np.inf)
        #: The natural logarithm of the sentence's probability.
        self.log_prob = self._fill_outside()

    def normalize(self) -> None:
        """Make the forest's own values such that their products are the posteriors: inside values are one."""
        forest, nodes = self._forest, slice(self._nodes)
        forest.inside[nodes] = 1.0
        posterior = self.inside + self.outside - self.log_prob
        # What is there stays above zero: the best tree may have it, however improbable.
        forest.outside[nodes] = np.where(posterior > -np.inf, np.maximum(np.exp(posterior), 5e-324), 0.0)
        with np.errstate(invalid="ignore"):
            share = np.exp(self._lexical - self.inside)
        forest.lexical[nodes] = np.where(self._lexical == -np.inf, 0.0, share)

    def normalized(self, forest: Forest) -> Forest:
        """The forest that was normalized, of its own size, with all that is asked of it."""
        inside, group, unary = self.inside, self._group, self._unary
        with np.errstate(divide="ignore"):
            steps = np.log(unary.rule_prob)[forest.unary_rule]
        made = self._rule[forest.production_rule] + group[forest.production_group]
        rights, lefts, groups = self._edges(0, self._nodes)
        top = slice(forest.node_first[-2], forest.node_first[-1])
        roots = self._root[forest.node_symbol[top]] + inside[top]
        return forest._replace(
            group_sum=np.ones(self._groups),
            prob_place=np.arange(len(made), dtype=np.int32),
            rule_prob=np.exp(made - inside[forest.production_parent]),
            unary_prob=np.exp(steps + inside[forest.unary_child] - inside[forest.unary_parent]),
            edge_value=np.exp(inside[lefts] + inside[rights] - group[groups]),
            root_share=np.exp(roots - self.log_prob),
            log_unit=inside,
        )

    def expected(self, rules: slice, steps: slice) -> tuple[Floats, Floats, Floats, Floats]:
        """Expected numbers of productions, of unaries, of these over what is lexical; log outside by node."""
        forest, outside = self._forest, self.outside - self.log_prob
        made = self._rule[forest.production_rule[rules]] + self._group[forest.production_group[rules]]
        made = np.exp(made + outside[forest.production_parent[rules]])
        with np.errstate(divide="ignore"):
            step = np.log(self._unary.rule_prob)[forest.unary_rule[steps]]
        step = step + outside[forest.unary_parent[steps]]
        whole, lexical = (np.exp(step + of[forest.unary_child[steps]]) for of in (self.inside, self._lexical))
        return made, whole, lexical, outside

    def derivation(self, chains: BestChains, tie: float) -> chart.Derivation:
        """The most probable derivation."""
        with np.errstate(divide="ignore"):
            chain = np.log(chains.prob)
        values = self._values(chain, np.maximum)
        rules = self._rule, self._root, chain
        least = float(np.log1p(-tie))
        maxima = Maxima(values.inside, values.own, values.group, *rules, are_logs=True, least=least)
        return best_derivation(self._forest, self._unary, maxima, chains, self._n, 0.0)

    def _values(self, closure: Floats, plus: np.ufunc) -> _LogValues:
        """Inside values, sums or maxima by ``plus``; nothing but the structure of the forest is looked at."""
        forest, words, unary = self._forest, self._words, self._unary
        inside, own, lexical = np.full((3, self._nodes), -np.inf)
        self._slot[:] = -1
        group = np.full(self._groups, -np.inf)
        for start, end, cell, first, last in self._cells():
            if end - start == 1:
                entries = slice(words.entry_start[start], words.entry_start[end])
                nodes = self._slots(first, last)[words.entry_symbol[entries]]
                known = nodes >= first
                lexical[nodes[known]] = np.log(words.entry_prob[entries][known])
                inside[first:last] = lexical[first:last]
            made = slice(forest.cell_production[cell], forest.cell_production[cell + 1])
            products = self._rule[forest.production_rule[made]] + group[forest.production_group[made]]
            plus.at(inside, forest.production_parent[made], products)
            own[first:last] = inside[first:last]
            if len(unary.rule_parent):
                inside[first:last] = -np.inf
                bottom, entry, top = self._chains(first, last)
                plus.at(inside, top, closure[entry] + own[bottom])
            rights, lefts, groups = self._edges(first, last)
            plus.at(group, groups, inside[lefts] + inside[rights])
        return _LogValues(inside, own, lexical, group)

    def _fill_outside(self) -> float:
        """Fill ``outside`` from the root down; returns the log probability of the sentence."""
        forest, inside, outside = self._forest, self.inside, self.outside
        weight = np.full(self._groups, -np.inf)
        cell = forest_cell(0, self._n)
        top = slice(forest.node_first[cell], forest.node_first[cell + 1])
        outside[top] = self._root[forest.node_symbol[top]]
        for _, _, cell, first, last in reversed(list(self._cells())):
            rights, lefts, groups = self._edges(first, last)
            np.logaddexp.at(outside, rights, weight[groups] + inside[lefts])
            np.logaddexp.at(outside, lefts, weight[groups] + inside[rights])
            if len(self._unary.rule_parent):
                above = outside[first:last].copy()
                outside[first:last] = -np.inf
                bottom, entry, tops = self._chains(first, last)
                np.logaddexp.at(outside, bottom, self._closure[entry] + above[tops - first])
            made = slice(forest.cell_production[cell], forest.cell_production[cell + 1])
            passed = self._rule[forest.production_rule[made]] + outside[forest.production_parent[made]]
            np.logaddexp.at(weight, forest.production_group[made], passed)
        roots = self._root[forest.node_symbol[top]] + inside[top]
        return float(np.logaddexp.reduce(roots)) if len(roots) else -np.inf

    def _cells(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Start, end and number of each cell, parts before wholes, and where its nodes begin and end."""
        firsts = self._forest.node_first[: self._n * (self._n + 1) // 2 + 1].tolist()
        for end in range(1, self._n + 1):
            for start in range(end - 1, -1, -1):
                cell = forest_cell(start, end)
                if firsts[cell] < firsts[cell + 1]:
                    yield start, end, cell, firsts[cell], firsts[cell + 1]

    def _slots(self, first: int, last: int) -> IntArray:
        """By symbol its node in a cell; on the way up a number less than ``first`` where it has none."""
        self._slot[self._forest.node_symbol[first:last]] = np.arange(first, last)
        return self._slot

    def _chains(self, first: int, last: int) -> tuple[IntArray, IntArray, IntArray]:
        """Bottom, entry in the closure and top of each chain of unary rules between nodes of a cell."""
        unary = self._unary
        bottom, entries = rule_tables.ranges(unary.closure_start, self._forest.node_symbol[first:last])
        # Nodes that derive others have all been made.
        return first + bottom, entries, self._slots(first, last)[unary.closure_top[entries]]

    def _edges(self, first: int, last: int) -> tuple[IntArray, IntArray, IntArray]:
        """Right nodes, left nodes and groups of the edges whose right node is in a cell."""
        forest = self._forest
        edges = np.arange(forest.edge_first[first], forest.edge_first[last])
        nodes = np.arange(first, last, dtype=np.int32)
        rights = np.repeat(nodes, np.diff(forest.edge_first[first : last + 1]))
        lefts = forest.left_node[forest.left_first[rights] + edges - forest.edge_first[rights]]
        return rights, lefts, forest.edge_group[edges]
