"""What a grammar says of a sentence: the cells of its chart, and what each objective returns and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from mbrparse.charts.chart import Chart
from mbrparse.charts.spans import cell_of
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.parser.parser import Parse
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans, build_tree
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.treebank.tree import Tree


class Way(NamedTuple):
    """One way to build a label over its span: a rule, and where its children meet (None: there is one).

    ``share`` is its part of the label's inside value.
    """

    children: tuple[str, ...]
    split: int | None
    log_prob: float
    log_value: float
    share: float


class Entry(NamedTuple):
    """A symbol over a span. ``log_outside`` is -inf, and ``posterior`` 0, for one that is in no parse.

    With unary rules the posterior is an expected number.
    """

    label: str
    log_inside: float
    log_outside: float
    posterior: float
    ways: tuple[Way, ...]


class ExplainedCell(NamedTuple):
    """A span and all symbols that derive it, the most probable first."""

    start: int
    end: int
    entries: tuple[Entry, ...]


def chart_cells(chart: Chart, grammar: PCFG) -> Iterator[ExplainedCell]:
    """The cells that hold something, in the order of filling; ``chart`` has those of preterminals, too."""
    inside: dict[tuple[int, int], FloatArray] = {}
    names = grammar.symbols
    for end in range(1, chart.length + 1):
        for start in range(end - 1, -1, -1):
            symbols, values = chart.inside(start, end)
            inside[start, end] = row = np.full(len(names), -np.inf)
            row[symbols] = values
            ways: dict[int, list[Way]] = {symbol: [] for symbol in symbols.tolist()}
            for symbol, children, split, log_prob, value in _ways(chart, grammar, inside, start, end):
                share = math.exp(value - row[symbol])
                ways[symbol].append(Way(children, split, log_prob, value, share))
            outside = dict(zip(*(part.tolist() for part in chart.outside(start, end)), strict=True))
            entries = []
            for symbol, found in ways.items():
                log_inside, log_outside = float(row[symbol]), outside.get(symbol, -math.inf)
                posterior = math.exp(log_inside + log_outside - chart.log_prob)
                entries.append(Entry(names[symbol], log_inside, log_outside, posterior, tuple(found)))
            if entries:
                key = sorted(entries, key=lambda one: (-round(one.posterior, 12), -one.log_inside, one.label))
                yield ExplainedCell(start, end, tuple(key))


def _ways(
    chart: Chart, grammar: PCFG, inside: dict[tuple[int, int], FloatArray], start: int, end: int
) -> Iterator[tuple[int, tuple[str, ...], int | None, float, float]]:
    """Parent, children (or the word), split, log probability of the rule and log value of each way."""
    names, cell = grammar.symbols, inside[start, end]
    if end - start == 1:
        word = grammar.terminals[chart.terminal_ids[start]]
        for rule in np.flatnonzero(grammar.lexical_terminal == chart.terminal_ids[start]).tolist():
            if cell[grammar.lexical_symbol[rule]] > -np.inf:
                log_prob = float(grammar.lexical_log_prob[rule])
                yield int(grammar.lexical_symbol[rule]), (f"'{word}'",), None, log_prob, log_prob
    for split in range(start + 1, end):
        values = grammar.log_prob + inside[start, split][grammar.left] + inside[split, end][grammar.right]
        for rule in np.flatnonzero(values > -np.inf).tolist():
            children = names[grammar.left[rule]], names[grammar.right[rule]]
            log_prob = float(grammar.log_prob[rule])
            yield int(grammar.parent[rule]), children, split, log_prob, float(values[rule])
    values = grammar.unary_log_prob + cell[grammar.unary_child]
    for rule in np.flatnonzero(values > -np.inf).tolist():
        child, log_prob = names[grammar.unary_child[rule]], float(grammar.unary_log_prob[rule])
        yield int(grammar.unary_parent[rule]), (child,), None, log_prob, float(values[rule])


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
