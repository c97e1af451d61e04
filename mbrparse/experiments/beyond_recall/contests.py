"""What is compared with what: the objectives of each table, and what its columns measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mbrparse.decode.objectives import OBJECTIVES, Objective
from mbrparse.evaluate.tables.criteria import MORE, PAPER, Average, Criterion
from mbrparse.evaluate.trees.agreement import Form
from mbrparse.experiments.beyond_recall.promises import (
    PROMISED_CONSISTENT,
    PROMISED_F,
    PROMISED_SENTENCE_F,
    PROMISED_TREE,
    Promise,
)

#: Costs of a node along the curve of precision against recall.
COSTS = tuple(place / 20 for place in range(20))

_CRITERIA = {criterion.name: criterion for criterion in PAPER + MORE}


class Measure(NamedTuple):
    """A column: a criterion, how it is averaged, and what the table calls it."""

    name: str
    average: Average
    heading: str

    @property
    def criterion(self) -> Criterion:
        """The criterion, under the table's own heading."""
        return replace(_CRITERIA[self.name], heading=self.heading)


@dataclass(frozen=True)
class Contest:
    """A table: its rows' objectives, the form in which trees are compared, and its columns.

    ``promises`` are what the rows' own expectations say of some of the columns.
    """

    name: str
    title: str
    rows: tuple[Objective, ...]
    form: Form
    measures: tuple[Measure, ...]
    promises: tuple[Promise, ...]

    @property
    def objectives(self) -> tuple[str, ...]:
        """The names of its rows."""
        return tuple(row.name for row in self.rows)


NARY = Contest(
    "nary",
    "N-ary trees against the original gold: all are un-binarized",
    (
        OBJECTIVES["labelled-tree"],
        OBJECTIVES["labelled-recall"],
        OBJECTIVES["general-recall"],
        OBJECTIVES["labelled-f"],
        replace(OBJECTIVES["labelled-f"], name="labelled-f-pooled", f_score="pooled"),
        replace(OBJECTIVES["labelled-f"], name="labelled-f-exact", f_score="exact"),
        OBJECTIVES["bracketed-f"],
    ),
    "original",
    (
        Measure("labelled_precision", "pooled", "precision"),
        Measure("labelled_recall", "pooled", "recall"),
        Measure("labelled_f", "pooled", "F"),
        Measure("labelled_f", "sentence", "sentence F"),
        Measure("labelled_tree", "pooled", "exact"),
    ),
    (PROMISED_F, PROMISED_SENTENCE_F),
)

BINARY = Contest(
    "binary",
    "Binary trees",
    (
        OBJECTIVES["labelled-tree"],
        OBJECTIVES["labelled-recall"],
        OBJECTIVES["bracketed-recall"],
        OBJECTIVES["consistent-brackets"],
        OBJECTIVES["consistent-brackets-tree"],
    ),
    "binarized",
    (
        Measure("consistent_brackets_recall", "pooled", "cons. recall"),
        Measure("consistent_brackets_tree", "pooled", "cons. tree"),
        Measure("bracketed_recall", "pooled", "brack. recall"),
        Measure("labelled_recall", "pooled", "lab. recall"),
    ),
    (PROMISED_CONSISTENT, PROMISED_TREE),
)

CONTESTS = (NARY, BINARY)


def contenders() -> tuple[Objective, ...]:
    """Every objective of the tables, once."""
    return tuple(dict.fromkeys(row for contest in CONTESTS for row in contest.rows))


def sweep(costs: Sequence[float] = COSTS) -> tuple[Objective, ...]:
    """General Recall with every cost of a node, named ``cost-0.05`` and so on.

    >>> sweep((0.25,))[0].name
    'cost-0.25'
    """
    row = OBJECTIVES["general-recall"]
    return tuple(replace(row, name=f"cost-{cost:.2f}", node_constant=-cost) for cost in costs)
