"""Files that are read again by a later run: checkpoints, cells of a grid, steps of a paper.

Such a file holds the settings that it was made with and one digest, so that a run never goes on with what
was made otherwise or has been damaged. Contents are ``msgspec`` structs, whose types are checked; floats keep
all their digits, but NaN and infinity have no place in JSON: use None.

>>> import msgspec, tempfile
>>> class Checkpoint(msgspec.Struct):
...     iteration: int
...     probabilities: list[float]
>>> with tempfile.TemporaryDirectory() as folder:
...     path = f"{folder}/grammar.checkpoint"
...     save(path, Checkpoint(2, [0.5, 0.1]), {"seed": 1})
...     print(load(path, Checkpoint, {"seed": 1}, "begin anew"))
...     try:
...         load(path, Checkpoint, {"seed": 2}, "begin anew")
...     except InputMismatchError as error:
...         print(error.message, "--", error.remedy)
Checkpoint(iteration=2, probabilities=[0.5, 0.1])
made with other settings (seed: 1, now 2) -- give the same options and inputs, or begin anew
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
import numpy as np

from mbrparse.errors import FileError, InputMismatchError, shortened
from mbrparse.files import PART, atomic_outputs, only_run, open_input, open_output, placed
from mbrparse.jobs import WorkersError
from mbrparse.log import counted
from mbrparse.program import program

Content = TypeVar("Content")

#: What a result depends on, by the name that messages use.
Settings = Mapping[str, Any]
#: The setting that says which program made a file.
PROGRAM = "mbrparse"
_SHOWN = 3
_CHANGED = "it was changed since it was written"


class _File(msgspec.Struct):
    settings: dict[str, Any]
    content: msgspec.Raw
    digest: str


def save(path: str | Path, content: Any, settings: Settings) -> None:
    """Write a content with its settings, complete or not at all; raises FileError."""
    kept = _described(settings)
    encoded = msgspec.Raw(msgspec.json.encode(content))
    with open_output(path) as stream:
        stream.write(msgspec.json.encode(_File(kept, encoded, _digest(kept, encoded))).decode() + "\n")


def load(path: str | Path, kind: type[Content], settings: Settings | None, otherwise: str) -> Content:
    """Read what ``save`` wrote.

    Parameters
    ----------
    kind
        The type of the content.
    settings
        Those of this run; None if they are of no account.
    otherwise
        What else can be done than to give the same options, for messages ("begin anew").

    Raises
    ------
    InputMismatchError
        For a file that was made with other settings.
    FileError
        For a file that is missing, damaged or of another kind.
    """
    with open_input(path) as stream:
        data = stream.read()
    try:
        found = msgspec.json.decode(data, type=_File)
        if found.digest != _digest(found.settings, found.content):
            raise msgspec.ValidationError(_CHANGED)
        if settings is not None:
            check_settings(path, found.settings, _described(settings), otherwise)
        return msgspec.json.decode(found.content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FileError(
            f"damaged, or no file of this program ({error})", source=str(path), remedy=otherwise
        ) from None


@contextmanager
def resumable_outputs(
    paths: Sequence[str], settings: Settings, resume: bool, headings: int = 0
) -> Iterator[int]:
    """Write these outputs, whose lines are about one sentence each, so that a later run can go on with them.

    They grow in PATH.part, with the settings beside the first one, and are renamed when all are whole. Parts
    and settings stay if the run is interrupted, killed or loses its workers; after other errors, which would
    come again, they do not.

    Parameters
    ----------
    resume
        Whether to go on with what is there, if anything is.
    headings
        The number of lines before those of sentences.

    Yields
    ------
    int
        The number of sentences that are done already: the lines of new ones go behind them.

    Raises
    ------
    InputMismatchError
        Where what is there was made with other settings.
    FileError
        Where another run writes them.
    """
    parts = [placed(path) + PART for path in paths]
    beside = f"{parts[0]}.settings"
    with only_run(parts[0]):
        done = 0
        if resume and os.path.exists(beside):
            load(beside, list[str], settings, "leave `resume` out to begin anew")
            done = _whole_sentences(parts, headings)
        else:
            save(beside, paths, settings)
        try:
            with atomic_outputs(done + headings if done else 0):
                yield done
        except (KeyboardInterrupt, WorkersError, MemoryError) as failure:
            if there := _whole_sentences(parts, headings):
                kept = f"after {counted(there, 'sentence')}: {paths[0]}{PART} keeps them, `resume` goes on"
                if isinstance(failure, KeyboardInterrupt):
                    raise KeyboardInterrupt(*failure.args, kept) from None
                raise
            _remove([beside, *parts])
            raise
        except BaseException:
            _remove([beside, *parts])
            raise
        _remove([beside])


def _whole_sentences(parts: Sequence[str], headings: int) -> int:
    """The number of sentences whose lines are whole in all these files."""
    counts = []
    for part in parts:
        try:
            with open(part, "rb") as lines:
                counts.append(sum(line.endswith(b"\n") for line in lines))
        except FileNotFoundError:
            return 0
    return max(0, min(counts) - headings)


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def settings_of(path: str | Path) -> dict[str, Any] | None:
    """The settings of a file that ``save`` wrote, without the program's; None if it is none."""
    with suppress(FileError, msgspec.MsgspecError):
        with open_input(path) as stream:
            found = msgspec.json.decode(stream.read(), type=_File)
        return {name: value for name, value in found.settings.items() if name != PROGRAM}
    return None


def check_settings(source: object, kept: Settings, now: Settings, otherwise: str) -> None:
    """Raise InputMismatchError where what is kept in ``source`` was made with other settings."""
    names = [name for name in {**kept, **now} if kept.get(name) != now.get(name)]
    if not names:
        return
    said = [
        f"{name.replace('_', ' ')}: {_shown(kept.get(name))}, now {_shown(now.get(name))}" for name in names
    ]
    same = "give the same options and inputs"
    if PROGRAM in names:
        same = "go on with the mbrparse that began it"
    raise InputMismatchError(
        f"made with other settings ({'; '.join([*said[:_SHOWN], *(['...'] if len(said) > _SHOWN else [])])})",
        source=str(source),
        remedy=f"{same}, or {otherwise}",
    )


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of a value's content, the same on every machine.

    Values are what JSON has, arrays, dataclasses, named tuples and structs.

    >>> digest(("a", 1)) == digest(["a", 1]), digest((1, 2)) == digest((12,))
    (True, False)
    """
    encoded = msgspec.msgpack.encode(value, enc_hook=_of_array, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:16]


def file_digest(path: str | Path) -> str:
    """The first ten digits that ``sha256sum`` prints of a file; raises FileError."""
    with open_input(path) as stream:
        return hashlib.file_digest(cast("BytesIO", stream), "sha256").hexdigest()[:10]


def _described(settings: Settings) -> dict[str, Any]:
    """Settings as JSON has them, with the program's."""
    described: dict[str, Any] = msgspec.to_builtins({PROGRAM: program(), **settings})
    return described


def check_files(digests: Mapping[str, str], otherwise: str) -> None:
    """Raise FileError where one of these files has not this digest (``file_digest``) any more."""
    for path, expected in digests.items():
        if file_digest(path) != expected:
            raise FileError(f"damaged, or of another run: {_CHANGED}", source=path, remedy=otherwise)


def _digest(settings: dict[str, Any], content: msgspec.Raw) -> str:
    # As JSON: numbers of more than 64 bits are settings too.
    return digest([msgspec.json.encode(settings, order="deterministic"), bytes(content)])


def _shown(value: object) -> str:
    return "not given" if value is None else shortened(msgspec.json.encode(value).decode(), 60)


def _of_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes()]
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"no digest of a {type(value).__name__}")
