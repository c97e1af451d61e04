"""The lexicon of split-merge training: known rare words, unseen words, and the trees of their sentences."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from state_strategies import sourced

from mbrparse.grammar.rules import Rule, RuleSet, is_terminal, unquote
from mbrparse.grammar.unknown_words import Signatures, classes
from mbrparse.training.split_merge import RareWords, SplitMerge, cycle, first_grammar
from mbrparse.training.states import ObservedEStep, observe
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape
from mbrparse.treebank.tree import Tree

SEEN = ("walked", "Bill", "dogs", "co-opted", "1990s", "the", "The", "%", "-LRB-", "(")
UNSEEN = ("talked", "Mary", "IBM", "B-52", "3.5", "$", "cats", "iPod", "well-worn", "]")
TAGS = ("N", "V~1", "''", "A_Cont")


@st.composite
def corpora(draw: st.DrawFn) -> list[SourceTree]:
    """Binarized trees over tagged words, and sometimes bare terminals, some of them rare."""
    leaves = st.builds(lambda tag, word: Tree(tag, word=word), st.sampled_from(TAGS), st.sampled_from(SEEN))
    leaves |= st.just(Tree("bare"))

    def above(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.builds(
            Tree, st.sampled_from(["S", "NP", "S_Cont"]), st.lists(children, min_size=1, max_size=2)
        )

    found = draw(st.lists(above(st.recursive(leaves, above, max_leaves=6)), min_size=1, max_size=6))
    return sourced(found * draw(st.integers(1, 3)))


def trained(corpus: list[SourceTree], rare: int, cycles: int) -> RuleSet:
    """A grammar with words."""
    replaced, words = RareWords.learn(corpus, rare)
    observed = observe(replaced, "words")
    grammar = first_grammar(observed)
    for number in range(1, cycles + 1):
        grammar, _ = cycle(grammar, ObservedEStep(observed.arrays), SplitMerge(rounds=(3, 2, 2)), number)
    return words.spread(grammar.written("words"))


def written(word: str) -> str:
    return {"(": "-LRB-", "]": "-RSB-"}.get(word, word)


def symbol(name: str) -> str:
    """A name without its state."""
    front, _, state = name.rpartition("~")
    return front if front and not state.strip("01") else name


def derives(rules: RuleSet, tree: Tree) -> bool:
    """Whether the grammar derives the tree, its words as the model of unknown words has them."""
    above: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for rule, weight in rules.rules.items():
        if weight.probability > 0:
            above[rule.children].add(rule.parent)
    known = {unquote(name) for children in above for name in children if is_terminal(name)}
    assert isinstance(rules.unknown, Signatures)
    terminals = iter(rules.unknown.terminals(tree.words(), known))

    def tags(leaf: Tree, alone: bool) -> set[str]:
        terminal = f"'{next(terminals)}'"
        label = escape(leaf.label)
        if leaf.word is None and not alone:
            return {terminal}
        return {name for name in above[terminal,] if symbol(name) == label}

    def names(node: Tree) -> set[str]:
        parts = [
            names(child) if child.children else tags(child, len(node.children) == 1)
            for child in node.children
        ]
        ways = (
            [(one,) for one in parts[0]] if len(parts) == 1 else [(a, b) for a in parts[0] for b in parts[1]]
        )
        return {parent for way in ways for parent in above[way] if symbol(parent) == node.label}

    return any(name in rules.start and rules.start[name].probability > 0 for name in names(tree))


def tagged(corpus: list[SourceTree]) -> Counter[tuple[str, str]]:
    """How often each tag and word stand in the trees."""
    leaves = [leaf for source in corpus for leaf in source.tree.leaves()]
    return Counter((leaf.label, written(leaf.word)) for leaf in leaves if leaf.word is not None)


@given(data=st.data(), corpus=corpora(), rare=st.integers(2, 9), cycles=st.integers(0, 1))
def test_sentences_with_unseen_words_are_derived(
    data: st.DataObject, corpus: list[SourceTree], rare: int, cycles: int
) -> None:
    """Those of training too; an unseen word may have any tag that some rare word has."""
    rules = trained(corpus, rare, cycles)
    seen = tagged(corpus)
    totals: Counter[str] = Counter()
    for (_, word), count in seen.items():
        totals[word] += count
    tags = {tag for tag, word in seen if totals[word] < rare}

    def replaced(leaf: Tree) -> Tree:
        if leaf.label not in tags or leaf.word is None or data.draw(st.booleans()):
            return leaf
        return Tree(leaf.label, word=data.draw(st.sampled_from(UNSEEN)))

    for source in corpus:
        tree = source.tree.fold(replaced, lambda node, children: Tree(node.label, children))
        assert derives(rules, tree), str(tree)


def lexicon(corpus: list[SourceTree], rare: int) -> dict[tuple[str, str], float]:
    """The probabilities of words and classes given tags after no cycles, as RareWords defines them."""
    places = [
        (leaf.label, written(leaf.word), place == 0)
        for source in corpus
        for place, leaf in enumerate(source.tree.leaves())
        if leaf.word is not None
    ]
    totals = Counter(word for _, word, _ in places)
    few = [place for place in places if totals[place[1]] < rare]
    sizes = Counter(name for _, word, initial in few for name in classes(word, initial))
    rows = [
        (tag, word, next((name for name in classes(word, initial) if sizes[name] >= 5), "(UNKNOWN)"), initial)
        for tag, word, initial in few
    ]
    found: Counter[tuple[str, str]] = Counter()
    found.update((tag, word) for tag, word, _ in places if totals[word] >= rare)
    tokens = Counter((name, tag) for tag, _, name, _ in rows)
    types = Counter((name, tag) for name, tag, _ in {(name, tag, word) for tag, word, name, _ in rows})
    mass: dict[tuple[str, str], float] = dict(found)
    for tag, word, name, _ in rows:
        share = tokens[name, tag] / (tokens[name, tag] + types[name, tag])
        mass[tag, word] = mass.get((tag, word), 0) + share
    chains = {
        name: classes(word, initial)[classes(word, initial).index(name) :] for _, word, name, initial in rows
    }
    for (name, tag), count in tokens.items():
        rest = count * types[name, tag] / (count + types[name, tag])
        for place, each in enumerate(chains[name]):
            part = 0.1**place * (1 if place + 1 == len(chains[name]) else 0.9)
            mass[tag, each] = mass.get((tag, each), 0) + rest * part
    of_rare = Counter(tag for tag, *_ in rows)
    amounts = [(word, totals[word], 0.1) for word in {word for _, word, _, _ in rows}]
    amounts += [(each, 1, 0.5) for each in {each for chain in chains.values() for each in chain}]
    for terminal, seen, amount in amounts:
        for tag, count in of_rare.items():
            if amount * count / len(rows) >= 1e-3 * seen:
                mass[tag, terminal] = mass.get((tag, terminal), 0) + amount * count / len(rows)
    return {(tag, terminal): value for (tag, terminal), value in mass.items() if value}


@given(corpus=corpora(), rare=st.integers(2, 9))
def test_lexical_probabilities_are_as_defined(corpus: list[SourceTree], rare: int) -> None:
    """Relative to each other, within a tag: words that share a terminal share its probability equally."""
    rules = trained(corpus, rare, 0)
    assert isinstance(rules.unknown, Signatures)
    sharing = Counter(rules.unknown.words.values())
    expected = lexicon(corpus, rare)
    bare = {leaf.label for source in corpus for leaf in source.tree.leaves() if leaf.word is None}
    found = {}
    for tag, terminal in expected:
        name = rules.unknown.words.get(terminal, terminal)
        rule = Rule(escape(tag), (f"'{name}'",))
        found[tag, terminal] = rules.rules[rule].probability / sharing.get(name, 1)
    assert not bare & {tag for tag, _ in expected}
    total: defaultdict[str, float] = defaultdict(float)
    for (tag, _), mass in expected.items():
        total[tag] += mass
    assert found == pytest.approx({key: mass / total[key[0]] for key, mass in expected.items()}, rel=1e-6)
    lexical = [rule for rule in rules.rules if is_terminal(rule.children[0]) and len(rule.children) == 1]
    others = sum(rule.children == ("'bare'",) for rule in lexical)
    known = {(tag, rules.unknown.words.get(terminal, terminal)) for tag, terminal in expected}
    assert len(lexical) - others == len(known)
