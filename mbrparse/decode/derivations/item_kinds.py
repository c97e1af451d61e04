"""The kinds of items that the search among derivations knows: all that is said of each stands here.

A kind says which rows of the kernels' weights (``gains``) its weight goes to, where its gains are worked
out, and how many of a tree's are expected to be right. A new kind is a row here, a kernel there, a member
of ``decode.objectives.Item``, and its naive twin in tests/naive_objectives.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mbrparse.decode.derivations.expectations import ItemNode, ItemPosteriors
from mbrparse.decode.derivations.gains import CHILD, LABELLED, LOG_NODE, PRODUCTION, RULE, SPAN, SPLIT
from mbrparse.decode.derivations.item_tables import LEFT, NO_ITEM, ONLY, RIGHT
from mbrparse.decode.objectives import Item
from mbrparse.grammar.charts.forest.packed_forest import forest_cell

Nodes = Sequence[ItemNode]


def parent_child(nodes: Nodes, posteriors: ItemPosteriors) -> float:
    """The posteriors of a tree's distinct parent-child items."""
    found = {
        (cell, posteriors.child_item(side, node.label, nodes[child].label))
        for cell, node in _inner(nodes)
        for side, child in zip(_sides(node), node.children, strict=True)
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
        if not node.children and not posteriors.tables.terminal[node.label]
    }
    return sum(posteriors.split_production(*key) for key in sorted(found) if key[1] != NO_ITEM) + sum(
        posteriors.lexical(*key) for key in sorted(lexical)
    )


def _inner(nodes: Nodes) -> Iterator[tuple[int, ItemNode]]:
    """The nodes with children, and their cells."""
    return ((int(forest_cell(node.start, node.end)), node) for node in nodes if node.children)


def _sides(node: ItemNode) -> tuple[int, ...]:
    return (ONLY,) if len(node.children) == 1 else (LEFT, RIGHT)


def _production(node: ItemNode, nodes: Nodes, posteriors: ItemPosteriors) -> int:
    labels = [nodes[child].label for child in node.children]
    return posteriors.production_item(node.label, labels[0] if len(labels) == 2 else NO_ITEM, labels[-1])


def _right_cell(node: ItemNode, nodes: Nodes) -> int:
    return NO_ITEM if len(node.children) == 1 else int(forest_cell(nodes[node.children[1]].start, node.end))


@dataclass(frozen=True)
class ItemKind:
    """What the search and ``--details`` know of a kind of item."""

    weights: tuple[int, ...]  #: rows of the kernels' weights
    name: str | None = None  #: of its expectation in ``--details``
    expected: Callable[[Nodes, ItemPosteriors], float] | None = None


ITEM_KINDS = {
    Item.LABELLED_SPAN: ItemKind((LABELLED,)),
    Item.SPAN: ItemKind((SPAN,)),
    Item.PARENT_CHILD: ItemKind((CHILD,), "parent_child", parent_child),
    Item.PRODUCTION: ItemKind((PRODUCTION,), "productions", productions),
    Item.RULE: ItemKind((RULE,)),
    Item.SPLIT_PRODUCTION: ItemKind((SPLIT,), "split_productions", split_productions),
    # The product of a tree's posteriors telescopes to rules and inverse posteriors of its nodes.
    Item.LOG_SPLIT_PRODUCTION: ItemKind((RULE, LOG_NODE)),
}


def expected_items(nodes: Nodes, posteriors: ItemPosteriors) -> dict[str, float]:
    """How many of a tree's distinct items of each kind are expected to be right."""
    return {
        kind.name: kind.expected(nodes, posteriors)
        for kind in ITEM_KINDS.values()
        if kind.name is not None and kind.expected is not None
    }
