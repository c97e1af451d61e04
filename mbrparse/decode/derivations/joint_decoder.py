"""Max-rule of several grammars (Petrov 2010): one forest of labels is made of those of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.decode.derivations.forest_decoder import LabelSearch
from mbrparse.decode.derivations.items import ItemTables, item_tables, logarithm_unit, numbered_rows
from mbrparse.decode.derivations.label_forest import LabelForest, project_forest
from mbrparse.decode.derivations.search import graph_of
from mbrparse.decode.objectives import Objective
from mbrparse.decode.trees import Decoded
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.grammar.projection import projected_names
from mbrparse.grammar.rules import is_terminal, unquote

#: What a posterior counts as at least where posteriors are multiplied: that of a production which a grammar
#: rules out, too.
FLOOR = 1e-10

Numbers = npt.NDArray[np.integer]


class JointDecoder:
    """Decodes for max-rule with the posteriors of several grammars."""

    def __init__(self, charts: Sequence[ForestCharts], objectives: Sequence[Objective]) -> None:
        """``charts`` of each grammar."""
        named = [projected_names(one.grammar) for one in charts]
        names = sorted(set().union(*named), key=lambda name: (is_terminal(name), name))
        self._items = _common_items(charts, named, names)
        own = replace(self._items[0], label=np.arange(len(names), dtype=np.int32))
        self._searches = [(logarithm_unit(row) > 0, LabelSearch(own, row)) for row in objectives]
        self._names = [unquote(name) if is_terminal(name) else name for name in names]

    def decode(self, chart: Any, posteriors: object) -> list[Decoded | None]:
        """The best trees of a sentence's charts (``MixedChart``), by which scores are means, too.

        Raises as ``ForestDecoder.decode``.
        """
        n, names = chart.length, self._names
        pairs = zip(self._items, chart.members, strict=True)
        known = [project_forest(one.forest(), items) for items, one in pairs if one is not None]
        joined, masses = _joined(known, self._items[0], n)
        decoded: list[Decoded | None] = []
        for by_log, search in self._searches:
            # Of posteriors and of their logarithms, each with its own mean.
            lexical, edge_mass, unary_mass = (_mean(mass, chart.shares, by_log) for mass in masses)
            labels = joined._replace(lexical=lexical, edge_mass=edge_mass, unary_mass=unary_mass)
            tree = search.best(labels, n)
            if tree is None:
                decoded.append(None)
                continue
            spans = [(start, end, names[label]) for start, end, label in tree.nodes]
            decoded.append(Decoded(spans, [names[label] for label in tree.preterminals], tree.score))
        return decoded


def _common_items(
    charts: Sequence[ForestCharts], named: Sequence[Sequence[str]], names: Sequence[str]
) -> list[ItemTables]:
    """What each grammar's forests are projected to: labels, by their places in ``names``, and productions."""
    ids = {name: place for place, name in enumerate(names)}
    labels = [np.array([ids[name] for name in mine], np.int32) for mine in named]
    tables = list(map(item_tables, charts))
    rows = []
    for items, label in zip(tables, labels, strict=True):
        renamed = np.full(len(items.terminal) + 1, -1)  # the last is of the child that is not there
        renamed[items.label] = label
        rows.append(renamed[items.production_labels])
    number, distinct = numbered_rows(*np.concatenate(rows).T)
    numbers = np.split(number, np.cumsum(list(map(len, rows)))[:-1])
    terminal = np.array(list(map(is_terminal, names)))
    return [
        replace(
            one, label=label, terminal=terminal, production=mine[one.production], production_labels=distinct
        )
        for one, label, mine in zip(tables, labels, numbers, strict=True)
    ]


def _mean(mass: FloatArray, weights: FloatArray, by_log: bool) -> FloatArray:
    """The weighted mean of posteriors [forest, part]; ``by_log`` that of logarithms, but 0 where all are."""
    mean: FloatArray = weights @ (np.log(np.maximum(mass, FLOOR)) if by_log else mass)
    return np.exp(mean) * mass.any(axis=0) if by_log else mean


def _joined(
    labels: Sequence[LabelForest], items: ItemTables, n: int
) -> tuple[LabelForest, tuple[FloatArray, FloatArray, FloatArray]]:
    """Forests of labels as one that has the parts of all, and the posteriors [forest, part] in each.

    These are of preterminals (by node), edges and unaries.
    """
    cells, symbols, pairs = n * (n + 1) // 2, len(items.terminal), len(items.production_labels)
    graphs = [one.graph for one in labels]
    nodes, groups = [len(one.lexical) for one in labels], [len(one.pair) for one in labels]

    def column(name: str, of: Sequence[int] | None = None) -> Any:
        """The numbers of all forests, one's after the other's; where they number parts, ``of`` n parts."""
        first = np.zeros(len(labels), int) if of is None else np.cumsum(of) - of
        return np.concatenate([getattr(one, name) + begin for one, begin in zip(graphs, first, strict=True)])

    def owners(name: str) -> Any:
        """Which part of its own forest has each of the parts that ``name`` lists the first of."""
        sizes = [np.diff(getattr(one, name)) for one in graphs]
        return np.concatenate([np.repeat(np.arange(len(size)), size) for size in sizes])

    def table(columns: Sequence[FloatArray], places: Numbers, count: int) -> FloatArray:
        found = np.zeros((len(labels), count))
        found[np.repeat(np.arange(len(labels)), list(map(len, columns))), places] = np.concatenate(columns)
        return found

    offset = np.repeat(np.cumsum(nodes) - nodes, [len(one.edge_mass) for one in labels])
    keys, node = _numbered(owners("node_first") * symbols + column("node_symbol"))
    parent = node[column("production_parent", nodes)]
    made, production = _numbered(parent * pairs + np.concatenate([one.pair for one in labels]))
    above, below = node[column("unary_parent", nodes)], node[column("unary_child", nodes)]
    chained, unary = _numbered(above * len(keys) + below)
    right = node[owners("edge_first") + offset]
    split, edge = _numbered(right * len(made) + production[column("edge_group", groups)])
    start, left, is_root = np.zeros(len(keys)), np.zeros(len(split)), np.zeros(len(keys), np.bool_)
    start[node], left[edge] = column("node_start"), node[column("left_node", nodes)]
    np.logical_or.at(is_root, node, np.concatenate([one.is_root for one in labels]))
    node_first = np.searchsorted(keys, symbols * np.arange(cells + 1))
    edge_first = np.searchsorted(split, len(made) * np.arange(len(keys) + 1))
    arrays = {
        "node_first": node_first,
        "node_start": start,
        "node_symbol": keys % symbols,
        "edge_first": edge_first,
        "edge_group": split % max(len(made), 1),
        "left_first": edge_first[:-1],
        "left_node": left,
        "group_right": items.production_labels[made % pairs, 2],
        "cell_production": np.searchsorted(made, pairs * node_first),
        "production_parent": made // pairs,
        "production_group": np.arange(len(made)),
        "unary_first": np.searchsorted(chained, len(keys) * node_first),
        "unary_parent": chained // len(keys),
        "unary_child": chained % len(keys),
    }
    graph = graph_of(**{name: array.astype(np.int32) for name, array in arrays.items()})
    none = np.zeros(0)
    masses = (
        table([one.lexical for one in labels], node, len(keys)),
        table([one.edge_mass for one in labels], edge, len(split)),
        table([one.unary_mass for one in labels], unary, len(chained)),
    )
    return LabelForest(graph, (made % pairs).astype(np.int32), is_root, none, none, none), masses


def _numbered(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct keys, in order, and the places of all among them."""
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, place
