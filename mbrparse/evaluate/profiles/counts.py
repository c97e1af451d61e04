"""The table of counts: gold trees and the parses of any number of parsers, one row per sentence and parser.

Everything later (rates, averages, significance) works on this table; nothing is scored twice. All
sources are read side by side, one sentence at a time, so that of files memory holds counts and no trees.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from mbrparse.evaluate.tables.count_table import Columns
from mbrparse.evaluate.trees.agreement import BinarizedForm
from mbrparse.evaluate.trees.gold import (
    PAPER_FORM,
    ComparedTrees,
    Comparison,
    GoldSentence,
    Tally,
    compared_labels,
    equal_pairs,
    trees_in,
)
from mbrparse.evaluate.trees.matches import Brackets
from mbrparse.evaluate.trees.sources import Alignment, TreeSource
from mbrparse.log import Log, no_log


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
    alignment = Alignment(gold, parses, trees_in(how.form, log))
    forms = [BinarizedForm() for _ in parses]
    for number, line, tree in alignment.gold_trees():
        sentence = GoldSentence(tree, how, gold.place(line))
        rows = []
        for source, form, parse in zip(parses, forms, alignment.parses(sentence.leaves), strict=True):
            place = source.place(parse.line)
            if how.form == "binarized":
                form.add(parse.outline, place)
            guess = Brackets(parse.outline.spans, compared_labels(parse.outline, how.form, place))
            matches = sentence.reference.matches(*guess)
            sizes = (int(parse.tree is not None), sentence.constituents, len(guess.spans))
            words = len(sentence.leaves)
            rows.append(SentenceCounts(source.name, number, line, parse.line, words, *sizes, *matches))
            if tallies is not None and tallies[source.name]:
                pairs = equal_pairs(sentence.brackets, guess)
                tags = [[leaf.tag for leaf in leaves] for leaves in (sentence.leaves, parse.outline.leaves)]
                compared = ComparedTrees(sentence.brackets, guess, pairs, *tags)
                for tally in tallies[source.name]:
                    tally.add(compared)
        yield rows
    for form in forms:
        form.check()


def counts_table(rows: Iterable[Sequence[NamedTuple]]) -> Columns:
    """The table of counts, one column for each field of the rows, parser after parser.

    The first field is the parser's name, all others are integers. Of rows, which are large, none is kept.
    """
    rows = iter(rows)
    first = next(rows)
    counts = [array("q") for _ in first]
    for sentence in chain([first], rows):
        for numbers, row in zip(counts, sentence, strict=True):
            numbers.extend(row[1:])
    names, fields = [row[0] for row in first], first[0]._fields
    table = np.concatenate([np.frombuffer(numbers, np.int64) for numbers in counts])
    columns = table.reshape(-1, len(fields) - 1).T.copy()
    name = np.repeat(np.array(names, dtype=object), len(columns[0]) // len(names))
    return Columns(dict(zip(fields, (name, *columns), strict=True)))
