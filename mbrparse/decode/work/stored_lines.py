"""What is found of a sentence as a line of text, and back: arrays bit by bit, nothing rounded, no pickle."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.decode.lines import Lines
from mbrparse.decode.nary.held_constituents import HeldConstituents
from mbrparse.grammar.charts.span_summary import SpanEntries, SpanSummary

#: Parts that JSON has as they are.
_PLAIN = ("trees", "details", "reason", "length", "candidates", "certified")


def stored(lines: Lines) -> str:
    """One line of JSON, without what a sentence has nothing of.

    >>> stored(Lines(("(S x x)",), None, "no parse"))
    '{"trees": ["(S x x)"], "reason": "no parse"}'
    """
    row = {name: value for name in _PLAIN if (value := getattr(lines, name))}
    if lines.entries is not None:
        row["entries"] = list(map(_array, lines.entries))
    if lines.consistent is not None:
        row["consistent"] = _array(lines.consistent)
    if lines.held is not None:
        held = lines.held
        row["held"] = [held.length, held.labels, list(map(_array, held.summary)), held.expected]
    return json.dumps(row)


def restored(text: str) -> Lines:
    """What ``stored`` wrote.

    >>> lines = Lines(("(S x x)",), None, None, certified=(("labelled-recall", True),))
    >>> restored(stored(lines)) == lines
    True
    """
    row = json.loads(text)
    held = None
    if "held" in row:
        length, labels, summary, expected = row["held"]
        held = HeldConstituents(length, tuple(labels), SpanSummary(*map(_read, summary)), expected)
    return Lines(
        tuple(row["trees"]),
        row.get("details"),
        row.get("reason"),
        row.get("length", 0),
        SpanEntries(*map(_read, row["entries"])) if "entries" in row else None,
        tuple(row.get("candidates", ())),
        _read(row["consistent"]) if "consistent" in row else None,
        held,
        tuple((name, certified) for name, certified in row.get("certified", ())),
    )


def _array(array: npt.NDArray[Any]) -> list[str]:
    return [array.dtype.str, b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")]


def _read(row: list[str]) -> npt.NDArray[Any]:
    kind, data = row
    return np.frombuffer(b64decode(data), np.dtype(kind)).copy()
