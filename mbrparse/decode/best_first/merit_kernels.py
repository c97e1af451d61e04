"""Figures of merit, and alpha_L, the prefix probability that some of them need.

A figure of merit is a product of factors, given as bits; ``figure_of_merit`` adds their logs. alpha_L is the
probability of a prefix and of the symbol after it, and is kept up while the chart grows:

    alpha_L(N, j) = p(t_0..t_{j-1}, N from j)

where the grammar derives the tags before j, then an N that begins at j, then anything. N begins at j as a
root (j = 0), as the right child of a P whose left child is a constituent L over i..j, or as the left child
of a P that begins at j itself:

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

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbrparse.decode.best_first.search_state import (
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
    Control,
    Rules,
    Search,
    log_add,
    settle,
)
from mbrparse.grammar.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray


# Factors of a figure of merit, for N over t_j..t_{k-1} and with beta its inside estimate.
SERIAL = 1  # how many constituents were proposed before (alone: last in, first out)
BETA = 2  # beta
PREFIX = 4  # alpha_L
PRIOR = 8  # p(N)
LEFT_BOUNDARY = 16  # p(N | t_{j-1})
TAGS = 32  # 1 / p(t_j..t_{k-1})
TAG_BIGRAMS = 64  # 1 / p(t_j..t_{k-1} | t_{j-1})
TAG_TRIGRAMS = 128  # 1 / p(t_j..t_{k-1} | t_{j-2}, t_{j-1})
PREFIX_TAGS = 256  # 1 / p(t_0..t_{k-1})
RIGHT_BOUNDARY = 512  # p(t_k | N) / p(t_k | t_{k-1})
MEAN_OF_SPAN = 1024  # the (k-j)th root of the product
MEAN_OF_PREFIX = 2048  # its kth root

# A row of the closure is summed until what is left of it is less than this share.
REMAINDER = 1e-15
MAX_STEPS = 100_000


class Span(NamedTuple):
    """A proposed constituent: 0-based half-open positions, and how many were proposed before it."""

    start: int
    end: int
    symbol: int
    serial: int


class SentenceStatistics(NamedTuple):
    """The statistics of one sentence t_0..t_{n-1}, for kernels; all logs are natural.

    log_prior      float64 [symbols]            p(N): the share of N among all constituents, tags included
    log_left       float64 [tags + 1, symbols]  p(N | t); the last row is the boundary's
    log_right      float64 [tags + 1, symbols]  p(t | N), by tag first
    tags           int32 [n + 2]                t_{-1}, t_0, ..., t_n
    log_unigram    float64 [n + 1]              p(t_m), for m = 0..n
    log_bigram     float64 [n + 1]              p(t_m | t_{m-1})
    bigram_sum     float64 [n + 2]              sum of log_bigram[:m]
    trigram_sum    float64 [n + 2]              the same of p(t_m | t_{m-2}, t_{m-1})
    """

    log_prior: FloatArray
    log_left: FloatArray
    log_right: FloatArray
    tags: IntArray
    log_unigram: FloatArray
    log_bigram: FloatArray
    bigram_sum: FloatArray
    trigram_sum: FloatArray


class LeftCorners(NamedTuple):
    """The left-corner closure in sparse rows.

    first      int32 [symbols + 1]; symbol int32 and weight float64 [entries]
    root       float64 [symbols]: log alpha_L at 0
    """

    first: IntArray
    symbol: IntArray
    weight: FloatArray
    root: FloatArray


@kernel
def figure_of_merit(
    factors: int, log_inside: float, statistics: SentenceStatistics, span: Span, log_prefix: FloatArray
) -> float:
    """The log of a product of ``factors``; ``log_prefix`` [n, symbols] holds alpha_L where it is needed."""
    j, k, symbol = span.start, span.end, span.symbol
    log = 0.0
    if factors & SERIAL:
        log += span.serial
    if factors & PREFIX:
        log += log_prefix[j, symbol]
    if factors & PRIOR:
        log += statistics.log_prior[symbol]
    if factors & LEFT_BOUNDARY:
        log += statistics.log_left[statistics.tags[j], symbol]
    if factors & BETA:
        log += log_inside
    if factors & TAGS:
        tags = statistics.log_unigram[j]
        if k > j + 1:
            tags += statistics.log_bigram[j + 1]
            tags += statistics.trigram_sum[k] - statistics.trigram_sum[j + 2]
        log -= tags
    if factors & TAG_BIGRAMS:
        log -= statistics.bigram_sum[k] - statistics.bigram_sum[j]
    if factors & TAG_TRIGRAMS:
        log -= statistics.trigram_sum[k] - statistics.trigram_sum[j]
    if factors & PREFIX_TAGS:
        log -= statistics.trigram_sum[k]
    if factors & RIGHT_BOUNDARY:
        log += statistics.log_right[statistics.tags[k + 1], symbol] - statistics.log_bigram[k]
    if factors & MEAN_OF_SPAN:
        log /= k - j
    if factors & MEAN_OF_PREFIX:
        log /= k
    return log


@kernel
def update_merit(search: Search, item: int, statistics: SentenceStatistics, control: Control) -> None:
    """Compute the merit of a constituent on the agenda, and move it to its new place."""
    start, end, symbol = search.items[item, START], search.items[item, END], search.items[item, SYMBOL]
    search.logs[item, MERIT] = figure_of_merit(
        control.factors,
        search.logs[item, INSIDE],
        statistics,
        Span(start, end, symbol, item),
        search.prefix[TOTAL],
    )
    settle(search.heap, search.items, search.logs, item, search.counts[AGENDA])


@kernel
def closure_row(
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
def prefix_from(rules: Rules, search: Search, corners: LeftCorners, item: int, gain: float) -> None:
    """Update alpha_L at the end of a chart constituent whose inside probability has grown."""
    start = search.items[item, START]
    extend_prefix(rules, search, corners, item, gain, search.prefix[PREFIX_PASSED, start])


@kernel
def extend_prefix(
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


@kernel
def pass_prefix(
    rules: Rules,
    search: Search,
    corners: LeftCorners,
    statistics: SentenceStatistics,
    control: Control,
) -> None:
    """Pass increments of alpha_L on to the right, and update the merits on the agenda."""
    for start in range(len(search.prefix_dirty)):
        if search.prefix_dirty[start] == 0:
            continue
        search.prefix_dirty[start] = 0
        pending, passed = search.prefix[PREFIX_PENDING, start], search.prefix[PREFIX_PASSED, start]
        if not np.any(pending > control.log_threshold + passed):
            continue
        gains = pending.copy()
        pending[:] = -np.inf
        for symbol in range(len(gains)):
            passed[symbol] = log_add(passed[symbol], gains[symbol])
        item = search.heads[BY_START, start]
        while item != NONE:
            extend_prefix(rules, search, corners, item, search.logs[item, PASSED], gains)
            item = search.items[item, NEXT_START]
        item = search.heads[PROPOSED_AT, start]
        while item != NONE:
            if search.items[item, PLACE] != NONE:
                update_merit(search, item, statistics, control)
            item = search.items[item, NEXT_PROPOSED]
