"""What ``--details`` says of each sentence: how well its trees are expected to do."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from mbrparse.decode.derivations.expectations import ExpectedItems
from mbrparse.decode.fallback import LabelledSpans
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.parser_options import Parse
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.grammar.pcfg import PCFG, IntArray

Weights = dict[int, float]


class TreeProbability:
    """The probability that a grammar gives to a tree with projected labels.

    The sum over all derivations that have the tree's bracketing and, projected, its labels. A tree's
    unary nodes are those that it shows: no others stand between them.
    """

    def __init__(self, grammar: PCFG) -> None:
        self._label_of: list[int] = grammar.label_ids.tolist()
        self._label_ids = {label: position for position, label in enumerate(grammar.labels)}
        self._rules: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
        rows = zip(
            grammar.left.tolist(),
            grammar.right.tolist(),
            grammar.parent.tolist(),
            np.exp(grammar.log_prob).tolist(),
            strict=True,
        )
        for left, right, parent, prob in rows:
            self._rules[left, right].append((parent, prob))
        self._unary_rules: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for child, parent, prob in zip(
            grammar.unary_child.tolist(),
            grammar.unary_parent.tolist(),
            np.exp(grammar.unary_log_prob).tolist(),
            strict=True,
        ):
            self._unary_rules[child].append((parent, prob))
        self._lexicon: dict[int, Weights] = defaultdict(dict)
        for terminal, symbol, prob in zip(
            grammar.lexical_terminal.tolist(),
            grammar.lexical_symbol.tolist(),
            np.exp(grammar.lexical_log_prob).tolist(),
            strict=True,
        ):
            self._lexicon[terminal][symbol] = prob
        self._root = np.exp(grammar.root_log_prob)

    def log_prob(self, spans: LabelledSpans, terminal_ids: IntArray) -> float:
        """The log probability of a tree of (start, end, label) spans in preorder; -inf if it has none.

        Terminals may have any preterminal; where the tree has no span there is nothing to derive, but
        for a single terminal, which is no constituent: its preterminal is then the root.
        """
        if not spans and len(terminal_ids) != 1:
            return -math.inf
        # As in decode.trees: the largest finished subtree at each start; values are scaled by node.
        tops = [self._lexicon.get(terminal, {}) for terminal in terminal_ids.tolist()]
        ends = list(range(1, len(tops) + 1))
        log_scale = 0.0
        for start, end, label in reversed(spans):
            split = ends[start]
            label_id = self._label_ids.get(label, -1)
            if split == end:
                weights = self._above(tops[start], label_id)
            elif split < end and ends[split] == end:
                weights = self._combine(tops[start], tops[split], label_id)
            else:
                return -math.inf
            total = sum(weights.values())
            if total == 0.0:
                return -math.inf
            log_scale += math.log(total)
            tops[start] = {symbol: weight / total for symbol, weight in weights.items()}
            ends[start] = end
        root = sum(float(self._root[symbol]) * weight for symbol, weight in tops[0].items())
        return math.log(root) + log_scale if root > 0.0 else -math.inf

    def _above(self, below: Weights, label_id: int) -> Weights:
        weights: Weights = {}
        for child_id, child_weight in below.items():
            for parent, prob in self._unary_rules.get(child_id, ()):
                if self._label_of[parent] == label_id:
                    weights[parent] = weights.get(parent, 0.0) + prob * child_weight
        return weights

    def _combine(self, left: Weights, right: Weights, label_id: int) -> Weights:
        weights: Weights = {}
        for left_id, left_weight in left.items():
            for right_id, right_weight in right.items():
                for parent, prob in self._rules.get((left_id, right_id), ()):
                    if self._label_of[parent] == label_id:
                        weight = prob * left_weight * right_weight
                        weights[parent] = weights.get(parent, 0.0) + weight
        return weights


class Details:
    """Makes the rows of ``--details``: one dictionary a sentence.

    Without a grammar (posteriors from elsewhere) no tree has a probability that could be told.
    """

    def __init__(self, grammar: PCFG | None, objectives: Sequence[Objective]) -> None:
        self._probability = None if grammar is None else TreeProbability(grammar)
        self._unaries = grammar is not None and grammar.has_unaries
        self._objectives = objectives

    def row(self, parse: Parse) -> dict[str, Any]:
        """The row of a sentence, all but its number."""
        return {
            "length": parse.length,
            "status": "parsed" if parse.reason is None else "fallback",
            "reason": parse.reason,
            "log_probability": parse.log_prob if math.isfinite(parse.log_prob) else None,
            "seconds": parse.seconds,
            "trees": {
                objective.name: self._tree(index, parse) for index, objective in enumerate(self._objectives)
            },
        }

    def _tree(self, index: int, parse: Parse) -> dict[str, Any] | None:
        """What is expected of one tree; None where there is nothing to expect it from.

        ``expected_labelled`` and ``expected_bracketed`` are numbers of matching constituents, the
        recalls their shares of the ``constituents`` that every binary tree of the length has; where there
        are unary rules, of the expected number of constituents. ``nodes`` are (start, end, label, g).
        """
        if parse.posteriors is None:
            return None
        objective, spans = self._objectives[index], parse.spans[index]
        labelled, bracketed = parse.posteriors.expected_matches(spans)
        posterior = None
        if self._probability is not None:
            posterior = math.exp(self._probability.log_prob(spans, parse.terminal_ids) - parse.log_prob)
        constituents = (
            parse.posteriors.expected_constituents() if self._unaries else float(max(parse.length - 1, 0))
        )
        score = parse.scores[index] if parse.scores else None
        if score is None or objective.weight(Item.RULE):
            score = _expected_score(objective, parse.posteriors, posterior, spans)
        return {
            "constituents": constituents if self._unaries else int(constituents),
            "expected_labelled": labelled,
            "expected_bracketed": bracketed,
            "expected_labelled_recall": labelled / constituents if constituents else 0.0,
            "expected_bracketed_recall": bracketed / constituents if constituents else 0.0,
            "posterior": posterior,
            "expected_score": score,
            **_expected(parse.expected[index] if parse.expected else None),
            "nodes": [[*span, parse.posteriors.labelled(*span)] for span in spans],
        }


def _expected(items: ExpectedItems | None) -> dict[str, float]:
    return {} if items is None else {f"expected_{name}": mass for name, mass in items._asdict().items()}


def _expected_score(
    objective: Objective, posteriors: Posteriors, posterior: float | None, spans: LabelledSpans
) -> float | None:
    """What the objective maximizes; for the labelled tree that is its posterior."""
    if objective.weight(Item.RULE):
        return posterior
    return (
        objective.weight(Item.LABELLED_SPAN) * sum(posteriors.labelled(*span) for span in spans)
        + objective.weight(Item.SPAN) * sum(posteriors.bracketed(start, end) for start, end, _ in spans)
        + objective.node_constant * len(spans)
    )
