"""What objectives return for a sentence, and the gains that make it the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mbrparse.charts.chart import Chart
from mbrparse.charts.spans import cell_of
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.parser.parser import Parse
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans, build_tree
from mbrparse.grammar.pcfg import PCFG
from mbrparse.treebank.tree import Tree

#: By parent and children, the natural log probability.
RuleProbs = Mapping[tuple[str, ...], float]
_OF_SPANS = Item.LABELLED_SPAN, Item.SPAN, Item.CONSISTENT_SPAN, Item.LOG_CONSISTENT_SPAN


class Gain(NamedTuple):
    """An item of a tree, what it gains, and its span (None: the root's)."""

    name: str
    gain: float
    span: tuple[int, int] | None = None


class Result(NamedTuple):
    """What an objective returns. Its gains are empty where they are of other items than spans and rules.

    ``labelled`` and ``bracketed`` are the expected numbers of right constituents and of right brackets;
    ``expected_constituents`` is what an F divides by, beside the tree's own (None: of no F).
    """

    objective: Objective
    tree: Tree
    constituents: LabelledSpans
    score: float
    labelled: float
    bracketed: float
    gains: tuple[Gain, ...]
    expected_constituents: float | None


def objective_results(
    parse: Parse, posteriors: Posteriors, chart: Chart, grammar: PCFG, rules: RuleProbs
) -> Iterator[Result]:
    """The result of each objective; ``rules`` are those of the sentence's derivations."""
    scores = parse.expected_scores
    for row, tree, spans, found in zip(
        parse.objectives, parse.trees, parse.spans, parse.decoded, strict=True
    ):
        score = scores[row.name]
        assert tree is not None
        assert found is not None
        assert score is not None
        nary = found.constituents is not None
        matches = posteriors.expected_matches(spans, nary)
        of_rules = row.weight(Item.RULE) > 0 and len(row.gains) == 1 and not row.node_constant
        gains = _rules(chart, grammar, rules) if of_rules else _gains(row, spans, posteriors, nary)
        constituents = found.constituents if row.f_score else None
        yield Result(row, tree, spans, score, *matches, tuple(gains), constituents)


def _gains(row: Objective, spans: LabelledSpans, posteriors: Posteriors, nary: bool) -> Iterator[Gain]:
    """What each constituent gains, where the objective looks at nothing but spans."""
    if any(weight and item not in _OF_SPANS for item, weight in row.gains):
        return
    brackets = 0.0
    for place, (start, end, label) in enumerate(spans):
        gain = row.node_constant + row.weight(Item.LABELLED_SPAN) * posteriors.labelled(start, end, label)
        # Beside those of the labels above it on the same span.
        before, (_, brackets) = brackets, posteriors.expected_matches(spans[: place + 1], nary)
        gain += row.weight(Item.SPAN) * (brackets - before)
        if row.needs_consistency:
            consistent = float(posteriors.consistent[cell_of(posteriors.length, start, end)])
            gain += row.weight(Item.CONSISTENT_SPAN) * consistent
            gain += row.weight(Item.LOG_CONSISTENT_SPAN) * math.log(consistent)
        yield Gain(label, gain, (start, end))


def _rules(chart: Chart, grammar: PCFG, rules: RuleProbs) -> Iterator[Gain]:
    """The rules of the most probable derivation, with their natural log probabilities."""
    best, names = chart.viterbi(), grammar.symbols
    words = [grammar.terminals[place] for place in chart.terminal_ids.tolist()]
    leaves = [Tree(names[tag], word=word) for tag, word in zip(best.preterminals, words, strict=True)]
    tree = build_tree([(start, end, names[symbol]) for start, end, symbol in best.nodes], leaves)
    root = float(grammar.root_log_prob[names.index(tree.label)])
    if root < 0:
        yield Gain(f"{tree.label} as the root", root)
    start = 0
    for node in tree.preorder():
        parts = [f"'{node.word}'"] if node.is_leaf else [child.label for child in node.children]
        if parts != [node.label]:  # a terminal that stands in rules itself
            yield Gain(
                f"{node.label} → {' '.join(parts)}",
                rules[node.label, *parts],
                (start, start + len(node.leaves())),
            )
        start += node.is_leaf
