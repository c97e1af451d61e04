"""The table that counts, rates and breakdowns are kept in: columns by name, all of one length.

Whoever wants a pandas data frame has one made of it: importing pandas takes longer than all of a small
comparison.

Criteria: how counts of sentences become rates.

Each criterion is a ratio of two per-sentence columns made from the table of counts, so that any sum
over sentences (a file's, a bootstrap sample's, a group's) gives its rate at once. Goodman 1996,
section 2, with N_C and N_G constituents in the correct and the guessed tree:

=====================  ==========  ============================
consistent brackets    C / N_G     tree: C = N_G
brackets               B / N_C     tree: B = N_C
labels                 L / N_C     tree: L = N_C
=====================  ==========  ============================

A tree criterion is 1 or 0 for each sentence; an empty parse fails it. For binary trees N_C = N_G; for
others an exact match asks for that too. Coverage, the share of sentences whose parse is not empty, says
what the others are about; where it is known, so does the share of those that fell back: a fall-back is a
tree, and no empty parse.

Averages. ``pooled`` divides sum by sum over all sentences (Sima'an 2003 defines recall so).
``sentence`` is the mean of the sentences' own rates; a sentence whose denominator is zero (no guessed
constituents for a precision, say) has no rate, and is left out of the mean. A rate without any
denominator is not a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


Column: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]


#: Counts by name, a number for each row of a table; it may be a data frame.
Counts: TypeAlias = Mapping[str, Column]

Average = Literal["pooled", "sentence"]

DASH = "-"


def criterion_name(text: str) -> str:
    """The name of a criterion as people write it.

    >>> criterion_name(" labeled-F ")
    'labelled_F'
    """
    return text.strip().replace("-", "_").replace("labeled", "labelled")


@dataclass(frozen=True)
class Criterion:
    """A named rate: a numerator and a denominator, arrays, for the rows of a table of counts."""

    name: str
    heading: str
    numerator: Callable[[Counts], Column]
    denominator: Callable[[Counts], Column]
    percent: bool = True  #: shown as per cent, or as it is
    lower_is_better: bool = False
    context: bool = False  #: what the other rates are about: part of the signature, and not tested

    def show(self, rate: float) -> str:
        """A rate as people see it, with two decimals; a dash where it is not a number."""
        if math.isnan(rate):
            return DASH
        return f"{100 * rate if self.percent else rate:z.2f}"

    def is_best(self, rate: float, rates: Floats) -> bool:
        """Whether a rate is the best of several, as they are shown; never where the criterion is context."""
        best = np.fmin.reduce(rates) if self.lower_is_better else np.fmax.reduce(rates)
        known = len(rates) > 1 and not (self.context or math.isnan(rate))
        return known and self.show(rate) == self.show(float(best))


def ratio(name: str, heading: str, matched: str, of: str) -> Criterion:
    """One column of counts over another."""
    return Criterion(name, heading, lambda counts: counts[matched], lambda counts: counts[of])


def f_score(name: str, heading: str, matched: str, guess: str = "guess") -> Criterion:
    """The harmonic mean of precision and recall, 2 matched / (N_C + N_G)."""
    return Criterion(
        name, heading, lambda counts: 2 * counts[matched], lambda counts: counts["gold"] + counts[guess]
    )


def tree(name: str, heading: str, passes: Callable[[Counts], Column]) -> Criterion:
    """The share of sentences that have a parse and pass a test."""
    return Criterion(
        name, heading, lambda counts: (passes(counts) & (counts["parsed"] > 0)).astype(int), _sentences
    )


def _sentences(counts: Counts) -> Column:
    return np.ones_like(counts["parsed"])


def exact(matched: str, guess: str = "guess") -> Callable[[Counts], Column]:
    """The test for sentences in which all constituents of both trees match."""
    return lambda counts: (counts[matched] == counts["gold"]) & (counts["gold"] == counts[guess])


#: The columns of Goodman's Table 2, in its order.
PAPER: tuple[Criterion, ...] = (
    tree("labelled_tree", "lab. tree", exact("labelled")),
    ratio("labelled_recall", "lab. recall", "labelled", "gold"),
    ratio("bracketed_recall", "brack. recall", "bracketed", "gold"),
    ratio("consistent_brackets_recall", "cons. recall", "consistent", "guess"),
    tree("consistent_brackets_tree", "cons. tree", lambda counts: counts["consistent"] == counts["guess"]),
)

#: Which of them n-ary trees win by having few constituents.
CONSISTENT = ("consistent_brackets_recall", "consistent_brackets_tree")

#: What ``--all`` adds.
MORE: tuple[Criterion, ...] = (
    tree("bracketed_tree", "brack. tree", exact("bracketed")),
    ratio("labelled_precision", "lab. prec.", "labelled", "guess"),
    f_score("labelled_f", "lab. F", "labelled"),
    ratio("bracketed_precision", "brack. prec.", "bracketed", "guess"),
    f_score("bracketed_f", "brack. F", "bracketed"),
)

COVERAGE = Criterion("coverage", "not empty", lambda counts: counts["parsed"], _sentences, context=True)
#: Of tables with a column ``fell_back``, which ``parse --details`` knows.
FELL_BACK = Criterion("fell_back", "fell back", lambda counts: counts["fell_back"], _sentences, context=True)


#: What is no count in a table of counts.
_PLACES = ("name", "sentence", "gold_line", "parse_line", "status")


def rates(
    counts: pd.DataFrame, criteria: Sequence[Criterion] = PAPER, average: Average = "pooled"
) -> pd.DataFrame:
    """The rates, 0 to 1: a row for each name in the table of counts, a column for each criterion."""
    import pandas as pd

    blocks = blocks_of(counts)
    columns = {
        criterion.name: quotients(*(_sums(side, blocks) for side in sides(criterion, counts, average)))
        for criterion in criteria
    }
    return pd.DataFrame({"name": list(blocks), **columns})


def blocks_of(counts: pd.DataFrame) -> dict[str, slice]:
    """The places of the rows of each ``name``, which in tables of counts follow each other."""
    blocks, start = {}, 0
    for name, rows in groupby(counts["name"].tolist()):
        end = start + sum(1 for _ in rows)
        blocks[name] = slice(start, end)
        start = end
    return blocks


def sides(criterion: Criterion, counts: pd.DataFrame | Counts, average: Average) -> tuple[Floats, Floats]:
    """A numerator and a denominator for each row: their sums, over any rows, make the rate."""
    numbers = {name: np.asarray(counts[name]) for name in map(str, counts) if name != "name"}
    above, below = criterion.numerator(numbers).astype(float), criterion.denominator(numbers).astype(float)
    if average == "sentence":
        return np.where(below > 0, quotients(above, below), 0.0), (below > 0).astype(float)
    return above, below


def quotients(above: Floats, below: Floats) -> Floats:
    """Quotients; not a number where there is nothing to divide by."""
    rates = np.full(above.shape, np.nan)
    np.divide(above, below, out=rates, where=below > 0)
    return rates


def totals(counts: pd.DataFrame) -> pd.DataFrame:
    """The summed counts: a row for each name, ``sentences`` first, then the columns of counts.

    EVALB's status is no count: in its place are ``error`` and ``skipped``.
    """
    numbers = counts.drop(columns=[name for name in _PLACES if name in counts])
    numbers.insert(0, "sentences", 1)
    if "status" in counts:
        numbers["error"], numbers["skipped"] = ((counts["status"] == kind).astype(int) for kind in (1, 2))
    return numbers.groupby(counts["name"], sort=False).sum().reset_index()


def _sums(column: Column, blocks: Mapping[str, slice]) -> Column:
    return np.add.reduceat(column, [rows.start for rows in blocks.values()])
