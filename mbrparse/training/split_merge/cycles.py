"""Cycles of splitting, EM, merging, EM and smoothing (Petrov et al. 2006; Petrov & Klein 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.run.pool import Pool
from mbrparse.training.split_merge.rounds import Change, Expectation, rounds
from mbrparse.training.split_merge.splits import Smoothing, least_losses, merge, split
from mbrparse.training.split_merge.state_grammar import StateGrammar
from mbrparse.training.split_merge.tree_arrays import ObservedTrees, TreeArrays

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
    grammar: StateGrammar,
    trees: TreeArrays,
    how: SplitMerge,
    number: int,
    pool: Pool,
    progress: Progress = no_progress,
    log: Log = no_log,
) -> StateGrammar:
    """One cycle, the ``number``-th; the result depends on the grammar, the trees and the options alone."""
    step = Expectation(trees, pool)

    def fitted(grammar: StateGrammar, count: int, phase: str, change: Change | None = None) -> StateGrammar:
        title = f"cycle {number}, {phase}"
        found = list(progress(islice(rounds(step, grammar, change), count), title, count))
        last = found[-1]
        log(
            f"{title}: {grammar.size} states, log likelihood {found[0].log_likelihood:.1f} to "
            f"{last.log_likelihood:.1f} in {count} rounds"
            + (f", {last.left_out} trees left out" if last.left_out else "")
        )
        return last.grammar()

    grammar = fitted(split(grammar, how.seed, number), how.rounds[0], "split")
    if how.merge > 0:
        grammar = fitted(merge(grammar, least_losses(step, grammar, how.merge)), how.rounds[1], "merged")
    if how.smooth > 0:
        smoothing = Smoothing(grammar, how.smooth, WORD_SMOOTHING)
        grammar = fitted(grammar, how.rounds[2], "smoothed", smoothing)
    return grammar
