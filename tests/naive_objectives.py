"""Optima of the naive twin: every objective by listing the trees of its space.

An objective adds up the gains of a tree's items; each distinct item earns once. Gains are the
probabilities that the true tree has them, from the closed form of `naive_unary`, so grammars may have
cycles of unary rules; all values are exact.

==================  ====================================================  ==================
objective           items                                                 gain
==================  ====================================================  ==================
labelled-recall     (start, end, label) of the constituents               probability
bracketed-recall    (start, end) of the constituents                      probability
parent-child        `children` of `naive.tree_items`; preterminals        posterior
                    count, terminals do not
productions         `production`: no split, no lexical productions        posterior
max-rule-sum        `rule`: split, unary and lexical productions          posterior
max-rule-product    the same                                              log posterior
==================  ====================================================  ==================

g counts constituents, and nodes that are rewritten as a word are none: over one position only
what stands above them earns.

Spaces. `grammar`: the grammar's own derivations whose chains of unary rules hold no label
twice; else the projection decides what a node earns and nothing more. Max-rule: the trees of
`max_rule_trees`.

The product of max-rule is given as the product itself, so that it stays exact; its logarithm
is the sum of log posteriors.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Final, Literal, TypeAlias

from naive import (
    Grammar,
    Item,
    ItemKind,
    LabelledSpan,
    Node,
    P,
    Projection,
    best_of,
    constituents,
    derivations,
    labelled_spans,
    project,
    tree_items,
)
from naive_unary import at_least, inside, item_posteriors, posteriors

Objective: TypeAlias = Literal[
    "labelled-recall", "bracketed-recall", "parent-child", "productions", "max-rule-sum", "max-rule-product"
]
SpanObjective: TypeAlias = Literal["labelled-recall", "bracketed-recall"]
Gains: TypeAlias = Mapping[Item, P]

SPAN_OBJECTIVES: Final[tuple[SpanObjective, ...]] = ("labelled-recall", "bracketed-recall")
GRAMMAR_OBJECTIVES: Final[tuple[Objective, ...]] = (*SPAN_OBJECTIVES, "parent-child", "productions")
MAX_RULE_OBJECTIVES: Final[tuple[Objective, ...]] = ("max-rule-sum", "max-rule-product")
KINDS: Final[Mapping[Objective, ItemKind]] = {
    "parent-child": "children",
    "productions": "production",
    "max-rule-sum": "rule",
    "max-rule-product": "rule",
}

MOST_JOINT: Final = 2000
"""How many trees `joint_optimum` lists at most."""
ANNOTATIONS = "^>~&@"
"""The characters that end a symbol's label and begin its annotations."""


def projection_of(grammar: Grammar) -> dict[str, str]:
    """The projection that cuts each nonterminal at its first annotation; terminals stay."""
    terminals = grammar.terminals()
    labels = {}
    for symbol in grammar.symbols():
        ends = [symbol.index(mark) for mark in ANNOTATIONS if mark in symbol]
        labels[symbol] = symbol if symbol in terminals else symbol[: min(ends, default=len(symbol))]
    return labels


# --- items and gains -------------------------------------------------------------------


def items(
    tree: Node,
    objective: Objective,
    projection: Projection | None = None,
    terminals: frozenset[str] = frozenset(),
) -> frozenset[Item]:
    """The distinct items of a tree that the objective rewards."""
    if objective == "labelled-recall":
        return frozenset(labelled_spans(tree, projection))
    if objective == "bracketed-recall":
        return frozenset((node.start, node.end) for node in constituents(tree))
    return frozenset(tree_items(tree, KINDS[objective], projection, True, terminals))


def gains(
    grammar: Grammar, sentence: Sequence[str], objective: Objective, projection: Projection | None = None
) -> dict[Item, Fraction]:
    """What each item may earn: its posterior, for max-rule-product too (no logarithm taken)."""
    if objective not in SPAN_OBJECTIVES:
        return item_posteriors(grammar, sentence, KINDS[objective], projection)
    terminals = grammar.terminals()

    def kind_of(symbol: str) -> str | None:
        if symbol in terminals:
            return None
        return project(symbol, projection) if objective == "labelled-recall" else "any"

    found = at_least(grammar, sentence, 1, kind_of)
    return {key if objective == "labelled-recall" else key[:2]: p for key, p in found.items()}


def expected_constituents(
    grammar: Grammar, sentence: Sequence[str], projection: Projection | None = None
) -> dict[LabelledSpan, Fraction]:
    """How often labels are expected as constituents over spans; preterminals are none."""
    lexical, terminals = item_posteriors(grammar, sentence, "rule"), grammar.terminals()
    result: dict[LabelledSpan, Fraction] = defaultdict(Fraction)
    for (start, end, symbol), occurrences in posteriors(grammar, sentence).items():
        if symbol not in terminals and occurrences != lexical.get((start, end, symbol), 0):
            label = project(symbol, projection)
            result[start, end, label] += occurrences - lexical.get((start, end, symbol), 0)
    return dict(result)


def brackets(
    grammar: Grammar,
    sentence: Sequence[str],
    projection: Projection | None = None,
    nary: bool = True,
    most: int = 4,
) -> dict[tuple[int, int], list[float]]:
    """The probabilities of one constituent at least over each span, of two, and so on to the ``most``.

    Of the n-ary tree those that are no continuations.
    """
    terminals = grammar.terminals()

    def kind_of(symbol: str) -> str | None:
        continues = nary and "_Cont" in project(symbol, projection)
        return None if symbol in terminals or continues else "any"

    result: dict[tuple[int, int], list[float]] = defaultdict(list)
    for k in range(max(most, len(grammar.symbols()) + 1)):
        for (start, end, _), p in at_least(grammar, sentence, k + 1, kind_of).items():
            result[start, end].append(float(p))
    return dict(result)


def value(
    tree: Node,
    gains: Gains,
    objective: Objective,
    projection: Projection | None = None,
    terminals: frozenset[str] = frozenset(),
) -> P:
    """The objective of one tree: the sum of its items' gains, or for max-rule-product their product.

    Items that the gains lack have none: they add 0, or make the product 0.
    """
    earned = [gains.get(item, 0) for item in sorted(items(tree, objective, projection, terminals), key=str)]
    return math.prod(earned) if objective == "max-rule-product" else sum(earned)


# --- space `grammar` -------------------------------------------------------------------


def grammar_trees(
    grammar: Grammar, sentence: Sequence[str], projection: Projection | None = None
) -> list[Node]:
    """The derivations in which no chain of unary rules holds a label twice."""

    def holds_no_label_twice(node: Node, above: tuple[str, ...] = ()) -> bool:
        label = project(node.symbol, projection)
        chain = (*above, label) if len(node.children) == 1 else ()
        return label not in above and all(holds_no_label_twice(child, chain) for child in node.children)

    return [tree for tree, _ in derivations(grammar, sentence) if holds_no_label_twice(tree)]


def grammar_optimum(
    grammar: Grammar, sentence: Sequence[str], objective: Objective, projection: Projection | None = None
) -> tuple[P, list[Node]]:
    """The largest value of one of `grammar_trees`, and all of these (of symbols) that reach it.

    (0, []) if there is none.
    """
    earned = gains(grammar, sentence, objective, projection)
    terminals = grammar.terminals()
    return best_of(
        (tree, value(tree, earned, objective, projection, terminals))
        for tree in grammar_trees(grammar, sentence, projection)
    )


# --- max-rule --------------------------------------------------------------------------


def max_rule_trees(
    grammar: Grammar, sentence: Sequence[str], projection: Projection | None = None
) -> Iterator[Node]:
    """Every tree of labels built of rule items that have a posterior above zero.

    Its root is the label of a start symbol that is the root of some derivation. A chain of unary
    productions holds no label twice. Nodes hold labels in place of symbols; the tree need not be
    the projection of any derivation.
    """
    known = item_posteriors(grammar, sentence, "rule", projection)
    yield from trees_of_items(
        known, grammar.terminals(), max_rule_roots(grammar, sentence, projection), sentence
    )


def max_rule_roots(
    grammar: Grammar, sentence: Sequence[str], projection: Projection | None = None
) -> set[str]:
    """The labels of start symbols that are the root of some derivation."""
    e = inside(grammar, sentence)
    return {project(a, projection) for a, p in grammar.start.items() if p > 0 and (0, len(sentence), a) in e}


def trees_of_items(
    known: Iterable[Item], terminals: frozenset[str], roots: Iterable[str], sentence: Sequence[str]
) -> Iterator[Node]:
    """Every tree of labels with one of these roots that is built of these rule items (`max_rule_trees`)."""
    of_parent: dict[LabelledSpan, list[Item]] = defaultdict(list)
    for item in sorted(known, key=str):
        match item:
            case (int(start), int(), int(end), str(label), _, _) | (int(start), int(end), str(label), *_):
                of_parent[start, end, label].append(item)

    def over(start: int, end: int, label: str, above: tuple[str, ...] = ()) -> Iterator[Node]:
        if label in above:
            return
        if label in terminals:
            yield Node(label, start, end)
        for item in of_parent.get((start, end, label), []):
            match item:
                case (_, _, _):
                    yield Node(label, start, end)
                case (_, _, _, str(child)):
                    for tree in over(start, end, child, (*above, label)):
                        yield Node(label, start, end, (tree,))
                case (_, int(split), _, _, str(left), str(right)):
                    for left_tree in over(start, split, left):
                        for right_tree in over(split, end, right):
                            yield Node(label, start, end, (left_tree, right_tree))

    for root in sorted(roots):
        yield from over(0, len(sentence), root)


def max_rule_optimum(
    grammar: Grammar, sentence: Sequence[str], objective: Objective, projection: Projection | None = None
) -> tuple[P, list[Node]]:
    """The largest value of a tree of `max_rule_trees`, and all those (of labels) that reach it.

    For max-rule-product the value is the product of the posteriors. (0, []) without trees.
    """
    earned = gains(grammar, sentence, objective, projection)
    terminals = grammar.terminals()
    return best_of(
        (tree, value(tree, earned, objective, None, terminals))
        for tree in max_rule_trees(grammar, sentence, projection)
    )


def joint_optimum(
    grammars: Sequence[Grammar], weights: Sequence[float], sentence: Sequence[str], floor: float
) -> dict[Objective, tuple[float, dict[Node, float]]] | None:
    """By objective of max-rule, the largest score with several grammars, and the scores of all trees.

    Trees are built of items that have a posterior above zero under any grammar. A score is the weighted mean
    of the grammars': of the sums of posteriors, or of the sums of logarithms of these, ``floor`` at least.
    Grammars without a parse do not count. None if all are, or where there are too many trees.
    """
    known = [
        (weight, gains(grammar, sentence, "max-rule-sum", projection_of(grammar)))
        for grammar, weight in zip(grammars, weights, strict=True)
    ]
    known = [(weight, earned) for weight, earned in known if earned and weight]
    total = sum(weight for weight, _ in known)
    terminals = frozenset[str]().union(*(grammar.terminals() for grammar in grammars))
    roots = [max_rule_roots(grammar, sentence, projection_of(grammar)) for grammar in grammars]
    every = {item for _, earned in known for item in earned}
    trees = list(islice(trees_of_items(every, terminals, set().union(*roots), sentence), MOST_JOINT + 1))
    if not trees or len(trees) > MOST_JOINT:
        return None
    scores: dict[Objective, dict[Node, float]] = {"max-rule-sum": {}, "max-rule-product": {}}
    for tree in trees:
        found = items(tree, "max-rule-sum", None, terminals)
        by_grammar = [
            (weight / total, [float(earned.get(item, 0)) for item in found]) for weight, earned in known
        ]
        scores["max-rule-sum"][tree] = sum(share * sum(values) for share, values in by_grammar)
        logs = [(share, [math.log(max(value, floor)) for value in values]) for share, values in by_grammar]
        scores["max-rule-product"][tree] = sum(share * math.fsum(values) for share, values in logs)
    return {name: (max(of_tree.values()), of_tree) for name, of_tree in scores.items()}
