"""Memory for searches of forests, as large as these: zeros, which take memory when they are written."""

from __future__ import annotations

import math

import numpy as np

from mbrparse.charts.base.clock import Clock
from mbrparse.charts.base.memory import empty_forest, new_floats, new_ints
from mbrparse.charts.base.packed_forest import EDGES, Forest
from mbrparse.charts.forest.forests import MAX_SIZE
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.decode.derivations.best_trees import BestTrees, BestValues
from mbrparse.decode.derivations.gains import LANES, Gains, ItemSums, ItemTables
from mbrparse.decode.derivations.label_forest import LabelForest, ProjectionScratch, project_forest
from mbrparse.decode.derivations.unary_chains import ChainScratch
from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.unaries import components


class LabelForests:
    """Projects one forest after the other to labels, in the same memory."""

    def __init__(self, items: ItemTables, clock: Clock) -> None:
        self._items, self._clock = items, clock
        self._edges = 1 << 16
        self._room: tuple[Forest, LabelForest, ProjectionScratch] | None = None

    def project(self, forest: Forest, length: int) -> LabelForest:
        """The forest of labels of a forest; it lives until the next one.

        Raises ChartOverflowError where memory does not suffice, and TimeLimitError.
        """
        while True:
            if self._room is None or self._room[0] is not forest:
                self._room = None  # the old one makes way first
                self._room = forest, *self._allocated(forest)
            _, labels, scratch = self._room
            if project_forest(forest, self._items, labels, scratch, length, self._clock.stop):
                return labels
            self._clock.check()
            if self._edges >= MAX_SIZE[EDGES]:
                raise ChartOverflowError("a forest of labels too large for memory")
            self._edges *= 2
            self._room = None

    def _allocated(self, forest: Forest) -> tuple[LabelForest, ProjectionScratch]:
        cells, nodes, groups = len(forest.node_first), len(forest.node_start), len(forest.group_sum)
        productions, unaries, edges = len(forest.production_parent), len(forest.unary_rule), self._edges
        labels = LabelForest(
            empty_forest(cells, nodes, productions, edges, edges, productions, unaries),
            new_floats(edges),
            new_floats(unaries),
        )
        scratch = ProjectionScratch(
            np.full(len(self._items.terminal), -1, np.int32),
            np.full(len(self._items.production_labels), -1, np.int32),
            new_ints(nodes),
            new_floats(nodes),
            new_ints(nodes),
            new_ints(nodes),
            new_ints(groups, 2),
            new_ints(productions),
            new_floats(productions),
            new_ints(productions),
        )
        return labels, scratch


def new_sums(items: ItemTables) -> ItemSums:
    """Scratch for these items."""
    label, production, child = items.terminal, items.production_labels, items.child_labels
    return ItemSums(np.zeros(len(label)), np.zeros(len(production)), np.zeros(len(child) + 1))


def new_gains(forest: Forest, weights: Floats, roots: Floats, rule_log_prob: Floats) -> Gains:
    """Room for the gains of a forest."""
    productions = len(forest.production_parent)
    return Gains(
        weights=weights,
        roots=roots,
        node=_rows(len(forest.node_start)),
        unary=_rows(len(forest.unary_rule)),
        production=new_floats(productions),
        children=new_floats(productions),
        span=new_floats(len(forest.node_first)),
        rule_log_prob=rule_log_prob,
        share=new_floats(productions),
    )


def new_values(forest: Forest) -> BestValues:
    """Room for the best values of a forest."""
    own = _rows(len(forest.node_start))
    return BestValues(
        own=own,
        best=_rows(len(forest.node_start)) if len(forest.unary_rule) else own,
        split=_rows(len(forest.group_sum)),
        shared=new_floats(len(forest.production_parent)),
    )


def new_trees(forest: Forest, chain: int) -> BestTrees:
    """Room for the best trees of a forest whose chains have so many nodes at most."""
    length = math.isqrt(2 * len(forest.node_first))
    nodes = min(len(forest.node_start), 2 * length * max(chain, 1))  # a tree has a node no more than once
    return BestTrees(
        nodes=new_ints(3, LANES * nodes),
        preterminals=new_ints(LANES, length),
        end=np.zeros(LANES, np.int32),
        value=np.zeros(LANES),
        stack=new_ints(length + 1, 2),
    )


def _rows(count: int) -> Floats:
    return new_floats(count, LANES)


def new_chains(label: Ints, unary_parent: Ints, unary_child: Ints, stop: Ints) -> ChainScratch:
    """Scratch for chains of these unary rules between symbols with these labels."""
    rules: dict[int, dict[int, float]] = {}
    for parent, child in zip(label[unary_parent].tolist(), label[unary_child].tolist(), strict=True):
        rules.setdefault(parent, {})[child] = 1.0
    labels = int(label.max(initial=-1)) + 1
    rank = np.arange(labels, dtype=np.int32)  # labels without unary rules come first, each for itself
    for number, members in enumerate(components(rules), start=labels):
        rank[members] = number
    # Without unary rules there are no chains.
    nodes, depths = (len(label), min(len(label), labels) + 2) if rules else (0, 0)

    def ints(size: int) -> Ints:
        return np.zeros(size, np.int32)

    def rows(size: int) -> Floats:
        return np.zeros((size, LANES))

    return ChainScratch(
        label=label,
        rank=rank[label],
        order=ints(nodes),
        head=ints(nodes),
        following=ints(len(unary_parent)),
        used=ints(labels),
        path=ints(depths),
        cursor=ints(depths),
        total=np.zeros(depths),
        chain=rows(nodes),
        leaving=rows(nodes),
        below=rows(nodes),
        most=rows(labels if rules else 0),
        earned=rows(depths),
        rest=rows(depths),
        stop=stop,
    )
