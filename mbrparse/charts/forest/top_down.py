"""A forest from above: what each node, and each pair of children, may be made of.

A forest lists its productions by cell and its edges by their right node, as the inside pass wants them. Who
comes down from the root asks for those of a node or of a group: they are sorted here, once for a sentence.
Samples, the k best derivations and what crosses spans are found with it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mbrparse.charts.base.memory import new_floats, new_ints
from mbrparse.charts.base.packed_forest import Forest
from mbrparse.charts.forest.forests import Forests
from mbrparse.charts.forest.top_down_kernels import TopDownForest, sort_edges, sort_ways
from mbrparse.grammar.pcfg import IntArray


class ForestSource(Protocol):
    """Charts that fill the forests of sentences."""

    @property
    def forests(self) -> Forests: ...

    def forest_of(self, terminal_ids: IntArray) -> Forest: ...


def top_down_forest(charts: ForestSource, terminal_ids: IntArray, least: float = 0.0) -> TopDownForest:
    """The forest of a sentence from above: the nodes whose expected number is more than ``least``.

    Raises ChartOverflowError or MemoryError where the forest does not fit, TimeLimitError, and ValueError
    where the sentence has no derivation.
    """
    forest, forests, n = charts.forest_of(terminal_ids), charts.forests, len(terminal_ids)
    cells = n * (n + 1) // 2
    nodes = int(forest.node_first[cells])
    inside, outside = forest.inside[:nodes], forest.outside[:nodes]
    kept = outside > 0 if least == 0 else inside * outside > least
    if not kept.any():
        raise ValueError("a sentence without a derivation has no forest")
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    firsts = np.concatenate(([0], np.cumsum(kept))).astype(np.int32)[forest.node_first[: cells + 1]]
    columns = np.diff(firsts[np.arange(n + 1) * np.arange(1, n + 2) // 2])
    symbols = forest.node_symbol[:nodes][kept]
    root = np.zeros(len(symbols))
    top = slice(firsts[-2], firsts[-1])
    root[top] = forests.tables.root[symbols[top]] * inside[kept][top]
    root[top] /= root[top].sum()
    unaries = len(forests.unaries.rule_parent) > 0
    most = int(forest.cell_production[cells] + kept.sum() + (forest.unary_first[cells] if unaries else 0))
    edges = int(forest.edge_first[nodes])
    view = TopDownForest(
        length=n,
        node_first=firsts,
        node_start=forest.node_start[:nodes][kept],
        node_end=np.repeat(np.arange(1, n + 1, dtype=np.int32), columns),
        node_symbol=symbols,
        node_g=(inside * outside)[kept],
        inside=inside[kept],
        lexical=forest.lexical[:nodes][kept],
        root=root,
        way_first=new_ints(len(symbols) + 2),
        way_to=new_ints(most),
        way_rule=new_ints(most),
        way_share=new_floats(most),
        edge_first=new_ints(forests.groups + 2),
        edge_left=new_ints(edges),
        edge_right=new_ints(edges),
        edge_share=new_floats(edges),
    )
    sort_ways(forest, forests.tables.rule_prob, forests.unaries.rule_prob, number, view, cells)
    sort_edges(forest, number, np.zeros(forests.groups, np.uint8), view, cells)
    ways, used = view.way_first[len(symbols)], view.edge_first[forests.groups]
    return view._replace(
        way_first=view.way_first[:-1],
        way_to=view.way_to[:ways],
        way_rule=view.way_rule[:ways],
        way_share=view.way_share[:ways],
        edge_first=view.edge_first[:-1],
        edge_left=view.edge_left[:used],
        edge_right=view.edge_right[:used],
        edge_share=view.edge_share[:used],
    )
