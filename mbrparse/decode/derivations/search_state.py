"""What a search of a forest works on: gains, best values, and the memory for them.

Every array of values is [.., lanes] (``gains``): a lane for each objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.gains import LANES, WEIGHTS, Gains, weight_sizes
from mbrparse.decode.derivations.unary_chains import ChainScratch
from mbrparse.grammar.charts.forest.packed_forest import Forest, new_floats, new_ints
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel

NO_NUMBERS: Floats = np.zeros(0)


class EdgeGains(NamedTuple):
    """What splits earn: ``weights[0]`` [lane] times ``mass`` [edge] and ``weights[1]`` times ``log_mass``.

    Without edges: none of the objectives looks at splits.
    """

    mass: Floats
    log_mass: Floats
    weights: Floats  # [2, lanes]
    share_lane: int  # a lane whose productions earn ``Gains.share`` times their children's inside, or -1


class BestValues(NamedTuple):
    """The best that nodes and groups reach, and the trees read off."""

    own: Floats  # [node, lane] of a node that is not rewritten by a unary rule
    best: Floats  # [node, lane] (the same array where there are no unary rules)
    split: Floats  # [group, lane]: its best two nodes, with what the split earns
    lexical: Floats  # [node, lane] what preterminals earn; -inf for other nodes over a word
    shared: Floats  # [production] in the lane of shares its best two nodes, with what the split earns
    left_value: Floats  # inside values of the forest's ``left_node``
    tree_nodes: Ints  # [3, any number] room for trees: start, end and symbol of their nodes
    tree_stack: Ints  # [height, 2] scratch: nodes that are still to be read off, and their ends
    tree_end: Ints  # by lane
    tree_value: Floats


class SearchState(NamedTuple):
    """A forest that is searched, what its parts earn, and the best values found."""

    forest: Forest
    gains: Gains
    edge_gains: EdgeGains
    chains: ChainScratch
    values: BestValues
    tie: float  # by which values of equal trees may differ (``margin``)
    stop: Ints  # not zero where the time is up (``Clock.stop``)


@kernel
def margin(state: SearchState, lane: int, value: float) -> float:
    """How much less than a value counts as equal to it: a share of it.

    Of a unit, where logarithms are summed up: where these are zero depends on how inside values are scaled.
    """
    edge_gains = state.edge_gains
    logarithms, total = weight_sizes(state.gains.weights, lane)
    if len(edge_gains.mass):
        logarithms += abs(edge_gains.weights[1, lane])
        total += abs(edge_gains.weights[0, lane]) + abs(edge_gains.weights[1, lane])
    return state.tie * (total if logarithms > 0 else abs(value))


def new_gains(forest: Forest, rule_log_prob: Floats, group_share: Floats) -> Gains:
    """Room for the gains of a forest."""
    nodes, unaries, productions = _sizes(forest)
    return Gains(
        node=_rows(nodes),
        unary=_rows(unaries),
        unary_rule=_rows(unaries),
        foot=_rows(len(forest.node_first)),
        production=new_floats(productions),
        children=new_floats(productions),
        span=np.zeros(len(forest.node_first)),
        rule_log_prob=rule_log_prob,
        weights=np.zeros((WEIGHTS, LANES)),
        share=new_floats(productions),
        group_share=group_share,
        scratch=np.zeros((1, LANES)),
    )


def new_values(forest: Forest, left_value: Floats) -> BestValues:
    """Room for the best values of a forest."""
    nodes, unaries, productions = _sizes(forest)
    own = _rows(nodes)
    return BestValues(
        own=own,
        best=_rows(nodes) if unaries else own,
        split=_rows(len(forest.group_pair)),
        lexical=_rows(nodes),
        shared=new_floats(productions),
        left_value=left_value,
        # A tree has a node no more than once.
        tree_nodes=new_ints(3, LANES * nodes),
        tree_stack=new_ints(nodes + 1, 2),
        tree_end=np.zeros(LANES, np.int32),
        tree_value=np.zeros(LANES),
    )


def _sizes(forest: Forest) -> tuple[int, int, int]:
    return len(forest.node_start), len(forest.unary_rule), len(forest.production_parent)


def _rows(count: int) -> Floats:
    return new_floats(count, LANES)
