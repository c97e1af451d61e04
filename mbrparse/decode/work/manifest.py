"""What a work folder is the work of: all that its results depend on but the input, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from mbrparse.decode.posteriors.posteriors_file import GivenPosteriors
from mbrparse.decode.run import Job
from mbrparse.decode.work.content_digest import content_digest
from mbrparse.decode.work.shard import WHOLE, Shard
from mbrparse.errors import FileError, shortened
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import PCFG
from mbrparse.state_files import (
    MisfitError,
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
from mbrparse.version import __version__

NAME = "manifest.json"
FORMAT = 1
_NAMED = 3
#: Sentences of a block: enough that their charts are made together, few enough that shards are alike.
BLOCK = 128

# What merging looks at; the other settings are only compared.
_SETTINGS = {
    "sentences a block": whole(1),
    "objectives": listed(text, least=1),
    "details": truth,
    "candidates": truth,
    "posteriors written": optional(record({"labels": listed(text), "consistent": truth})),
}


@dataclass(frozen=True)
class Manifest:
    """Settings, as JSON has them, and the shard that was parsed with them."""

    settings: dict[str, Any]
    shard: Shard = WHOLE

    @classmethod
    def of(cls, job: Job, candidates: bool, shard: Shard) -> Manifest:
        """That of a run; ``candidates`` says whether they are to be written."""
        options, source = job.options, job.source
        settings: dict[str, Any] = {
            "mbrparse": __version__,
            "sentences a block": BLOCK,
            "posteriors" if isinstance(source, GivenPosteriors) else "grammar": _content(source),
            **_plain(options),
            "objectives": [row.name for row in options.objectives],
            **{row.name: _plain(row) for row in options.objectives},
            "details": job.details,
            "candidates": candidates,
            "posteriors written": None,
        }
        if job.posteriors and not isinstance(source, GivenPosteriors):
            labels = source.pcfg.labels if isinstance(source, DopGrammar) else source.labels
            settings["posteriors written"] = {"labels": labels, "consistent": options.needs_consistency}
        return cls(json.loads(json.dumps(settings)), shard)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """That of a folder; raises FileError."""
        path = folder / NAME
        content = read_state(path, _shape, "a work folder's manifest", "is it whole? Give another folder")
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
    def block(self) -> int:
        """How many sentences a block has."""
        return int(self.settings["sentences a block"])

    @property
    def objectives(self) -> list[str]:
        """The names of the objectives, in their order."""
        return list(self.settings["objectives"])

    def unlike(self, other: Manifest) -> str:
        """What differs from another's settings, in words; empty where nothing does.

        >>> one = Manifest({"fallback": "flat", "details": True})
        >>> one.unlike(Manifest({"fallback": "empty", "details": True}))
        'fallback: "flat", not "empty"'
        """
        here, there = self.settings, other.settings
        names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
        differing = [
            f"{name.replace('_', ' ')}: {_shown(here, name)}, not {_shown(there, name)}" for name in names
        ]
        return "; ".join((*differing[:_NAMED], *(["..."] if len(names) > _NAMED else [])))


def _shape(content: Any) -> None:
    # Of another format all else may be otherwise, which is then not what is wrong with it.
    if "format" not in content:
        raise MisfitError("there is no 'format'")
    if content["format"] == FORMAT:
        record({"format": anything, "shard": text, "settings": mapping(anything)})(content)
        chosen = {name: value for name, value in content["settings"].items() if name in _SETTINGS}
        record(_SETTINGS)(chosen)


def _content(source: PCFG | DopGrammar | GivenPosteriors) -> str:
    """The digest of what was read, not of what this machine's logarithms made of it."""
    if isinstance(source, GivenPosteriors):
        return content_digest(replace(source, source="", ignored=()))
    if isinstance(source, DopGrammar):
        return content_digest(source.treebank)
    return content_digest(source if source.rules is None else source.rules)


def _plain(value: Any) -> Any:
    """What JSON can say of an option."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Sequence):
        return list(map(_plain, value))
    if isinstance(value, Mapping):
        return content_digest(value)  # counts of a corpus
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return repr(value)


def _shown(settings: Mapping[str, Any], name: str) -> str:
    return shortened(json.dumps(settings.get(name)), 60)
