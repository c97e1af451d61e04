"""The closed form of the naive twin: grammars with unary rules, cycles too, in exact fractions.

With U[A, B] the probability of the rule A -> B, the chains from A to B, of any length and
through cycles as often as they like, have the total probability U*[A, B], where U* is the sum
of all powers of U, that is the inverse of I - U. Everything else is the plain recursion over
spans with U* applied once to each. Floats are taken at their exact binary value; all results
are Fractions, and dictionaries hold positive entries only.

It knows nothing of `naive`'s enumeration but the grammar and the names of the items, so that
on grammars without cycles each checks the other.

Conventions. g(start, label, end) is the expected number of occurrences of the label over the
span in a derivation of the sentence, lexical nodes and terminals included; it exceeds 1 where
a label comes twice in a chain. Posteriors of the other items are the probabilities that the tree has them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from naive import Grammar, Item, ItemKind, LabelledSpan, P, Projection, project

Matrix: TypeAlias = dict[tuple[str, str], Fraction]
Chart: TypeAlias = dict[tuple[int, int, str], Fraction]


def closure(grammar: Grammar) -> Matrix:
    """U*[A, B], the total probability of all chains of unary rules from A to B, for all A.

    Inverts I - U by Gauss-Jordan elimination. A U of nonnegative entries has convergent
    powers if and only if this inverse exists and has no negative entry (I - U is then an
    M-matrix), so everything else is refused with a ValueError: cycles of total probability
    one or more.
    """
    symbols = grammar.symbols()
    refusal = ValueError("a cycle of unary rules has probability one or more")
    rows = {a: {a: Fraction(1)} for a in symbols}
    for (a, b), p in grammar.unary.items():
        rows[a][b] = rows[a].get(b, Fraction(0)) - Fraction(p)
    inverse = {a: {a: Fraction(1)} for a in symbols}
    open_rows = list(symbols)
    row_of: dict[str, str] = {}
    for column in symbols:
        pivot = next((a for a in open_rows if rows[a].get(column)), None)
        if pivot is None:
            raise refusal
        open_rows.remove(pivot)
        row_of[column] = pivot
        scale = rows[pivot][column]
        rows[pivot] = {b: v / scale for b, v in rows[pivot].items()}
        inverse[pivot] = {b: v / scale for b, v in inverse[pivot].items()}
        for other in symbols:
            factor = rows[other].get(column, Fraction(0))
            if other != pivot and factor:
                _subtract(rows[other], rows[pivot], factor)
                _subtract(inverse[other], inverse[pivot], factor)
    result = {(a, b): v for a in symbols for b, v in inverse[row_of[a]].items() if v}
    if any(v < 0 for v in result.values()):
        raise refusal
    return result


def chains_of(grammar: Grammar, unary: Mapping[tuple[str, str], P]) -> Matrix:
    """U* of some of a grammar's unary rules, for all its symbols."""
    own: Matrix = {(a, a): Fraction(1) for a in grammar.symbols()}
    return own | closure(replace(grammar, unary=dict(unary)))


def _subtract(row: dict[str, Fraction], other: Mapping[str, Fraction], factor: Fraction) -> None:
    """Subtract a multiple of another row in place."""
    for b, v in other.items():
        row[b] = row.get(b, Fraction(0)) - factor * v


# --- inside and outside ----------------------------------------------------------------


def _spans(n: int) -> list[tuple[int, int]]:
    """All spans of n words, narrow ones first."""
    return [(i, i + width) for width in range(1, n + 1) for i in range(n - width + 1)]


def inside(
    grammar: Grammar,
    sentence: Sequence[str],
    closed: Collection[tuple[int, int]] = (),
    may_close: Callable[[str], bool] = lambda _: False,
) -> Chart:
    """For each (start, end, symbol) the total probability of its subtrees: e = U* b.

    b is the probability of those whose root has no unary child. In ``closed`` spans stand
    none but symbols that ``may_close``.
    """
    every = closure(grammar)
    unary = {(a, b): p for (a, b), p in grammar.unary.items() if may_close(a) and may_close(b)}
    some = {(a, b): p for (a, b), p in chains_of(grammar, unary).items() if may_close(a) and may_close(b)}
    result: Chart = defaultdict(Fraction)
    for start, end in _spans(len(sentence)):
        chains = some if (start, end) in closed else every
        base: dict[str, Fraction] = defaultdict(Fraction)
        if end - start == 1:
            for (a, word), p in grammar.lexical.items():
                if word == sentence[start]:
                    base[a] += Fraction(p)
        for split in range(start + 1, end):
            for (a, b, c), p in grammar.binary.items():
                left, right = result.get((start, split, b)), result.get((split, end, c))
                if p and left and right:
                    base[a] += Fraction(p) * left * right
        for (a, b), p in chains.items():
            if base.get(b):
                result[start, end, a] += p * base[b]
    return dict(result)


def outside(grammar: Grammar, sentence: Sequence[str]) -> Chart:
    """For each (start, end, symbol) the total probability of what may stand around it: f = c U*.

    c is that of what may stand around a node which is no unary child. A symbol that comes k
    times in a chain has k surroundings in the same tree, so e f is the expected number of
    occurrences times the sentence's probability. Given for all symbols, also those that
    derive nothing over the span.
    """
    return surroundings(grammar, sentence)[1]


def surroundings(grammar: Grammar, sentence: Sequence[str]) -> tuple[Chart, Chart]:
    """c and f of `outside`."""
    chains = closure(grammar)
    e = inside(grammar, sentence)
    n = len(sentence)
    top: Chart = defaultdict(Fraction)
    for a, p in grammar.start.items():
        top[0, n, a] += Fraction(p)
    result: Chart = defaultdict(Fraction)
    for start, end in reversed(_spans(n)):
        for (a, b), p in chains.items():
            if top.get((start, end, a)):
                result[start, end, b] += top[start, end, a] * p
        for split in range(start + 1, end):
            for (a, b, c), p in grammar.binary.items():
                around = result.get((start, end, a), Fraction(0)) * Fraction(p)
                if around:
                    top[start, split, b] += around * e.get((split, end, c), Fraction(0))
                    top[split, end, c] += around * e.get((start, split, b), Fraction(0))
    return dict(top), {key: p for key, p in result.items() if p}


def sentence_probability(grammar: Grammar, sentence: Sequence[str]) -> Fraction:
    """The total probability of all derivations."""
    e = inside(grammar, sentence)
    n = len(sentence)
    return sum((Fraction(p) * e.get((0, n, a), 0) for a, p in grammar.start.items()), Fraction(0))


def best_probability(grammar: Grammar, sentence: Sequence[str]) -> Fraction:
    """The largest probability of a derivation, for sentences that have too many to be listed."""
    best: Chart = defaultdict(Fraction)
    for start, end in _spans(len(sentence)):
        if end - start == 1:
            for (a, word), p in grammar.lexical.items():
                if word == sentence[start]:
                    best[start, end, a] = max(best[start, end, a], Fraction(p))
        for split in range(start + 1, end):
            for (a, b, c), p in grammar.binary.items():
                found = Fraction(p) * best[start, split, b] * best[split, end, c]
                best[start, end, a] = max(best[start, end, a], found)
        # The best chain visits no symbol twice.
        for _ in grammar.symbols():
            for (a, b), p in grammar.unary.items():
                best[start, end, a] = max(best[start, end, a], Fraction(p) * best[start, end, b])
    return max(
        (Fraction(p) * best[0, len(sentence), a] for a, p in grammar.start.items()), default=Fraction(0)
    )


# --- posteriors ------------------------------------------------------------------------


def posteriors(
    grammar: Grammar, sentence: Sequence[str], projection: Projection | None = None
) -> dict[LabelledSpan, Fraction]:
    """g(start, label, end) = e f / P(sentence), summed over the symbols of the label.

    Lexical nodes and terminals included; empty if the sentence has no derivation.
    """
    total = sentence_probability(grammar, sentence)
    if not total:
        return {}
    f = outside(grammar, sentence)
    result: dict[LabelledSpan, Fraction] = defaultdict(Fraction)
    for (start, end, a), e in inside(grammar, sentence).items():
        if (start, end, a) in f:
            result[start, end, project(a, projection)] += e * f[start, end, a] / total
    return dict(result)


def at_least(
    grammar: Grammar, sentence: Sequence[str], k: int, kind_of: Callable[[str], str | None]
) -> dict[LabelledSpan, Fraction]:
    """The probability of k constituents at least of each kind over each span; preterminals are none.

    Chains are followed from above: to the first symbol of the kind, where they stop, from each of its
    children to the next, and so on. What is below the k-th is whatever is no word.
    """
    total = sentence_probability(grammar, sentence)
    if not total:
        return {}
    e, (top, _) = inside(grammar, sentence), surroundings(grammar, sentence)
    result: dict[LabelledSpan, Fraction] = {}
    for kind in sorted({kind for a in grammar.symbols() if (kind := kind_of(a)) is not None}):
        own = [a for a in grammar.symbols() if kind_of(a) == kind]
        stopped = {rule: p for rule, p in grammar.unary.items() if rule[0] not in own}
        first = {(a, b): p for (a, b), p in chains_of(grammar, stopped).items() if b in own}
        for start, end in _spans(len(sentence)):
            here: dict[str, Fraction] = defaultdict(Fraction)
            for (a, b), p in first.items():
                here[b] += top.get((start, end, a), Fraction(0)) * p
            for _ in range(k - 1):
                after: dict[str, Fraction] = defaultdict(Fraction)
                for (a, child), prob in grammar.unary.items():
                    entered = here.get(a, Fraction(0)) * Fraction(prob)
                    for b in own:
                        after[b] += entered * first.get((child, b), Fraction(0))
                here = after
            word = sentence[start] if end - start == 1 else ""
            mass = Fraction(0)
            for b, p in here.items():
                mass += p * (
                    e.get((start, end, b), Fraction(0)) - Fraction(grammar.lexical.get((b, word), 0))
                )
            if mass:
                result[start, end, kind] = mass / total
    return result


def span_posteriors(
    grammar: Grammar, sentence: Sequence[str], projection: Projection | None = None
) -> dict[LabelledSpan, Fraction]:
    """What charts list: the probability of each label as a constituent, and as a preterminal."""
    result = at_least(grammar, sentence, 1, lambda a: project(a, projection))
    total, f = sentence_probability(grammar, sentence), outside(grammar, sentence)
    for position, word in enumerate(sentence):
        for (a, token), p in grammar.lexical.items():
            mass = Fraction(p) * f.get((position, position + 1, a), 0)
            if token == word and mass:
                key = position, position + 1, project(a, projection)
                result[key] = result.get(key, Fraction(0)) + mass / total
    return result


def item_posteriors(
    grammar: Grammar,
    sentence: Sequence[str],
    kind: ItemKind,
    projection: Projection | None = None,
    k: int = 1,
) -> dict[Item, Fraction]:
    """The probability that the tree has an item of `naive.tree_items` k times at least, terminals apart.

    For `children` all children that are nonterminals count, lexical ones too, as with
    `lexical_children` and `terminals` set there. Items of unary rules alone come more than once.
    """
    total = sentence_probability(grammar, sentence)
    if not total:
        return {}
    result: dict[Item, Fraction] = defaultdict(Fraction)
    sets: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for a, b in grammar.unary:
        sets[project(a, projection), project(b, projection)].append((a, b))
    e, (top, f) = inside(grammar, sentence), surroundings(grammar, sentence)
    for (x, y), rules in sets.items():
        side = ("only",) if kind == "children" else ()
        for (start, end), around in _uses(grammar, top, rules, k).items():
            mass = sum((p * e.get((start, end, a), 0) for a, p in around.items()), Fraction(0))
            result[start, end, x, y, *side] += mass / total
    if k > 1:
        return {item: mass for item, mass in result.items() if mass}
    terminals = grammar.terminals()
    for start, end in _spans(len(sentence)):
        for (a, b, c), p in grammar.binary.items():
            x, y, z = (project(symbol, projection) for symbol in (a, b, c))
            for split in range(start + 1, end):
                below = e.get((start, split, b), Fraction(0)) * e.get((split, end, c), Fraction(0))
                mass = f.get((start, end, a), Fraction(0)) * Fraction(p) * below / total
                if kind != "children":
                    middle = () if kind == "production" else (split,)
                    result[start, *middle, end, x, y, z] += mass
                    continue
                if b not in terminals:
                    result[start, end, x, y, "left"] += mass
                if c not in terminals:
                    result[start, end, x, z, "right"] += mass
        for (a, word), p in grammar.lexical.items():
            if kind == "rule" and a not in terminals and [word] == list(sentence[start:end]):
                x = project(a, projection)
                result[start, end, x] += f.get((start, end, a), Fraction(0)) * Fraction(p) / total
    return {item: mass for item, mass in result.items() if mass}


def _uses(
    grammar: Grammar, top: Chart, rules: Collection[tuple[str, str]], k: int
) -> dict[tuple[int, int], dict[str, Fraction]]:
    """By span and symbol what stands around the child of the k-th use of a set of unary rules.

    Chains are followed from above, ``top``, to the first use, from there to the second, and so on.
    """
    others = {rule: p for rule, p in grammar.unary.items() if rule not in rules}
    before = chains_of(grammar, others)
    result: dict[tuple[int, int], dict[str, Fraction]] = defaultdict(dict)
    for (start, end, a), p in top.items():
        result[start, end][a] = p
    for _ in range(k):
        for span, here in result.items():
            used: dict[str, Fraction] = defaultdict(Fraction)
            for (a, b), p in before.items():
                for parent, child in rules:
                    if b == parent:
                        used[child] += here.get(a, Fraction(0)) * p * Fraction(grammar.unary[parent, child])
            result[span] = used
    return result
