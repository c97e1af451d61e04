"""Checkpoints of a re-estimation: what it takes to go on to the identical result.

A checkpoint is one JSON file: the settings that the result depends on (with digests of the texts), the
curve so far, and the last estimate's numbers in full precision.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mbrparse.errors import FileError, InputMismatchError
from mbrparse.files import open_output
from mbrparse.grammar.training.bracketings import BracketedSentence
from mbrparse.grammar.training.expectation import RuleValues
from mbrparse.grammar.training.reestimate import Estimate

VERSION = 1
#: What the result depends on, by the name that messages call it: option -> value or digest.
Settings = dict[str, Any]
#: One row for each iteration: see ``training.Row``.
Curve = list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """An estimate on its way; ``curve`` has a row for each iteration before it."""

    settings: Settings
    curve: Curve
    estimate: Estimate


def digest(sentences: Iterable[BracketedSentence]) -> str:
    """A short digest of sentences and their brackets, wherever they stand."""
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
    with open_output(path) as stream:
        json.dump(content, stream)
        stream.write("\n")


def read_checkpoint(path: str | Path, settings: Settings) -> Checkpoint:
    """Read a checkpoint of a run with these settings.

    Raises FileError where there is none, InputMismatchError where its settings are others.
    """
    remedy = "leave --resume out to begin anew"
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        raise FileError("no checkpoint to resume from", source=str(path), remedy=remedy) from None
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict) or content.get("mbrparse-checkpoint") != VERSION:
        raise FileError("not a checkpoint of this program", source=str(path), remedy=remedy)
    found = content["settings"]
    for name in {**settings, **found}:
        if settings.get(name) != found.get(name):
            raise InputMismatchError(
                f"the checkpoint is of a run with another {name}: {found.get(name)}, "
                f"now {settings.get(name)}",
                source=str(path),
                remedy=f"give the same options and texts, or {remedy}",
            )
    counts = content["counts"]
    return Checkpoint(
        settings,
        content["curve"],
        Estimate(
            content["iteration"], _values(content["rules"]), None if counts is None else _values(counts)
        ),
    )


def _values(lists: list[list[float]]) -> RuleValues:
    return RuleValues(*(np.array(values, np.float64) for values in lists))
