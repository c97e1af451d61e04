"""The profiles: what each published evaluation counts, one row each, and the table of counts of any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from mbrparse.errors import InputMismatchError, MbrparseError
from mbrparse.evaluate.evalb.evalb_counts import EVALB, EVALB_COVERAGE, EvalbCounts, count_as_evalb
from mbrparse.evaluate.evalb.parameters import COLLINS, SPMRL, EvalbParameters
from mbrparse.evaluate.profiles import span_counts
from mbrparse.evaluate.profiles.counts import SentenceCounts, count_matches
from mbrparse.evaluate.profiles.leaf_ancestor import OF_WORDS, WordTally
from mbrparse.evaluate.profiles.span_conventions import SpanConventions
from mbrparse.evaluate.tables.count_table import Columns
from mbrparse.evaluate.tables.criteria import CONSISTENT, COVERAGE, MORE, PAPER, Criterion
from mbrparse.evaluate.trees.gold import PAPER_FORM, Comparison, Tally
from mbrparse.evaluate.trees.sources import TreeSource

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
    everything = (*span_counts.SENTENCE, *span_counts.CORPUS, span_counts.COMPLETE)
    more = tuple(criterion for criterion in everything if criterion not in criteria)
    return Profile(name, source, how, criteria, more, (span_counts.COMPARED, span_counts.SPAN_COVERAGE))


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
            span_counts.SENTENCE,
        ),
        _of_spans(
            "on-lstm",
            "yikangshen/Ordered-Neurons 46d63cd, test_phrase_grammar.py, data_ptb.py and utils.py",
            SpanConventions(),
            (*span_counts.SENTENCE, *span_counts.WHOLE),
        ),
        _of_spans(
            "diora",
            "iesl/diora 110b9b0, pytorch/diora/scripts/evalb.py and EVALB/diora.prm",
            SpanConventions(
                whole="yes", one_word=True, duplicates=True, deleted=_DIORA_DELETED, bare_word=True
            ),
            (*span_counts.CORPUS, span_counts.COMPLETE),
        ),
        _of_spans(
            "compound-pcfg",
            "harvardnlp/compound-pcfg 4af1eb0, compare_trees.py, utils.py and process_ptb.py",
            SpanConventions(whole="below-root", shortest=2, longest=150),
            (span_counts.CORPUS_F, span_counts.SENTENCE_F),
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


Row: TypeAlias = SentenceCounts | EvalbCounts | span_counts.SpanCounts


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
            yield from span_counts.count_spans(gold, parses, how, tallies, log)
        case _:
            yield from count_matches(gold, parses, how, tallies, log)


def warn_of_nary(counts: Columns, criteria: Sequence[Criterion], log: Callable[[str], None]) -> None:
    """Say so where consistent brackets are counted of n-ary trees: the fewer there are, the fewer cross."""
    # A binary tree over n terminals has at least n - 1 constituents.
    fewer = (counts["parsed"] > 0) & (counts["guess"] < counts["terminals"] - 1)
    names = dict.fromkeys(counts["name"][fewer].tolist())
    if names and any(criterion.name in CONSISTENT for criterion in criteria):
        log(
            f"consistent-brackets rates compare binary trees: a bare root scores 100, and there are n-ary "
            f"trees in {', '.join(names)}"
        )


def with_words(counts: Columns, words: Mapping[str, WordTally]) -> Columns:
    """The table with the columns of criteria of words, for the parsers in their order."""
    lineages = [alike for tally in words.values() for alike in tally.lineages]
    correct_tags = [right for tally in words.values() for right in tally.correct_tags]
    return counts.having("lineages", lineages).having("correct_tags", correct_tags)


def with_fallbacks(counts: Columns, fell_back: Mapping[str, Sequence[bool]], names: Sequence[str]) -> Columns:
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
    return counts.having("fell_back", [int(fell) for name in names for fell in fell_back[name]])
