"""The table of counts: gold trees and the parses of any number of parsers, one row per sentence and parser.

Everything later (rates, averages, significance) works on this table; nothing is scored twice. All
sources are read side by side, one sentence at a time, so that of files memory holds counts and no trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.evaluate.agreement import empty_gold, no_trees
from mbrparse.evaluate.columns import Columns
from mbrparse.evaluate.gold import PAPER_FORM, Comparison, GoldSentence
from mbrparse.evaluate.parses import Parses
from mbrparse.evaluate.sources import TreeSource
from mbrparse.evaluate.unbinarized import OriginalForms
from mbrparse.reporting import Tell, say_nothing
from mbrparse.treebank.brackets import ReadTree

if TYPE_CHECKING:
    from mbrparse.evaluate.compared import Tally


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
    tell: Tell = say_nothing,
) -> Iterator[list[SentenceCounts]]:
    """Yield, for each gold sentence, its counts in each parser's parses.

    ``tallies`` (by each name) are fed, ``tell`` hears what un-binarizing does to labels. As in a parse
    file, an empty line among gold trees of one line each is an empty tree, which a gold file must not have:
    line for line, the files stay together.

    Raises CorpusError (no trees, an empty gold tree), InputMismatchError (trees that do not belong
    together), BracketError, FileError or LabelError, all with their place.
    """
    read = OriginalForms(tell).trees if how.form == "original" else _as_they_stand
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
