"""Unary rules A -> B as a graph: its cycles, and the sums over all chains.

A chain of unary rules may go around a cycle any number of times. The sum over all chains is finite
unless some cycle is left with probability zero; a grammar with such a cycle is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mbrparse.errors import GrammarError

#: A symbol, by its id or its name.
Key = TypeVar("Key", int, str)
#: For each parent its unary children with their probabilities.
UnaryRules = Mapping[Key, Mapping[Key, float]]

# A smaller probability of leaving a component counts as zero: the sums would be beyond double precision.
LEAST_EXIT = 1e-15


def components(rules: UnaryRules[Key]) -> list[list[Key]]:
    """The strongly connected components, each in the order of its symbols, children before their parents.

    Tarjan's algorithm (1972) without recursion. Symbols without a unary rule above or below them are
    left out.

    >>> components({0: {1: 0.5}, 1: {2: 0.5, 0: 0.1}})
    [[2], [0, 1]]
    """
    groups: list[list[Key]] = []
    order: dict[Key, int] = {}  # of discovery
    lowest: dict[Key, int] = {}
    open_nodes: list[Key] = []
    closed: set[Key] = set()
    for root in sorted(rules):
        if root in order:
            continue
        order[root] = lowest[root] = len(order)
        open_nodes.append(root)
        path = [(root, iter(sorted(rules[root])))]
        while path:
            node, children = path[-1]
            for child in children:
                if child not in order:
                    order[child] = lowest[child] = len(order)
                    open_nodes.append(child)
                    path.append((child, iter(sorted(rules.get(child, ())))))
                    break
                if child not in closed:
                    lowest[node] = min(lowest[node], order[child])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == order[node]:
                    members = [open_nodes.pop()]
                    while members[-1] != node:
                        members.append(open_nodes.pop())
                    groups.append(sorted(members))
                    closed.update(members)
    return groups


def component_closure(
    members: Sequence[Key],
    rules: UnaryRules[Key],
    others: Mapping[Key, float],
    name: Callable[[Key], str],
    source: str | None = None,
) -> npt.NDArray[np.float64]:
    """(I - U)^-1 over one component: [A, B] is the expected number of B's in chains that begin with A.

    ``others`` are, for each symbol, what its rules that are not unary have together. A symbol's rules are
    taken to sum to one: the difference counts as the probability of A -> A.

    Elimination without a subtraction (after Grassmann, Taksar & Heyman 1985; Alfa, Xue & Ye 2002): it
    works on what leaves a symbol instead of 1 - U[A, A], so that every digit holds however near to one
    a cycle's probability is. Raises GrammarError where the sum diverges.
    """
    size = len(members)
    if size == 1 and members[0] not in rules.get(members[0], {}):
        return np.eye(1)
    place = {symbol: position for position, symbol in enumerate(members)}
    inner = np.zeros((size, size))  # U without its diagonal
    exits = np.zeros(size)  # what does not stay in the component
    for position, symbol in enumerate(members):
        leaves = [others.get(symbol, 0.0)]
        for child, prob in rules.get(symbol, {}).items():
            if child not in place:
                leaves.append(prob)
            elif child != symbol:
                inner[position, place[child]] = prob
        exits[position] = math.fsum(leaves)
    result = np.eye(size)
    pivots = np.zeros(size)
    for k in range(size):
        pivots[k] = exits[k] + inner[k, k + 1 :].sum()
        if pivots[k] < LEAST_EXIT:
            raise _divergence(members, rules, name, source)
        # Of a long cycle nearly nothing is above zero.
        rows, columns = (k + 1 + np.flatnonzero(part[k + 1 :]) for part in (inner[:, k], inner[k]))
        below = inner[rows, k] / pivots[k]
        inner[np.ix_(rows, columns)] += np.outer(below, inner[k, columns])
        inner[rows, rows] = 0.0  # 1 - U[A, A] is made of the others
        exits[rows] += below * exits[k]
        result[rows] += np.outer(below, result[k])
    for k in range(size - 1, -1, -1):
        columns = k + 1 + np.flatnonzero(inner[k, k + 1 :])
        result[k] = (result[k] + inner[k, columns] @ result[columns]) / pivots[k]
    return result


def check_unary_rules(
    rules: UnaryRules[Key], others: Mapping[Key, float], name: Callable[[Key], str], source: str | None = None
) -> None:
    """Raise GrammarError if a cycle of unary rules is never left; see ``component_closure``."""
    for members in components(rules):
        component_closure(members, rules, others, name, source)


def _divergence(
    members: Sequence[Key], rules: UnaryRules[Key], name: Callable[[Key], str], source: str | None
) -> GrammarError:
    # Follow the most probable rules until a symbol is repeated.
    inside = set(members)
    chain = [members[0]]
    while chain.count(chain[-1]) == 1:
        children = {child: prob for child, prob in rules[chain[-1]].items() if child in inside}
        chain.append(max(sorted(children), key=lambda child: children[child]))
    cycle = chain[chain.index(chain[-1]) :]
    return GrammarError(
        f"the unary rules {' -> '.join(map(name, cycle))} are a cycle of probability one, "
        "which is never left",
        source=source,
        remedy=f"give {name(cycle[0])} other rules too, or take one of the cycle's rules out",
    )
