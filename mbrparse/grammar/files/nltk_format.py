"""NLTK's PCFG text (``S -> NP VP [0.9] | 'x' [0.1]``), whose errors are told in its own words.

A start distribution is the unary rules of an extra root symbol, as in ``formats``.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from difflib import get_close_matches
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.grammar.fields_file import FieldsReader, read_number
from mbrparse.grammar.files.formats import ROOT, check_root, fold_root, is_name
from mbrparse.grammar.rules import (
    SUM_TOLERANCE,
    Rule,
    RuleSet,
    TerminalKind,
    Weight,
    is_terminal,
    quote,
    unquote,
)
from mbrparse.io.errors import GrammarError, shortened
from mbrparse.io.files import open_output
from mbrparse.io.log import Log, no_log

_TOKEN = re.compile(
    r"""\s*(?:(?P<arrow>->)|(?P<bar>\|)|\[(?P<probability>[^\]\[]*)\]"""
    r"""|'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<name>[^\s|\[\]'"]+))"""
)
_ESCAPED = re.compile(r"/u([0-9a-f]{1,20})/")
#: A line that begins a grammar in this format: %start, or a symbol and what is meant for an arrow.
_BEGINNING = re.compile(r"""\s*(?:%|[^\s|\[\]'"]+?\s*(?:-+>|=+>|→|⟶|::=))""")
_ARROWS = re.compile("-{2,}>|=+>|→|⟶|::?=?|-")
_CURLY = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2039\u203a`\xb4\xab\xbb"  # ‘ ’ and others
_FORM = "LHS -> RHS... [PROBABILITY] | ..."


class _Written(NamedTuple):
    """A rule as it was written; ``line`` is 0 for a rule that has none."""

    rule: Rule
    probability: float
    line: int = 0


def is_nltk(line: str) -> bool:
    """Whether the first line of a file, comments aside, begins a grammar in NLTK's format.

    >>> is_nltk("S -> NP VP [1.0]"), is_nltk("mbrparse-grammar 1")
    (True, False)
    """
    return _BEGINNING.match(line) is not None


def read_nltk(
    lines: Iterable[str],
    source: str,
    terminal_kind: TerminalKind | None = None,
    root: str = ROOT,
    *,
    normalize: bool = False,
    log: Log = no_log,
) -> RuleSet:
    """The rules of lines in NLTK's format; raises GrammarError with the line and a remedy.

    Without ``terminal_kind``, terminals are tags if one occurs in a longer rule, otherwise words.
    ``normalize`` rescales the probabilities of each left-hand side to a sum of one, and logs by how much.
    """
    reader = _Reader(source)
    written = list(reader.rules(lines))
    return _rule_set(written, reader.start, source, terminal_kind, root, normalize, log)


def rules_of_nltk(grammar: Any, *, normalize: bool = False, log: Log = no_log) -> RuleSet:
    """The rules of an ``nltk.PCFG``; raises GrammarError for one that charts cannot be computed with."""
    written = [
        _Written(
            Rule(str(rule.lhs()), tuple(quote(c) if isinstance(c, str) else str(c) for c in rule.rhs())),
            float(rule.prob()),
        )
        for rule in grammar.productions()
    ]
    return _rule_set(written, str(grammar.start()), "<grammar>", None, ROOT, normalize, log)


def write_nltk(rules: RuleSet, path: str | Path, root: str = ROOT) -> None:
    """Write NLTK's PCFG text; characters that its names lack are written as /u and hexadecimals."""
    check_root(rules, root)
    lines = [
        f"{_symbol(root)} -> {_symbol(name)} [{_decimal(w.probability)}]"
        for name, w in sorted(rules.start.items())
    ]
    for rule, weight in sorted(rules.rules.items()):
        children = " ".join(_symbol(child) for child in rule.children)
        lines.append(f"{_symbol(rule.parent)} -> {children} [{_decimal(weight.probability)}]")
    with open_output(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _decimal(probability: float) -> str:
    """A number without an exponent, which NLTK does not read."""
    return f"{Decimal(repr(probability)):f}"


def _rule_set(
    written: list[_Written],
    start: str | None,
    source: str,
    kind: TerminalKind | None,
    root: str,
    normalize: bool,
    log: Log,
) -> RuleSet:
    if not written:
        raise GrammarError("no rules", source=source, remedy=f"a rule reads {_FORM}")
    _check_symbols(written, start, source)
    if not normalize:
        _check_sums(written, source)
    totals: defaultdict[Rule, float] = defaultdict(float)
    for rule, probability, _ in written:
        totals[rule] += probability
    if kind is None:
        direct = any(len(rule.children) > 1 and any(map(is_terminal, rule.children)) for rule in totals)
        kind = "tags" if direct else "words"
    # NLTK's numbers are probabilities, not counts.
    starts, counts = fold_root(totals, root, start)
    rules = RuleSet(
        kind,
        {name: Weight(probability) for name, probability in starts.items()},
        {rule: Weight(probability) for rule, probability in counts.items()},
    )
    if normalize:
        rules = rules.normalized(source, log)
    rules.check(source)
    return rules


def _check_symbols(written: list[_Written], start: str | None, source: str) -> None:
    """Raise GrammarError for the first symbol without a rule, and name the one that was meant."""
    parents = {one.rule.parent: one.rule.parent for one in written}
    uses = [(name, one) for one in written for name in one.rule.children if not is_terminal(name)]
    if start is not None:
        uses.append((start, _Written(Rule("%start", (start,)), 1.0)))
    for name, (rule, _, line) in uses:
        if name in parents:
            continue
        folded = {parent.casefold(): parent for parent in parents}
        near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.65)
        used = str(rule) if rule.parent != "%start" else f"%start {start}"
        raise GrammarError(
            f"the symbol {shortened(name)} of {shortened(used, 80)} has no rule"
            + (f": did you mean {folded[near[0]]}?" if near else ""),
            source=source,
            line=line or None,
            remedy=f"give it one, or write a word in quotes: {quote(shortened(name))}",
        )


def _check_sums(written: list[_Written], source: str) -> None:
    groups: defaultdict[str, list[_Written]] = defaultdict(list)
    for one in written:
        groups[one.rule.parent].append(one)
    for parent, group in groups.items():
        total = fsum(one.probability for one in group)
        if abs(total - 1) <= SUM_TOLERANCE:
            continue
        lines = list(dict.fromkeys(one.line for one in group))
        listed = ", ".join(map(str, lines[:9])) + (", ..." if len(lines) > 9 else "")
        raise GrammarError(
            f"the rules of {parent} sum to {total:.6g}, {abs(1 - total):.4g} too "
            f"{'little' if total < 1 else 'much'}" + (f" (lines {listed})" if len(lines) > 1 else ""),
            source=source,
            line=lines[0] or None,
            remedy="correct a number, or rescale them: --normalize",
        )


class _Reader(FieldsReader):
    """Reads rules line by line."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.start: str | None = None

    def rules(self, lines: Iterable[str]) -> Iterator[_Written]:
        """Yield the rules, and keep the start symbol."""
        begun = ""
        for self.line, line in enumerate(lines, start=1):
            text = begun + line.strip()
            begun = ""
            if not text or text.startswith("#"):
                continue
            if text.endswith("\\"):
                begun = text[:-1] + " "
            elif text.startswith("%"):
                match = re.fullmatch(r"%\s*start\s+(\S+)", text)
                if match is None:
                    raise self.error("unknown directive", "%start SYMBOL")
                self.start = self._name(match.group(1))
            else:
                for rule, probability in self._rules_of(text):
                    yield _Written(rule, probability, self.line)
        if begun:
            raise self.error("the file ends after a line that a backslash continues")

    def _rules_of(self, text: str) -> Iterator[tuple[Rule, float]]:
        parent: str | None = None
        arrow = weighted = False
        children: list[str] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self._unreadable(text[position:].strip())
            position = match.end()
            name = match["name"]
            if name is not None and weighted and not children and name.startswith("#"):
                return  # a comment behind a rule
            if name is not None and not arrow and _ARROWS.fullmatch(name):
                raise self.error(f"{name} is not the arrow of a rule", "write ->")
            if match["arrow"]:
                if parent is None or arrow:
                    raise self._no_arrow(parent)
                arrow = True
            elif name is not None and not arrow:
                if parent is not None:
                    raise self._no_arrow(parent)
                parent = self._name(name)
            elif parent is None or not arrow:
                raise self.error("a rule begins with its left-hand side and ->", _FORM)
            elif match["probability"] is not None:
                if not children:
                    raise self.error("an empty right-hand side", _FORM)
                yield Rule(parent, tuple(children)), self._probability(match["probability"])
                children, weighted = [], True
            elif match["bar"]:
                if children:
                    raise self._unweighted(children, "an alternative")
                weighted = False
            elif name is not None:
                children.append(self._name(name))
            else:
                children.append(self._terminal(match["single"] or match["double"] or ""))
        if not arrow and parent is not None and ">" in parent:
            raise self._no_arrow(parent)
        if children or not arrow:
            raise self._unweighted(children, "a rule")

    def _probability(self, text: str) -> float:
        number = read_number(text.strip())
        if number is not None:
            return number
        shown = f"[{shortened(text)}]"
        if match := re.fullmatch(r"\s*(\d{0,9}),(\d{1,20})\s*", text):
            raise self.error(f"{shown} has a decimal comma", f"write [{match[1]}.{match[2]}]")
        if match := re.fullmatch(r"\s*(\d{1,9}(?:[.,]\d{1,20})?)\s*%\s*", text):
            share = float(match[1].replace(",", ".")) / 100
            raise self.error(f"{shown} is a percentage", f"write [{share:g}]")
        if (match := re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text)) and int(match[2]):
            share = int(match[1]) / int(match[2])
            raise self.error(f"{shown} is a fraction", f"write [{share:.4g}]; --normalize mends the rounding")
        raise self.error(f"{shown} is not a probability", "write a number from 0 to 1: [0.5]")

    def _terminal(self, text: str) -> str:
        if not text or " " in text or "\t" in text:
            raise self.error(
                f"terminal {text!r} is empty or holds a blank", "write each word in its own quotes"
            )
        return quote(text)

    def _no_arrow(self, parent: str | None) -> GrammarError:
        if parent is not None and (match := re.search("[-=]+>", parent)):
            remedy = f"write {parent[: match.start()]} -> {parent[match.end() :]}".rstrip()
            return self.error(f"no blanks around the arrow of {shortened(parent)}", remedy)
        return self.error("a rule has one symbol, then ->", _FORM)

    def _unweighted(self, children: list[str], what: str) -> GrammarError:
        """The error of a rule that has no probability, or one that has no brackets."""
        if children and (match := re.fullmatch(r"[({<]?(\d*\.?\d+)[)}>]?", children[-1])):
            return self.error(f"{what} whose probability has no brackets", f"write [{match[1]}]")
        shown = f": {shortened(' '.join(children))}" if children else ""
        return self.error(f"{what} without its probability{shown}", f"write {_FORM}")

    def _unreadable(self, rest: str) -> GrammarError:
        shown = repr(shortened(rest, 20))
        if match := re.match(r"\[\s*([\d.,]+)", rest):
            return self.error(f"{shown} has no closing bracket", f"write [{match[1]}]")
        if rest[0] == "]":
            return self.error("a ] without its [", "write the probability as [0.5]")
        return self.error(f"cannot read {shown}", "close the quotes" if rest[0] in "'\"" else _FORM)

    def _name(self, text: str) -> str:
        def character(match: re.Match[str]) -> str:
            code = int(match.group(1), 16)
            return "\ud800" if code > sys.maxunicode else chr(code)

        if text[0] in _CURLY or text[-1] in _CURLY:
            word = text.strip(_CURLY)
            raise self.error(f"typographic quotes: {shortened(text)}", f"write {quote(shortened(word))}")
        name = _ESCAPED.sub(character, text)
        if not is_name(name):
            raise self.error(
                f"{shortened(text)!r} is no symbol's name: /uCODE/ is a character that names cannot hold",
                "a name holds no white space, no surrogate, and is not in quotes",
            )
        return name


def _symbol(name: str) -> str:
    if not is_terminal(name):
        if not is_name(name):
            raise GrammarError(f"{name!r} is no symbol's name in NLTK's form", remedy="call it otherwise")
        return "".join(
            character if _fits_name(character, first=position == 0) else f"/u{ord(character):x}/"
            for position, character in enumerate(name)
        )
    terminal = unquote(name)
    if "'" not in terminal:
        return f"'{terminal}'"
    if '"' in terminal:
        raise GrammarError(f"terminal {terminal} holds both kinds of quotes, which NLTK's form cannot say")
    return f'"{terminal}"'


def _fits_name(character: str, *, first: bool) -> bool:
    # Less than "re" takes for a letter: NLTK's releases differ in whether ² is one.
    return character.isalpha() or character.isdecimal() or character in ("_" if first else "_^<>-")
