"""EVALB's scores as a table of counts, and its summary as criteria on it.

So that averages, breakdowns and significance treat them like any others. What EVALB leaves out (errors,
skipped sentences) has zeros in all columns but ``length`` and ``status``, and no share in any rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbrparse.evaluate.compared import ComparedTrees
from mbrparse.evaluate.criteria import COVERAGE, Criterion, ratio
from mbrparse.evaluate.evalb.evalb_files import evalb_scores
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.evalb.score import Score, Status
from mbrparse.evaluate.sources import TreeSource

if TYPE_CHECKING:
    from mbrparse.evaluate.columns import Column, Columns
    from mbrparse.evaluate.compared import Tally


#: Only SPMRL's evaluator has the second.
_COUNTING = (Status.VALID, Status.UNPARSED)


class EvalbCounts(NamedTuple):
    """One row of the table: a sentence of one parser. ``matched`` to ``correct_tags`` are EVALB's."""

    name: str  #: of the parses
    sentence: int  #: 1-based
    gold_line: int
    parse_line: int
    status: int  #: EVALB's: 0 valid, 1 error, 2 skipped; SPMRL's: 3 without a parse, but counted
    length: int  #: EVALB's Len.
    parsed: int  #: 1 if valid
    matched: int
    gold: int
    test: int
    crossing: int
    words: int
    correct_tags: int


def count_as_evalb(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    parameters: EvalbParameters,
    tell: Callable[[str], None],
    tallies: Mapping[str, Sequence[Tally]] | None = None,
) -> Iterator[list[EvalbCounts]]:
    """Yield, for each gold line, its counts in each parser's parses.

    ``tell`` is called with EVALB's messages, ``tallies`` (by each name) are fed; raises as
    ``evalb_scores`` does.
    """
    parsers = evalb_scores(gold, parses, parameters, tell, same_length=True)
    for number, scores in enumerate(zip(*parsers, strict=True), start=1):
        rows = []
        for source, score in zip(parses, scores, strict=True):
            rows.append(evalb_row(source.name, number, score))
            if tallies is not None and score.status == Status.VALID:
                trees = ComparedTrees(score.gold_brackets, score.test_brackets, score.pairs, score.gold_tags)
                for tally in tallies[source.name]:
                    tally.add(trees)
        yield rows


def evalb_row(name: str, number: int, score: Score) -> EvalbCounts:
    """The counts of one score."""
    counts_at_all = score.status in _COUNTING
    counts = (score.matched, score.gold, score.test, score.crossing, score.words, score.correct_tags)
    return EvalbCounts(
        name,
        number,
        number,
        number,
        int(score.status),
        score.length,
        int(score.status == Status.VALID),
        *(counts if counts_at_all else [0] * len(counts)),
    )


def _sentences(name: str, heading: str, passes: Callable[[Columns], Column]) -> Criterion:
    """The share of the sentences that count that pass a test."""
    return Criterion(
        name,
        heading,
        lambda counts: (passes(counts) & (_counting(counts) > 0)).astype(int),
        _counting,
    )


def _counting(counts: Columns) -> Column:
    return np.isin(counts["status"], _COUNTING).astype(int)


#: The share of sentences that count: EVALB leaves out more than empty parses.
EVALB_COVERAGE = replace(COVERAGE, heading="coverage")

#: The lines of EVALB's summary, in its order.
EVALB: tuple[Criterion, ...] = (
    ratio("bracketing_recall", "recall", "matched", "gold"),
    ratio("bracketing_precision", "precision", "matched", "test"),
    Criterion(
        "bracketing_f",
        "F",
        lambda counts: 2 * counts["matched"],
        lambda counts: counts["gold"] + counts["test"],
    ),
    _sentences(
        "complete_match",
        "complete",
        lambda counts: (counts["matched"] == counts["gold"]) & (counts["gold"] == counts["test"]),
    ),
    Criterion(
        "average_crossing",
        "crossing",
        lambda counts: counts["crossing"],
        _counting,
        percent=False,
        lower_is_better=True,
    ),
    _sentences("no_crossing", "no cross.", lambda counts: counts["crossing"] == 0),
    _sentences("two_or_less_crossing", "<=2 cross.", lambda counts: counts["crossing"] <= 2),
    ratio("tagging_accuracy", "tags", "correct_tags", "words"),
)
