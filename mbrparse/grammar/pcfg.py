"""The PCFG that charts are computed with: frozen arrays over a symbol table."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from mbrparse.errors import GrammarError
from mbrparse.grammar.rules import (
    NO_CHILD,
    SUM_TOLERANCE,
    Integers,
    RuleSet,
    RuleTable,
    TerminalKind,
    projected_labels,
    row_keys,
    unquote,
)
from mbrparse.grammar.unknown_words import UnknownWords, is_unknown
from mbrparse.treebank.labels import project
from mbrparse.treebank.tree import bracket_free

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
UNKNOWN_TERMINAL = -1
RARE, UNSEEN, UNLISTED = "rare", "unseen", "unlisted"
#: Each kind of grammar has charts, decoders and options of its own.
Kind = Literal["pcfg", "dop", "several"]


class Terminals(NamedTuple):
    """The terminals of a sentence's words.

    A word that stands for a class is ``rare``, if training had it: it shares its terminal's probability with
    the other words of its class, ``sizes`` in all. Or it is ``unseen``: it stands for the class as a whole
    (``unlisted`` where a grammar's file does not list its rare words). ``classes`` are empty, and sizes 0,
    for words that are themselves.
    """

    names: list[str]
    classes: list[str]
    sizes: list[int]

    @property
    def shared(self) -> IntArray:
        """By word, how many words of training share its terminal: its probability is to be divided by it."""
        kinds = zip(self.classes, self.sizes, strict=True)
        return np.array([size if kind == RARE else 1 for kind, size in kinds], np.int32)

    @property
    def log_share(self) -> float:
        """The natural logarithm of the words' part in the probability of their terminals; 0 for all of it."""
        return -float(np.log(self.shared).sum())


@runtime_checkable
class Grammar(Protocol):
    """A grammar of any kind."""

    @property
    def kind(self) -> Kind:
        """The kind of grammar."""
        ...

    @property
    def pcfg(self) -> PCFG:
        """A PCFG with its labels, terminals and model of unknown words; a PCFG itself."""
        ...


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
    rules                    what it was made from, with counts (None in worker processes)
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
        """The kind of grammar."""
        return "pcfg"

    @property
    def pcfg(self) -> PCFG:
        """Itself."""
        return self

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
        return projected_labels(self.symbols)

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

    def read_words(self, words: Sequence[str]) -> Terminals:
        """The terminals of a sentence's words, and what stands for a class among them."""
        names, kinds, sizes = self.terminals_of(words), [""] * len(words), [0] * len(words)
        if self.unknown is not None:
            other = UNSEEN if self.unknown.words else UNLISTED
            for place, (word, name) in enumerate(zip(map(bracket_free, words), names, strict=True)):
                if bracket_free(name) != word:
                    sizes[place] = len(self.class_members[place > 0].get(name, ()))
                    kinds[place] = RARE if word in self.unknown.words and sizes[place] else other
        return Terminals(names, kinds, sizes)

    @cached_property
    def class_members(self) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
        """The words of training by their class, where they begin a sentence, and elsewhere."""
        model = self.unknown
        if model is None:
            return {}, {}
        return model.members(self._terminal_ids, True), model.members(self._terminal_ids, False)

    @cached_property
    def class_sizes(self) -> IntArray:
        """How many words share each terminal at the beginning of a sentence, and elsewhere, [2, terminals].

        It is 1 for words themselves, and 0 for what stands for unseen words alone.
        """
        alone = [int(not is_unknown(terminal)) for terminal in self.terminals]
        rows = [[len(found.get(name, ())) for name in self.terminals] for found in self.class_members]
        return np.maximum(np.array(rows, np.int32).reshape(2, -1), np.array(alone, np.int32))

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
        table = rules.table
        longer = table.children[:, 2:].max(axis=1, initial=NO_CHILD) != NO_CHILD
        if (longer & (table.probability != 0)).any():
            first = int(np.flatnonzero(longer & (table.probability != 0))[0])
            rule = list(rules.rules)[first]
            raise GrammarError(
                f"{len(rule.children)}-ary rule {rule}: charts take rules of one or two children only",
                remedy="train on binarized trees (mbrparse binarize), or binarize the rules: mbrparse "
                "grammar convert",
            )
        over, (first, second) = table.parent, table.children.T[:2]
        named = zip(table.names, table.terminal.tolist(), strict=True)
        texts = [unquote(name) if terminal else name for name, terminal in named]
        mass = _masses(table)
        possible, single = table.probability != 0, second == NO_CHILD
        over_terminal = single & table.terminal[first]
        lexical, unary, binary = (
            np.flatnonzero(possible & kind) for kind in (over_terminal, single & ~over_terminal, ~single)
        )
        start = [weight.probability for weight in rules.start.values()]
        used = np.arange(len(start)), over[possible], first[possible & ~over_terminal], second[binary]
        symbols = sorted(_distinct(*used), key=lambda place: (texts[place], table.terminal[place]))
        tags = np.array([place for place in symbols if table.terminal[place]], np.int64)
        leaves = np.append(first[lexical], tags)
        terminals = sorted(_distinct(leaves), key=texts.__getitem__)
        ids, terminal_ids = np.zeros((2, len(texts)), np.int32)
        ids[symbols], terminal_ids[terminals] = np.arange(len(symbols)), np.arange(len(terminals))
        root = np.zeros(len(symbols))
        root[ids[: len(start)]] = np.array(start) / _sum(start)
        parent, left, right, log_prob = _columns(
            mass[binary], ids[over[binary]], ids[first[binary]], ids[second[binary]]
        )
        unary_parent, unary_child, unary_log_prob = _columns(mass[unary], ids[over[unary]], ids[first[unary]])
        lexical_terminal, lexical_symbol, lexical_log_prob = _columns(
            np.append(mass[lexical], np.ones(len(tags))),
            terminal_ids[leaves],
            ids[np.append(over[lexical], tags)],
        )
        usual = _usual_tags(table, np.flatnonzero(over_terminal))
        return cls(
            rules.terminal_kind,
            tuple(table.names[place] for place in symbols),
            tuple(texts[place] for place in terminals),
            *(parent, left, right, log_prob),
            *(unary_parent, unary_child, unary_log_prob),
            *(lexical_symbol, lexical_terminal, lexical_log_prob),
            _columns(root, np.arange(len(root)))[1],
            rules.unknown,
            tuple(map(usual.get, terminals)),
            rules,
        )


def _usual_tags(rules: RuleTable, lexical: Integers) -> dict[int, str]:
    """By counts, or by probabilities if a count is unknown; ties go to the first in text order."""
    counts, parent = rules.counts[lexical], rules.parent[lexical]
    projected = {place: project(rules.names[place]) for place in _distinct(parent)}
    labels = sorted(set(projected.values()))
    ids = {label: number for number, label in enumerate(labels)}
    tag_of = np.zeros(len(rules.names), np.int64)
    tag_of[list(projected)] = [ids[label] for label in projected.values()]
    keys = rules.children[lexical, 0] * len(labels) + tag_of[parent]
    pairs, place = np.unique(keys, return_inverse=True)
    weights = rules.probability[lexical] if np.isnan(counts).any() else counts
    mass = np.bincount(place, weights, len(pairs))
    # The last of each terminal is kept.
    order = np.lexsort((-pairs, mass))
    word, tag = np.divmod(pairs[order], len(labels))
    return {terminal: labels[place] for terminal, place in zip(word.tolist(), tag.tolist(), strict=True)}


def _distinct(*places: Integers) -> list[int]:
    counts = np.bincount(np.concatenate(places))
    return list(np.flatnonzero(counts).tolist())


def _masses(rules: RuleTable) -> FloatArray:
    values = rules.probability[np.argsort(rules.parent, kind="stable")].tolist()
    bounds = pairwise((0, *np.cumsum(np.bincount(rules.parent)).tolist()))
    sums = np.array([_sum(values[begin:end]) for begin, end in bounds])
    return np.asarray(rules.probability / sums[rules.parent])


def _sum(probabilities: list[float]) -> float:
    """The sum to divide by; one where it is that up to rounding, or is far from it."""
    total = math.fsum(probabilities)
    exact = abs(total - 1) <= (len(probabilities) + 1) * sys.float_info.epsilon
    return 1.0 if exact or not abs(total - 1) <= SUM_TOLERANCE else total


def _columns(probability: FloatArray, *ids: Integers) -> list[Any]:
    """Ids, by row in ascending order, and the logarithms of probabilities, as columns that are read only."""
    order = np.argsort(row_keys(*ids), kind="stable")
    with np.errstate(divide="ignore"):
        columns = [*(column[order] for column in ids), np.log(probability[order])]
    for column in columns:
        column.setflags(write=False)
    return columns
