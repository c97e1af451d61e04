"""One sentence under every figure of merit: what Caraballo & Charniak (1998, appendix C) measured.

*Edges* are rule expansions; *non-zero edges* those that are part of a complete parse in the chart; CPU time
is the search's own (``time.process_time``, the kernels compiled before), with neither the exhaustive inside
pass that says where 95% of the mass are nor the passes over the finished chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mbrparse.charts.chart import Derivation
from mbrparse.charts.factory import ChartFactory
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.best_first.best_first_chart import BestFirstChart
from mbrparse.decode.best_first.best_first_charts import BestFirstCharts
from mbrparse.grammar.pcfg import PCFG
from mbrparse.state_files import Schema, listed, number, parallel, record, truth, whole
from mbrparse.training.tag_statistics import Statistics
from mbrparse.treebank.labels import is_continuation
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

BASELINE = "stack"
# 10, 14, 20, 28, ... : two points for each doubling, up to ten million edges.
CHECKPOINTS = tuple(round(10 * 2 ** (step / 2)) for step in range(41))


@dataclass
class MeritTrial:
    """A grammar, its statistics and n-ary gold trees; calling it measures one of them (from 1)."""

    grammar: PCFG
    statistics: Statistics
    gold: Sequence[Tree]
    merits: tuple[str, ...]
    mass: float
    beta_threshold: float

    @property
    def schema(self) -> Schema:
        """What a sentence's figures are."""
        length = {"length": whole(), "parsed": truth}
        figures = {"edges": whole(), "useful": whole(), "popped": whole(), "seconds": number(0)}
        curve = listed(parallel(whole(), whole()), least=1)
        merits = dict.fromkeys(self.merits, record({**figures, "curve": curve}))
        measured = {"gold": whole(), "exhaustive": record(figures), "merits": record(merits)}
        return lambda row: record(
            {**length, **measured} if isinstance(row, dict) and row.get("parsed") is True else length
        )(row)

    def __call__(self, number: int) -> dict[str, Any]:
        """All figures of the ``number``-th sentence, as JSON can hold them."""
        tree = self.gold[number - 1]
        ids = self.grammar.encode(tree.tags() if self.grammar.terminal_kind == "tags" else tree.words())
        exhaustive, searches = self._charts
        known = len(ids) > 0 and ids.min() >= 0
        log_prob = exhaustive.charts([ids])[0].log_prob if known else -math.inf
        if log_prob == -math.inf:
            return {"length": len(ids), "parsed": False}
        spans = {(start, end) for start, end, _ in constituents(tree) if end - start > 1}
        least = log_prob + math.log(self.mass)
        charts = ((name, searches[name].chart(ids, least)) for name in self.merits)
        return {
            "length": len(ids),
            "parsed": True,
            "gold": len(spans),
            "exhaustive": self._figures(searches[BASELINE].chart(ids)),
            "merits": {
                name: {**self._figures(chart), "curve": self._curve(chart, spans)} for name, chart in charts
            },
        }

    @cached_property
    def _charts(self) -> tuple[ChartFactory, dict[str, BestFirstCharts]]:
        searches = {
            name: BestFirstCharts(
                self.grammar,
                BestFirst(name, Until("exhausted"), None, self.beta_threshold, self.statistics),
            )
            for name in {BASELINE, *self.merits}
        }
        # Compiled, or read from the cache, before anything is timed.
        for search in searches.values():
            search.chart(self.grammar.encode(self.grammar.terminals[:2]))
        return ChartFactory(self.grammar), searches

    @staticmethod
    def _figures(chart: BestFirstChart) -> dict[str, Any]:
        return {
            "edges": chart.edge_count,
            "useful": chart.useful_edge_count,
            "popped": chart.popped,
            "seconds": chart.seconds,
        }

    def _curve(self, chart: BestFirstChart, gold: set[tuple[int, int]]) -> list[list[int]]:
        """(matched, guessed) spans of the best parse at each checkpoint, the last for all after it.

        Before the first parse both are 0.
        """
        points: list[list[int]] = []
        for edges in CHECKPOINTS:
            guess = self._spans(chart.viterbi_within(min(edges, chart.edge_count)))
            points.append([len(guess & gold), len(guess)])
            if edges >= chart.edge_count:
                break
        return points

    def _spans(self, derivation: Derivation) -> set[tuple[int, int]]:
        """The spans of the n-ary tree: continuations are spliced out, but the root stays."""
        symbols = self.grammar.symbols
        return {
            (start, end)
            for place, (start, end, symbol) in enumerate(derivation.nodes)
            if place == 0 or not is_continuation(symbols[symbol])
        }
