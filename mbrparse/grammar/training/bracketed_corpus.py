"""Bracketed sentences as arrays, for the kernels of re-estimation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.kernel import array_kernel
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.training.bracketings import BracketedSentence, local_charts

Splits = tuple[IntArray, IntArray, IntArray]


class BracketedCorpus(NamedTuple):
    """Sentences with their local charts (see ``bracketings``), all int32.

    words         [terminals] terminal ids, UNKNOWN_TERMINAL (-1) for those that the grammar lacks
    word_first    [sentences + 1] where each sentence's words begin
    chart_first   [sentences + 1] where its charts begin
    child_first   [charts + 1] where the children of each chart begin
    child_cell    [children] the cell of each child, numbered within its sentence
    first_cell    [charts] the first cell of each chart's own
    cells         [sentences] the number of cells
    """

    words: IntArray
    word_first: IntArray
    chart_first: IntArray
    child_first: IntArray
    child_cell: IntArray
    first_cell: IntArray
    cells: IntArray

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.cells)

    @property
    def lengths(self) -> IntArray:
        """The number of terminals of each sentence."""
        return np.diff(self.word_first)


def encode_corpus(grammar: PCFG, sentences: Sequence[BracketedSentence]) -> BracketedCorpus:
    """The arrays of sentences; raises BracketError where brackets cross."""
    words: list[IntArray] = []
    chart_first, child_first, child_cell, first_cell, cells = [0], [0], [], [], []
    for sentence in sentences:
        words.append(grammar.encode(sentence.terminals))
        count = len(sentence.terminals)
        for first, children in local_charts(sentence):
            first_cell.append(first)
            child_cell.extend(children)
            child_first.append(len(child_cell))
            count += len(children) * (len(children) - 1) // 2
        chart_first.append(len(first_cell))
        cells.append(count)
    return BracketedCorpus(
        np.concatenate([np.zeros(0, np.int32), *words]),
        _ids(np.cumsum([0, *map(len, words)])),
        _ids(chart_first),
        _ids(child_first),
        _ids(child_cell),
        _ids(first_cell),
        _ids(cells),
    )


def _ids(values: Any) -> IntArray:
    array: npt.NDArray[np.int32] = np.array(values, np.int32)
    return array


@array_kernel
def splits(corpus: BracketedCorpus, sentence: int) -> Splits:
    """The ways to split each cell of a sentence: only into two allowed cells.

    Those of cell c are left[x], right[x] for x from first[c] up to first[c + 1]; parts have smaller
    numbers than their wholes.
    """
    cells = corpus.cells[sentence]
    begin, end = corpus.chart_first[sentence], corpus.chart_first[sentence + 1]
    total = 0
    for chart in range(begin, end):
        k = corpus.child_first[chart + 1] - corpus.child_first[chart]
        total += (k + 1) * k * (k - 1) // 6
    first = np.zeros(cells + 1, np.int32)
    left = np.empty(total, np.int32)
    right = np.empty(total, np.int32)
    found = 0
    for chart in range(begin, end):
        children = corpus.child_cell[corpus.child_first[chart] : corpus.child_first[chart + 1]]
        k = len(children)
        cell = corpus.first_cell[chart]
        # The first cell of each width; width 1 are the children's own cells.
        of_width = np.zeros(k + 1, np.int32)
        for width in range(2, k + 1):
            of_width[width] = cell
            for start in range(k - width + 1):
                for part in range(1, width):
                    rest = width - part
                    middle = start + part
                    left[found] = children[start] if part == 1 else of_width[part] + start
                    right[found] = children[middle] if rest == 1 else of_width[rest] + middle
                    found += 1
                cell += 1
                first[cell] = found
    return first, left, right
