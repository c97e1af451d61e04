"""What a work folder keeps of parsing: its settings, and a row of text for each sentence.

Arrays are stored bit by bit; nothing is rounded, and no pickle is used.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.parser.parse_files import Lines
from mbrparse.decode.parser.parse_input import Job
from mbrparse.decode.parser.score_input import ScoreJob
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.posteriors.posteriors_file import PosteriorsWriter, chains_of
from mbrparse.grammar.pcfg import Grammar
from mbrparse.program import program
from mbrparse.run.manifest import PROGRAM, Manifest, Settings, content_digest
from mbrparse.run.work_folder import Codec

#: Sentences of a block: enough for the kernels of batches, few enough that shards are alike.
BLOCK = 128
#: Parts that JSON has as they are.
_PLAIN = ("trees", "details", "reason", "length", "candidates", "certified")


def settings_of(job: Job | ScoreJob, candidates: bool) -> Settings:
    """All that the results of a run depend on but the input, as JSON has it, by name.

    ``candidates``: whether they are to be written.
    """
    if isinstance(job, ScoreJob):
        sources, borders = list(map(_digest, job.knives.sources)), list(job.knives.borders)
        kept = {**job.options, "form": job.form, "marks": _plain(job.marks), "sources": sources}
        kept |= {"borders": borders, "sentences a block": BLOCK}
        more = {"objectives": ["score"], "details": False, "candidates": False, "posteriors written": None}
        return {PROGRAM: program(), **kept, **more}
    options, source = job.options, job.source
    settings: dict[str, Any] = {
        PROGRAM: program(),
        "sentences a block": BLOCK,
        "posteriors" if isinstance(source, GivenPosteriors) else "grammar": _digest(source),
        **_plain(options),
        "objectives": [row.name for row in options.objectives],
        **{row.name: _plain(row) for row in options.objectives},
        "details": job.details,
        "candidates": candidates,
        "marked": job.marked,
        "posteriors written": None,
    }
    if job.posteriors and not isinstance(source, GivenPosteriors):
        written = {"labels": source.pcfg.labels, "consistent": options.needs_consistency}
        settings["posteriors written"] = {**written, "chains": chains_of(source)}
    found: Settings = json.loads(json.dumps(settings))
    return found


def _digest(source: Grammar | GivenPosteriors) -> str:
    """Of what was read, which does not depend on this machine's logarithms."""
    if isinstance(source, GivenPosteriors):
        return content_digest(replace(source, source="", ignored=()))
    return content_digest(source.content)


def writer_of(manifest: Manifest) -> PosteriorsWriter | None:
    """What collects the posteriors of a run, if they were kept."""
    written = manifest.settings["posteriors written"]
    return None if written is None else PosteriorsWriter(**written)


def encode(lines: Lines) -> str:
    """One line of JSON, without the parts that a sentence lacks.

    >>> encode(Lines(("(S x x)",), None, "no parse"))
    '{"trees": ["(S x x)"], "reason": "no parse"}'
    """
    row = {name: value for name in _PLAIN if (value := getattr(lines, name))}
    if lines.entries is not None:
        row["entries"] = list(map(_to_json, lines.entries))
    if lines.consistent is not None:
        row["consistent"] = _to_json(lines.consistent)
    return json.dumps(row)


def decode(text: str) -> Lines:
    """What ``encode`` wrote.

    >>> lines = Lines(("(S x x)",), None, None, certified=(("labelled-recall", True),))
    >>> decode(encode(lines)) == lines
    True
    """
    row = json.loads(text)
    return Lines(
        tuple(row["trees"]),
        row.get("details"),
        row.get("reason"),
        row.get("length", 0),
        SpanEntries(*map(_to_array, row["entries"])) if "entries" in row else None,
        tuple(row.get("candidates", ())),
        _to_array(row["consistent"]) if "consistent" in row else None,
        tuple((name, certified) for name, certified in row.get("certified", ())),
    )


CODEC = Codec(encode, decode)
#: For runs whose candidates only chose among trees and are not to be written.
CODEC_WITHOUT_CANDIDATES = Codec(lambda lines: encode(lines._replace(candidates=())), decode)


def _plain(value: Any) -> Any:
    """An option as JSON has it."""
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


def _to_json(array: npt.NDArray[Any]) -> list[str]:
    return [array.dtype.str, b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")]


def _to_array(row: list[str]) -> npt.NDArray[Any]:
    kind, data = row
    return np.frombuffer(b64decode(data), np.dtype(kind)).copy()
