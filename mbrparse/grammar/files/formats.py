"""Other programs' grammar formats: bitpar's pair of files and NLTK's PCFG text.

Both lack a start distribution. It is written as the unary rules of an extra root symbol (``ROOT -> S``),
which are read as the start distribution again; without such rules the first rule's parent is the start.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from mbrparse.grammar.fields_file import FieldsReader, format_number, read_number, split_at_blanks
from mbrparse.grammar.rules import (
    Rule,
    RuleSet,
    TerminalKind,
    Weight,
    is_terminal,
    quote,
    relative_frequencies,
    unquote,
)
from mbrparse.io.errors import GrammarError, shortened
from mbrparse.io.files import atomic_outputs, open_output, read_lines, source_name

ROOT = "ROOT"


def read_bitpar(rules_path: str | Path, lexicon_path: str | Path, root: str = ROOT) -> RuleSet:
    """Read bitpar's rules (``count LHS RHS...``) and lexicon (``word TAG count...``).

    If each lexicon entry is a tag over itself, tags are the terminals, otherwise words. A tag that is
    an only child is then a preterminal (``NP -> PRP``, ``PRP -> 'PRP'``), as in counted grammars.
    """
    lexicon: defaultdict[Rule, float] = defaultdict(float)
    reader = _Lines(lexicon_path)
    for word, *pairs in reader.fields():
        if not pairs or len(pairs) % 2:
            raise reader.error("not a lexicon line", "WORD TAG COUNT ...")
        for tag, count in zip(pairs[::2], pairs[1::2], strict=True):
            lexicon[Rule(tag, (quote(word),))] += reader.count(count)
    tags = all(rule.children == (quote(rule.parent),) for rule in lexicon)
    preterminals = {rule.parent for rule in lexicon}

    def name(symbol: str) -> str:
        return quote(symbol) if tags and symbol in preterminals else symbol

    counts: defaultdict[Rule, float] = defaultdict(float)
    reader = _Lines(rules_path)
    for fields in reader.fields():
        if len(fields) < 3:
            raise reader.error("not a rule", "COUNT LHS RHS...")
        count, parent, *children = fields
        rule = Rule(parent, tuple(children if len(children) == 1 else map(name, children)))
        counts[rule] += reader.count(count)
    if not counts:
        raise GrammarError("no rules", source=reader.source)
    only = {rule.children[0] for rule in counts if len(rule.children) == 1}
    counts |= {rule: count for rule, count in lexicon.items() if not tags or rule.parent in only}
    return _fold_root("tags" if tags else "words", counts, root, reader.source)


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


_NLTK_TOKEN = re.compile(
    r"""\s*(?:(?P<arrow>->)|(?P<bar>\|)|\[(?P<probability>[^\]\s]+)\]"""
    r"""|'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<name>[^\s|\[\]'"]+))"""
)
_NLTK_ESCAPED = re.compile(r"/u([0-9a-f]{1,20})/")
_NO_NAME = re.compile("[ \t\n\ud800-\udfff]|^\ufeff|^\r|\r$")


def read_nltk(path: str | Path, terminal_kind: TerminalKind | None = None, root: str = ROOT) -> RuleSet:
    """Read NLTK's PCFG text (``S -> NP VP [0.9] | 'x' [0.1]``).

    Without ``terminal_kind``, terminals are tags if one occurs in a longer rule, otherwise words.
    """
    rules: defaultdict[Rule, float] = defaultdict(float)
    start: str | None = None
    reader = _Lines(path)
    for line in reader:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.lstrip().startswith("%"):
            match = re.fullmatch(r"\s*%\s*start\s+(\S+)\s*", line)
            if match is None:
                raise reader.error("unknown directive", "%start SYMBOL")
            start = _from_nltk_name(match.group(1), reader)
            continue
        for rule, probability in _nltk_line(line, reader):
            rules[rule] += probability
    if not rules:
        raise GrammarError("no rules", source=reader.source)
    if terminal_kind is None:
        direct = any(len(rule.children) > 1 and any(map(is_terminal, rule.children)) for rule in rules)
        terminal_kind = "tags" if direct else "words"
    folded = _fold_root(terminal_kind, rules, root, reader.source, start)
    # NLTK's numbers are probabilities, not counts: they are not normalized.
    as_written = RuleSet(
        terminal_kind,
        {name: Weight(rules.get(Rule(root, (name,)), w.probability)) for name, w in folded.start.items()},
        {rule: Weight(rules[rule]) for rule in folded.rules},
    )
    as_written.check(reader.source)
    return as_written


def write_nltk(rules: RuleSet, path: str | Path, root: str = ROOT) -> None:
    """Write NLTK's PCFG text; characters that its names lack are written as /u and hexadecimals."""
    _check_root(rules, root)
    lines = [
        f"{_nltk_symbol(root)} -> {_nltk_symbol(name)} [{_decimal(w.probability)}]"
        for name, w in sorted(rules.start.items())
    ]
    for rule, weight in sorted(rules.rules.items()):
        children = " ".join(_nltk_symbol(child) for child in rule.children)
        lines.append(f"{_nltk_symbol(rule.parent)} -> {children} [{_decimal(weight.probability)}]")
    with open_output(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _decimal(probability: float) -> str:
    """A number without an exponent, which NLTK does not read."""
    return f"{Decimal(repr(probability)):f}"


class _Lines(FieldsReader):
    """The lines of a file."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(source_name(path))
        self._lines = read_lines(path)

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.line += 1
            yield line

    def fields(self) -> Iterator[list[str]]:
        """The fields of each line that has some; none is a comment."""
        return filter(None, map(split_at_blanks, self))

    def count(self, text: str) -> float:
        """A field as a count; raises GrammarError."""
        count = read_number(text)
        if count is None:
            raise self.error(f"{shortened(text)!r} is not a count", "a count is a number of 0 or more")
        return count


def _fold_root(
    kind: TerminalKind, counts: dict[Rule, float], root: str, source: str, start: str | None = None
) -> RuleSet:
    used = any(root in rule.children for rule in counts)
    roots = {rule: count for rule, count in counts.items() if rule.parent == root}
    foldable = roots and not used and start in (None, root)
    if foldable and all(len(rule.children) == 1 and not is_terminal(rule.children[0]) for rule in roots):
        starts = {rule.children[0]: count for rule, count in roots.items()}
        counts = {rule: count for rule, count in counts.items() if rule.parent != root}
    else:
        starts = {start or next(iter(counts)).parent: 1.0}
    folded = relative_frequencies(kind, starts, counts)
    folded.check(source)
    return folded


def _check_root(rules: RuleSet, root: str) -> None:
    if not _is_name(root):
        raise GrammarError(f"{root!r} is no symbol's name", remedy="choose another with --root, e.g. TOP")
    if any(root in (rule.parent, *rule.children) for rule in rules.rules):
        raise GrammarError(f"the grammar has a symbol {root} already", remedy="choose another with --root")


def _unfold_root(rules: RuleSet, root: str) -> list[tuple[Rule, str]]:
    _check_root(rules, root)
    everything = {Rule(root, (name,)): weight for name, weight in rules.start.items()} | rules.rules
    uncounted = {rule.parent for rule, w in everything.items() if w.count is None}
    return [
        (rule, format_number(w.probability if w.count is None or rule.parent in uncounted else w.count))
        for rule, w in sorted(everything.items())
    ]


def _nltk_line(line: str, reader: _Lines) -> Iterator[tuple[Rule, float]]:
    def wrong(message: str) -> GrammarError:
        return reader.error(message, "LHS -> RHS... [PROBABILITY] | ...")

    parent: str | None = None
    arrow = False
    children: list[str] = []
    rest = line.rstrip()
    position = 0
    while position < len(rest):
        match = _NLTK_TOKEN.match(rest, position)
        if match is None:
            raise wrong(f"cannot read {rest[position:].strip()[:20]!r}")
        position = match.end()
        if match["arrow"]:
            if parent is None or arrow:
                raise wrong("a rule has one symbol, then ->")
            arrow = True
        elif match["name"] is not None and not arrow:
            if parent is not None:
                raise wrong("a rule has one symbol, then ->")
            parent = _from_nltk_name(match["name"], reader)
        elif parent is None or not arrow:
            raise wrong("a rule begins with its left-hand side and ->")
        elif match["probability"]:
            if not children:
                raise wrong("an empty right-hand side")
            yield Rule(parent, tuple(children)), reader.count(match["probability"])
            children = []
        elif match["bar"]:
            if children:
                raise wrong("an alternative without its probability")
        elif match["name"] is not None:
            children.append(_from_nltk_name(match["name"], reader))
        else:
            terminal = match["single"] if match["single"] is not None else match["double"]
            if not terminal or " " in terminal or "\t" in terminal:
                raise wrong(f"terminal {terminal!r} is empty or holds a blank")
            children.append(quote(terminal))
    if children or not arrow:
        raise wrong("a rule without its probability")


def _nltk_symbol(name: str) -> str:
    if not is_terminal(name):
        if not _is_name(name):
            raise GrammarError(f"{name!r} is no symbol's name in NLTK's form", remedy="call it otherwise")
        return "".join(
            character if _fits_nltk_name(character, first=position == 0) else f"/u{ord(character):x}/"
            for position, character in enumerate(name)
        )
    terminal = unquote(name)
    if "'" not in terminal:
        return f"'{terminal}'"
    if '"' in terminal:
        raise GrammarError(f"terminal {terminal} holds both kinds of quotes, which NLTK's form cannot say")
    return f'"{terminal}"'


def _fits_nltk_name(character: str, *, first: bool) -> bool:
    # Less than "re" takes for a letter: NLTK's releases differ in whether ² is one.
    return character.isalpha() or character.isdecimal() or character in ("_" if first else "_^<>-")


def _from_nltk_name(text: str, reader: _Lines) -> str:
    def character(match: re.Match[str]) -> str:
        code = int(match.group(1), 16)
        return "\ud800" if code > sys.maxunicode else chr(code)

    name = _NLTK_ESCAPED.sub(character, text)
    if not _is_name(name):
        raise reader.error(
            f"{shortened(text)!r} is no symbol's name: /uCODE/ is a character that names cannot hold",
            "a name holds no white space, no surrogate, and is not in quotes",
        )
    return name


def _is_name(name: str) -> bool:
    """Whether grammar files, in any format, can hold a symbol of this name."""
    return bool(name) and not _NO_NAME.search(name) and not is_terminal(name)
