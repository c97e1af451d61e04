"""c(start, end): the probability that no constituent of the true n-ary tree crosses a span.

Continuations are no constituents and may cross. It is the inside probability of the sentence when all cells
that cross the span are closed to labels that are no continuations, over the sentence's probability. Where
continuations are right-linear (or left-linear: the mirror image) ``spines`` has them all in one pass; for
other binarizations each span has a pass of its own over what the closed cells change.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

import numpy as np

from mbrparse.grammar.charts.crossing.closings import Closings, Conditioned
from mbrparse.grammar.charts.crossing.derivation_graph import DerivationGraph, GraphBuilder
from mbrparse.grammar.charts.crossing.graph_rules import Doubles, Flags, continuations, graph_rules, linear
from mbrparse.grammar.charts.crossing.spines import consistent_spans
from mbrparse.grammar.charts.live_nodes import LiveNodes
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import PCFG


class NodeChart(Protocol):
    """A chart that lists its nodes."""

    length: int

    def live_nodes(self) -> LiveNodes: ...


class Consistency:
    """What one grammar's charts say of spans that nothing crosses."""

    def __init__(self, grammar: PCFG, continuation: Flags | None = None) -> None:
        """``continuation`` [symbols]: what is no constituent; by default the grammar's continuations."""
        flags = continuations(grammar) if continuation is None else continuation
        self.continuation = flags
        direction = linear(grammar, flags)
        self.one_pass = direction is not None
        self.mirrored = direction == "left"
        self._builder = GraphBuilder(graph_rules(grammar, flags, self.mirrored))

    def graph(self, length: int, nodes: LiveNodes, spines: bool = False) -> DerivationGraph:
        """The derivations of a sentence; with ``mirrored`` its positions count from the end."""
        if self.mirrored:
            nodes = nodes._replace(start=length - nodes.end, end=length - nodes.start)
        return self._builder.build(length, nodes, spines)

    def of_chart(self, length: int, nodes: LiveNodes) -> Doubles:
        """c by cell (grammar.charts.span_summary)."""
        graph = self.graph(length, nodes, spines=self.one_pass)
        if self.one_pass:
            return self.turned(length, consistent_spans(graph, graph.edge_share, graph.g_bottom))
        closings = Closings(graph)
        return self.joint(closings, closings.none)

    def closed(self, closings: Closings, brackets: Iterable[tuple[int, int]]) -> Flags:
        """The graph's cells that cross brackets of the sentence."""
        n = closings.graph.length
        closed = closings.none
        for start, end in brackets:
            span = (n - end, n - start) if self.mirrored else (start, end)
            closed = closed | closings.crossing(*span)
        return closed

    def joint(self, closings: Closings, closed: Flags) -> Doubles:
        """By cell, the probability that closed cells have no constituent, and that none crosses the span."""
        if self.one_pass:
            return self.joint_of(closings.graph, closings.conditioned(closed))
        n = closings.graph.length
        found = np.full(n * (n + 1) // 2, closings.mass(closed))
        for start in range(n):
            for end in range(start + 2, n + 1):
                if end - start < n:
                    crossed = closings.crossing(start, end)
                    found[cell_of(n, start, end)] = closings.mass(closed | crossed)
        return self.turned(n, found)

    def joint_of(self, graph: DerivationGraph, known: Conditioned) -> Doubles:
        """The same in one pass from what is known given the closed cells."""
        return self.turned(graph.length, known.mass * consistent_spans(graph, known.share, known.g_bottom))

    def turned(self, n: int, by_cell: Doubles) -> Doubles:
        """Values by cell of a mirrored sentence for the sentence itself."""
        if not self.mirrored:
            return by_cell
        starts, ends = np.triu_indices(n)
        turned: Doubles = by_cell[cell_of(n, n - 1 - ends, n - starts)]
        return turned


class ConsistentSpans:
    """c of one grammar's charts; what it takes is prepared at the first question."""

    def __init__(self, grammar: PCFG) -> None:
        self._grammar = grammar

    @cached_property
    def _consistency(self) -> Consistency:
        return Consistency(self._grammar)

    def of_chart(self, chart: NodeChart) -> Doubles:
        """c by cell (grammar.charts.span_summary)."""
        return self._consistency.of_chart(chart.length, chart.live_nodes())
