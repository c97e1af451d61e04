"""The probability that a DOP grammar gives to a tree: the sum over all its derivations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mbrparse.grammar.charts.clock import NO_LIMIT
from mbrparse.grammar.charts.dop.dop_charts import Memory
from mbrparse.grammar.charts.dop.dop_inside import dop_inside
from mbrparse.grammar.charts.dop.dop_productions import dop_forest
from mbrparse.grammar.charts.dop.dop_tables import dop_tables
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import IntArray
from mbrparse.treebank.labels import project


class DopTreeProbability:
    """The probability of binary trees: an inside pass in which nothing but their constituents is alive."""

    serves_nary = False

    def __init__(self, grammar: DopGrammar) -> None:
        self._tables = dop_tables(grammar)
        self._memory = Memory(self._tables)
        self._labels: dict[str, list[int]] = {}
        for label, name in enumerate(grammar.treebank.labels):
            self._labels.setdefault(project(name), []).append(label)

    def log_prob(
        self, spans: Sequence[tuple[int, int, str]], terminal_ids: IntArray, nary: bool = False
    ) -> float:
        """The log probability of a binary tree of (start, end, label) spans; -inf if it has none.

        It is summed over symbols with the labels, and over the preterminals of its words. ``nary`` is never
        true (see ``serves_nary``).
        """
        rows = [
            (start, end, label)
            for start, end, name in spans
            for label in self._labels.get(name, ())
            if end - start > 1
        ]
        starts, ends, labels = np.array(sorted(rows), np.int32).reshape(-1, 3).T.copy()
        if len(spans) != max(len(terminal_ids) - 1, 0):
            return -math.inf
        forest = dop_forest(self._tables, terminal_ids, starts, ends, labels, kept=False)
        return float(dop_inside(self._tables, forest, self._memory.values(forest), None, NO_LIMIT.stop))
