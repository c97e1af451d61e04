"""Files of DOP grammars: plain text, one address a line, children before parents.

::

    mbrparse-dop 1
    terminals tags
    weights plain
    start S 1
    addresses 3
    2 NP 'DT' 'NN'
    1 VP 'VB' 1
    1 S 1 2
    end

A line is a count, a label and two children: a terminal in quotes, or the number of an earlier line, from 1.
With words a preterminal has one, its word: ``5 DT 'the'``. A header line ``max-depth 3`` bounds fragments;
``unknown signature 2`` names a model of unknown words, as in other grammar files.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import numpy as np

from mbrparse.errors import shortened
from mbrparse.files import atomic_outputs, open_output, source_name
from mbrparse.grammar.dop.addressed_treebank import NO_CHILD, AddressedTreebank, Weighting, addresses_of
from mbrparse.grammar.fields import DOP_MAGIC, FieldsReader, format_number, is_whole, read_number
from mbrparse.grammar.rules import TERMINAL_KINDS, TerminalKind, is_terminal, quote, unquote
from mbrparse.grammar.unknown_words import Collins, UnknownWords, read_fields

VERSION = 1


def write_treebank(treebank: AddressedTreebank, path: str | Path) -> None:
    """Write a DOP grammar (``-``: standard output), complete or not at all, with its tagger beside it."""
    names = list(map(quote, treebank.terminals))
    with atomic_outputs():
        if isinstance(treebank.unknown, Collins) and treebank.unknown.tagger is not None:
            treebank.unknown.tagger.write(path)
        with open_output(path) as stream:
            stream.write(f"{DOP_MAGIC} {VERSION}\nterminals {treebank.terminal_kind}\n")
            stream.write(f"weights {treebank.weighting}\n")
            if treebank.max_depth is not None:
                stream.write(f"max-depth {treebank.max_depth}\n")
            if treebank.unknown is not None:
                stream.write(f"unknown {' '.join(treebank.unknown.fields)}\n")
            for name, count in sorted(treebank.start.items()):
                stream.write(f"start {name} {format_number(count)}\n")
            stream.write(f"addresses {len(treebank.count)}\n")
            for label, children, count in treebank.rows():
                texts = (names[~child] if child < 0 else str(child + 1) for child in children)
                stream.write(f"{format_number(count)} {treebank.labels[label]} {' '.join(texts)}\n")
            stream.write("end\n")


def read_treebank(lines: Iterable[str], path: str | Path) -> AddressedTreebank:
    """Read a DOP grammar from the lines of a file; raises GrammarError with line and remedy."""
    return _Reading(source_name(path)).read(lines)


class _Reading(FieldsReader):
    """One pass over a file."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._rows: list[tuple[str, int, int]] = []
        self._counts: list[float] = []
        self._terminals: dict[str, int] = {}

    def read(self, lines: Iterable[str]) -> AddressedTreebank:
        rows = self.rows(lines)
        if (first := next(rows, [])) != [DOP_MAGIC, str(VERSION)]:
            raise self.error(
                f"DOP grammar file version {' '.join(first[1:])}, but this program reads {VERSION}"
            )
        kind: TerminalKind | None = None
        weighting: Weighting | None = None
        depth: int | None = None
        unknown: UnknownWords | None = None
        announced: int | None = None
        start: dict[str, float] = {}
        for fields in rows:
            if announced is not None:
                self._address(fields)
                continue
            match fields:
                case ["terminals", name] if name in TERMINAL_KINDS:
                    kind = TERMINAL_KINDS[name]
                case ["weights", name] if name in get_args(Weighting):
                    weighting = next(known for known in get_args(Weighting) if known == name)
                case ["max-depth", number] if is_whole(number) and int(number) > 0:
                    depth = int(number)
                case ["unknown", *model] if (unknown := read_fields(model)) is not None:
                    pass
                case ["start", name, number]:
                    start[name] = start.get(name, 0.0) + self._count(number)
                case ["addresses", number] if is_whole(number):
                    announced = int(number)
                case _:
                    raise self.error(
                        "not a header line of a DOP grammar", "train it again: mbrparse train --method dop"
                    )
        if kind is None or weighting is None or not start or announced is None:
            raise self.error("the header lacks 'terminals', 'weights', 'start' or 'addresses'")
        if unknown is not None and kind != "words":
            raise self.error("a model of unknown words, but terminals are tags", "remove the line 'unknown'")
        self.check_announced(announced, len(self._rows), "addresses")
        if lost := sorted(start.keys() - {label for label, _, _ in self._rows}):
            raise self.error(f"no address has the root's label {lost[0]}")
        return AddressedTreebank(
            kind,
            weighting,
            depth,
            start,
            *addresses_of(self._rows, list(self._terminals)),
            np.array(self._counts),
            unknown,
        )

    def _address(self, fields: list[str]) -> None:
        if not 3 <= len(fields) <= 4 or is_terminal(fields[1]):
            raise self.error("not an address", "addresses read: COUNT LABEL CHILD CHILD")
        children = [self._child(text) for text in fields[2:]]
        if len(children) == 1 and children[0] >= 0:
            raise self.error("an only child that is no word")
        self._rows.append((fields[1], children[0], children[1] if len(children) > 1 else NO_CHILD))
        self._counts.append(self._count(fields[0]))

    def _child(self, text: str) -> int:
        if is_terminal(text):
            return ~self._terminals.setdefault(unquote(text), len(self._terminals))
        if not is_whole(text) or not 0 < int(text) <= len(self._rows):
            raise self.error(f"child {shortened(text)!r} is no terminal and no earlier address")
        return int(text) - 1

    def _count(self, text: str) -> float:
        number = read_number(text)
        if not number:
            raise self.error(f"{shortened(text)!r} is not a count above 0")
        return number
