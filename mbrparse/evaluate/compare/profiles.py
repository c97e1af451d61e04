"""Which spans of a tree count, without their labels: the choices of evaluations of unsupervised parsing.

Conventions: positions are those of the words that count, 0-based and half-open. An empty outer bracket
is no constituent (NLTK's reader takes it off the Penn Treebank's trees); TOP, ROOT and the like are.

Spans without labels, counted sentence by sentence, and the figures that published scripts make of them.

Conventions. A sentence whose gold and parse both have no span that counts is right: precision, recall
and F are 1; where only the gold has none, recall is 1 and F is 0. (The scripts add 1e-8 to denominators,
which the seventh digit shows; here nothing is added.) Sentences left out for their length have zeros in
all columns. A sentence without a parse has no span that matches, and no rate above zero.

The leaf-ancestor metric: similarity of the paths from each word up to the root (Sampson & Babarczy 2003).

A word's lineage is the labels of the constituents around it, from the innermost, with two boundaries: one
before the highest constituent that begins with the word, one behind the highest that ends with it. Two
lineages are alike by 1 - d / (their lengths together), where d is the least cost of making one of the other:
1 for an insertion or deletion, 2 for a replacement, or 1/2 where two labels begin with the same character.
The rate is the mean over all words; a sentence without a parse has lineages that are like nothing.

Conventions: of n-ary trees (continuations are left out); terminals' tags belong to no lineage.

The profiles: what each published evaluation counts, one row each, and the table of counts of any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mbrparse.arguments import checked
from mbrparse.errors import CorpusError, MbrparseError
from mbrparse.evaluate import align, counts, criteria
from mbrparse.evaluate.criteria import COVERAGE, MORE, PAPER, Column, Counts, Criterion, f_score, ratio
from mbrparse.evaluate.evalb.parameters import COLLINS, SPMRL, EvalbParameters
from mbrparse.evaluate.evalb.summary import EVALB, EVALB_COVERAGE, count_as_evalb
from mbrparse.treebank.outlines import outline
from mbrparse.treebank.tree import Tree

Words = Literal["penn", "all"]
Whole = Literal["no", "below-root", "yes"]

#: The tags of words in the published scripts. All else goes: punctuation, $ and #, traces, NN|JJ.
# fmt: off
PENN_WORD_TAGS = frozenset({
    "CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN", "NNS", "NNP", "NNPS", "PDT",
    "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG", "VBN", "VBP",
    "VBZ", "WDT", "WP", "WP$", "WRB",
})
# fmt: on


@checked
@dataclass(frozen=True, slots=True)
class SpanConventions:
    """What counts. Trees are in original form; a parse loses the terminals that the gold's tags take out."""

    words: Words = "penn"  #: the terminals that count: by ``PENN_WORD_TAGS``, or all
    whole: Whole = "no"  #: spans of the whole sentence: none, all but the root's own, or all
    one_word: bool = False  #: spans of one word
    duplicates: bool = False  #: each constituent of a span counts, or only the span
    deleted: frozenset[str] = frozenset()  #: labels (up to - or =) of constituents that do not count
    bare_word: bool = False  #: a parse that is nothing but one word counts as a constituent
    shortest: int = 1  #: sentences of fewer words are left out
    longest: int | None = None  #: and those of more

    def signature(self) -> dict[str, object]:
        """The part of a table's signature that this decides."""
        said = {name.replace("_", "-"): value for name, value in asdict(self).items() if value is not None}
        return {"form": "original", **said, "deleted": sorted(self.deleted), "average": "by-criterion"}

    def kept(self, leaves: Sequence[Tree]) -> list[bool]:
        """Which of a gold tree's terminals count."""
        return [self.words == "all" or leaf.label in PENN_WORD_TAGS for leaf in leaves]

    def takes(self, words: int) -> bool:
        """Whether a sentence with this number of words counts."""
        return max(self.shortest, 1) <= words and (self.longest is None or words <= self.longest)

    def brackets(self, tree: Tree, kept: Sequence[bool]) -> counts.Brackets:
        """The constituents of a tree that count, parents before children.

        Of constituents over one span that count once, the topmost is there, with the different labels of
        all, and blanks between.

        >>> from mbrparse.treebank.brackets import read_tree
        >>> tree = read_tree("(S (NP (NN x)) (VP (VB y) (NP (NP (NN z) (NN z)))) (. .))")
        >>> kept = [True, True, True, True, False]
        >>> SpanConventions().brackets(tree, kept)
        Brackets(spans=[(1, 4), (2, 4)], labels=['VP', 'NP'])
        >>> SpanConventions().brackets(read_tree("(S (NP (QP (CD a) (CD b))) (VB c))"), [True] * 3).labels
        ['NP QP']
        >>> SpanConventions(whole="yes", one_word=True, duplicates=True).brackets(tree, kept).spans
        [(0, 4), (0, 1), (1, 4), (2, 4), (2, 4)]
        """
        read = outline(tree, wrappers={""})
        place = list(accumulate(kept, initial=0))  # of each terminal among the words that count
        everything = (0, place[-1])
        spans, labels = list[tuple[int, int]](), list[str]()
        seen = dict[tuple[int, int], int]()
        for number, ((start, end), label) in enumerate(zip(read.spans, read.labels, strict=True)):
            span = place[start], place[end]
            width = span[1] - span[0]
            if width == 0 or (width == 1 and not self.one_word):
                continue
            if span == everything and (self.whole == "no" or (self.whole == "below-root" and number == 0)):
                continue
            if self.deleted and re.split("[-=]", label, maxsplit=1)[0] in self.deleted:
                continue
            if span in seen and not self.duplicates:
                there = labels[seen[span]].split(" ")
                labels[seen[span]] = " ".join(dict.fromkeys([*there, label]))
                continue
            seen[span] = len(spans)
            spans.append(span)
            labels.append(label)
        return counts.Brackets(spans, labels)


class SpanCounts(NamedTuple):
    """One row of the table: a sentence of one parser."""

    name: str  #: of the parses
    sentence: int  #: 1-based
    gold_line: int
    parse_line: int
    terminals: int  #: that count
    counted: int  #: 0 where the sentence is left out for its length, else 1
    parsed: int  #: 0 for an empty parse and where the sentence is left out, else 1
    gold: int  #: spans of the gold tree
    guess: int  #: spans of the parse
    matched: int


def count_spans(
    gold: align.TreeSource,
    parses: Sequence[align.TreeSource],
    how: SpanConventions,
    tallies: Mapping[str, Sequence[counts.Tally]] | None,
) -> Iterator[list[SpanCounts]]:
    """Yield, for each gold sentence, its counts in each parser's parses.

    ``tallies`` (by each name) get the gold's and the parses' labels of spans that match without
    them. Raises as ``count_matches`` does, and CorpusError where no sentence counts.
    """
    alignment = align.Alignment(gold, parses, counts.trees_in("original"))
    counted = 0
    for number, line, correct_tree in alignment.gold_trees():
        leaves = correct_tree.leaves()
        kept = how.kept(leaves)
        words = sum(kept)
        takes = how.takes(words)
        counted += takes
        correct = how.brackets(correct_tree, kept)
        tags = [leaf.label for leaf, keeps in zip(leaves, kept, strict=True) if keeps]
        rows = []
        for source, parse in zip(parses, alignment.parses(leaves), strict=True):
            guess = counts.Brackets([], []) if parse.tree is None else how.brackets(parse.tree, kept)
            if how.bare_word and parse.tree is not None and parse.tree.is_leaf and words:
                guess = counts.Brackets([(0, 1)], [""])
            pairs = counts.equal_places(correct.spans, guess.spans)
            parsed = takes and parse.tree is not None
            sizes = [takes * len(each) for each in (correct.spans, guess.spans, pairs)]
            places = (source.name, number, line, parse.line)
            rows.append(SpanCounts(*places, words, int(takes), int(parsed), *sizes))
            for tally in tallies[source.name] if tallies is not None and takes else ():
                tally.add(counts.ComparedTrees(correct, guess, pairs, tags))
        yield rows
    if not counted:
        raise CorpusError(
            f"no sentence counts ({', '.join(f'{key} {value}' for key, value in how.signature().items())})",
            source=gold.source,
            remedy="keep punctuation if the tags are not the Penn Treebank's",
        )


def _mean(name: str, heading: str, rate: Callable[[Counts], Column]) -> Criterion:
    """The mean of a rate of the sentences that count."""
    return Criterion(name, heading, lambda table: np.where(table["parsed"] > 0, rate(table), 0.0), _counted)


def _counted(table: Counts) -> Column:
    return table["counted"]


def _quotient(above: Column, below: Column, otherwise: Column | float) -> Column:
    return np.where(below > 0, above / np.where(below > 0, below, 1), otherwise)


def _precision(table: Counts) -> Column:
    nothing_to_find = (table["gold"] == 0).astype(float)
    return _quotient(table["matched"], table["guess"], nothing_to_find)


def _recall(table: Counts) -> Column:
    return _quotient(table["matched"], table["gold"], 1.0)


def _f(table: Counts) -> Column:
    return _quotient(2 * table["matched"], table["gold"] + table["guess"], 1.0)


def _with_whole(column: str) -> Callable[[Counts], Column]:
    """A count with one span more in each tree of two words at least: the whole sentence."""
    there = "counted" if column == "gold" else "parsed"
    return lambda table: table[column] + ((table["terminals"] > 1) & (table[there] > 0))


SENTENCE = (
    _mean("sentence_f", "sent. F", _f),
    _mean("sentence_precision", "sent. prec.", _precision),
    _mean("sentence_recall", "sent. recall", _recall),
)
CORPUS = (
    f_score("corpus_f", "corpus F", "matched"),
    ratio("corpus_precision", "corpus prec.", "matched", "guess"),
    ratio("corpus_recall", "corpus recall", "matched", "gold"),
)
COMPLETE = replace(
    criteria.tree("complete_match", "complete", criteria.exact("matched")), denominator=_counted
)

_matched, _gold, _guess = _with_whole("matched"), _with_whole("gold"), _with_whole("guess")
#: EVALB's figures of the same spans and the whole sentences.
WHOLE = (
    Criterion(
        "whole_f", "EVALB F", lambda table: 2 * _matched(table), lambda table: _gold(table) + _guess(table)
    ),
    Criterion("whole_precision", "EVALB prec.", _matched, _guess),
    Criterion("whole_recall", "EVALB recall", _matched, _gold),
)


#: The share of the sentences that count that have a parse.
SPAN_COVERAGE = replace(COVERAGE, denominator=_counted)
#: The share of sentences that count.
COMPARED = Criterion("compared", "compared", _counted, COVERAGE.denominator, context=True)


#: No label: labels are strings of at least no characters.
_BEGINS, _ENDS = 0, 1
Lineage = tuple[str | int, ...]


class WordTally:
    """Sums over the words of each sentence of one parser: similarity of lineages, and tags that are right."""

    def __init__(self) -> None:
        self.lineages: list[float] = []
        self.correct_tags: list[int] = []

    def add(self, trees: counts.ComparedTrees) -> None:
        """Add a sentence."""
        trees = counts.debinarized(trees)
        words = len(trees.gold_tags)
        alike = 0.0
        if trees.guess_tags:
            alike = sum(map(similarity, lineages(trees.gold, words), lineages(trees.guess, words)))
        self.lineages.append(alike)
        self.correct_tags.append(sum(map(str.__eq__, trees.gold_tags, trees.guess_tags)))


def lineages(tree: counts.Brackets, words: int) -> list[Lineage]:
    """The lineage of each word.

    >>> tree = counts.Brackets([(0, 5), (0, 3), (1, 3)], ["S", "N1", "N1"])
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


How: TypeAlias = counts.Comparison | EvalbParameters | SpanConventions


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
    everything = (*SENTENCE, *CORPUS, COMPLETE)
    more = tuple(criterion for criterion in everything if criterion not in criteria)
    return Profile(name, source, how, criteria, more, (COMPARED, SPAN_COVERAGE))


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("goodman", "Goodman 1996, section 2", counts.PAPER_FORM, PAPER, MORE, further=OF_WORDS),
        Profile("evalb", "EVALB 2013, COLLINS.prm", COLLINS, EVALB, (), (EVALB_COVERAGE,)),
        Profile("spmrl", "evalb_spmrl2013, spmrl.prm, -X", SPMRL, EVALB, (), (EVALB_COVERAGE,)),
        _of_spans(
            "prpn",
            "yikangshen/PRPN 42212fb, test_phrase_grammar.py and data_ptb.py",
            SpanConventions(longest=10),
            SENTENCE,
        ),
        _of_spans(
            "on-lstm",
            "yikangshen/Ordered-Neurons 46d63cd, test_phrase_grammar.py, data_ptb.py and utils.py",
            SpanConventions(),
            (*SENTENCE, *WHOLE),
        ),
        _of_spans(
            "diora",
            "iesl/diora 110b9b0, pytorch/diora/scripts/evalb.py and EVALB/diora.prm",
            SpanConventions(
                whole="yes", one_word=True, duplicates=True, deleted=_DIORA_DELETED, bare_word=True
            ),
            (*CORPUS, COMPLETE),
        ),
        _of_spans(
            "compound-pcfg",
            "harvardnlp/compound-pcfg 4af1eb0, compare_trees.py, utils.py and process_ptb.py",
            SpanConventions(whole="below-root", shortest=2, longest=150),
            (CORPUS[0], SENTENCE[0]),
        ),
    )
}


def check_sides(sides: align.Sides, how: How) -> None:
    """Warn of what counts where trees are compared as they are, and likely should not (``Sides.check``)."""
    if isinstance(how, EvalbParameters):
        sides.check(lambda label: how.bracket_label(label) is not None, binarized=True)
    elif isinstance(how, SpanConventions):
        counted = how.whole != "no"  # but for an empty bracket
        sides.check(lambda label: bool(label) and counted and label not in how.deleted, binarized=False)


def counted_rows(
    gold: align.TreeSource,
    parses: Sequence[align.TreeSource],
    how: How,
    log: Callable[[str], None],
    tallies: Mapping[str, Sequence[counts.Tally]],
) -> Iterator[Sequence[NamedTuple]]:
    """Yield, for each gold sentence, its counts in each parser's parses.

    ``log`` is called with EVALB's messages, ``tallies`` get the trees.
    """
    if isinstance(how, EvalbParameters):
        return count_as_evalb(gold, parses, how, log, tallies)
    if isinstance(how, SpanConventions):
        return count_spans(gold, parses, how, tallies)
    return counts.count_matches(gold, parses, how, tallies)
