"""The table of counts of any profile: its counter, and the columns that others add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.columns import Columns
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


def warn_of_nary(counts: Columns, criteria: Sequence[Criterion], tell: Callable[[str], None]) -> None:
    """Say so where consistent brackets are counted of n-ary trees: the fewer there are, the fewer cross."""
    # A binary tree over n terminals has at least n - 1 constituents.
    fewer = (counts["parsed"] > 0) & (counts["guess"] < counts["terminals"] - 1)
    names = dict.fromkeys(counts["name"][fewer].tolist())
    if names and any(criterion.name in CONSISTENT for criterion in criteria):
        tell(
            f"consistent-brackets rates compare binary trees: a bare root scores 100, and there are n-ary "
            f"trees in {', '.join(names)}"
        )


def with_words(counts: Columns, words: Mapping[str, WordTally]) -> Columns:
    """The table with the columns of criteria of words, for the parsers in their order."""
    lineages = [alike for tally in words.values() for alike in tally.lineages]
    correct_tags = [right for tally in words.values() for right in tally.correct_tags]
    return counts.having("lineages", lineages).having("correct_tags", correct_tags)


def with_fallbacks(counts: Columns, fell_back: Mapping[str, Sequence[bool]], names: Sequence[str]) -> Columns:
    """The table with the column of what fell back.

    Raises InputMismatchError where the sentences are more or fewer.
    """
    sentences = len(counts) // len(names)
    for name in names:
        if len(fell_back[name]) != sentences:
            raise InputMismatchError(
                f"the details of {name} are of {len(fell_back[name])} sentences, the gold holds {sentences}",
                remedy="give what parse --details wrote with these parses",
            )
    return counts.having("fell_back", [int(fell) for name in names for fell in fell_back[name]])
