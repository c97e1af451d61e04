"""The objectives, as rows of one table.

An objective is a weighted sum of gains of a tree's items, plus a constant per node, and a space of
trees to search. Goodman (1996): the Labelled Tree is the most probable derivation; Labelled Recall
maximizes the sum of g(i, X, j) and Bracketed Recall that of g(i, j) = sum over X of g(i, X, j), both
over all binary trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Item(Enum):
    """What of a tree earns a gain."""

    LABELLED_SPAN = "labelled span (i, X, j): its posterior"
    SPAN = "span (i, j): its posterior, whatever the label"
    RULE = "production with its split: the log probability of its rule"


class Space(Enum):
    """The trees that are searched."""

    FREE = "any binary tree with one label for each span of width 2 or more"
    GRAMMAR = "the grammar's own derivations"


@dataclass(frozen=True, slots=True)
class Objective:
    """What a returned tree maximizes: sum of weights times gains, plus ``node_constant`` per node."""

    name: str
    space: Space
    gains: tuple[tuple[Item, float], ...]
    node_constant: float = 0.0

    def weight(self, item: Item) -> float:
        """The weight of an item's gain, 0 if the objective does not look at it."""
        return dict(self.gains).get(item, 0.0)

    @property
    def labels_matter(self) -> bool:
        """Whether another label would change the score."""
        return any(item is not Item.SPAN and weight for item, weight in self.gains)


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("labelled-tree", Space.GRAMMAR, ((Item.RULE, 1.0),)),
        Objective("labelled-recall", Space.FREE, ((Item.LABELLED_SPAN, 1.0),)),
        Objective("bracketed-recall", Space.FREE, ((Item.SPAN, 1.0),)),
    )
}
