"""The naive twin of mbrparse: every quantity computed by listing trees one by one.

Slow and meant to be obviously right; property tests compare the library with it, so it
imports nothing from the library. Usable up to about eight terminals and six symbols.

Conventions. Positions are 0-based and half-open. Probabilities are floats or Fractions;
given Fractions, every result is exact (but for the log likelihood). Labelled spans are
written ``(start, end, label)``. The node that rewrites to a word is *lexical*, never a constituent;
a *constituent* is a node with children: of width >= 2, or above another in a chain of unary
rules, over one position too. A *derivation* is a complete tree of positive probability. A
*projection* maps symbols to labels; a symbol that it does not mention, or no projection at
all, leaves the symbol as its own label. Dictionaries that are returned hold positive entries
only.

Unary rules. Where they form no cycle there are finitely many derivations, and every function
here lists them all. Through a cycle there are infinitely many; `subtrees` and `derivations`
then list those that visit no symbol twice in one chain (the candidates of the space
`grammar`), and what sums over all derivations is refused: see `naive_unary` for the closed
form.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Literal, NamedTuple, TypeAlias, TypeVar

P: TypeAlias = float | Fraction
Span: TypeAlias = tuple[int, int]
LabelledSpan: TypeAlias = tuple[int, int, str]
Projection: TypeAlias = Mapping[str, str]
Item: TypeAlias = tuple[int | str, ...]
ItemKind: TypeAlias = Literal["children", "production", "split_production", "rule"]
T = TypeVar("T")

HOLE = "<hole>"
"""The fresh terminal that stands for a removed span; no sentence may contain it."""


@dataclass(frozen=True)
class Grammar:
    """A PCFG: ``start[A]``, ``binary[A, B, C]`` for A -> B C, ``lexical[A, w]`` for A -> w.

    ``unary[A, B]`` is the probability of A -> B, both nonterminals. A terminal used directly
    in a binary rule (a tag) is a symbol whose only rule is the lexical one to itself, of
    probability 1; see `terminals`. Rules of probability zero may be listed; they derive
    nothing.
    """

    start: dict[str, P]
    binary: dict[tuple[str, str, str], P]
    lexical: dict[tuple[str, str], P]
    unary: dict[tuple[str, str], P] = field(default_factory=dict)

    def symbols(self) -> list[str]:
        """All symbols that the grammar mentions, sorted."""
        in_rules = {symbol for rule in [*self.binary, *self.unary] for symbol in rule}
        return sorted({*self.start, *in_rules, *(symbol for symbol, _ in self.lexical)})

    def terminals(self) -> frozenset[str]:
        """The symbols that are terminals themselves: those that rewrite to their own name."""
        return frozenset(symbol for symbol, word in self.lexical if symbol == word)

    def has_unary_cycle(self) -> bool:
        """Whether a chain of unary rules of positive probability comes back to a symbol."""
        chains = {rule for rule, p in self.unary.items() if p > 0}
        while longer := {(a, d) for (a, b), (c, d) in product(chains, chains) if b == c} - chains:
            chains |= longer
        return any(first == last for first, last in chains)


class Node(NamedTuple):
    """A tree node: two children, one by a unary rule, or none if it is lexical."""

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
    unary: dict[tuple[str, str], P]


# --- trees -----------------------------------------------------------------------------


def nodes(tree: Node) -> list[Node]:
    """All nodes, parents first."""
    return [tree, *(node for child in tree.children for node in nodes(child))]


def constituents(tree: Node) -> list[Node]:
    """The nodes with children (width >= 2, or a unary child), parents first."""
    return [node for node in nodes(tree) if node.children]


def chain(tree: Node) -> list[str]:
    """The symbols from the root down to the first node without a unary child."""
    below = chain(tree.children[0]) if len(tree.children) == 1 else []
    return [tree.symbol, *below]


def project(symbol: str, projection: Projection | None = None) -> str:
    """The label of a symbol."""
    return symbol if projection is None else projection.get(symbol, symbol)


def labelled_spans(tree: Node, projection: Projection | None = None) -> frozenset[LabelledSpan]:
    """The tree's constituents as labelled spans, each once however often a chain repeats it."""
    return frozenset((c.start, c.end, project(c.symbol, projection)) for c in constituents(tree))


def _under_chains(
    grammar: Grammar, trees: list[tuple[Node, P]], longest_chain: int | None
) -> list[tuple[Node, P]]:
    """The trees of one span, none with a unary root, and all chains of unary rules over them."""
    rules = [(rule, p) for rule, p in grammar.unary.items() if p > 0]
    listed, level, length = list(trees), trees, 0
    while level and length != longest_chain:
        level = [
            (Node(parent, tree.start, tree.end, (tree,)), p * tree_p)
            for (tree, tree_p), ((parent, child), p) in product(level, rules)
            if child == tree.symbol and (longest_chain is not None or parent not in chain(tree))
        ]
        listed += level
        length += 1
    return listed


def subtrees(
    grammar: Grammar, sentence: Sequence[str], longest_chain: int | None = None
) -> dict[tuple[int, int, str], list[tuple[Node, P]]]:
    """Every tree over every span, by (start, end, root symbol), with its probability.

    Chains of unary rules visit no symbol twice. With `longest_chain` they may, but have at
    most so many rules.
    """
    found: dict[tuple[int, int, str], list[tuple[Node, P]]] = defaultdict(list)
    n = len(sentence)
    rules = [(rule, p) for rule, p in grammar.binary.items() if p > 0]
    for start, end in ((i, i + width) for width in range(1, n + 1) for i in range(n - width + 1)):
        built: list[tuple[Node, P]] = [
            (Node(symbol, start, end), p)
            for (symbol, terminal), p in grammar.lexical.items()
            if p > 0 and [terminal] == list(sentence[start:end])
        ]
        for ((parent, left, right), p), split in product(rules, range(start + 1, end)):
            pairs = product(found.get((start, split, left), []), found.get((split, end, right), []))
            for (left_tree, left_p), (right_tree, right_p) in pairs:
                tree = Node(parent, start, end, (left_tree, right_tree))
                built.append((tree, p * left_p * right_p))
        for tree, tree_p in _under_chains(grammar, built, longest_chain):
            found[start, end, tree.symbol].append((tree, tree_p))
    return dict(found)


def derivations(
    grammar: Grammar, sentence: Sequence[str], longest_chain: int | None = None
) -> list[tuple[Node, P]]:
    """Every complete derivation with its probability, the root's start probability included.

    Chains of unary rules are those of `subtrees`.
    """
    found = subtrees(grammar, sentence, longest_chain)
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


def _refuse_cycles(grammar: Grammar) -> None:
    """A sum over all derivations cannot be taken by listing them if there is a unary cycle."""
    if grammar.has_unary_cycle():
        raise ValueError("unary rules form a cycle: not all derivations can be listed")


def sentence_probability(grammar: Grammar, sentence: Sequence[str]) -> P:
    """The sum over all derivations."""
    _refuse_cycles(grammar)
    return sum(p for _, p in derivations(grammar, sentence))


def inside(grammar: Grammar, sentence: Sequence[str]) -> dict[tuple[int, int, str], P]:
    """For each (start, end, symbol) the sum of the probabilities of its subtrees."""
    _refuse_cycles(grammar)
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
    """The derivations with their probabilities given the sentence; all of them, so no cycles."""
    _refuse_cycles(grammar)
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
    sentence. Labels of lexical nodes are free, so they are summed out. Of a chain of unary
    rules the set of labels is compared, not their order.
    """
    _refuse_cycles(grammar)
    wanted = frozenset(spans)
    return sum(p for tree, p in derivations(grammar, sentence) if labelled_spans(tree, projection) == wanted)


def expected_matches(
    grammar: Grammar,
    sentence: Sequence[str],
    spans: Iterable[LabelledSpan],
    projection: Projection | None = None,
) -> tuple[P, P]:
    """How many of these labelled spans stand in the true tree: with label, and as bare spans.

    Lexical nodes are no constituents and never match. Each element counts once for itself,
    so two labels on one span count the bare span twice.
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


def log(value: Fraction) -> float:
    """The natural logarithm of a fraction of any size."""
    if not value:
        return -math.inf
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(value / Fraction(2) ** shift) + shift * math.log(2)


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
    _refuse_cycles(grammar)
    counts = Counts(defaultdict(int), defaultdict(int), defaultdict(int), 0.0, [], defaultdict(int))
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
        log_likelihood += log(Fraction(total))
        for tree, p in allowed:
            counts.start[tree.symbol] += p / total
            for node in nodes(tree):
                match node.children:
                    case [left, right]:
                        counts.binary[node.symbol, left.symbol, right.symbol] += p / total
                    case [child]:
                        counts.unary[node.symbol, child.symbol] += p / total
                    case _:
                        counts.lexical[node.symbol, sentence[node.start]] += p / total
    return Counts(
        dict(counts.start),
        dict(counts.binary),
        dict(counts.lexical),
        log_likelihood,
        counts.unparsed,
        dict(counts.unary),
    )


# --- objectives ------------------------------------------------------------------------


def best_of(candidates: Iterable[tuple[T, P]], abs_tol: float = 0.0) -> tuple[P, list[T]]:
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
    """The largest probability of a derivation, and all derivations that have it.

    A way round a cycle of unary rules never makes a derivation more probable, so those that
    visit no symbol twice in a chain are enough.
    """
    return best_of(derivations(grammar, sentence))


def free_value(
    tree: Mapping[Span, str | None],
    posteriors: Mapping[LabelledSpan, P],
    *,
    labelled_weight: P = 1,
    span_weight: P = 0,
    node_constant: P = 0,
    over: Mapping[Span, P] | None = None,
) -> P:
    """The objective of one tree of the free space: a label (or None) for each of its spans.

    Each span adds labelled_weight * g(start, end, its label), where g is 0 for None and
    for what the dictionary lacks, span_weight * (what is ``over`` it, by default the sum of g
    over labels, one at most), and the constant.
    """
    value: P = 0
    for (start, end), label in tree.items():
        mass = min(sum(g for (i, j, _), g in posteriors.items() if (i, j) == (start, end)), 1)
        if over is not None:
            mass = over.get((start, end), 0)
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
    over: Mapping[Span, P] | None = None,
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
        over=over,
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
    terminals: Collection[str] = (),
) -> list[Item]:
    """The tree's items of one kind, in the order of its nodes; an item may come twice.

    After Sima'an 2003, where `rule` is after Petrov & Klein 2007. Start and end are the
    parent's. Symbols in `terminals` are terminals themselves, not nonterminals.

    - children: (start, end, parent, child, side), side "left", "right" or "only"; terminals
      are left out, and without `lexical_children` all lexical children are;
    - production: (start, end, parent, left, right), without the split, and for a unary rule
      (start, end, parent, child); lexical productions are no items;
    - split_production: (start, split, end, parent, left, right), and for a unary rule
      (start, end, parent, child); lexical productions are no items;
    - rule: the same, and (start, end, label) for a lexical production. A terminal in a
      binary rule rewrites to nothing and has no such item.
    """
    items: list[Item] = []
    for node in nodes(tree):
        start, end, label = node.start, node.end, project(node.symbol, projection)
        below = tuple(project(child.symbol, projection) for child in node.children)
        if not node.children:
            if kind == "rule" and node.symbol not in terminals:
                items.append((start, end, label))
        elif kind == "children":
            sides = ("only",) if len(node.children) == 1 else ("left", "right")
            for child, child_label, side in zip(node.children, below, sides, strict=True):
                if child.children or (lexical_children and child.symbol not in terminals):
                    items.append((start, end, label, child_label, side))
        elif kind == "production" or len(node.children) == 1:
            items.append((start, end, label, *below))
        else:
            items.append((start, node.children[0].end, end, label, *below))
    return items


def item_posteriors(
    grammar: Grammar,
    sentence: Sequence[str],
    kind: ItemKind,
    projection: Projection | None = None,
    lexical_children: bool = False,
    terminals: Collection[str] = (),
    k: int = 1,
) -> dict[Item, P]:
    """The probability that a tree has an item of `tree_items` ``k`` times at least, given the sentence."""
    result: dict[Item, P] = defaultdict(int)
    for tree, p in _conditioned(grammar, sentence):
        for item, times in Counter(tree_items(tree, kind, projection, lexical_children, terminals)).items():
            result[item] += p if times >= k else 0
    return {item: p for item, p in result.items() if p}


# --- evaluation ------------------------------------------------------------------------


def crosses(a: Span, b: Span) -> bool:
    """Whether two spans overlap and neither contains the other."""
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]
