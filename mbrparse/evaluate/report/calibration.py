"""Calibration: what was expected of trees beside what was found, in the form that is compared.

Of constituents, the posterior beside the share that is right. Of sentences, the precision, recall and F
expected of their tree, and the tree's posterior, beside what they are. Precision is known in any form. The
others ask for the constituents of the true tree: they are there where details count those that are compared,
n-ary trees in original form, binary ones in binarized form. Where labels of details are joined chains, which
original trees have as several constituents, the constituents over a span count as one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pandas as pd

from mbrparse.evaluate.breakdowns import Breakdown, shown_rate
from mbrparse.evaluate.details import Expected
from mbrparse.evaluate.report.judged_trees import RIGHT, JudgedTree
from mbrparse.treebank.labels import JOIN

BINS = 10
#: The bins' bounds, in per cent.
BOUNDS = [f"{100 * place // BINS}-{100 * (place + 1) // BINS}" for place in range(BINS)]
#: What is calibrated: constituents, and sentences by some measure.
KINDS = ("constituents", "precision", "recall", "f", "tree")
#: What is told of each.
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
        self, expected: Expected, masses: Sequence[float | None] | None, judged: JudgedTree | None
    ) -> None:
        """Add a sentence, ``masses`` being the posteriors of the tree's constituents."""
        known = [(place, mass) for place, mass in enumerate(masses or ()) if mass is not None]
        if judged is None or masses is None or not known:
            fell = "fell back" if expected.reason else "nothing was expected"
            unlike = "the tree is not that of the details" if expected.nodes else fell
            reason = "no parse" if judged is None else unlike if masses is None else "one word"
            self.left_out.setdefault(reason, []).append(len(self.bins) + 1)
            for bins in self._bins:
                bins.append(-1)
            return
        self._joined |= self._original and any(JOIN in label for (*_, label), _ in expected.nodes)
        # Where nothing is expected of constituents over one word, the gold's do not count.
        alone = len(known) < len(masses)
        spans = zip(judged.gold[1::4], judged.gold[2::4], strict=True)
        gold = Counter(span for span in spans if span[1] - span[0] > 1 or not alone)
        over: defaultdict[tuple[int, int], list[tuple[float, bool]]] = defaultdict(list)
        for place, mass in known:
            _, start, end, what = judged.nodes[4 * place : 4 * place + 4]
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


def calibration_tables(found: dict[str, Calibration]) -> list[Breakdown]:
    """Of all parsers: expectation errors, the reliability in each bin, and what is left out."""
    kinds = [(name, kind, one) for name, each in found.items() for kind, one in each.kinds.items()]
    out = [(name, *reason) for name, each in found.items() for reason in each.left_out.items()]
    shown = tuple(shown_rate(name.lower(), name) for name in RATES)
    rates = " ".join(rate.name for rate in shown)
    errors = [(name, kind, one.number, *one.means()) for name, kind, one in kinds]
    bins = [(name, kind, BOUNDS[row[0]], *row[1:]) for name, kind, one in kinds for row in one.rows()]
    left = [(name, reason, len(sentences), sentences[0]) for name, reason, sentences in out]
    tables: list[tuple[str, str, Sequence[Sequence[Any]]]] = [
        ("Calibration", f"name of number {rates}", errors),
        ("Reliability", "name of bin number expected found", bins),
        ("Left out", "name reason sentences first", left),
    ]
    return [
        Breakdown(title, pd.DataFrame(rows, columns=names.split()), shown, 2)
        for title, names, rows in tables
        if rows
    ]
