"""What a work folder holds the work of: the settings of a run, and its shard of the input.

What is kept was made with the settings of the run that goes on with it, or is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbrparse.errors import FileError, InputMismatchError, OptionsError, shortened
from mbrparse.state_files import (
    SchemaError,
    anything,
    listed,
    mapping,
    optional,
    read_state,
    record,
    text,
    truth,
    whole,
    write_state,
)

#: What a result depends on, by the name that messages use; values are as JSON has them.
Settings = dict[str, Any]
_SHOWN = 3
#: The setting that holds ``program()``.
PROGRAM = "mbrparse"


def differences(kept: Settings, now: Settings, word: str = "now") -> str:
    """What differs between kept settings and those of this run; empty where nothing does.

    >>> differences({"fallback": "flat", "details": True}, {"fallback": "empty", "details": True})
    'fallback: "flat", now "empty"'
    """
    names = [name for name in {**kept, **now} if kept.get(name) != now.get(name)]
    shown = [
        f"{name.replace('_', ' ')}: {_shown(kept, now, name)}, {word} {_shown(now, kept, name)}"
        for name in names
    ]
    return "; ".join((*shown[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])))


def check_settings(source: object, kept: Settings, now: Settings, same: str, another: str) -> None:
    """Raise InputMismatchError where what is kept in ``source`` was made with other settings.

    The remedy is to give the ``same`` options, the program that began, or ``another`` place.
    """
    if differing := differences(kept, now):
        if kept.get(PROGRAM) != now.get(PROGRAM):
            same = "go on with the mbrparse that began it"
        remedy = f"{same}, or {another}"
        raise InputMismatchError(f"made with other settings ({differing})", source=str(source), remedy=remedy)


def _shown(settings: Settings, others: Settings, name: str) -> str:
    value = settings.get(name)
    if value is None:
        return "not given"
    # What the others lack need not be printed whole.
    return (
        "given" if isinstance(value, dict) and others.get(name) is None else shortened(json.dumps(value), 60)
    )


def described(folder: Path) -> dict[str, object]:
    """What an experiment's folder, or one in it, is of, for signatures: settings, and digests of files."""
    for place in (folder, folder.parent):
        with suppress(FileError):
            settings = read_state(place / "settings.json", mapping(anything), "settings", "")
            if settings.pop(PROGRAM, None):  # not another program's
                files = {"corpus": place / "binarized.mrg", "grammar": folder / "grammar.txt"}
                return {"run": settings} | {
                    of: file_digest(file) for of, file in files.items() if file.exists()
                }
    return {}


def file_digest(path: str | Path) -> str:
    """The first ten digits that ``sha256sum`` prints of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:10]


def content_digest(value: Any) -> str:
    """Sixteen hexadecimal digits of a value's content, the same on every machine.

    Values of different types, and containers of different sizes, differ. Raises TypeError for what is
    neither data nor made of data.

    >>> content_digest(("a", 1)) == content_digest(("a", 1)), content_digest((1, 2)) == content_digest((12,))
    (True, False)
    """
    digest = hashlib.sha256()
    _feed(value, digest.update)
    return digest.hexdigest()[:16]


def _feed(value: Any, update: Callable[[bytes], None]) -> None:
    kind = type(value).__name__
    if value is None or isinstance(value, (bool, int, float, str, Enum)):
        update(f"{kind} {value!r}\n".encode(errors="backslashreplace"))
    elif isinstance(value, np.ndarray):
        update(f"array {value.dtype.str} {value.shape}\n".encode())
        update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        update(f"mapping {len(value)}\n".encode())
        for key, item in value.items():
            _feed(key, update)
            _feed(item, update)
    elif isinstance(value, (tuple, list)):
        update(f"{kind} {len(value)}\n".encode())
        for item in value:
            _feed(item, update)
    elif is_dataclass(value):
        update(f"{kind}\n".encode())
        for field in fields(value):
            _feed(getattr(value, field.name), update)
    else:
        raise TypeError(f"no digest of a {kind}")


NAME = "manifest.json"
FORMAT = 1
_SHARD = re.compile(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,6})")

# Settings that merging reads; the others are only compared.
_SETTINGS = {
    "sentences a block": whole(1),
    "objectives": listed(text, least=1),
    "details": truth,
    "candidates": truth,
    "posteriors written": optional(
        record({"labels": listed(text), "consistent": truth, "chains": listed(listed(text))})
    ),
}


class Shard(NamedTuple):
    """Shard ``number`` (from 1) of ``of`` has every ``of``-th block, whatever the number of blocks.

    >>> [number for number in range(8) if Shard(2, 3).has(number)]
    [1, 4, 7]
    """

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``I/N``; raises OptionsError.

        >>> Shard.parse("3/10")
        Shard(number=3, of=10)
        """
        found = _SHARD.fullmatch(text)
        if found is None or int(found[1]) > int(found[2]):
            raise OptionsError(f"--shard is I/N, the I-th of N from 1/N to N/N, not {text!r}")
        return cls(int(found[1]), int(found[2]))

    def has(self, block: int) -> bool:
        """Whether a block, by its number from 0, belongs to this shard."""
        return block % self.of == self.number - 1

    def blocks(self, total: int) -> range:
        """The numbers of its blocks, of ``total`` in all."""
        return range(self.number - 1, total, self.of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


#: The whole input.
WHOLE = Shard()


@dataclass(frozen=True)
class Manifest:
    """The settings of a run and its shard, a file of the work folder."""

    settings: Settings
    shard: Shard = WHOLE

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read that of a folder; raises FileError."""
        path = folder / NAME
        content = read_state(path, _check, "a work folder's manifest", "is it whole? Give another folder")
        if content["format"] != FORMAT:
            raise FileError(
                f"work of another format ({shortened(str(content['format']))}, where {FORMAT} is read)",
                source=str(path),
                remedy="go on with the mbrparse that began it",
            )
        return cls(content["settings"], Shard.parse(content["shard"]))

    def write(self, folder: Path) -> None:
        """Write it into a folder; raises FileError."""
        content = {"format": FORMAT, "shard": str(self.shard), "settings": self.settings}
        write_state(folder / NAME, content)


def _check(content: Any) -> None:
    # A file of another format may differ in all else, too: its format is what is reported.
    if "format" not in content:
        raise SchemaError("there is no 'format'")
    if content["format"] == FORMAT:
        record({"format": anything, "shard": text, "settings": mapping(anything)})(content)
        record(_SETTINGS)({name: value for name, value in content["settings"].items() if name in _SETTINGS})
