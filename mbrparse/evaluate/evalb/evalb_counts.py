"""EVALB's scores as a table of counts, and its summary as criteria on it.

So that averages, breakdowns and significance treat them like any others. What EVALB leaves out (errors,
skipped sentences) has zeros in all columns but ``length`` and ``status``, and no share in any rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.evaluate.criteria import Criterion, ratio
from mbrparse.evaluate.evalb.evalb_files import evalb_scores
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.evalb.score import Score, Status
from mbrparse.evaluate.names import distinct_names
from mbrparse.files import read_lines

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.evaluate.criteria import Column
    from mbrparse.evaluate.label_tally import LabelTally


class EvalbCounts(NamedTuple):
    """One row of the table: a sentence of one parse file. ``matched`` to ``correct_tags`` are EVALB's."""

    name: str  #: of the parse file
    sentence: int  #: 1-based
    gold_line: int
    parse_line: int
    status: int  #: EVALB's: 0 valid, 1 error, 2 skipped
    length: int  #: EVALB's Len.
    parsed: int  #: 1 if valid
    matched: int
    gold: int
    test: int
    crossing: int
    words: int
    correct_tags: int


def compare_by_evalb(
    gold: str | Path,
    parses: Sequence[str | Path],
    parameters: EvalbParameters,
    tell: Callable[[str], None],
    encoding: str = "utf-8",
    tallies: Mapping[str, LabelTally] | None = None,
) -> Iterator[list[EvalbCounts]]:
    """Yield, for each gold line, its counts in each parse file.

    ``tell`` is called with EVALB's messages, after the file's name where there are several; ``tallies``
    (one by each name) are fed. Raises EvalbStopError, InputMismatchError, CorpusError (no lines), FileError.
    """
    names = distinct_names(parses)
    golds = tee(read_lines(gold, encoding), len(names))
    files = [
        evalb_scores(lines, path, parameters, _teller(tell, name, len(names)), encoding, same_length=True)
        for lines, path, name in zip(golds, parses, names, strict=True)
    ]
    for number, scores in enumerate(zip(*files, strict=True), start=1):
        rows = []
        for name, score in zip(names, scores, strict=True):
            rows.append(evalb_row(name, number, score))
            if tallies is not None and score.status == Status.VALID:
                tallies[name].add(score.gold_brackets, score.test_brackets, score.pairs)
        yield rows


def _teller(tell: Callable[[str], None], name: str, files: int) -> Callable[[str], None]:
    return tell if files == 1 else lambda message: tell(f"{name}: {message}")


def evalb_row(name: str, number: int, score: Score) -> EvalbCounts:
    """The counts of one score."""
    valid = score.status == Status.VALID
    counts = (score.matched, score.gold, score.test, score.crossing, score.words, score.correct_tags)
    return EvalbCounts(
        name,
        number,
        number,
        number,
        int(score.status),
        score.length,
        int(valid),
        *(counts if valid else [0] * len(counts)),
    )


def _sentences(name: str, heading: str, passes: Callable[[pd.DataFrame], Column]) -> Criterion:
    """The share of valid sentences that pass a test."""
    return Criterion(
        name,
        heading,
        lambda counts: (passes(counts) & (counts["parsed"] > 0)).astype(int),
        lambda counts: counts["parsed"],
    )


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
        lambda counts: counts["parsed"],
        percent=False,
        lower_is_better=True,
    ),
    _sentences("no_crossing", "no cross.", lambda counts: counts["crossing"] == 0),
    _sentences("two_or_less_crossing", "<=2 cross.", lambda counts: counts["crossing"] <= 2),
    ratio("tagging_accuracy", "tags", "correct_tags", "words"),
)
