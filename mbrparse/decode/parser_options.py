"""What is asked of the parser, and what it answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mbrparse.decode.derivations.expectations import ExpectedItems
from mbrparse.decode.derivations.forest_charts import Items
from mbrparse.decode.fallback import Fallback, LabelledSpans
from mbrparse.decode.objectives import Objective
from mbrparse.decode.posteriors.span_posteriors import Posteriors, SpanChart
from mbrparse.grammar.charts.chart import Derivation
from mbrparse.grammar.charts.factory import Precision
from mbrparse.grammar.pcfg import IntArray
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.decode.best_first.best_first_charts import BestFirst


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How to decode.

    ``unlabelled`` gives trees of objectives that do not look at labels the published form: the root
    with the most frequent start symbol, every other node X (Goodman 1996, Table 2). With ``best_first``
    charts are filled best-first instead of exhaustively, and all is said of the chart as far as it got.
    ``items`` says whether the items of derived trees are those of projected labels or of symbols;
    ``max_length`` defaults to what memory allows (grammar.charts.factory);
    ``expectations`` announces that posteriors will be asked for (decode.details).
    """

    objectives: tuple[Objective, ...]
    fallback: Fallback = "right-branching"
    unlabelled: bool = False
    debinarized: bool = False
    max_length: int | None = None
    best_first: BestFirst | None = None
    precision: Precision = "double"
    items: Items = "projected"
    expectations: bool = False

    @property
    def needs_forest(self) -> bool:
        """Whether more is asked for than charts of sums, and the most probable derivation, can tell."""
        return self.items == "symbol" or any(o.derives and o.projectable for o in self.objectives)


@dataclass(frozen=True, slots=True)
class Parse:
    """What came of one sentence.

    ``trees`` and ``spans`` are parallel to the objectives: the tree (None: the empty parse) and its
    constituents with projected labels; so are ``scores``, what objectives made of the grammar's trees, and
    ``expected``, what else is expected of trees, where that is asked for and known. ``reason`` says why the
    fall-back was taken (None: it was not, and there is a chart), ``seconds`` is the sentence's share of
    its batch's time.
    """

    terminal_ids: IntArray
    trees: tuple[Tree | None, ...]
    spans: tuple[LabelledSpans, ...]
    reason: str | None = None
    chart: SentenceChart | None = None
    posteriors: Posteriors | None = None
    scores: tuple[float | None, ...] = ()
    expected: tuple[ExpectedItems | None, ...] = ()
    seconds: float = 0.0

    @property
    def length(self) -> int:
        """The number of terminals."""
        return len(self.terminal_ids)

    @property
    def log_prob(self) -> float:
        """The natural logarithm of the sentence's probability; -inf where it has no chart."""
        return -math.inf if self.chart is None else self.chart.log_prob


class SentenceChart(SpanChart, Protocol):
    """What the parser asks of a chart: exhaustive, best-first or made from a forest."""

    terminal_ids: IntArray

    @property
    def log_prob(self) -> float: ...

    @property
    def has_parse(self) -> bool: ...

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        ...

    def viterbi(self) -> Derivation: ...
