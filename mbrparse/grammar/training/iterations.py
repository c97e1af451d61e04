"""Inside-outside training: iterations from sentences to a grammar, with curve and checkpoints."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet
from mbrparse.grammar.training.bracketings import BracketedSentence, encode_corpus, listed_places
from mbrparse.grammar.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from mbrparse.grammar.training.expectation import EStep
from mbrparse.grammar.training.expectation_kernels import BracketedCorpus
from mbrparse.grammar.training.reestimate import (
    SMALLEST_PROBABILITY,
    Estimate,
    Fit,
    first_estimate,
    fit,
    reestimate,
    to_rules,
    without_improbable,
)
from mbrparse.io.errors import CorpusError, GrammarError
from mbrparse.io.files import open_output
from mbrparse.io.log import Log, no_log
from mbrparse.run.jobs import Jobs, open_pool
from mbrparse.run.kept_settings import Settings

COLUMNS = (
    "iteration",
    "log_likelihood",
    "cross_entropy",
    "left_out",
    "heldout_log_likelihood",
    "heldout_cross_entropy",
    "heldout_left_out",
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Training:
    """What to train on, when to stop, and what to write.

    ``tolerance``: stop when the cross-entropy (bits per terminal) changes by less. ``checkpoint``: the
    file to write after each iteration, with the ``settings`` that the result depends on. ``heldout``:
    sentences without brackets whose fit is measured.
    """

    sentences: Sequence[BracketedSentence]
    iterations: int
    tolerance: float | None = None
    heldout: Sequence[BracketedSentence] = ()
    checkpoint: Path | None = None
    settings: Settings | None = None
    jobs: Jobs = 1


class Interrupted(Exception):  # noqa: N818  # nothing went wrong
    """Training was interrupted; ``result`` is its last complete estimate."""

    def __init__(self, result: Trained) -> None:
        super().__init__("interrupted")
        self.result = result


@dataclass(frozen=True)
class Trained:
    """The trained grammar, and a row of figures for each iteration from 0 on.

    ``sentences`` counts those that the grammar cannot derive too.
    """

    rules: RuleSet
    curve: list[Row]
    iterations: int
    sentences: int


def train(
    initial: RuleSet,
    how: Training,
    resume: bool = False,
    log: Log = no_log,
) -> Trained:
    """Re-estimate a grammar.

    ``log`` gets a line for each iteration, and for sentences that cannot be derived, for workers that are
    lost and for rules that are dropped.

    Raises CorpusError without sentences, or where none can be derived, GrammarError for unary rules;
    Interrupted on Ctrl-C, with the last complete estimate.
    """
    if not how.sentences:
        raise CorpusError("no sentences to train on", remedy="give trees: mbrparse train TREES ...")
    grammar = PCFG.from_rules(initial)
    if grammar.has_unaries:
        raise GrammarError(
            "inside-outside training takes no initial grammar with unary rules",
            remedy="count one from trees without (mbrparse binarize --unary top, bottom or join), or leave "
            "--init out",
        )
    corpus = encode_corpus(grammar, how.sentences)
    heldout = encode_corpus(grammar, how.heldout)
    estimate, curve = first_estimate(grammar), list[Row]()
    if resume and how.checkpoint is not None:
        found = read_checkpoint(how.checkpoint, how.settings or {}, grammar)
        estimate, curve = found.estimate, found.curve
    begun = estimate
    known: tuple[int, ...] = ()
    try:
        with open_pool(how.jobs, log=log) as pool:
            of_heldout = EStep(grammar, heldout, pool) if heldout.sentences else None
            for current, training_fit in reestimate(grammar, corpus, estimate, how.iterations, pool):
                if training_fit.left_out != known:
                    lost = [how.sentences[i] for i in training_fit.left_out if i not in known]
                    log(
                        f"left out {len(lost)} sentences, which the grammar cannot derive with their "
                        f"brackets: {listed_places(lost)}"
                    )
                    known = training_fit.left_out
                if not training_fit.terminals:
                    raise CorpusError(
                        "the grammar can derive none of the bracketed sentences",
                        remedy="do its terminals fit, and its rules the brackets? (--no-brackets ignores "
                        "them)",
                    )
                estimate = current
                if how.checkpoint is not None:
                    write_checkpoint(how.checkpoint, Checkpoint(how.settings or {}, curve, estimate))
                row = _row(estimate.iteration, training_fit, _fit(heldout, of_heldout, estimate))
                log(_line(row))
                curve = [*curve, row]
                if how.tolerance is not None and _converged(curve, how.tolerance):
                    break
    except KeyboardInterrupt:
        if estimate is begun and not resume and how.checkpoint is not None:
            # Interrupted before the first estimate; the checkpoint there may be an older run's.
            write_checkpoint(how.checkpoint, Checkpoint(how.settings or {}, [], begun))
        rules = _kept_rules(grammar, estimate, log)
        raise Interrupted(Trained(rules, curve, estimate.iteration, len(how.sentences))) from None
    rules = _kept_rules(grammar, estimate, log)
    return Trained(rules, curve, estimate.iteration, len(how.sentences))


def _kept_rules(grammar: PCFG, estimate: Estimate, log: Log) -> RuleSet:
    """The rules of a trained grammar; ``log`` gets the number of those dropped as improbable."""
    kept, dropped = without_improbable(estimate)
    if dropped:
        log(f"{dropped} rules whose probability fell below {SMALLEST_PROBABILITY:g} were dropped")
    return to_rules(grammar, kept)


def write_curve(curve: Sequence[Row], path: str | Path) -> None:
    """Write the rows as CSV; log likelihoods are natural, cross-entropies in bits per terminal."""
    with open_output(path) as stream:
        writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(curve)


def _fit(heldout: BracketedCorpus, step: EStep | None, estimate: Estimate) -> Fit | None:
    return None if step is None else fit(heldout, step.expect(estimate.rules).log_probs)


def _row(iteration: int, training: Fit, heldout: Fit | None) -> Row:
    row: Row = {
        "iteration": iteration,
        "log_likelihood": training.log_likelihood,
        "cross_entropy": training.cross_entropy,
        "left_out": len(training.left_out),
    }
    if heldout is not None:
        row["heldout_log_likelihood"] = heldout.log_likelihood
        row["heldout_cross_entropy"] = heldout.cross_entropy
        row["heldout_left_out"] = len(heldout.left_out)
    return row


def _line(row: Row) -> str:
    line = (
        f"iteration {row['iteration']:3}  log likelihood {row['log_likelihood']:.4f}  "
        f"cross-entropy {row['cross_entropy']:.4f} bits a terminal"
    )
    if "heldout_cross_entropy" in row:
        line += f"  held out {row['heldout_cross_entropy']:.4f}"
        if row["heldout_left_out"]:
            line += f" ({row['heldout_left_out']} sentences left out)"
    return line


def _converged(curve: Sequence[Row], tolerance: float) -> bool:
    if len(curve) < 2:
        return False
    change: float = curve[-1]["cross_entropy"] - curve[-2]["cross_entropy"]
    return abs(change) < tolerance


def without_brackets(sentences: Sequence[BracketedSentence]) -> list[BracketedSentence]:
    """The same sentences as bare strings."""
    return [sentence._replace(brackets=frozenset()) for sentence in sentences]
