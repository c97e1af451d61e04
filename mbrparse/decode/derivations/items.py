"""The kinds of items that the search among derivations knows: all that is said of each stands here.

A kind says which rows of the kernels' weights (``gains``) its weight goes to, and how many of a tree's are
expected to be right. A new kind is a member of ``decode.objectives.Item``, a row here, its gain in
``gains``, and its naive twin in tests/naive_objectives.py. A row without a gain, or an item without a row, is
an error at import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mbrparse.charts.base.packed_forest import forest_cell
from mbrparse.charts.chart import Chart
from mbrparse.charts.forest_charts import ForestCharts
from mbrparse.charts.rule_tables import Floats
from mbrparse.decode.derivations.gains import (
    CHILD,
    CONSTANT,
    LABELLED,
    LANES,
    LOG_NODE,
    PRODUCTION,
    RULE,
    SPAN,
    SPLIT,
    WEIGHTS,
)
from mbrparse.decode.derivations.item_posteriors import (
    LEFT,
    NO_ITEM,
    ONLY,
    RIGHT,
    ItemNode,
    ItemPosteriors,
    item_nodes,
    item_tables,
)
from mbrparse.decode.objectives import Item, Kind, Objective, Space
from mbrparse.decode.trees import LabelledSpans
from mbrparse.errors import ObjectiveError
from mbrparse.grammar.rules import is_terminal

Nodes = Sequence[ItemNode]
#: By the number of children.
_SIDES = {1: (ONLY,), 2: (LEFT, RIGHT)}


def parent_child(nodes: Nodes, posteriors: ItemPosteriors) -> float:
    """The posteriors of a tree's distinct parent-child items."""
    found = {
        (cell, posteriors.children.get((side, node.label, nodes[child].label), NO_ITEM))
        for cell, node in _inner(nodes)
        for side, child in zip(_SIDES[len(node.children)], node.children, strict=True)
    }
    return sum(posteriors.child(*key) for key in sorted(found) if key[1] != NO_ITEM)


def productions(nodes: Nodes, posteriors: ItemPosteriors) -> float:
    """Those of its distinct productions."""
    found = {(cell, _production(node, nodes, posteriors)) for cell, node in _inner(nodes)}
    return sum(posteriors.production(*key) for key in sorted(found) if key[1] != NO_ITEM)


def split_productions(nodes: Nodes, posteriors: ItemPosteriors) -> float:
    """Those of its distinct productions with their splits, lexical ones too."""
    found = {
        (cell, _production(node, nodes, posteriors), _right_cell(node, nodes)) for cell, node in _inner(nodes)
    }
    lexical = {
        (int(forest_cell(node.start, node.end)), node.label)
        for node in nodes
        if not node.children and node.label >= 0 and not posteriors.tables.terminal[node.label]
    }
    return sum(posteriors.split_production(*key) for key in sorted(found) if key[1] != NO_ITEM) + sum(
        posteriors.lexical(*key) for key in sorted(lexical)
    )


def _inner(nodes: Nodes) -> Iterator[tuple[int, ItemNode]]:
    """The nodes with children, and their cells."""
    return ((int(forest_cell(node.start, node.end)), node) for node in nodes if node.children)


def _production(node: ItemNode, nodes: Nodes, posteriors: ItemPosteriors) -> int:
    labels = [nodes[child].label for child in node.children]
    left = labels[0] if len(labels) == 2 else NO_ITEM
    return posteriors.productions.get((node.label, left, labels[-1]), NO_ITEM)


def _right_cell(node: ItemNode, nodes: Nodes) -> int:
    return NO_ITEM if len(node.children) == 1 else int(forest_cell(nodes[node.children[1]].start, node.end))


@dataclass(frozen=True)
class ItemKind:
    """What the search and ``--details`` know of a kind of item."""

    weights: tuple[int, ...]  #: rows of the kernels' weights
    name: str | None = None  #: of its expectation in ``--details``
    expected: Callable[[Nodes, ItemPosteriors], float] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a kind without gain, which a search would not know."""
        if not self.weights:
            raise ValueError("an item needs what it earns")


def item_kinds(kinds: Mapping[Item, ItemKind]) -> dict[Item, ItemKind]:
    """A table of kinds; raises ValueError if it lacks an item that a search among derivations may weigh."""
    missing = [item.name for item in Item if item not in kinds and _is_searched(item)]
    if missing:
        raise ValueError(f"no row for {', '.join(missing)}")
    return dict(kinds)


def _is_searched(item: Item) -> bool:
    for space in (Space.GRAMMAR, Space.ITEMS):
        try:
            if Objective(item.name, space, ((item, 1.0),)).kind in (Kind.DERIVATION, Kind.FOREST):
                return True
        except ObjectiveError:  # it has no meaning there
            continue
    return False


ITEM_KINDS = item_kinds(
    {
        Item.LABELLED_SPAN: ItemKind((LABELLED,)),
        Item.SPAN: ItemKind((SPAN,)),
        Item.PARENT_CHILD: ItemKind((CHILD,), "parent_child", parent_child),
        Item.PRODUCTION: ItemKind((PRODUCTION,), "productions", productions),
        Item.RULE: ItemKind((RULE,)),
        Item.SPLIT_PRODUCTION: ItemKind((SPLIT,), "split_productions", split_productions),
        # The product of a tree's posteriors telescopes to rules and inverse posteriors of its nodes.
        Item.LOG_SPLIT_PRODUCTION: ItemKind((RULE, LOG_NODE)),
    }
)


def gain_weights(objectives: Sequence[Objective]) -> Floats:
    """Weights of gains [what earns, lane]; lanes without an objective weigh nothing."""
    weights = np.zeros((WEIGHTS, LANES))
    for lane, objective in enumerate(objectives):
        for item, weight in objective.gains:
            weights[list(ITEM_KINDS[item].weights), lane] += weight
        weights[CONSTANT, lane] = objective.node_constant
    return weights


def expected_items(nodes: Nodes, posteriors: ItemPosteriors) -> dict[str, float]:
    """How many of a tree's distinct items of each kind are expected to be right."""
    return {
        kind.name: kind.expected(nodes, posteriors)
        for kind in ITEM_KINDS.values()
        if kind.name is not None and kind.expected is not None
    }


_NO_LABEL = -2  # of no rule; -1 stands for a child that is not there


class TreeItems:
    """Looks the items of binary trees up in forests, whoever made the trees."""

    def __init__(self, charts: ForestCharts) -> None:
        grammar = charts.grammar
        tables = item_tables(grammar, charts.forests, charts.label)
        self._posteriors = ItemPosteriors(charts.forests, tables)
        label: list[int] = tables.label.tolist()
        self._labels = {
            grammar.labels[grammar.label_ids[symbol]]: label[symbol]
            for symbol, name in enumerate(grammar.symbols)
            if not is_terminal(name)
        }
        # By terminal id, the labels of what may stand over it: below a node of one child, and of two.
        self._over: dict[bool, dict[int, set[int]]] = {True: {}, False: {}}
        below = {
            True: {*grammar.unary_child.tolist()},
            False: {*grammar.left.tolist(), *grammar.right.tolist()},
        }
        pairs = zip(grammar.lexical_terminal.tolist(), grammar.lexical_symbol.tolist(), strict=True)
        for terminal, symbol in pairs:
            for alone, over in self._over.items():
                if symbol in below[alone]:
                    over.setdefault(terminal, set()).add(label[symbol])

    def expected(
        self, chart: Chart, spans: LabelledSpans, tags: Sequence[str | None]
    ) -> dict[str, float] | None:
        """How many of a binary tree's distinct items are expected to be right, by kind.

        ``tags`` are the labels over its terminals, None where the tree shows none: it is then the only one
        that the grammar has for the terminal. None if it has several, or the tree is not binary, or no
        constituent.
        """
        if not spans:
            return None
        over = {(start, end) for start, end, _ in spans}
        leaves: list[int] = []
        for position, (terminal, tag) in enumerate(zip(chart.terminal_ids.tolist(), tags, strict=True)):
            found = self._leaf(terminal, tag, (position, position + 1) in over)
            if found is None:
                return None
            leaves.append(found)
        ids = [(start, end, self._labels.get(label, _NO_LABEL)) for start, end, label in spans]
        nodes = item_nodes(ids, leaves)
        if any(len(node.children) > 2 for node in nodes):
            return None
        chart.forest()
        return expected_items(nodes, self._posteriors)

    def _leaf(self, terminal: int, tag: str | None, alone: bool) -> int | None:
        """The item label over a terminal that is an only child, or is not."""
        if tag is not None:
            return self._labels.get(tag, _NO_LABEL)
        found = self._over[alone].get(terminal, {_NO_LABEL})
        return min(found) if len(found) == 1 else None
