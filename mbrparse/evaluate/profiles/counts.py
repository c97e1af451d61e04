"""The table of counts: gold trees and the parses of any number of parsers, one row per sentence and parser.

Everything later (rates, averages, significance) works on this table; nothing is scored twice. All
sources are read side by side, one sentence at a time, so that of files memory holds counts and no trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.evaluate.tables.count_table import Columns
from mbrparse.evaluate.trees.agreement import BinarizedForm, empty_gold, no_trees
from mbrparse.evaluate.trees.gold import (
    PAPER_FORM,
    ComparedTrees,
    Comparison,
    GoldSentence,
    OriginalForms,
    Tally,
    compared_labels,
    equal_pairs,
)
from mbrparse.evaluate.trees.matches import Brackets, Matches, outline
from mbrparse.evaluate.trees.sources import AlignedParses, TreeSource
from mbrparse.io.log import Log, no_log
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.evaluate.trees.gold import Tally


class SentenceCounts(NamedTuple):
    """One row of the table: a sentence of one parser."""

    name: str  #: of the parses
    sentence: int  #: 1-based
    gold_line: int  #: where its tree begins in the gold file; of trees in memory, as ``sentence``
    parse_line: int  #: and in the parse file
    terminals: int
    parsed: int  #: 0 for an empty parse, else 1
    gold: int  #: constituents of the gold tree, N_C
    guess: int  #: constituents of the parse, N_G
    labelled: int  #: L
    bracketed: int  #: B
    consistent: int  #: C


def count_matches(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    how: Comparison = PAPER_FORM,
    tallies: Mapping[str, Sequence[Tally]] | None = None,
    log: Log = no_log,
) -> Iterator[list[SentenceCounts]]:
    """Yield, for each gold sentence, its counts in each parser's parses.

    ``tallies`` (by each name) are updated, ``log`` is called with labels that un-binarizing changes. As in a
    parse file, an empty line among gold trees of one line each is an empty tree, which a gold file must not
    have: line for line, the files stay together.

    Raises CorpusError (no trees, an empty gold tree), InputMismatchError (trees that do not belong
    together), BracketError, FileError or LabelError, all with their place.
    """
    read = OriginalForms(log).trees if how.form == "original" else _as_they_stand
    trees = read(gold)
    parsers = [
        Parses(source, read(source), how, () if tallies is None else tallies[source.name])
        for source in parses
    ]
    number = 0
    for number, (line, tree) in enumerate(trees, start=1):
        if tree is None:
            raise empty_gold(gold.place(line))
        sentence = GoldSentence(number, line, tree, how, gold.source, gold.unit)
        rows = []
        for parser in parsers:
            judged = parser.judge(sentence, trees)
            rows.append(
                SentenceCounts(
                    parser.name,
                    number,
                    line,
                    judged.line,
                    len(sentence.leaves),
                    judged.parsed,
                    sentence.constituents,
                    judged.guess,
                    *judged.matches,
                )
            )
        yield rows
    if not number:
        raise no_trees(gold.source)
    for parser in parsers:
        parser.finish(gold.source, number)


def _as_they_stand(source: TreeSource) -> Iterator[ReadTree]:
    return source.trees()


def counts_table(rows: Iterable[Sequence[NamedTuple]]) -> Columns:
    """The table of counts, one column for each field of the rows, parser after parser."""
    sentences = list(rows)
    by_parser = [row for parser in zip(*sentences, strict=True) for row in parser]
    return Columns.of_rows(by_parser[0]._fields, by_parser)


class Judged(NamedTuple):
    """One parse against its gold sentence: its line, whether it is one, its N_G, and L, B, C."""

    line: int
    parsed: int
    guess: int
    matches: Matches


class Parses:
    """The parses of a source, read one sentence at a time."""

    def __init__(
        self, source: TreeSource, trees: Iterator[ReadTree], how: Comparison, tallies: Sequence[Tally] = ()
    ) -> None:
        """``trees`` are the source's, in the form that is compared."""
        self.name = source.name
        self._parses = AlignedParses(source, trees)
        self._how = how
        self._tallies = tallies
        self._form = BinarizedForm()

    def judge(self, gold: GoldSentence, later: Iterator[ReadTree]) -> Judged:
        """Compare the next parse with a gold sentence.

        ``later`` are the gold trees still to come: an error says how many there are in all.
        Raises InputMismatchError where there is no next parse, or one of another sentence.
        """
        line, tree = self._parses.next_of(gold, later)
        if tree is None:
            self._log(gold, Brackets([], []), ())
            return Judged(line, 0, 0, Matches(0, 0, 0))
        read = outline(tree)
        self._parses.check(gold, read.leaves, later)
        place = self._parses.source.place(line)
        if self._how.form == "binarized":
            self._form.watch(read, place)
        labels = compared_labels(read, self._how.form, place)
        self._log(gold, Brackets(read.spans, labels), read.leaves)
        return Judged(line, 1, len(read.spans), gold.reference.matches(read.spans, labels))

    def _log(self, gold: GoldSentence, guess: Brackets, leaves: Sequence[Tree]) -> None:
        if not self._tallies:
            return
        tags = [[leaf.label for leaf in terminals] for terminals in (gold.leaves, leaves)]
        trees = ComparedTrees(gold.brackets, guess, equal_pairs(gold.brackets, guess), *tags)
        for tally in self._tallies:
            tally.add(trees)

    def finish(self, gold_source: str, sentences: int) -> None:
        """Raise where there are more parses than gold sentences, or all are in the other form."""
        self._parses.finish(gold_source, sentences)
        self._form.check()
