"""The nodes of a forest, without what they are made of."""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import steady


@steady
class ForestNodes(NamedTuple):
    """Arrays by cell and node, as ``Forest`` has them."""

    node_first: Ints  # by cell
    node_start: Ints
    node_symbol: Ints
    inside: Floats
    outside: Floats
    lexical: Floats


def nodes_of(forest: Forest) -> ForestNodes:
    """Those of a forest; it may be filled anew."""
    return ForestNodes(
        forest.node_first,
        forest.node_start,
        forest.node_symbol,
        forest.inside,
        forest.outside,
        forest.lexical,
    )


class SentenceNodes(NamedTuple):
    """The nodes of a sentence's forest, with the logarithms of what their values are scaled by.

    ``log_scale`` is that of what the inside values are multiplied by, ``log_total`` that of the sentence's
    probability, so multiplied (-inf: no parse).
    """

    nodes: ForestNodes
    log_scale: float
    log_total: float

    @property
    def log_prob(self) -> float:
        """The logarithm of the sentence's probability."""
        return self.log_total - self.log_scale
