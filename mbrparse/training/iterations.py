"""Iterations of training: the curve of their figures, the checkpoint, and going on from it.

After each step (an iteration of re-estimation, a cycle of split-merge training) the file OUTPUT.checkpoint
holds all that the rest of the run depends on, beside the settings and digests of the texts. A run that goes
on from it gives the identical result.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import msgspec

from mbrparse.errors import FileError
from mbrparse.files import is_file, open_output
from mbrparse.settings import Settings, load

#: The figures of an iteration.
Row = dict[str, Any]
BEGIN_ANEW = "leave `resume` out to begin anew"


class Checkpoint(msgspec.Struct):
    """The last whole step of a run: its number, the rows of the curve, and lists of numbers, if any.

    ``files`` are the digests of what the steps have written.
    """

    step: int
    curve: list[Row]
    numbers: list[list[float]] = []
    files: list[str] = []


def checkpoint_path(output: str) -> Path | None:
    """The checkpoint's path, beside the grammar's file; None if the grammar is not written to a file.

    >>> str(checkpoint_path("g.txt")), checkpoint_path("-"), checkpoint_path("/dev/null")
    ('g.txt.checkpoint', None, None)
    """
    return Path(f"{output}.checkpoint") if is_file(output) else None


def read_checkpoint(path: Path, settings: Settings) -> Checkpoint:
    """Read the checkpoint of a run with these settings.

    Raises
    ------
    FileError
        It is missing or damaged.
    InputMismatchError
        It was made with other settings.
    """
    if not path.exists():
        raise FileError("no checkpoint to resume from", source=str(path), remedy=BEGIN_ANEW)
    return load(path, Checkpoint, settings, BEGIN_ANEW)


def write_curve(curve: list[Row], path: str | Path) -> None:
    """Write the rows as CSV; log likelihoods are natural, cross-entropies in bits per terminal."""
    with open_output(path) as stream:
        names = list(dict.fromkeys(name for row in curve for name in row))
        writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(curve)
