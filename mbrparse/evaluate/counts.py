"""The table of counts: a gold file and any number of parse files, one row per sentence and file.

Everything later (rates, averages, significance) works on this table; nothing is scored twice. The
files are read side by side, one sentence at a time, so that memory holds counts and no trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from mbrparse.errors import InputMismatchError, LabelError
from mbrparse.evaluate.agreement import (
    BinarizedForm,
    Form,
    check_gold,
    empty_gold,
    first_difference,
    no_trees,
    refuse_continuations,
    yields_agree,
)
from mbrparse.evaluate.matches import Matches, Reference
from mbrparse.evaluate.names import distinct_names
from mbrparse.evaluate.outline import Outline, Span, outline
from mbrparse.files import source_name
from mbrparse.treebank.brackets import ReadTree, read_parse_file, read_tree_file
from mbrparse.treebank.labels import is_continuation, project
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

CrossingReference = Literal["debinarized", "binarized"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How constituents are compared.

    In binarized form labels are projected (annotations are dropped, continuations stay what they
    are). Consistent brackets are judged against the debinarized gold, which has no continuations, or
    against the binarized gold itself; PAPERS section 1 says why the former is the paper's.
    """

    form: Form = "binarized"
    crossing_reference: CrossingReference = "debinarized"


class SentenceCounts(NamedTuple):
    """One row of the table: a sentence of one parse file."""

    name: str  #: of the parse file
    sentence: int  #: 1-based
    gold_line: int  #: where its tree begins in the gold file
    parse_line: int
    terminals: int
    parsed: int  #: 0 for an empty parse, else 1
    gold: int  #: constituents of the gold tree, N_C
    guess: int  #: constituents of the parse, N_G
    labelled: int  #: L
    bracketed: int  #: B
    consistent: int  #: C


PAPER_FORM = Comparison()


def compare_files(
    gold: str | Path,
    parses: Sequence[str | Path],
    how: Comparison = PAPER_FORM,
    encoding: str = "utf-8",
) -> Iterator[list[SentenceCounts]]:
    """Yield, for each gold sentence, its counts in each parse file.

    Raises CorpusError (no trees, an empty gold tree), InputMismatchError (files that do not belong
    together), BracketError, FileError or LabelError, all with their place.
    """
    gold_source = source_name(gold)
    gold_trees = read_tree_file(gold, encoding)
    files = [
        _ParseFile(path, name, how, encoding)
        for path, name in zip(parses, distinct_names(parses), strict=True)
    ]
    number = 0
    for number, (line, tree) in enumerate(gold_trees, start=1):
        if tree is None:
            raise empty_gold(gold_source, line)
        sentence = _GoldSentence(number, line, tree, how, gold_source)
        rows = []
        for file in files:
            found = file.next_tree()
            if found is None:
                raise file.ends_early(sentence, number + sum(1 for _ in gold_trees))
            row = file.counts(sentence, *found)
            if row is None:
                raise file.differs(sentence, *found, number + sum(1 for _ in gold_trees))
            rows.append(row)
        yield rows
    if not number:
        raise no_trees(gold_source)
    for file in files:
        file.finish(gold_source, number)


def counts_table(rows: Iterable[Sequence[SentenceCounts]]) -> pd.DataFrame:
    """The table of counts, one column for each field of ``SentenceCounts``, the first file first."""
    import pandas as pd

    table = pd.DataFrame([row for sentence in rows for row in sentence], columns=SentenceCounts._fields)
    order = {name: rank for rank, name in enumerate(table["name"].unique())}
    return table.sort_values("name", key=lambda names: names.map(order), kind="stable", ignore_index=True)


class _GoldSentence:
    """A gold tree made ready for comparing."""

    def __init__(self, number: int, line: int, tree: Tree, how: Comparison, source: str) -> None:
        self.number = number
        self.line = line
        self.where = f"{source}:{line}"
        read = outline(tree)
        check_gold(read, how.form, source, line)
        self.leaves = read.leaves
        self.words = [leaf.word for leaf in read.leaves]
        self.size = len(read.spans)
        labels = _compared_labels(read, how.form, source, line)
        self.reference = Reference(read.spans, labels, _crossing(read.spans, labels, how), len(self.leaves))

    def same_yield(self, leaves: Sequence[Tree]) -> bool:
        """Whether these terminals are the sentence's."""
        words = [leaf.word for leaf in leaves]
        if words == self.words and None not in words:  # most often
            return True
        return yields_agree(self.leaves, leaves)


def _compared_labels(tree: Outline, form: Form, source: str, line: int) -> list[str]:
    if form == "original":
        return tree.labels
    try:
        return [project(label) for label in tree.labels]
    except LabelError as error:
        raise LabelError(
            error.message, source=source, line=line, remedy="is this tree in binarized form?"
        ) from None


def _crossing(spans: list[Span], labels: list[str], how: Comparison) -> list[Span]:
    """The spans of the reference for C; debinarizing leaves the root and what is no continuation."""
    if how.form == "original" or how.crossing_reference == "binarized":
        return spans
    return spans[:1] + [
        span for span, label in zip(spans[1:], labels[1:], strict=True) if not is_continuation(label)
    ]


class _ParseFile:
    """A parse file on its way through the gold sentences."""

    def __init__(self, path: str | Path, name: str, how: Comparison, encoding: str) -> None:
        self.name = name
        self.source = source_name(path)
        self.how = how
        self.trees: Iterator[ReadTree] = read_parse_file(path, encoding)
        self.form = BinarizedForm()
        self.read = 0
        self.line = 0

    def next_tree(self) -> ReadTree | None:
        found = next(self.trees, None)
        if found is not None:
            self.read += 1
            self.line = found.line
        return found

    def counts(self, gold: _GoldSentence, line: int, tree: Tree | None) -> SentenceCounts | None:
        """The counts of the next parse; None if its yield is not the gold's."""
        parsed, size, matches = 0, 0, Matches(0, 0, 0)
        if tree is not None:
            read = outline(tree)
            if not gold.same_yield(read.leaves):
                return None
            if self.how.form == "original":
                refuse_continuations(read, self.source, line)
            else:
                self.form.watch(read, line)
            labels = _compared_labels(read, self.how.form, self.source, line)
            parsed, size, matches = 1, len(read.spans), gold.reference.matches(read.spans, labels)
        return SentenceCounts(
            self.name, gold.number, gold.line, line, len(gold.leaves), parsed, gold.size, size, *matches
        )

    def finish(self, gold_source: str, sentences: int) -> None:
        """Raise where the file goes on after the gold's last sentence, or is of the other form."""
        surplus = self.next_tree()
        if surplus is not None:
            total = self.read + sum(1 for _ in self.trees)
            raise self._mismatch(
                surplus.line,
                f"holds {total} parses, but {gold_source} {sentences} trees: no gold from here on",
            )
        self.form.check(self.source)

    def ends_early(self, gold: _GoldSentence, sentences: int) -> Exception:
        """The error for a file that ends before the gold does."""
        if not self.read:
            return no_trees(self.source)
        return self._mismatch(
            self.line,
            f"holds {self.read} parses, ending here, but the gold {sentences} trees (on to {gold.where})",
        )

    def differs(self, gold: _GoldSentence, line: int, tree: Tree | None, sentences: int) -> Exception:
        """The error for another sentence than the gold's; files of other lengths are told apart."""
        total = self.read + sum(1 for _ in self.trees)
        assert tree is not None  # an empty parse has no yield to differ
        difference = first_difference(gold.leaves, outline(tree).leaves)
        message = f"sentence {gold.number} is not the gold's ({gold.where}): {difference}"
        if total != sentences:
            message = f"holds {total} parses, but the gold {sentences} trees; they part here: {message}"
        return self._mismatch(line, message)

    def _mismatch(self, line: int, message: str) -> InputMismatchError:
        return InputMismatchError(
            message,
            source=self.source,
            line=line,
            remedy="give one parse for each gold tree, in the gold's order ((()) where there is none)",
        )
