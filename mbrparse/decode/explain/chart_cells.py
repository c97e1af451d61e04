"""The cells of a sentence's chart: all symbols of a span, and every way to build them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mbrparse.charts.chart import Chart
from mbrparse.grammar.pcfg import PCFG, FloatArray


class Way(NamedTuple):
    """One way to build a label over its span: a rule, and where its children meet (None: there is one).

    ``share`` is its part of the label's inside value.
    """

    children: tuple[str, ...]
    split: int | None
    log_prob: float
    log_value: float
    share: float


class Entry(NamedTuple):
    """A symbol over a span. ``log_outside`` is -inf, and ``posterior`` 0, for one that is in no parse.

    With unary rules the posterior is an expected number.
    """

    label: str
    log_inside: float
    log_outside: float
    posterior: float
    ways: tuple[Way, ...]


class Cell(NamedTuple):
    """A span and all symbols that derive it, the most probable first."""

    start: int
    end: int
    entries: tuple[Entry, ...]


def chart_cells(chart: Chart, grammar: PCFG) -> Iterator[Cell]:
    """The cells that hold something, in the order of filling; ``chart`` has those of preterminals, too."""
    inside: dict[tuple[int, int], FloatArray] = {}
    names = grammar.symbols
    for end in range(1, chart.length + 1):
        for start in range(end - 1, -1, -1):
            symbols, values = chart.inside(start, end)
            inside[start, end] = row = np.full(len(names), -np.inf)
            row[symbols] = values
            ways: dict[int, list[Way]] = {symbol: [] for symbol in symbols.tolist()}
            for symbol, children, split, log_prob, value in _ways(chart, grammar, inside, start, end):
                share = math.exp(value - row[symbol])
                ways[symbol].append(Way(children, split, log_prob, value, share))
            outside = dict(zip(*(part.tolist() for part in chart.outside(start, end)), strict=True))
            entries = []
            for symbol, found in ways.items():
                log_inside, log_outside = float(row[symbol]), outside.get(symbol, -math.inf)
                posterior = math.exp(log_inside + log_outside - chart.log_prob)
                entries.append(Entry(names[symbol], log_inside, log_outside, posterior, tuple(found)))
            if entries:
                key = sorted(entries, key=lambda one: (-round(one.posterior, 12), -one.log_inside, one.label))
                yield Cell(start, end, tuple(key))


def _ways(
    chart: Chart, grammar: PCFG, inside: dict[tuple[int, int], FloatArray], start: int, end: int
) -> Iterator[tuple[int, tuple[str, ...], int | None, float, float]]:
    """Parent, children (or the word), split, log probability of the rule and log value of each way."""
    names, cell = grammar.symbols, inside[start, end]
    if end - start == 1:
        word = grammar.terminals[chart.terminal_ids[start]]
        for rule in np.flatnonzero(grammar.lexical_terminal == chart.terminal_ids[start]).tolist():
            if cell[grammar.lexical_symbol[rule]] > -np.inf:
                log_prob = float(grammar.lexical_log_prob[rule])
                yield int(grammar.lexical_symbol[rule]), (f"'{word}'",), None, log_prob, log_prob
    for split in range(start + 1, end):
        values = grammar.log_prob + inside[start, split][grammar.left] + inside[split, end][grammar.right]
        for rule in np.flatnonzero(values > -np.inf).tolist():
            children = names[grammar.left[rule]], names[grammar.right[rule]]
            log_prob = float(grammar.log_prob[rule])
            yield int(grammar.parent[rule]), children, split, log_prob, float(values[rule])
    values = grammar.unary_log_prob + cell[grammar.unary_child]
    for rule in np.flatnonzero(values > -np.inf).tolist():
        child, log_prob = names[grammar.unary_child[rule]], float(grammar.unary_log_prob[rule])
        yield int(grammar.unary_parent[rule]), (child,), None, log_prob, float(values[rule])
