"""Files of ``parse --details``, a JSON object a line: fall-backs, and the scores expected of each tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.io.errors import FileError, InputMismatchError
from mbrparse.io.files import read_lines, source_name


def read_fallbacks(names: Sequence[str], paths: Sequence[str | Path]) -> dict[str, list[bool]]:
    """For each parser's name, for each sentence, whether its tree is a fall-back.

    One file is about all parsers, as ``parse`` writes it for all objectives; otherwise there is one for each.
    Where the objectives' names are the parsers', each is judged by its own. Raises FileError at what is no
    such file, InputMismatchError where the files are neither one nor one for each.
    """
    of_each = one_for_each(names, paths)
    of_path = {path: _found(path) for path in dict.fromkeys(of_each)}
    return {
        name: [found is not None and name not in found for found in of_path[path]]
        for name, path in zip(names, of_each, strict=True)
    }


def one_for_each(names: Sequence[str], paths: Sequence[str | Path]) -> Sequence[str | Path]:
    """The file of each parser; raises InputMismatchError where files are neither one nor one for each."""
    if len(paths) not in (1, len(names)):
        raise InputMismatchError(
            f"{len(paths)} files of details for {len(names)} of parses",
            remedy="give one that is about all parses, or one for each of them, in their order",
        )
    return paths if len(paths) == len(names) else [paths[0]] * len(names)


def detail_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """The objects of a file; raises FileError at what is none of ``parse --details``."""
    for number, line in enumerate(read_lines(path), start=1):
        row = _object(line)
        if row.get("status") not in ("parsed", "fallback") or not isinstance(row.get("trees", {}), dict):
            raise FileError(
                "no line of parse --details",
                source=source_name(path),
                line=number,
                remedy="give a file that mbrparse parse --details FILE wrote",
            )
        yield row


def _found(path: str | Path) -> list[frozenset[str] | None]:
    """For each sentence that fell back the objectives that found a tree nevertheless; None: all did."""
    sentences: list[frozenset[str] | None] = []
    for row in detail_rows(path):
        trees = row.get("trees", {})
        scored = (name for name, tree in trees.items() if isinstance(tree, dict) and _has_score(tree))
        sentences.append(None if row["status"] == "parsed" else frozenset(scored))
    return sentences


def _has_score(tree: dict[str, Any]) -> bool:
    return tree.get("expected_score") is not None


def _object(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


class Expected(NamedTuple):
    """What one parser's file says of a sentence, and of its tree; None where it says nothing of it.

    ``labelled`` and ``bracketed`` are expected numbers of matches among ``constituents``; ``g`` are the
    posteriors of the tree's constituents by start, end and label.
    """

    reason: str | None
    log_prob: float | None
    score: float | None = None
    posterior: float | None = None
    constituents: float | None = None
    labelled: float | None = None
    bracketed: float | None = None
    g: dict[tuple[int, int, str], float] = {}  # noqa: RUF012  (nobody writes to it)


class Expectations:
    """Of all sentences in turn, for each parser what is expected."""

    def __init__(self, names: Sequence[str], paths: Sequence[str | Path]) -> None:
        """Raises InputMismatchError where files are neither one nor one for each parser."""
        self._names = list(names)
        self._paths = one_for_each(names, paths) if paths else []

    def sentences(self, lengths: Sequence[int]) -> Iterator[list[Expected | None]]:
        """Of each sentence, by parser; of none anything where there are no files.

        ``lengths`` are the sentences'. Raises FileError at what is no such file, InputMismatchError at the
        details of other sentences.
        """
        if not self._paths:
            for _ in lengths:
                yield [None for _ in self._names]
            return
        of_path = {path: detail_rows(path) for path in dict.fromkeys(self._paths)}
        rows = zip_longest(*of_path.values())
        for number, (length, found) in enumerate(zip_longest(lengths, rows), start=1):
            row = dict(zip(of_path, found or [None] * len(of_path), strict=True))
            expected: list[Expected | None] = []
            for name, path in zip(self._names, self._paths, strict=True):
                _check(path, number, length, row[path])
                expected.append(_expected(row[path], name))
            yield expected


def _check(path: str | Path, number: int, length: int | None, row: dict[str, Any] | None) -> None:
    if length is not None and row is not None and row.get("length", length) == length:
        return
    says = "no sentence" if row is None else f"a sentence of {row.get('length')} words"
    there = "no sentence" if length is None else f"one of {length}"
    raise InputMismatchError(
        f"details of other sentences: here is {says}, the gold has {there}",
        source=source_name(path),
        line=number,
        remedy="give what parse --details wrote with these parses",
    )


def _expected(row: dict[str, Any] | None, name: str) -> Expected:
    row = row or {}
    trees = row.get("trees", {})
    # A file about one objective describes its parser's trees, whatever their name.
    tree = trees.get(name, next(iter(trees.values())) if len(trees) == 1 else None)
    known = Expected(_text(row.get("reason")), _number(row.get("log_probability")))
    if not isinstance(tree, dict):
        return known
    return known._replace(
        score=_number(tree.get("expected_score")),
        posterior=_number(tree.get("posterior")),
        constituents=_number(tree.get("constituents")),
        labelled=_number(tree.get("expected_labelled")),
        bracketed=_number(tree.get("expected_bracketed")),
        g=_posteriors(tree.get("nodes")),
    )


def _posteriors(nodes: Any) -> dict[tuple[int, int, str], float]:
    found = {}
    for node in nodes if isinstance(nodes, list) else []:
        match node:
            case [int(start), int(end), str(label), int() | float() as g]:
                found[start, end, label] = float(g)
    return found


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
