"""Rare words in split-merge training: they share the states of their class, and lend them to unseen words.

A word seen fewer than ``rare`` times is trained as its signature's class (grammar.words.unknown). The trained
grammar spreads the probability of a class given a tag's state over the class's words as they were seen with the
tag, and keeps a part for unseen words: types / (types + tokens), after Witten and Bell (1991).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mbrparse.grammar.rules import Rule, RuleSet, Weight, is_terminal, quote, unquote
from mbrparse.grammar.training.split_merge.state_grammar import split_state
from mbrparse.grammar.words.unknown import (
    ENOUGH,
    Occurrence,
    Signatures,
    classes,
    is_unknown,
    occurrences,
    rare_words,
    replace_words,
    unknown_terminal,
)
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.labels import escape

#: Words seen so often or less are rare (Petrov's trainer).
RARE = 21
# Of what unseen words have, the next coarser class has this share.
_COARSER = 0.1
# As many times a rare word, or a class, is counted with tags in the proportions of all rare words.
_OF_WORD = 0.1
_OF_CLASS = 0.5
# Of these, what is less than this share of the word's occurrences is left out.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class RareWords:
    """How often words were seen, by class and tag (named as in rules); ``chains`` are classes' coarser ones."""

    rare: int
    counts: dict[tuple[str, str], Counter[str]]
    chains: dict[str, tuple[str, ...]]

    @classmethod
    def learn(cls, trees: Sequence[SourceTree], rare: int = RARE) -> tuple[list[SourceTree], RareWords]:
        """The trees with their rare words as classes, and the words."""
        words = rare_words(trees, rare)
        sizes = Counter(
            name for _, word, initial in occurrences(trees, words) for name in classes(word, initial)
        )
        counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        chains: dict[str, tuple[str, ...]] = {}

        def terminal(place: Occurrence) -> str:
            chain = classes(place.word, place.initial)
            name = next((name for name in chain if sizes[name] >= ENOUGH), unknown_terminal())
            chains[name] = chain[chain.index(name) :]
            counts[name, escape(place.tag)][place.word] += 1
            return name

        return replace_words(trees, words, terminal), cls(rare, dict(counts), chains)

    def spread(self, trained: RuleSet) -> RuleSet:
        """The trained grammar with a lexicon of words, and of classes for unseen ones."""
        rules: dict[Rule, Weight] = {}
        of_class: dict[str, dict[str, float]] = defaultdict(dict)
        for rule, weight in trained.rules.items():
            if is_terminal(rule.children[0]) and is_unknown(unquote(rule.children[0])):
                of_class[unquote(rule.children[0])][rule.parent] = weight.probability
            else:
                rules[rule] = weight
        found: defaultdict[Rule, float] = defaultdict(float)
        for name, states in of_class.items():
            for parent, probability in states.items():
                self._spread(found, name, parent, probability)
        self._smooth(found, of_class)
        for rule, probability in found.items():
            rules[rule] = Weight(probability)
        return RuleSet(
            trained.terminal_kind, trained.start, rules, Signatures(self.rare)
        ).normalized("")

    def _spread(self, found: dict[Rule, float], name: str, parent: str, probability: float) -> None:
        words = self.counts[name, split_state(parent)[0]]
        total = words.total() + len(words)
        for word, count in words.items():
            found[Rule(parent, (quote(word),))] += probability * count / total
        rest = probability * len(words) / total
        *finer, coarsest = self.chains[name]
        for each in finer:
            found[Rule(parent, (quote(each),))] += rest * (1 - _COARSER)
            rest *= _COARSER
        found[Rule(parent, (quote(coarsest),))] += rest

    def _smooth(self, found: dict[Rule, float], of_class: dict[str, dict[str, float]]) -> None:
        """Let rare words and classes have any tag that rare words have, with little probability."""
        rare: defaultdict[str, float] = defaultdict(float)
        for states in of_class.values():
            for parent, probability in states.items():
                rare[parent] += probability
        tokens = sum(words.total() for words in self.counts.values())
        by_tag: Counter[str] = Counter()
        by_word: Counter[str] = Counter()
        for (_, tag), words in self.counts.items():
            by_tag[tag] += words.total()
            by_word.update(words)
        names = {quote(name) for chain in self.chains.values() for name in chain}
        for terminal, seen, amount in (
            *((quote(word), count, _OF_WORD) for word, count in by_word.items()),
            *((name, 1, _OF_CLASS) for name in names),
        ):
            for parent, probability in rare.items():
                tag = split_state(parent)[0]
                if amount * by_tag[tag] / tokens >= _LEAST_SHARE * seen:
                    found[Rule(parent, (terminal,))] += amount * probability / tokens
