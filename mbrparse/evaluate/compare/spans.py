"""Which spans of a tree count, without their labels: the choices of evaluations of unsupervised parsing.

Conventions: positions are those of the words that count, 0-based and half-open. An empty outer bracket
is no constituent (NLTK's reader takes it off the Penn Treebank's trees); TOP, ROOT and the like are.

Spans without labels, counted sentence by sentence, and the figures that published scripts make of them.

Conventions. A sentence whose gold and parse both have no span that counts is right: precision, recall
and F are 1; where only the gold has none, recall is 1 and F is 0. (The scripts add 1e-8 to denominators,
which the seventh digit shows; here nothing is added.) Sentences left out for their length have zeros in
all columns. A sentence without a parse has no span that matches, and no rate above zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from typing import Literal, NamedTuple, get_args

import numpy as np

from mbrparse.errors import CorpusError, MbrparseError
from mbrparse.evaluate.align import Alignment, TreeSource
from mbrparse.evaluate.counts import Brackets, ComparedTrees, Tally, equal_places, trees_in
from mbrparse.evaluate.criteria import COVERAGE, Column, Counts, Criterion, exact, f_score, ratio, tree
from mbrparse.log import Log
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


@dataclass(frozen=True, slots=True)
class SpanConventions:
    """What counts. Trees are in original form; a parse loses the terminals that the gold's tags take out.

    Raises MbrparseError at values that mean nothing.
    """

    words: Words = "penn"  #: the terminals that count: by ``PENN_WORD_TAGS``, or all
    whole: Whole = "no"  #: spans of the whole sentence: none, all but the root's own, or all
    one_word: bool = False  #: spans of one word
    duplicates: bool = False  #: each constituent of a span counts, or only the span
    deleted: frozenset[str] = frozenset()  #: labels (up to - or =) of constituents that do not count
    bare_word: bool = False  #: a parse that is nothing but one word counts as a constituent
    shortest: int = 1  #: sentences of fewer words are left out
    longest: int | None = None  #: and those of more

    def __post_init__(self) -> None:
        if self.words not in get_args(Words) or self.whole not in get_args(Whole):
            raise MbrparseError(
                f"words {self.words!r}, whole sentences {self.whole!r}",
                remedy="words are penn or all, whole sentences no, below-root or yes",
            )

    def signature(self) -> dict[str, object]:
        """The part of a table's signature that this decides."""
        said = {name.replace("_", "-"): value for name, value in asdict(self).items() if value is not None}
        return {"form": "original", **said, "deleted": sorted(self.deleted), "average": "by-criterion"}

    def kept(self, leaves: Sequence[Tree]) -> list[bool]:
        """Which of a gold tree's terminals count."""
        return [self.words == "all" or leaf.label in PENN_WORD_TAGS for leaf in leaves]

    def takes(self, words: int) -> bool:
        """Whether a sentence of so many words counts."""
        return max(self.shortest, 1) <= words and (self.longest is None or words <= self.longest)

    def brackets(self, tree: Tree, kept: Sequence[bool]) -> Brackets:
        """The constituents of a tree that count, parents before children.

        Of constituents over one span that count once, the topmost is there, for its label.

        >>> from mbrparse.treebank.brackets import read_tree
        >>> tree = read_tree("(S (NP (NN x)) (VP (VB y) (NP (NP (NN z) (NN z)))) (. .))")
        >>> kept = [True, True, True, True, False]
        >>> SpanConventions().brackets(tree, kept)
        Brackets(spans=[(1, 4), (2, 4)], labels=['VP', 'NP'])
        >>> SpanConventions(whole="yes", one_word=True, duplicates=True).brackets(tree, kept).spans
        [(0, 4), (0, 1), (1, 4), (2, 4), (2, 4)]
        """
        read = outline(tree, wrappers={""})
        place = list(accumulate(kept, initial=0))  # of each terminal among the words that count
        everything = (0, place[-1])
        spans, labels = [], []
        seen = set()
        for number, ((start, end), label) in enumerate(zip(read.spans, read.labels, strict=True)):
            span = place[start], place[end]
            width = span[1] - span[0]
            if width == 0 or (width == 1 and not self.one_word):
                continue
            if span == everything and (self.whole == "no" or (self.whole == "below-root" and number == 0)):
                continue
            if span in seen and not self.duplicates:
                continue
            if self.deleted and re.split("[-=]", label, maxsplit=1)[0] in self.deleted:
                continue
            seen.add(span)
            spans.append(span)
            labels.append(label)
        return Brackets(spans, labels)


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
    gold: TreeSource,
    parses: Sequence[TreeSource],
    how: SpanConventions,
    tallies: Mapping[str, Sequence[Tally]] | None,
    log: Log,
) -> Iterator[list[SpanCounts]]:
    """Yield, for each gold sentence, its counts in each parser's parses.

    ``tallies`` (by each name) get the gold's and the parses' labels of spans that match without
    them. Raises as ``count_matches`` does, and CorpusError where no sentence counts.
    """
    alignment = Alignment(gold, parses, trees_in("original", log))
    counted = 0
    for number, line, correct_tree in alignment.gold_trees():
        leaves = correct_tree.leaves()
        kept = how.kept(leaves)
        words = sum(kept)
        takes = how.takes(words)
        counted += takes
        correct = how.brackets(correct_tree, kept)
        rows = []
        for source, parse in zip(parses, alignment.parses(leaves), strict=True):
            guess = Brackets([], [])
            if parse.tree is not None:
                guess = how.brackets(parse.tree, kept)
                if how.bare_word and parse.tree.is_leaf and words:
                    guess = Brackets([(0, 1)], [""])
            pairs = equal_places(correct.spans, guess.spans)
            parsed = takes and parse.tree is not None
            sizes = [takes * len(found) for found in (correct.spans, guess.spans, pairs)]
            places = (source.name, number, line, parse.line)
            rows.append(SpanCounts(*places, words, int(takes), int(parsed), *sizes))
            if tallies is not None and takes:
                tags = [leaf.label for leaf, keeps in zip(leaves, kept, strict=True) if keeps]
                for tally in tallies[source.name]:
                    tally.add(ComparedTrees(correct, guess, pairs, tags))
        yield rows
    if not counted:
        raise CorpusError(
            f"no sentence counts ({', '.join(f'{key} {value}' for key, value in how.signature().items())})",
            source=gold.source,
            remedy="keep punctuation if the tags are not the Penn Treebank's",
        )


def _mean(name: str, heading: str, rate: Callable[[Counts], Column]) -> Criterion:
    """The mean of a rate of the sentences that count."""
    return Criterion(
        name, heading, lambda counts: np.where(counts["parsed"] > 0, rate(counts), 0.0), _counted
    )


def _counted(counts: Counts) -> Column:
    return counts["counted"]


def _quotient(above: Column, below: Column, otherwise: Column | float) -> Column:
    return np.where(below > 0, above / np.where(below > 0, below, 1), otherwise)


def _precision(counts: Counts) -> Column:
    nothing_to_find = (counts["gold"] == 0).astype(float)
    return _quotient(counts["matched"], counts["guess"], nothing_to_find)


def _recall(counts: Counts) -> Column:
    return _quotient(counts["matched"], counts["gold"], 1.0)


def _f(counts: Counts) -> Column:
    return _quotient(2 * counts["matched"], counts["gold"] + counts["guess"], 1.0)


def _with_whole(column: str) -> Callable[[Counts], Column]:
    """A count with one span more in each tree of two words at least: the whole sentence."""
    parsed = column != "gold"
    return lambda counts: (
        counts[column] + ((counts["terminals"] > 1) & (counts["parsed" if parsed else "counted"] > 0))
    )


SENTENCE_F = _mean("sentence_f", "sent. F", _f)
SENTENCE_PRECISION = _mean("sentence_precision", "sent. prec.", _precision)
SENTENCE_RECALL = _mean("sentence_recall", "sent. recall", _recall)
CORPUS_F = f_score("corpus_f", "corpus F", "matched")
CORPUS_PRECISION = ratio("corpus_precision", "corpus prec.", "matched", "guess")
CORPUS_RECALL = ratio("corpus_recall", "corpus recall", "matched", "gold")
COMPLETE = replace(tree("complete_match", "complete", exact("matched")), denominator=_counted)

_matched, _gold, _guess = _with_whole("matched"), _with_whole("gold"), _with_whole("guess")
#: EVALB's figures of the same spans and the whole sentences.
WHOLE_F = Criterion(
    "whole_f", "EVALB F", lambda counts: 2 * _matched(counts), lambda counts: _gold(counts) + _guess(counts)
)
WHOLE_PRECISION = Criterion("whole_precision", "EVALB prec.", _matched, _guess)
WHOLE_RECALL = Criterion("whole_recall", "EVALB recall", _matched, _gold)

SENTENCE = (SENTENCE_F, SENTENCE_PRECISION, SENTENCE_RECALL)
CORPUS = (CORPUS_F, CORPUS_PRECISION, CORPUS_RECALL)
WHOLE = (WHOLE_F, WHOLE_PRECISION, WHOLE_RECALL)

#: The share of the sentences that count that have a parse.
SPAN_COVERAGE = replace(COVERAGE, denominator=_counted)
#: The share of sentences that count.
COMPARED = Criterion("compared", "compared", _counted, COVERAGE.denominator, context=True)
