"""Splitting the states of a grammar, merging those that gain least, and smoothing (Petrov et al. 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.rule_tables import Floats
from mbrparse.grammar.rules import is_terminal
from mbrparse.training.split_merge.e_step import Change, ObservedEStep
from mbrparse.training.split_merge.state_kernels import Pairs
from mbrparse.training.split_merge.states import ROOT, Layout, StateGrammar, inner_children

#: Probabilities of a split's halves differ by up to this, relative.
PERTURBATION = 0.01


def split(grammar: StateGrammar, seed: int, cycle: int) -> StateGrammar:
    """Each state in two, at random but for the seed, the root's symbol aside."""
    random = np.random.Generator(np.random.PCG64([seed, cycle]))
    states = {
        symbol: histories if symbol == ROOT else tuple(state + bit for state in histories for bit in "01")
        for symbol, histories in grammar.states.items()
    }
    blocks = []
    for rule, block in zip(grammar.rules, grammar.blocks, strict=True):
        ways = [1 if child is None else 2 for child in inner_children(rule)]
        halves = block.repeat(ways[0], 0).repeat(ways[1], 1)
        if rule.parent != ROOT:
            halves = halves.repeat(2, 2)
        noise = random.uniform(-PERTURBATION, PERTURBATION, halves.shape)
        blocks.append(halves * (1.0 + noise) / (ways[0] * ways[1]))
    return normalized(grammar.changed(states, blocks))


def normalized(grammar: StateGrammar) -> StateGrammar:
    """The same with sums of one for each parent's state that has rules."""
    totals: dict[str, Floats] = {}
    for rule, block in zip(grammar.rules, grammar.blocks, strict=True):
        totals[rule.parent] = totals.get(rule.parent, 0.0) + block.sum(axis=(0, 1))
    parts = (
        block / np.where(totals[rule.parent] > 0, totals[rule.parent], 1.0)
        for rule, block in zip(grammar.rules, grammar.blocks, strict=True)
    )
    return grammar.changed(grammar.states, parts)


class Merger(NamedTuple):
    """Which pairs of states are merged, and how: by symbol."""

    merged: dict[str, list[bool]]
    shares: dict[str, Floats]  # [states] of its pair's expected frequency


def least_losses(step: ObservedEStep, grammar: StateGrammar, fraction: float) -> Merger:
    """The fraction of all pairs whose merger loses least of the likelihood; ties go by the symbols' order."""
    losses, shares = merge_losses(step, grammar)
    ranked = sorted(
        (-loss, place, pair)
        for place, symbol in enumerate(grammar.symbols)
        for pair, loss in enumerate(losses[symbol].tolist())
    )
    merged = {symbol: [False] * len(losses[symbol]) for symbol in grammar.symbols}
    for _, place, pair in ranked[: int(fraction * len(ranked))]:
        merged[grammar.symbols[place]][pair] = True
    return Merger(merged, shares)


def merge_losses(step: ObservedEStep, grammar: StateGrammar) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """By symbol the log of what each pair's merger leaves of the likelihood, and the states' shares.

    Petrov et al. (2006), section 2.2: the product over the nodes of P_n / P.
    """
    layout = Layout.of(grammar)
    values = layout.tables.value
    counts = values * step.expect(layout, values).counts
    sizes = [len(grammar.states[symbol]) for symbol in grammar.symbols]
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    share = np.ones(first[-1])
    shares = {}
    for symbol, block, begin, size in zip(
        grammar.symbols, layout.of_parents(counts), first[:-1], sizes, strict=True
    ):
        if size > 1:
            pairs = block.sum(axis=0)[:size].reshape(-1, 2)
            total = pairs.sum(axis=1, keepdims=True)
            parts = np.divide(pairs, total, out=np.full_like(pairs, 0.5), where=total > 0).ravel()
            share[begin : begin + size] = parts
        shares[symbol] = share[begin : begin + size]
    lost = step.expect(layout, values, Pairs(first, share, np.zeros(len(share)))).loss
    losses = {
        symbol: lost[begin : begin + size - 1 : 2]
        for symbol, begin, size in zip(grammar.symbols, first[:-1].tolist(), sizes, strict=True)
    }
    return losses, shares


def merge(grammar: StateGrammar, merger: Merger) -> StateGrammar:
    """The grammar with some pairs merged: a parent's probabilities by their shares, children's summed."""
    sums, means, states = {}, {}, {}
    for symbol, histories in grammar.states.items():
        kept: list[str] = []
        into = []
        for place, history in enumerate(histories):
            together = len(histories) > 1 and merger.merged[symbol][place // 2]
            if not (together and place % 2):
                kept.append(history[:-1] if together else history)
            into.append(len(kept) - 1)
        chosen = np.zeros((len(histories), len(kept)))
        chosen[np.arange(len(histories)), into] = 1.0
        mixed = np.array(
            [
                merger.shares[symbol][place] if into.count(into[place]) > 1 else 1.0
                for place in range(len(histories))
            ]
        )
        states[symbol], sums[symbol], means[symbol] = tuple(kept), chosen, chosen * mixed[:, None]
    one = np.ones((1, 1))
    blocks = []
    for rule, block in zip(grammar.rules, grammar.blocks, strict=True):
        left, right = (one if child is None else sums[child] for child in inner_children(rule))
        blocks.append(np.einsum("yzx,yY,zZ,xX->YZX", block, left, right, means[rule.parent], optimize=True))
    return grammar.changed(states, blocks)


def smoothing(grammar: StateGrammar, rules: float, words: float) -> Change:
    """Mixing each state's probabilities with the mean over the states of its symbol.

    The weights of the mean: for symbols over others, and for those over words or tags.
    """
    lexical = {
        rule.parent for rule in grammar.rules if is_terminal(rule.children[0]) and len(rule.children) == 1
    }

    def smooth(layout: Layout, values: Floats) -> None:
        for symbol, block in zip(grammar.symbols, layout.of_parents(values), strict=True):
            own = block[:, : len(grammar.states[symbol])]
            used = own.any(axis=0)  # states that were never used stay so
            if used.any():
                weight = words if symbol in lexical else rules
                mean = own[:, used].mean(axis=1, keepdims=True)
                own[:] = np.where(used, (1 - weight) * own + weight * mean, 0.0)

    return smooth
