"""Split-merge training from trees to a grammar, with a checkpoint after each cycle.

A cycle begins with the grammar of the one before as it was written, so that a run that was interrupted ends
with the same bytes. Beside the grammar OUTPUT stand OUTPUT.cycle-1, ... and OUTPUT.checkpoint, which says
what they were made with. They are grammars, too, in which rare words are their classes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mbrparse.errors import FileError, GrammarError
from mbrparse.files import atomic_outputs
from mbrparse.grammar.grammar_files import read_rules, write_rules
from mbrparse.grammar.rules import RuleSet, TerminalKind
from mbrparse.grammar.unknown_words import Signatures
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.program import program
from mbrparse.run.jobs import Jobs, open_pool
from mbrparse.run.manifest import PROGRAM, Settings, check_settings, content_digest
from mbrparse.state_files import mapping, one_of, read_state, record, scalar, whole, write_state
from mbrparse.training.split_merge.cycles import SplitMerge, cycle, first_grammar
from mbrparse.training.split_merge.rare_words import RARE, RareWords
from mbrparse.training.split_merge.splits import bytes_of_split
from mbrparse.training.split_merge.state_grammar import StateGrammar, split_state
from mbrparse.training.split_merge.tree_arrays import observe
from mbrparse.treebank.corpora.reading import SourceTree

VERSION = 1
_ANEW = "leave --resume out to begin anew"


@dataclass(frozen=True)
class Checkpoints:
    """The grammars of finished cycles beside ``output``, and the settings that they depend on."""

    output: str
    settings: Settings

    @property
    def path(self) -> Path:
        """The file of the settings and of the number of cycles."""
        return Path(f"{self.output}.checkpoint")

    def grammar(self, number: int) -> Path:
        """The file of the grammar after so many cycles."""
        return Path(f"{self.output}.cycle-{number}")

    def write(self, number: int, rules: RuleSet) -> None:
        """Keep a cycle's grammar."""
        with atomic_outputs():
            write_rules(rules, self.grammar(number))
            content = {"mbrparse-split-merge": VERSION, "settings": self.settings, "cycles": number}
            write_state(self.path, content)

    def last(self, most: int) -> tuple[int, RuleSet]:
        """The last cycle up to ``most`` and its grammar; raises FileError, InputMismatchError."""
        if not self.path.exists():
            raise FileError("no checkpoint to resume from", source=str(self.path), remedy=_ANEW)
        shape = record(
            {"mbrparse-split-merge": one_of([VERSION]), "settings": mapping(scalar), "cycles": whole(1)}
        )
        found = read_state(self.path, shape, "a checkpoint of split-merge training", _ANEW)
        check_settings(self.path, found["settings"], self.settings, "give the same options and trees", _ANEW)
        number = min(found["cycles"], most)
        return number, read_rules(self.grammar(number))


def train_trees(
    trees: Iterable[SourceTree],
    terminals: TerminalKind,
    how: SplitMerge,
    *,
    unknown: bool = False,
    rare: int | None = None,
    output: str | None = None,
    resume: bool = False,
    jobs: Jobs = 1,
    progress: Progress = no_progress,
    log: Log = no_log,
) -> RuleSet:
    """Train a grammar with states on binarized trees (Petrov et al. 2006).

    ``unknown``: words seen fewer than ``rare`` times represent unknown ones, by their signatures.
    ``output``: the file beside which checkpoints are written, and which is to be ``resume``d. ``log`` gets
    lines for the phases of each cycle. Raises GrammarError for trees that are not binary, and for cycles
    that would need more memory than the machine has, and what ``Checkpoints`` raises.
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
        PROGRAM: program(),
        "terminals": terminals,
        "seed": how.seed,
        "merge": how.merge,
        "smooth": how.smooth,
        "rare words": words.rare if words else None,
        "training trees": content_digest((observed.rules, *observed.arrays)),
    }
    checkpoints = None if output is None else Checkpoints(output, settings)
    done, rules = 0, first_grammar(observed).written(terminals, Signatures(words.rare) if words else None)
    if resume and checkpoints is not None:
        done, rules = checkpoints.last(how.cycles)
    with open_pool(jobs, log=log) as pool:
        for number in range(done + 1, how.cycles + 1):
            grammar = StateGrammar.of_rules(rules, observed.rules)
            _check_memory(grammar, number, how)
            trained = cycle(grammar, observed.arrays, how, number, pool, progress, log)
            rules = trained.written(terminals, rules.unknown)
            log(f"cycle {number}: {trained.size} symbols with their states, {len(rules.rules)} rules")
            if checkpoints is not None:
                checkpoints.write(number, rules)
    return rules if words is None else words.spread(rules)


def _check_memory(grammar: StateGrammar, number: int, how: SplitMerge) -> None:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return
    for later in range(how.cycles - number + 1):
        needed = bytes_of_split(grammar, how.merge, later)
        if 0 < memory < needed:
            last = number + later - 1
            raise GrammarError(
                f"cycle {last + 1} would need {needed / 2**30:.3g} GB, and this machine has "
                f"{memory / 2**30:.3g} GB",
                remedy=f"train fewer cycles (--cycles {last}; with --resume those that are trained are not "
                "trained again), or merge more of the splits (--merge)",
            )
