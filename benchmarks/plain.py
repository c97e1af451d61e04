"""Plain active-list kernels for one sentence: the textbook's inside, outside and Viterbi.

Charts are dense arrays [n, n + 1, symbols], scaled per cell: a cell's values are its probabilities
times exp(-log_scale).
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import PCFG


class PlainTables:
    """Rules sorted by left child."""

    def __init__(self, grammar: PCFG) -> None:
        order = np.lexsort((grammar.parent, grammar.right, grammar.left))
        self.parent = grammar.parent[order]
        self.right = grammar.right[order]
        self.prob = np.exp(grammar.log_prob[order])
        self.first = np.searchsorted(grammar.left[order], np.arange(len(grammar.symbols) + 1)).astype(
            np.int32
        )
        self.root = np.exp(grammar.root_log_prob)
        self.lex_first = np.searchsorted(
            grammar.lexical_terminal, np.arange(len(grammar.terminals) + 1)
        ).astype(np.int32)
        self.lex_symbol = grammar.lexical_symbol
        self.lex_prob = np.exp(grammar.lexical_log_prob)


@kernel
def lexical(words, lex_first, lex_symbol, lex_prob, symbols):  # type: ignore
    n = len(words)
    inside = np.zeros((n, n + 1, symbols))
    for i in range(n):
        for k in range(lex_first[words[i]], lex_first[words[i] + 1]):
            inside[i, i + 1, lex_symbol[k]] = lex_prob[k]
    return inside


@kernel
def fill_inside(inside, first, parent, right, prob):  # type: ignore
    n, _, symbols = inside.shape
    log_scale = np.zeros((n, n + 1))
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            top = -np.inf
            for k in range(i + 1, j):
                top = max(top, log_scale[i, k] + log_scale[k, j])
            cell = inside[i, j]
            if top == -np.inf:
                log_scale[i, j] = -np.inf
                continue
            for k in range(i + 1, j):
                factor = np.exp(log_scale[i, k] + log_scale[k, j] - top)
                if factor == 0.0:
                    continue
                for b in range(symbols):
                    x = inside[i, k, b] * factor
                    if x == 0.0:
                        continue
                    for r in range(first[b], first[b + 1]):
                        cell[parent[r]] += x * inside[k, j, right[r]] * prob[r]
            largest = cell.max()
            if largest == 0.0:
                log_scale[i, j] = -np.inf
            else:
                cell /= largest
                log_scale[i, j] = top + np.log(largest)
    return log_scale


@kernel
def fill_outside(inside, log_scale, root, first, parent, right, prob):  # type: ignore
    n, _, symbols = inside.shape
    outside = np.zeros(inside.shape)
    out_scale = np.full((n, n + 1), -np.inf)
    outside[0, n] = root
    out_scale[0, n] = 0.0
    # Scales first follow the spans: an outer bound, mended when the cell is reached.
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            j = i + width
            cell = outside[i, j]
            largest = cell.max()
            if largest == 0.0 or log_scale[i, j] == -np.inf:
                continue
            cell /= largest
            out_scale[i, j] += np.log(largest)
            for k in range(i + 1, j):
                for side in range(2):
                    s, e = (i, k) if side == 0 else (k, j)
                    os, oe = (k, j) if side == 0 else (i, k)
                    new = out_scale[i, j] + log_scale[os, oe]
                    if new == -np.inf:
                        continue
                    old = out_scale[s, e]
                    if new > old:
                        if old > -np.inf:
                            outside[s, e] *= np.exp(old - new)
                        out_scale[s, e] = new
                        old = new
                    factor = np.exp(new - old)
                    for b in range(symbols):
                        x = inside[i, k, b]
                        if x == 0.0:
                            continue
                        for r in range(first[b], first[b + 1]):
                            c = right[r]
                            y = inside[k, j, c]
                            if y == 0.0:
                                continue
                            p = cell[parent[r]] * prob[r] * factor
                            if side == 0:
                                outside[i, k, b] += p * y
                            else:
                                outside[k, j, c] += p * x
    return outside, out_scale


@kernel
def collect(inside, log_scale, outside, out_scale, log_prob, label_ids, labels):  # type: ignore
    n, _, symbols = inside.shape
    g = np.zeros(labels)
    size = 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            for a in range(symbols):
                if inside[i, j, a] * outside[i, j, a] > 0.0:
                    size += 1
    starts = np.zeros(size, np.int32)
    ends = np.zeros(size, np.int32)
    ids = np.zeros(size, np.int32)
    values = np.zeros(size)
    m = 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            g[:] = 0.0
            factor = np.exp(log_scale[i, j] + out_scale[i, j] - log_prob)
            for a in range(symbols):
                g[label_ids[a]] += inside[i, j, a] * outside[i, j, a] * factor
            for x in range(labels):
                if g[x] > 0.0:
                    starts[m], ends[m], ids[m], values[m] = i, j, x, g[x]
                    m += 1
    return starts[:m], ends[:m], ids[:m], values[:m]


@kernel
def fill_viterbi(best, first, parent, right, log_prob):  # type: ignore
    n, _, symbols = best.shape
    split_of = np.zeros(best.shape, np.int32)
    rule_of = np.full(best.shape, -1, np.int32)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            for k in range(i + 1, j):
                for b in range(symbols):
                    x = best[i, k, b]
                    if x == -np.inf:
                        continue
                    for r in range(first[b], first[b + 1]):
                        y = best[k, j, right[r]]
                        if y == -np.inf:
                            continue
                        score = x + y + log_prob[r]
                        a = parent[r]
                        old = best[i, j, a]
                        if score > old + 1e-9 * abs(old) or old == -np.inf:
                            best[i, j, a] = score
                            split_of[i, j, a] = k
                            rule_of[i, j, a] = r
    return split_of, rule_of
