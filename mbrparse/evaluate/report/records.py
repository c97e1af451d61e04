"""The records of a page: one for each sentence, with the posteriors of its spans.

========  =============================================================================================
words     the gold's; null where they are the text of the sentence (``page_index.texts``) cut at its spaces
tags      label numbers of the gold's tags; null where there are no words under them
gold      the gold's constituents, parents before children: columns of labels, starts and widths
parses    one for each parser (below)
cells     the model's spans (``chart_cells``): columns of labels, starts, widths, posteriors; or null
========  =============================================================================================

Of a parse: ``nodes``, the columns of its constituents and of what each is (``judged_trees``), and ``gold``,
what each of the gold's is for it; ``tags`` where they are not the gold's; ``expected``, by name what was
expected of the tree; ``g``, its constituents' posteriors, in PARTS of one as those of cells. Labels are
numbers, starts are differences from the one before: columns of small numbers compress well.

The index of a page: enough of all sentences to list, sort and filter them without their trees.

Numbers are those of the table of counts. Sentences are numbered from 0; lists of them are of differences
between neighbours, which compress well.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.align import TreeSource
from mbrparse.evaluate.breakdowns import By
from mbrparse.evaluate.compare.evaluation import Evaluation
from mbrparse.evaluate.criteria import Criterion, blocks_of, sides
from mbrparse.evaluate.details import Expected, expectations, posteriors_of
from mbrparse.evaluate.report.calibration import Calibration, calibration_tables
from mbrparse.evaluate.report.judged_trees import GROUPS, JudgedTree, KeptComparison, LabelNumbers
from mbrparse.evaluate.tables import letters
from mbrparse.log import Log
from mbrparse.settings import file_digest
from mbrparse.treebank.corpora.places import Places

#: Less probable spans are not drawn.
THRESHOLD = 0.01
#: Posteriors are written as integers, in parts of one.
PARTS = 100


class SpanArrays(Protocol):
    """Posteriors of the spans of all sentences; the entries of sentence s are first[s] up to first[s + 1].

    lengths          [sentences]
    first            [sentences + 1]
    starts, ends     [entries], and label_ids, positions in ``labels``
    g                [entries]
    """

    @property
    def source(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...
    @property
    def lengths(self) -> npt.NDArray[Any]: ...
    @property
    def first(self) -> npt.NDArray[Any]: ...
    @property
    def starts(self) -> npt.NDArray[Any]: ...
    @property
    def ends(self) -> npt.NDArray[Any]: ...
    @property
    def label_ids(self) -> npt.NDArray[Any]: ...
    @property
    def g(self) -> npt.NDArray[Any]: ...


def check_lengths(arrays: SpanArrays, lengths: Sequence[int]) -> None:
    """Raise InputMismatchError where the posteriors are of other sentences than those of these lengths."""
    if len(arrays.lengths) != len(lengths):
        differs = f"posteriors of {len(arrays.lengths)} sentences, and the gold holds {len(lengths)}"
    elif len(other := np.flatnonzero(np.asarray(lengths) != arrays.lengths)):
        number = int(other[0])
        differs = f"sentence {number + 1} has {arrays.lengths[number]} words, in the gold {lengths[number]}"
    else:
        return
    remedy = "give the posteriors of the very sentences that were parsed, in their order"
    raise InputMismatchError(differs, source=arrays.source, remedy=remedy)


def chart_cells(arrays: SpanArrays, sentence: int, labels: LabelNumbers) -> list[int]:
    """Label number, start, end and posterior (in PARTS of one) of a sentence's spans of two words or more.

    One after the other, the most probable labels of a span first.
    """
    rows = slice(int(arrays.first[sentence]), int(arrays.first[sentence + 1]))
    start, end, g = arrays.starts[rows], arrays.ends[rows], arrays.g[rows]
    shown = np.flatnonzero((g >= THRESHOLD) & (end - start > 1))
    shown = shown[np.lexsort((-g[shown], end[shown], start[shown]))]
    numbers = np.array([labels.number(arrays.labels[label]) for label in arrays.label_ids[rows][shown]], int)
    parts = np.rint(g[shown] * PARTS).astype(int)
    cells: list[int] = np.stack([numbers, start[shown], end[shown], parts], axis=1).ravel().tolist()
    return cells


#: The expectations that a page shows.
_SHOWN = ("reason", "log_prob", "score", "posterior", "constituents", "labelled")


class SentenceRecords:
    """Makes the records, and each parser's calibration on the way."""

    def __init__(self, compared: KeptComparison, posteriors: SpanArrays | None = None) -> None:
        self._compared = compared
        self._posteriors = posteriors
        original = compared.settings.form == "original"
        self.calibrations = {name: Calibration(original) for name in compared.names}
        #: whether anything was expected of any tree
        self.known = False

    def records(self, expected: Iterator[list[Expected | None]]) -> Iterator[dict[str, Any]]:
        """Those of all sentences, in order; ``expected`` are the expectations of each, by parser."""
        compared = self._compared
        for sentence, of_parsers in enumerate(expected):
            shown = compared.gold[sentence]
            parses = []
            gold = [[], [], []] if shown is None else columns(shown.nodes, 3)
            for name, of_parser in zip(compared.names, of_parsers, strict=True):
                judged = compared.tree(name, sentence)
                if judged is not None and compared.exact:
                    gold = columns(judged.gold, 4)[:3]
                parses.append(self._parse(name, sentence, judged, of_parser))
            cells = None
            if self._posteriors is not None:
                cells = columns(chart_cells(self._posteriors, sentence, compared.labels), 4)
            yield {
                "words": None if shown is None or _are_text(shown.words) else list(shown.words),
                "tags": None if shown is None or shown.tags is None else self._numbers(shown.tags),
                "gold": gold,
                "parses": parses,
                "cells": cells,
            }

    def _parse(
        self, name: str, sentence: int, judged: JudgedTree | None, expected: Expected | None
    ) -> dict[str, Any] | None:
        found: dict[str, Any] | None = None
        if judged is not None:
            found = {"nodes": columns(judged.nodes, 4), "gold": list(judged.gold[3::4])}
            gold, parse = self._compared.gold[sentence], self._compared.parses[name][sentence]
            if gold is not None and parse is not None and parse.tags not in (None, gold.tags):
                found["tags"] = self._numbers(parse.tags or ())
        if expected is not None:
            self.known = True
            values = expected._asdict()
            found = found or {}
            found["expected"] = {key: _rounded(values[key]) for key in _SHOWN if values[key] is not None}
            spans = judged and self._compared.labels.named(judged.nodes, 4)
            masses = None if spans is None else posteriors_of(expected.nodes, spans)
            self.calibrations[name].add(expected, masses, judged)
            if masses is not None and expected.nodes:
                found["g"] = [None if mass is None else round(PARTS * mass) for mass in masses]
        return found

    def _numbers(self, labels: Iterable[str]) -> list[int]:
        return [self._compared.labels.number(label) for label in labels]


def calibrated(compared: KeptComparison) -> Evaluation:
    """The evaluation, of which the calibration of its details is shown."""
    records = SentenceRecords(compared)
    deque(records.records(expectations(compared.details, compared.lengths)), maxlen=0)
    summary = compared.evaluation.summary
    paths = dict.fromkeys(pair.path for pair in compared.details if pair is not None)
    signed = f"{summary.signature}|expected:{','.join(map(file_digest, paths))}"
    tables = calibration_tables(records.calibrations)
    return replace(compared.evaluation, breakdowns=tables, summary=replace(summary, signature=signed))


def columns(nodes: Sequence[int], width: int) -> list[list[int]]:
    """Labels, differences of starts, widths, and what else a flat list of label, start, end, ... has.

    >>> columns([7, 0, 3, -1, 8, 1, 3, -2], 4)
    [[7, 8], [0, 1], [3, 2], [-1, -2]]
    """
    labels, starts, ends, *others = (list(nodes[place::width]) for place in range(width))
    before = [0, *starts]
    return [
        labels,
        [start - last for last, start in zip(before, starts, strict=False)],
        [end - start for start, end in zip(starts, ends, strict=True)],
        *others,
    ]


def _are_text(words: Sequence[str]) -> bool:
    """Whether words, joined by spaces, can be separated again."""
    return not any(" " in word or not word for word in words)


def _rounded(value: float | str) -> float | str:
    """Five digits are as many as a page shows."""
    return float(f"{value:.5g}") if isinstance(value, float) else value


def page_index(compared: KeptComparison, records: SentenceRecords, chunk: int) -> dict[str, Any]:
    """The index, once all ``records`` are made; ``chunk`` is the number of sentences in a block.

    =========  =================================================================================
    criteria   of each its words, and by parser the numbers of the columns it divides
    columns    numbers, one for each sentence
    errors     by kind of group, parser and group: sentence, how many missed, how many not right (flat)
    confused   by parser: the gold's label, the parse's, and sentence, how often (flat)
    bins       by parser: of each sentence the calibration's bin, -1: none; null without details
    =========  =================================================================================
    """
    evaluation = compared.evaluation
    counts = evaluation.counts
    columns: dict[tuple[float, ...], int] = {}  # each is kept once

    def numbers_of(criterion: Criterion) -> list[list[int]]:
        """By parser the numbers of the columns that a criterion divides."""
        by_parser = (
            [_integers(side[rows].tolist()) for side in sides(criterion, counts, "pooled")]
            for rows in blocks_of(counts).values()
        )
        return [[columns.setdefault(column, len(columns)) for column in pair] for pair in by_parser]

    criteria = [
        {
            "name": criterion.name,
            "heading": criterion.heading,
            "percent": criterion.percent,
            "lower": criterion.lower_is_better or criterion.name == "fell_back",
            "context": criterion.context,
            "columns": numbers_of(criterion),
        }
        for criterion in evaluation.summary.criteria
    ]
    shown = compared.settings.shown_criterion() or evaluation.summary.criteria[0]
    length = counts["length" if "length" in counts else "terminals"]
    size = len(counts) // len(compared.names)
    significance = evaluation.summary.significance
    errors = {by: [_errors(compared, name, by) for name in compared.names] for by in GROUPS}
    confused = [_confused(compared, name) for name in compared.names]
    return {
        "names": compared.names,
        "letters": letters(significance, len(compared.names)),
        "baseline": 0 if significance is None else compared.names.index(significance.baseline),
        "exact": compared.exact,
        "sentences": size,
        "chunk": chunk,
        "told": [one["name"] for one in criteria].index(shown.name),
        "criteria": criteria,
        "columns": list(columns),
        "lengths": length[:size].tolist(),
        "errors": errors,
        "confused": confused,
        "bins": [one.bins for one in records.calibrations.values()] if records.known else None,
        "labels": compared.labels.labels,
    }


def texts(compared: KeptComparison) -> list[str]:
    """The words of each sentence, for searching and for lists."""
    return ["" if shown is None else " ".join(shown.words) for shown in compared.gold]


def places(compared: KeptComparison, gold: TreeSource, log: Log) -> list[str]:
    """Where the gold trees are in their corpus, to be shown and searched; of trees in memory none."""
    known = Places(log)
    lines = compared.evaluation.counts["gold_line"][: len(compared.gold)].tolist()
    return [str(known.of(gold.source, line)) for line in lines] if gold.unit == "line" else []


def _integers(column: Iterable[float]) -> tuple[float, ...]:
    return tuple(int(number) if float(number).is_integer() else float(number) for number in column)


def _errors(compared: KeptComparison, name: str, by: By) -> dict[str, list[int]]:
    places = compared.counted[name]
    return {group: _flat(rows, places) for group, rows in compared.judged[name].errors[by].items()}


def _confused(compared: KeptComparison, name: str) -> list[list[Any]]:
    judged, places, number = compared.judged[name], compared.counted[name], compared.labels.number
    return [
        [number(gold), number(guess), _flat(rows, places)] for (gold, guess), rows in judged.confused.items()
    ]


def _flat(rows: Sequence[tuple[int, ...]], places: Sequence[int]) -> list[int]:
    """Rows whose first number is a sentence's, one after the other, with differences between sentences."""
    flat, before = [], 0
    for place, *rest in rows:
        flat += [places[place] - before, *rest]
        before = places[place]
    return flat


def packed(data: Any) -> str:
    """JSON, deflated (RFC 1951) and in base64; the same data give the same text.

    >>> packed([1, 2])
    'izbUMYoFAA=='
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    press = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    squeezed = press.compress(text.encode("utf-8", "surrogatepass")) + press.flush()
    return base64.b64encode(squeezed).decode("ascii")


def packed_chunks(records: Iterable[Any], size: int) -> Iterator[str]:
    """Records by so many at a time."""
    stream = iter(records)
    while chunk := list(islice(stream, size)):
        yield packed(chunk)
