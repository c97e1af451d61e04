"""One evaluation, from trees to results: counts, their summary, significance, and breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.breakdowns import Breakdown, By, break_down, render_breakdowns
from mbrparse.evaluate.counts import SentenceCounts, count_matches, counts_table
from mbrparse.evaluate.criteria import CONSISTENT, Average, Criterion
from mbrparse.evaluate.evalb.evalb_counts import EvalbCounts, count_as_evalb
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.gold import Comparison
from mbrparse.evaluate.label_tally import LabelTally
from mbrparse.evaluate.significance import Significance, significance
from mbrparse.evaluate.sources import TreeSource, gold_file, parse_files
from mbrparse.evaluate.tables import Format, Summary, render, summarize

if TYPE_CHECKING:
    import pandas as pd

Rows: TypeAlias = Iterable[Sequence[SentenceCounts | EvalbCounts]]


@dataclass(frozen=True)
class Settings:
    """How trees are compared, and what is made of it.

    With several parsers and ``resamples``, differences between them are tested. Raises
    MbrparseError at values that mean nothing.
    """

    how: Comparison | EvalbParameters
    criteria: tuple[Criterion, ...]
    average: Average = "pooled"
    by: By | None = None
    baseline: str | None = None  #: default: the first of the parsers
    resamples: int | None = None  #: default: see ``default_resamples``
    seed: int = 0

    def __post_init__(self) -> None:
        if self.average not in get_args(Average):
            raise MbrparseError(f"no average is called {self.average!r}", remedy="pooled or sentence")
        if self.by not in (None, *get_args(By)):
            raise MbrparseError(f"no breakdown by {self.by!r}", remedy=f"by one of {', '.join(get_args(By))}")
        if self.seed < 0 or (self.resamples or 0) < 0:
            raise MbrparseError("resamples and seed are not negative", remedy="resamples=0 tests nothing")


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation:
    """What came out of a comparison; it prints as the command line's table.

    ``counts`` is the table of counts (a row for each sentence and parser, parser after parser; see
    ``SentenceCounts`` and ``EvalbCounts``), from which all else is made.
    """

    counts: pd.DataFrame
    summary: Summary
    breakdowns: list[Breakdown]  #: none unless asked for with ``by``

    @property
    def frame(self) -> pd.DataFrame:
        """The rates, 0 to 1: a row for each parser, a column for each criterion, coverage among them."""
        return self.summary.rates.copy()

    def render(self, format: Format = "text") -> str:
        """The table, or the breakdown that was asked for, in one of the formats, with its last line end."""
        if self.breakdowns:
            return render_breakdowns(self.breakdowns, self.summary.signature, format)
        return render(self.summary, format)

    def __str__(self) -> str:
        return self.render().removesuffix("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.render("html")


def evaluate(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    settings: Settings,
    tell: Callable[[str], None],
    progress: Callable[[Rows], Rows] = lambda rows: rows,
) -> Evaluation:
    """Compare trees; ``tell`` hears what a user should know (EVALB's messages, one line each), ``progress``
    may watch the rows go by.

    Raises MbrparseError where the trees (or the baseline's name) do not allow it.
    """
    names = [source.name for source in parses]
    if not names:
        raise MbrparseError("no parses to compare", remedy="give those of one parser at least")
    baseline = names[0] if settings.baseline is None else settings.baseline
    if baseline not in names:
        raise MbrparseError(
            f"no parses are called {baseline!r}", remedy=f"the baseline is one of {', '.join(names)}"
        )
    tallies = {name: LabelTally() for name in names} if settings.by in ("label", "confusions") else {}
    counts = counts_table(progress(_rows(gold, parses, settings, tell, tallies)))
    if not isinstance(settings.how, EvalbParameters):
        _warn_of_nary(counts, settings, tell)
    tested: Significance | None = None
    resamples = settings.resamples
    if resamples is None:
        resamples = default_resamples(len(counts) // len(names))
    if len(names) > 1 and resamples and settings.by is None:
        tested = significance(counts, settings.criteria, settings.average, baseline, resamples, settings.seed)
    summary = summarize(counts, gold.name, settings.how, settings.criteria, settings.average, tested)
    breakdowns = []
    if settings.by is not None:
        breakdowns = break_down(settings.by, counts, settings.criteria, settings.average, tallies)
    return Evaluation(counts, summary, breakdowns)


def evaluate_files(
    gold: str | Path,
    parses: Sequence[str | Path],
    settings: Settings,
    tell: Callable[[str], None],
    progress: Callable[[Rows], Rows] = lambda rows: rows,
    encoding: str = "utf-8",
) -> Evaluation:
    """Compare parse files with a gold file; see ``evaluate``."""
    return evaluate(gold_file(gold, encoding), parse_files(parses, encoding), settings, tell, progress)


def default_resamples(sentences: int) -> int:
    """10,000, but 1,000 where sentences are so many that p-values are clear, and resampling slow."""
    return 10_000 if sentences <= 10_000 else 1_000


def _warn_of_nary(counts: pd.DataFrame, settings: Settings, tell: Callable[[str], None]) -> None:
    """Say so where consistent brackets are counted of n-ary trees: the fewer there are, the fewer cross."""
    shown = settings.by in (None, "length") and any(c.name in CONSISTENT for c in settings.criteria)
    # A binary tree over n terminals has at least n - 1 constituents.
    fewer = (counts["parsed"] > 0) & (counts["guess"] < counts["terminals"] - 1)
    names = counts["name"][fewer].unique().tolist()
    if shown and names:
        tell(
            f"consistent-brackets rates compare binary trees: a bare root scores 100, and there are n-ary "
            f"trees in {', '.join(names)}"
        )


def _rows(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    settings: Settings,
    tell: Callable[[str], None],
    tallies: dict[str, LabelTally],
) -> Iterator[Sequence[SentenceCounts | EvalbCounts]]:
    if isinstance(settings.how, EvalbParameters):
        yield from count_as_evalb(gold, parses, settings.how, tell, tallies or None)
    else:
        yield from count_matches(gold, parses, settings.how, tallies or None, tell)
