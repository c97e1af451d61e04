"""Weighted rules of any length, as in grammar files: a mapping of rules, or a table of columns.

A rule's symbols are names. A plain name is a nonterminal's (a binarized label); a name in single
quotes, such as ``'DT'``, is a terminal: a tag or a word.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mbrparse.errors import GrammarError, LabelError, did_you_mean, shortened
from mbrparse.grammar import unaries, unknown_words
from mbrparse.log import Log, counted, no_log
from mbrparse.treebank import labels, tree

if TYPE_CHECKING:
    from mbrparse.treebank.corpora.reading import SourceTree

TerminalKind = Literal["tags", "words"]
#: The kinds by their names in files.
TERMINAL_KINDS: dict[str, TerminalKind] = {"tags": "tags", "words": "words"}
SUM_TOLERANCE = 1e-6
NO_CHILD = -1
Integers = npt.NDArray[np.integer[Any]]
Key = TypeVar("Key", str, "Rule")


@dataclass(frozen=True, slots=True)
class Weight:
    """A probability, and the count that it was estimated from (None: not known)."""

    probability: float
    count: float | None = None


class Rule(NamedTuple):
    """A production: ``parent`` and the names of its children."""

    parent: str
    children: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.parent, "->", *self.children))


class RuleTable(NamedTuple):
    """Rules of any length as columns, in their order.

    names        the symbols, terminals in quotes: those of the start distribution, then any others
    terminal     whether a name is a terminal's [names]
    parent       int [rules]: places in ``names``
    children     int [rules, 2 or more]: places in ``names``, NO_CHILD (-1) behind the last child
    probability  float64 [rules]
    counts       float64 [rules]; a count that is not known is NaN
    """

    names: list[str]
    terminal: npt.NDArray[np.bool_]
    parent: Integers
    children: Integers
    probability: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]


@dataclass(frozen=True)
class RuleSet:
    """A probabilistic context-free grammar as in a file.

    ``start`` is the distribution of the root's label, ``unknown`` the model of unknown words, if any.
    """

    terminal_kind: TerminalKind
    start: dict[str, Weight]
    rules: dict[Rule, Weight]
    unknown: unknown_words.UnknownWords | None = None

    @cached_property
    def table(self) -> RuleTable:
        """The rules as columns."""
        place = defaultdict[str, int](itertools.count().__next__)
        list(map(place.__getitem__, self.start))
        symbols = [name for parent, children in self.rules for name in (parent, *children)]
        places = np.array(list(map(place.__getitem__, symbols)), np.int64)
        width = np.array([len(children) for _, children in self.rules], np.int64)
        parents = np.zeros(len(places), np.bool_)
        parents[np.cumsum(width + 1) - width - 1] = True
        children = np.full((len(width), max(2, width.max(initial=2))), NO_CHILD)
        children[np.arange(children.shape[1]) < width[:, None]] = places[~parents]
        weights = self.rules.values()
        return RuleTable(
            list(place),
            np.array([is_terminal(name) for name in place], np.bool_),
            places[parents],
            children,
            np.array([weight.probability for weight in weights], np.float64),
            np.array([math.nan if weight.count is None else weight.count for weight in weights], np.float64),
        )

    def check(self, source: str | None = None, lines: Mapping[str, int] | None = None) -> None:
        """Raise GrammarError for a grammar that charts cannot be computed with.

        Checks that nonterminals are labels, that probabilities sum to one, that each nonterminal has a rule,
        and that each cycle of unary rules can be left. ``lines`` are those of symbols in the source.
        """
        names, terminal, parent, children, probability, _ = self.table
        line_of = (lines or {}).get
        sizes = np.bincount(parent, minlength=len(names))
        for place in np.flatnonzero(sizes).tolist():
            try:
                labels.project(names[place])
            except LabelError as error:
                remedy = f"call it otherwise: {labels.escape(names[place])}, say"
                raise GrammarError(
                    error.message, source=source, line=line_of(names[place]), remedy=remedy
                ) from None
        start = [weight.probability for weight in self.start.values()]
        _check_sum("the start distribution", start, source, None)
        off = ~(np.abs(np.bincount(parent, probability, len(names)) - 1) <= SUM_TOLERANCE / 2)
        off[parent[(probability < 0) | (probability > 1)]] = True
        for place in np.flatnonzero(off & (sizes > 0)).tolist():
            name, own = names[place], probability[parent == place].tolist()
            _check_sum(f"the rules of {name}", own, source, line_of(name))
        roots = np.arange(len(names)) < len(start)
        lacking = [names[place] for place in np.flatnonzero((sizes == 0) & (roots | ~terminal))]
        if lacking:
            name = min(lacking)
            raise GrammarError(
                f"nonterminal {shortened(name)} has no rule",
                source=source,
                line=line_of(name),
                remedy=f"give it one, or write it as a terminal: {quote(shortened(name))}",
            )
        single = (children[:, 1] == NO_CHILD) & (children[:, 0] != NO_CHILD) & ~terminal[children[:, 0]]
        others = np.bincount(parent[~single], probability[~single], len(names)).tolist()
        single &= probability > 0
        unary: dict[str, dict[str, float]] = {}
        columns = (parent[single], children[single, 0], probability[single])
        for above, below, mass in zip(*(column.tolist() for column in columns), strict=True):
            unary.setdefault(names[above], {})[names[below]] = mass
        unaries.check_unary_rules(unary, dict(zip(names, others, strict=True)), str, source)

    @property
    def unreached(self) -> list[str]:
        """The symbols with rules that no tree has, in text order."""
        names, terminal, parent, children, probability, _ = self.table
        reached = np.arange(len(names)) < len(self.start)
        columns = children[probability > 0].T
        while True:
            grown = reached.copy()
            for column in columns:
                grown[column[reached[parent[probability > 0]] & (column != NO_CHILD)]] = True
            if (grown == reached).all():
                return sorted(names[place] for place in np.flatnonzero(~reached & ~terminal))
            reached = grown

    def starting_with(self, start: str) -> RuleSet:
        """The same with this start symbol; raises GrammarError where it has no rule."""
        parents = sorted({rule.parent for rule in self.rules})
        if start not in parents:
            some = ", ".join(parents[:5]) + (", ..." if len(parents) > 5 else "")
            what = f"the grammar has no symbol {shortened(start)} to start with"
            raise GrammarError(what, remedy=did_you_mean(start, parents, f"it has {some}"))
        return replace(self, start={start: Weight(1.0)})

    def normalized(self, source: str, log: Log = no_log) -> RuleSet:
        """The same with the probabilities of each left-hand side divided by their sum, which is logged."""
        what = {rule: f"the rules of {rule.parent}" for rule in self.rules}
        starts = dict.fromkeys(self.start, "the start distribution")
        return replace(
            self,
            start=_normalized(self.start, starts, source, log),
            rules=_normalized(self.rules, what, source, log),
        )


def row_keys(*columns: Integers) -> npt.NDArray[np.int64]:
    """A number for each row of ids, in the order of rows; equal for equal rows alone."""
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key = np.unique(key, return_inverse=True)[1] * (column.max(initial=0) + 1) + column
    return key


def _check_sum(what: str, probabilities: list[float], source: str | None, line: int | None) -> None:
    total = math.fsum(probabilities)
    if any(not 0 <= probability <= 1 + SUM_TOLERANCE for probability in probabilities):
        raise GrammarError(f"{what} have a probability outside of 0 to 1", source=source, line=line)
    if not abs(total - 1) <= SUM_TOLERANCE:
        raise GrammarError(
            f"{what} have probabilities that sum to {total:.6g}, not 1",
            source=source,
            line=line,
            remedy="mend the numbers, or rescale them: `normalize`",
        )


def _normalized(weights: dict[Key, Weight], what: dict[Key, str], source: str, log: Log) -> dict[Key, Weight]:
    totals: defaultdict[str, float] = defaultdict(float)
    for key, weight in weights.items():
        totals[what[key]] += weight.probability
    for name, total in totals.items():
        if total > 0 and abs(total - 1) > SUM_TOLERANCE:
            log(f"{source}: {name} summed to {total:.6g}: each was divided by that")
    return {key: Weight(w.probability / (totals[what[key]] or 1), w.count) for key, w in weights.items()}


def quote(terminal: str) -> str:
    """A terminal as it is written in a rule.

    >>> quote("DT"), quote("'s")
    ("'DT'", "''s'")
    """
    return f"'{terminal}'"


def is_terminal(name: str) -> bool:
    """Whether a rule's symbol is a terminal (``''`` alone is the tag of closing quotes)."""
    return len(name) > 2 and name[0] == "'" and name[-1] == "'"


def unquote(name: str) -> str:
    """The terminal that a quoted name stands for.

    >>> unquote("'DT'")
    'DT'
    """
    return name[1:-1]


def text_order(name: str) -> tuple[str, bool]:
    """The key that sorts symbols by their text; a terminal comes after a nonterminal of its name."""
    return (unquote(name), True) if is_terminal(name) else (name, False)


def checked_children(node: tree.Tree, place: SourceTree, nary: bool = False) -> tuple[tree.Tree, ...]:
    """The children of a constituent; raises GrammarError where it is none of a binarized (or n-ary) tree."""
    children = node.children
    if len(children) > 0 and (nary or len(children) <= 2) and node.label and not is_terminal(node.label):
        return children
    if not children:
        message = "a tree without constituents"
    elif len(children) > 2 and not nary:
        message = f"constituent {node.label} has {len(children)} children, not 2"
    else:
        message = f"constituent label {node.label!r} cannot stand in a grammar"
    raise GrammarError(
        message, source=place.source, line=place.line, remedy="binarize the trees first: mbrparse binarize"
    )


def rule_name(child: tree.Tree, words: bool, children: int) -> str:
    """The name of one of a rule's ``children`` children: a leaf with a word, or alone, is a preterminal."""
    if child.children:
        return child.label
    if words and (children == 1 or child.word is not None):
        return labels.escape(child.label)
    return labels.escape(child.tag) if children == 1 else quote(child.tag)


def projected_labels(names: Iterable[str]) -> list[str]:
    """The projected label of each symbol; a terminal's is the terminal."""
    return [unquote(name) if is_terminal(name) else labels.project(name) for name in names]


def relative_frequencies(
    terminal_kind: TerminalKind, start: dict[str, float], counts: dict[Rule, float]
) -> RuleSet:
    """The grammar whose probabilities are counts divided by their parent's sum.

    >>> rules = {Rule("S", ("'x'", "S")): 1, Rule("S", ("'x'", "'x'")): 3}
    >>> relative_frequencies("tags", {"S": 3}, rules).rules[Rule("S", ("'x'", "'x'"))]
    Weight(probability=0.75, count=3)
    """
    totals: dict[str, float] = {}
    for rule, count in counts.items():
        totals[rule.parent] = totals.get(rule.parent, 0) + count
    starts = sum(start.values())

    def weight(count: float, total: float) -> Weight:
        return Weight(count / total if total else 0.0, count)  # 0 of 0 is an error that ``check`` finds

    return RuleSet(
        terminal_kind,
        {name: weight(count, starts) for name, count in start.items()},
        {rule: weight(count, totals[rule.parent]) for rule, count in counts.items()},
    )


class BinaryRules(NamedTuple):
    """A grammar of rules of two children at most, and how many of its rules had more."""

    rules: RuleSet
    changed: int


def binarize_rules(rules: RuleSet) -> BinaryRules:
    """Binarize rules of many children to the right: the same trees with the same probabilities.

    S -> A B C becomes S -> A S_Cont>B>C and S_Cont>B>C -> B C. A continuation names all the siblings to
    come, so that it has one rule, of probability one; projecting and debinarizing trees removes it. Raises
    GrammarError where a continuation has a symbol's name.

    >>> rules = relative_frequencies("tags", {"S": 1}, {Rule("S", ("'a'", "'b'", "'c'")): 1})
    >>> print(*binarize_rules(rules).rules.rules, sep=", ")
    S -> 'a' S_Cont>%27b'>%27c', S_Cont>%27b'>%27c' -> 'b' 'c'
    """
    binary: dict[Rule, Weight] = {}
    continued: dict[Rule, Weight] = {}
    changed = 0
    for rule, weight in rules.rules.items():
        arity = len(rule.children)
        if arity <= 2:
            binary[rule] = weight
            continue
        changed += 1
        continuations = (_continuation(rule.parent, rule.children[place:]) for place in range(1, arity - 1))
        names = [rule.parent, *continuations]
        for place, name in enumerate(names):
            rest = rule.children[place:]
            step = Rule(name, rest if len(rest) == 2 else (rest[0], names[place + 1]))
            if place == 0:
                binary[step] = weight
            else:
                _add_rule(continued, step, weight)
    taken = {rule.parent for rule in binary} & {rule.parent for rule in continued}
    if taken:
        raise GrammarError(
            f"the symbol {min(taken)} has the name of a continuation", remedy="call it otherwise"
        )
    return BinaryRules(RuleSet(rules.terminal_kind, rules.start, binary | continued, rules.unknown), changed)


def binary_rules(rules: RuleSet, log: Log = no_log) -> RuleSet:
    """The same by rules of two children at most; says so where there were longer ones."""
    if rules.table.children.shape[1] == 2:
        return rules
    rules, changed = binarize_rules(rules)
    log(f"{counted(changed, 'rule')} of three children or more binarized (see parse --debinarize)")
    return rules


def _continuation(parent: str, children: tuple[str, ...]) -> str:
    symbol = labels.parse_label(parent)
    siblings = tuple(labels.SIBLING + labels.escape(child) for child in children)
    return str(labels.Symbol(symbol.base, True, (*siblings, *symbol.annotations)))


def _add_rule(rules: dict[Rule, Weight], rule: Rule, weight: Weight) -> None:
    """A continuation of several rules has the sum of their counts, if all are known."""
    before = rules.get(rule, Weight(1.0, 0.0))
    known = before.count is not None and weight.count is not None
    rules[rule] = Weight(1.0, (before.count or 0.0) + (weight.count or 0.0) if known else None)
