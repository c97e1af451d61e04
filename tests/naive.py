"""The naive twin of mbrparse: every quantity computed by listing trees one by one.

Slow and meant to be obviously right; property tests compare the library with it, so it
imports nothing from the library. Usable up to about eight terminals and six symbols.

Conventions. Positions are 0-based and half-open. Probabilities are floats or Fractions;
given Fractions, every result is exact (but for the log likelihood). Labelled spans are
written ``(start, end, label)``. A *constituent* is a node of width >= 2; a node over one
position is *lexical*, never a constituent. A *derivation* is a complete tree of positive
probability. A *projection* maps symbols to labels; a symbol that it does not mention, or
no projection at all, leaves the symbol as its own label. Dictionaries that are returned
hold positive entries only.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Literal, NamedTuple, TypeAlias, TypeVar

P: TypeAlias = float | Fraction
Span: TypeAlias = tuple[int, int]
LabelledSpan: TypeAlias = tuple[int, int, str]
Projection: TypeAlias = Mapping[str, str]
Item: TypeAlias = tuple[int | str, ...]
ItemKind: TypeAlias = Literal["children", "production", "split_production"]
T = TypeVar("T")

HOLE = "<hole>"
"""The fresh terminal that stands for a removed span; no sentence may contain it."""


@dataclass(frozen=True)
class Grammar:
    """A PCFG: ``start[A]``, ``binary[A, B, C]`` for A -> B C, ``lexical[A, w]`` for A -> w.

    A terminal used directly in a binary rule (a tag) is a symbol with one lexical rule of
    probability 1. Rules of probability zero may be listed; they derive nothing.
    """

    start: dict[str, P]
    binary: dict[tuple[str, str, str], P]
    lexical: dict[tuple[str, str], P]

    def symbols(self) -> list[str]:
        """All symbols that the grammar mentions, sorted."""
        in_rules = {symbol for rule in self.binary for symbol in rule}
        return sorted({*self.start, *in_rules, *(symbol for symbol, _ in self.lexical)})


class Node(NamedTuple):
    """A tree node: two children, or none if it is lexical."""

    symbol: str
    start: int
    end: int
    children: tuple["Node", ...] = ()


class Counts(NamedTuple):
    """Expected counts of a corpus, its log likelihood, indexes of sentences left out."""

    start: dict[str, P]
    binary: dict[tuple[str, str, str], P]
    lexical: dict[tuple[str, str], P]
    log_likelihood: float
    unparsed: list[int]


# --- trees -----------------------------------------------------------------------------


def nodes(tree: Node) -> list[Node]:
    """All nodes, parents first."""
    return [tree, *(node for child in tree.children for node in nodes(child))]


def constituents(tree: Node) -> list[Node]:
    """The nodes of width >= 2, parents first."""
    return [node for node in nodes(tree) if node.end - node.start >= 2]


def project(symbol: str, projection: Projection | None = None) -> str:
    """The label of a symbol."""
    return symbol if projection is None else projection.get(symbol, symbol)


def labelled_spans(tree: Node, projection: Projection | None = None) -> frozenset[LabelledSpan]:
    """The tree's constituents as labelled spans."""
    return frozenset((c.start, c.end, project(c.symbol, projection)) for c in constituents(tree))


def subtrees(grammar: Grammar, sentence: Sequence[str]) -> dict[tuple[int, int, str], list[tuple[Node, P]]]:
    """Every tree over every span, by (start, end, root symbol), with its probability."""
    found: dict[tuple[int, int, str], list[tuple[Node, P]]] = defaultdict(list)
    n = len(sentence)
    for i, word in enumerate(sentence):
        for (symbol, terminal), p in grammar.lexical.items():
            if terminal == word and p > 0:
                found[i, i + 1, symbol].append((Node(symbol, i, i + 1), p))
    rules = [(rule, p) for rule, p in grammar.binary.items() if p > 0]
    spans = [(i, i + width) for width in range(2, n + 1) for i in range(n - width + 1)]
    for i, j in spans:
        for ((parent, left, right), p), split in product(rules, range(i + 1, j)):
            pairs = product(found.get((i, split, left), []), found.get((split, j, right), []))
            for (left_tree, left_p), (right_tree, right_p) in pairs:
                tree = Node(parent, i, j, (left_tree, right_tree))
                found[i, j, parent].append((tree, p * left_p * right_p))
    return dict(found)


def derivations(grammar: Grammar, sentence: Sequence[str]) -> list[tuple[Node, P]]:
    """Every complete derivation with its probability, the root's start probability included."""
    found = subtrees(grammar, sentence)
    return [
        (tree, start_p * p)
        for symbol, start_p in grammar.start.items()
        if start_p > 0
        for tree, p in found.get((0, len(sentence), symbol), [])
    ]


def bracketings(n: int) -> list[frozenset[Span]]:
    """All binary bracketings of n >= 1 terminals, each the set of its spans of width >= 2."""

    def over(start: int, end: int) -> list[frozenset[Span]]:
        if end - start == 1:
            return [frozenset()]
        return [
            left | right | {(start, end)}
            for split in range(start + 1, end)
            for left in over(start, split)
            for right in over(split, end)
        ]

    return over(0, n)


# --- probabilities ---------------------------------------------------------------------


def sentence_probability(grammar: Grammar, sentence: Sequence[str]) -> P:
    """The sum over all derivations."""
    return sum(p for _, p in derivations(grammar, sentence))


def inside(grammar: Grammar, sentence: Sequence[str]) -> dict[tuple[int, int, str], P]:
    """For each (start, end, symbol) the sum of the probabilities of its subtrees."""
    return {key: sum(p for _, p in trees) for key, trees in subtrees(grammar, sentence).items()}


def outside(grammar: Grammar, sentence: Sequence[str]) -> dict[tuple[int, int, str], P]:
    """For each (start, end, symbol) the probability of the sentence around it.

    The span is replaced by one fresh terminal that only this symbol derives, with
    probability 1; the value is the probability of the sentence so made. Symbols that
    derive nothing over the span have an outside probability all the same.
    """
    words = list(sentence)
    if HOLE in words:
        raise ValueError(f"the sentence contains {HOLE}")
    result: dict[tuple[int, int, str], P] = {}
    for symbol in grammar.symbols():
        with_hole = replace(grammar, lexical={**grammar.lexical, (symbol, HOLE): 1})
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                p = sentence_probability(with_hole, [*words[:start], HOLE, *words[end:]])
                if p > 0:
                    result[start, end, symbol] = p
    return result


def _conditioned(grammar: Grammar, sentence: Sequence[str]) -> list[tuple[Node, P]]:
    """The derivations with their probabilities given the sentence."""
    listed = derivations(grammar, sentence)
    total = sum(p for _, p in listed)
    return [(tree, p / total) for tree, p in listed]


def posteriors(
    grammar: Grammar, sentence: Sequence[str], projection: Projection | None = None
) -> dict[LabelledSpan, P]:
    """The expected number of occurrences of each labelled span, lexical nodes included.

    Empty if the sentence has no derivation.
    """
    result: dict[LabelledSpan, P] = defaultdict(int)
    for tree, p in _conditioned(grammar, sentence):
        for node in nodes(tree):
            result[node.start, node.end, project(node.symbol, projection)] += p
    return dict(result)


def tree_probability(
    grammar: Grammar,
    sentence: Sequence[str],
    spans: Collection[LabelledSpan],
    projection: Projection | None = None,
) -> P:
    """The total probability of the derivations whose labelled spans are exactly these.

    Not normalized: divide by `sentence_probability` for the probability given the
    sentence. Labels of lexical nodes are free, so they are summed out.
    """
    wanted = frozenset(spans)
    return sum(p for tree, p in derivations(grammar, sentence) if labelled_spans(tree, projection) == wanted)


def expected_matches(
    grammar: Grammar,
    sentence: Sequence[str],
    spans: Iterable[LabelledSpan],
    projection: Projection | None = None,
) -> tuple[P, P]:
    """How many of these labelled spans stand in the true tree: with label, and as bare spans.

    Spans of width 1 are no constituents and never match. Each element counts once for
    itself, so two labels on one span count the bare span twice.
    """
    wanted = list(spans)
    labelled: P = 0
    bracketed: P = 0
    for tree, p in _conditioned(grammar, sentence):
        true = labelled_spans(tree, projection)
        bare = {(start, end) for start, end, _ in true}
        labelled += p * sum(span in true for span in wanted)
        bracketed += p * sum((start, end) in bare for start, end, _ in wanted)
    return labelled, bracketed


def expected_counts(
    grammar: Grammar,
    corpus: Iterable[Sequence[str]],
    brackets: Sequence[Collection[Span] | None] | None = None,
) -> Counts:
    """The E step of inside-outside, on sentences that may be partially bracketed.

    `brackets` gives for each sentence a set of spans (or None: no brackets); a derivation
    counts only if none of its constituents crosses one of them (Pereira & Schabes 1992).
    The log likelihood sums log P(sentence, bracketing) over the sentences that have such
    a derivation; the others contribute nothing and are listed in `unparsed`.
    """
    counts = Counts(defaultdict(int), defaultdict(int), defaultdict(int), 0.0, [])
    log_likelihood = 0.0
    for index, sentence in enumerate(corpus):
        given = (brackets[index] if brackets is not None else None) or ()
        allowed = [
            (tree, p)
            for tree, p in derivations(grammar, sentence)
            if not any(crosses((c.start, c.end), b) for c in constituents(tree) for b in given)
        ]
        total = sum(p for _, p in allowed)
        if not allowed:
            counts.unparsed.append(index)
            continue
        log_likelihood += math.log(total)
        for tree, p in allowed:
            counts.start[tree.symbol] += p / total
            for node in nodes(tree):
                if node.children:
                    left, right = node.children
                    counts.binary[node.symbol, left.symbol, right.symbol] += p / total
                else:
                    counts.lexical[node.symbol, sentence[node.start]] += p / total
    return Counts(
        dict(counts.start),
        dict(counts.binary),
        dict(counts.lexical),
        log_likelihood,
        counts.unparsed,
    )


# --- objectives ------------------------------------------------------------------------


def _best(candidates: Iterable[tuple[T, P]], abs_tol: float = 0.0) -> tuple[P, list[T]]:
    """The largest value and all candidates that reach it; (0, []) without candidates.

    Exact among Fractions and integers; floats may differ by 1e-9 relative or by `abs_tol`.
    """
    scored = list(candidates)
    if not scored:
        return 0, []
    best = max(value for _, value in scored)

    def ties(value: P) -> bool:
        if isinstance(value, float) or isinstance(best, float):
            return math.isclose(value, best, rel_tol=1e-9, abs_tol=abs_tol)
        return value == best

    return best, [candidate for candidate, value in scored if ties(value)]


def viterbi(grammar: Grammar, sentence: Sequence[str]) -> tuple[P, list[Node]]:
    """The largest probability of a derivation, and all derivations that have it."""
    return _best(derivations(grammar, sentence))


def grammar_optimum(
    grammar: Grammar,
    sentence: Sequence[str],
    gain: Callable[[int, int, str], P],
    projection: Projection | None = None,
) -> tuple[P, list[Node]]:
    """The largest sum of gain(start, end, label) over a derivation's labelled spans.

    Each distinct labelled span counts once. With it come all derivations that reach it.
    """
    values = [
        (tree, sum(gain(*span) for span in sorted(labelled_spans(tree, projection))))
        for tree, _ in derivations(grammar, sentence)
    ]
    return _best(values, abs_tol=1e-12)


def free_value(
    tree: Mapping[Span, str | None],
    posteriors: Mapping[LabelledSpan, P],
    *,
    labelled_weight: P = 1,
    span_weight: P = 0,
    node_constant: P = 0,
) -> P:
    """The objective of one tree of the free space: a label (or None) for each of its spans.

    Each span adds labelled_weight * g(start, end, its label), where g is 0 for None and
    for what the dictionary lacks, span_weight * (the sum of g over labels), and the constant.
    """
    value: P = 0
    for (start, end), label in tree.items():
        mass = sum(g for (i, j, _), g in posteriors.items() if (i, j) == (start, end))
        labelled = 0 if label is None else posteriors.get((start, end, label), 0)
        value += labelled_weight * labelled + span_weight * mass + node_constant
    return value


def free_optimum(
    posteriors: Mapping[LabelledSpan, P],
    n: int,
    *,
    labelled_weight: P = 1,
    span_weight: P = 0,
    node_constant: P = 0,
    allow_unlabelled: bool = True,
) -> P:
    """The largest `free_value` over all binary bracketings of n terminals and all labellings.

    Labels are all that occur in the dictionary, on whatever span, and None (if allowed, or
    if there is no label). Labels do not interact, so each span takes its own best one.
    """
    labels: list[str | None] = [*sorted({label for _, _, label in posteriors})]
    if allow_unlabelled or not labels:
        labels.append(None)
    value = partial(
        free_value,
        posteriors=posteriors,
        labelled_weight=labelled_weight,
        span_weight=span_weight,
        node_constant=node_constant,
    )
    best_of_span = {
        (i, j): max(value({(i, j): label}) for label in labels) for i in range(n) for j in range(i + 2, n + 1)
    }
    return max(sum(best_of_span[span] for span in sorted(b)) for b in bracketings(n))


def tree_items(
    tree: Node,
    kind: ItemKind,
    projection: Projection | None = None,
    lexical_children: bool = False,
) -> list[Item]:
    """The tree's items of one kind, as in Sima'an 2003; lexical nodes are never parents.

    - children: (start, end, parent, child, "left" or "right"), start and end the parent's;
      lexical children are left out unless `lexical_children` is set;
    - production: (start, end, parent, left, right), without the split;
    - split_production: (start, split, end, parent, left, right).
    """
    items: list[Item] = []
    for node in constituents(tree):
        start, end, (left, right) = node.start, node.end, node.children
        label, left_label, right_label = (
            project(symbol, projection) for symbol in (node.symbol, left.symbol, right.symbol)
        )
        if kind == "children":
            if left.children or lexical_children:
                items.append((start, end, label, left_label, "left"))
            if right.children or lexical_children:
                items.append((start, end, label, right_label, "right"))
        elif kind == "production":
            items.append((start, end, label, left_label, right_label))
        else:
            items.append((start, left.end, end, label, left_label, right_label))
    return items


def item_posteriors(
    grammar: Grammar,
    sentence: Sequence[str],
    kind: ItemKind,
    projection: Projection | None = None,
    lexical_children: bool = False,
) -> dict[Item, P]:
    """The probability of each item of `tree_items` given the sentence."""
    result: dict[Item, P] = defaultdict(int)
    for tree, p in _conditioned(grammar, sentence):
        for item in tree_items(tree, kind, projection, lexical_children):
            result[item] += p
    return dict(result)


def item_value(
    tree: Node,
    posteriors: Mapping[Item, P],
    kind: ItemKind,
    projection: Projection | None = None,
    lexical_children: bool = False,
) -> P:
    """The sum of the posteriors of one tree's items."""
    items = tree_items(tree, kind, projection, lexical_children)
    return sum(posteriors.get(item, 0) for item in items)


def item_optimum(
    grammar: Grammar,
    sentence: Sequence[str],
    kind: ItemKind,
    projection: Projection | None = None,
    lexical_children: bool = False,
) -> tuple[P, list[Node]]:
    """The largest `item_value` of a derivation, and all derivations that reach it."""
    items = item_posteriors(grammar, sentence, kind, projection, lexical_children)
    values = [
        (tree, item_value(tree, items, kind, projection, lexical_children))
        for tree, _ in derivations(grammar, sentence)
    ]
    return _best(values, abs_tol=1e-12)


# --- evaluation ------------------------------------------------------------------------


def crosses(a: Span, b: Span) -> bool:
    """Whether two spans overlap and neither contains the other."""
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]


def consistent_brackets(guess_spans: Iterable[Span], gold_spans: Iterable[Span]) -> int:
    """How many spans of the guess no gold span crosses (each occurrence counts)."""
    gold = list(gold_spans)
    return sum(not any(crosses(guess, span) for span in gold) for guess in guess_spans)


def matches(gold: Iterable[Hashable], guess: Iterable[Hashable]) -> int:
    """How many elements of the guess find an equal element of gold, each used only once."""
    unused = list(gold)
    count = 0
    for element in guess:
        if element in unused:
            unused.remove(element)
            count += 1
    return count
