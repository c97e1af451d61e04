"""The objectives, as rows of one table.

An objective is a weighted sum of gains of a tree's items, plus a constant per node, and a space of
trees to search. Goodman (1996): the Labelled Tree is the most probable derivation; Labelled Recall
maximizes the sum of g(i, X, j) and Bracketed Recall that of g(i, j) = sum over X of g(i, X, j), both
over all binary trees. Sima'an (2003) searches the grammar's own derivations, for Labelled Recall (his
MLR), parent-child items (MPCh) and productions without their split (MCFP). Petrov and Klein (2007):
max-rule, over all trees that are built of productions of positive posterior. Consistent brackets, the
criterion that Goodman left, count spans that no constituent of the n-ary tree crosses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

from mbrparse.arguments import MOST_COUNT, checked
from mbrparse.errors import ObjectiveError

#: How a sentence's F is maximized: as a ratio of expectations, or as the expectation itself.
FScore = Literal["sentence", "exact"]


class Item(Enum):
    """What of a tree earns a gain; each distinct item of a tree earns once."""

    LABELLED_SPAN = "labelled span (i, X, j): its posterior"
    SPAN = "span (i, j): its posterior, whatever the label"
    PARENT_CHILD = "parent over i..j, child and side: their posterior (a terminal is no child)"
    PRODUCTION = "production over i..j without its split: its posterior (lexical ones are none)"
    RULE = "production with its split: the log probability of its rule"
    SPLIT_PRODUCTION = "production with its split, lexical ones too: its posterior"
    LOG_SPLIT_PRODUCTION = "production with its split, lexical ones too: its log posterior"
    CONSISTENT_SPAN = "span (i, j): the probability that no constituent of the n-ary tree crosses it"
    LOG_CONSISTENT_SPAN = "span (i, j): the log probability that no constituent crosses it"
    CONSISTENT_TREE = "the tree: the probability that no constituent of the n-ary tree crosses any of it"
    BRACKETED_TREE = "the tree: the probability that the binary tree has just these brackets"
    PROJECTED_TREE = "the tree: its probability, summed over all derivations that look like it"


class Space(Enum):
    """The trees that are searched."""

    FREE = "any binary tree with one label for each span of width 2 or more"
    GRAMMAR = "the grammar's own derivations"
    NARY = "any constituents that do not cross each other, one label a span, the whole sentence always"
    CANDIDATES = "the candidates of a sentence: its k best derivations' trees, or those of samples"
    ITEMS = "every tree that is built of productions with a posterior above zero"


#: What a constituent costs where recall is maximized over n-ary trees by default. Chosen on a development
#: part of the Penn sample: the largest recall at which precision is no less than that of Viterbi's trees.
UNARY_COST = 0.25


class Kind(Enum):
    """Which decoder serves an objective: nothing else says what sort of objective it is."""

    FREE = "binary trees of the free space, from posteriors of spans"
    NARY = "n-ary trees, from posteriors of spans"
    EXACT_F = "n-ary trees, from the joint distribution of their constituents and their size"
    WHOLE = "trees that are right or wrong as a whole, from a chart's nodes"
    DERIVATION = "the most probable derivation, which charts know without posteriors"
    RISK = "the candidate of least risk, by a criterion that the caller hands in"
    FOREST = "derived trees, from the posteriors of a forest's items"


# Where an item of a tree has a meaning: the free space knows labelled spans and nothing below them.
_MEANT_IN = {
    Item.LABELLED_SPAN: (Space.FREE, Space.NARY, Space.GRAMMAR),
    Item.SPAN: (Space.FREE, Space.NARY, Space.GRAMMAR),
    Item.PARENT_CHILD: (Space.GRAMMAR,),
    Item.PRODUCTION: (Space.GRAMMAR,),
    Item.RULE: (Space.GRAMMAR,),
    Item.SPLIT_PRODUCTION: (Space.ITEMS,),
    Item.LOG_SPLIT_PRODUCTION: (Space.ITEMS,),
    Item.CONSISTENT_SPAN: (Space.FREE,),
    Item.LOG_CONSISTENT_SPAN: (Space.FREE,),
    Item.CONSISTENT_TREE: (Space.FREE,),
    Item.BRACKETED_TREE: (Space.FREE,),
    Item.PROJECTED_TREE: (Space.GRAMMAR,),
}


_WHOLE = (Item.CONSISTENT_TREE, Item.BRACKETED_TREE, Item.PROJECTED_TREE)
_UNLABELLED = (Item.SPAN, Item.CONSISTENT_SPAN, Item.LOG_CONSISTENT_SPAN, *_WHOLE[:2])


@checked
@dataclass(frozen=True, slots=True)
class Objective:
    """What a returned tree maximizes: sum of weights times gains, plus ``node_constant`` per node.

    With ``f_score`` the gains are matches, and their expected F is maximized: "sentence" for twice their sum
    over the number of constituents of the tree and the expected number of the true one's, "exact" for the
    expectation of the ratio itself. Raises ObjectiveError for a row that no search could make sense of.

    >>> Objective("half", Space.FREE, ((Item.LABELLED_SPAN, 1.0), (Item.SPAN, 0.5))).weight(Item.SPAN)
    0.5
    """

    name: str
    space: Space
    gains: tuple[tuple[Item, float], ...]
    node_constant: float = 0.0
    f_score: FScore | None = None

    def __post_init__(self) -> None:
        weights = self._weighed
        if len(dict(self.gains)) < len(self.gains):
            raise ObjectiveError(f"{self.name}: an item is listed twice", remedy="add its weights up")
        for weight in (*weights.values(), self.node_constant):
            if not -MOST_COUNT <= weight <= MOST_COUNT:
                raise ObjectiveError(
                    f"{self.name}: a weight that is no number of at most {MOST_COUNT:,}: {weight}"
                )
        if self.space is Space.CANDIDATES and (weights or self.node_constant):
            raise ObjectiveError(f"{self.name}: candidates are chosen by a criterion (`risk`), not by items")
        if not weights and not self.node_constant and self.space is not Space.CANDIDATES:
            raise ObjectiveError(f"{self.name}: no item has a weight", remedy="give an item a weight")
        for item in weights:
            if self.space not in _MEANT_IN[item]:
                what = item.name.lower().replace("_", " ")
                raise ObjectiveError(
                    f"{self.name}: the space {self.space.name.lower()} knows no {what}",
                    remedy="search the space grammar" if self.space is Space.FREE else None,
                )
        if self.space is not Space.GRAMMAR and weights.get(Item.LABELLED_SPAN, 0.0) < 0:
            raise ObjectiveError(
                f"{self.name}: a negative weight would give each span its least probable label"
            )
        if self.f_score and (self.space is not Space.NARY or self.node_constant):
            raise ObjectiveError(f"{self.name}: F is maximized over n-ary trees, without a constant")
        if any(item in _WHOLE for item in weights) and (len(weights) > 1 or self.node_constant):
            raise ObjectiveError(f"{self.name}: whole trees cannot be combined with other items or costs")
        alone = len(weights) == 1 and min(weights.values()) > 0 and not self.node_constant
        if self.space is Space.ITEMS and not alone:
            raise ObjectiveError(
                f"{self.name}: productions with their split take no other items, and a positive weight"
            )

    @property
    def _weighed(self) -> dict[Item, float]:
        return {item: weight for item, weight in self.gains if weight}

    def weight(self, item: Item) -> float:
        """The weight of an item's gain, 0 if the objective does not look at it."""
        return next((weight for known, weight in self.gains if known is item), 0.0)

    @property
    def labels_matter(self) -> bool:
        """Whether another label would change the score."""
        return self.space is Space.CANDIDATES or any(item not in _UNLABELLED for item in self._weighed)

    @property
    def needs_consistency(self) -> bool:
        """Whether it looks at what constituents of the n-ary tree cross."""
        return any(map(self.weight, (Item.CONSISTENT_SPAN, Item.LOG_CONSISTENT_SPAN)))

    @property
    def kind(self) -> Kind:
        """Which decoder serves it."""
        if any(map(self.weight, _WHOLE)):
            return Kind.WHOLE
        if self.space is Space.FREE:
            return Kind.FREE
        if self.space is Space.NARY:
            return Kind.EXACT_F if self.f_score == "exact" else Kind.NARY
        if self.space is Space.CANDIDATES:
            return Kind.RISK
        rules_alone = self._weighed.keys() == {Item.RULE} and self.weight(Item.RULE) > 0
        return Kind.DERIVATION if rules_alone and not self.node_constant else Kind.FOREST

    @property
    def sums_posteriors(self) -> bool:
        """Whether it adds posteriors up, so that a node may cost something."""
        by_log = Item.RULE, Item.LOG_SPLIT_PRODUCTION, Item.LOG_CONSISTENT_SPAN, *_WHOLE
        others = Space.ITEMS, Space.CANDIDATES
        return self.space not in others and not self.f_score and not any(map(self.weight, by_log))

    def with_node_cost(self, cost: float) -> Objective:
        """The same with a cost for each node; raises ObjectiveError where gains are no sum of posteriors.

        >>> OBJECTIVES["general-recall"].with_node_cost(0.3).node_constant
        -0.3
        """
        if not self.sums_posteriors:
            raise ObjectiveError(f"{self.name} does not add up posteriors, so nodes can have no cost")
        return replace(self, node_constant=self.node_constant - cost)

    def with_f(self, f_score: FScore) -> Objective:
        """The same for another F; raises ObjectiveError where it is no F that is maximized.

        >>> OBJECTIVES["labelled-f"].with_f("exact").f_score
        'exact'
        """
        if not self.f_score:
            raise ObjectiveError(f"{self.name} is no F")
        return replace(self, f_score=f_score)

    def within(self, space: Space) -> Objective:
        """The same in another space; raises ObjectiveError where it has no meaning there.

        >>> OBJECTIVES["labelled-recall"].within(Space.GRAMMAR).space.name
        'GRAMMAR'
        """
        # Max-rule's space is the grammar's as far as its productions go.
        if space is self.space or (space is Space.GRAMMAR and self.space is Space.ITEMS):
            return self
        fixed = self.f_score or Space.CANDIDATES in (space, self.space)
        if fixed or any(space not in _MEANT_IN[item] for item in self._weighed):
            raise ObjectiveError(f"{self.name} has no meaning in the space {space.name.lower()}")
        return replace(self, space=space)

    def for_unaries(self, cost: float = UNARY_COST) -> Objective:
        """The same as it is by default where a grammar has unary rules: not over trees without unary nodes.

        Recalls get n-ary trees and the ``cost`` of a constituent, without which these would keep all that
        fits; what has no meaning there stays as it is.

        >>> OBJECTIVES["bracketed-recall"].for_unaries().space.name
        'NARY'
        """
        if self.space is not Space.FREE or any(Space.NARY not in _MEANT_IN[item] for item in self._weighed):
            return self
        return replace(self, space=Space.NARY, node_constant=self.node_constant - cost)


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("labelled-tree", Space.GRAMMAR, ((Item.RULE, 1.0),)),
        Objective("labelled-recall", Space.FREE, ((Item.LABELLED_SPAN, 1.0),)),
        Objective("bracketed-recall", Space.FREE, ((Item.SPAN, 1.0),)),
        Objective("general-recall", Space.NARY, ((Item.LABELLED_SPAN, 1.0),)),
        Objective("labelled-f", Space.NARY, ((Item.LABELLED_SPAN, 1.0),), f_score="sentence"),
        Objective("bracketed-f", Space.NARY, ((Item.SPAN, 1.0),), f_score="sentence"),
        Objective("consistent-brackets", Space.FREE, ((Item.CONSISTENT_SPAN, 1.0),)),
        Objective("consistent-brackets-product", Space.FREE, ((Item.LOG_CONSISTENT_SPAN, 1.0),)),
        Objective("consistent-brackets-tree", Space.FREE, ((Item.CONSISTENT_TREE, 1.0),)),
        Objective("most-probable-tree", Space.GRAMMAR, ((Item.PROJECTED_TREE, 1.0),)),
        Objective("bracketed-tree", Space.FREE, ((Item.BRACKETED_TREE, 1.0),)),
        Objective("parent-child", Space.GRAMMAR, ((Item.PARENT_CHILD, 1.0),)),
        Objective("productions", Space.GRAMMAR, ((Item.PRODUCTION, 1.0),)),
        Objective("max-rule-sum", Space.ITEMS, ((Item.SPLIT_PRODUCTION, 1.0),)),
        Objective("max-rule-product", Space.ITEMS, ((Item.LOG_SPLIT_PRODUCTION, 1.0),)),
        Objective("minimum-risk", Space.CANDIDATES, ()),
    )
}

#: Other names of objectives.
ALIASES = {"viterbi": "labelled-tree"}
#: The objective whose gains are given, and how these are called.
GENERAL = "general-recall"
GAINS = {"labelled": Item.LABELLED_SPAN, "bracketed": Item.SPAN}


@checked
def objective(
    name: str | Objective,
    space: Literal["free", "nary", "grammar"] | None = None,
    node_cost: float | None = None,
    *,
    exact: bool = False,
    weights: Mapping[str, float] | None = None,
    unaries: bool = False,
    served: Collection[str] = tuple(OBJECTIVES),
) -> Objective:
    """An objective by its name, or another row, with what the command line changes of it.

    Parameters
    ----------
    name
        One of ``OBJECTIVES``, or ``viterbi``.
    space
        Where trees are searched (default: the row's).
    node_cost
        What a constituent costs, of an objective that adds up posteriors.
    exact
        The expectation of F itself, not a ratio of expectations.
    weights
        The gains of general-recall, by ``labelled`` and ``bracketed``.
    unaries
        As it is by default for a grammar that has unary rules.
    served
        The names that an error lists.

    Raises
    ------
    ObjectiveError
        For a name that none has, and what has no meaning.

    >>> objective("viterbi").name, objective("labeled-recall", node_cost=0.5, space="nary").node_constant
    ('labelled-tree', -0.5)
    """
    if isinstance(name, Objective):
        row = name
    elif (known := ALIASES.get(name, name.replace("labeled", "labelled"))) in OBJECTIVES:
        row = OBJECTIVES[known]
    else:
        raise ObjectiveError(f"there is no objective {name!r}", remedy=f"it is one of {', '.join(served)}")
    if weights is not None:
        if row.name != GENERAL or not weights.keys() <= GAINS.keys():
            raise ObjectiveError(f"`weights` are those of {GENERAL}: {' and '.join(GAINS)}")
        row = replace(row, gains=tuple((GAINS[item], weight) for item, weight in weights.items()))
    if space is not None:
        row = row.within(Space[space.upper()])
    elif unaries and row is not name:
        row = row.for_unaries(UNARY_COST if node_cost is None else 0.0)
    if exact:
        row = row.with_f("exact")
    return row if node_cost is None else row.with_node_cost(node_cost)
