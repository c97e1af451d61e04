"""Spans without labels, counted sentence by sentence, and the figures that published scripts make of them.

Conventions. A sentence whose gold and parse both have no span that counts is right: precision, recall
and F are 1; where only the gold has none, recall is 1 and F is 0. (The scripts add 1e-8 to denominators,
which the seventh digit shows; here nothing is added.) Sentences left out for their length have zeros in
all columns. A sentence without a parse has no span that matches, and no rate above zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbrparse.errors import CorpusError
from mbrparse.evaluate.profiles.span_conventions import SpanConventions
from mbrparse.evaluate.tables.criteria import COVERAGE, Criterion, exact, f_score, ratio, tree
from mbrparse.evaluate.trees.gold import ComparedTrees, equal_places, trees_in
from mbrparse.evaluate.trees.matches import Brackets
from mbrparse.evaluate.trees.sources import Alignment, TreeSource
from mbrparse.log import Log

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.count_table import Column, Columns
    from mbrparse.evaluate.trees.gold import Tally


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


def _mean(name: str, heading: str, rate: Callable[[Columns], Column]) -> Criterion:
    """The mean of a rate of the sentences that count."""
    return Criterion(
        name, heading, lambda counts: np.where(counts["parsed"] > 0, rate(counts), 0.0), _counted
    )


def _counted(counts: Columns) -> Column:
    return counts["counted"]


def _quotient(above: Column, below: Column, otherwise: Column | float) -> Column:
    return np.where(below > 0, above / np.where(below > 0, below, 1), otherwise)


def _precision(counts: Columns) -> Column:
    nothing_to_find = (counts["gold"] == 0).astype(float)
    return _quotient(counts["matched"], counts["guess"], nothing_to_find)


def _recall(counts: Columns) -> Column:
    return _quotient(counts["matched"], counts["gold"], 1.0)


def _f(counts: Columns) -> Column:
    return _quotient(2 * counts["matched"], counts["gold"] + counts["guess"], 1.0)


def _with_whole(column: str) -> Callable[[Columns], Column]:
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
