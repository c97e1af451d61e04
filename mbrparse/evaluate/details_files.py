"""Files of ``parse --details``, a JSON object a line: fall-backs, and the scores expected of each tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.errors import FileError, InputMismatchError
from mbrparse.files import read_lines, source_name
from mbrparse.log import Log, no_log

#: A constituent: start, end, label.
Node = tuple[int, int, str]

_WITH_PARSES = "give what parse --details wrote with these parses"


class Pair(NamedTuple):
    """The details of one parser's trees: a file, and the objective that they are of in it.

    In a file about one objective that is the one, whatever it is called here.
    """

    path: str | Path
    objective: str

    def tree(self, row: dict[str, Any]) -> Any:
        """What a row of the file holds about the tree; None where it has none."""
        trees = row.get("trees", {})
        return trees.get(self.objective, next(iter(trees.values())) if len(trees) == 1 else None)


def read_fallbacks(
    names: Sequence[str],
    pairs: Sequence[Pair],
    digests: Mapping[str, Sequence[str]],
    log: Log = no_log,
) -> dict[str, list[bool]]:
    """For each parser's name, for each sentence, whether its tree is a fall-back.

    Where a file holds trees of some objectives for a sentence that fell back, each parser is judged by its
    own. ``digests`` (``tree_digest``) of parsers' trees must be among those of the rows; ``log`` is told of
    files that have none. Raises FileError at what is no file of details, InputMismatchError at details of
    other trees.
    """
    found: dict[str, list[bool]] = {name: [] for name in names}
    for path in dict.fromkeys(pair.path for pair in pairs):
        parsers = [(name, pair) for name, pair in zip(names, pairs, strict=True) if pair.path == path]
        checked = True
        for number, row in enumerate(detail_rows(path)):
            for name, pair in parsers:
                trees = digests.get(name, ())
                checked = checked and ("digests" in row or not trees)
                if number < len(trees) and trees[number] not in row.get("digests", trees):
                    raise InputMismatchError(
                        f"details of another tree than {name} has for sentence {number + 1}",
                        source=source_name(path),
                        line=number + 1,
                        remedy=_WITH_PARSES,
                    )
                tree = None if row["status"] == "parsed" else pair.tree(row)
                known = isinstance(tree, dict) and tree.get("expected_score") is not None
                found[name].append(row["status"] != "parsed" and not known)
        if not checked:
            log(f"{source_name(path)}: details without digests of trees: not checked against the parses")
    return found


def in_order(names: Sequence[str], paths: Sequence[str | Path]) -> list[Pair]:
    """One file about all parsers, as ``parse`` writes it for all objectives, or one for each in their order.

    Their names are taken to be the objectives'. Raises InputMismatchError where files are neither.
    """
    if len(paths) not in (1, len(names)):
        raise InputMismatchError(
            f"{len(paths)} files of details for {len(names)} of parses",
            remedy="give one that is about all parses, or one for each of them, in their order",
        )
    of_each = paths if len(paths) == len(names) else [paths[0]] * len(names)
    return [Pair(path, name) for path, name in zip(of_each, names, strict=True)]


def detail_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """The objects of a file; raises FileError at a line that is none of ``parse --details``."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        known = isinstance(row, dict) and row.get("status") in ("parsed", "fallback")
        known = known and isinstance(row.get("digests", []), list)
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

    ``nodes`` are the tree's constituents with their posteriors, the root first; ``labelled`` is the expected
    number of matches among ``constituents`` of the true tree: of the ``nary`` one, or the binary one.
    """

    reason: str | None
    log_prob: float | None
    score: float | None = None
    posterior: float | None = None
    constituents: float | None = None
    labelled: float | None = None
    nodes: Sequence[tuple[Node, float]] = ()
    nary: bool = False


def expectations(pairs: Sequence[Pair | None], lengths: Sequence[int]) -> Iterator[list[Expected | None]]:
    """Yield the expectations of each sentence, by parser; None where it is paired with no details.

    ``lengths`` are the sentences'. Raises FileError at a line that is no object of ``parse --details``,
    InputMismatchError where files are of other sentences.
    """
    files = list(dict.fromkeys(pair.path for pair in pairs if pair is not None))
    rows = zip_longest(*map(detail_rows, files)) if files else (() for _ in lengths)
    for number, (length, found) in enumerate(zip_longest(lengths, rows), start=1):
        row = dict(zip(files, found or [None] * len(files), strict=True))
        for path in files:
            _check(path, number, length, row[path])
        yield [None if pair is None else _expected(row[pair.path] or {}, pair) for pair in pairs]


def _check(path: str | Path, number: int, length: int | None, row: dict[str, Any] | None) -> None:
    if length is not None and row is not None and row.get("length", length) == length:
        return
    says = "no sentence" if row is None else f"a sentence of {row.get('length')} words"
    there = "no sentence" if length is None else f"one of {length}"
    raise InputMismatchError(
        f"details of other sentences: here is {says}, the gold has {there}",
        source=source_name(path),
        line=number,
        remedy=_WITH_PARSES,
    )


def _expected(row: dict[str, Any], pair: Pair) -> Expected:
    tree = pair.tree(row)
    reason = row.get("reason")
    known = Expected(reason if isinstance(reason, str) else None, _number(row.get("log_probability")))
    if not isinstance(tree, dict):
        return known
    return known._replace(
        score=_number(tree.get("expected_score")),
        posterior=_number(tree.get("posterior")),
        constituents=_number(tree.get("constituents")),
        labelled=_number(tree.get("expected_labelled")),
        nodes=nodes_of(tree),
        nary=tree.get("nary") is True,
    )


def nodes_of(tree: Any) -> list[tuple[Node, float]]:
    """The constituents of a tree of details, with their posteriors."""
    nodes = tree.get("nodes") if isinstance(tree, dict) else None
    found = []
    for node in nodes if isinstance(nodes, list) else []:
        match node:
            case [int(start), int(end), str(label), int() | float() as g]:
                found.append(((start, end, label), float(g)))
    return found


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
