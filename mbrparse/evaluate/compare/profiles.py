"""The leaf-ancestor metric: similarity of the paths from each word up to the root (Sampson & Babarczy 2003).

A word's lineage is the labels of the constituents around it, from the innermost, with two boundaries: one
before the highest constituent that begins with the word, one behind the highest that ends with it. Two
lineages are alike by 1 - d / (their lengths together), where d is the least cost of making one of the other:
1 for an insertion or deletion, 2 for a replacement, or 1/2 where two labels begin with the same character.
The rate is the mean over all words; a sentence without a parse has lineages that are like nothing.

Conventions: of n-ary trees (continuations are left out); terminals' tags belong to no lineage.

The profiles: what each published evaluation counts, one row each, and the table of counts of any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from mbrparse.errors import InputMismatchError, MbrparseError
from mbrparse.evaluate.align import TreeSource
from mbrparse.evaluate.compare import spans
from mbrparse.evaluate.compare.spans import SpanConventions
from mbrparse.evaluate.counts import (
    PAPER_FORM,
    Brackets,
    ComparedTrees,
    Comparison,
    SentenceCounts,
    Tally,
    count_matches,
    debinarized,
)
from mbrparse.evaluate.criteria import CONSISTENT, COVERAGE, MORE, PAPER, Criterion, ratio
from mbrparse.evaluate.evalb.parameters import COLLINS, SPMRL, EvalbParameters
from mbrparse.evaluate.evalb.summary import EVALB, EVALB_COVERAGE, EvalbCounts, count_as_evalb

if TYPE_CHECKING:
    import pandas as pd

#: No label: labels are strings of at least no characters.
_BEGINS, _ENDS = 0, 1
Lineage = tuple[str | int, ...]


class WordTally:
    """Sums over the words of each sentence of one parser: similarity of lineages, and tags that are right."""

    def __init__(self) -> None:
        self.lineages: list[float] = []
        self.correct_tags: list[int] = []

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        trees = debinarized(trees)
        words = len(trees.gold_tags)
        alike = 0.0
        if trees.guess_tags:
            alike = sum(map(similarity, lineages(trees.gold, words), lineages(trees.guess, words)))
        self.lineages.append(alike)
        self.correct_tags.append(sum(map(str.__eq__, trees.gold_tags, trees.guess_tags)))


def lineages(tree: Brackets, words: int) -> list[Lineage]:
    """The lineage of each word.

    >>> tree = Brackets([(0, 5), (0, 3), (1, 3)], ["S", "N1", "N1"])
    >>> for lineage in lineages(tree, 5):
    ...     print(*("[" if part == 0 else "]" if part == 1 else part for part in lineage))
    N1 [ S
    [ N1 N1 S
    N1 N1 ] S
    S
    S ]
    """
    down: list[list[str | int]] = [[] for _ in range(words)]
    begun: set[int] = set()
    ended: set[int] = set()
    for (start, end), label in zip(tree.spans, tree.labels, strict=True):  # from the root down
        for position in range(start, end):
            lineage = down[position]
            if position == end - 1 and position not in ended:
                ended.add(position)
                lineage.append(_ENDS)
            lineage.append(label)
            if position == start and position not in begun:
                begun.add(position)
                lineage.append(_BEGINS)
    return [tuple(reversed(lineage)) for lineage in down]


@lru_cache(maxsize=2**16)
def similarity(one: Lineage, other: Lineage) -> float:
    """From 0 to 1; lineages without any part are alike.

    >>> similarity(("NP", "S"), ("VP", "S")), similarity((), ())
    (0.5, 1.0)
    """
    if one == other:
        return 1.0
    row = [float(place) for place in range(len(other) + 1)]  # costs of what came of ``one``
    for part in one:
        before, row[0] = row[0], row[0] + 1
        for place, against in enumerate(other, start=1):
            above = row[place]
            row[place] = min(above + 1, row[place - 1] + 1, before + _replacement(part, against))
            before = above
    return 1 - row[-1] / (len(one) + len(other))


def _replacement(one: str | int, other: str | int) -> float:
    if one == other:
        return 0
    related = isinstance(one, str) and isinstance(other, str) and one[:1] == other[:1]
    return 0.5 if related else 2


LEAF_ANCESTOR = ratio("leaf_ancestor", "leaf anc.", "lineages", "terminals")
TAGGING = ratio("tagging_accuracy", "tags", "correct_tags", "terminals")

#: Criteria of words, which need columns of their own in the table of counts.
OF_WORDS: tuple[Criterion, ...] = (LEAF_ANCESTOR, TAGGING)


How: TypeAlias = Comparison | EvalbParameters | SpanConventions


@dataclass(frozen=True)
class Profile:
    """A way of counting: what counts, and the criteria."""

    name: str
    source: str  #: the code or paper that it was read from
    how: How
    criteria: tuple[Criterion, ...]  #: as the source prints them, the main one first
    more: tuple[Criterion, ...] = ()  #: what ``--all`` adds
    context: tuple[Criterion, ...] = (COVERAGE,)
    further: tuple[Criterion, ...] = ()  #: what is there only by name

    def shown(self, everything: bool = False) -> tuple[Criterion, ...]:
        """The columns of its table."""
        return (*self.criteria, *(self.more if everything else ()), *self.context)

    def called(self, name: str) -> Criterion:
        """A criterion by its name; raises MbrparseError where it is not there."""
        known = {one.name: one for one in (*self.shown(everything=True), *self.further)}
        if name not in known:
            raise MbrparseError(f"no criterion is called {name!r}", remedy=f"there are {', '.join(known)}")
        return known[name]

    def with_punctuation(self) -> Profile:
        """The profile with every terminal a word; raises MbrparseError where tags decide nothing."""
        if not isinstance(self.how, SpanConventions):
            raise MbrparseError(f"the profile {self.name} leaves no word out by the gold's tags")
        return replace(self, how=replace(self.how, words="all"))


#: diora.prm: what EVALB deletes; terminals with these tags are no words in the first place.
_DIORA_DELETED = frozenset({"ROOT", "S1", "-NONE-", ",", ":", "``", "''", ".", "?", "!"})


def _of_spans(name: str, source: str, how: SpanConventions, criteria: tuple[Criterion, ...]) -> Profile:
    everything = (*spans.SENTENCE, *spans.CORPUS, spans.COMPLETE)
    more = tuple(criterion for criterion in everything if criterion not in criteria)
    return Profile(name, source, how, criteria, more, (spans.COMPARED, spans.SPAN_COVERAGE))


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("goodman", "Goodman 1996, section 2", PAPER_FORM, PAPER, MORE, further=OF_WORDS),
        Profile("evalb", "EVALB 2013, COLLINS.prm", COLLINS, EVALB, (), (EVALB_COVERAGE,)),
        Profile("spmrl", "evalb_spmrl2013, spmrl.prm, -X", SPMRL, EVALB, (), (EVALB_COVERAGE,)),
        _of_spans(
            "prpn",
            "yikangshen/PRPN 42212fb, test_phrase_grammar.py and data_ptb.py",
            SpanConventions(longest=10),
            spans.SENTENCE,
        ),
        _of_spans(
            "on-lstm",
            "yikangshen/Ordered-Neurons 46d63cd, test_phrase_grammar.py, data_ptb.py and utils.py",
            SpanConventions(),
            (*spans.SENTENCE, *spans.WHOLE),
        ),
        _of_spans(
            "diora",
            "iesl/diora 110b9b0, pytorch/diora/scripts/evalb.py and EVALB/diora.prm",
            SpanConventions(
                whole="yes", one_word=True, duplicates=True, deleted=_DIORA_DELETED, bare_word=True
            ),
            (*spans.CORPUS, spans.COMPLETE),
        ),
        _of_spans(
            "compound-pcfg",
            "harvardnlp/compound-pcfg 4af1eb0, compare_trees.py, utils.py and process_ptb.py",
            SpanConventions(whole="below-root", shortest=2, longest=150),
            (spans.CORPUS_F, spans.SENTENCE_F),
        ),
    )
}


def chosen_profile(
    profile: Profile | str | None, comparison: Comparison = PAPER_FORM, evalb: EvalbParameters | None = None
) -> Profile:
    """The profile of this name; without one Goodman's (in that form), or EVALB's by its parameters.

    Raises MbrparseError where the arguments do not go together.
    """
    if evalb is not None and (profile is not None or comparison != PAPER_FORM):
        raise MbrparseError("a profile, form, unaries and crossing_reference mean nothing with evalb")
    if evalb is not None:
        return replace(PROFILES["evalb"], how=evalb)
    if not isinstance(profile, Profile):
        name = profile or "goodman"
        if name not in PROFILES:
            raise MbrparseError(f"no profile is called {name!r}", remedy=f"there are {', '.join(PROFILES)}")
        profile = PROFILES[name]
    if comparison == PAPER_FORM:
        return profile
    if not isinstance(profile.how, Comparison):
        raise MbrparseError(
            f"form, unaries and crossing_reference mean nothing with the profile {profile.name}",
            remedy="they are goodman's",
        )
    return replace(profile, how=comparison)


Row: TypeAlias = SentenceCounts | EvalbCounts | spans.SpanCounts


def counted_rows(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    how: How,
    log: Callable[[str], None],
    tallies: Mapping[str, Sequence[Tally]],
) -> Iterator[Sequence[Row]]:
    """Yield, for each gold sentence, its counts in each parser's parses; ``tallies`` get the trees."""
    match how:
        case EvalbParameters():
            yield from count_as_evalb(gold, parses, how, log, tallies)
        case SpanConventions():
            yield from spans.count_spans(gold, parses, how, tallies, log)
        case _:
            yield from count_matches(gold, parses, how, tallies, log)


def warn_of_nary(counts: pd.DataFrame, criteria: Sequence[Criterion], log: Callable[[str], None]) -> None:
    """Say so where consistent brackets are counted of n-ary trees: the fewer there are, the fewer cross."""
    # A binary tree over n terminals has at least n - 1 constituents.
    fewer = (counts["parsed"] > 0) & (counts["guess"] < counts["terminals"] - 1)
    names = dict.fromkeys(counts["name"][fewer].tolist())
    if names and any(criterion.name in CONSISTENT for criterion in criteria):
        log(
            f"consistent-brackets rates compare binary trees: a bare root scores 100, and there are n-ary "
            f"trees in {', '.join(names)}"
        )


def with_words(counts: pd.DataFrame, words: Mapping[str, WordTally]) -> pd.DataFrame:
    """The table with the columns of criteria of words, for the parsers in their order."""
    lineages = [alike for tally in words.values() for alike in tally.lineages]
    correct_tags = [right for tally in words.values() for right in tally.correct_tags]
    return counts.assign(lineages=lineages, correct_tags=correct_tags)


def with_fallbacks(
    counts: pd.DataFrame, fell_back: Mapping[str, Sequence[bool]], names: Sequence[str]
) -> pd.DataFrame:
    """The table with a column of the sentences that fell back.

    Raises InputMismatchError where the sentences are more or fewer.
    """
    sentences = len(counts) // len(names)
    for name in names:
        if len(fell_back[name]) != sentences:
            raise InputMismatchError(
                f"the details of {name} are of {len(fell_back[name])} sentences, the gold holds {sentences}",
                remedy="give what parse --details wrote with these parses",
            )
    return counts.assign(fell_back=[int(fell) for name in names for fell in fell_back[name]])
