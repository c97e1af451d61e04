"""The PCFG that charts are computed with: frozen arrays over a symbol table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.rules import SUM_TOLERANCE, Rule, RuleSet, TerminalKind, is_terminal, unquote
from mbrparse.grammar.words.unknown import UnknownWords
from mbrparse.io.errors import GrammarError
from mbrparse.treebank.labels import project

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
UNKNOWN_TERMINAL = -1


@dataclass(frozen=True, eq=False)
class PCFG:
    """A grammar of binary, unary and lexical rules.

    Ids are positions in ``symbols`` and ``terminals``, which are in text order, so that the order of
    ids is the order in which candidates run. A terminal in a binary rule (a tag) is also a
    symbol, named in quotes, with the one lexical rule ``'DT' -> DT`` of probability one.

    parent, left, right      int32 [binary rules], in the order of their ids
    log_prob                 float64 [binary rules]
    unary_parent, unary_child  int32 [unary rules], in the order of their ids; one symbol over another
    unary_log_prob           float64 [unary rules]
    lexical_symbol           int32 [lexical rules], and lexical_terminal, lexical_log_prob
    root_log_prob            float64 [symbols], -inf where a symbol is no root
    unknown                  the model of unknown words (None: they have no terminal)
    usual_tags               by terminal, the projected label that it has most often (None: a tag in a rule)
    rules                    the rules that it was made from, with counts (None in worker processes)
    """

    terminal_kind: TerminalKind
    symbols: tuple[str, ...]
    terminals: tuple[str, ...]
    parent: IntArray
    left: IntArray
    right: IntArray
    log_prob: FloatArray
    unary_parent: IntArray
    unary_child: IntArray
    unary_log_prob: FloatArray
    lexical_symbol: IntArray
    lexical_terminal: IntArray
    lexical_log_prob: FloatArray
    root_log_prob: FloatArray
    unknown: UnknownWords | None = None
    usual_tags: tuple[str | None, ...] = ()
    rules: RuleSet | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Worker processes need the arrays only."""
        return {**self.__dict__, "rules": None}

    @property
    def kind(self) -> Literal["pcfg"]:
        """As every grammar tells it."""
        return "pcfg"

    @property
    def pcfg(self) -> PCFG:
        """Itself."""
        return self

    @property
    def content(self) -> RuleSet | PCFG:
        """What it was made of, which does not depend on this machine's logarithms, where that is known."""
        return self if self.rules is None else self.rules

    @property
    def has_unaries(self) -> bool:
        """Whether some rule has a single symbol on its right-hand side."""
        return len(self.unary_parent) > 0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The projected labels of the symbols, in text order."""
        return tuple(sorted(set(self._projected)))

    @cached_property
    def label_ids(self) -> IntArray:
        """For each symbol, the id of its projected label."""
        ids = {label: position for position, label in enumerate(self.labels)}
        return np.array([ids[label] for label in self._projected], np.int32)

    @cached_property
    def _projected(self) -> list[str]:
        return [unquote(name) if is_terminal(name) else project(name) for name in self.symbols]

    @cached_property
    def start_label(self) -> str:
        """The projected label that is most often a root (the first in text order, if several)."""
        mass: dict[str, float] = dict.fromkeys(sorted(set(self._projected)), 0.0)
        for label, log_prob in zip(self._projected, self.root_log_prob, strict=True):
            mass[label] += float(np.exp(log_prob))
        return max(mass, key=lambda label: mass[label])

    @cached_property
    def _terminal_ids(self) -> dict[str, int]:
        return {terminal: position for position, terminal in enumerate(self.terminals)}

    def terminals_of(self, words: Sequence[str]) -> list[str]:
        """The terminals of a sentence's words; an unknown word without one is left as it is."""
        return list(words) if self.unknown is None else self.unknown.terminals(words, self._terminal_ids)

    def encode(self, sentence: Sequence[str]) -> IntArray:
        """The ids of a sentence's terminals, UNKNOWN_TERMINAL (-1) for those the grammar lacks."""
        return np.array(list(map(self._terminal_ids.get, sentence, repeat(UNKNOWN_TERMINAL))), np.int32)

    def __repr__(self) -> str:
        rules = len(self.parent) + len(self.unary_parent) + len(self.lexical_symbol)
        return f"<grammar over {self.terminal_kind}: {len(self.symbols)} symbols, {rules} rules>"

    @classmethod
    def from_rules(cls, rules: RuleSet) -> PCFG:
        """Build the arrays; raises GrammarError for rules of three children or more.

        Probabilities that sum to one within the tolerance of ``RuleSet.check``, but not to the last digits,
        are divided by their sum, so that no sentence has a probability above one.
        """
        binary: list[tuple[Rule, float]] = []
        unary: list[tuple[Rule, float]] = []
        lexical: list[tuple[str, str, float]] = []
        names = set(rules.start)
        sums = _sums(rules)
        for rule, weight in rules.rules.items():
            parent, children = rule
            if weight.probability == 0:
                continue
            if len(children) > 2:
                raise GrammarError(
                    f"{len(children)}-ary rule {rule}: charts take rules of one or two children only",
                    remedy="train on binarized trees (mbrparse binarize), or binarize the rules: mbrparse "
                    "grammar convert",
                )
            probability = weight.probability / sums.get(parent, 1.0)
            if len(children) == 1 and is_terminal(children[0]):
                lexical.append((unquote(children[0]), parent, probability))
                names.add(parent)
            else:
                (binary if len(children) == 2 else unary).append((rule, probability))
                names.update((parent, *children))
        lexical.extend((unquote(name), name, 1.0) for name in names if is_terminal(name))
        symbols = sorted(names, key=text_order)
        ids = {name: position for position, name in enumerate(symbols)}
        terminals = sorted({terminal for terminal, _, _ in lexical})
        terminal_ids = {terminal: position for position, terminal in enumerate(terminals)}
        start = _inexact([weight.probability for weight in rules.start.values()]) or 1.0
        starts = [rules.start[name].probability / start if name in rules.start else 0.0 for name in symbols]
        binary_rows = [(ids[rule.parent], *map(ids.__getitem__, rule.children), p) for rule, p in binary]
        unary_rows = [(ids[rule.parent], ids[rule.children[0]], p) for rule, p in unary]
        lexical_rows = [(terminal_ids[terminal], ids[name], p) for terminal, name, p in lexical]
        parent, left, right, log_prob = _columns(binary_rows, 3)
        unary_parent, unary_child, unary_log_prob = _columns(unary_rows, 2)
        lexical_terminal, lexical_symbol, lexical_log_prob = _columns(lexical_rows, 2)
        return cls(
            rules.terminal_kind,
            tuple(symbols),
            tuple(terminals),
            *(parent, left, right, log_prob),
            *(unary_parent, unary_child, unary_log_prob),
            *(lexical_symbol, lexical_terminal, lexical_log_prob),
            _columns([(p,) for p in starts], 0)[0],
            rules.unknown,
            _usual_tags(rules, terminals),
            rules,
        )


def _usual_tags(rules: RuleSet, terminals: Sequence[str]) -> tuple[str | None, ...]:
    """By counts, or by probabilities if a count is unknown; ties go to the first in text order."""
    lexical = {
        rule: weight
        for rule, weight in rules.rules.items()
        if len(rule.children) == 1 and is_terminal(rule.children[0])
    }
    counted = all(weight.count is not None for weight in lexical.values())
    masses: dict[str, dict[str, float]] = {}
    for rule, weight in lexical.items():
        tags = masses.setdefault(unquote(rule.children[0]), {})
        tag = project(rule.parent)
        tags[tag] = tags.get(tag, 0.0) + ((weight.count or 0.0) if counted else weight.probability)
    usual = {word: max(sorted(tags), key=lambda tag: tags[tag]) for word, tags in masses.items()}
    return tuple(usual.get(terminal) for terminal in terminals)


def _sums(rules: RuleSet) -> dict[str, float]:
    """The sum of each parent's probabilities, where it is not one."""
    groups: dict[str, list[float]] = {}
    for rule, weight in rules.rules.items():
        groups.setdefault(rule.parent, []).append(weight.probability)
    found = {parent: _inexact(probabilities) for parent, probabilities in groups.items()}
    return {parent: total for parent, total in found.items() if total is not None}


def _inexact(probabilities: list[float]) -> float | None:
    """The sum of probabilities; None where it is one up to rounding."""
    total = math.fsum(probabilities)
    exact = abs(total - 1) <= (len(probabilities) + 1) * np.finfo(np.float64).eps
    return None if exact or not abs(total - 1) <= SUM_TOLERANCE else total


def text_order(name: str) -> tuple[str, bool]:
    """The key that sorts symbols by their text; a terminal comes after a nonterminal of its name."""
    return (unquote(name), True) if is_terminal(name) else (name, False)


def _columns(rows: Sequence[tuple[float, ...]], ids: int) -> list[Any]:
    """Ascending rows of ids and a probability as read-only columns, of probabilities the logarithms."""
    table = np.array(sorted(rows) if ids else rows, np.float64).reshape(len(rows), ids + 1)
    with np.errstate(divide="ignore"):
        columns = [*table.T[:ids].astype(np.int32), np.log(table[:, ids])]
    for column in columns:
        column.setflags(write=False)
    return columns
