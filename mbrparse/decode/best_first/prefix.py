"""alpha_L, the probability of a prefix and the symbol after it, kept up while the chart grows.

alpha_L(N, j) = p(t_0..t_{j-1}, N from j): the grammar derives the tags before j, then an N that begins at
j, then anything. N begins at j as a root (j = 0), as the right child of a P whose left child is a
constituent L over i..j, or as the left child of a P that begins at j itself:

    seed(N, j)    = [j = 0] root(N) + sum over L = (i, j) in the chart, P -> L N of
                    alpha_L(P, i) p(P -> L N) beta(L)
    alpha_L(N, j) = sum over M of seed(M, j) closure(M, N)

where closure = I + Q + Q^2 + ..., Q(P, N) = sum over R of p(P -> N R), is the left-corner closure
(Jelinek & Lafferty 1991; Stolcke 1995), computed once per grammar as sparse rows. With the chart exhausted
these are the exact prefix probabilities; before, they grow with the chart, from the left: what begins at
j has alpha_L = 0 until something ends there. Like inside estimates, increments are passed on when they
exceed a share of what was passed before, from left to right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.best_first.agenda import settle
from mbrparse.decode.best_first.log_add import log_add
from mbrparse.decode.best_first.merits import Span, figure_of_merit
from mbrparse.decode.best_first.state import (
    AGENDA,
    BY_START,
    END,
    INSIDE,
    MERIT,
    NEXT_PROPOSED,
    NEXT_START,
    NONE,
    PASSED,
    PLACE,
    PREFIX_PASSED,
    PREFIX_PENDING,
    PROPOSED_AT,
    START,
    SYMBOL,
    TOTAL,
    Rules,
    Search,
)
from mbrparse.grammar.kernel import array_kernel, kernel
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.statistics.smoothed import SentenceStatistics

# A row of the closure is summed until what is left of it is less than this share.
REMAINDER = 1e-15
MAX_STEPS = 100_000


class LeftCorners(NamedTuple):
    """The left-corner closure in sparse rows.

    first      int32 [symbols + 1]; symbol int32 and weight float64 [entries]
    root       float64 [symbols]: log alpha_L at 0
    """

    first: IntArray
    symbol: IntArray
    weight: FloatArray
    root: FloatArray


def no_corners() -> LeftCorners:
    """What a merit without alpha_L is given."""
    return LeftCorners(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0))


def left_corners(grammar: PCFG) -> LeftCorners:
    """The closure of a grammar's left corners."""
    count = len(grammar.symbols)
    order = np.lexsort((grammar.left, grammar.parent))
    first = np.searchsorted(grammar.parent[order], np.arange(count + 1)).astype(np.int32)
    left, prob = grammar.left[order], np.exp(grammar.log_prob[order])
    rows = [_closure_row(symbol, first, left, prob) for symbol in range(count)]
    sizes = [len(symbols) for symbols, _ in rows]
    root = np.zeros(count)
    for symbol, mass in enumerate(np.exp(grammar.root_log_prob).tolist()):
        if mass > 0.0:
            root[rows[symbol][0]] += mass * rows[symbol][1]
    with np.errstate(divide="ignore"):
        return LeftCorners(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            np.concatenate([symbols for symbols, _ in rows]).astype(np.int32),
            np.concatenate([weights for _, weights in rows]),
            np.log(root),
        )


@array_kernel
def _closure_row(
    symbol: int, first: IntArray, left: IntArray, prob: FloatArray
) -> tuple[IntArray, FloatArray]:
    """One row of I + Q + Q^2 + ...: its symbols, and their weights."""
    count = len(first) - 1
    total, now, later = np.zeros(count), np.zeros(count), np.zeros(count)
    now[symbol] = 1.0
    for _ in range(MAX_STEPS):
        mass = 0.0
        later[:] = 0.0
        for parent in range(count):
            if now[parent] > 0.0:
                total[parent] += now[parent]
                mass += now[parent]
                for rule in range(first[parent], first[parent + 1]):
                    later[left[rule]] += now[parent] * prob[rule]
        if mass < REMAINDER:
            break
        now, later = later, now
    reached = np.nonzero(total)[0].astype(np.int32)
    return reached, total[reached]


@kernel
def start_prefix(search: Search, corners: LeftCorners) -> None:
    """alpha_L at the beginning of the sentence."""
    for symbol in range(len(corners.root)):
        search.prefix[TOTAL, 0, symbol] = corners.root[symbol]
        search.prefix[PREFIX_PASSED, 0, symbol] = corners.root[symbol]


@kernel
def prefix_from(rules: Rules, search: Search, corners: LeftCorners, item: int, gain: float) -> None:
    """Add to alpha_L what a gain in a chart constituent's inside probability opens at its end."""
    start = search.items[item, START]
    _open(rules, search, corners, item, gain, search.prefix[PREFIX_PASSED, start])


@array_kernel
def _open(
    rules: Rules, search: Search, corners: LeftCorners, item: int, gain: float, above: FloatArray
) -> None:
    """Add, at the end of ``item``, the sum over P of exp(above[P] + gain) p(P -> item N), closed."""
    end, symbol = search.items[item, END], search.items[item, SYMBOL]
    first, last = rules.first_of_left[symbol], rules.first_of_left[symbol + 1]
    if end >= len(search.prefix_dirty) or first == last:
        return
    top = -np.inf
    for rule in range(first, last):
        top = max(top, above[rules.parent[rule]] + rules.log_prob[rule])
    if top == -np.inf:
        return
    seeds, sums = np.zeros(len(above)), np.zeros(len(above))
    for rule in range(first, last):
        seeds[rules.right[rule]] += np.exp(above[rules.parent[rule]] + rules.log_prob[rule] - top)
    for seed in range(len(seeds)):
        if seeds[seed] > 0.0:
            for entry in range(corners.first[seed], corners.first[seed + 1]):
                sums[corners.symbol[entry]] += seeds[seed] * corners.weight[entry]
    for below in range(len(sums)):
        if sums[below] > 0.0:
            more = np.log(sums[below]) + top + gain
            search.prefix[TOTAL, end, below] = log_add(search.prefix[TOTAL, end, below], more)
            search.prefix[PREFIX_PENDING, end, below] = log_add(
                search.prefix[PREFIX_PENDING, end, below], more
            )
    search.prefix_dirty[end] = 1


@array_kernel
def pass_prefix(
    rules: Rules,
    search: Search,
    corners: LeftCorners,
    statistics: SentenceStatistics,
    merit_id: int,
    log_threshold: float,
) -> None:
    """Pass increments of alpha_L on to the right, and order the agenda's constituents anew."""
    for start in range(len(search.prefix_dirty)):
        if search.prefix_dirty[start] == 0:
            continue
        search.prefix_dirty[start] = 0
        pending, passed = search.prefix[PREFIX_PENDING, start], search.prefix[PREFIX_PASSED, start]
        if not np.any(pending > log_threshold + passed):
            continue
        gains = pending.copy()
        pending[:] = -np.inf
        for symbol in range(len(gains)):
            passed[symbol] = log_add(passed[symbol], gains[symbol])
        item = search.heads[BY_START, start]
        while item != NONE:
            _open(rules, search, corners, item, search.logs[item, PASSED], gains)
            item = search.items[item, NEXT_START]
        item = search.heads[PROPOSED_AT, start]
        while item != NONE:
            if search.items[item, PLACE] != NONE:
                span = Span(start, search.items[item, END], search.items[item, SYMBOL], item)
                inside = search.logs[item, INSIDE]
                search.logs[item, MERIT] = figure_of_merit(
                    merit_id, inside, statistics, span, search.prefix[TOTAL]
                )
                settle(search.heap, search.items, search.logs, item, search.counts[AGENDA])
            item = search.items[item, NEXT_PROPOSED]
