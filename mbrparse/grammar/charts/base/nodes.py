"""The nodes of a derivation, as kernels list them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.chart import Derivation
from mbrparse.grammar.charts.base.columns import Spans
from mbrparse.grammar.charts.base.rule_tables import Ints

#: Each id is its own name.
SYMBOL_IDS = range(1 << 31)


class Nodes(NamedTuple):
    """Nodes in pre-order, preterminals included; none when there is no parse."""

    start: Ints
    end: Ints
    symbol: Ints


def derivation_of(start: Ints, end: Ints, symbol: Ints, log_prob: float) -> Derivation:
    """The derivation that has these nodes, in preorder.

    Of the nodes over a single terminal the lowest is the preterminal.
    """
    inner = end - start > 1
    inner[:-1] |= (start[1:] == start[:-1]) & (end[1:] == end[:-1])
    nodes = Spans(start[inner], end[inner], symbol[inner], SYMBOL_IDS)
    return Derivation(log_prob, nodes, symbol[~inner].tolist())


def columns_of(nodes: Sequence[tuple[int, int, int]]) -> Spans[int]:
    """The nodes of a derivation as columns."""
    if isinstance(nodes, Spans):
        return nodes
    starts, ends, ids = np.array(nodes, np.int32).reshape(-1, 3).T
    return Spans(starts, ends, ids, SYMBOL_IDS)
