"""The lexicon of split-merge training: rare words share states, and lend them to unseen words.

A word seen fewer than ``rare`` times is trained as the class of its signature (grammar.unknown_words). The
trained grammar spreads the probability of a class, given a tag's state, over the class's words as they were
seen with the tag, and keeps types / (types + tokens) of it for unseen words (Witten & Bell 1991). Rare words
and classes also take, with little probability, the tags that other rare words have (Petrov et al. 2006).

Rare words that were seen equally often with the same tags in the same classes have the same probabilities.
One terminal stands for them all, so that grammars remain small; the model of unknown words maps words to it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mbrparse.grammar.rules import Rule, RuleSet, Weight, is_terminal, quote, unquote
from mbrparse.grammar.unknown_words import (
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
from mbrparse.training.split_merge.states import rounded, split_state
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape

#: Words seen fewer times are rare.
RARE = 21
# Of what unseen words have, the next coarser class has this share.
_COARSER = 0.1
# So often are rare words, and classes, counted with the tags of all rare words, in their proportions.
_OF_WORD = 0.1
_OF_CLASS = 0.5
# A tag that would have less than this share of a rare word by that alone is left out.
_LEAST_SHARE = 1e-3

#: How often a word was seen: class, tag (as in rules) and count each, in ascending order.
Profile = tuple[tuple[str, str, int], ...]
_Masses = defaultdict[tuple[str, str], float]


@dataclass(frozen=True)
class RareWords:
    """The words of each profile, and of each class the chain of coarser ones, which begins with itself."""

    rare: int
    profiles: Mapping[Profile, Sequence[str]]
    chains: Mapping[str, Sequence[str]]

    @classmethod
    def learn(cls, trees: Sequence[SourceTree], rare: int = RARE) -> tuple[list[SourceTree], RareWords]:
        """The trees with their rare words as classes, and the words."""
        words = rare_words(trees, rare)
        places = occurrences(trees, words)
        sizes = Counter(name for _, word, initial in places for name in classes(word, initial))
        seen: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        chains: dict[str, Sequence[str]] = {}

        def terminal(place: Occurrence) -> str:
            chain = classes(place.word, place.initial)
            name = next((name for name in chain if sizes[name] >= ENOUGH), unknown_terminal())
            chains[name] = chain[chain.index(name) :]
            seen[place.word][name, escape(place.tag)] += 1
            return name

        replaced = replace_words(trees, words, terminal)
        profiles: dict[Profile, list[str]] = {}
        for word, counts in sorted(seen.items()):
            profile = tuple((name, tag, count) for (name, tag), count in sorted(counts.items()))
            profiles.setdefault(profile, []).append(word)
        return replaced, cls(rare, profiles, chains)

    def spread(self, trained: RuleSet) -> RuleSet:
        """The trained grammar, whose lexicon has classes, with one of words and unseen words."""
        rules: dict[Rule, Weight] = {}
        # By class and tag the symbols that it has, with their states, and their probabilities.
        of_class: defaultdict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
        for rule, weight in trained.rules.items():
            terminal = unquote(rule.children[0])
            if is_terminal(rule.children[0]) and is_unknown(terminal):
                of_class[terminal, split_state(rule.parent)[0]].append((rule.parent, weight.probability))
            else:
                rules[rule] = weight
        masses: _Masses = defaultdict(float)
        tokens: Counter[tuple[str, str]] = Counter()
        types: Counter[tuple[str, str]] = Counter()
        for profile, words in self.profiles.items():
            for name, tag, count in profile:
                tokens[name, tag] += count * len(words)
                types[name, tag] += len(words)
        for place, states in of_class.items():
            rest = types[place] / (types[place] + tokens[place])
            for terminal, share in self._coarser(place[0]):
                for parent, probability in states:
                    masses[parent, terminal] += rest * share * probability
        terminals = {}
        for number, (profile, words) in enumerate(self.profiles.items(), start=1):
            terminal = f"(RARE/{number})"
            terminals.update(dict.fromkeys(words, terminal))
            for name, tag, count in profile:
                share = count * len(words) / (types[name, tag] + tokens[name, tag])
                for parent, probability in of_class[name, tag]:
                    masses[parent, terminal] += share * probability
        self._smooth(masses, of_class, tokens)
        rules.update(
            (Rule(parent, (quote(terminal),)), Weight(mass)) for (parent, terminal), mass in masses.items()
        )
        model = Signatures(self.rare, terminals)
        return rounded(RuleSet(trained.terminal_kind, trained.start, rules, model))

    def _coarser(self, name: str) -> list[tuple[str, float]]:
        """The shares of a class and of coarser ones in what its unseen words have."""
        chain = self.chains[name]
        shares = [(1 - _COARSER) * _COARSER**step for step in range(len(chain))]
        shares[-1] /= 1 - _COARSER
        return list(zip(chain, shares, strict=True))

    def _smooth(
        self,
        masses: _Masses,
        of_class: Mapping[tuple[str, str], Sequence[tuple[str, float]]],
        tokens: Counter[tuple[str, str]],
    ) -> None:
        """Let rare words and classes have the tags that rare words have."""
        all_tokens = tokens.total()
        by_tag: Counter[str] = Counter()
        for (_, tag), count in tokens.items():
            by_tag[tag] += count
        of_tag: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for (_, tag), states in of_class.items():
            for parent, probability in states:
                of_tag[tag][parent] += probability

        def add(terminal: str, amount: float, least: float) -> None:
            for tag, states in of_tag.items():
                if by_tag[tag] / all_tokens >= least:
                    for parent, probability in states.items():
                        masses[parent, terminal] += amount * probability / all_tokens

        for number, (profile, words) in enumerate(self.profiles.items(), start=1):
            seen = sum(count for _, _, count in profile)
            add(f"(RARE/{number})", _OF_WORD * len(words), _LEAST_SHARE * seen / _OF_WORD)
        for name in sorted({name for chain in self.chains.values() for name in chain}):
            add(name, _OF_CLASS, 0.0)
