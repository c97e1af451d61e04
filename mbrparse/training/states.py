"""A grammar whose symbols have states: blocks of probabilities, read, written, and estimated by EM.

The E step sums over observed trees (Matsuzaki et al. 2005). A state is named by the bits of its history
behind ``~``: ``NP~01``. A symbol with one state has no name for it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mbrparse import errors, jobs
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.grammar.rules import (
    Rule,
    RuleSet,
    TerminalKind,
    Weight,
    checked_children,
    is_terminal,
    quote,
    rule_name,
)
from mbrparse.grammar.unknown_words import UnknownWords
from mbrparse.training.state_kernels import LANES, Pairs, StateTables, TreeArrays, expect_trees
from mbrparse.treebank import tree
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import STATE, escape

#: The symbol over each tree, whose rules are the distribution of roots. It is never split.
ROOT = ""
# Rules of states below this are not written, but for the most probable states of each rule.
_LEAST = 1e-6
_STATE = re.compile(rf"(.+){STATE}([01]+)", re.DOTALL)


@dataclass(frozen=True)
class StateGrammar:
    """Probabilities of rules with states.

    rules    in ascending order, without states; the distribution of roots is that of ROOT's rules
    states   by symbol the histories of its states, in ascending order
    blocks   by rule float64 [left states, right states, parent's states], 1 for a child without states
    """

    rules: tuple[Rule, ...]
    states: dict[str, tuple[str, ...]]
    blocks: Sequence[Floats]

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The left-hand sides, in the order of their rules; the first is ROOT."""
        return tuple(dict.fromkeys(rule.parent for rule in self.rules))

    @property
    def size(self) -> int:
        """The number of states of all symbols, ROOT aside."""
        return sum(map(len, self.states.values())) - 1

    @classmethod
    def counted(cls, rules: tuple[Rule, ...], counts: Floats) -> StateGrammar:
        """Relative frequencies, with one state for each symbol."""
        totals: dict[str, float] = {}
        for rule, count in zip(rules, counts.tolist(), strict=True):
            totals[rule.parent] = totals.get(rule.parent, 0.0) + count
        blocks = [
            np.full((1, 1, 1), count / totals[rule.parent])
            for rule, count in zip(rules, counts.tolist(), strict=True)
        ]
        return cls(rules, dict.fromkeys(totals, ("",)), blocks)

    @classmethod
    def of_rules(cls, trained: RuleSet, rules: tuple[Rule, ...]) -> StateGrammar:
        """The grammar that ``written`` wrote, for these rules, which it must have."""
        names: dict[str, set[str]] = {ROOT: {""}}
        for rule in trained.rules:
            symbol, state = split_state(rule.parent)
            names.setdefault(symbol, set()).add(state)
        states = {symbol: tuple(sorted(histories)) for symbol, histories in names.items()}
        places = {
            with_state(symbol, state): (symbol, place)
            for symbol, histories in states.items()
            for place, state in enumerate(histories)
        }
        shapes = [_shape(rule, states) for rule in rules]
        blocks = {rule: np.zeros(shape) for rule, shape in zip(rules, shapes, strict=True)}
        roots = ((Rule(ROOT, (name,)), weight) for name, weight in trained.start.items())
        for (parent, children), weight in (*trained.rules.items(), *roots):
            symbol, above = places[parent]
            inner = [(name, 0) if is_terminal(name) else places[name] for name in children]
            block = blocks.get(Rule(symbol, tuple(name for name, _ in inner)))
            if block is not None:
                block[inner[0][1], inner[1][1] if len(inner) > 1 else 0, above] = weight.probability
        lacking = next((rule for rule, block in blocks.items() if not block.any()), None)
        if lacking is not None:
            raise errors.GrammarError(
                f"the grammar has no rule {lacking} of the training trees",
                remedy="give the trees that it was trained on, or leave `resume` out",
            )
        return cls(
            rules,
            {symbol: states[symbol] for symbol in dict.fromkeys(r.parent for r in rules)},
            [*blocks.values()],
        )

    def written(self, kind: TerminalKind, unknown: UnknownWords | None = None) -> RuleSet:
        """Its rules, but for those of negligible probability."""
        names = {
            symbol: [with_state(symbol, state) for state in histories]
            for symbol, histories in self.states.items()
        }
        start: dict[str, Weight] = {}
        weights: dict[Rule, Weight] = {}
        for rule, block in zip(self.rules, self.blocks, strict=True):
            lefts, rights = ([None] if child is None else names[child] for child in inner_children(rule))
            first, *others = rule.children
            for left, right, parent in np.argwhere(block >= min(_LEAST, block.max())).tolist():
                weight = Weight(float(block[left, right, parent]))
                name = lefts[left] or first
                if rule.parent == ROOT:
                    start[name] = weight
                    continue
                children = (name, rights[right] or others[0]) if others else (name,)
                weights[Rule(names[rule.parent][parent], children)] = weight
        return rounded(RuleSet(kind, start, weights, unknown))

    def changed(self, states: dict[str, tuple[str, ...]], blocks: Iterable[Floats]) -> StateGrammar:
        """The same rules with other states."""
        return StateGrammar(self.rules, states, [*blocks])


@dataclass(frozen=True)
class Layout:
    """Where kernels find the numbers of a grammar's blocks; rows without a probability are left out."""

    tables: StateTables
    rows: Sequence[Ints]  # by rule, which rows of its block there are
    parent_first: Ints  # [symbols + 1] in the values: rules are in the order of their parents

    @classmethod
    def of(cls, grammar: StateGrammar) -> Layout:
        """The layout, and the grammar's probabilities in it."""
        ids = {symbol: place for place, symbol in enumerate(grammar.symbols)}
        symbol = np.array([ids[rule.parent] for rule in grammar.rules], np.int32)
        counts = np.array([len(grammar.states[name]) for name in grammar.symbols])
        width = (-(-counts // LANES) * LANES).astype(np.int32)
        rows, values, lefts, rights = [], [], [], []
        for block, parent in zip(grammar.blocks, symbol.tolist(), strict=True):
            flat = block.reshape(-1, block.shape[2])
            kept = np.flatnonzero(flat.any(axis=1)).astype(np.int32)
            padded = np.zeros((len(kept), width[parent]))
            padded[:, : block.shape[2]] = flat[kept]
            rows.append(kept)
            values.append(padded.ravel())
            lefts.append(kept // block.shape[1])
            rights.append(kept % block.shape[1])
        sizes = np.array([len(kept) for kept in rows])
        value_first = np.concatenate(([0], np.cumsum(sizes * width[symbol])))
        tables = StateTables(
            symbol,
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
            value_first[:-1],
            np.concatenate(lefts).astype(np.int32),
            np.concatenate(rights).astype(np.int32),
            width,
            np.concatenate(values),
        )
        firsts = value_first[np.searchsorted(symbol, np.arange(len(ids) + 1))]
        return cls(tables, rows, firsts)

    def of_parents(self, values: Floats) -> list[Floats]:
        """Views of values, by symbol: [rows, width]."""
        parts = zip(self.parent_first, self.parent_first[1:], self.tables.width, strict=False)
        return [values[first:last].reshape(-1, width) for first, last, width in parts]

    def grammar(self, form: StateGrammar, values: Floats) -> StateGrammar:
        """Values as the probabilities of a grammar of this form."""
        blocks = []
        widths = self.tables.width[self.tables.symbol]
        for block, rows, first, width in zip(
            form.blocks, self.rows, self.tables.value_first, widths, strict=True
        ):
            mine = np.zeros((block.shape[0] * block.shape[1], block.shape[2]))
            part = values[first : first + len(rows) * width].reshape(-1, width)
            mine[rows] = part[:, : block.shape[2]]
            blocks.append(mine.reshape(block.shape))
        return form.changed(form.states, blocks)


def with_state(symbol: str, state: str) -> str:
    """The name of a symbol in a state; in its only one it is the symbol's own.

    >>> with_state("NP", "01"), with_state("NP", "")
    ('NP~01', 'NP')
    """
    return f"{symbol}{STATE}{state}" if state else symbol


def split_state(name: str) -> tuple[str, str]:
    """The symbol and the state of a name.

    >>> split_state("NP^S~01"), split_state("NNZ~city")
    (('NP^S', '01'), ('NNZ~city', ''))
    """
    match = _STATE.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def rounded(rules: RuleSet) -> RuleSet:
    """The same with sums of one, and probabilities of eight digits, which files have room for."""
    whole = rules.normalized("")
    return replace(
        whole,
        start={name: Weight(_rounded(weight.probability)) for name, weight in whole.start.items()},
        rules={rule: Weight(_rounded(weight.probability)) for rule, weight in whole.rules.items()},
    )


def _rounded(probability: float) -> float:
    return float(f"{probability:.8g}")


def _shape(rule: Rule, states: dict[str, tuple[str, ...]]) -> tuple[int, int, int]:
    left, right = (1 if child is None else len(states.get(child, "x")) for child in inner_children(rule))
    return left, right, len(states.get(rule.parent, "x"))


def inner_children(rule: Rule) -> tuple[str | None, str | None]:
    """The left and the right child with states of their own; None: there is none, or a terminal."""
    names = [None if is_terminal(name) else name for name in rule.children]
    return names[0], names[1] if len(names) > 1 else None


# The number of parts of the trees. Their sums are added in order, whatever the number of jobs.
_PARTS = 8
#: Probabilities below this become zero, as they would in a few rounds more.
SMALLEST = 1e-30
#: A change of probabilities by their layout, in place, after each round: smoothing.
Change = Callable[[Layout, Floats], None]
_NO_PAIRS = Pairs(np.zeros(1, np.int32), np.zeros(0), np.zeros(0))


class ObservedTrees(NamedTuple):
    """Trees and their rules, in ascending order, without states."""

    rules: tuple[Rule, ...]
    arrays: TreeArrays


def observe(trees: Iterable[SourceTree], terminals: TerminalKind) -> ObservedTrees:
    """The arrays of binarized trees; raises GrammarError as ``induce`` does.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> trees = observe([SourceTree("", 1, read_tree("(S (NP (PRP he)) (VBZ is))"))], "words")
    >>> [(str(trees.rules[rule]), left) for rule, left in zip(trees.arrays.rule, trees.arrays.left.tolist())]
    [("PRP -> 'he'", -1), ('NP -> PRP', 0), ("VBZ -> 'is'", -1), ('S -> NP VBZ', 1), (' -> S', 3)]
    """
    words = terminals == "words"
    ids: dict[tuple[str, ...], int] = {}
    first, rule, left, right = array("i", [0]), array("i"), array("i"), array("i")

    def add(names: tuple[str, ...], children: Sequence[int]) -> int:
        rule.append(ids.setdefault(names, len(ids)))
        left.append(children[0] if children else -1)
        right.append(children[1] if len(children) > 1 else -1)
        return len(rule) - 1 - first[-1]

    def leaf(node: tree.Tree) -> int:
        return add((escape(node.label), quote(node.word)), ()) if words and node.word is not None else -1

    def inner(node: tree.Tree, places: Sequence[int]) -> int:
        children = checked_children(node, source)
        if len(children) == 1 and places[0] < 0:
            tag = children[0].label
            places = [add((escape(tag), quote(tag)), ())]
        return add((node.label, *(rule_name(child, words, len(children)) for child in children)), places)

    for source in trees:
        add((ROOT, source.tree.label), (source.tree.fold(leaf, inner),))
        first.append(len(rule))
    if not rule:
        raise errors.GrammarError("no trees to train on", remedy="give binarized trees: mbrparse binarize")
    names = sorted(ids)
    place = np.empty(len(ids), np.int32)
    place[[ids[name] for name in names]] = np.arange(len(ids))
    columns = (np.array(values, np.int32) for values in (first, rule, left, right))
    firsts, numbers, lefts, rights = columns
    rules = tuple(Rule(parent, tuple(children)) for parent, *children in names)
    return ObservedTrees(rules, TreeArrays(firsts, place[numbers], lefts, rights))


class StateSums(NamedTuple):
    """Sums over all trees."""

    counts: Floats  # by number of the layout, expected counts divided by the probability
    loss: Floats  # as ``Pairs`` has them
    log_likelihood: float
    left_out: int  # trees without a derivation


class ObservedEStep:
    """The E step on observed trees; an executor's workers share its parts."""

    def __init__(self, trees: TreeArrays, executor: Executor | None = None) -> None:
        self._executor = executor or jobs.Inline()
        ends = np.searchsorted(trees.first, np.linspace(0, trees.first[-1], _PARTS + 1)).tolist()
        self._parts = [(begin, end) for begin, end in pairwise(ends) if end > begin]
        self._trees = jobs.share(self._executor, trees)

    def expect(self, layout: Layout, values: Floats, pairs: Pairs = _NO_PAIRS) -> StateSums:
        """The sums for these probabilities; raises WorkersError if workers die."""
        tables = jobs.share(self._executor, layout.tables._replace(value=values))
        futures = [self._executor.submit(_sums, self._trees, tables, pairs, part) for part in self._parts]
        total, *others = (future.result() for future in futures)
        for more in others:
            np.add(total.counts, more.counts, out=total.counts)
            np.add(total.loss, more.loss, out=total.loss)
        log_likelihood = sum((more.log_likelihood for more in others), total.log_likelihood)
        return total._replace(
            log_likelihood=log_likelihood, left_out=total.left_out + sum(more.left_out for more in others)
        )

    def rounds(self, layout: Layout, change: Change | None = None) -> Iterator[tuple[Floats, StateSums]]:
        """Yield probabilities by the layout, at first its own, and what is expected under them."""
        values = layout.tables.value
        while True:
            sums = self.expect(layout, values)
            yield values, sums
            values = maximized(layout, values * sums.counts, change)


def _sums(trees: TreeArrays, tables: StateTables, pairs: Pairs, part: tuple[int, int]) -> StateSums:
    sums = np.zeros(len(tables.value))
    mine = pairs._replace(loss=np.zeros_like(pairs.loss))
    log_probs = expect_trees(trees, tables, mine, *part, sums)
    derived = np.isfinite(log_probs)
    return StateSums(sums, mine.loss, float(log_probs[derived].sum()), int((~derived).sum()))


def maximized(layout: Layout, counts: Floats, change: Change | None = None) -> Floats:
    """The M step, in place: each parent's state has a sum of one, or of zero if it was never used."""
    for block in layout.of_parents(counts):
        total = block.sum(axis=0)
        np.multiply(block, np.divide(1.0, total, out=np.zeros_like(total), where=total > 0), out=block)
        block[block < SMALLEST] = 0.0
    if change is not None:
        change(layout, counts)
    return counts
