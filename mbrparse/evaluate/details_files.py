"""Files of ``parse --details``, a JSON object a line for each sentence: which sentences fell back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mbrparse.errors import FileError, InputMismatchError
from mbrparse.files import read_lines, source_name


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
