"""The table of counts of any profile: its counter, and the columns that others add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.compared import Tally
from mbrparse.evaluate.counts import SentenceCounts, count_matches
from mbrparse.evaluate.criteria import CONSISTENT, Criterion
from mbrparse.evaluate.evalb.evalb_counts import EvalbCounts, count_as_evalb
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.leaf_ancestor import WordTally
from mbrparse.evaluate.profiles.profile_table import How
from mbrparse.evaluate.profiles.span_conventions import SpanConventions
from mbrparse.evaluate.profiles.span_counts import SpanCounts, count_spans
from mbrparse.evaluate.sources import TreeSource

if TYPE_CHECKING:
    import pandas as pd

Row: TypeAlias = SentenceCounts | EvalbCounts | SpanCounts


def counted_rows(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    how: How,
    tell: Callable[[str], None],
    tallies: Mapping[str, Sequence[Tally]],
) -> Iterator[Sequence[Row]]:
    """Yield, for each gold sentence, its counts in each parser's parses; ``tallies`` are fed by the way."""
    match how:
        case EvalbParameters():
            yield from count_as_evalb(gold, parses, how, tell, tallies)
        case SpanConventions():
            yield from count_spans(gold, parses, how, tallies, tell)
        case _:
            yield from count_matches(gold, parses, how, tallies, tell)


def warn_of_nary(counts: pd.DataFrame, criteria: Sequence[Criterion], tell: Callable[[str], None]) -> None:
    """Say so where consistent brackets are counted of n-ary trees: the fewer there are, the fewer cross."""
    # A binary tree over n terminals has at least n - 1 constituents.
    fewer = (counts["parsed"] > 0) & (counts["guess"] < counts["terminals"] - 1)
    names = counts["name"][fewer].unique().tolist()
    if names and any(criterion.name in CONSISTENT for criterion in criteria):
        tell(
            f"consistent-brackets rates compare binary trees: a bare root scores 100, and there are n-ary "
            f"trees in {', '.join(names)}"
        )


def add_words(counts: pd.DataFrame, words: Mapping[str, WordTally]) -> None:
    """The columns of criteria of words, for the parsers in their order."""
    counts["lineages"] = [alike for tally in words.values() for alike in tally.lineages]
    counts["correct_tags"] = [right for tally in words.values() for right in tally.correct_tags]


def add_fallbacks(
    counts: pd.DataFrame, fell_back: Mapping[str, Sequence[bool]], names: Sequence[str]
) -> None:
    """The column of what fell back; raises InputMismatchError where the sentences are more or fewer."""
    sentences = len(counts) // len(names)
    for name in names:
        if len(fell_back[name]) != sentences:
            raise InputMismatchError(
                f"the details of {name} are of {len(fell_back[name])} sentences, the gold holds {sentences}",
                remedy="give what parse --details wrote with these parses",
            )
    counts["fell_back"] = [int(fell) for name in names for fell in fell_back[name]]
