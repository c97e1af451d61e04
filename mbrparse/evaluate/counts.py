"""The table of counts: a gold file and any number of parse files, one row per sentence and file.

Everything later (rates, averages, significance) works on this table; nothing is scored twice. The
files are read side by side, one sentence at a time, so that memory holds counts and no trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.evaluate.agreement import empty_gold, no_trees
from mbrparse.evaluate.gold import PAPER_FORM, Comparison, GoldSentence
from mbrparse.evaluate.names import distinct_names
from mbrparse.evaluate.parses import ParseFile
from mbrparse.files import source_name
from mbrparse.treebank.brackets import read_parse_file

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.evaluate.evalb.evalb_counts import EvalbCounts
    from mbrparse.evaluate.label_tally import LabelTally


class SentenceCounts(NamedTuple):
    """One row of the table: a sentence of one parse file."""

    name: str  #: of the parse file
    sentence: int  #: 1-based
    gold_line: int  #: where its tree begins in the gold file
    parse_line: int  #: and in the parse file
    terminals: int
    parsed: int  #: 0 for an empty parse, else 1
    gold: int  #: constituents of the gold tree, N_C
    guess: int  #: constituents of the parse, N_G
    labelled: int  #: L
    bracketed: int  #: B
    consistent: int  #: C


def compare_files(
    gold: str | Path,
    parses: Sequence[str | Path],
    how: Comparison = PAPER_FORM,
    encoding: str = "utf-8",
    tallies: Mapping[str, LabelTally] | None = None,
) -> Iterator[list[SentenceCounts]]:
    """Yield, for each gold sentence, its counts in each parse file.

    ``tallies`` (one by each name) are fed. As in a parse file, an empty line among gold trees of one line
    each is an empty tree, which a gold file must not have: line for line, the files stay together.

    Raises CorpusError (no trees, an empty gold tree), InputMismatchError (files that do not belong
    together), BracketError, FileError or LabelError, all with their place.
    """
    source = source_name(gold)
    trees = read_parse_file(gold, encoding)
    names = distinct_names(parses)
    files = [
        ParseFile(path, name, how, encoding, None if tallies is None else tallies[name])
        for path, name in zip(parses, names, strict=True)
    ]
    number = 0
    for number, (line, tree) in enumerate(trees, start=1):
        if tree is None:
            raise empty_gold(source, line)
        sentence = GoldSentence(number, line, tree, how, source)
        rows = []
        for file in files:
            judged = file.judge(sentence, trees)
            rows.append(
                SentenceCounts(
                    file.name,
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
        raise no_trees(source)
    for file in files:
        file.finish(source, number)


def counts_table(rows: Iterable[Sequence[SentenceCounts | EvalbCounts]]) -> pd.DataFrame:
    """The table of counts, one column for each field of the rows, file after file."""
    import pandas as pd

    sentences = list(rows)
    by_file = [row for file in zip(*sentences, strict=True) for row in file]
    return pd.DataFrame(by_file, columns=list(by_file[0]._fields))
