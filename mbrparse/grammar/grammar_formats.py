"""Other programs' grammar formats: bitpar's pair of files, and NLTK's PCFG text.

Both lack a start distribution. It is written as the unary rules of an extra root symbol (``ROOT -> S``),
which are read as the start distribution again; without such rules the first rule's parent is the start.
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
from typing import Any

from mbrparse.errors import GrammarError, shortened
from mbrparse.files import atomic_outputs, open_output, read_lines, source_name
from mbrparse.grammar.fields import FieldsReader, format_number, read_number, split_at_blanks
from mbrparse.grammar.rules import (
    SUM_TOLERANCE,
    Rule,
    RuleSet,
    TerminalKind,
    Weight,
    is_terminal,
    quote,
    relative_frequencies,
    unquote,
)
from mbrparse.log import Log, no_log

ROOT = "ROOT"


def read_bitpar(rules_path: str | Path, lexicon_path: str | Path, root: str = ROOT) -> RuleSet:
    """Read bitpar's rules (``count LHS RHS...``) and lexicon (``word TAG count...``).

    If each lexicon entry is a tag over itself, tags are the terminals, otherwise words. A tag that is
    an only child is then a preterminal (``NP -> PRP``, ``PRP -> 'PRP'``), as in counted grammars.
    """
    lexicon: defaultdict[Rule, float] = defaultdict(float)
    reader = _CountReader(source_name(lexicon_path))
    for word, *pairs in reader.fields(read_lines(lexicon_path)):
        if not pairs or len(pairs) % 2:
            raise reader.error("not a lexicon line", "WORD TAG COUNT ...")
        for tag, count in zip(pairs[::2], pairs[1::2], strict=True):
            lexicon[Rule(tag, (quote(word),))] += reader.count(count)
    tags = all(rule.children == (quote(rule.parent),) for rule in lexicon)
    preterminals = {rule.parent for rule in lexicon}

    def name(symbol: str) -> str:
        return quote(symbol) if tags and symbol in preterminals else symbol

    counts: defaultdict[Rule, float] = defaultdict(float)
    reader = _CountReader(source_name(rules_path))
    for fields in reader.fields(read_lines(rules_path)):
        if len(fields) < 3:
            raise reader.error("not a rule", "COUNT LHS RHS...")
        count, parent, *children = fields
        rule = Rule(parent, tuple(children if len(children) == 1 else map(name, children)))
        counts[rule] += reader.count(count)
    if not counts:
        raise GrammarError("no rules", source=reader.source)
    only = {rule.children[0] for rule in counts if len(rule.children) == 1}
    counts |= {rule: count for rule, count in lexicon.items() if not tags or rule.parent in only}
    rules = relative_frequencies("tags" if tags else "words", *fold_root(counts, root))
    rules.check(reader.source)
    return rules


def write_bitpar(rules: RuleSet, rules_path: str | Path, lexicon_path: str | Path, root: str = ROOT) -> None:
    """Write bitpar's two files, with probabilities instead of unknown counts."""
    counted = _unfold_root(rules, root)
    parents = {rule.parent for rule in rules.rules}
    combined = {child for rule in rules.rules if len(rule.children) > 1 for child in rule.children}
    lexicon: dict[str, list[tuple[str, str]]] = {}
    for terminal in sorted(unquote(child) for child in combined if is_terminal(child)):
        if terminal not in parents:
            lexicon[terminal] = [(terminal, "1")]
        elif any(rule.parent == terminal and rule.children != (quote(terminal),) for rule in rules.rules):
            raise GrammarError(f"{terminal} is both terminal and nonterminal, which bitpar's form cannot say")
    with atomic_outputs(), open_output(rules_path) as stream, open_output(lexicon_path) as lexicon_stream:
        for rule, number in counted:
            if len(rule.children) == 1 and is_terminal(rule.children[0]):
                lexicon.setdefault(unquote(rule.children[0]), []).append((rule.parent, number))
            else:
                children = (unquote(c) if is_terminal(c) else c for c in rule.children)
                stream.write("\t".join((number, rule.parent, *children)) + "\n")
        if min(lexicon, default="").startswith("\ufeff"):
            lexicon_stream.write("\ufeff")  # a byte-order mark: the word's own is none
        for word, entries in sorted(lexicon.items()):
            lexicon_stream.write("\t".join((word, *(f"{tag} {number}" for tag, number in entries))) + "\n")


_NO_NAME = re.compile("[ \t\n\ud800-\udfff]|^\ufeff|^\r|\r$")


class _CountReader(FieldsReader):
    """Reads a file of counts."""

    def fields(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The fields of each line that has some; none is a comment."""
        for self.line, line in enumerate(lines, start=1):
            if fields := split_at_blanks(line):
                yield fields

    def count(self, text: str) -> float:
        """A field as a count; raises GrammarError."""
        count = read_number(text)
        if count is None:
            raise self.error(f"{shortened(text)!r} is not a count", "a count is a number of 0 or more")
        return count


def fold_root(
    counts: dict[Rule, float], root: str, start: str | None = None
) -> tuple[dict[str, float], dict[Rule, float]]:
    """The weights of the start symbols, and the rules without the root's, if these say no more than that."""
    used = any(root in rule.children for rule in counts)
    roots = {rule: count for rule, count in counts.items() if rule.parent == root}
    foldable = roots and not used and start in (None, root)
    if foldable and all(len(rule.children) == 1 and not is_terminal(rule.children[0]) for rule in roots):
        starts = {rule.children[0]: count for rule, count in roots.items()}
        return starts, {rule: count for rule, count in counts.items() if rule.parent != root}
    return {start or next(iter(counts)).parent: 1.0}, counts


def check_root(rules: RuleSet, root: str) -> None:
    """Raise GrammarError unless ``root`` can be the name of the symbol above the start symbols."""
    if not is_name(root):
        raise GrammarError(f"{root!r} is no symbol's name", remedy="choose another with `root`, e.g. TOP")
    if any(root in (rule.parent, *rule.children) for rule in rules.rules):
        raise GrammarError(f"the grammar has a symbol {root} already", remedy="choose another with `root`")


def _unfold_root(rules: RuleSet, root: str) -> list[tuple[Rule, str]]:
    check_root(rules, root)
    everything = {Rule(root, (name,)): weight for name, weight in rules.start.items()} | rules.rules
    uncounted = {rule.parent for rule, w in everything.items() if w.count is None}
    return [
        (rule, format_number(w.probability if w.count is None or rule.parent in uncounted else w.count))
        for rule, w in sorted(everything.items())
    ]


def is_name(name: str) -> bool:
    """Whether grammar files, in any format, can hold a symbol of this name."""
    return bool(name) and not _NO_NAME.search(name) and not is_terminal(name)


# NLTK's text: S -> NP VP [0.9] | 'x' [0.1]

_TOKEN = re.compile(
    r"""\s*(?:(?P<arrow>->)|(?P<bar>\|)|\[(?P<probability>[^\]\[]*)\]"""
    r"""|'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<name>[^\s|\[\]'"]+))"""
)
_FORM = "a rule reads LHS -> RHS... [PROBABILITY] | ..."
_ESCAPED = re.compile(r"/u([0-9a-f]{1,20})/")
#: A line that begins a grammar in this format: %start, or a symbol and what is meant for an arrow.
_BEGINNING = re.compile(r"""\s*(?:%|[^\s|\[\]'"]+?\s*(?:-+>|=+>|→|⟶|::=))""")
_CURLY = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2039\u203a`\xb4\xab\xbb"  # ‘ ’ and others
#: What is wrong with a line that cannot be read, the likeliest first; {0} is what matches.
_MISTAKES = tuple(
    (re.compile(pattern), message, remedy)
    for pattern, message, remedy in (
        (rf"[{_CURLY}]([^\s{_CURLY}']+)[{_CURLY}']", "typographic quotes: {0}", "write '{1}'"),
        (r"^(\S+)\s+(-{2,}>|=+>|→|⟶|::?=?|-)(?=\s)", "{2} is not the arrow of a rule", "write {1} ->"),
        (r"^([^\s'\"]+?)(?:-+>|=+>|→|⟶)(\S*)", "no blanks around the arrow of {0}", "write {1} -> {2}"),
        (r"\[\s*(\d*),(\d+)\s*\]", "{0} has a decimal comma", "write [{1}.{2}]"),
        (r"\[\s*[\d.,]+\s*%\s*\]", "{0} is a percentage", "write a number from 0 to 1, such as [0.5]"),
        (r"\[\s*\d+\s*/\s*\d+\s*\]", "{0} is a fraction", "write [0.3333]; `normalize` mends the rounding"),
        (
            r"\[(?!\s*\d*\.?\d*(?:[eE][-+]?\d+)?\s*\]|\s*[\d.]+\s*$)[^\]\[]*\]|\[\s*\]",
            "{0} is not a probability",
            "write a number from 0 to 1, such as [0.5]",
        ),
        (r"\[\s*([\d.]+)\s*(?=$|\|)", "{0} has no closing bracket", "write [{1}]"),
        (r"(?<=\s)([\d.]+)\]", "{0} has no opening bracket", "write [{1}]"),
        (r"(?<=\s)[({<]?(\d*\.?\d+)[)}>]?\s*(?=$|\|)", "the probability {1} has no brackets", "write [{1}]"),
    )
)
# A rule as it was written, and its line; 0 for one that has none.
_Written = tuple[Rule, float, int]


def is_nltk(line: str) -> bool:
    """Whether the first line of a file, comments aside, begins a grammar in NLTK's format."""
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
    reader = _NltkReader(source)
    written = list(reader.rules(lines))
    return _rule_set(written, reader.start, source, terminal_kind, root, normalize, log)


def rules_of_nltk(grammar: Any, *, normalize: bool) -> RuleSet:
    """The rules of an ``nltk.PCFG``; raises GrammarError for one that charts cannot be computed with."""
    written: list[_Written] = []
    for rule in grammar.productions():
        if not hasattr(rule, "prob"):
            raise GrammarError(f"the rule {rule} has no probability", remedy="give an nltk.PCFG")
        children = tuple(quote(child) if isinstance(child, str) else str(child) for child in rule.rhs())
        written.append((Rule(str(rule.lhs()), children), float(rule.prob()), 0))
    return _rule_set(written, str(grammar.start()), "<grammar>", None, ROOT, normalize, no_log)


def write_nltk(rules: RuleSet, path: str | Path, root: str = ROOT) -> None:
    """Write NLTK's PCFG text; characters that its names lack are written as /u and hexadecimals."""
    check_root(rules, root)
    starts = [(Rule(root, (name,)), weight) for name, weight in sorted(rules.start.items())]
    lines = [
        # NLTK reads no exponents.
        f"{_symbol(parent)} -> {' '.join(map(_symbol, children))} [{Decimal(repr(weight.probability)):f}]\n"
        for (parent, children), weight in [*starts, *sorted(rules.rules.items())]
    ]
    with open_output(path) as stream:
        stream.writelines(lines)


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
        raise GrammarError("no rules", source=source, remedy=_FORM)
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
    rules = {rule: Weight(probability) for rule, probability in counts.items()}
    rule_set = RuleSet(kind, {name: Weight(p) for name, p in starts.items()}, rules)
    rule_set = rule_set.normalized(source, log) if normalize else rule_set
    rule_set.check(source)
    return rule_set


def _check_symbols(written: list[_Written], start: str | None, source: str) -> None:
    """Raise GrammarError for the first symbol without a rule, and name the one that was meant."""
    parents = {rule.parent: 0 for rule, _, _ in written}
    folded = {parent.casefold(): parent for parent in parents}
    begin = [] if start is None else [(f"%start {start}", (start,), 0)]
    for rule, children, line in [(str(rule), rule.children, line) for rule, _, line in written] + begin:
        for name in children:
            if name in parents or is_terminal(name):
                continue
            near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.65)
            raise GrammarError(
                f"the symbol {shortened(name)} of {shortened(rule, 80)} has no rule"
                + (f": did you mean {folded[near[0]]}?" if near else ""),
                source=source,
                line=line or None,
                remedy=f"give it one, or write a word in quotes: {quote(shortened(name))}",
            )


def _check_sums(written: list[_Written], source: str) -> None:
    groups: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for rule, probability, line in written:
        groups[rule.parent].append((probability, line))
    for parent, group in groups.items():
        total = fsum(probability for probability, _ in group)
        if abs(total - 1) > SUM_TOLERANCE:
            lines = list(dict.fromkeys(line for _, line in group))
            listed = f" (lines {', '.join(map(str, lines[:9]))}{', ...' if len(lines) > 9 else ''})"
            raise GrammarError(
                f"the rules of {parent} sum to {total:.6g}, {abs(1 - total):.4g} too "
                f"{'little' if total < 1 else 'much'}{listed if len(lines) > 1 else ''}",
                source=source,
                line=lines[0] or None,
                remedy="correct a number, or rescale them: `normalize`",
            )


class _NltkReader(FieldsReader):
    """Reads rules line by line."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.start: str | None = None
        self._text = ""

    def rules(self, lines: Iterable[str]) -> Iterator[_Written]:
        """Yield the rules, and keep the start symbol."""
        begun = ""
        for self.line, line in enumerate(lines, start=1):
            self._text, begun = begun + line.strip(), ""
            if self._text.endswith("\\"):
                begun = self._text[:-1] + " "
            elif self._text.startswith("%"):
                match = re.fullmatch(r"%\s*start\s+(\S+)", self._text)
                if match is None:
                    raise self.error("unknown directive", "%start SYMBOL")
                self.start = self._name(match.group(1))
            elif self._text and not self._text.startswith("#"):
                for rule, probability in self._rules_of(self._text):
                    yield rule, probability, self.line
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
                raise self._wrong(f"cannot read {shortened(text[position:].strip(), 20)!r}")
            position = match.end()
            name = match["name"]
            if name is not None and weighted and not children and name.startswith("#"):
                return  # a comment behind a rule
            if match["arrow"] and parent is not None and not arrow:
                arrow = True
            elif not arrow:
                if parent is not None or name is None:
                    begins = (
                        "has one symbol, then ->"
                        if parent or match["arrow"]
                        else "begins with its left-hand side and ->"
                    )
                    raise self._wrong(f"a rule {begins}")
                parent = self._name(name)
            elif match["probability"] is not None:
                number = read_number(match["probability"].strip())
                if number is None or not children:
                    raise self._wrong("an empty right-hand side")
                yield Rule(str(parent), tuple(children)), number
                children, weighted = [], True
            elif match["bar"] or match["arrow"]:
                if children or match["arrow"]:
                    raise self._wrong("an alternative without its probability")
                weighted = False
            elif name is not None:
                children.append(self._name(name))
            else:
                terminal = match["single"] or match["double"] or ""
                if not terminal or " " in terminal or "\t" in terminal:
                    raise self._wrong(f"terminal {terminal!r} is empty or holds a blank")
                children.append(quote(terminal))
        if children or not arrow:
            raise self._wrong("a rule without its probability")

    def _wrong(self, message: str) -> GrammarError:
        """The error of a line: what is likely wrong with it, or else the message."""
        for pattern, likely, remedy in _MISTAKES:
            if match := pattern.search(self._text):
                parts = [shortened(part).strip() for part in (match[0], *match.groups())]
                return self.error(likely.format(*parts), remedy.format(*parts).rstrip())
        return self.error(message, _FORM)

    def _name(self, text: str) -> str:
        def character(match: re.Match[str]) -> str:
            code = int(match.group(1), 16)
            return "\ud800" if code > sys.maxunicode else chr(code)

        if text[0] in _CURLY:
            raise self._wrong(f"typographic quotes: {shortened(text)}")
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
