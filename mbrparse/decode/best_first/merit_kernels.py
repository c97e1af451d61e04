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

from typing import TYPE_CHECKING

import numpy as np

from mbrparse.charts.kernel import kernel
from mbrparse.decode.best_first.search_state import (
    AGENDA,
    BIGRAM,
    BIGRAM_SUM,
    END,
    INSIDE,
    LEFT,
    MERIT,
    NEIGHBOURS,
    NEXT_NEIGHBOURS,
    NEXT_PROPOSED,
    NONE,
    PARTNERS,
    PASSED,
    PLACE,
    PREFIX_GREW,
    PREFIX_PASSED,
    PREFIX_PENDING,
    PROPOSED_AT,
    RULE_PARENT,
    RULES_WITH,
    START,
    SYMBOL,
    TOTAL,
    TRIGRAM_SUM,
    UNIGRAM,
    MeritTables,
    Search,
    settle,
)

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


@kernel
def figure_of_merit(
    factors: int,
    log_inside: float,
    tables: MeritTables,
    j: int,
    k: int,
    symbol: int,
    serial: int,
    log_prefix: FloatArray,
) -> float:
    """The log of a product of ``factors`` for a symbol over t_j..t_{k-1}.

    So many constituents (``serial``) were proposed before it; ``log_prefix`` [n, symbols] holds alpha_L where
    it is needed.
    """
    log = 0.0
    if factors & SERIAL:
        log += serial
    if factors & PREFIX:
        log += log_prefix[j, symbol]
    if factors & PRIOR:
        log += tables.log_prior[symbol]
    if factors & LEFT_BOUNDARY:
        log += tables.log_left[tables.tags[j], symbol]
    if factors & BETA:
        log += log_inside
    if factors & TAGS:
        tags = tables.tag_logs[UNIGRAM, j]
        if k > j + 1:
            tags += tables.tag_logs[BIGRAM, j + 1]
            tags += tables.tag_logs[TRIGRAM_SUM, k] - tables.tag_logs[TRIGRAM_SUM, j + 2]
        log -= tags
    if factors & TAG_BIGRAMS:
        log -= tables.tag_logs[BIGRAM_SUM, k] - tables.tag_logs[BIGRAM_SUM, j]
    if factors & TAG_TRIGRAMS:
        log -= tables.tag_logs[TRIGRAM_SUM, k] - tables.tag_logs[TRIGRAM_SUM, j]
    if factors & PREFIX_TAGS:
        log -= tables.tag_logs[TRIGRAM_SUM, k]
    if factors & RIGHT_BOUNDARY:
        log += tables.log_right[tables.tags[k + 1], symbol] - tables.tag_logs[BIGRAM, k]
    if factors & MEAN_OF_SPAN:
        log /= k - j
    if factors & MEAN_OF_PREFIX:
        log /= k
    return log


@kernel
def update_merit(search: Search, tables: MeritTables, item: int) -> None:
    """Compute the merit of a constituent on the agenda, and move it to its new place."""
    search.logs[item, MERIT] = figure_of_merit(
        search.control.factors,
        search.logs[item, INSIDE],
        tables,
        search.items[item, START],
        search.items[item, END],
        search.items[item, SYMBOL],
        item,
        search.prefix[TOTAL],
    )
    settle(search.items, search.logs, search.counts[AGENDA], search.items[item, PLACE])


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
def extend_prefix(search: Search, tables: MeritTables, item: int, gain: float, above: FloatArray) -> None:
    """Add, at the end of ``item``, the sum over P of exp(above[P] + gain) p(P -> item N), closed."""
    end, symbol = search.items[item, END], search.items[item, SYMBOL]
    first, last = search.first[LEFT, symbol], search.first[LEFT, symbol + 1]
    if end >= search.prefix.shape[1] or first == last:
        return
    rules, partners = search.rules[RULES_WITH + LEFT], search.rules[PARTNERS + LEFT]
    parents = search.rules[RULE_PARENT]
    top = -np.inf
    for place in range(first, last):
        top = max(top, above[parents[rules[place]]] + search.log_prob[rules[place]])
    if top == -np.inf:
        return
    seeds, sums = np.zeros(len(above)), np.zeros(len(above))
    for place in range(first, last):
        value = above[parents[rules[place]]] + search.log_prob[rules[place]]
        seeds[partners[place]] += np.exp(value - top)
    for seed in range(len(seeds)):
        if seeds[seed] > 0.0:
            for entry in range(tables.corner_first[seed], tables.corner_first[seed + 1]):
                sums[tables.corner_symbol[entry]] += seeds[seed] * tables.corner_weight[entry]
    total, pending = search.prefix[TOTAL, end], search.prefix[PREFIX_PENDING, end]
    for below in range(len(sums)):
        if sums[below] > 0.0:
            more = np.log(sums[below]) + top + gain
            total[below] = np.logaddexp(total[below], more)
            pending[below] = np.logaddexp(pending[below], more)
    search.heads[PREFIX_GREW, end] = 1


@kernel
def pass_prefix(search: Search, tables: MeritTables) -> None:
    """Pass increments of alpha_L on to the right, and update the merits on the agenda."""
    items, heads = search.items, search.heads
    for start in range(search.prefix.shape[1]):
        if heads[PREFIX_GREW, start] == NONE:
            continue
        heads[PREFIX_GREW, start] = NONE
        pending, passed = search.prefix[PREFIX_PENDING, start], search.prefix[PREFIX_PASSED, start]
        if not np.any(pending > search.control.log_threshold + passed):
            continue
        gains = pending.copy()
        pending[:] = -np.inf
        passed[:] = np.logaddexp(passed, gains)
        item = heads[NEIGHBOURS + LEFT, start]
        while item != NONE:
            extend_prefix(search, tables, item, search.logs[item, PASSED], gains)
            item = items[item, NEXT_NEIGHBOURS + LEFT]
        item = heads[PROPOSED_AT, start]
        while item != NONE:
            if items[item, PLACE] != NONE:
                update_merit(search, tables, item)
            item = items[item, NEXT_PROPOSED]
