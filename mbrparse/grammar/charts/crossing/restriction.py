"""The part of a graph that is left when some of its cells are closed, as a graph of its own."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.crossing.closings import Conditioned
from mbrparse.grammar.charts.crossing.derivation_graph import DerivationGraph


def restricted(graph: DerivationGraph, known: Conditioned) -> DerivationGraph:
    """The derivations that are left, with probabilities given that; of graphs without unary rules."""
    kept = known.share > 0
    parent, left, right = (ids[kept] for ids in (graph.edge_parent, graph.edge_left, graph.edge_right))
    used = known.g_bottom > 0
    used[left] = used[right] = True
    number = np.cumsum(used, dtype=np.int32) - 1
    edges_before = np.concatenate(([0], np.cumsum(kept, dtype=np.int32)))
    nodes_before = np.concatenate(([0], np.cumsum(used, dtype=np.int32)))
    first, last = graph.node_first[-2], graph.node_first[-1]
    root = np.zeros(len(used))
    root[first:last] = known.g_bottom[first:last]
    return graph._replace(
        node_first=nodes_before[graph.node_first].astype(np.int32),
        node_start=graph.node_start[used],
        node_end=graph.node_end[used],
        node_symbol=graph.node_symbol[used],
        node_continuation=graph.node_continuation[used],
        g_bottom=known.g_bottom[used],
        root=root[used],
        edge_first=edges_before[graph.edge_first].astype(np.int32),
        edge_parent=number[parent],
        edge_left=number[left],
        edge_right=number[right],
        edge_share=known.share[kept],
    )
