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
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
import numpy as np

from mbrparse.errors import FileError, InputMismatchError, shortened
from mbrparse.files import PART, atomic_outputs, encodable, open_input, open_output, placed
from mbrparse.jobs import WorkersError
from mbrparse.log import counted, meanwhile
from mbrparse.one_run import as_file_errors, only_run, undisturbed
from mbrparse.program import program

Content = TypeVar("Content")

#: What a result depends on, by the name that messages use.
Settings = Mapping[str, Any]
#: The setting that says which program made a file.
PROGRAM = "mbrparse"
_SHOWN = 3
#: What msgspec raises for bytes that are no JSON of a type.
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_CHANGED = "it was changed since it was written"
_DAMAGED = f"damaged, or of another run: {_CHANGED}"
#: Seconds after which it is noted what outputs hold that a later run can go on with.
EVERY = 30.0


class _File(msgspec.Struct):
    settings: dict[str, Any]
    content: msgspec.Raw
    digest: str


def save(path: str | Path, content: Any, settings: Settings) -> None:
    """Write a content with its settings, complete or not at all; raises FileError."""
    kept = _escaped(_described(settings))
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
    except _UNREADABLE as error:
        raise FileError(
            f"damaged, or no file of this program ({error})", source=str(path), remedy=otherwise
        ) from None


class _Parts(msgspec.Struct):
    """The lines that outputs have, each at least these, and the digest of these lines of each."""

    lines: int
    digests: list[str]


class _Part:
    """What was read of an output that grows: so many lines, of this size, with their digest."""

    def __init__(self, path: str) -> None:
        self.path, self.lines, self.size, self._digest = path, 0, 0, hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()[:16]

    def whole(self) -> int:
        """The number of its lines that are whole; raises OSError."""
        with open(self.path, "rb") as stream:
            stream.seek(self.size)
            return self.lines + sum(line.endswith(b"\n") for line in stream)

    def read(self, lines: int) -> None:
        """Read up to so many lines; raises OSError."""
        with open(self.path, "rb") as stream:
            stream.seek(self.size)
            for line in islice(stream, lines - self.lines):
                self._digest.update(line)
                self.size += len(line)
        self.lines = lines


@contextmanager
def resumable_outputs(
    paths: Sequence[str], settings: Settings, resume: bool, headings: int = 0
) -> Iterator[int]:
    """Write these outputs, whose lines are about one sentence each, so that a later run can go on with them.

    They grow in PATH.part and are renamed when all are whole. Beside the first one are the settings, and a
    digest of what was written up to half a minute ago, or to the run's end: what is behind that is cut off.
    All stay if the run is interrupted, killed or loses its workers, or goes on with an earlier one; after
    other errors of a first run, which would come again, they do not.

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
        Where another run writes them, or where what is there was damaged, or is no file.
    """
    parts = [_Part(placed(path) + PART) for path in paths]
    names = [part.path for part in parts]
    beside, otherwise = f"{names[0]}.settings", "leave `resume` out to begin anew"

    def note() -> int:
        """Keep how far the parts were read; the number of sentences."""
        save(beside, _Parts(parts[0].lines, [part.digest for part in parts]), settings)
        return max(0, parts[0].lines - headings)

    def go_on() -> int:
        """Read what is whole in all parts, and note it."""
        try:
            lines = min(part.whole() for part in parts)
        except FileNotFoundError:  # not begun, or renamed
            return 0
        for part in parts if lines > headings else ():
            part.read(lines)
        return note()

    if not resume:
        _remove(filter(os.path.islink, names))
    for name in filter(os.path.lexists, names):
        if not stat.S_ISREG(os.lstat(name).st_mode):
            raise FileError("is a link, or no file, and not what a run left", source=name, remedy=otherwise)
    with only_run(names[0]):
        if resume and os.path.isfile(beside):
            noted = load(beside, _Parts, settings, otherwise)
            for part, digest in zip(parts, noted.digests, strict=True):
                with suppress(FileNotFoundError):
                    part.read(noted.lines)
                if part.digest != digest:
                    raise FileError(_DAMAGED, source=part.path, remedy=otherwise)
        done = note()
        for part in parts:
            with as_file_errors(part.path), suppress(FileNotFoundError):
                os.truncate(part.path, part.size)
        try:
            with atomic_outputs(grow=True):
                with meanwhile(go_on, EVERY):
                    yield done
                _remove([beside])  # when one is renamed, there is nothing to go on with
        except BaseException as failure:
            stopped = isinstance(failure, (KeyboardInterrupt, WorkersError, MemoryError))
            with undisturbed():  # by a second Ctrl-C
                there = go_on() if done or stopped else 0
                if not there:
                    _remove([beside, *names])
                elif isinstance(failure, KeyboardInterrupt):
                    kept = f"{paths[0]}{PART} keeps them, `resume` goes on"
                    after = f"after {counted(there, 'sentence')}: {kept}"
                    raise KeyboardInterrupt(*failure.args, after) from None
            raise


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def settings_of(path: str | Path) -> dict[str, Any] | None:
    """The settings of a file that ``save`` wrote, without the program's; None if it is none."""
    with suppress(FileError, *_UNREADABLE):
        with open_input(path) as stream:
            found = msgspec.json.decode(stream.read(), type=_File)
        return {name: value for name, value in found.settings.items() if name != PROGRAM}
    return None


def check_settings(source: object, kept: Settings, now: Settings, otherwise: str) -> None:
    """Raise InputMismatchError where what is kept in ``source`` was made with other settings."""
    now = _escaped(now)
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
    encode = partial(msgspec.msgpack.encode, enc_hook=_of_array, order="deterministic")
    try:
        encoded = encode(value)
    except UnicodeEncodeError:
        encoded = encode(_escaped(value))
    return hashlib.sha256(encoded).hexdigest()[:16]


def file_digest(path: str | Path) -> str:
    """The first ten digits that ``sha256sum`` prints of a file; raises FileError."""
    with open_input(path) as stream:
        return hashlib.file_digest(cast("BytesIO", stream), "sha256").hexdigest()[:10]


def _described(settings: Settings) -> dict[str, Any]:
    """Settings as JSON has them, with the program's."""
    described: dict[str, Any] = msgspec.to_builtins({PROGRAM: program(), **settings})
    return described


def _escaped(value: Any) -> Any:
    """A value whose texts are ``encodable``."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_escaped(name): _escaped(one) for name, one in value.items()}
    return list(map(_escaped, value)) if isinstance(value, (list, tuple)) else value


def check_files(digests: Mapping[str, str], otherwise: str) -> None:
    """Raise FileError where one of these files is gone, or has not this digest (``file_digest``) any more."""
    for path, expected in digests.items():
        if not os.path.exists(path):
            raise FileError("no such file", source=path, remedy=otherwise)
        if file_digest(path) != expected:
            raise FileError(_DAMAGED, source=path, remedy=otherwise)


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
