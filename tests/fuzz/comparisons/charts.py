"""Charts of every kind: sentence probabilities, posteriors, cells and best derivations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import naive
import naive_unary
from conversion import derivation_of, names_of, posteriors_of
from naive import LabelledSpan, Node

from comparisons.truth import Comparison, Truth
from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory, Kernel, PrunedCharts, Pruning
from mbrparse.charts.spans import cell_of
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.best_first.best_first_chart import BestFirstCharts
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.projection import has_annotations
from mbrparse.grammar.rules import is_terminal, unquote

BEST_FIRST = BestFirst("beta", Until("exhausted"))


def compare_charts(pcfg: PCFG, words: Sequence[str], true: Truth, check: Comparison, cells: bool) -> None:
    """Compare a sentence's chart of each kind; ``cells``: each cell of it too."""
    ids = pcfg.encode(words)
    best = naive.log(naive_unary.best_probability(true.grammar, words))
    for chart_name, chart in _charts(pcfg, ids):
        digits = 1e-9
        name = f"chart, {chart_name}"
        check.true(name, chart.has_parse == (true.total > 0), chart.failure)
        if not true.total:
            continue
        check.close(name, chart.log_prob, naive.log(true.total), digits)
        found = posteriors_of(chart.span_posteriors(), pcfg.labels)
        named = {(i, j, unquote(x) if is_terminal(x) else x): g for (i, j, x), g in found.items()}
        check.table(name, named, true.posteriors, digits)
        check.close(name, chart.viterbi().log_prob, best, digits)
        if cells and chart_name in ("usual", "forest"):
            _compare_cells(name, pcfg, chart, true, check)


def _compare_cells(name: str, pcfg: PCFG, chart: Chart, true: Truth, check: Comparison) -> None:
    """Inside and outside values, what a summary says of each span, and the best derivation."""
    names, n = names_of(pcfg), true.n
    inside, outside = (of(true.grammar, true.words) for of in (naive_unary.inside, naive_unary.outside))
    log, summary = naive.log, chart.span_summary()
    for start, end in ((i, j) for i in range(n) for j in range(i + 1, n + 1)):
        ids, logs = chart.inside(start, end)
        found = {names[x]: value for x, value in zip(ids, logs, strict=True)}
        wanted = {x: p for (i, j, x), p in inside.items() if p and (i, j) == (start, end) and x in names}
        # Dense charts keep tags out of their cells.
        if end - start > 1 or pcfg.has_unaries:
            check.true(name, found.keys() == wanted.keys(), (start, end, found, wanted))
        for x, value in found.items():
            check.close(name, value, log(wanted[x]))
        for x, value in zip(*chart.outside(start, end), strict=True):
            check.close(name, value, log(outside[start, end, names[x]]))
        masses = [p for (i, j, _), p in true.posteriors.items() if (i, j) == (start, end)]
        cell = cell_of(n, start, end)
        # However long the chain over a word, it has one preterminal.
        total = 1 if end == start + 1 else true.brackets.get((start, end), 0)
        check.close(name, summary.total[cell], total)
        if end - start > 1:
            check.close(name, summary.best[cell], max(masses, default=0))
    shapes = {_shape(tree): p for tree, p in true.listed}
    nodes, preterminals = derivation_of(chart, names)
    check.close(name, chart.viterbi().log_prob, log(Fraction(shapes[tuple(nodes), tuple(preterminals)])))


def _shape(tree: Node) -> tuple[tuple[LabelledSpan, ...], tuple[str, ...]]:
    """A tree's constituents in preorder, and its preterminals; a terminal stands for itself."""
    nodes = naive.nodes(tree)
    constituents = tuple((node.start, node.end, node.symbol) for node in nodes if node.children)
    return constituents, tuple(node.symbol for node in nodes if not node.children)


def _charts(pcfg: PCFG, ids: Any) -> Iterator[tuple[str, Any]]:
    engines: tuple[Kernel | None, ...] = (None, "forest")
    for engine in engines:
        yield engine or "usual", ChartFactory(pcfg, kernel=engine).chart(ids)
    if not has_annotations(pcfg):
        pruned = PrunedCharts(pcfg, Pruning(pcfg, 1e-16))
        yield "pruned", pruned.chart(ids)
    if not pcfg.has_unaries:
        yield "best-first", BestFirstCharts(pcfg, BEST_FIRST).chart(ids)
