"""The nodes of a derivation, as kernels list them."""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.grammar.charts.chart import Derivation
from mbrparse.grammar.charts.rule_tables import Ints


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
    nodes = zip(start[inner].tolist(), end[inner].tolist(), symbol[inner].tolist(), strict=True)
    return Derivation(log_prob, list(nodes), symbol[~inner].tolist())
