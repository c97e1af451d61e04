"""Bracketed sentences, the training text of re-estimation (Pereira & Schabes 1992), and their arrays.

Positions are 0-based and half-open. A span is *allowed* by a bracketing if it crosses none of its
brackets. So each allowed span lies inside one bracket, as a run of that bracket's neighbouring children;
a bracket with k children is a small chart over k positions, and a sentence is a tree of such charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.grammar import pcfg, rules
from mbrparse.training.expectation_kernels import BracketedCorpus
from mbrparse.treebank import labels, outlines
from mbrparse.treebank.clean import clean
from mbrparse.treebank.corpora.reading import SourceTree

Span = tuple[int, int]

# How many of the sentences that are left out are named.
_NAMED = 5


class BracketedSentence(NamedTuple):
    """Terminals, brackets (none: any structure is allowed), and the place in a file."""

    terminals: tuple[str, ...]
    brackets: frozenset[Span] = frozenset()
    source: str = "<sentence>"
    line: int = 1


def bracketed_sentences(
    trees: Iterable[SourceTree], terminal_kind: rules.TerminalKind, brackets: bool = True
) -> Iterator[BracketedSentence]:
    """Yield the sentences of trees with their brackets, or without; empty trees are passed over.

    Traces and wrappers are removed. Labels are ignored, except that continuations are no brackets: a
    binarized tree and its n-ary original have the same bracketing.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> tree = SourceTree("", 1, read_tree("(S a (S_Cont (NP b c) d))"))
    >>> sorted(next(bracketed_sentences([tree], "tags")).brackets)
    [(0, 4), (1, 3)]
    """
    for source, line, tree, _ in trees:
        cleaned = clean(tree, unary="join", functions="keep")
        if cleaned is not None:
            terminals = cleaned.tags() if terminal_kind == "tags" else cleaned.words()
            spans = frozenset(
                (start, end)
                for start, end, label in outlines.constituents(cleaned)
                if brackets and end - start > 1 and not labels.is_continuation_label(label)
            )
            yield BracketedSentence(terminals, spans, source, line)


def local_charts(sentence: BracketedSentence) -> list[tuple[Span, int, list[int]]]:
    """The charts of a sentence's brackets, the whole sentence included, children before parents.

    Cells are numbered: 0 to n - 1 are the terminals; then come, chart after chart, its spans of two or
    more children, by width and start. Each chart is its bracket, the number of its first cell and the cells
    of its children. The last cell is the sentence's.

    >>> local_charts(BracketedSentence(("a", "b", "c", "d"), frozenset({(1, 3)})))
    [((1, 3), 4, [1, 2]), ((0, 4), 5, [0, 4, 3])]
    """
    length = len(sentence.terminals)
    charts: list[tuple[Span, int, list[int]]] = []
    if length < 2:
        return charts
    cells = length
    # Start, end and cell of each bracket that lies in no other so far, from left to right.
    done: list[tuple[int, int, int]] = []
    spans = {span for span in sentence.brackets if span[1] - span[0] > 1} | {(0, length)}
    for start, end in sorted(spans, key=lambda span: (span[1], -span[0])):
        children: list[int] = []
        reached = end
        while done and done[-1][1] > start:
            child_start, child_end, cell = done.pop()
            children[:0] = [cell, *range(child_end, reached)]
            reached = child_start
        children[:0] = range(start, reached)
        charts.append(((start, end), cells, children))
        cells += len(children) * (len(children) - 1) // 2
        done.append((start, end, cells - 1))
    return charts


def listed_places(sentences: Sequence[BracketedSentence]) -> str:
    """The file and line of the first few sentences."""
    places = ", ".join(f"{sentence.source}:{sentence.line}" for sentence in sentences[:_NAMED])
    return places + (", ..." if len(sentences) > _NAMED else "")


def encode_corpus(grammar: pcfg.PCFG, sentences: Sequence[BracketedSentence]) -> BracketedCorpus:
    """The arrays of sentences."""
    words: list[pcfg.IntArray] = [np.zeros(0, np.int32)]
    chart_first, child_first, child_cell, first_cell, cells = [0], [0], [], [], []
    spans: list[int] = []
    for sentence in sentences:
        words.append(grammar.encode(sentence.terminals))
        count = len(sentence.terminals)
        for span, first, children in local_charts(sentence):
            spans.extend(span)
            first_cell.append(first)
            child_cell.extend(children)
            child_first.append(len(child_cell))
            count += len(children) * (len(children) - 1) // 2
        chart_first.append(len(first_cell))
        cells.append(count)
    columns = chart_first, child_first, child_cell, first_cell, cells, spans
    *arrays, bracket = (np.array(column, np.int32) for column in columns)
    word_first = np.cumsum([*map(len, words)], dtype=np.int32)
    return BracketedCorpus._make((np.concatenate(words), word_first, *arrays, bracket.reshape(-1, 2)))
