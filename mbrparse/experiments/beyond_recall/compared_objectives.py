"""The objectives that each table compares, what its columns measure, and the rates that the trees expect."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.decode.objectives import OBJECTIVES, Objective
from mbrparse.evaluate.align import Form
from mbrparse.evaluate.criteria import MORE, PAPER, Average, Criterion
from mbrparse.files import read_lines
from mbrparse.treebank.labels import is_continuation

#: The details of a sentence.
Row = dict[str, Any]


class ExpectedRate(NamedTuple):
    """A rate that is expected: of a sentence's tree of one objective, what counts and what it is a share of.

    Both are zero where the objective expects nothing of the kind.
    """

    name: str
    heading: str
    shares: Callable[[Row, str], tuple[float, float]]


def _f(row: Row, objective: str) -> tuple[float, float]:
    """Twice the expected matches of a tree without its continuations, and the constituents of both trees."""
    kept = [g for start, end, label, g in row["trees"][objective]["nodes"] if not is_continuation(label)]
    return 2 * sum(kept), len(kept) + row["trees"]["labelled-f"]["constituents"]


def _score_of(prefix: str, row: Row, objective: str) -> tuple[float, float]:
    """The expected score of a tree, for the objectives whose names begin so."""
    return (row["trees"][objective]["expected_score"], 1.0) if objective.startswith(prefix) else (0.0, 0.0)


def _consistent(row: Row, objective: str) -> tuple[float, float]:
    """The expected number of brackets that cross nothing, and that of brackets."""
    tree = row["trees"][objective]
    return (
        (tree["expected_consistent"], tree["constituents"]) if "expected_consistent" in tree else (0.0, 0.0)
    )


def expected_rates(
    wanted: Sequence[ExpectedRate], objectives: Sequence[str], details: Path
) -> dict[tuple[str, str], float]:
    """By rate and objective, the expected rate, 0 to 1, over the sentences that are parsed."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in map(json.loads, read_lines(details)):
        if row["status"] != "parsed":
            continue
        for rate, objective in itertools.product(wanted, objectives):
            total = sums.setdefault((rate.name, objective), [0.0, 0.0])
            for place, share in enumerate(rate.shares(row, objective)):
                total[place] += share
    return {key: above / below for key, (above, below) in sums.items() if below}


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
class ObjectiveTable:
    """A table: its rows' objectives, the form in which trees are compared, and its columns.

    ``expected`` are what the rows' own expectations say of some of the columns.
    """

    name: str
    title: str
    rows: tuple[Objective, ...]
    form: Form
    measures: tuple[Measure, ...]
    expected: tuple[ExpectedRate, ...]

    @property
    def objectives(self) -> tuple[str, ...]:
        """The names of its rows."""
        return tuple(row.name for row in self.rows)


NARY = ObjectiveTable(
    "nary",
    "N-ary trees against the original gold: all are un-binarized",
    (
        OBJECTIVES["labelled-tree"],
        OBJECTIVES["labelled-recall"],
        OBJECTIVES["general-recall"],
        OBJECTIVES["labelled-f"],
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
    (
        ExpectedRate("promised_labelled_f", "promised F", _f),
        # F itself (exact), or the ratio of its expected parts.
        ExpectedRate("promised_sentence_f", "promised sentence F", partial(_score_of, "labelled-f")),
    ),
)

BINARY = ObjectiveTable(
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
    (
        ExpectedRate("promised_consistent_brackets", "promised cons. recall", _consistent),
        # The probability that no bracket crosses anything.
        ExpectedRate(
            "promised_consistent_tree", "promised cons. tree", partial(_score_of, "consistent-brackets-tree")
        ),
    ),
)

OBJECTIVE_TABLES = (NARY, BINARY)


def all_objectives() -> tuple[Objective, ...]:
    """Every objective of the tables, once."""
    return tuple(dict.fromkeys(row for compared in OBJECTIVE_TABLES for row in compared.rows))


def sweep() -> tuple[Objective, ...]:
    """General Recall with every cost of a node, named ``cost-0.05`` and so on."""
    row = OBJECTIVES["general-recall"]
    return tuple(replace(row, name=f"cost-{cost:.2f}", node_constant=-cost) for cost in COSTS)
