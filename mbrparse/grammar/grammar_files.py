"""Grammar files: mbrparse's own format, and whole grammars in files of any kind.

mbrparse's own files are plain text, versioned, one rule a line, in a fixed order::

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
grammar.unknown_words); the latter's tagger is a separate file beside the grammar's. Lines
``word WORD TERMINAL`` list the rare words of training with the terminal that each shares with others; with
signatures it is the word itself where its place in a sentence tells its class.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mbrparse.arguments import checked
from mbrparse.errors import GrammarError
from mbrparse.files import atomic_outputs, open_output, read_lines, source_name
from mbrparse.grammar.fields import (
    DOP_MAGIC,
    LARGEST_NUMBER,
    FieldsReader,
    fields_of,
    format_number,
    is_whole,
    split_at_blanks,
)
from mbrparse.grammar.grammar_formats import is_nltk, read_nltk, rules_of_nltk
from mbrparse.grammar.pcfg import PCFG, FloatArray, Grammar
from mbrparse.grammar.rules import (
    NO_CHILD,
    SUM_TOLERANCE,
    TERMINAL_KINDS,
    RuleSet,
    RuleTable,
    TerminalKind,
    Weight,
    binarize_rules,
    is_terminal,
    row_keys,
    rows_of_places,
)
from mbrparse.grammar.unknown_words import Collins, Tagger, UnknownWords, is_unknown, model_lines, read_fields
from mbrparse.log import Log, counted, no_log

if TYPE_CHECKING:
    import nltk

    from mbrparse.grammar.dop_treebank import AddressedTreebank

MAGIC = "mbrparse-grammar"
VERSION = 1
# What numbers are written with.
_NUMERALS = str.maketrans("", "", "0123456789.eE+-")


@checked
def read_grammar(path: str | Path, *, normalize: bool = False, log: Log = no_log) -> PCFG:
    """Read a grammar file, with the tagger beside it if it has one (``-``: standard input).

    The file is mbrparse's, or a grammar in NLTK's format (``S -> NP VP [1.0]``), whose longer rules are
    binarized.

    Parameters
    ----------
    path
        The file's name.
    normalize
        Divide the probabilities of each left-hand side by their sum.
    log
        Gets a line for what was changed.

    Raises
    ------
    FileError
        The file cannot be read.
    GrammarError
        It is no grammar, or one that charts cannot be computed with; with file, line and remedy.
    """
    return _pcfg(_rule_table("".join(read_lines(path)), path, normalize, log), path, log)


@checked
def grammar(source: str | Path | nltk.PCFG, *, normalize: bool = False) -> PCFG:
    """A grammar of a text of rules, of a file, or of an ``nltk.PCFG``.

    A text is in NLTK's format or in mbrparse's; rules of three children or more are binarized. ``normalize``
    is that of ``read_grammar``. Raises GrammarError, FileError.

    >>> grammar("S -> NP V [1.0]\\nNP -> 'she' [0.5] | 'it' [0.5]\\nV -> 'works' [1.0]")
    <grammar over words: 3 symbols, 4 rules>
    """
    place = "<grammar>"
    if isinstance(source, str) and ("\n" in source or is_nltk(source)):
        return _pcfg(_rule_table(source, place, normalize, no_log), place, no_log)
    if isinstance(source, (str, Path)):
        return read_grammar(source, normalize=normalize)
    if hasattr(source, "productions"):
        return _pcfg(RuleTable.of_rules(rules_of_nltk(source, normalize=normalize)), place, no_log)
    remedy = "give a text of rules, a path, or an nltk.PCFG"
    raise GrammarError(f"a {type(source).__name__}, not a grammar", remedy=remedy)


def read_any_grammar(path: str | Path, *, normalize: bool = False, log: Log = no_log) -> Grammar:
    """Read a grammar file of any kind, a PCFG's or a DOP grammar's; raises as ``read_grammar``."""
    content = _content("".join(read_lines(path)), path, normalize, log)
    if isinstance(content, RuleTable):
        return _pcfg(content, path, log)
    from mbrparse.grammar.dop_grammar import DopGrammar

    model = _with_tagger(content.unknown, path)
    _note_unlisted(model, content.terminals, path, log)
    return DopGrammar.of_treebank(replace(content, unknown=model))


def read_rules(
    path: str | Path, *, normalize: bool = False, tagger: bool = False, log: Log = no_log
) -> RuleSet:
    """The rules of a PCFG's file, in mbrparse's format or in NLTK's; with the ``tagger`` beside it if asked.

    Raises as ``read_grammar``.
    """
    rules = _rule_table("".join(read_lines(path)), path, normalize, log).rules()
    return replace(rules, unknown=_with_tagger(rules.unknown, path)) if tagger else rules


def read_rules_or_treebank(
    path: str | Path, *, normalize: bool = False, log: Log = no_log
) -> RuleSet | AddressedTreebank:
    """What a grammar file of any kind holds; raises as ``read_grammar``."""
    content = _content("".join(read_lines(path)), path, normalize, log)
    return content.rules() if isinstance(content, RuleTable) else content


def _content(text: str, path: str | Path, normalize: bool, log: Log) -> RuleTable | AddressedTreebank:
    """What the text of a grammar file holds, checked."""
    first = next(filter(fields_of, io.StringIO(text)), "")
    begin, source = fields_of(first), source_name(path)
    if begin[:1] == [DOP_MAGIC]:
        from mbrparse.grammar.dop_treebank import read_treebank

        return read_treebank(io.StringIO(text), path)
    if is_nltk(first) or (Path(path).suffix in (".nltk", ".pcfg") and begin[:1] != [MAGIC]):
        return RuleTable.of_rules(read_nltk(io.StringIO(text), source, normalize=normalize, log=log))
    table = _GrammarReader(source).read(text, begin)
    if normalize:
        table = RuleTable.of_rules(table.rules().normalized(source, log))
    table.check(source)
    return table


def _rule_table(text: str, path: str | Path, normalize: bool, log: Log) -> RuleTable:
    content = _content(text, path, normalize, log)
    if not isinstance(content, RuleTable):
        raise GrammarError(
            "a DOP grammar, whose rules are not written out; this needs a PCFG",
            source=source_name(path),
            line=1,
            remedy="mbrparse train --method counting makes one; parse, posteriors, grammar info and "
            "grammar convert --to bitpar take DOP grammars",
        )
    return content


def _pcfg(rules: RuleTable, path: str | Path, log: Log) -> PCFG:
    if rules.header.unknown is not None:
        unknown = _with_tagger(rules.header.unknown, path)
        rules = replace(rules, header=replace(rules.header, unknown=unknown))
        _note_unlisted(unknown, rules.texts, path, log)
    if rules.children.shape[1] == 2:
        return PCFG.from_table(rules)
    binary = binarize_rules(rules.rules())
    log(f"{counted(binary.changed, 'rule')} of three children or more binarized (see parse --debinarize)")
    return PCFG.from_rules(binary.rules)


def _with_tagger(unknown: UnknownWords | None, path: str | Path) -> UnknownWords | None:
    """A model of unknown words with the tagger that it needs, which is read from beside the grammar."""
    if not isinstance(unknown, Collins):
        return unknown
    return unknown.with_tagger(Tagger.read(path, unknown.digest))


def _note_unlisted(model: UnknownWords | None, terminals: Iterable[str], path: str | Path, log: Log) -> None:
    """Tell of a grammar that was written when the rare words of training were not listed."""
    if model is not None and not model.words and any(map(is_unknown, terminals)):
        log(
            f"{source_name(path)}: it does not list its rare words, so each has the probability of its whole "
            "class: train again"
        )


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
                stream.writelines(model_lines(rules.unknown))
            for name, weight in sorted(rules.start.items()):
                stream.write(f"start {name} {_numbers(weight)}\n")
            stream.write(f"rules {len(rules.rules)}\n")
            for rule, weight in sorted(rules.rules.items()):
                stream.write(f"{_numbers(weight)} {rule}\n")
            stream.write("end\n")


def _numbers(weight: Weight) -> str:
    written = "-" if weight.count is None else format_number(weight.count)
    return f"{format_number(weight.probability)} {written}"


class _GrammarReader(FieldsReader):
    """Reads a grammar in mbrparse's format."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._kind: TerminalKind | None = None
        self._unknown: UnknownWords | None = None
        self._words: list[tuple[str, str]] = []
        self._announced = -1
        self._start: list[str] = []
        # Probabilities and counts, first those of start symbols, and their lines.
        self._numbers: tuple[list[str], list[str]] = [], []
        self._lines: list[int] = []

    def read(self, text: str, begin: list[str]) -> RuleTable:
        """The rules of a text, whose first fields are ``begin``."""
        if begin != [MAGIC, str(VERSION)]:
            raise self.error(
                f"not a grammar file (its first line is not '{MAGIC} {VERSION}')",
                "mbrparse grammar convert reads other formats, and a newer mbrparse its own",
            )
        # A word may hold white space that str.split would take for a blank.
        split = split_at_blanks if re.search(r"[^\S \t\n]", text) else str.split
        probabilities, counts = self._numbers
        names: list[str] = []  # a parent, its children, the next parent, ...
        width: list[int] = []
        ended = False
        for self.line, line in enumerate(text.rstrip(" \t\r\n").split("\n"), start=1):
            fields = split(line)
            if not fields or fields[0][0] == "#":
                continue
            if ended:
                raise self.error("text after the line 'end'")
            if len(fields) > 4 and fields[3] == "->":
                probabilities.append(fields[0])
                counts.append(fields[1])
                self._lines.append(self.line)
                width.append(len(fields) - 4)
                names.append(fields[2])
                names += fields[4:]
            elif fields == ["end"]:
                ended = True
            elif fields != begin:
                self._header_line(fields)
        if not ended:
            raise self.error("the file ends before its line 'end'", "it was cut off: write it again")
        header = self._header()
        self.check_announced(self._announced, len(width), "rules")
        # A start symbol is the child of a rule that has no parent.
        place = defaultdict[str, int](count().__next__)
        starts = [number for name in self._start for number in (NO_CHILD, place[name])]
        places = np.array([*starts, *map(place.__getitem__, names)], np.int64)
        parent, children = rows_of_places(places, np.array([1] * len(self._start) + width))
        last = self.line
        mass, number = (self._column(texts) for texts in self._numbers)
        for row in np.flatnonzero(np.isnan(mass) & np.isnan(number)).tolist():
            self.line = self._lines[row]
            raise self.error("neither a probability nor a count")
        self.line = last
        return self._completed(RuleTable(header, list(place), parent, children, mass, number))

    def _header_line(self, fields: list[str]) -> None:
        match fields:
            case ["terminals", name] if name in TERMINAL_KINDS:
                self._kind = TERMINAL_KINDS[name]
            case ["unknown", *model]:
                self._unknown = read_fields(model)
                if self._unknown is None:
                    raise self.error(
                        f"not a model of unknown words: {' '.join(model)!r}",
                        "it reads: unknown signature NUMBER, or: unknown collins NUMBER DIGEST (NUMBER: 2 or "
                        "more)",
                    )
            case ["word", word, terminal] if self._unknown is not None:
                self._words.append((word, terminal))
            case ["start", name, probability, number]:
                place = len(self._start)
                self._numbers[0].insert(place, probability)
                self._numbers[1].insert(place, number)
                self._lines.insert(place, self.line)
                self._start.append(name)
            case ["rules", number] if is_whole(number):
                self._announced = int(number)
            case _:
                raise self.error(
                    "not a line of a grammar file", "rules read: PROBABILITY COUNT PARENT -> CHILDREN"
                )

    def _header(self) -> RuleSet:
        unknown = self._unknown
        if self._kind is None or not self._start or self._announced < 0:
            raise self.error("the header lacks 'terminals', 'start' or 'rules'")
        if unknown is not None and self._kind != "words":
            raise self.error("a model of unknown words, but terminals are tags", "remove the line 'unknown'")
        if unknown is not None:
            unknown = unknown.with_words(self._words)
        return RuleSet(self._kind, {}, {}, unknown)

    def _column(self, texts: list[str]) -> FloatArray:
        """Numbers of 0 or more, by line; NaN for ``-``."""
        # Python reads 1_000 and "nan", too.
        if not "".join(texts).translate(_NUMERALS):
            with suppress(ValueError):
                values = np.array([math.nan if text == "-" else float(text) for text in texts]) + 0.0  # -0
                if not ((values < 0) | (values > LARGEST_NUMBER)).any():
                    return values
        lines = self._lines
        for text, self.line in zip(texts, lines, strict=True):
            if text != "-":
                self.number(text)
        raise self.error("a number that cannot be read")

    def _completed(self, rules: RuleTable) -> RuleTable:
        """Compute missing probabilities from counts, add equal rules up; start symbols go to the header."""
        names, parent, children, mass = rules.names, rules.parent, rules.children, rules.probability
        with np.errstate(divide="ignore", invalid="ignore"):
            # Not a number where a count of the parent is unknown.
            share = rules.count / np.bincount(parent + 1, rules.count)[parent + 1]
        lacking = np.isnan(mass) & np.isnan(share)
        for row in np.flatnonzero(lacking | (np.abs(share - mass) > SUM_TOLERANCE)).tolist():
            above = "the start distribution" if parent[row] < 0 else f"the rules of {names[parent[row]]}"
            if lacking[row]:
                raise self.error(f"{above} give neither all probabilities nor all counts")
            below = " ".join(names[place] for place in children[row].tolist() if place != NO_CHILD)
            key = below if parent[row] < 0 else f"{names[parent[row]]} -> {below}"
            raise self.error(
                f"{above} have counts and probabilities that disagree: {key} has {mass[row]:.6g}, but "
                f"{rules.count[row]:g} of {rules.count[parent == parent[row]].sum():g}",
                "write - for those that are to be computed",
            )
        mass = np.where(np.isnan(mass), share, mass)
        keys = row_keys(parent + 1, *children.T + 1)
        _, first, equal = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        kept = first[order]
        mass, counts = (np.bincount(equal, each)[order].astype(np.float64) for each in (mass, rules.count))
        parent, children = parent[kept], children[kept]
        roots = int((parent < 0).sum())
        start = {
            names[place]: Weight(value, None if math.isnan(number) else number)
            for place, value, number in zip(
                children[:roots, 0].tolist(), mass[:roots].tolist(), counts[:roots].tolist(), strict=True
            )
        }
        header = replace(rules.header, start=start)
        return RuleTable(header, names, parent[roots:], children[roots:], mass[roots:], counts[roots:])


@checked
def write_grammar(grammar: PCFG, path: str | Path) -> None:
    """Write a grammar file (``-``: standard output), complete or not at all, with its tagger beside it.

    Raises FileError, and GrammarError for a grammar that was not made of rules.

    >>> write_grammar(grammar("S -> NP 'c' [1.0]\\nNP -> 'a' 'b' [1.0]"), "-")
    mbrparse-grammar 1
    terminals tags
    start S 1 -
    rules 2
    1 - NP -> 'a' 'b'
    1 - S -> NP 'c'
    end
    """
    if grammar.rules is None:
        raise GrammarError("the rules of this grammar are not known", remedy="train it, or read it, here")
    write_rules(grammar.rules, path)


def describe(rules: RuleSet) -> dict[str, str]:
    """Name each figure that ``mbrparse grammar info`` prints.

    Symbols are what rules rewrite or combine: nonterminals, and tags that stand in binary rules.
    """
    arity = Counter(_kind(rule.children) for rule in rules.rules)
    terminals = {child for rule in rules.rules for child in rule.children if is_terminal(child)}
    nonterminals = {rule.parent for rule in rules.rules} | rules.start.keys()
    combined = {child for rule in rules.rules if len(rule.children) > 1 for child in rule.children}
    start = sorted(rules.start.items(), key=lambda item: (-item[1].probability, item[0]))
    return {
        "terminals": f"{rules.terminal_kind}, {len(terminals)}",
        **({"unknown words": _unknown(rules.unknown)} if rules.terminal_kind == "words" else {}),
        "nonterminals": str(len(nonterminals)),
        "symbols": str(len(nonterminals | combined)),
        "rules": str(len(rules.rules)),
        **{f"  {kind}": str(count) for kind, count in sorted(arity.items())},
        "start": ", ".join(f"{name} {weight.probability:.4f}" for name, weight in start),
    }


def describe_treebank(treebank: AddressedTreebank) -> dict[str, str]:
    """The same of a DOP grammar.

    Fragments are counted at every node that has them; the reduction's rules are those of ``grammar convert``.
    """
    from mbrparse.grammar.dop_grammar import DopGrammar, number_of_fragments, reduced_rules

    fragments = number_of_fragments(treebank)
    start = sorted(treebank.start.items(), key=lambda item: (-item[1], item[0]))
    return {
        "method": "dop",
        "weights": treebank.weighting,
        "depth of fragments": "any" if treebank.max_depth is None else f"at most {treebank.max_depth}",
        "terminals": f"{treebank.terminal_kind}, {len(treebank.terminals)}",
        **({"unknown words": _unknown(treebank.unknown)} if treebank.terminal_kind == "words" else {}),
        "labels": str(len(treebank.labels)),
        "trees": format_number(treebank.trees),
        "nodes": format_number(float(treebank.count.sum())),
        "addresses": str(len(treebank.count)),
        "fragments": str(fragments) if fragments < 10**15 else f"{Decimal(fragments):.3e}",
        "rules of the reduction": str(sum(1 for _ in reduced_rules(DopGrammar.of_treebank(treebank)))),
        "start": ", ".join(f"{name} {count / treebank.trees:.4f}" for name, count in start),
    }


def _unknown(model: UnknownWords | None) -> str:
    return "none" if model is None else f"{model.kind}, of words seen fewer than {model.rare} times"


def _kind(children: tuple[str, ...]) -> str:
    if len(children) == 1:
        return "lexical" if is_terminal(children[0]) else "unary"
    return "binary" if len(children) == 2 else "longer"
