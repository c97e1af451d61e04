"""Inside-outside training: iterations from sentences to a grammar, with curve and checkpoints.

From a checkpoint a re-estimation resumes and gives the identical result. It is one JSON file: the settings
that the result depends on (with digests of the texts), the curve so far, and the last estimate's numbers in
full precision.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mbrparse.errors import CorpusError, FileError, GrammarError
from mbrparse.files import open_output
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import SUM_TOLERANCE, RuleSet
from mbrparse.log import Log, counted, no_log
from mbrparse.run.jobs import Jobs, open_pool
from mbrparse.run.manifest import Settings, check_settings
from mbrparse.state_files import (
    Schema,
    SchemaError,
    listed,
    mapping,
    number,
    one_of,
    optional,
    parallel,
    read_state,
    record,
    scalar,
    short_digest,
    whole,
    write_state,
)
from mbrparse.training.em.bracketings import BracketedSentence, encode_corpus, listed_places
from mbrparse.training.em.expectation import EStep, RuleValues, probabilities
from mbrparse.training.em.reestimate import (
    SMALLEST_PROBABILITY,
    Estimate,
    Fit,
    first_estimate,
    fit,
    reestimate,
    to_rules,
    totals_by_parent,
    without_improbable,
)

VERSION = 1
#: The figures of an iteration.
Row = dict[str, Any]
_TRAINING_FIGURES = {
    "iteration": whole(),
    "log_likelihood": number(),
    "cross_entropy": number(),
    "left_out": whole(),
}
_HELDOUT_FIGURES = {
    "heldout_log_likelihood": number(),
    "heldout_cross_entropy": number(undefined=True),  # where no sentence can be derived
    "heldout_left_out": whole(),
}


def digest(sentences: Iterable[BracketedSentence]) -> str:
    """A short digest of sentences and their brackets; their places do not count."""
    texts = (json.dumps([sentence.terminals, sorted(sentence.brackets)]) for sentence in sentences)
    return short_digest("".join(texts).encode())


def write_checkpoint(path: Path, settings: Settings, curve: Sequence[Row], estimate: Estimate) -> None:
    """Write an estimate and the rows of the curve for the iterations before it, complete or not at all."""
    content = {
        "mbrparse-checkpoint": VERSION,
        "settings": settings,
        "curve": curve,
        "iteration": estimate.iteration,
        "rules": [values.tolist() for values in estimate.rules],
        "counts": None if estimate.counts is None else [values.tolist() for values in estimate.counts],
    }
    write_state(path, content)


def read_checkpoint(path: Path, settings: Settings, grammar: PCFG) -> tuple[list[Row], Estimate]:
    """Read what ``write_checkpoint`` wrote in a run that re-estimates this grammar with these settings.

    Raises FileError for a missing or damaged checkpoint, InputMismatchError for other settings.
    """
    remedy = "leave --resume out to begin anew"
    if not path.exists():
        raise FileError("no checkpoint to resume from", source=str(path), remedy=remedy)

    def same_settings(found: Any) -> None:
        mapping(scalar)(found)
        check_settings(path, found, settings, "give the same options and texts", remedy)

    content = read_state(path, _shape(same_settings, grammar), "a checkpoint of this program", remedy)
    counts = None if content["counts"] is None else _values(content["counts"])
    return content["curve"], Estimate(content["iteration"], _values(content["rules"]), counts)


def _shape(settings: Schema, grammar: PCFG) -> Schema:
    sizes = [len(values) for values in probabilities(grammar)]
    parts = record(
        {
            "mbrparse-checkpoint": one_of([VERSION]),
            "settings": settings,
            "curve": listed(record(_TRAINING_FIGURES, _HELDOUT_FIGURES)),
            "iteration": whole(),
            "rules": parallel(*(listed(number(0, 1 + SUM_TOLERANCE), size) for size in sizes)),
            "counts": optional(parallel(*(listed(number(0), size) for size in sizes))),
        }
    )

    def check(content: Any) -> None:
        parts(content)
        if [row["iteration"] for row in content["curve"]] != list(range(content["iteration"])):
            raise SchemaError("the curve has another row than one for each iteration")
        if not _normalized(grammar, _values(content["rules"])):
            raise SchemaError("the rules' probabilities do not add up to one")

    return check


def _normalized(grammar: PCFG, rules: RuleValues) -> bool:
    """Whether the probabilities of each parent's rules, and of the start, are distributions."""
    rewritten = np.union1d(grammar.parent, grammar.lexical_symbol)
    sums = np.append(totals_by_parent(grammar, rules)[rewritten], rules.start.sum())
    return bool((np.abs(sums - 1) <= 2 * SUM_TOLERANCE).all())


def _values(lists: list[list[float]]) -> RuleValues:
    return RuleValues(*(np.array(values, np.float64) for values in lists))


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
    sentences: Sequence[BracketedSentence],
    iterations: int,
    *,
    tolerance: float | None = None,
    heldout: Sequence[BracketedSentence] = (),
    checkpoint: Path | None = None,
    settings: Settings | None = None,
    jobs: Jobs = 1,
    resume: bool = False,
    log: Log = no_log,
) -> Trained:
    """Re-estimate a grammar.

    ``tolerance``: stop when the cross-entropy (bits per terminal) changes by less. ``heldout``: sentences
    without brackets whose fit is measured. ``checkpoint``: the file to write after each iteration, with the
    ``settings`` that the result depends on, and to ``resume`` from. ``log`` gets a line for each iteration,
    and for sentences that cannot be derived, for workers that are lost and for rules that are dropped.

    Raises CorpusError without sentences, or where none can be derived, GrammarError for unary rules;
    Interrupted on Ctrl-C, with the last complete estimate.
    """
    if not sentences:
        raise CorpusError("no sentences to train on", remedy="give trees: mbrparse train TREES ...")
    grammar = PCFG.from_rules(initial)
    if grammar.has_unaries:
        raise GrammarError(
            "inside-outside training takes no initial grammar with unary rules",
            remedy="count one from trees without (mbrparse binarize --unary top, bottom or join), or leave "
            "--init out",
        )
    corpus = encode_corpus(grammar, sentences)
    strings = encode_corpus(grammar, heldout)
    settings = settings or {}
    curve, estimate = list[Row](), first_estimate(grammar)
    if resume and checkpoint is not None:
        curve, estimate = read_checkpoint(checkpoint, settings, grammar)
    begun = estimate
    known: tuple[int, ...] = ()

    def trained() -> Trained:
        kept, dropped = without_improbable(estimate)
        if dropped:
            log(f"{counted(dropped, 'rule')} whose probability fell below {SMALLEST_PROBABILITY:g} dropped")
        return Trained(to_rules(grammar, kept), curve, estimate.iteration, len(sentences))

    try:
        with open_pool(jobs, log=log) as pool:
            of_heldout = EStep(grammar, strings, pool) if heldout else None
            for current, training_fit in reestimate(grammar, corpus, estimate, iterations, pool):
                if training_fit.left_out != known:
                    lost = [sentences[i] for i in training_fit.left_out if i not in known]
                    log(
                        f"left out {counted(len(lost), 'sentence')}, which the grammar cannot derive "
                        f"with their brackets: {listed_places(lost)}"
                    )
                    known = training_fit.left_out
                if not training_fit.terminals:
                    raise CorpusError(
                        "the grammar can derive none of the bracketed sentences",
                        remedy="do its terminals fit, and its rules the brackets? (--no-brackets ignores "
                        "them)",
                    )
                estimate = current
                if checkpoint is not None:
                    write_checkpoint(checkpoint, settings, curve, estimate)
                row = {"iteration": estimate.iteration, **_figures(training_fit)}
                if of_heldout is not None:
                    heldout_fit = fit(strings, of_heldout.expect(estimate.rules).log_probs)
                    row |= {f"heldout_{name}": value for name, value in _figures(heldout_fit).items()}
                log(_line(row))
                curve = [*curve, row]
                change = math.inf if len(curve) < 2 else row["cross_entropy"] - curve[-2]["cross_entropy"]
                if tolerance is not None and abs(change) < tolerance:
                    break
    except KeyboardInterrupt:
        if estimate is begun and not resume and checkpoint is not None:
            # Interrupted before the first estimate; the checkpoint there may be an older run's.
            write_checkpoint(checkpoint, settings, [], begun)
        raise Interrupted(trained()) from None
    return trained()


def _figures(fit: Fit) -> Row:
    return {
        "log_likelihood": fit.log_likelihood,
        "cross_entropy": fit.cross_entropy,
        "left_out": len(fit.left_out),
    }


def write_curve(curve: Sequence[Row], path: str | Path) -> None:
    """Write the rows as CSV; log likelihoods are natural, cross-entropies in bits per terminal."""
    with open_output(path) as stream:
        writer = csv.DictWriter(
            stream, [*_TRAINING_FIGURES, *_HELDOUT_FIGURES], restval="", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(curve)


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


def without_brackets(sentences: Sequence[BracketedSentence]) -> list[BracketedSentence]:
    """The same sentences as bare strings."""
    return [sentence._replace(brackets=frozenset()) for sentence in sentences]
