"""Checkpoints, from which a re-estimation resumes and gives the identical result.

A checkpoint is one JSON file: the settings that the result depends on (with digests of the texts), the
curve so far, and the last estimate's numbers in full precision.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import SUM_TOLERANCE
from mbrparse.grammar.training.bracketings import BracketedSentence
from mbrparse.grammar.training.expectation import RuleValues, probabilities
from mbrparse.grammar.training.reestimate import Estimate
from mbrparse.io.errors import FileError
from mbrparse.io.state_files import (
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
    whole,
    write_state,
)
from mbrparse.run.kept_settings import Settings, check_settings

VERSION = 1
#: One row for each iteration: see ``training.Row``.
Curve = list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """An estimate, and the rows of the curve for the iterations before it."""

    settings: Settings
    curve: Curve
    estimate: Estimate


def digest(sentences: Iterable[BracketedSentence]) -> str:
    """A short digest of sentences and their brackets; their places do not count."""
    sha = hashlib.sha256()
    for sentence in sentences:
        sha.update(json.dumps([sentence.terminals, sorted(sentence.brackets)]).encode())
    return sha.hexdigest()[:16]


def write_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, complete or not at all."""
    estimate = checkpoint.estimate
    content = {
        "mbrparse-checkpoint": VERSION,
        "settings": checkpoint.settings,
        "curve": checkpoint.curve,
        "iteration": estimate.iteration,
        "rules": [values.tolist() for values in estimate.rules],
        "counts": None if estimate.counts is None else [values.tolist() for values in estimate.counts],
    }
    write_state(path, content)


def read_checkpoint(path: str | Path, settings: Settings, grammar: PCFG) -> Checkpoint:
    """Read the checkpoint of a run that re-estimates this grammar with these settings.

    Raises FileError for a missing or damaged checkpoint, InputMismatchError for other settings.
    """
    remedy = "leave --resume out to begin anew"
    if not os.path.exists(path):
        raise FileError("no checkpoint to resume from", source=str(path), remedy=remedy)

    def same_settings(found: Any) -> None:
        mapping(scalar)(found)
        check_settings(path, found, settings, f"give the same options and texts, or {remedy}")

    content = read_state(path, _shape(same_settings, grammar), "a checkpoint of this program", remedy)
    counts = None if content["counts"] is None else _values(content["counts"])
    estimate = Estimate(content["iteration"], _values(content["rules"]), counts)
    return Checkpoint(settings, content["curve"], estimate)


def _shape(settings: Schema, grammar: PCFG) -> Schema:
    row = {
        "iteration": whole(),
        "log_likelihood": number(),
        "cross_entropy": number(),
        "left_out": whole(),
    }
    heldout = {
        "heldout_log_likelihood": number(),
        "heldout_cross_entropy": number(undefined=True),  # where no sentence can be derived
        "heldout_left_out": whole(),
    }
    sizes = [len(values) for values in probabilities(grammar)]
    parts = record(
        {
            "mbrparse-checkpoint": one_of([VERSION]),
            "settings": settings,
            "curve": listed(record(row, heldout)),
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
    symbols = len(grammar.symbols)
    totals = np.bincount(grammar.parent, rules.binary, symbols)
    totals += np.bincount(grammar.lexical_symbol, rules.lexical, symbols)
    rewritten = np.union1d(grammar.parent, grammar.lexical_symbol)
    sums = np.append(totals[rewritten], rules.start.sum())
    return bool((np.abs(sums - 1) <= 2 * SUM_TOLERANCE).all())


def _values(lists: list[list[float]]) -> RuleValues:
    return RuleValues(*(np.array(values, np.float64) for values in lists))
