"""The objectives, as rows of one table.

An objective is a weighted sum of gains of a tree's items, plus a constant per node, and a space of
trees to search. Goodman (1996): the Labelled Tree is the most probable derivation; Labelled Recall
maximizes the sum of g(i, X, j) and Bracketed Recall that of g(i, j) = sum over X of g(i, X, j), both
over all binary trees. Sima'an (2003) searches the grammar's own derivations, for Labelled Recall (his
MLR), parent-child items (MPCh) and productions without their split (MCFP). Petrov and Klein (2007):
max-rule, over all trees that are built of productions of positive posterior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Item(Enum):
    """What of a tree earns a gain; each distinct item of a tree earns once."""

    LABELLED_SPAN = "labelled span (i, X, j): its posterior"
    SPAN = "span (i, j): its posterior, whatever the label"
    PARENT_CHILD = "parent over i..j, child and side: their posterior (a terminal is no child)"
    PRODUCTION = "production over i..j without its split: its posterior (lexical ones are none)"
    RULE = "production with its split: the log probability of its rule"
    SPLIT_PRODUCTION = "production with its split, lexical ones too: its posterior"
    LOG_SPLIT_PRODUCTION = "production with its split, lexical ones too: its log posterior"


class Space(Enum):
    """The trees that are searched."""

    FREE = "any binary tree with one label for each span of width 2 or more"
    GRAMMAR = "the grammar's own derivations"
    ITEMS = "every tree that is built of productions with a posterior above zero"


@dataclass(frozen=True, slots=True)
class Objective:
    """What a returned tree maximizes: sum of weights times gains, plus ``node_constant`` per node.

    ``other_spaces`` are those that it may be searched in besides its own.
    """

    name: str
    space: Space
    gains: tuple[tuple[Item, float], ...]
    node_constant: float = 0.0
    other_spaces: tuple[Space, ...] = ()

    def weight(self, item: Item) -> float:
        """The weight of an item's gain, 0 if the objective does not look at it."""
        return dict(self.gains).get(item, 0.0)

    @property
    def labels_matter(self) -> bool:
        """Whether another label would change the score."""
        return any(item is not Item.SPAN and weight for item, weight in self.gains)

    @property
    def projectable(self) -> bool:
        """Whether the score depends on what symbols are projected to."""
        return any(item is not Item.RULE and weight for item, weight in self.gains)

    @property
    def derives(self) -> bool:
        """Whether its trees are built of the grammar's productions."""
        return self.space is not Space.FREE

    def within(self, space: Space) -> Objective:
        """The same in another space; raises ValueError where it has no meaning there.

        >>> OBJECTIVES["labelled-recall"].within(Space.GRAMMAR).space.name
        'GRAMMAR'
        """
        # Max-rule's space is the grammar's as far as its productions go.
        if space is self.space or (space is Space.GRAMMAR and self.space is Space.ITEMS):
            return self
        if space not in self.other_spaces:
            raise ValueError(f"{self.name} has no meaning in the space {space.name.lower()}")
        return replace(self, space=space, other_spaces=(self.space,))


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("labelled-tree", Space.GRAMMAR, ((Item.RULE, 1.0),)),
        Objective("labelled-recall", Space.FREE, ((Item.LABELLED_SPAN, 1.0),), other_spaces=(Space.GRAMMAR,)),
        Objective("bracketed-recall", Space.FREE, ((Item.SPAN, 1.0),), other_spaces=(Space.GRAMMAR,)),
        Objective("parent-child", Space.GRAMMAR, ((Item.PARENT_CHILD, 1.0),)),
        Objective("productions", Space.GRAMMAR, ((Item.PRODUCTION, 1.0),)),
        Objective("max-rule-sum", Space.ITEMS, ((Item.SPLIT_PRODUCTION, 1.0),)),
        Objective("max-rule-product", Space.ITEMS, ((Item.LOG_SPLIT_PRODUCTION, 1.0),)),
    )
}
