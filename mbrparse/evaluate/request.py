"""One evaluation from files to results: counts, their summary, significance, and breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.breakdowns import Breakdown, By, break_down
from mbrparse.evaluate.counts import SentenceCounts, compare_files, counts_table
from mbrparse.evaluate.criteria import Average, Criterion
from mbrparse.evaluate.evalb.evalb_counts import EvalbCounts, compare_by_evalb
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.gold import Comparison
from mbrparse.evaluate.label_tally import LabelTally
from mbrparse.evaluate.names import distinct_names
from mbrparse.evaluate.significance import Significance, significance
from mbrparse.evaluate.tables import Summary, summarize

if TYPE_CHECKING:
    import pandas as pd

Rows: TypeAlias = Iterable[Sequence[SentenceCounts | EvalbCounts]]


@dataclass(frozen=True)
class Request:
    """What is to be compared, and how. With several parse files and ``resamples``, they are tested."""

    gold: str
    parses: tuple[str, ...]
    how: Comparison | EvalbParameters
    criteria: tuple[Criterion, ...]
    average: Average = "pooled"
    by: By | None = None
    baseline: str | None = None  #: default: the first parse file
    resamples: int | None = None  #: default: see ``default_resamples``
    seed: int = 0
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Result:
    """What came out of it."""

    counts: pd.DataFrame
    summary: Summary
    breakdowns: list[Breakdown]


def evaluate_files(
    request: Request,
    tell: Callable[[str], None],
    progress: Callable[[Rows], Rows] = lambda rows: rows,
) -> Result:
    """Compare files; ``tell`` is called with EVALB's messages, ``progress`` may watch the rows go by.

    Raises MbrparseError where the files (or the baseline's name) do not allow it.
    """
    names = distinct_names(request.parses)
    baseline = names[0] if request.baseline is None else request.baseline
    if baseline not in names:
        raise MbrparseError(
            f"no parse file is called {baseline!r}", remedy=f"--baseline is one of {', '.join(names)}"
        )
    tallies = {name: LabelTally() for name in names} if request.by in ("label", "confusions") else {}
    counts = counts_table(progress(_rows(request, tell, tallies)))
    tested: Significance | None = None
    resamples = request.resamples
    if resamples is None:
        resamples = default_resamples(len(counts) // len(names))
    if len(names) > 1 and resamples and request.by is None:
        tested = significance(counts, request.criteria, request.average, baseline, resamples, request.seed)
    summary = summarize(counts, request.gold, request.how, request.criteria, request.average, tested)
    breakdowns = []
    if request.by is not None:
        breakdowns = break_down(request.by, counts, request.criteria, request.average, tallies)
    return Result(counts, summary, breakdowns)


def default_resamples(sentences: int) -> int:
    """10,000, but 1,000 where sentences are so many that p-values are clear, and resampling slow."""
    return 10_000 if sentences <= 10_000 else 1_000


def _rows(
    request: Request, tell: Callable[[str], None], tallies: dict[str, LabelTally]
) -> Iterator[Sequence[SentenceCounts | EvalbCounts]]:
    files = request.gold, request.parses
    if isinstance(request.how, EvalbParameters):
        yield from compare_by_evalb(*files, request.how, tell, request.encoding, tallies or None)
    else:
        yield from compare_files(*files, request.how, request.encoding, tallies or None)
