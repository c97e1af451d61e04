"""What trees promise: the rates that they are expected to reach, from the details of their sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.treebank.labels import is_continuation

#: The details of a sentence.
Row = dict[str, Any]


class Promise(NamedTuple):
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


def _sentence_f(row: Row, objective: str) -> tuple[float, float]:
    """What objectives of labelled F expect: F itself (exact), or the ratio of its expected parts."""
    if not objective.startswith("labelled-f"):
        return 0.0, 0.0
    return row["trees"][objective]["expected_score"], 1.0


def _consistent(row: Row, objective: str) -> tuple[float, float]:
    """The expected number of brackets that cross nothing, and that of brackets."""
    tree = row["trees"][objective]
    return (
        (tree["expected_consistent"], tree["constituents"]) if "expected_consistent" in tree else (0.0, 0.0)
    )


def _whole_tree(row: Row, objective: str) -> tuple[float, float]:
    """The probability that no bracket crosses anything."""
    if objective != "consistent-brackets-tree":
        return 0.0, 0.0
    return row["trees"][objective]["expected_score"], 1.0


PROMISED_F = Promise("promised_labelled_f", "promised F", _f)
PROMISED_SENTENCE_F = Promise("promised_sentence_f", "promised sentence F", _sentence_f)
PROMISED_CONSISTENT = Promise("promised_consistent_brackets", "promised cons. recall", _consistent)
PROMISED_TREE = Promise("promised_consistent_tree", "promised cons. tree", _whole_tree)


def expected_rates(
    wanted: Sequence[Promise], objectives: Sequence[str], details: Path
) -> dict[tuple[str, str], float]:
    """By promise and objective, the expected rate, 0 to 1, over the sentences that are parsed."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in _parsed(details):
        for promise in wanted:
            for objective in objectives:
                total = sums.setdefault((promise.name, objective), [0.0, 0.0])
                for place, share in enumerate(promise.shares(row, objective)):
                    total[place] += share
    return {key: above / below for key, (above, below) in sums.items() if below}


def _parsed(details: Path) -> Iterator[Row]:
    with details.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["status"] == "parsed":
                yield row
