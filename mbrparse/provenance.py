"""What made a file: the commands from the corpus on, kept beside FILE as ``FILE.made``.

Other programs read grammars and trees, so nothing is put into these. What is kept holds the digest of FILE:
of another content it says nothing. Signatures of tables repeat the commands, and the digests of all that
these read; they name no folder, so that they are the same on every machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import chain

import msgspec

from mbrparse import files, settings
from mbrparse.errors import MbrparseError
from mbrparse.log import warn

#: Begins each command in signatures, which a semicolon and a blank part.
BEGINS = "mbrparse "
_FOLDERS = re.compile(r"[^=,:]*/[^=,:]*")


class Step(msgspec.Struct):
    """A command, and the digests of the files that it read, by their names."""

    command: str
    read: dict[str, str]


class _Made(msgspec.Struct):
    digest: str  #: of the file, as ``settings.file_digest`` has it
    steps: list[Step]  #: in their order


def name_of(path: str, parts: int = 1) -> str:
    """A path, or several in ``NAME=FILE,FILE`` or ``nltk:NAME``, with no more than the last parts of each.

    >>> name_of("craft:/data/CRAFT/"), name_of("a=/x/y.mrg,z.mrg"), name_of("/x/y/z", 2)
    ('craft:CRAFT', 'a=y.mrg,z.mrg', 'y/z')
    """
    return _FOLDERS.sub(lambda found: "/".join(found[0].rstrip("/").split("/")[-parts:]), path)


def steps_of(paths: Iterable[str]) -> list[Step]:
    """The steps that made these files, each once; warns of what is not of a file as it is now."""
    steps: list[Step] = []
    for path in paths:
        beside = f"{path}{files.MADE}"
        if not (os.path.isfile(path) and os.path.isfile(beside)):
            continue
        try:
            made = settings.load(beside, _Made, None, "delete it")
            if made.digest != settings.file_digest(path):
                raise MbrparseError(f"{beside}: not of {path} as it is now")
        except MbrparseError as error:
            warn(f"{error}; not used")
            continue
        steps += [step for step in made.steps if step not in steps]
    return steps


def write(path: str, steps: list[Step]) -> None:
    """Keep beside a file what made it, unless somebody's own file is there; raises FileError."""
    beside = files.sidecar(path, files.MADE)
    if beside is None or (os.path.exists(beside) and settings.settings_of(beside) is None):
        return
    settings.save(beside, _Made(settings.file_digest(path), steps), {})


def said(steps: Iterable[Step]) -> dict[str, object]:
    """Steps in a signature: ``made``, all commands, and ``from``, the files that they read."""
    steps = list(steps)
    read = chain.from_iterable(step.read.items() for step in steps)
    made = "; ".join(step.command for step in steps)
    return {"made": made or None, "from": ",".join(dict.fromkeys(map("=".join, read))) or None}
