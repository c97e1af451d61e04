"""Other programs' grammar formats: bitpar's pair of files, and NLTK's PCFG text.

Both lack a start distribution. It is written as the unary rules of an extra root symbol (``ROOT -> S``),
which are read as the start distribution again; without such rules the first rule's parent is the start.

In NLTK's text, rules without a probability share what the others of their symbol leave of one, and empty
rules are removed: the sentences keep their probabilities.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import Any

from mbrparse.errors import GrammarError, shortened
from mbrparse.files import atomic_outputs, open_output, read_lines, source_name
from mbrparse.grammar import fields, unaries
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
from mbrparse.log import Log, counted, no_log

ROOT = "ROOT"


def read_bitpar(rules_path: str | Path, lexicon_path: str | Path, root: str = ROOT) -> RuleSet:
    """Read bitpar's rules (``count LHS RHS...``) and lexicon (``word TAG count...``).

    If each lexicon entry is a tag over itself, tags are the terminals, otherwise words. A tag that is
    an only child is then a preterminal (``NP -> PRP``, ``PRP -> 'PRP'``), as in counted grammars.
    """
    lexicon: defaultdict[Rule, float] = defaultdict(float)
    reader = fields.FieldsReader(source_name(lexicon_path))
    for reader.line, line in enumerate(read_lines(lexicon_path), start=1):
        word, *pairs = fields.split_at_blanks(line) or [""]
        if word and (not pairs or len(pairs) % 2):
            raise reader.error("not a lexicon line", "WORD TAG COUNT ...")
        for tag, count in zip(pairs[::2], pairs[1::2], strict=True):
            lexicon[Rule(tag, (quote(word),))] += reader.number(count)
    tags = all(rule.children == (quote(rule.parent),) for rule in lexicon)
    preterminals = {rule.parent for rule in lexicon}

    def name(symbol: str) -> str:
        return quote(symbol) if tags and symbol in preterminals else symbol

    counts: defaultdict[Rule, float] = defaultdict(float)
    reader = fields.FieldsReader(source_name(rules_path))
    for reader.line, line in enumerate(read_lines(rules_path), start=1):
        match fields.split_at_blanks(line):
            case []:
                continue
            case [count, parent, *children] if children:
                names = children if len(children) == 1 else map(name, children)
                counts[Rule(parent, tuple(names))] += reader.number(count)
            case _:
                raise reader.error("not a rule", "COUNT LHS RHS...")
    if not counts:
        raise GrammarError("no rules", source=reader.source)
    only = {rule.children[0] for rule in counts if len(rule.children) == 1}
    counts |= {rule: count for rule, count in lexicon.items() if not tags or rule.parent in only}
    rules = relative_frequencies("tags" if tags else "words", *fold_root(counts, root))
    rules.check(reader.source)
    return rules


def write_bitpar(rules: RuleSet, rules_path: str | Path, lexicon_path: str | Path, root: str = ROOT) -> None:
    """Write bitpar's two files, with probabilities instead of unknown counts."""
    check_root(rules, root)
    everything = {Rule(root, (name,)): weight for name, weight in rules.start.items()} | rules.rules
    uncounted = {rule.parent for rule, w in everything.items() if w.count is None}
    rows = [
        (rule, w.probability if w.count is None or rule.parent in uncounted else w.count)
        for rule, w in sorted(everything.items())
    ]
    write_bitpar_rows(rows, rules_path, lexicon_path, root)


def write_bitpar_rows(
    rows: Sequence[tuple[Rule, float]], rules_path: str | Path, lexicon_path: str | Path, root: str
) -> None:
    """Write rules and their numbers as bitpar's two files, those of words in the order of words.

    Raises GrammarError for a tag that is a label too, which bitpar's form cannot say.
    """
    parents = {rule.parent for rule, _ in rows if rule.parent != root}
    combined = {child for rule, _ in rows if len(rule.children) > 1 for child in rule.children}
    over_others = {rule.parent for rule, _ in rows if rule.children != (quote(rule.parent),)}
    lexicon: dict[str, list[tuple[str, str]]] = {}
    for terminal in sorted(unquote(child) for child in combined if is_terminal(child)):
        if terminal not in parents:
            lexicon[terminal] = [(terminal, "1")]
        elif terminal in over_others:
            raise GrammarError(f"{terminal} is both terminal and nonterminal, which bitpar's form cannot say")
    with atomic_outputs(), open_output(rules_path) as stream, open_output(lexicon_path) as lexicon_stream:
        for rule, value in rows:
            number = fields.format_number(value)
            if len(rule.children) == 1 and is_terminal(rule.children[0]):
                lexicon.setdefault(unquote(rule.children[0]), []).append((rule.parent, number))
            else:
                children = (unquote(c) if is_terminal(c) else c for c in rule.children)
                stream.write("\t".join((number, rule.parent, *children)) + "\n")
        if min(lexicon, default="").startswith("\ufeff"):
            lexicon_stream.write("\ufeff")  # a byte-order mark: the word's own is none
        for word, entries in sorted(lexicon.items()):
            lexicon_stream.write("\t".join((word, *(f"{tag} {number}" for tag, number in entries))) + "\n")


_NO_NAME = re.compile("[ \t\n\ud800-\udfff]|^\ufeff|^\r|\r$|^'.+'$")


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


def is_name(name: str) -> bool:
    """Whether grammar files, in any format, can hold a symbol of this name."""
    return bool(name) and not _NO_NAME.search(name)


# NLTK's text: S -> NP VP [0.9] | 'x' [0.1]

_TOKEN = re.compile(r"""\[[^\]\[]*\]|'[^' \t]+'|"[^" \t]+"|[^\s|\[\]'"]+|\S""")
_FORM = "a rule reads LHS -> RHS... [PROBABILITY] | ..., with words in quotes: N -> 'dog' [0.5] | 'cat' [0.5]"
#: Of one rule with symbols that may be empty, the greatest number of rules without.
_MOST = 4096
_ESCAPED = re.compile(r"/u([0-9a-f]{1,20})/")
#: A line that begins a grammar in this format: %start, or a symbol and what is meant for an arrow.
_BEGINNING = re.compile(r"""\s*(?:%|[^\s|\[\]'"]+?\s*(?:-+>|=+>|→|⟶|::=))""")


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

    Without ``terminal_kind``, terminals are tags if one occurs in a longer rule and no other symbol has one
    for its only child; otherwise they are words. ``normalize`` rescales the probabilities of each left-hand
    side to a sum of one, and logs by how much.
    """
    found: list[tuple[Rule, float | None]] = []
    above, below, start, begun = dict[str, int](), dict[str, int](), None, ""
    for number, line in enumerate(lines, start=1):
        text = begun + line.strip()
        begun = text.removesuffix("\\") + " " if text.endswith("\\") else ""
        if begun or not text or text.startswith("#"):
            continue
        try:
            if directive := re.fullmatch(r"%\s*start\s+(\S+)", text):
                start = _name(directive.group(1))
                continue
            for rule, probability in _rules_of(text):
                found.append((rule, probability))
                above.setdefault(rule.parent, number)
                below |= {child: number for child in rule.children if child not in below}
        except ValueError as error:
            what = f"{error} in {shortened(text, 80)!r}"
            raise GrammarError(what, source=source, line=number, remedy=_FORM) from None
    if begun:
        raise GrammarError("the file ends after a line that a backslash continues", source=source)
    return _rule_set(found, start, source, terminal_kind, root, below | above, normalize, log)


def _rules_of(text: str) -> Iterator[tuple[Rule, float | None]]:
    """The rules of a line and their probabilities (None: not said); raises ValueError with what is wrong."""
    parent, *tokens = _TOKEN.findall(text)
    if tokens[:1] != ["->"]:
        raise ValueError("no -> behind the left-hand side")
    children: list[str] = []
    probability: float | None = None
    for token in (*takewhile(lambda token: token[0] != "#", tokens[1:]), "|"):  # without a comment
        if token == "|":
            yield Rule(_name(parent), tuple(children) if children != ["ε"] else ()), probability
            children, probability = [], None
        elif probability is not None:
            raise ValueError(f"{shortened(token)} where a | is due")
        elif token[0] == "[":
            parts = [fields.read_number(part.strip()) for part in token[1:-1].split("/")]
            if None in parts or len(parts) > 2 or parts[1:] == [0]:
                raise ValueError(f"{shortened(token)} is not the probability of a right-hand side")
            probability = (parts[0] or 0.0) / (parts[-1] or 1.0) if parts[1:] else parts[0]
        else:
            quoted = token[0] in "'\"" and len(token) > 2
            children.append(quote(token[1:-1]) if quoted else _name(token))


def _name(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = int(match.group(1), 16)
        return "\ud800" if code > sys.maxunicode else chr(code)

    name = _ESCAPED.sub(character, text)
    if text in ("->", "|", "[", "]", "'", '"') or not is_name(name):
        raise ValueError(f"{shortened(text)} is no symbol")
    return name


def rules_of_nltk(grammar: Any, *, normalize: bool) -> RuleSet:
    """The rules of an ``nltk.PCFG`` or ``nltk.CFG``, those of each symbol of which have equal probabilities.

    Raises GrammarError for one that charts cannot be computed with.
    """
    found: list[tuple[Rule, float | None]] = []
    for rule in grammar.productions():
        children = tuple(quote(child) if isinstance(child, str) else str(child) for child in rule.rhs())
        probability = float(rule.prob()) if hasattr(rule, "prob") else None
        found.append((Rule(str(rule.lhs()), children), probability))
    return _rule_set(found, str(grammar.start()), "<grammar>", None, ROOT, {}, normalize, no_log)


def _rule_set(
    found: Sequence[tuple[Rule, float | None]],
    start: str | None,
    source: str,
    kind: TerminalKind | None,
    root: str,
    lines: Mapping[str, int],
    normalize: bool,
    log: Log,
) -> RuleSet:
    if not found:
        raise GrammarError("no rules", source=source, remedy=_FORM)
    totals = _with_shares(found, source, lines, log)
    if kind is None:
        direct = any(len(rule.children) > 1 and any(map(is_terminal, rule.children)) for rule in totals)
        single = (rule for rule in totals if len(rule.children) == 1 and is_terminal(rule.children[0]))
        tags = direct and all(rule.parent.startswith(unquote(rule.children[0])) for rule in single)
        kind = "tags" if tags else "words"
        if direct and kind == "words":
            other = "mbrparse grammar convert --from nltk --terminals tags: tags"
            log(f"{source}: quoted terminals are words, those beside symbols too ({other})")
    # NLTK's numbers are probabilities, not counts.
    starts, rules = fold_root(totals, root, start)
    start_weights = {name: Weight(probability) for name, probability in starts.items()}
    rule_set = RuleSet(kind, start_weights, {rule: Weight(p) for rule, p in rules.items()})
    rule_set = rule_set.normalized(source, log) if normalize else rule_set
    rule_set.check(source, lines)
    if all(rule.children for rule in rule_set.rules):
        return rule_set
    rule_set = _without_empty_rules(rule_set, source, lines, log)
    rule_set.check(source, lines)
    return rule_set


def _with_shares(
    found: Sequence[tuple[Rule, float | None]], source: str, lines: Mapping[str, int], log: Log
) -> dict[Rule, float]:
    """The probabilities of rules; those without one share what the others of their symbol leave of one."""
    without = Counter(rule.parent for rule, probability in found if probability is None)
    given: defaultdict[str, list[float]] = defaultdict(list)
    for rule, probability in found:
        given[rule.parent] += [] if probability is None else [probability]
    left = {parent: 1 - math.fsum(given[parent]) for parent in without}
    for parent, rest in left.items():
        if rest <= SUM_TOLERANCE:
            what = f"the rules of {parent} have probabilities that sum to {1 - rest:.6g}"
            remedy = "give each a probability, or none"
            line = lines.get(parent)
            raise GrammarError(
                f"{what}: nothing is left for those without", source=source, line=line, remedy=remedy
            )
    if 0 < without.total() < len(found):
        shown = counted(without.total(), "rule")
        log(f"{source}: {shown} without a probability: those of a symbol share equally what is left of one")
    totals: defaultdict[Rule, float] = defaultdict(float)
    for rule, probability in found:
        share = left[rule.parent] / without[rule.parent] if probability is None else probability
        totals[rule] += share
    return totals


def _without_empty_rules(rules: RuleSet, source: str, lines: Mapping[str, int], log: Log) -> RuleSet:
    """The same distribution of all sentences but the empty one, by rules that have children.

    Each rule is written with and without the symbols that may be empty, and each symbol stands for what it
    derives if it is not empty. Raises GrammarError where a symbol may be empty by way of itself, since its
    probability to be so is then no closed form.
    """
    weights = {rule: weight.probability for rule, weight in rules.rules.items() if weight.probability}
    nullable = set[str]()
    while more := {rule.parent for rule in weights if nullable.issuperset(rule.children)} - nullable:
        nullable |= more
    heard = {child for rule in weights for child in rule.children if is_terminal(child)}
    while more := {rule.parent for rule in weights if not heard.isdisjoint(rule.children)} - heard:
        heard |= more
    below: dict[str, dict[str, float]] = {name: {} for name in nullable}
    vanishing: dict[str, list[Rule]] = {name: [] for name in nullable}
    for rule in weights:
        if nullable.issuperset(rule.children):
            below[rule.parent] |= dict.fromkeys(rule.children, 1.0)
            vanishing[rule.parent].append(rule)
    empty: dict[str, float] = {}
    for name, *others in unaries.components(below):
        if others or name in below[name]:
            what = f"{name} may be empty in ways that contain {name} itself"
            remedy = "take one of the empty rules out"
            raise GrammarError(what, source=source, line=lines.get(name), remedy=remedy)
        masses = (
            weights[rule] * math.prod(map(empty.__getitem__, rule.children)) for rule in vanishing[name]
        )
        empty[name] = min(1.0, math.fsum(masses)) if name in heard else 1.0
    totals: defaultdict[Rule, float] = defaultdict(float)
    for rule, probability in weights.items():
        right: dict[tuple[str, ...], float] = {(): probability}
        for child in rule.children:
            grown: defaultdict[tuple[str, ...], float] = defaultdict(float)
            gone = empty.get(child, 0.0)
            for kept, mass in right.items():
                if child in heard:
                    grown[*kept, child] += mass * (1 - gone)
                if gone:
                    grown[kept] += mass * gone
            right = grown
            if len(right) > _MOST:
                what, line = f"too many symbols of the rule {rule} may be empty", lines.get(rule.parent)
                raise GrammarError(what, source=source, line=line, remedy="split it into shorter rules")
        for kept, mass in right.items():
            if kept:
                totals[Rule(rule.parent, kept)] += mass
    sums: defaultdict[str, float] = defaultdict(float)
    for rule, mass in totals.items():
        sums[rule.parent] += mass
    starts = {name: weight.probability * (1 - empty.get(name, 0.0)) for name, weight in rules.start.items()}
    spoken_mass = math.fsum(starts.values())
    if not spoken_mass:
        raise GrammarError("the grammar has the empty sentence alone", source=source)
    log(f"{source}: empty rules removed; sentences keep their probabilities")
    if spoken_mass < 1 - SUM_TOLERANCE:
        log(
            f"{source}: the empty sentence, of probability {1 - spoken_mass:.6g}, is left out: "
            "probabilities are those of the others, which sum to one"
        )
    return RuleSet(
        rules.terminal_kind,
        {name: Weight(mass / spoken_mass) for name, mass in starts.items() if mass},
        {rule: Weight(mass / sums[rule.parent]) for rule, mass in totals.items() if sums[rule.parent]},
    )


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
