"""Calibration: what was expected of trees beside what was found, in the form that is compared.

Of constituents, the posterior beside the share that is right. Of sentences, the precision, recall and F
expected of their tree, and the tree's posterior, beside what they are. Precision is known in any form. The
others ask for the constituents of the true tree: they are there where details count those that are compared,
n-ary trees in original form, binary ones in binarized form. Where labels of details are joined chains, which
original trees have as several constituents, the constituents over a span count as one.

The records of a page: one for each sentence, with the posteriors of its spans.

========  =============================================================================================
words     the gold's; null where they are the text of the sentence (``page_index.texts``) cut at its spaces
tags      label numbers of the gold's tags; null where there are no words under them
gold      the gold's constituents, parents before children: columns of labels, starts and widths
parses    one for each parser (below)
cells     the model's spans (``chart_cells``): columns of labels, starts, widths, posteriors; or null
========  =============================================================================================

Of a parse: ``nodes``, the columns of its constituents and of what each is (``marked_trees``), and ``gold``,
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
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from mbrparse import log, settings
from mbrparse.errors import InputMismatchError
from mbrparse.evaluate import align, breakdowns
from mbrparse.evaluate.compare.evaluation import Evaluation
from mbrparse.evaluate.criteria import blocks_of, sides
from mbrparse.evaluate.details import Expected, expectations, posteriors_of
from mbrparse.evaluate.report.marked_trees import GROUPS, RIGHT, KeptComparison, LabelNumbers, MarkedTree
from mbrparse.evaluate.tables import letters
from mbrparse.treebank.corpora.places import Places
from mbrparse.treebank.labels import JOIN

BINS = 10
#: The bins' bounds, in per cent.
BOUNDS = [f"{100 * place // BINS}-{100 * (place + 1) // BINS}" for place in range(BINS)]
#: What is calibrated: constituents, and sentences by some measure.
KINDS = ("constituents", "precision", "recall", "f", "tree")
#: The figures of each.
RATES = ("expected", "found", "error", "ECE")


class Reliability:
    """Expected and found rates of items, 0 to 1, in bins by the expected rate.

    >>> rates = Reliability()
    >>> rates.add(0.95, 1), rates.add(0.15, 0.25)
    (9, 1)
    >>> rates.rows()
    [(1, 1, 0.15, 0.25), (9, 1, 0.95, 1.0)]
    >>> [round(rate, 3) for rate in rates.means()]
    [0.55, 0.625, -0.075, 0.075]
    """

    def __init__(self) -> None:
        self._sums = [[0.0] * 3 for _ in range(BINS)]

    def add(self, expected: float, found: float) -> int:
        """Add an item; returns the number of its bin."""
        place = min(int(BINS * max(expected, 0.0)), BINS - 1)
        self._sums[place] = [a + b for a, b in zip(self._sums[place], (1, expected, found), strict=True)]
        return place

    def rows(self) -> list[tuple[int, int, float, float]]:
        """Of the bins that hold something: the bin, how many items, their mean expected and found rate."""
        return [(place, int(n), e / n, f / n) for place, (n, e, f) in enumerate(self._sums) if n]

    @property
    def number(self) -> int:
        """The number of items."""
        return int(sum(number for number, *_ in self._sums))

    def means(self) -> tuple[float, float, float, float]:
        """Mean expected and found rate, the expectation error (their difference), and the ECE.

        ECE is the expected calibration error (Naeini, Cooper & Hauskrecht 2015), the sum over bins b of
        n_b / N |expected_b - found_b|, of the bins' means and their n_b of all N items.
        """
        number, expected, found = (sum(column) for column in zip(*self._sums, strict=True))
        error = sum(abs(of_bin - found_in_bin) for _, of_bin, found_in_bin in self._sums)
        return expected / number, found / number, (expected - found) / number, error / number


class Calibration:
    """One parser's; ``left_out`` are the sentences (from 1) that do not count, by the reason."""

    def __init__(self, original: bool) -> None:
        """``original`` says whether n-ary trees are compared."""
        self._original, self._joined = original, False
        # Of constituents as they are, and of joined ones: only the last sentence tells which it is.
        self._kinds = [{kind: Reliability() for kind in KINDS} for _ in range(2)]
        self._bins: list[list[int]] = [[], []]
        self.left_out: dict[str, list[int]] = {}

    @property
    def kinds(self) -> dict[str, Reliability]:
        """What is known of constituents and sentences."""
        return {kind: one for kind, one in self._kinds[self._joined].items() if one.number}

    @property
    def bins(self) -> list[int]:
        """Of each sentence its bin by precision, -1 where it does not count."""
        return self._bins[self._joined]

    def add(
        self, expected: Expected, masses: Sequence[float | None] | None, marked: MarkedTree | None
    ) -> None:
        """Add a sentence, ``masses`` being the posteriors of the tree's constituents."""
        known = [(place, mass) for place, mass in enumerate(masses or ()) if mass is not None]
        if marked is None or masses is None or not known:
            fell = "fell back" if expected.reason else "nothing was expected"
            unlike = "the tree is not that of the details" if expected.nodes else fell
            reason = "no parse" if marked is None else unlike if masses is None else "one word"
            self.left_out.setdefault(reason, []).append(len(self.bins) + 1)
            for bins in self._bins:
                bins.append(-1)
            return
        self._joined |= self._original and any(JOIN in label for (*_, label), _ in expected.nodes)
        # Where nothing is expected of constituents over one word, the gold's do not count.
        alone = len(known) < len(masses)
        spans = zip(marked.gold[1::4], marked.gold[2::4], strict=True)
        gold = Counter(span for span in spans if span[1] - span[0] > 1 or not alone)
        over: defaultdict[tuple[int, int], list[tuple[float, bool]]] = defaultdict(list)
        for place, mass in known:
            _, start, end, what = marked.nodes[4 * place : 4 * place + 4]
            over[start, end].append((mass, what == RIGHT))
        joined = [
            (of[0][0], all(right for _, right in of) and len(of) == gold[span]) for span, of in over.items()
        ]
        self._add(0, [item for items in over.values() for item in items], gold.total(), expected)
        self._add(1, joined, len(gold), expected)

    def _add(self, joined: int, items: list[tuple[float, bool]], gold: int, expected: Expected) -> None:
        kinds, size, of = self._kinds[joined], len(items), expected.constituents
        mass, right = sum(mass for mass, _ in items), sum(right for _, right in items)
        for item in items:
            kinds["constituents"].add(*item)
        if expected.nary == self._original and of is not None:
            kinds["f"].add(2 * mass / (size + of), 2 * right / (size + gold))
            if of and gold:
                kinds["recall"].add(mass / of, right / gold)
            if expected.posterior is not None:
                kinds["tree"].add(expected.posterior, right == size == gold)
        self._bins[joined].append(kinds["precision"].add(mass / size, right / size))


def calibration_tables(found: dict[str, Calibration]) -> list[breakdowns.Breakdown]:
    """Of all parsers: expectation errors, the reliability in each bin, and what is left out."""
    kinds = [(name, kind, one) for name, each in found.items() for kind, one in each.kinds.items()]
    out = [(name, *reason) for name, each in found.items() for reason in each.left_out.items()]
    shown = tuple(breakdowns.shown_rate(name.lower(), name) for name in RATES)
    rates = " ".join(rate.name for rate in shown)
    errors = [(name, kind, one.number, *one.means()) for name, kind, one in kinds]
    bins = [(name, kind, BOUNDS[row[0]], *row[1:]) for name, kind, one in kinds for row in one.rows()]
    left = [(name, reason, len(sentences), sentences[0]) for name, reason, sentences in out]
    tables: tuple[tuple[str, str, Sequence[Any]], ...] = (
        ("Calibration", f"name of number {rates}", errors),
        ("Reliability", "name of bin number expected found", bins),
        ("Left out", "name reason sentences first", left),
    )
    return [
        breakdowns.Breakdown(title, pd.DataFrame(rows, columns=names.split()), shown, 2)
        for title, names, rows in tables
        if rows
    ]


#: Less probable spans are not drawn.
THRESHOLD = 0.01
#: Posteriors are written as integers, in parts of one.
PARTS = 100


@runtime_checkable
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
    numbers = [labels.number(arrays.labels[label]) for label in arrays.label_ids[rows][shown]]
    parts = np.rint(g[shown] * PARTS).astype(int)
    cells: list[int] = (
        np.stack([np.array(numbers, int), start[shown], end[shown], parts], axis=1).ravel().tolist()
    )
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
                marked = compared.tree(name, sentence)
                if marked is not None and compared.exact:
                    gold = columns(marked.gold, 4)[:3]
                parses.append(self._parse(name, sentence, marked, of_parser))
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
        self, name: str, sentence: int, marked: MarkedTree | None, expected: Expected | None
    ) -> dict[str, Any] | None:
        found: dict[str, Any] | None = None
        if marked is not None:
            found = {"nodes": columns(marked.nodes, 4), "gold": list(marked.gold[3::4])}
            gold, parse = self._compared.gold[sentence], self._compared.parses[name][sentence]
            if gold is not None and parse is not None and parse.tags not in (None, gold.tags):
                found["tags"] = self._numbers(parse.tags or ())
        if expected is not None:
            self.known = True
            values = expected._asdict()
            found = found or {}
            found["expected"] = {key: _rounded(values[key]) for key in _SHOWN if values[key] is not None}
            spans = marked and self._compared.labels.named(marked.nodes, 4)
            masses = None if spans is None else posteriors_of(expected.nodes, spans)
            self.calibrations[name].add(expected, masses, marked)
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
    signed = f"{summary.signature}|expected:{','.join(map(settings.file_digest, paths))}"
    tables = calibration_tables(records.calibrations)
    frames = {one.key: one.table for one in tables}
    summary = replace(summary, signature=signed)
    return replace(compared.evaluation, breakdowns=tables, frames=frames, summary=summary)


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
    evaluation, names, number = compared.evaluation, compared.names, compared.labels.number
    table, summary = evaluation.counts, evaluation.summary
    columns: dict[tuple[float, ...], int] = {}  # each is kept once
    criteria = []
    for criterion in summary.criteria:
        both = sides(criterion, table, "pooled")
        parsers = [[_integers(side[rows].tolist()) for side in both] for rows in blocks_of(table).values()]
        criteria.append(
            {
                "name": criterion.name,
                "heading": criterion.heading,
                "percent": criterion.percent,
                "lower": criterion.lower_is_better or criterion.name == "fell_back",
                "context": criterion.context,
                "columns": [[columns.setdefault(one, len(columns)) for one in pair] for pair in parsers],
            }
        )
    shown = compared.settings.shown_criterion() or summary.criteria[0]
    length = table["length" if "length" in table else "terminals"]
    size = len(table) // len(names)
    tested, counted = summary.significance, compared.counted

    def errors(name: str, by: breakdowns.By) -> dict[str, list[int]]:
        groups = compared.marked[name].errors[by]
        return {group: _flat(rows, counted[name]) for group, rows in groups.items()}

    return {
        "names": names,
        "letters": letters(tested, len(names)),
        "baseline": 0 if tested is None else names.index(tested.baseline),
        "exact": compared.exact,
        "sentences": size,
        "chunk": chunk,
        "criterion": summary.criteria.index(shown),
        "criteria": criteria,
        "columns": list(columns),
        "lengths": length[:size].tolist(),
        "errors": {by: [errors(name, by) for name in names] for by in GROUPS},
        "confused": [
            [
                [number(gold), number(guess), _flat(rows, counted[name])]
                for (gold, guess), rows in compared.marked[name].confused.items()
            ]
            for name in names
        ],
        "bins": [one.bins for one in records.calibrations.values()] if records.known else None,
        "labels": compared.labels.labels,
    }


def texts(compared: KeptComparison) -> list[str]:
    """The words of each sentence, for searching and for lists."""
    return ["" if shown is None else " ".join(shown.words) for shown in compared.gold]


def places(compared: KeptComparison, gold: align.TreeSource) -> list[str]:
    """Where the gold trees are in their corpus, to be shown and searched; of trees in memory none."""
    known = Places(log.warn)
    lines = compared.evaluation.counts["gold_line"][: len(compared.gold)].tolist()
    return [str(known.of(gold.source, line)) for line in lines] if gold.unit == "line" else []


def _integers(column: Iterable[float]) -> tuple[float, ...]:
    return tuple(int(number) if float(number).is_integer() else float(number) for number in column)


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
    """Records, ``size`` at a time."""
    stream = iter(records)
    while chunk := list(islice(stream, size)):
        yield packed(chunk)
