"""Split-merge training: cycles of splitting, EM, merging, EM and smoothing, from trees to a grammar.

Petrov et al. (2006), Petrov & Klein (2007). A cycle begins with the grammar of the one before as it was
written, so that a run that was interrupted ends with the same bytes. Beside the grammar OUTPUT stand
OUTPUT.cycle-1, ... and OUTPUT.checkpoint, which says what they were made with. They are grammars, too, in
which rare words are their classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mbrparse.errors import GrammarError
from mbrparse.files import atomic_outputs
from mbrparse.grammar.files.grammar_files import read_rules, write_rules
from mbrparse.grammar.rules import RuleSet, TerminalKind
from mbrparse.grammar.unknown_words import Signatures
from mbrparse.jobs import Jobs, open_executor
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.settings import digest, save
from mbrparse.training.iterations import (
    Checkpoint,
    Row,
    checkpoint_path,
    read_checkpoint,
    write_curve,
)
from mbrparse.training.split_merge.e_step import Change, ObservedEStep, ObservedTrees, maximized, observe
from mbrparse.training.split_merge.lexicon import RARE, RareWords
from mbrparse.training.split_merge.state_splits import least_losses, merge, smoothing, split
from mbrparse.training.split_merge.states import Layout, StateGrammar, split_state
from mbrparse.treebank.corpora.reading import SourceTree

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


def train_trees(
    trees: Iterable[SourceTree],
    terminals: TerminalKind,
    how: SplitMerge,
    *,
    unknown: bool = False,
    rare: int | None = None,
    output: str | None = None,
    curve: str | None = None,
    resume: bool = False,
    jobs: Jobs = 1,
    progress: Progress = no_progress,
    log: Log = no_log,
) -> RuleSet:
    """Train a grammar with states on binarized trees.

    Parameters
    ----------
    unknown
        Words seen fewer than ``rare`` times represent unknown ones, by their signatures.
    output
        The file beside which checkpoints are written, and which is to be ``resume``d.
    curve
        A file for a row of figures for each round of EM (CSV).
    log
        Gets lines for the phases of each cycle.

    Raises
    ------
    GrammarError
        Trees are not binary, or have states already.
    FileError, InputMismatchError
        There is no checkpoint to resume, or it is damaged or made with other settings.
    """
    observed_trees, words = list(progress(trees, "reading")), None
    if unknown:
        observed_trees, words = RareWords.learn(observed_trees, RARE if rare is None else rare)
    observed = observe(observed_trees, terminals)
    if stated := [rule.parent for rule in observed.rules if split_state(rule.parent)[1]]:
        raise GrammarError(
            f"label {stated[0]} has a state already", remedy="give trees whose labels have none"
        )
    settings = {
        "terminals": terminals,
        "seed": how.seed,
        "merge": how.merge,
        "smooth": how.smooth,
        "rare words": words.rare if words else None,
        "training trees": digest((observed.rules, *observed.arrays)),
    }
    path = None if output is None else checkpoint_path(output)
    done, rows = 0, list[Row]()
    rules = first_grammar(observed).written(terminals, Signatures(words.rare) if words else None)
    if resume and path is not None:
        checkpoint = read_checkpoint(path, settings)
        done = min(checkpoint.step, how.cycles)
        rows = [row for row in checkpoint.curve if row["cycle"] <= done]
        rules = read_rules(f"{output}.cycle-{done}")
    with open_executor(jobs) as executor:
        step = ObservedEStep(observed.arrays, executor)
        for number in range(done + 1, how.cycles + 1):
            grammar = StateGrammar.of_rules(rules, observed.rules)
            trained, more = cycle(grammar, step, how, number, progress, log)
            rules = trained.written(terminals, rules.unknown)
            rows += more
            log(f"cycle {number}: {trained.size} symbols with their states, {len(rules.rules)} rules")
            if path is not None:
                with atomic_outputs():
                    write_rules(rules, f"{output}.cycle-{number}")
                    save(path, Checkpoint(number, rows), settings)
    if curve is not None:
        write_curve(rows, curve)
    return rules if words is None else words.spread(rules)


def first_grammar(observed: ObservedTrees) -> StateGrammar:
    """The treebank grammar: relative frequencies, one state for each symbol."""
    counts = np.bincount(observed.arrays.rule, minlength=len(observed.rules)).astype(np.float64)
    return StateGrammar.counted(observed.rules, counts)


def cycle(
    grammar: StateGrammar,
    step: ObservedEStep,
    how: SplitMerge,
    number: int,
    progress: Progress = no_progress,
    log: Log = no_log,
) -> tuple[StateGrammar, list[Row]]:
    """One cycle, the ``number``-th, and the figures of its rounds.

    The result depends on the grammar, the trees and the options alone.
    """
    rows: list[Row] = []

    def fitted(grammar: StateGrammar, count: int, phase: str, change: Change | None = None) -> StateGrammar:
        title, layout, first = f"cycle {number}, {phase}", Layout.of(grammar), len(rows)
        for current in progress(islice(step.rounds(layout, change), count), title, count):
            figures = {"log_likelihood": current[1].log_likelihood, "left_out": current[1].left_out}
            rows.append({"cycle": number, "phase": phase, "round": len(rows) - first + 1, **figures})
        values, sums = current
        log(
            f"{title}: {grammar.size} states, log likelihood {rows[first]['log_likelihood']:.1f} to "
            f"{sums.log_likelihood:.1f} in {count} rounds"
            + (f", {sums.left_out} trees left out" if sums.left_out else "")
        )
        return layout.grammar(grammar, maximized(layout, values * sums.counts, change))

    grammar = fitted(split(grammar, how.seed, number), how.rounds[0], "split")
    if how.merge > 0:
        grammar = fitted(merge(grammar, least_losses(step, grammar, how.merge)), how.rounds[1], "merged")
    if how.smooth > 0:
        smoothed = smoothing(grammar, how.smooth, WORD_SMOOTHING)
        grammar = fitted(grammar, how.rounds[2], "smoothed", smoothed)
    return grammar, rows
