"""Memory for the search of the best chains of unary rules, cell by cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.gains import LANES
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import steady
from mbrparse.grammar.unary_cycles import components


@steady
class ChainScratch(NamedTuple):
    """Scratch for the chains of one cell; nodes are counted from the cell's first."""

    head: Ints  # by node: its first unary as a parent, or -1
    following: Ints  # by unary of the cell: the parent's next one, or -1
    on_path: Ints  # by node: whether it is on the path
    most: Floats  # by node: what it and the step to it may earn at most
    path: Ints  # by depth: nodes of the path
    cursor: Ints
    value: Floats
    rest: Floats
    best_path: Ints  # the best path found, from the top down
    rank: Ints  # by symbol: its component, children before parents; empty where gains do not add up
    order: Ints  # nodes by rank
    # Rows of lanes by node: its best chain; the best that leaves its component at once; its best with or
    # without a chain, as the foot of one from above; and by depth what a path has earned.
    chain: Floats
    leaving: Floats
    below: Floats
    earned: Floats


MEMBERS = 4  # of a component in a cell whose paths are all tried


def ranks(symbols: int, parents: Ints, children: Ints) -> Ints:
    """By symbol the component of its unary rules, children before parents."""
    rules: dict[int, dict[int, float]] = {}
    for parent, child in zip(parents.tolist(), children.tolist(), strict=True):
        rules.setdefault(parent, {})[child] = 1.0
    found = components(rules)
    # The others come first, each for itself.
    rank = np.arange(symbols, dtype=np.int32)
    for number, members in enumerate(found):
        rank[members] = symbols + number
    return rank


def new_scratch(nodes: int, unaries: int, rank: Ints) -> ChainScratch:
    """Scratch for cells of so many nodes and unaries; ``rank`` (``ranks``) is empty if labels are shared."""

    return ChainScratch(
        _ints(nodes + 1),
        _ints(unaries + 1),
        _ints(nodes + 1),
        np.zeros(nodes + 1),
        _ints(nodes + 1),
        _ints(nodes + 1),
        np.zeros(nodes + 1),
        np.zeros(nodes + 1),
        _ints(nodes + 1),
        rank,
        _ints(nodes + 1),
        np.zeros((nodes + 1, LANES)),
        np.zeros((nodes + 1, LANES)),
        np.zeros((nodes + 1, LANES)),
        np.zeros((MEMBERS + 1, LANES)),
    )


def _ints(size: int) -> Ints:
    return np.zeros(size, np.int32)
