"""Charts of sentences: inside, outside, Viterbi, asked for by span."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbrparse.grammar import plain
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray

SpanEntries = tuple[IntArray, IntArray, IntArray, FloatArray]


@dataclass(frozen=True)
class Derivation:
    """A derivation's constituents (width 2 or more) as (start, end, symbol id), in preorder."""

    log_prob: float
    nodes: list[tuple[int, int, int]]


class Chart:
    """The chart of one sentence."""

    def __init__(self, grammar: PCFG, tables: plain.PlainTables, words: IntArray) -> None:
        self.grammar = grammar
        self.tables = tables
        self.terminal_ids = words
        self.length = len(words)
        t = tables
        self._inside = plain.lexical(words, t.lex_first, t.lex_symbol, t.lex_prob, len(grammar.symbols))
        self._in_scale = plain.fill_inside(self._inside, t.first, t.parent, t.right, t.prob)
        with np.errstate(divide="ignore"):
            self.log_prob = float(
                np.log(self._inside[0, self.length] @ t.root) + self._in_scale[0, self.length]
            )

    def span_posteriors(self) -> SpanEntries:
        """(starts, ends, label ids, g) above zero, in order of start, end, label."""
        t = self.tables
        outside, out_scale = plain.fill_outside(
            self._inside, self._in_scale, t.root, t.first, t.parent, t.right, t.prob
        )
        return plain.collect(
            self._inside,
            self._in_scale,
            outside,
            out_scale,
            self.log_prob,
            self.grammar.label_ids,
            len(self.grammar.labels),
        )

    def viterbi(self) -> Derivation:
        """The most probable derivation."""
        t = self.tables
        g = self.grammar
        with np.errstate(divide="ignore"):
            best = np.log(
                plain.lexical(self.terminal_ids, t.lex_first, t.lex_symbol, t.lex_prob, len(g.symbols))
            )
            rule_log = np.log(t.prob)
        split_of, rule_of = plain.fill_viterbi(best, t.first, t.parent, t.right, rule_log)
        left = np.repeat(np.arange(len(g.symbols)), np.diff(t.first))
        scores = best[0, self.length] + g.root_log_prob
        root, top = -1, -math.inf
        for a, score in enumerate(scores):
            if score > top + 1e-9 * abs(top) or (top == -math.inf and score > top):
                root, top = a, score
        nodes = []
        stack = [(0, self.length, root)]
        while stack:
            i, j, a = stack.pop()
            if j - i == 1:
                continue
            nodes.append((i, j, a))
            k, r = int(split_of[i, j, a]), int(rule_of[i, j, a])
            stack.append((k, j, int(t.right[r])))
            stack.append((i, k, int(left[r])))
        return Derivation(top, nodes)


class ChartFactory:
    """Fills charts for one grammar."""

    def __init__(self, grammar: PCFG) -> None:
        self.grammar = grammar
        self._tables = plain.PlainTables(grammar)

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """One chart per sentence of known terminals."""
        return [Chart(self.grammar, self._tables, words) for words in sentences]
