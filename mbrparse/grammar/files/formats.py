"""bitpar's pair of files, and what it shares with NLTK's PCFG text (``nltk_format``).

Both formats lack a start distribution. It is written as the unary rules of an extra root symbol
(``ROOT -> S``), which are read as the start distribution again; without such rules the first rule's parent is
the start.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from mbrparse.errors import GrammarError, shortened
from mbrparse.files import atomic_outputs, open_output, read_lines, source_name
from mbrparse.grammar.fields_file import FieldsReader, format_number, read_number, split_at_blanks
from mbrparse.grammar.rules import (
    Rule,
    RuleSet,
    is_terminal,
    quote,
    relative_frequencies,
    unquote,
)

ROOT = "ROOT"


def read_bitpar(rules_path: str | Path, lexicon_path: str | Path, root: str = ROOT) -> RuleSet:
    """Read bitpar's rules (``count LHS RHS...``) and lexicon (``word TAG count...``).

    If each lexicon entry is a tag over itself, tags are the terminals, otherwise words. A tag that is
    an only child is then a preterminal (``NP -> PRP``, ``PRP -> 'PRP'``), as in counted grammars.
    """
    lexicon: defaultdict[Rule, float] = defaultdict(float)
    reader = _Lines(source_name(lexicon_path))
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
    reader = _Lines(source_name(rules_path))
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


class _Lines(FieldsReader):
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
        raise GrammarError(f"{root!r} is no symbol's name", remedy="choose another with --root, e.g. TOP")
    if any(root in (rule.parent, *rule.children) for rule in rules.rules):
        raise GrammarError(f"the grammar has a symbol {root} already", remedy="choose another with --root")


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
