"""mbrparse's own grammar files: plain text, versioned, one rule a line, in a fixed order.

::

    mbrparse-grammar 1
    terminals tags
    start S 0.75 3
    start NP 0.25 1
    rules 2
    0.5 2 NP -> 'DT' 'NN'
    - 2 NP -> 'DT' NP_Cont
    end

Fields are separated by blanks: probability, count, parent, ``->``, children. Either of the two numbers
may be ``-``: a missing count is not known, a missing probability is the count's share among the rules
of its parent (then all of them have counts). Equal rules add up. Empty lines and lines that begin with
``#`` are passed over.

A header line ``unknown signature 2`` or ``unknown collins 6 DIGEST`` names a model of unknown words (see
grammar.words); the latter's tagger stands in a file beside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO, TypeVar

from mbrparse.errors import GrammarError, shortened
from mbrparse.files import open_output, read_lines, source_name, together
from mbrparse.grammar.rules import SUM_TOLERANCE, Rule, RuleSet, TerminalKind, Weight
from mbrparse.grammar.words.collins import Collins
from mbrparse.grammar.words.tagger import Tagger
from mbrparse.grammar.words.unknown import UnknownWords, read_fields

MAGIC = "mbrparse-grammar"
DOP_MAGIC = "mbrparse-dop"  # see grammar.dop.dop_file
VERSION = 1
ARROW = "->"
_KINDS: dict[str, TerminalKind] = {"tags": "tags", "words": "words"}

Key = TypeVar("Key", str, Rule)
# probability and count as written: None for "-"
_Written = tuple[float | None, float | None]


def read_rules(path: str | Path) -> RuleSet:
    """Read a grammar file; raises GrammarError with file, line and remedy."""
    return rules_of(read_lines(path), path)


def read_rules_with_tagger(path: str | Path) -> RuleSet:
    """Read a grammar file to parse words with, and the tagger beside it if it has one.

    Raises GrammarError, or FileError for a tagger that is not there.
    """
    rules = read_rules(path)
    return replace(rules, unknown=with_tagger(rules.unknown, path))


def with_tagger(unknown: UnknownWords | None, path: str | Path) -> UnknownWords | None:
    """A model of unknown words with the tagger that it needs, from beside the grammar's file."""
    if not isinstance(unknown, Collins):
        return unknown
    return unknown.with_tagger(Tagger.read(path, unknown.digest))


def rules_of(lines: Iterable[str], path: str | Path) -> RuleSet:
    """The rules of a grammar file's lines; raises GrammarError with file, line and remedy."""
    source = source_name(path)
    rules = _Reading(source).read(lines)
    rules.check(source)
    return rules


def write_rules(rules: RuleSet, path: str | Path) -> None:
    """Write a grammar file (``-``: standard output), complete or not at all.

    A tagger that comes with it is written beside it; it goes first, so that no grammar lacks its own.
    """
    with together():
        if isinstance(rules.unknown, Collins) and rules.unknown.tagger is not None:
            rules.unknown.tagger.write(path)
        with open_output(path) as stream:
            _write(rules, stream)


def fields_of(line: str) -> list[str]:
    """The fields of a line; none for an empty one or a comment.

    Blanks and tabs alone separate: a word may hold other white space.

    >>> fields_of("a\\tb c"), fields_of("# comment")
    (['a', 'b', 'c'], [])
    """
    fields = [field for field in line.rstrip("\r\n").replace("\t", " ").split(" ") if field]
    return [] if fields and fields[0].startswith("#") else fields


def read_number(text: str) -> float | None:
    """The number of 0 or more that a text says; None if it says none, or one too large to add up.

    >>> read_number("2.5"), read_number("nan"), read_number("1e999")
    (2.5, None, None)
    """
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return number if 0 <= number <= 1e300 else None


def is_whole(text: str) -> bool:
    """Whether a text is a number of lines: ASCII's digits, not more than ``int`` reads.

    >>> is_whole("12"), is_whole("\\u00b2"), is_whole("1" * 5000)
    (True, False, False)
    """
    return text.isascii() and text.isdecimal() and len(text) < 20


def format_number(number: float) -> str:
    """The shortest text that reads back as the same number; whole ones without a point.

    >>> format_number(3.0), format_number(0.1)
    ('3', '0.1')
    """
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(float(number))


def _write(rules: RuleSet, stream: TextIO) -> None:
    stream.write(f"{MAGIC} {VERSION}\nterminals {rules.terminal_kind}\n")
    if rules.unknown is not None:
        stream.write(f"unknown {' '.join(rules.unknown.fields)}\n")
    for name, weight in sorted(rules.start.items()):
        stream.write(f"start {name} {_numbers(weight)}\n")
    stream.write(f"rules {len(rules.rules)}\n")
    for rule, weight in sorted(rules.rules.items()):
        stream.write(f"{_numbers(weight)} {rule}\n")
    stream.write("end\n")


def _numbers(weight: Weight) -> str:
    count = "-" if weight.count is None else format_number(weight.count)
    return f"{format_number(weight.probability)} {count}"


class _Reading:
    """One pass over a grammar file."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 0

    def read(self, lines: Iterable[str]) -> RuleSet:
        rows = self._rows(lines)
        self._magic(next(rows, []))
        kind: TerminalKind | None = None
        unknown: UnknownWords | None = None
        announced: int | None = None
        start: list[tuple[str, _Written]] = []
        rules: list[tuple[Rule, _Written]] = []
        ended = False
        for fields in rows:
            if ended:
                raise self._error("text after the line 'end'")
            match fields:
                case ["end"]:
                    ended = True
                case ["terminals", name] if name in _KINDS:
                    kind = _KINDS[name]
                case ["unknown", *model]:
                    if unknown is not None:
                        raise self._error("a second line 'unknown'")
                    unknown = self._unknown(model)
                case ["start", name, probability, count]:
                    start.append((name, self._weight(probability, count)))
                case ["rules", number] if is_whole(number):
                    announced = int(number)
                case [probability, count, parent, arrow, *children] if arrow == ARROW and children:
                    rules.append((Rule(parent, tuple(children)), self._weight(probability, count)))
                case _:
                    raise self._error(
                        "not a line of a grammar file", "rules read: PROBABILITY COUNT PARENT -> CHILDREN"
                    )
        if not ended:
            raise self._error("the file ends before its line 'end'", "it was cut off: write it again")
        if kind is None or not start or announced is None:
            raise self._error("the header lacks 'terminals', 'start' or 'rules'")
        if unknown is not None and kind != "words":
            raise self._error("a model of unknown words, but terminals are tags", "remove the line 'unknown'")
        if announced != len(rules):
            raise self._error(f"the header announces {announced} rules, the file holds {len(rules)}")
        return RuleSet(
            kind,
            self._complete({name: "the start distribution" for name, _ in start}, start),
            self._complete({rule: f"the rules of {rule.parent}" for rule, _ in rules}, rules),
            unknown,
        )

    def _rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        for self.line, line in enumerate(lines, start=1):
            if fields := fields_of(line):
                yield fields

    def _magic(self, fields: list[str]) -> None:
        if fields[:1] == [DOP_MAGIC]:
            raise self._error(
                "a DOP grammar, whose rules are not written out; this needs a PCFG",
                "mbrparse train --method counting makes one; parse, posteriors, grammar info and "
                "grammar convert --to bitpar take DOP grammars",
            )
        if fields[:1] != [MAGIC]:
            raise self._error(
                f"not a grammar file (its first line is not '{MAGIC} {VERSION}')",
                "other formats are read by: mbrparse grammar convert",
            )
        if fields != [MAGIC, str(VERSION)]:
            raise self._error(
                f"grammar file version {' '.join(fields[1:])}, but this program reads {VERSION}",
                "a newer mbrparse wrote it: update this one",
            )

    def _unknown(self, fields: list[str]) -> UnknownWords:
        model = read_fields(fields)
        if model is None:
            raise self._error(
                f"not a model of unknown words: {' '.join(fields)!r}",
                "it reads: unknown signature NUMBER, or: unknown collins NUMBER DIGEST (NUMBER: 2 or more)",
            )
        return model

    def _weight(self, probability: str, count: str) -> _Written:
        if probability == count == "-":
            raise self._error("neither a probability nor a count")
        return self._number(probability), self._number(count)

    def _number(self, text: str) -> float | None:
        if text == "-":
            return None
        number = read_number(text)
        if number is None:
            raise self._error(f"{shortened(text)!r} is not a number of 0 or more")
        return number

    def _complete(self, groups: dict[Key, str], items: list[tuple[Key, _Written]]) -> dict[Key, Weight]:
        """Add equal keys up, and fill missing probabilities in from the counts of the group."""
        totals: dict[str, float] = {}
        counted: dict[str, bool] = {}
        for key, (_, count) in items:
            group = groups[key]
            totals[group] = totals.get(group, 0) + (count or 0)
            counted[group] = counted.get(group, True) and count is not None
        done: dict[Key, Weight] = {}
        for key, (probability, count) in items:
            group = groups[key]
            share = count / totals[group] if count is not None and counted[group] and totals[group] else None
            if probability is None and share is None:
                raise self._error(f"{group} give neither all probabilities nor all counts")
            if probability is not None and share is not None and abs(share - probability) > SUM_TOLERANCE:
                raise self._error(
                    f"{group} have counts and probabilities that disagree: "
                    f"{key} has {probability:.6g}, but {count:g} of {totals[group]:g}",
                    "write - for those that are to be computed",
                )
            mass = probability if probability is not None else share or 0.0
            old = done.get(key, Weight(0.0, 0.0))
            known = count is not None and old.count is not None
            done[key] = Weight(mass + old.probability, (count or 0.0) + (old.count or 0.0) if known else None)
        return done

    def _error(self, message: str, remedy: str | None = None) -> GrammarError:
        return GrammarError(message, source=self.source, line=max(self.line, 1), remedy=remedy)
