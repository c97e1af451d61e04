"""Max-rule of several grammars (Petrov 2010): one forest of labels is made of those of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.memory import empty_forest
from mbrparse.charts.base.packed_forest import Forest
from mbrparse.charts.factory import TIE
from mbrparse.charts.forest_charts import ForestCharts
from mbrparse.charts.rule_tables import Floats
from mbrparse.charts.spans import Labels, Spans
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.derivations.gains import ItemTables
from mbrparse.decode.derivations.item_posteriors import item_tables, numbered_rows
from mbrparse.decode.derivations.label_forest import LabelForest
from mbrparse.decode.derivations.objective_search import GrammarTree, ObjectiveSearch
from mbrparse.decode.derivations.search_memory import LabelForests
from mbrparse.decode.objectives import Item, Objective
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
        items = _common_items(charts, named, names)
        first, tie = charts[0], TIE["double"]
        self._projections = [LabelForests(one, first.clock) for one in items]
        self._items = own = items[0]._replace(label=np.arange(len(names), dtype=np.int32))
        rows = list(enumerate(objectives))
        # Of posteriors and of their logarithms, each with its own mean.
        self._searches = [
            (
                by_log,
                ObjectiveSearch(first.grammar, first.forests, own, chosen, tie, own.label, projected=True),
            )
            for by_log, item in enumerate((Item.SPLIT_PRODUCTION, Item.LOG_SPLIT_PRODUCTION))
            if (chosen := {place: row for place, row in rows if row.weight(item)})
        ]
        self._names = tuple(unquote(name) if is_terminal(name) else name for name in names)

    def decode(self, chart: Any, posteriors: object) -> list[Decoded | None]:
        """The best trees of a sentence's charts (``MixedChart``), by which scores are means, too.

        Raises as ``ForestDecoder.decode``.
        """
        n = chart.length
        charts = zip(self._projections, chart.members, strict=True)
        known = [own.project(one.forest(), n) for own, one in charts if one is not None]
        forest, masses = _joined(known, self._items, n)
        trees: dict[int, GrammarTree | None] = {}
        for by_log, search in self._searches:
            lexical, *others = (_mean(mass, chart.shares, bool(by_log)) for mass in masses)
            labels = LabelForest(forest._replace(lexical=lexical), *others)
            trees |= search.labelled_trees(labels, n)
        return [
            None
            if tree is None
            else Decoded(
                Spans(tree.nodes.starts, tree.nodes.ends, tree.nodes.ids, self._names),
                Labels(tree.preterminals, self._names),
                tree.score,
            )
            for _, tree in sorted(trees.items())
        ]


def _common_items(
    charts: Sequence[ForestCharts], named: Sequence[Sequence[str]], names: Sequence[str]
) -> list[ItemTables]:
    """What each grammar's forests are projected to: labels, by their places in ``names``, and productions."""
    ids = {name: place for place, name in enumerate(names)}
    labels = [np.array([ids[name] for name in mine], np.int32) for mine in named]
    tables = [item_tables(one.grammar, one.forests, one.label) for one in charts]
    rows = []
    for items, label in zip(tables, labels, strict=True):
        renamed = np.full(len(items.terminal) + 1, -1)  # the last is of the child that is not there
        renamed[items.label] = label
        rows.append(renamed[items.production_labels])
    number, distinct = numbered_rows(np.concatenate(rows))
    numbers = np.split(number, np.cumsum(list(map(len, rows)))[:-1])
    terminal = np.array(list(map(is_terminal, names)))
    return [
        one._replace(
            label=label, terminal=terminal, production=mine[one.production], production_labels=distinct
        )
        for one, label, mine in zip(tables, labels, numbers, strict=True)
    ]


def _mean(mass: Floats, weights: Floats, by_log: bool) -> Floats:
    """The weighted mean of posteriors [forest, part]; ``by_log`` that of logarithms, but 0 where all are."""
    mean: Floats = weights @ (np.log(np.maximum(mass, FLOOR)) if by_log else mass)
    return np.exp(mean) * mass.any(axis=0) if by_log else mean


def _joined(labels: Sequence[LabelForest], items: ItemTables, n: int) -> tuple[Forest, list[Floats]]:
    """Forests of labels as one that has the parts of all, and the posteriors [forest, part] in each.

    These are of preterminals (by node), edges and unaries.
    """
    cells, symbols, pairs = n * (n + 1) // 2, len(items.terminal), len(items.production_labels)
    forests = [one.forest for one in labels]
    nodes = np.array([one.node_first[cells] for one in forests])
    productions = np.array([one.cell_production[cells] for one in forests])
    unaries = np.array([one.unary_first[cells] for one in forests])
    edges = np.array([one.edge_first[count] for one, count in zip(forests, nodes, strict=True)])

    def column(name: str, counts: Numbers, of: Numbers | None = None) -> Any:
        """The numbers of all forests, one's after the other's; where they number parts, ``of`` so many."""
        first = np.zeros_like(counts) if of is None else np.cumsum(of) - of
        arrays = zip(labels if hasattr(labels[0], name) else forests, counts, first, strict=True)
        return np.concatenate([getattr(one, name)[:count] + begin for one, count, begin in arrays])

    def owners(name: str, counts: Numbers, total: int) -> Numbers:
        """Which of so many parts have the parts that ``name`` lists the first of."""
        sizes = [np.diff(getattr(one, name)[: count + 1]) for one, count in zip(forests, counts, strict=True)]
        return np.repeat(np.arange(total) % (cells if name == "node_first" else total), np.concatenate(sizes))

    def table(name: str, counts: Numbers, places: Numbers, count: int) -> Floats:
        found = np.zeros((len(labels), count))
        found[np.repeat(np.arange(len(labels)), counts), places] = column(name, counts)
        return found

    every = np.full_like(nodes, cells)
    keys, node = _numbered(owners("node_first", every, every.sum()) * symbols + column("node_symbol", nodes))
    parent = node[column("production_parent", productions, nodes)]
    made, production = _numbered(parent * pairs + column("group_pair", productions))
    above, below = (node[column(name, unaries, nodes)] for name in ("unary_parent", "unary_child"))
    chained, unary = _numbered(above * len(keys) + below)
    right = node[owners("edge_first", nodes, nodes.sum())]
    split, edge = _numbered(right * len(made) + production[column("edge_group", edges, productions)])
    node_first = np.searchsorted(keys, symbols * np.arange(cells + 1))
    edge_first = np.searchsorted(split, len(made) * np.arange(len(keys) + 1))
    start, left, root = np.zeros(len(keys)), np.zeros(len(split)), np.zeros(len(keys))
    start[node], left[edge] = column("node_start", nodes), node[column("left_node", edges, nodes)]
    np.maximum.at(root, node, column("inside", nodes))
    arrays = {
        "node_first": node_first,
        "node_start": start,
        "node_symbol": keys % symbols,
        "group_pair": made % pairs,
        "group_right": items.production_labels[made % pairs, 2],
        "edge_first": edge_first,
        "edge_group": split % max(len(made), 1),
        "left_first": edge_first[:-1],
        "left_node": left,
        "cell_production": np.searchsorted(made, pairs * node_first),
        "production_parent": made // pairs,
        "production_group": np.arange(len(made)),
        "unary_first": np.searchsorted(chained, len(keys) * node_first),
        "unary_parent": chained // len(keys),
        "unary_child": chained % len(keys),
    }
    # The other arrays are not looked at, but for their sizes.
    empty = empty_forest(0, 0, len(made), 0, 0, len(made), len(chained))
    forest = empty._replace(**{name: array.astype(np.int32) for name, array in arrays.items()}, inside=root)
    lexical = table("lexical", nodes, node, len(keys))
    masses = table("edge_mass", edges, edge, len(split)), table("unary_mass", unaries, unary, len(chained))
    return forest, [lexical, *masses]


def _numbered(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct keys, in order, and the places of all among them."""
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, place
