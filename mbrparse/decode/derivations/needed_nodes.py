"""Which nodes trees may need, once their values are found: a search goes on with no others.

Where a node's value and the most that a tree earns around its cell stay below what some tree is known to
earn, no best tree has the node. Two kinds of gains are known better than by cell. A derivation's context of
a node is no more probable than all of them, the node's outside value. And a product of posteriors telescopes
up to the inside value of the node on top (``gains``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.bounds import Bounds, Earnings
from mbrparse.decode.derivations.forest_search import is_found
from mbrparse.decode.derivations.gains import LANES, LOG_NODE, RULE
from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.vector import add, choose_greater, load, multiply_add, spread, store
from mbrparse.grammar.kernel import kernel

_LOWER, _BY_INSIDE, _BY_OUTSIDE, _NOTHING = range(4)


class Needed(NamedTuple):
    """What nodes are to reach."""

    around: Floats  # [cell, lane] what trees earn there at most
    rows: Floats  # [4, lane]: least values, weights of logarithms of inside and outside values, -inf
    logs: Floats  # scratch: two logarithms


def needed(earnings: Earnings, bounds: Bounds, bounded: bool) -> Needed:
    """By bounds that ``narrow`` has found; without them every node is needed."""
    by_rule, by_log = earnings.weights[RULE], earnings.weights[LOG_NODE]
    rows = np.zeros((4, LANES))
    rows[_NOTHING] = -np.inf
    rows[_BY_INSIDE] = -by_log
    rows[_BY_OUTSIDE] = np.where(by_log == 0, by_rule, 0.0)
    rows[_LOWER] = earnings.lower - rows[_BY_OUTSIDE] * earnings.log_total
    # What telescopes and what does not are not told apart.
    mixed = (by_log != 0) & (by_log != by_rule)
    rows[_LOWER, mixed if bounded else slice(None)] = -np.inf
    return Needed(bounds.around, rows, np.zeros(2))


@kernel
def drop_values(given: Needed, forest: Forest, best: Floats, alive: Ints, cell: int) -> None:
    """Take from a cell's nodes the values that no best tree needs; ``alive`` are those that keep some."""
    around, rows, logs, inside, outside = given.around, given.rows, given.logs, forest.inside, forest.outside
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        alive[node] = is_found(best, node)
        if not alive[node]:
            continue
        logs[0], logs[1] = np.log(inside[node]), np.log(outside[node])
        value = load(best, node, 0)
        reached = multiply_add(load(rows, _BY_INSIDE, 0), spread(logs, 0), value)
        reached = multiply_add(load(rows, _BY_OUTSIDE, 0), spread(logs, 1), reached)
        reached = add(reached, load(around, cell, 0))
        value = choose_greater(load(rows, _LOWER, 0), reached, load(rows, _NOTHING, 0), value)
        store(best, node, 0, value)
        alive[node] = is_found(best, node)
