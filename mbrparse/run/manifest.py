"""What a work folder holds the work of: the settings of a run, and its shard of the input."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.io.errors import FileError, OptionsError, shortened
from mbrparse.io.state_files import (
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
from mbrparse.run.kept_settings import Settings

NAME = "manifest.json"
FORMAT = 1
_SHARD = re.compile(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,6})")

# Settings that merging reads; the others are only compared.
_SETTINGS = {
    "sentences a block": whole(1),
    "objectives": listed(text, least=1),
    "details": truth,
    "candidates": truth,
    "posteriors written": optional(record({"labels": listed(text), "consistent": truth})),
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

    @property
    def objectives(self) -> list[str]:
        """The names of the objectives, in their order."""
        return list(self.settings["objectives"])


def _check(content: Any) -> None:
    # A file of another format may differ in all else, too: its format is what is reported.
    if "format" not in content:
        raise SchemaError("there is no 'format'")
    if content["format"] == FORMAT:
        record({"format": anything, "shard": text, "settings": mapping(anything)})(content)
        record(_SETTINGS)({name: value for name, value in content["settings"].items() if name in _SETTINGS})
