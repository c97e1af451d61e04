"""The probability of a tree: the sum over the derivations that look like it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import Protocol

from mbrparse.charts.spans import rows
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.rules import quote, rule_name
from mbrparse.treebank.labels import continuation_of, escape, is_continuation_label
from mbrparse.treebank.tree import Tree


def share(log_prob: float, log_total: float) -> float:
    """A probability given one that it is part of, in logarithms; NaN of nothing."""
    return math.exp(min(log_prob - log_total, 0.0)) if log_total > -math.inf else math.nan


#: By symbol, the logarithm of its inside probability: whatever the sizes, none is lost.
Weights = dict[int, float]


class Probability(Protocol):
    """The log probability of trees; n-ary ones, with ``nary``, where it ``serves_nary``."""

    serves_nary: bool

    def log_prob(self, spans: LabelledSpans, terminal_ids: IntArray, nary: bool = False) -> float: ...


class TreeProbability:
    """The probability that a grammar gives to a tree with projected labels.

    The sum over all derivations that have the tree's bracketing and, projected, its labels. A tree's
    unary nodes are those that it shows: no others stand between them. An n-ary tree's derivations are all
    that it is left of when their continuations are spliced out; a root that is one is written as its base.
    """

    def __init__(self, grammar: PCFG) -> None:
        self._labels, self._words = grammar.labels, grammar.terminal_kind == "words"
        self._label_of: list[int] = grammar.label_ids.tolist()
        self._continues = [is_continuation_label(label) for label in grammar.labels]
        self._label_ids = {label: position for position, label in enumerate(grammar.labels)}
        # Of a left child by the right one.
        self._rules: dict[int, dict[int, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
        binary = grammar.left, grammar.right, grammar.parent, grammar.log_prob
        for left, right, parent, prob in rows(*binary):
            self._rules[left][right].append((parent, prob))
        self._unary_rules: dict[int, list[tuple[int, float]]] = defaultdict(list)
        unaries = grammar.unary_child, grammar.unary_parent, grammar.unary_log_prob
        for child, parent, prob in rows(*unaries):
            self._unary_rules[child].append((parent, prob))
        self._lexicon: dict[int, Weights] = defaultdict(dict)
        lexical = grammar.lexical_terminal, grammar.lexical_symbol, grammar.lexical_log_prob
        for terminal, symbol, prob in rows(*lexical):
            self._lexicon[terminal][symbol] = prob
        self._root: list[float] = grammar.root_log_prob.tolist()
        # In chains of unary rules debinarizing would splice continuations out too, however many there are.
        chained = {*grammar.unary_parent.tolist(), *grammar.unary_child.tolist()}
        self.serves_nary = not any(self._continues[self._label_of[symbol]] for symbol in chained)

    def lacking(
        self, spans: LabelledSpans, terminal_ids: IntArray, leaves: Sequence[Tree], nary: bool = False
    ) -> list[str]:
        """The rules that the grammar lacks for a tree, top down, as grammars write them.

        A rule that is lacking is taken as given by those above it. An n-ary node is named whole where no
        rules binarize it. Words have the tree's tags: a word under a tag
        that the grammar does not know there is named as well. ``start X`` is a label that begins no tree.
        """
        found: list[tuple[int, str]] = []
        tops = [self._lexicon.get(terminal, {}) for terminal in terminal_ids.tolist()]
        for place, leaf in enumerate(leaves):
            if leaf.word is not None and self._words:
                tag = {self._label_ids.get(escape(leaf.label), -1)}
                known = {one: prob for one, prob in tops[place].items() if self._label_of[one] in tag}
                if not known:
                    found.append((len(spans) + place, f"{escape(leaf.label)} -> {quote(leaf.word)}"))
                tops[place] = known or self._any(tag)
        self._total(spans, tops, nary, found, leaves)
        return [rule for _, rule in sorted(found)]

    def log_prob(
        self,
        spans: LabelledSpans,
        terminal_ids: IntArray,
        nary: bool = False,
        allowed: Mapping[int, Set[int]] | None = None,
    ) -> float:
        """The log probability of a tree of (start, end, label) spans in preorder; -inf if it has none.

        Terminals may have any preterminal; where the tree has no span there is nothing to derive, but
        for a single terminal, which is no constituent: its preterminal is then the root. With ``nary`` a
        node of three children or more stands for all ways to binarize it (``serves_nary`` must hold).
        ``allowed`` are the ids of the labels that preterminals may have, by place.
        """
        tops = [self._lexicon.get(one, {}) for one in terminal_ids.tolist()]
        for place, ids in (allowed or {}).items():
            tops[place] = {symbol: p for symbol, p in tops[place].items() if self._label_of[symbol] in ids}
        return self._total(spans, tops, nary)

    def _total(
        self,
        spans: LabelledSpans,
        tops: list[Weights],
        nary: bool,
        lacking: list[tuple[int, str]] | None = None,
        leaves: Sequence[Tree] = (),
    ) -> float:
        """The log probability of a tree over terminals that have these symbols.

        Adds to ``lacking``, if given, rules and their nodes' places, and then goes on where there is no
        derivation.
        """
        if not spans and len(tops) != 1:
            return -math.inf
        tree: list[Tree | str] = list(leaves)  # the tops' leaves or labels
        # As in decode.trees: the largest finished subtree at each start.
        ends = list(range(1, len(tops) + 1))
        for place in range(len(spans) - 1, -1, -1):
            start, end, label = spans[place]
            label_ids = {self._label_ids.get(label, -1)}
            if nary and place == 0:
                label_ids.add(self._label_ids.get(continuation_of(label), -1))
            starts, position = [start], ends[start]
            while position < end:
                starts.append(position)
                position = ends[position]
            children, weights = [tops[one] for one in starts], {}
            if len(children) == 1:
                weights = self._above(tops[start], label_ids)
            elif len(children) == 2 or nary:
                weights = self._over(children, label_ids)
            if not weights:
                if lacking is None:
                    return -math.inf
                lacking.append((place, f"{label} -> {' '.join(self._names(tree, starts))}"))
                weights = self._any(label_ids)
            if lacking is not None:
                tree[start] = label
            tops[start], ends[start] = weights, end
        total = -math.inf
        for symbol, weight in tops[0].items():
            total = _log_add(total, self._root[symbol] + weight)
        if lacking is not None and total == -math.inf:
            lacking.append((-1, f"start {self._names(tree, [0])[0]}"))
        return total if ends[0] == len(tops) else -math.inf

    def _any(self, label_ids: set[int]) -> Weights:
        """Of all symbols with these labels."""
        return {symbol: 0.0 for symbol, one in enumerate(self._label_of) if one in label_ids}

    def _names(self, tree: list[Tree | str], places: list[int]) -> list[str]:
        found, count = [tree[place] for place in places], len(places)
        return [one if isinstance(one, str) else rule_name(one, self._words, count) for one in found]

    def _over(self, children: list[Weights], label_ids: set[int]) -> Weights:
        """Of symbols with these labels over two children or more, with continuations between them."""
        count = len(children)
        part = {(place, place + 1): child for place, child in enumerate(children)}
        for width in range(2, count + 1):
            for start in range(count - width + 1):
                end = start + width
                weights: Weights = {}
                for split in range(start + 1, end):
                    pair = part[start, split], part[split, end]
                    self._combine(*pair, weights, label_ids if width == count else None)
                part[start, end] = weights
        return part[0, count]

    def _above(self, below: Weights, label_ids: set[int]) -> Weights:
        weights: Weights = {}
        for child_id, child_weight in below.items():
            for parent, prob in self._unary_rules.get(child_id, ()):
                if self._label_of[parent] in label_ids:
                    weights[parent] = _log_add(weights.get(parent, -math.inf), prob + child_weight)
        return weights

    def _combine(self, left: Weights, right: Weights, weights: Weights, label_ids: set[int] | None) -> None:
        """Add to the weights of parents with these labels (None: of continuations)."""
        place = {symbol: number for number, symbol in enumerate(right)}
        for left_id, left_weight in left.items():
            rules = self._rules.get(left_id, {})
            # Not all pairs of symbols: there may be many of each.
            for right_id in sorted(right.keys() & rules.keys(), key=place.__getitem__):
                for parent, prob in rules[right_id]:
                    label = self._label_of[parent]
                    if self._continues[label] if label_ids is None else label in label_ids:
                        weight = prob + left_weight + right[right_id]
                        weights[parent] = _log_add(weights.get(parent, -math.inf), weight)


def _log_add(first: float, second: float) -> float:
    """The logarithm of the sum of two numbers that are given by theirs."""
    high, low = max(first, second), min(first, second)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
