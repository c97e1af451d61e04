"""The commonest tree among samples, drawn until it is clear which one that is: Monte Carlo after Bod (1993).

What is to be clear is that the leader leads. Its standard error, sqrt(p (1 - p) / N), does not say that: it
is smallest where there are many trees of small probability to choose from, which is where the leader is most
in doubt. A tree of probability q < p is drawn as often as one of probability p, or more often, with a
probability of no more than (1 - (sqrt p - sqrt q)^2)^N (Chernoff's bound, for multinomial counts).
``leader_error`` is the sum of that over all other trees drawn, frequencies standing for probabilities;
drawing ends once it is no more than asked. It is an estimate, and so looked at seldom: after 100 samples,
200, 400 and so on.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from mbrparse.decode.candidates.sampler import Samples
from mbrparse.decode.decoders import Estimate
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.pcfg import FloatArray

MAX_SAMPLES = 1000
MAX_ERROR = 0.01
_FIRST = 100


class Drawing(Protocol):
    """Derivations of one sentence, some at a time."""

    def more(self, count: int) -> Samples: ...


class Leader(NamedTuple):
    """The commonest tree; of equally common ones the first drawn.

    ``nodes`` [node, 3] are starts, ends and names in preorder, ``symbols`` [derivation, position] the
    preterminals of the derivations that look like it.
    """

    nodes: Ints
    symbols: Ints
    estimate: Estimate


class _Tree:
    """One of the trees, and what was drawn of it."""

    def __init__(self, nodes: Ints) -> None:
        self.nodes = nodes
        self.count = 0
        self.symbols: list[Ints] = []


def leader(draws: Drawing, name: Ints, max_samples: int, max_error: float) -> Leader:
    """Draw no more than so many, until the leader's error is no more than ``max_error`` (0: all of them).

    ``name`` [symbol] is what trees show of a symbol (``Samples.trees``).
    """
    trees: dict[bytes, _Tree] = {}
    drawn = 0
    while True:
        count = min(max(drawn, _FIRST), max_samples - drawn) if max_error > 0 else max_samples
        samples = draws.more(count)
        drawn += count
        preterminals = samples.symbol[~samples.constituents()].reshape(count, -1)
        for tree in samples.trees(name):
            known = trees.setdefault(tree.nodes.tobytes(), _Tree(tree.nodes))
            known.count += len(tree.drawn)
            known.symbols.append(preterminals[tree.drawn])
        best = max(trees.values(), key=lambda tree: tree.count)
        others = np.array([tree.count for tree in trees.values() if tree is not best], np.float64)
        error = leader_error(best.count, others, drawn)
        if error <= max_error or drawn >= max_samples:
            break
    share = best.count / drawn
    estimate = Estimate(share, math.sqrt(share * (1 - share) / drawn), error, drawn)
    return Leader(best.nodes, np.concatenate(best.symbols), estimate)


def leader_error(count: float, others: FloatArray, drawn: int) -> float:
    """The bound of how probably another tree is drawn no less often, from counts; at most one.

    >>> round(leader_error(60, np.array([30.0, 10.0]), 100), 4)
    0.0051
    """
    apart = (math.sqrt(count / drawn) - np.sqrt(others / drawn)) ** 2
    return min(float(np.sum((1 - apart) ** drawn)), 1.0)
