"""Hypothesis strategies: grammars with sentences whose trees can all be listed, and treebanks for DOP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import naive_states
from conversion import to_naive
from dop_strategies import WEIGHTINGS, dop_treebanks
from hypothesis import strategies as st
from naive import Grammar
from naive_classes import Classes
from naive_dop import Node, words_of
from naive_objectives import projection_of
from naive_votes import Brackets, plain, sentence_trees
from state_strategies import Drawn, drawn
from strategies import NONTERMINALS, UNKNOWN, WORDS, proper_grammars, shares
from unary_strategies import FEW_LABELS, few_trees, unary_cases

from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, is_terminal, quote, unquote
from mbrparse.treebank.tree import Tree

KINDS = (
    *("ordinary", "unary", "cyclic", "words", "markovized", "tiny"),
    *("classes", "states", "dop", "votes", "several", "mixed"),
)
_PLAIN = ("A", "B", "S_Cont", "A_Cont")
_ANNOTATED = ("S^A", "S~1", "A~1", "A^S", "S_Cont>A", "S_Cont>B", "A_Cont^S", "B")
_SIGNATURES = ("(UNKNOWN)", "(UNKNOWN/lower)", "(UNKNOWN/lower/-s)", "(UNKNOWN/Initial)", "(RARE/1)")
_OF_TAGS = ("(UNKNOWN/N)", "(UNKNOWN/V)", "(UNKNOWN/D)")
_WORDS = ("cat", "ant", "fox", "cats", "ants", "Ann", "Bob", "Eve", "77", "1990")


@dataclass(frozen=True)
class Case:
    """A grammar (None: a treebank with its weighting and depth) and a sentence.

    With ``given``, a binarized tree and an n-ary one of the sentence, whatever the grammar.
    """

    kind: str
    words: tuple[str, ...]
    grammar: Grammar | None = None
    classes: Classes | None = None
    trees: tuple[Node, ...] = ()
    weighting: str = "plain"
    depth: int | None = None
    given: tuple[Tree, ...] = ()


@dataclass(frozen=True)
class Ballot:
    """Sentences, of each the trees of systems (None: no parse), and the systems' weights by label."""

    sentences: tuple[tuple[Brackets | None, ...], ...]
    weights: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Several:
    """Grammars of a sentence, and their weights."""

    kind: str
    words: tuple[str, ...]
    grammars: tuple[Grammar, ...]
    weights: tuple[float, ...]


#: By sentence g of (start, end, label, whether it is a tag).
Model = list[dict[tuple[int, int, str, bool], float]]


@dataclass(frozen=True)
class Models:
    """Posteriors of sentences by several models, and the models' weights."""

    lengths: tuple[int, ...]
    models: tuple[Model, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class States:
    """Observed trees and a grammar with states, and the words of one by its rules if they have few trees."""

    drawn: Drawn
    case: Case | None


AnyCase = Case | Ballot | Several | Models | States


@st.composite
def cases(draw: st.DrawFn, kind: str) -> AnyCase:
    """A case without a cycle of probability one, and with few trees."""
    if kind in _OTHERS:
        return _OTHERS[kind](draw)
    with_unaries = kind in ("unary", "cyclic") or (kind in ("tiny", "markovized") and draw(st.booleans()))
    grammar, words = draw(
        unary_cases(
            with_unaries and (kind == "cyclic" or draw(st.booleans())),
            nonterminals=_ANNOTATED
            if kind == "markovized" or (kind == "tiny" and draw(st.booleans()))
            else _PLAIN,
            unaries=with_unaries,
            terminals=kind != "words",
            shared=_tiny if kind == "tiny" else shares,
        )
    )
    labels = [*sorted({*projection_of(grammar).values()} - grammar.terminals()), "X"]
    bases = [label for label in labels if not label.endswith("_Cont")]
    tags = bases if kind == "words" else ()
    given = draw(_trees(words, labels, tags, 2)), draw(_trees(words, bases, tags, len(words)))
    return Case(kind, tuple(words), grammar, given=given)


@st.composite
def _trees(
    draw: st.DrawFn, words: Sequence[str], labels: Sequence[str], tags: Sequence[str], most: int
) -> Tree:
    """A tree of any of the labels, of at most so many children a node."""
    if len(words) == 1:
        tree = Tree(draw(st.sampled_from(tags)), word=words[0]) if tags else Tree(words[0])
    else:
        cuts = draw(st.sets(st.integers(1, len(words) - 1), min_size=1, max_size=most - 1))
        parts = pairwise([0, *sorted(cuts), len(words)])
        below = [draw(_trees(words[i:j], labels, tags, most)) for i, j in parts]
        tree = Tree(draw(st.sampled_from(labels)), below)
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
        tree = Tree(draw(st.sampled_from(labels)), [tree])
    return tree


def _classes(draw: st.DrawFn) -> Case:
    """Words for which classes stand: of signatures, or of a tagger's tags; some are shared."""
    unaries = draw(st.booleans())
    more: dict[str, Any] = {"nonterminals": _PLAIN, "unaries": unaries, "terminals": False}
    grammar, words = draw(unary_cases(unaries and draw(st.booleans()), **more))
    tagged = draw(st.booleans())
    names = draw(st.permutations([*(_OF_TAGS if tagged else _SIGNATURES), "owl", "dogs"]))
    name_of = dict(zip((*WORDS, UNKNOWN), names, strict=False))
    lexical = {(a, name_of[word]): p for (a, word), p in grammar.lexical.items()}
    known = frozenset(name for (_, name), p in lexical.items() if p)
    shared = [name for name in ("(RARE/1)", *_OF_TAGS) if name in known]
    listed = st.sampled_from(_WORDS).flatmap(
        lambda word: st.tuples(st.just(word), st.sampled_from(shared if tagged else [*shared, word]))
    )
    rare = {} if tagged and not shared else dict(draw(st.lists(listed, max_size=8)))
    rare = {word: name for word, name in rare.items() if word not in known}
    orders = st.permutations([name[9:-1] for name in _OF_TAGS])
    words_of = (*_WORDS, "owl", "dogs", "new")
    tags = {word: draw(orders) for word in words_of} if tagged else None
    classes = Classes(known, tuple(sorted(rare.items())), tags)
    written = []
    for place, name in enumerate(name_of[word] for word in words):
        stand = [word for word in words_of if classes.name(word, place) == name]
        named = name.replace("(", "-LRB-").replace(")", "-RRB-") if name in known else "new"
        written.append(draw(st.sampled_from(stand or [named])))
    return Case("classes", tuple(written), replace(grammar, lexical=lexical), classes)


def _tiny(draw: st.DrawFn, size: int) -> list[Fraction]:
    """Probabilities that sum to one: of 10^-5 to 10^-300, but for one that is likely."""
    lowest = draw(st.sampled_from([20, 80, 300]))
    weights = [Fraction(1, 10 ** draw(st.integers(5, lowest))) for _ in range(size)]
    weights[draw(st.integers(0, size - 1))] = Fraction(1)
    return [weight / sum(weights) for weight in weights]


def _treebank(draw: st.DrawFn) -> Case:
    _, trees = draw(dop_treebanks())
    words = words_of(draw(st.sampled_from(trees)))
    if draw(st.integers(0, 2)) == 0:
        words = tuple(draw(st.lists(st.sampled_from("xy"), min_size=1, max_size=4)))
    weighting = draw(st.sampled_from(WEIGHTINGS))
    return Case("dop", words, None, None, tuple(trees), weighting, draw(st.sampled_from((None, 1, 2, 3))))


def _exact(of: Grammar) -> Grammar:
    """The same probabilities as fractions."""
    return Grammar(
        {a: Fraction(p) for a, p in of.start.items()},
        {rule: Fraction(p) for rule, p in of.binary.items()},
        {rule: Fraction(p) for rule, p in of.lexical.items()},
        {rule: Fraction(p) for rule, p in of.unary.items()},
    )


def _states(draw: st.DrawFn) -> States:
    sizes, zeros = draw(st.sampled_from([(2, 1, 3), (2, 4)])), draw(st.booleans())
    found = draw(drawn(sizes=sizes, zeros=zeros))

    def marked(name: str) -> str:  # the twins tell terminals from labels by their names
        return quote(f"{unquote(name)}!") if is_terminal(name) else name

    written = found.grammar.written("words")
    rules = {Rule(a, tuple(map(marked, children))): p for (a, children), p in written.rules.items()}
    grammar = _exact(to_naive(PCFG.from_rules(RuleSet("words", written.start, rules))))
    words = [f"{word}!" for word in naive_states.words_of(draw(st.sampled_from(found.trees)))]
    # States that are never used have no rules, and no treebank has a continuation as a root.
    proper = not zeros and not any("_Cont" in a for a, p in grammar.start.items() if p)
    listed = proper and len(words) < 4 and few_trees(grammar, words)
    return States(found, Case("states", tuple(words), grammar) if listed else None)


def _ballot(draw: st.DrawFn) -> Ballot:
    systems, sentences = draw(st.integers(1, 4)), []
    for length in draw(st.lists(st.integers(1, 4), min_size=1, max_size=2)):
        tree = sentence_trees([f"w{place}" for place in range(length)]).map(plain)
        sentences.append(tuple(draw(tree) if draw(st.integers(0, 5)) else None for _ in range(systems)))
    weights = st.lists(st.integers(0, 3), min_size=systems, max_size=systems)
    labels = draw(st.sampled_from([("",), ("", "S", "VP", "NP")]))
    return Ballot(tuple(sentences), {label: draw(weights) for label in labels})


def _weights(draw: st.DrawFn, size: int) -> tuple[float, ...]:
    found = draw(st.lists(st.sampled_from([1.0, 0.5, 3.0, 0.0]), min_size=size, max_size=size))
    return tuple(found if any(found) else [1.0] * size)


def _several(draw: st.DrawFn) -> Several:
    unaries, labels = draw(st.booleans()), draw(st.sampled_from([NONTERMINALS, FEW_LABELS]))
    more: dict[str, Any] = {"nonterminals": labels, "unaries": unaries}
    grammar, words = draw(unary_cases(unaries and draw(st.booleans()), longest=4, **more))
    count = draw(st.integers(1, 2))
    others = [draw(proper_grammars(unaries and draw(st.booleans()), **more)) for _ in range(count)]
    return Several("several", tuple(words), (grammar, *others), _weights(draw, count + 1))


def _models(draw: st.DrawFn) -> Models:
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))

    def sentence(length: int) -> dict[tuple[int, int, str, bool], float]:
        spans = [(start, end) for end in range(1, length + 1) for start in range(end)]
        keys = [(*span, label, False) for span in spans for label in ("S", "NP", "VP", "NN")]
        keys += [(start, start + 1, label, True) for start in range(length) for label in ("NP", "VP", "NN")]
        return draw(st.dictionaries(st.sampled_from(keys), st.sampled_from([0.125, 0.3, 1.0]), max_size=6))

    models = tuple([sentence(length) for length in lengths] for _ in range(draw(st.integers(1, 4))))
    return Models(tuple(lengths), models, _weights(draw, len(models)))


_OTHERS: dict[str, Callable[[st.DrawFn], AnyCase]] = {
    "classes": _classes,
    "states": _states,
    "dop": _treebank,
    "votes": _ballot,
    "several": _several,
    "mixed": _models,
}
