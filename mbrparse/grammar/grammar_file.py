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
may be ``-``: a missing count is unknown, a missing probability is the count's share among the rules
of its parent, which then must all have counts. Equal rules are added up. Empty lines and lines that begin
with ``#`` are skipped.

A header line ``unknown signature 2`` or ``unknown collins 6 DIGEST`` names a model of unknown words (see
grammar.words); the latter's tagger is a separate file beside the grammar's. With signatures,
lines ``word WORD TERMINAL`` name the terminals of rare words that have one in common.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mbrparse.files import atomic_outputs, open_output, read_lines, source_name
from mbrparse.grammar.fields_file import FieldsReader, format_number, is_whole
from mbrparse.grammar.rules import SUM_TOLERANCE, TERMINAL_KINDS, Key, Rule, RuleSet, TerminalKind, Weight
from mbrparse.grammar.words.unknown import Collins, Signatures, UnknownWords, read_fields
from mbrparse.log import Log, no_log

MAGIC = "mbrparse-grammar"
DOP_MAGIC = "mbrparse-dop"  # see grammar.dop.dop_file
VERSION = 1
ARROW = "->"

# probability and count as written: None for "-"
_Written = tuple[float | None, float | None]


def read_rules(path: str | Path) -> RuleSet:
    """Read a grammar file; raises GrammarError with file, line and remedy."""
    return rules_of(read_lines(path), path)


def with_tagger(unknown: UnknownWords | None, path: str | Path) -> UnknownWords | None:
    """A model of unknown words with the tagger that it needs, which is read from beside the grammar."""
    if not isinstance(unknown, Collins):
        return unknown
    from mbrparse.grammar.words.tagger import Tagger

    return unknown.with_tagger(Tagger.read(path, unknown.digest))


def rules_of(
    lines: Iterable[str], path: str | Path, *, normalize: bool = False, log: Log = no_log
) -> RuleSet:
    """The rules of a grammar file's lines; raises GrammarError with file, line and remedy."""
    source = source_name(path)
    rules = GrammarFileReader(source).read(lines)
    if normalize:
        rules = rules.normalized(source, log)
    rules.check(source)
    return rules


def write_rules(rules: RuleSet, path: str | Path) -> None:
    """Write a grammar file (``-``: standard output), complete or not at all.

    Its tagger, if any, is written beside it, and first, so that no grammar file lacks its tagger.
    """
    with atomic_outputs():
        if isinstance(rules.unknown, Collins) and rules.unknown.tagger is not None:
            rules.unknown.tagger.write(path)
        with open_output(path) as stream:
            stream.write(f"{MAGIC} {VERSION}\nterminals {rules.terminal_kind}\n")
            if rules.unknown is not None:
                stream.write(f"unknown {' '.join(rules.unknown.fields)}\n")
            if isinstance(rules.unknown, Signatures):
                for word, terminal in sorted(rules.unknown.words.items()):
                    stream.write(f"word {word} {terminal}\n")
            for name, weight in sorted(rules.start.items()):
                stream.write(f"start {name} {_numbers(weight)}\n")
            stream.write(f"rules {len(rules.rules)}\n")
            for rule, weight in sorted(rules.rules.items()):
                stream.write(f"{_numbers(weight)} {rule}\n")
            stream.write("end\n")


def _numbers(weight: Weight) -> str:
    count = "-" if weight.count is None else format_number(weight.count)
    return f"{format_number(weight.probability)} {count}"


class GrammarFileReader(FieldsReader):
    """Reads a grammar file."""

    def read(self, lines: Iterable[str]) -> RuleSet:
        rows = self.rows(lines)
        self._magic(next(rows, []))
        kind: TerminalKind | None = None
        unknown: UnknownWords | None = None
        announced: int | None = None
        words: dict[str, str] = {}
        start: list[tuple[str, _Written]] = []
        rules: list[tuple[Rule, _Written]] = []
        for fields in rows:
            match fields:
                case ["terminals", name] if name in TERMINAL_KINDS:
                    kind = TERMINAL_KINDS[name]
                case ["unknown", *model]:
                    if unknown is not None:
                        raise self.error("a second line 'unknown'")
                    unknown = self._unknown(model)
                case ["word", word, terminal] if isinstance(unknown, Signatures):
                    words[word] = terminal
                case ["start", name, probability, count]:
                    start.append((name, self._weight(probability, count)))
                case ["rules", number] if is_whole(number):
                    announced = int(number)
                case [probability, count, parent, arrow, *children] if arrow == ARROW and children:
                    rules.append((Rule(parent, tuple(children)), self._weight(probability, count)))
                case _:
                    raise self.error(
                        "not a line of a grammar file", "rules read: PROBABILITY COUNT PARENT -> CHILDREN"
                    )
        if kind is None or not start or announced is None:
            raise self.error("the header lacks 'terminals', 'start' or 'rules'")
        if unknown is not None and kind != "words":
            raise self.error("a model of unknown words, but terminals are tags", "remove the line 'unknown'")
        self.check_announced(announced, len(rules), "rules")
        if isinstance(unknown, Signatures):
            unknown = replace(unknown, words=words)
        return RuleSet(
            kind,
            self._complete({name: "the start distribution" for name, _ in start}, start),
            self._complete({rule: f"the rules of {rule.parent}" for rule, _ in rules}, rules),
            unknown,
        )

    def _magic(self, fields: list[str]) -> None:
        if fields[:1] == [DOP_MAGIC]:
            raise self.error(
                "a DOP grammar, whose rules are not written out; this needs a PCFG",
                "mbrparse train --method counting makes one; parse, posteriors, grammar info and "
                "grammar convert --to bitpar take DOP grammars",
            )
        if fields[:1] != [MAGIC]:
            raise self.error(
                f"not a grammar file (its first line is not '{MAGIC} {VERSION}')",
                "other formats are read by: mbrparse grammar convert",
            )
        if fields != [MAGIC, str(VERSION)]:
            raise self.error(
                f"grammar file version {' '.join(fields[1:])}, but this program reads {VERSION}",
                "a newer mbrparse wrote it: update this one",
            )

    def _unknown(self, fields: list[str]) -> UnknownWords:
        model = read_fields(fields)
        if model is None:
            raise self.error(
                f"not a model of unknown words: {' '.join(fields)!r}",
                "it reads: unknown signature NUMBER, or: unknown collins NUMBER DIGEST (NUMBER: 2 or more)",
            )
        return model

    def _weight(self, probability: str, count: str) -> _Written:
        if probability == count == "-":
            raise self.error("neither a probability nor a count")
        written = [None if text == "-" else self.number(text) for text in (probability, count)]
        return written[0], written[1]

    def _complete(self, groups: dict[Key, str], items: list[tuple[Key, _Written]]) -> dict[Key, Weight]:
        """Add up equal keys, and compute missing probabilities from the counts of the group."""
        totals: defaultdict[str, float] = defaultdict(float)
        for key, (_, count) in items:
            totals[groups[key]] += math.nan if count is None else count
        done: dict[Key, Weight] = {}
        for key, (probability, count) in items:
            group = groups[key]
            # Not a number where a count of the group is unknown.
            share = count / totals[group] if count is not None and totals[group] > 0 else None
            if probability is None and share is None:
                raise self.error(f"{group} give neither all probabilities nor all counts")
            if probability is not None and share is not None and abs(share - probability) > SUM_TOLERANCE:
                raise self.error(
                    f"{group} have counts and probabilities that disagree: "
                    f"{key} has {probability:.6g}, but {count:g} of {totals[group]:g}",
                    "write - for those that are to be computed",
                )
            mass = probability if probability is not None else share or 0.0
            old = done.get(key, Weight(0.0, 0.0))
            known = count is not None and old.count is not None
            done[key] = Weight(mass + old.probability, (count or 0.0) + (old.count or 0.0) if known else None)
        return done
