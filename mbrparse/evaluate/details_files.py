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
    of_path = {path: [_found(row) for row in detail_rows(path)] for path in dict.fromkeys(of_each)}
    return {
        name: [found is not None and name not in found for found in of_path[path]]
        for name, path in zip(names, of_each, strict=True)
    }


def _found(row: dict[str, Any]) -> set[str] | None:
    """The objectives that have a tree for a sentence that fell back; None for other sentences."""
    if row["status"] == "parsed":
        return None
    trees = row.get("trees", {}).items()
    return {name for name, tree in trees if isinstance(tree, dict) and tree.get("expected_score") is not None}


def one_for_each(names: Sequence[str], paths: Sequence[str | Path]) -> Sequence[str | Path]:
    """The file of each parser; raises InputMismatchError where files are neither one nor one for each."""
    if len(paths) not in (1, len(names)):
        raise InputMismatchError(
            f"{len(paths)} files of details for {len(names)} of parses",
            remedy="give one that is about all parses, or one for each of them, in their order",
        )
    return paths if len(paths) == len(names) else [paths[0]] * len(names)


def detail_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """The objects of a file; raises FileError at a line that is none of ``parse --details``."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        known = isinstance(row, dict) and row.get("status") in ("parsed", "fallback")
        if not known or not isinstance(row.get("trees", {}), dict):
            raise FileError(
                "no line of parse --details",
                source=source_name(path),
                line=number,
                remedy="give a file that mbrparse parse --details FILE wrote",
            )
        yield row


class Expected(NamedTuple):
    """The expectations of one parser about a sentence and its tree; None where the file has none.

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


def expectations(
    names: Sequence[str], paths: Sequence[str | Path], lengths: Sequence[int]
) -> Iterator[list[Expected | None]]:
    """Yield the expectations of each sentence, by parser; None where there are no files.

    ``lengths`` are the sentences'. Raises FileError at a line that is no object of ``parse --details``,
    InputMismatchError where files are neither one nor one for each parser, or of other sentences.
    """
    if not paths:
        for _ in lengths:
            yield [None for _ in names]
        return
    of_each = one_for_each(names, paths)
    files = list(dict.fromkeys(of_each))
    rows = zip_longest(*map(detail_rows, files))
    for number, (length, found) in enumerate(zip_longest(lengths, rows), start=1):
        row = dict(zip(files, found or [None] * len(files), strict=True))
        expected: list[Expected | None] = []
        for name, path in zip(names, of_each, strict=True):
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
    reason = row.get("reason")
    known = Expected(reason if isinstance(reason, str) else None, _number(row.get("log_probability")))
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
