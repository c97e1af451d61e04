"""Cycles of splitting, EM, merging, EM and smoothing (Petrov et al. 2006; Petrov & Klein 2007)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mbrparse.grammar.training.split_merge.rounds import Change, Expectation, rounds
from mbrparse.grammar.training.split_merge.splits import Smoothing, least_losses, merge, split
from mbrparse.grammar.training.split_merge.state_grammar import StateGrammar
from mbrparse.grammar.training.split_merge.tree_arrays import ObservedTrees
from mbrparse.io.log import Log, no_log
from mbrparse.run.pool import Pool

#: The weight of the mean over a tag's states in the probabilities of words.
WORD_SMOOTHING = 0.1


@dataclass(frozen=True)
class SplitMerge:
    """Options: the fraction of splits that is merged back, the smoothing of rules, the random seed.

    ``rounds`` of EM after splitting, after merging, and with smoothing.
    """

    cycles: int = 4
    merge: float = 0.5
    smooth: float = 0.01
    seed: int = 1
    rounds: tuple[int, int, int] = (50, 20, 10)


def first_grammar(observed: ObservedTrees) -> StateGrammar:
    """The treebank grammar: relative frequencies, one state for each symbol."""
    counts = np.bincount(observed.arrays.rule, minlength=len(observed.rules)).astype(np.float64)
    return StateGrammar.counted(observed.rules, counts)


def cycle(
    grammar: StateGrammar, observed: ObservedTrees, how: SplitMerge, number: int, pool: Pool, log: Log = no_log
) -> StateGrammar:
    """One cycle, the ``number``-th; the result depends on the grammar, the trees and the options alone."""
    step = Expectation(observed.arrays, pool)
    title = f"cycle {number}"
    grammar = _fitted(step, split(grammar, how.seed, number), how.rounds[0], None, f"{title}, split", log)
    if how.merge > 0:
        grammar = merge(grammar, least_losses(step, grammar, how.merge))
        grammar = _fitted(step, grammar, how.rounds[1], None, f"{title}, merged", log)
    if how.smooth > 0:
        smoothing = Smoothing(grammar, how.smooth, WORD_SMOOTHING)
        grammar = _fitted(step, grammar, how.rounds[2], smoothing, f"{title}, smoothed", log)
    return grammar


def _fitted(
    step: Expectation, grammar: StateGrammar, count: int, change: Change | None, title: str, log: Log
) -> StateGrammar:
    """The grammar after so many rounds of EM."""
    layout, last = None, None
    for number, (layout, last) in enumerate(rounds(step, grammar, change), start=1):
        if number in (1, count):
            log(f"{title}: {grammar.size} states, round {number} of {count}, log likelihood {last.log_likelihood:.1f}")
        if number == count:
            break
    return grammar if last is None else grammar.changed(grammar.states, layout.blocks(grammar, last.values))
