"""What a page holds of each sentence, to be drawn when it is looked at.

========  ==========================================================================================
words     the gold's
tags      label numbers of the gold's tags; null where there are no words under them
gold      label, start, end of the gold's constituents, one after the other, parents before children
parses    one for each parser, null without a parse (below)
cells     start, end, label, posterior of the model's spans (``chart_cells``); null without posteriors
========  ==========================================================================================

Of a parse: ``nodes``, label, start, end and what it is (``judged_trees``) of each constituent; ``gold``, what
each of the gold's is for it; ``tags`` where they are not the gold's; ``expected``, by name what was expected
of the tree; ``g``, its constituents' posteriors in parts of one. Labels are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mbrparse.evaluate.report.calibration_bins import CalibrationBins
from mbrparse.evaluate.report.chart_cells import PARTS, SpanArrays, chart_cells
from mbrparse.evaluate.report.compared import Compared
from mbrparse.evaluate.report.expectations import Expected
from mbrparse.evaluate.report.judged_trees import RIGHT, JudgedTree


class SentenceRecords:
    """Makes the records; meanwhile the bins of each parser's calibration fill."""

    def __init__(self, compared: Compared, posteriors: SpanArrays | None = None) -> None:
        self._compared = compared
        self._posteriors = posteriors
        self.by_sentence = {name: CalibrationBins() for name in compared.names}
        self.by_constituent = {name: CalibrationBins() for name in compared.names}
        #: by parser, of each sentence its bin (-1: none)
        self.bins: dict[str, list[int]] = {name: [] for name in compared.names}
        #: by parser, how many expectations are about trees of another form
        self.left_out = dict.fromkeys(compared.names, 0)
        #: whether anything was expected of any tree
        self.known = False

    def records(self, expected: Iterator[list[Expected | None]]) -> Iterator[dict[str, Any]]:
        """Those of all sentences, in order; ``expected`` says what was expected of each."""
        for sentence, of_parsers in enumerate(expected):
            yield self._record(sentence, of_parsers)

    def _record(self, sentence: int, of_parsers: Sequence[Expected | None]) -> dict[str, Any]:
        compared = self._compared
        shown = compared.gold[sentence]
        parses = []
        gold_nodes = [] if shown is None else list(shown.nodes)
        for name, expected in zip(compared.names, of_parsers, strict=True):
            judged = compared.tree(name, sentence)
            if judged is not None and compared.exact:
                gold_nodes = [number for place, number in enumerate(judged.gold) if place % 4 < 3]
            parses.append(self._parse(name, sentence, judged, expected))
        numbers = compared.labels
        tags = None if shown is None or shown.tags is None else [numbers.number(tag) for tag in shown.tags]
        return {
            "words": [] if shown is None else list(shown.words),
            "tags": tags,
            "gold": gold_nodes,
            "parses": parses,
            "cells": None
            if self._posteriors is None
            else chart_cells(self._posteriors, sentence, compared.labels),
        }

    def _parse(
        self, name: str, sentence: int, judged: JudgedTree | None, expected: Expected | None
    ) -> dict[str, Any] | None:
        place = -1
        found: dict[str, Any] | None = None
        if judged is not None:
            found = {"nodes": list(judged.nodes), "gold": list(judged.gold[3::4])}
            tags = self._other_tags(name, sentence)
            if tags is not None:
                found["tags"] = tags
        if expected is not None:
            self.known = True
            said = expected._asdict()
            g = said.pop("g")
            found = found or {}
            found["expected"] = {key: _rounded(value) for key, value in said.items() if value is not None}
            if judged is not None and g:
                place = self._calibrate(name, judged, expected)
                found["g"] = self._node_posteriors(judged, g)
        self.bins[name].append(place)
        return found

    def _other_tags(self, name: str, sentence: int) -> list[int] | None:
        """The tags of a parse where they are not the gold's."""
        gold, parse = self._compared.gold[sentence], self._compared.parses[name][sentence]
        if gold is None or parse is None or parse.tags is None or parse.tags == gold.tags:
            return None
        return [self._compared.labels.number(tag) for tag in parse.tags]

    def _spans(self, judged: JudgedTree) -> list[tuple[int, int, str]]:
        labels = self._compared.labels.labels
        nodes = judged.nodes
        return [
            (start, end, labels[number])
            for number, start, end in zip(nodes[::4], nodes[1::4], nodes[2::4], strict=True)
        ]

    def _node_posteriors(self, judged: JudgedTree, g: dict[tuple[int, int, str], float]) -> list[int | None]:
        found = [g.get(span) for span in self._spans(judged)]
        return [None if mass is None else round(PARTS * mass) for mass in found]

    def _calibrate(self, name: str, judged: JudgedTree, expected: Expected) -> int:
        """Take a sentence into the parser's bins; the number of its own, -1 where it is in none."""
        spans = self._spans(judged)
        if sorted(spans) != sorted(expected.g):
            self.left_out[name] += 1
            return -1
        right = [what == RIGHT for what in judged.nodes[3::4]]
        for span, is_right in zip(spans, right, strict=True):
            mass = expected.g[span]
            self.by_constituent[name].add(mass, expected=mass, found=is_right, of=1)
        of, gold = expected.constituents, len(judged.gold) // 4
        if not of or not gold or expected.labelled is None:
            return -1
        return self.by_sentence[name].add(
            expected.labelled / of, expected=expected.labelled, found=sum(right), of=gold, expected_of=of
        )


def _rounded(value: float | str) -> float | str:
    """Six digits are more than a page shows."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
