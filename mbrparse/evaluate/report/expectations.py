"""What ``parse --details`` says of each sentence's trees: the scores that they were expected to have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.details_files import detail_rows, one_for_each
from mbrparse.files import source_name


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
    # A file about one objective speaks of its parser's trees, whatever these are called.
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
