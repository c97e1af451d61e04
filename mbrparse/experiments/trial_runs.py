"""Runs of an experiment: treebanks read, parses of held-out trees judged, rates compared, tables written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mbrparse.decode.trees import LabelledSpans
from mbrparse.errors import CorpusError
from mbrparse.evaluate.align import Place
from mbrparse.evaluate.counts import PAPER_FORM, GoldSentence, SentenceCounts
from mbrparse.evaluate.criteria import DASH
from mbrparse.evaluate.tables import Cell, Grid, PrintFormat, signature_line
from mbrparse.experiments.old_tables import LAYOUTS, csv_grid
from mbrparse.files import atomic_outputs, open_output, open_output_bytes
from mbrparse.local_settings import no_local_settings
from mbrparse.log import Log, Progress, no_progress
from mbrparse.program import signature
from mbrparse.treebank.clean import UnaryPolicy
from mbrparse.treebank.corpora.prepare import OnError, Preparation, PreparationStatistics, prepare_corpora
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading
from mbrparse.treebank.splits import split_fraction

Item = TypeVar("Item")


def read_treebanks(
    specs: Sequence[str],
    max_length: int | None,
    log: Log,
    reading: CorpusReading = AS_USUAL,
    on_error: OnError = "skip",
    progress: Progress = no_progress,
    unary: UnaryPolicy = "top",
) -> list[SourceTree]:
    """The binarized trees of treebanks; ``log`` gets a line on those that were left out."""
    statistics = PreparationStatistics()
    how = Preparation(unary, max_length=max_length)
    prepared = prepare_corpora(specs, how, statistics, reading, on_error=on_error)
    trees = list(progress(prepared, "reading"))
    for line in (str(statistics), *statistics.notes()):
        log(line)
    return trees


def hold_out(trees: Sequence[Item], fraction: str, remedy: str) -> tuple[list[Item], list[Item]]:
    """The trees to count rules from, and the last part; raises CorpusError where that is empty."""
    parts = split_fraction(len(trees), fraction)
    if not parts.test:
        raise CorpusError(f"{len(trees)} trees leave none to hold out", remedy=remedy)
    return [trees[place] for place in parts.train], [trees[place] for place in parts.test]


class HeldOut:
    """The sentences that are parsed, and their correct trees.

    Labels and brackets are compared with the binarized gold, consistent brackets with the n-ary one.
    """

    def __init__(self, trees: Sequence[SourceTree]) -> None:
        self.trees = trees
        self.sentences = [tree.leaves() for _, _, tree, _ in trees]
        self._gold = [GoldSentence(tree, PAPER_FORM, Place(source, line)) for source, line, tree, _ in trees]

    def judge(self, name: str, guesses: Sequence[LabelledSpans]) -> list[SentenceCounts]:
        """A row of counts for the constituents of each sentence's parse, under this name."""
        rows = []
        sentences = zip(self.trees, self._gold, guesses, strict=True)
        for number, (tree, gold, spans) in enumerate(sentences, start=1):
            matches = gold.reference.matches(
                [(start, end) for start, end, _ in spans], [label for _, _, label in spans]
            )
            place = (number, tree.line, number, len(gold.leaves), 1)
            rows.append(SentenceCounts(name, *place, gold.constituents, len(spans), *matches))
        return rows


# What subtracting rates leaves, and no rates of sentences come near.
_ROUNDING = 1e-12


class Summary(NamedTuple):
    """Of one criterion over the runs; rates 0 to 1, ``sd`` that of a sample (divided by runs - 1)."""

    minimum: float
    maximum: float
    mean: float
    sd: float


class PairedTest(NamedTuple):
    """The paired t-test, two-sided; not a number where the runs do not differ or are too few."""

    t: float
    p: float


def summarize(values: Sequence[float]) -> Summary:
    """Summarize the rates of the runs.

    >>> summarize([0.5, 0.7]).mean
    0.6
    """
    array = np.array(values)
    sd = float(array.std(ddof=1)) if len(array) > 1 else math.nan
    return Summary(float(array.min()), float(array.max()), float(array.mean()), sd)


def paired_test(values: Sequence[float]) -> PairedTest:
    """Student's paired t-test, from the differences of the pairs.

    Differences that only rounding tells apart are one.
    """
    from scipy.stats import ttest_rel

    if len(values) < 2 or max(values) - min(values) < _ROUNDING:
        return PairedTest(math.nan, math.nan)
    result: Any = ttest_rel(values, np.zeros(len(values)))
    return PairedTest(float(result.statistic), float(result.pvalue))


def published(source: str, rows: Mapping[str, Sequence[str]], width: int, names: int = 1) -> list[list[Cell]]:
    """A paper's rows for below a table of ``width`` columns, under a heading that marks them as such.

    ``rows`` have its figures as they are printed; the first ``names`` columns of the table are names, and
    columns that the paper lacks get dashes.

    >>> [[cell.text for cell in row] for row in published("A (1996)", {"Tree": ["60.98"]}, 4, 2)]
    [['Published, on other data: A (1996)'], ['Tree', '', '60.98', '-']]
    """
    found = [[Cell(f"Published, on other data: {source}")]]
    for name, figures in rows.items():
        row = [name, *[""] * (names - 1), *figures]
        found.append([Cell(text) for text in [*row, *[DASH] * (width - len(row))]])
    return found


SUFFIXES: dict[str, PrintFormat] = {"txt": "text", "md": "markdown", "tex": "latex"}


class Tables(NamedTuple):
    """Where an experiment's tables are written, and all that their figures depend on, for signatures."""

    folder: Path
    about: Mapping[str, object]

    @atomic_outputs()
    def write(
        self,
        name: str,
        grid: Grid,
        data: Grid | None = None,
        suffixes: Iterable[str] = SUFFIXES,
        names: int = 1,
    ) -> str:
        """Write a table as NAME.txt, .md and .tex, and as NAME.csv; return the text.

        All but the CSV file end with a signature. ``data`` goes into that in the place of what people read;
        the first ``names`` columns are names.
        """
        signed = signature({"table": name, **self.about})
        ends = {suffix: ["", signature_line(signed, SUFFIXES[suffix])] for suffix in suffixes}
        texts = {suffix: LAYOUTS[SUFFIXES[suffix]](grid, names) + end for suffix, end in ends.items()}
        for suffix, lines in {**texts, "csv": csv_grid(grid if data is None else data)}.items():
            with open_output(self.folder / f"{name}.{suffix}") as stream:
                stream.write("\n".join(lines) + "\n")
        return "\n".join(texts["txt"])


@contextmanager
def panels(
    folder: Path, name: str, count: int, size: tuple[float, float], title: str, dpi: int = 130
) -> Iterator[tuple[Any, Any]]:
    """A figure and its panels side by side, written as NAME.svg and NAME.png when they are filled."""
    with no_local_settings():
        import matplotlib as mpl

    mpl.use("Agg")
    # The same input gives the same file, and text stays text.
    mpl.rcParams.update({"svg.hashsalt": "mbrparse", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    figure, [axes] = plt.subplots(1, count, figsize=size, layout="constrained", squeeze=False)
    yield figure, axes
    for panel in axes:
        panel.grid(alpha=0.25)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    figure.suptitle(title, fontsize=11)
    for form, metadata in (("svg", {"Date": None}), ("png", {})):
        with open_output_bytes(folder / f"{name}.{form}") as stream:
            figure.savefig(stream, format=form, dpi=dpi, metadata=metadata)
    plt.close(figure)
